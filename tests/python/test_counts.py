"""Truth values are 0 and 1 in arithmetic, as in Python, and their sums are exact."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
import pytest

X, Y = [20, 130, 5, 11], [1, 200, 40, 255]
V = pf.UInt(8).vector(4)


class Numbers(np.ndarray):
    """Integers of numpy's whose conditions are 0 and 1: numpy's own True + True is True."""

    def __gt__(self, other):
        return np.asarray(super().__gt__(other)).astype(np.int64).view(Numbers)

    def __lt__(self, other):
        return np.asarray(super().__lt__(other)).astype(np.int64).view(Numbers)

    def __eq__(self, other):
        return np.asarray(super().__eq__(other)).astype(np.int64).view(Numbers)


def looped(x):
    n = 0
    for v in x:
        n += v > 10
    return n


COUNTED = {
    "loop": lambda x, _: looped(x),
    "sum of both": lambda x, y: (x > 10) + (y > 10),
    "builtin sum": lambda x, _: sum(x > 10),
    "numpy's sum": lambda x, _: np.sum(x > 10),
    "np.dot": lambda x, _: np.dot(x > 2, [1, 1, 1, 1]),
    "matrix": lambda x, _: np.array([[1, 1, 1, 1], [1, -2, 0, 300]]) @ (x > 10),
    "matrix behind": lambda x, _: (x > 10) @ np.array([[1], [-2], [0], [300]]),
    "difference": lambda x, y: (x > 10) - (y > 10),
    "negative": lambda x, _: -(x > 10),
    "shift": lambda x, _: (x > 10) << 3,
    "shift back": lambda x, y: (((x > 10) << 3) - ((y > 10) << 1)) >> 1,
    "factor": lambda x, _: (x > 10) * 5,
    "vector of factors": lambda x, _: (x > 10) * np.array([5, -7, 0, 1000]),
    "from a number": lambda x, _: 3 - (x > 10),
    "absolute": lambda x, y: abs((x > 10) * 3 - (y > 10) * 4),
    "power": lambda x, y: (((x > 10) * 3 - (y > 10) * 4) ** 3, (5 - (x > 10)) ** 0),
    "product": lambda x, y: (x > 10) * (y > 10) * ((x > 100) + (y > 100)),
    "dot of both": lambda x, y: (x > 10) @ (y > 10),
    "next to a type": lambda x, y: (x // 2 + (y > 10), (y > 10) * 2 * (x // 2), x * (y > 10)),
    "compared": lambda x, y: (x > 10) + (y > 10) == 2,
    "compared with a type": lambda x, y: ((x > 10) + (y > 10) < x, x > (y > 10)),
    "divided": lambda x, y: (((x > 10) + (y > 10) + 7) // 3, ((x > 10) - (y > 10) - 7) % 4, ((x > 10) - 2) // -1),
    "divided by powers of two": lambda x, y: (((x > 10) + (y > 10) + 7) // 2, ((x > 10) - (y > 10) - 7) % 8),
    "bits and numbers": lambda x, y: (((x > 10) + (y > 10) + 7) & 6, (x > 10) | 8, ((x > 10) - (y > 10)) ^ -3),
    "extremes": lambda x, y: (np.maximum((x > 10) + (y > 10), 1), np.minimum((x > 10) - 5, (y > 10) * 3)),
    "clipped": lambda x, y: np.clip((x > 10) + (y > 10) * 7, 1, 7),
    "concatenated": lambda x, y: np.concatenate([(x > 10) + (y > 10), x > 10, -(y > 10)]),
    "sorted": lambda x, y: np.sort((x > 10) - 2 * (y > 10)),
    "weighted twice": lambda x, y: np.dot([1, 2, 3, 4], (x > 10) + (y > 10)) * (x[0] > 10),
}


@pytest.mark.parametrize("written", COUNTED.values(), ids=COUNTED)
def test_sums_of_truth_values_are_exact(written) -> None:
    program = pf.program(x=V, y=V)(lambda x, y: written(x, y))
    expected = written(*(np.array(values).view(Numbers) for values in (X, Y)))
    found = program.clear(x=X, y=Y)
    plain = (
        tuple(np.asarray(own).tolist() for own in expected)
        if isinstance(expected, tuple)
        else np.asarray(expected).tolist()
    )
    assert found == plain
    assert program.reference_values(program.flatten({"x": X, "y": Y}))[1] == []


def test_sums_of_bits_of_texts_and_of_declared_truth_values() -> None:
    @pf.program(x=pf.UInt(8), t=pf.Text(6), b=pf.UInt(1).vector(3), c=pf.UInt(1))
    def counted(x, t, b, c):
        return {
            "bits": sum(x.bit(i) for i in range(8)),
            "zeros": x.leading_zeros() + x.leading_zeros() * 5,
            "letters": sum(v == ord("a") for v in t),
            "mean": pf.sum([c, b[0], b[1], b[2]]) * 100 // 4,
            "power": pow(pf.sum(b) + 5, 3, 7),
            "chosen": pf.where(c, pf.sum(b), c - 1),
            "checked": pf.sum(b).checked_add(c)[0],
            "beyond": c.checked_mul(b)[1],
        }

    for x, t, b, c in ((255, "banana", [1, 1, 1], 1), (0, "", [0, 0, 0], 0), (9, "a", [0, 1, 1], 0)):
        assert counted.clear(x=x, t=t, b=b, c=c) == {
            "bits": x.bit_count(),
            "zeros": 6 * (8 - x.bit_length()),
            "letters": t.count("a"),
            "mean": (c + sum(b)) * 25,
            "power": (sum(b) + 5) ** 3 % 7,
            "chosen": sum(b) if c else -1,
            "checked": sum(b) + c,
            "beyond": [0, 0, 0],
        }


def test_sums_of_truth_values_have_ranges_that_widen_as_they_go() -> None:
    @pf.program(x=V, y=V)
    def typed(x, y):
        truth = x > 10
        return {
            "sum": pf.sum(truth),
            "difference": truth - (y > 10),
            "absolute": abs(truth - (y > 10)),
            "logic": truth & (y > 10) | ~truth,
            "declared": x + truth,
            "vast": truth << 100,
            "cast": pf.sum(truth).cast(pf.UInt(2)) + 3,
        }

    assert {name: repr(kind.one) for name, kind in typed.outputs.items()} == {
        "sum": "pf.Int(0, 4)",
        "difference": "pf.Int(-1, 1)",
        "absolute": "pf.Int(0, 1)",
        "logic": "pf.UInt(1)",
        "declared": "pf.UInt(8)",
        "vast": f"pf.Int(0, {1 << 100}, step={1 << 100})",
        "cast": "pf.UInt(2)",
    }
    # From a cast on, results are modulo the declared width.
    assert typed.clear(x=[20] * 4, y=Y)["cast"] == (4 % 4 + 3) % 4


@pytest.mark.parametrize(
    "written",
    [
        lambda x, s: ((x > 10) + (x > 20)).rotate_left(1),
        lambda x, s: (x > 10) << 5000,
        lambda x, s: (x > 10) << x.cast(pf.UInt(20)),
        lambda x, s: ((x > 10) + 1) ** (2**40),
        lambda x, s: (x > 10) + 0.5,
        lambda x, s: (x > 10) + "a",
    ],
)
def test_a_result_that_no_type_holds_is_refused(written) -> None:
    with pytest.raises(pf.errors.ProgramError):
        pf.program(x=pf.UInt(8), s=pf.SInt(8))(written)


def test_sums_of_truth_values_decrypt_right() -> None:
    @pf.program(x=V, y=V)
    def counted(x, y):
        return {"n": sum(x > 10), "d": (x > 10) - (y > 10), "both": y[1] * (x[0] > 10) + pf.sum(y > 10)}

    result = counted.run({"x": X, "y": Y})
    assert result.correct
    assert result.outputs == {"n": 3, "d": [1, 0, -1, 0], "both": 203}
    assert result.wrapped == []


def test_a_text_has_no_arithmetic() -> None:
    for written in (
        lambda t: -t,
        lambda t: abs(t),
        lambda t: ~t,
        lambda t: t**2,
        lambda t: t << 1,
        lambda t: t + 1,
        lambda t: 1 - t,
        lambda t: t % 2,
        lambda t: t.sum(),
        lambda t: pf.sum(t),
        lambda t: t.rotate_left(1),
    ):
        with pytest.raises(pf.errors.ProgramError):
            pf.program(t=pf.Text(3))(written)
    with pytest.raises(pf.errors.InputError):
        pf.program(t=pf.Text(3))(lambda t: t == "a").clear(t=[97, 0, 98])
    assert pf.program(t=pf.Text(3))(lambda t: t == "a").clear(t=[97, 0, 0]) == 1


def test_weights_beyond_numpys_integers_are_exact() -> None:
    weights = [0, 1, 2**63 + 1, 2**64 - 1]

    @pf.program(x=pf.UInt(64).vector(4), y=V)
    def weighted(x, y):
        return np.dot(weights, x), pf.dot([weights, weights[::-1]], x), np.dot(weights, y > 10)

    x = [2**64 - 1, 2**63, 3, 5]
    first, second = (sum(w * v for w, v in zip(row, x, strict=True)) % 2**64 for row in (weights, weights[::-1]))
    count = sum(w for w, v in zip(weights, Y, strict=True) if v > 10)
    assert weighted.clear(x=x, y=Y) == (first, [first, second], count)
