print("test_views.py was run")
raise SystemExit(0)
