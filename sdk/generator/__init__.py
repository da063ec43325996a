"""What sdk/generate.py is made of."""
