"""Checks of README and docs: recorded results, tables drawn from them, and commands that are run."""
