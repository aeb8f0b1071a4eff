print("pytest.py was run")
raise SystemExit(0)
