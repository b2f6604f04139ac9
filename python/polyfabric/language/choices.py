"""One of two integers of any width, or of two texts: by a condition, or by their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from .integers import Integer, Public, is_small, public
from .place import refuse, whole
from .texts import Text, plain
from .types import TextType, holding, narrowest, text_bytes


def _chosen(condition: Integer, *choices: object) -> Integer:
    """The first of public choices, in the narrowest type that has them all."""
    for choice in choices:
        if not isinstance(choice, int | np.integer | np.ndarray | list | tuple):
            raise refuse(f"mux: a choice is {type(choice).__name__}, but an integer is needed, encrypted or public")
    kind = narrowest(
        [
            whole("a choice of mux", value)
            for choice in choices
            for value in np.asarray(choice, dtype=object).reshape(-1)
        ]
    )
    first = choices[0]
    scalar = isinstance(first, int | np.integer)
    return public(condition._tracer, kind.of(1 if scalar else len(cast(Sequence[int], first)), scalar=scalar), first)


def select(condition: Integer, then: Integer | Public, otherwise: Integer | Public) -> Integer:
    """`then` where the bit `condition` is 1, else `otherwise`; a text where one of them is."""
    if isinstance(then, str) and isinstance(otherwise, str):
        kind = TextType(8, length=max(1, len(text_bytes(then)), len(text_bytes(otherwise))), scalar=False)
        then = Text.of(public(condition._tracer, kind, then))
    text = then if isinstance(then, Text) else otherwise
    if isinstance(text, Text):
        a, b = (plain(text._characters(cast("Text | str", choice), text.kind.length)) for choice in (then, otherwise))
        return Text.of(select(condition, a, b))
    known = then if isinstance(then, Integer) else otherwise
    if not isinstance(known, Integer):
        small = [choice for choice in (then, otherwise) if is_small(choice)]
        if small:
            ends = [end for choice in small for end in choice.element.bounds[:2]]
            raise refuse(
                f"mux: the condition is {condition.kind}, and a choice {small[0].type}; cast the choices, as x.cast({holding(*ends)!r})"
            )
        then = known = _chosen(condition, then, otherwise)
    if known is then:
        a, b, span = known._met("mux", otherwise)
    else:
        b, a, span = known._met("mux", then)
    return condition._step(lambda builder: builder.integer_select(condition.handle, a.handle, b.handle), a, b)._counted(
        span
    )


def extreme(a: Integer | Public, b: Integer | Public, op: str) -> Integer:
    """The greater or the smaller of each pair; of two texts the one that stands behind or before the other."""
    for text, other in ((a, b), (b, a)):
        if isinstance(text, Text):
            return select(text > other if op == "max" else text < other, text, other)  # type: ignore[operator]
    if isinstance(a, Integer):
        return a._binary(op, b)
    return cast(Integer, b)._binary(op, a)
