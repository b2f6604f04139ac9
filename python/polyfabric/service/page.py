"""The page of a client in a browser. Anybody may load it, without a token: it has no secrets."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

from ..errors import InputError
from ..host.files import read_bytes

LARGEST = 64 << 20
"""Most bytes of a file of the page."""

FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/client.js": ("client.js", "text/javascript; charset=utf-8"),
    "/polyfabric_client.wasm": ("polyfabric_client.wasm", "application/wasm"),
}
"""File and media type by address."""

HEADERS = {
    # Nothing but its own files and this server.
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_of(folder: Path) -> dict[str, Response]:
    """The answers by address. The files are read once."""
    missing = next((name for name, _ in FILES.values() if not (folder / name).is_file()), None)
    if missing is not None:
        raise InputError(f"--page {folder}: there is no {missing}; `make page` makes the folder target/page")
    return {
        address: Response(read_bytes(folder / name, LARGEST), media_type=media, headers=HEADERS)
        for address, (name, media) in FILES.items()
    }
