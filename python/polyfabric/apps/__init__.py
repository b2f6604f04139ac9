"""Applications: complete programs on real data."""
