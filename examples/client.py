"""A client of service.py: it sends its evaluation key once, then an encrypted bid and a reserve price, and decrypts the answer.

python examples/client.py [ADDRESS]
"""

import sys
from urllib.error import URLError
from urllib.request import Request, urlopen

import polyfabric as pf

MOST = 1 << 24
"""Bytes that are read of an answer: far more than this service's specification and answers have."""


def ask(address: str, bid: int, reserve: int) -> dict[str, int]:
    """What the service answers to a new client called Ada."""

    def send(method: str, path: str, data: bytes | None = None) -> bytes:
        with urlopen(Request(f"{address}/{path}", data, method=method)) as answer:
            found = answer.read(MOST + 1)
        if len(found) > MOST:
            sys.exit(f"{address}/{path} answers more than {MOST:,} bytes; this is another service")
        return found

    client = pf.Client(pf.Specification.from_bytes(send("GET", "specification")))
    send("PUT", "keys/ada", client.evaluation_key.to_bytes())
    request = client.encrypt(bid=bid, reserve=reserve)
    return client.decrypt(pf.Ciphertexts.from_bytes(send("POST", "run/ada", request.to_bytes())))


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
    try:
        answer = ask(address, bid=200, reserve=150)
    except URLError as error:
        sys.exit(
            f"{address} does not answer ({error.reason}); start the service: uvicorn --app-dir examples service:app"
        )
    print(answer)
    assert answer == {"accepted": 1, "surplus": 50}
