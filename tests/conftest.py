"""Which tests run: those marked `full` only where POLYFABRIC_FULL is 1."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("POLYFABRIC_FULL") == "1":
        return
    skip = pytest.mark.skip(reason="takes a minute and more; make test-full runs it")
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(skip)
