"""An execution's progress and answer as server-sent events.

    event: progress
    data: {"stage": "blind rotation", "done": 3, "total": 12}

    event: answer
    data: the answer in base64

An `error` instead of the answer has the status and the text that it would have without events. Lines that start with a colon keep the connection
open.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

MEDIA = "text/event-stream"

PAUSE = 0.2
"""Seconds between two reports of one stage."""

BEAT = 5.0
"""Seconds after which something is sent if there is no progress."""


class Progress:
    """The latest progress of an execution: called by its threads, read by the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = 0.0
        self.latest = ("waiting", 0, 0)
        """Stage, steps done, and all steps."""
        self.changed = asyncio.Event()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Takes a report, unless there has been one of the same stage just now."""
        now = time.monotonic()
        if stage == self.latest[0] and now - self._last < PAUSE:
            return
        self._last, self.latest = now, (stage, done, total)
        # The loop has been closed if the server stops.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.changed.set)


class Events(Response):
    """Sends `progress` until `work` has the answer, which it cancels if the client goes away. `failed` makes the answer to an exception."""

    media_type = MEDIA

    def __init__(
        self,
        progress: Progress,
        work: Callable[[], Awaitable[Response]],
        failed: Callable[[Exception], Awaitable[Response]],
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._progress, self._work, self._failed = progress, work, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the events."""
        tasks = [asyncio.ensure_future(self._work()), asyncio.create_task(left(receive))]
        working, leaving = tasks

        async def tell(data: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": more})

        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await tell(self._report())
            while not working.done():
                changed = asyncio.create_task(self._progress.changed.wait())
                tasks[2:] = [changed]
                await asyncio.wait(tasks, timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
                if leaving.done():
                    scope["state"]["facts"]["outcome"] = "client left"
                    return
                if changed.done():
                    self._progress.changed.clear()
                    await tell(self._report())
                elif not working.done():
                    changed.cancel()
                    await tell(b":\n\n")
            await tell(await self._last(working), more=False)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _report(self) -> bytes:
        return _event("progress", dict(zip(("stage", "done", "total"), self._progress.latest, strict=True)))

    async def _last(self, working: asyncio.Future[Response]) -> bytes:
        """The last event."""
        try:
            answer = working.result()
        except Exception as error:
            answer = await self._failed(error)
            return _event("error", {"status": answer.status_code, "text": bytes(answer.body).decode()})
        return b"event: answer\ndata: " + base64.b64encode(bytes(answer.body)) + b"\n\n"


async def left(receive: Receive) -> None:
    """Returns when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(name: str, data: Mapping[str, object]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
