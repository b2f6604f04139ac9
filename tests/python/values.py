"""Compares what programs return: one value, a tuple or a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np


def expect_close(found: Any, expected: Any, atol: float = 0.0) -> None:
    """The same form and the same values, up to `atol`."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = tuple(found.values()), tuple(expected.values())
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        for own, value in zip(found, expected, strict=True):
            expect_close(own, value, atol)
    elif atol:
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    else:
        assert found == expected
