"""`python -m polyfabric`."""

from .cli import main

if __name__ == "__main__":
    main()
