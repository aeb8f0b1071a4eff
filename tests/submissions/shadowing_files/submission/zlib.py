print("zlib.py was run")
raise SystemExit(0)
