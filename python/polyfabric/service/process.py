"""The server's process: its socket, TLS and connections, with uvicorn."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import FileError, InputError, RunError
from .app import Service

MOST_CONNECTIONS = 512
"""Further ones are closed at once."""

HEAD_SECONDS = 10.0
"""Within which a connection must have sent the head of a request."""


class _Connection(H11Protocol):
    """A connection that does not stay open without a request."""

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - uvicorn's own
        """Begins to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_SECONDS, self._close_if_idle)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()

    def on_response_complete(self) -> None:
        """Begins to wait for the next request."""
        self._late.cancel()
        self._late = self.loop.call_later(HEAD_SECONDS, self._close_if_idle)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends waiting."""
        self._late.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Ends the connection of a client that does not speak HTTP; what has been answered already is not answered again."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"{host}, port {port}: cannot listen ({reason}); choose another --host or --port") from None


def _logging() -> None:
    """The audit log on standard output, everything else on standard error."""
    for name, stream, level in (
        ("polyfabric.audit", sys.stdout, logging.INFO),
        ("polyfabric.service", sys.stderr, logging.WARNING),
        ("uvicorn", sys.stderr, logging.ERROR),
    ):
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def serve(
    service: Service,
    *,
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    started: Callable[[str], None],
) -> None:
    """Serves until a signal ends it. Calls `started` with the address."""
    if (certificate is None) != (key is None):
        raise InputError("TLS needs a certificate and its key; give both --tls-cert and --tls-key")
    config = uvicorn.Config(
        service.app,
        http=_Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=20,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise FileError(
            f"{certificate}, {key}: not a certificate and its key in PEM ({error.strerror or error}); give the files of one certificate"
        ) from None
    with _listening(host, port) as own:
        _logging()
        shown = f"[{host}]" if ":" in host else host
        started(f"{'https' if certificate else 'http'}://{shown}:{own.getsockname()[1]}")
        asyncio.run(uvicorn.Server(config).serve(sockets=[own]))
