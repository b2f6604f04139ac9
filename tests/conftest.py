"""Which tests run: those marked `full` only where POLYFABRIC_FULL is 1; and in how many threads the libraries that they use compute."""

from __future__ import annotations

import os

import pytest

# scikit-learn's and numpy's threads spin while they wait for each other, where the processors have more to do. Workers, and what tests start, inherit it.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("POLYFABRIC_FULL") == "1":
        return
    skip = pytest.mark.skip(reason="over three seconds of processor time; make test-full runs it")
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(skip)
