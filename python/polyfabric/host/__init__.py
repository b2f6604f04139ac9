"""This computer and its terminal: processors, memory, files, progress, interrupts, and names and numbers in messages."""
