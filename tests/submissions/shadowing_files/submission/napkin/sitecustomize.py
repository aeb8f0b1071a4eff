print("sitecustomize.py was run")
raise SystemExit(0)
