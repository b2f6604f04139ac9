"""Runs of programs on encrypted data: keys, plans, executions, and clients and servers with the messages between them."""
