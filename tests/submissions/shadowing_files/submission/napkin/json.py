print("json.py was run")
raise SystemExit(0)
