print("torch.py was run")
raise SystemExit(0)
