"""Checks an error by its type and the values in its message. Wording is never compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def holds(message: str, value: str) -> bool:
    """Whether a message contains the value as a whole, not as a part of another number or word."""
    before = r"(?<![\w.])" if value[0].isalnum() else ""
    after = r"(?!\w|\.\d)" if value[-1].isalnum() else ""
    return re.search(before + re.escape(value) + after, message) is not None


def check(message: str, *values: str) -> None:
    """The message contains all values."""
    message = " ".join(message.split())
    assert [value for value in values if not holds(message, value)] == [], message


@contextmanager
def rejects(error: type[Exception], *values: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """As `pytest.raises`, with values that the message must contain."""
    with pytest.raises(error) as caught:
        yield caught
    check(str(caught.value), *values)
