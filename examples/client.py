"""A client of auction.py: it encrypts a bid and a reserve price, lets the server compare them, and decrypts the answer.

python examples/client.py [ADDRESS] [FILE OF THE TOKEN] [FILE OF A CERTIFICATE TO TRUST]
"""

import sys
from pathlib import Path

import polyfabric as pf


def main(address: str = "http://127.0.0.1:8000", token: str = "acme.token", ca: str | None = None) -> None:
    """Prints the server's answer."""
    server = pf.RemoteServer(address, Path(token).read_text().strip(), ca=ca)
    answer = server.run("accepted", bid=200, reserve=150)
    print(answer)
    assert answer == {"accepted": 1, "surplus": 50}


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (OSError, pf.Error) as error:
        sys.exit(str(error))
