"""Who may send requests, how many, and how slowly; and the audit log of what they asked for.

Every request passes here before the application sees it. A request without a valid token is answered before its body is read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response

from .metrics import Metrics
from .queue import BusyError
from .tokens import Tokens

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

AUDIT = logging.getLogger("polyfabric.audit")
"""One JSON object per request of a tenant, without data."""

PIECE = 1 << 16
"""Bytes of an answer that are sent at once, so that a slow reader does not fill the memory with the rest."""

SLOWEST = 1 << 17
"""Bytes a second below which bodies are no longer received or sent, after `GRACE`."""

GRACE = 20.0
"""Seconds within which every body, or piece of an answer, may be late."""


DRAINED = (403, 404, 412, 429)
"""Statuses of refusals after which a well-meaning client goes on. Its body is read first: with TLS, it loses an answer that comes while it sends."""

MOST_DRAINED = 1 << 28
"""Bytes of a refused body that are read at most."""


class Rate:
    """Requests a second of each tenant, with bursts of twice as many."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._most = max(1.0, 2 * per_second)
        self._left: dict[str, tuple[float, float]] = {}
        """By tenant: requests left at a time."""

    def take(self, tenant: str) -> None:
        """Counts one request, or refuses it."""
        now = time.monotonic()
        left, since = self._left.get(tenant, (self._most, now))
        left = min(self._most, left + (now - since) * self._per_second)
        if left < 1:
            raise BusyError("rate", (1 - left) / self._per_second)
        self._left[tenant] = left - 1, now


class Guard:
    """Authenticates requests, applies the rate, and writes the audit log. The inner application finds in `scope["state"]`:

    - `tenant`;
    - `held`, an `ExitStack` that is closed after the answer has been sent;
    - `facts`, a dictionary whose entries go into the audit log.
    """

    def __init__(
        self, app: ASGIApp, tokens: Tokens, rate: Rate, metrics: Metrics, page: Mapping[str, Response] | None = None
    ) -> None:
        """`page`: answers by address, which anybody gets."""
        self._app, self._tokens, self._rate, self._metrics = app, tokens, rate, metrics
        self._page = page or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] == "/health":
            await PlainTextResponse("ok\n")(scope, receive, send)
            return
        if scope["path"] in self._page and scope["method"] in ("GET", "HEAD"):
            await self._page[scope["path"]](scope, receive, send)
            return
        kind, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        tenant = self._tokens.tenant(token.strip()) if kind.lower() == "bearer" else None
        if tenant is None:
            self._metrics.count("refusals_total", reason="token")
            text = "a valid token is needed; send the header `Authorization: Bearer TOKEN` with one from the server's operator\n"
            await PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        exchange = _Exchange(receive, send)
        with ExitStack() as held:
            facts: dict[str, Any] = {}
            scope["state"] = {"tenant": tenant, "held": held, "facts": facts}
            begin = time.monotonic()
            try:
                try:
                    self._rate.take(tenant)
                except BusyError as busy:
                    await self.refuse(busy)(scope, exchange.receive, exchange.send)
                    return
                await self._app(scope, exchange.receive, exchange.send)
            except TimeoutError:
                # The client does not take its answer; the connection is closed.
                facts["outcome"] = "answer not taken"
            finally:
                self._record(scope, tenant, facts, exchange, time.monotonic() - begin)

    def refuse(self, busy: BusyError) -> PlainTextResponse:
        """The answer to a request that comes too early."""
        self._metrics.count("refusals_total", reason=busy.reason)
        seconds = str(busy.seconds)
        text = f"too many requests ({busy.reason}); send this one again in {seconds} s\n"
        return PlainTextResponse(text, 429, {"Retry-After": seconds})

    def _record(self, scope: Scope, tenant: str, facts: dict[str, Any], exchange: _Exchange, seconds: float) -> None:
        outcome = facts.pop("outcome", exchange.status)
        action = facts.pop("action", "other")
        self._metrics.count("requests_total", action=action, outcome=str(outcome))
        self._metrics.time("request_seconds", seconds, action=action)
        record = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "tenant": tenant,
            "address": (scope.get("client") or ("unknown",))[0],
            "action": action,
            **facts,
            "bytes_in": exchange.received,
            "bytes_out": exchange.sent,
            "outcome": outcome,
            "seconds": round(seconds, 3),
        }
        AUDIT.info("%s", json.dumps(record))


class _Exchange:
    """Counts the bytes of a request and of its answer, which it sends in pieces."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.received = self.sent = 0
        self.status: int | None = None
        self._whole = False
        """Whether all of the request has been received."""

    async def receive(self) -> Message:
        """The next part of the request."""
        message = await self._receive()
        self.received += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """A part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.status in DRAINED:
                await self._drain()
            await self._in_time(message)
            return
        body = message.get("body", b"")
        for begin in range(0, max(1, len(body)), PIECE):
            piece = body[begin : begin + PIECE]
            more = message.get("more_body", False) or begin + PIECE < len(body)
            await self._in_time({"type": "http.response.body", "body": piece, "more_body": more})
            self.sent += len(piece)

    async def _drain(self) -> None:
        """Reads the rest of the request, within limits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                while not self._whole and self.received < MOST_DRAINED:
                    await self.receive()

    async def _in_time(self, message: Message) -> None:
        """Sends a part, unless the client takes none of the earlier ones."""
        async with asyncio.timeout(GRACE + PIECE / SLOWEST):
            await self._send(message)
