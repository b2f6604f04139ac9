"""What keeps README and docs true: recorded results, tables drawn from them, commands that are run."""
