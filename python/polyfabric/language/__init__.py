"""The language: a decorated Python function becomes a program on encrypted data."""
