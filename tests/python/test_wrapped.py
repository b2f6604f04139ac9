"""A result names values that left their declared type's range, and is compared with the function's meaning."""

from __future__ import annotations

import json

import polyfabric as pf
import pytest
from polyfabric.language.program import TfheProgram
from polyfabric.schemes.tfhe import TfhePlan


def wraps(program: pf.Program, **inputs) -> list[tuple]:
    """Operation, type, elements, and the first of them, of all wraps in the clear."""
    _, wrapped = program.reference_values(program.flatten(inputs))
    return [(wrap.operation, wrap.type, wrap.count, wrap.index, wrap.exact, wrap.value) for wrap in wrapped]


@pytest.mark.parametrize(
    ("written", "wrap"),
    [
        (lambda u, s: u + 200, ("+", "uint8", 1, 1, 300, 44)),
        (lambda u, s: u - 100, ("-", "uint8", 1, 0, -93, 163)),
        (lambda u, s: u * u, ("*", "uint8", 1, 1, 10_000, 16)),
        (lambda u, s: u**4, ("**", "uint8", 2, 0, 2401, 97)),
        (lambda u, s: u ** (2**60), ("**", "uint8", 2, 0, None, pow(7, 2**60, 256))),
        (lambda u, s: -u, ("-", "uint8", 2, 0, -7, 249)),
        (lambda u, s: abs(s), ("abs", "sint8", 1, 0, 128, -128)),
        (lambda u, s: s // -1, ("//", "sint8", 1, 0, 128, -128)),
        (lambda u, s: (s + 1) // u, None),
        (lambda u, s: u // (s + 1), ("//", "sint9", 1, 1, None, -1)),
        (lambda u, s: u % 0, ("%", "uint8", 2, 0, None, 7)),
        (lambda u, s: u << 2, ("<<", "uint8", 1, 1, 400, 144)),
        (lambda u, s: u << 1000, ("<<", "uint8", 2, 0, 7 << 8, 0)),
        (lambda u, s: pf.sum(s), ("sum", "sint8", 1, 0, -129, 127)),
        (lambda u, s: pf.dot([1, 3], u), ("dot", "uint8", 1, 0, 307, 51)),
        # Operations that are modulo 2^bits by design, stay within the type, or are in no output.
        (lambda u, s: (~u, u.cast(pf.UInt(3)), u.rotate_left(5), u.checked_mul(u)[0], u % 3, s >> 1), None),
        (lambda u, s: (u + 155, u * 2, s * 1, s + 0, [u * 200, u + 1][1]), None),
    ],
)
def test_wraps_are_listed(written, wrap) -> None:
    program = pf.program(u=pf.UInt(8).vector(2), s=pf.SInt(8).vector(2))(lambda u, s: written(u, s))
    assert wraps(program, u=[7, 100], s=[-128, -1]) == ([] if wrap is None else [wrap])


def test_wraps_of_one_line_are_one_entry() -> None:
    @pf.program(x=pf.UInt(8))
    def looped(x):
        for _ in range(5):
            x = x * 3
        return x

    assert wraps(looped, x=100) == [("*", "uint8", 4, 0, 300, 44)]


def test_a_result_lists_its_wraps(polyfabric, tmp_path) -> None:
    text = "import polyfabric as pf\n\n@pf.program(x=pf.UInt(4))\ndef double(x):\n    return x + x\n"
    (tmp_path / "double.py").write_text(text, encoding="utf-8")
    scope: dict = {}
    exec(compile(text, str(tmp_path / "double.py"), "exec"), scope)
    result = scope["double"].run({"x": 9})
    assert result.correct
    [wrap] = result.wrapped
    assert wrap.location.endswith("double.py:5")
    assert (wrap.operation, wrap.type, wrap.exact, wrap.value) == ("+", "uint4", 18, 2)
    assert json.loads(json.dumps(result.to_dict()))["wrapped"] == [wrap.to_dict()]
    assert str(wrap) in repr(result)
    shown = polyfabric("run", "double.py", "--input", "x=9")
    assert any("wrapped" in line and "18" in line for line in shown.out.splitlines()), shown
    within = polyfabric("run", "double.py", "--input", "x=3")
    assert "wrapped" not in within.out


def test_an_error_of_the_lowering_is_not_a_correct_result(monkeypatch) -> None:
    """A program whose digits compute something else than the function it was traced of."""
    monkeypatch.setattr(TfheProgram, "reference_values", TfheProgram.reference_values.__wrapped__)
    kinds = {"x": pf.UInt(4), "y": pf.UInt(4)}
    written, lowered = (pf.program(**kinds)(call) for call in (lambda x, y: x + y, lambda x, y: x + y + 1))
    written.native = lowered.native
    result = written.run({"x": 3, "y": 4})
    assert (result.value, result.expected["result"], result.correct) == (8, 7, False)
    assert written.clear(x=3, y=4) == 7


def test_programs_without_a_function_are_compared_with_their_digits() -> None:
    program = pf.program(x=pf.UInt(8))(lambda x: x * x)
    restored = pf.Program.parse(program.text())
    assert restored.reference is None
    flat = program.flatten({"x": 20})
    for kind in (program, restored):
        plan = kind.plan()
        assert isinstance(plan, TfhePlan)
        assert plan.evaluate(flat).values == program.native.evaluate(flat)
    assert len(program.plan().evaluate(flat).wrapped) == 1


def test_public_numbers_are_those_of_the_time_of_tracing() -> None:
    weights = [1, 2, 3]

    @pf.program(x=pf.UInt(8).vector(3))
    def weighted(x):
        made = x * weights
        weights[0] = 100
        return made

    assert weighted.clear(x=[1, 1, 1]) == [1, 2, 3]


def test_operands_may_come_from_generators_and_by_name() -> None:
    @pf.program(x=pf.UInt(8).vector(3), c=pf.UInt(1))
    def made(x, c):
        return {
            "sum": pf.sum(v * 2 for v in x),
            "max": pf.max(v + 1 for v in x),
            "mux": pf.where(otherwise=x[0], condition=c, then=x[1]),
            "dot": pf.dot(value=x, weights=[1, 2, 3]),
        }

    assert made.clear(x=[3, 1, 2], c=1) == {"sum": 12, "max": 4, "mux": 1, "dot": 11}
