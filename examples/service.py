"""A service that compares encrypted bids with an encrypted reserve price, for any number of clients. It never sees a number, or a secret key.

uvicorn --app-dir examples service:app        (pip install 'polyfabric[service]')

GET  /specification      what a client needs to encrypt and decrypt
PUT  /keys/NAME          a client's evaluation key, kept in a file of the folder $KEYS
POST /run/NAME           encrypted inputs in, encrypted outputs out
"""

import os
from pathlib import Path

import polyfabric as pf
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


@pf.program(bid=pf.UInt(8), reserve=pf.UInt(8))
def accepted(bid: pf.Value, reserve: pf.Value) -> dict[str, pf.Value]:
    """Whether a bid is accepted, and by how much it is above the reserve price."""
    above = bid >= reserve
    return {"accepted": above, "surplus": pf.where(above, bid - reserve, bid & 0)}


SPECIFICATION = pf.Specification.of(accepted).to_bytes()
KEYS = os.environ.get("KEYS", Path.home() / ".local" / "share" / "polyfabric" / "keys")
STORE = pf.KeyStore(accepted, KEYS, most_bytes=1 << 30)

MOST_KEY, MOST_INPUTS = 1 << 25, 1 << 20
"""Bytes that are taken of anybody: an evaluation key of this program has 28,147,905, and its inputs 131,752."""


async def body(request: Request, most: int) -> bytes:
    """What was sent, of which no more than `most` bytes are kept."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > most:
            raise HTTPException(413, f"more than {most:,} bytes, which nothing that belongs here has")
    return bytes(data)


async def specification(_: Request) -> Response:
    """What clients need."""
    return Response(SPECIFICATION, media_type="application/json")


async def put_key(request: Request) -> Response:
    """Keeps a client's evaluation key instead of an earlier one."""
    key = pf.EvaluationKey.from_bytes(await body(request, MOST_KEY))
    await run_in_threadpool(STORE.put, request.path_params["name"], key)
    return Response(status_code=204)


async def run(request: Request) -> Response:
    """Executes on a client's encrypted inputs."""
    inputs = pf.Ciphertexts.from_bytes(await body(request, MOST_INPUTS))
    server = await run_in_threadpool(STORE.server, request.path_params["name"])
    outputs = await run_in_threadpool(server.execute, inputs)
    return Response(outputs.to_bytes(), media_type="application/octet-stream")


async def gone(_: Request, __: Exception) -> Response:
    """The client went away before its request was whole: nobody reads this."""
    return Response(status_code=400)


async def refused(_: Request, error: Exception) -> Response:
    """What was wrong with the request, and what to do."""
    return PlainTextResponse(str(error), status_code=400)


ROUTES = [
    Route("/specification", specification),
    Route("/keys/{name}", put_key, methods=["PUT"]),
    Route("/run/{name}", run, methods=["POST"]),
]
FAULTS = dict.fromkeys((pf.errors.FileError, pf.errors.InputError, pf.errors.ParameterError), refused)
"""Errors of whoever asks. All others, such as a full disk, are the server's: uvicorn logs them, and the answer is 500 without their text."""

app = Starlette(routes=ROUTES, exception_handlers={**FAULTS, ClientDisconnect: gone})
