"""A program that is refused beside the one that its message advises, and the types that such cases are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polyfabric as pf

I3, U8, U4 = pf.Int(0, 3), pf.UInt(8), pf.UInt(4)
I3V, U8V = I3.vector(4), U8.vector(2)
R, RV, M, MV, BIT = pf.Real, pf.Real.vector(4), pf.Mod(65537), pf.Mod(65537).vector(4), pf.Mod(2)
HALF = np.array([0.5, -0.25, 0.125, 0.0])


@dataclass(frozen=True)
class Case:
    """A refused program and the advised one."""

    kinds: dict[str, Any]
    wrong: Callable[..., Any]
    words: str
    right: Callable[..., Any]
    given: dict[str, Any]
    meant: Any
    instead: dict[str, Any] | None = None
    """Types of the advised program, where the advice is another type."""
    options: dict[str, Any] | None = None
    right_options: dict[str, Any] | None = None


def case(
    kinds: Any, wrong: Any, words: str, right: Any, given: Any, meant: Any, instead: Any = None, **more: Any
) -> Case:
    return Case(kinds, wrong, words, right, given, meant, instead, **more)


def anything(x: Any = None) -> Any:
    return x


FOREIGN: dict[str, Any] = {}


def keep(name: str, kind: Any) -> None:
    def function(x: Any) -> Any:
        FOREIGN[name] = x
        return x

    pf.program(x=kind)(function)


for label, of in (("value", I3), ("integer", U8), ("slots", RV)):
    keep(label, of)
