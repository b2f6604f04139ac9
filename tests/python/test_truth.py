"""Where Python asks for the truth of an encrypted value, the error names the code that stands in for that construct."""

from collections.abc import Callable
from typing import Any

import polyfabric as pf
import pytest


def _while(x: Any, y: Any) -> Any:
    while x > y:
        x = x - 1
    return x


def _sorted_in_place(x: Any, y: Any) -> Any:
    both = [x, y]
    both.sort()
    return both[0]


def _if_of_two(x: Any, y: Any) -> Any:
    if x > 3 and y > 2:
        return x
    return y


CASES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "conditional": (lambda x, y: x if x > y else y, "pf.where("),
    "integer condition": (lambda x, y: x if x else y, "pf.where("),
    "comparison of comparisons": (lambda x, y: x if (x > 3) == (y > 2) else y, "pf.where("),
    "loop": (_while, "pf.where("),
    "if of two": (_if_of_two, "&"),
    "and": (lambda x, y: (x > 1) and (y > 1), "&"),
    "not": (lambda x, y: not x > y, "~"),
    "chain": (lambda x, y: 3 < x < 6, "(3 < x) & (x < 9)"),
    "in": (lambda x, y: x in [1, 2], "(x == 1) | (x == 2)"),
    "max": (lambda x, y: max(x, y), "pf.max"),
    "sorted": (lambda x, y: sorted([x, y])[0], "pf.sort"),
    "sort": (_sorted_in_place, "pf.sort"),
    "any": (lambda x, y: any([x > 3, y > 2]), "x.any()"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_remedy_is_for_the_construct_that_asked(name: str) -> None:
    function, code = CASES[name]
    with pytest.raises(pf.errors.ProgramError) as raised:
        pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))(function)
    message = str(raised.value)
    assert code in message
    others = {other for _, other in CASES.values()} - {"&", "~", "(3 < x) & (x < 9)", code}
    assert not any(other in message for other in others)


def test_without_source_every_remedy_is_named() -> None:
    function = eval("lambda x, y: x and y")
    with pytest.raises(pf.errors.ProgramError) as raised:
        pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))(function)
    assert all(code in str(raised.value) for _, code in CASES.values())
