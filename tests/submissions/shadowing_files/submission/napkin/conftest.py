print("conftest.py was run")
raise SystemExit(0)
