"""Calls with wrong arguments raise errors of the package that name the function and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polyfabric as pf
import pytest


@pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))
def larger(x: pf.Value, y: pf.Value) -> pf.Value:
    return pf.max(x, y)


CALLS: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "values by position": (lambda p: p.clear(3, 1), ["larger.clear", "x=", "y="]),
    "one value by position": (lambda p: p.run(3), ["larger.run", "x=", "y="]),
    "an option of another method": (lambda p: p.cost(threads=2), ["larger.cost", "threads", "widths"]),
    "a misspelt option": (lambda p: p.cost(parameter="x"), ["parameter", "parameters"]),
    "an option that is passed on": (lambda p: p.plan(max_failures=-40), ["larger.plan", "max_failures", "max_failure"]),
    "no operand": (lambda p: p.simulate(), ["larger.simulate", "on"]),
    "values for ciphertexts": (lambda p: p.execute(x=3, y=1), ["larger.execute", "larger.run", "x="]),
    "values for a batch": (lambda p: p.map(x=[3], y=[1]), ["larger.map([{", "'x'", "'y'"]),
    "an operand too many": (lambda p: p.draw(1), ["larger.draw"]),
    "options by position": (lambda p: p.simulate("fpt", "derived"), ["larger.simulate", "widths"]),
    "another type": (lambda _: pf.Program.parse(3), ["pf.Program.parse", "text", "3", "str"]),
    "another type of a method": (lambda _: pf.load_machine("fpt").figure(3), ["figure", "key", "3", "str"]),
    "a class": (lambda _: pf.Server(3), ["pf.Server", "program", "evaluation_key"]),
    "a function without operands": (lambda _: pf.machines(3), ["pf.machines"]),
    "a class method": (lambda _: pf.Keys.load(), ["pf.Keys.load", "folder"]),
    "a path": (lambda _: pf.Keys.load(3), ["3", "str", "Path"]),
    "a type": (lambda _: pf.UInt(), ["pf.UInt", "bits", Path(__file__).name]),
    "a vector of a type without its width": (
        lambda _: pf.UInt.vector(4),
        ["pf.UInt(8).vector(4)", Path(__file__).name],
    ),
    "a vector of a type without its ends": (lambda _: pf.Int.vector(), ["pf.Int(0, 7).vector"]),
    "a vector of a type without its point": (lambda _: pf.Fixed.vector(3), ["pf.Fixed(16, 8).vector(3)"]),
    "a vector of a type without its modulus": (lambda _: pf.Mod.vector(3), ["pf.Mod(65537).vector(3)"]),
    "a matrix of a type without its modulus": (lambda _: pf.Mod.matrix(2, 3), ["pf.Mod(65537).matrix"]),
    "a matrix of a type without matrices": (lambda _: pf.UInt.matrix(2, 3), ["pf.UInt", ".vector"]),
    "a function of the language": (lambda _: pf.lookup(3), ["pf.lookup", "table", Path(__file__).name]),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_function_and_its_arguments(name: str) -> None:
    call, words = CALLS[name]
    with pytest.raises(pf.Error) as found:
        call(larger)
    assert [word for word in words if word not in str(found.value)] == []


def test_another_librarys_error_is_not_replaced_where_anything_fits() -> None:
    class Odd:
        """Looks like an expression of polars, and is none."""

        meta = type("Meta", (), {"serialize": lambda _: "", "output_name": lambda _: ""})()

    with pytest.raises(TypeError, match="lambda"):
        pf.from_polars(Odd(), {"x": pf.Int(0, 1)}, rows=1)


def test_errors_of_a_users_function_are_not_replaced() -> None:
    def wrong(_value: int) -> int:
        return "a" + 1  # type: ignore[operator]

    with pytest.raises(TypeError):
        pf.program(x=pf.Int(0, 7))(lambda x: pf.lookup(x, wrong))
