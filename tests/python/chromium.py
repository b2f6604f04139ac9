"""Chromium without a window, driven through its debugging pipe, for tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECONDS = 300
"""Time limit of a page's work."""


def command() -> str:
    """Chromium's command; skips the test without it."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("Chromium is missing; on Debian: apt install chromium")
    return found


class Browser:
    """One tab. Commands are those of the Chrome DevTools Protocol, as JSON texts that end with a zero."""

    def __init__(self, source: int, target: int) -> None:
        self._source, self._target = os.fdopen(source, "rb"), os.fdopen(target, "wb")
        self._number, self._session = 0, None
        self.events: list[dict[str, Any]] = []
        """What the pages reported: errors and texts of the console."""
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._target.write(json.dumps(message).encode() + b"\0")
        self._target.flush()
        while True:
            text = b""
            while not text.endswith(b"\0"):
                byte = self._source.read(1)
                assert byte, "Chromium has ended"
                text += byte
            answer = json.loads(text[:-1])
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def open(self, address: str) -> None:
        """Loads a page."""
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def until(self, condition: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.value(condition):
            assert time.monotonic() < end, (condition, self.value("document.body.innerText"), self.events)
            time.sleep(0.1)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A new browser, whose files are in `folder`."""
    (their_source, target), (source, their_target) = os.pipe(), os.pipe()
    # Chromium reads descriptor 3 and writes descriptor 4.
    script = f'exec "$0" "$@" 3<&{their_source} 4>&{their_target}'
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    process = subprocess.Popen(
        ["bash", "-c", script, command(), *options, f"--user-data-dir={folder}", "--remote-debugging-pipe"],
        pass_fds=(their_source, their_target),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_source)
    os.close(their_target)
    try:
        yield Browser(source, target)
    finally:
        process.kill()
        process.wait()
