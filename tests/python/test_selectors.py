"""Encrypted bits select vectors of slots without a level, and everything that is no selector is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.run.execution import plan
from rejects import rejects

T = 65537
TOY = "bgv-toy-1024"
MOD, REAL = pf.Mod(T), pf.Real
DRAWN = np.random.default_rng(11)
TABLE = DRAWN.integers(0, T, (16, 8))

pytestmark = pytest.mark.filterwarnings("ignore:.*bits of security:UserWarning")


@pf.program(b=MOD.selector, x=MOD.vector(5), y=MOD.vector(5))
def residues(b, x, y):
    return {
        "where": pf.where(b, x, y),
        "numpy": np.where(b, x, 7),
        "product": b * x + np.multiply(x, b),
        "negated": pf.where(1 - b, x, y) - ~b * y,
        "public": pf.where(b, [1, 2, 3, 4, 5], -1),
        "of_products": pf.where(b, x * y, x + y),
    }


@pf.program(b=REAL.selector, x=REAL.vector(5), y=pf.Complex.vector(5))
def reals(b, x, y):
    return {"where": pf.where(b, x, y), "product": b * x * y, "public": pf.where(~b, [0.5, 1, 0, -1, 2], x)}


@pf.program(b0=MOD.selector, b1=MOD.selector, b2=MOD.selector, b3=MOD.selector, rows=MOD.matrix(16, 8))
def encrypted_table(b0, b1, b2, b3, rows):
    left = list(rows)
    for bit in (b0, b1, b2, b3):
        left = [pf.where(bit, odd, even) for even, odd in zip(left[::2], left[1::2], strict=True)]
    return left[0]


@pf.program(b0=MOD.selector, b1=MOD.selector, b2=MOD.selector, b3=MOD.selector)
def public_table(b0, b1, b2, b3):
    left = list(TABLE)
    for bit in (b0, b1, b2, b3):
        left = [pf.where(bit, odd, even) for even, odd in zip(left[::2], left[1::2], strict=True)]
    return left[0]


def centred(numbers: Any) -> list[int]:
    return [int(n) if n <= T // 2 else int(n) - T for n in np.asarray(numbers) % T]


def python_of_residues(b: int, x: Any, y: Any) -> dict[str, list[int]]:
    def each(one: Any, other: Any) -> list[int]:
        return centred([int(u if b else v) for u, v in zip(one, other, strict=True)])

    return {
        "where": each(x, y),
        "numpy": each(x, [7] * 5),
        "product": centred([2 * b * int(n) for n in x]),
        "negated": centred([int(v) if b else int(u) - int(v) for u, v in zip(x, y, strict=True)]),
        "public": each([1, 2, 3, 4, 5], [-1] * 5),
        "of_products": each([int(u) * int(v) for u, v in zip(x, y, strict=True)], x + y),
    }


@pytest.mark.parametrize("bit", [0, 1])
@pytest.mark.parametrize("parameters", [None, TOY, "bgv-toy-1024-subdigit"])
def test_residues_are_selected(bit: int, parameters: str | None) -> None:
    x, y = DRAWN.integers(0, T, (2, 5))
    done = residues.run(b=bit, x=x, y=y, **({"parameters": parameters, "security": 0} if parameters else {}))
    assert done.correct
    assert done.outputs == python_of_residues(bit, x, y)


@pytest.mark.parametrize("bit", [0, 1])
def test_numbers_are_selected_within_the_bound(bit: int) -> None:
    x, y = DRAWN.uniform(-1, 1, 5), DRAWN.uniform(-0.7, 0.7, 5) * (1 + 1j)
    done = reals.run(b=bit, x=x, y=y, measure=True)
    assert done.correct
    assert done.first_beyond is None
    np.testing.assert_allclose(done.outputs["where"], x if bit else y, atol=1e-6)
    np.testing.assert_allclose(done.outputs["product"], bit * x * y, atol=1e-6)
    np.testing.assert_allclose(done.outputs["public"], x if bit else [0.5, 1, 0, -1, 2], atol=1e-6)


@pytest.mark.parametrize("bit", [0, 1])
def test_rotated_vectors_are_selected_with_all_slots(bit: int) -> None:
    @pf.program(b=MOD.selector, x=MOD.vector(3), y=MOD.vector(3))
    def rotated(b, x, y):
        behind = (x.rotate(1) + y)[:3]
        return pf.where(b, x.rotate(1), behind), pf.where(b, x.rotate(1), y.rotate(2)) + y

    x, y = [1, 2, 3], [10, 20, 30]
    first, second = rotated.run(b=bit, x=x, y=y, parameters=TOY, security=0).value
    # Two rows of two slots.
    turned, other = [2, 1, 0, 3], [10, 20, 30, 0]
    behind = [12, 21, 30, 0]
    assert first == (turned if bit else behind)
    assert second == [u + v for u, v in zip(turned if bit else other, [10, 20, 30, 0], strict=True)]


@pytest.mark.parametrize("bit", [0, 1])
def test_public_numbers_are_selected_with_ckks(bit: int) -> None:
    @pf.program(b=REAL.selector)
    def half(b):
        return b * 0.5

    done = half.run(b=bit)
    assert done.correct
    assert done.value == pytest.approx(0.5 * bit, abs=1e-6)


@pytest.mark.parametrize("row", [0, 6, 15])
@pytest.mark.parametrize("program", [public_table, encrypted_table])
def test_a_tree_of_selections_reads_a_row(program: Any, row: int) -> None:
    given = {f"b{at}": row >> at & 1 for at in range(4)} | ({"rows": TABLE} if program is encrypted_table else {})
    done = program.run(given, parameters=TOY, security=0)
    assert done.correct
    assert done.value == centred(TABLE[row])


def test_selections_of_public_rows_have_a_set_of_their_own() -> None:
    assert public_table.run(b0=0, b1=1, b2=1, b3=0).value == centred(TABLE[6])


@pytest.mark.parametrize("bit", [0, 1])
def test_single_bits_are_selected_before_and_after_bootstrapping(bit: int) -> None:
    kind = pf.Mod(2)

    @pf.program(b=kind.selector, x=kind, y=kind)
    def bits(b, x, y):
        for _ in range(2):
            x = pf.where(b, (x * y + 1).bootstrap(), y)
        return x, pf.where(~b, 1, x), b * x

    done = bits.run(b=bit, x=1, y=1, parameters="bgv-toy-1024-bootstrap", security=0, max_failure=-40)
    assert done.correct
    # 1 AND 1 XOR 1 is 0, then 0 AND 1 XOR 1 is 1.
    assert list(done.outputs.values()) == ([1, 1, 1] if bit else [1, 1, 0])


def test_several_owners_have_no_selectors() -> None:
    with pytest.raises(pf.errors.ProgramError):
        plan(residues, parties=2)


def test_selections_take_no_level_and_add_little_noise() -> None:
    @pf.program(b=MOD.selector, x=MOD.vector(8), y=MOD.vector(8))
    def many(b, x, y):
        for _ in range(20):
            x, y = pf.where(b, x, y), pf.where(b, y, x)
        return x

    @pf.program(x=MOD.vector(8))
    def none(x):
        return x

    assert plan(many, TOY, security=0).facts["start_level"] <= plan(none, TOY, security=0).facts["start_level"] + 1

    @pf.program(b=REAL.selector, x=REAL.vector(8))
    def twenty(b, x):
        for _ in range(20):
            x = pf.where(b, x, 0.5)
        return x

    assert plan(twenty).facts["start_level"] == 0


def test_texts_and_pickles_keep_selectors() -> None:
    for program in (residues, reals, public_table):
        again = type(program).parse(program.text())
        assert again.text() == program.text()
        restored = pickle.loads(pickle.dumps(program))
        assert restored.inputs == program.inputs
    given = {"b": 1, "x": [1, 2, 3, 4, 5], "y": [5, 4, 3, 2, 1]}
    assert pickle.loads(pickle.dumps(residues)).run(given, parameters=TOY, security=0).correct


@pytest.mark.parametrize(
    ("program", "given"),
    [
        (residues, {"b": 1, "x": [1, 2, 3, 4, 5], "y": [5, 4, 3, 2, 1]}),
        (reals, {"b": 0, "x": [0.5] * 5, "y": [0.25j] * 5}),
    ],
)
def test_selectors_go_through_bytes_and_files(program: Any, given: dict[str, Any], tmp_path: Any) -> None:
    client = pf.Client(pf.Specification.from_bytes(pf.Specification.of(program).to_bytes()))
    server = pf.Server(program, pf.EvaluationKey.from_bytes(client.evaluation_key.to_bytes()))
    request = client.encrypt(given).to_bytes()
    answer = server.execute(pf.Ciphertexts.from_bytes(request)).to_bytes()
    expected = program.clear(given)
    for name, found in client.decrypt(pf.Ciphertexts.from_bytes(answer)).items():
        np.testing.assert_allclose(found, expected[name], atol=1e-6 if program is reals else 0)
    client.encrypt(given).save(tmp_path)
    server.execute(pf.Ciphertexts.load(tmp_path)).save(tmp_path)
    for name, found in client.decrypt(pf.Ciphertexts.load(tmp_path, outputs=True)).items():
        np.testing.assert_allclose(found, expected[name], atol=1e-6 if program is reals else 0)


@pytest.mark.parametrize("bit", [0, 1])
def test_selectors_are_encrypted_in_steps(bit: int, tmp_path: Any) -> None:
    @pf.program(b=MOD.selector, x=MOD.vector(3))
    def chosen(b, x):
        return pf.where(b, x, 7)

    steps = chosen.in_folder(tmp_path, parameters=TOY, security=0)
    assert "public.key" not in steps.make_keys().files
    steps.encrypt(b=bit, x=[1, 2, 3])
    steps.execute()
    done = steps.decrypt()
    assert done.correct
    assert done.value == ([1, 2, 3] if bit else [7, 7, 7])
    with rejects(pf.errors.InputError, "b"):
        chosen.in_folder(tmp_path / "other", public=True, parameters=TOY, security=0).make_keys()


@pytest.mark.parametrize("value", [2, -1, 0.5, [0, 1], "1", None])
def test_a_selector_is_one_bit(value: Any) -> None:
    with rejects(pf.errors.InputError, "b"):
        residues.run(b=value, x=[0] * 5, y=[0] * 5, parameters=TOY, security=0)


BOTH = {"b": MOD.selector, "x": MOD.vector(4)}


@pytest.mark.parametrize(
    "function",
    [
        lambda b, x: b + x,
        lambda b, x: x + b,
        lambda b, x: x - b,
        lambda b, x: b * b * x,
        lambda b, x: b & b,
        lambda b, x: b,
        lambda b, x: x if b else -x,
        lambda b, x: pf.where(b, x, [1, 2, 3]),
        lambda b, x: pf.where(b, "text", x),
        lambda b, x: pf.where(x, x, x),
        lambda b, x: x[b] + 1,
        lambda b, x: x.rotate(b) + 1,
        lambda b, x: b.rotate(1),
        lambda b, x: np.exp(b),
        lambda b, x: pf.dot(b, x),
        lambda b, x: pf.dot(x, b),
        lambda b, x: pf.polynomial(b, [1, 2]),
        lambda b, x: hash(b),
    ],
)
def test_selectors_only_select(function: Any) -> None:
    def program(b, x):
        return function(b, x)

    with pytest.raises(pf.errors.ProgramError):
        pf.program(**BOTH)(program)


def test_types_without_meaning_are_refused() -> None:
    for make in (lambda: MOD.selector.vector(4), lambda: REAL.selector.bounded(2), lambda: MOD.selector.matrix(2, 2)):
        with pytest.raises(pf.errors.ProgramError):
            make()
    with pytest.raises(pf.errors.ProgramError):
        pf.program(b=pf.Mod(12289).selector, x=MOD.vector(4))(lambda b, x: b * x)


def test_a_public_key_encrypts_no_selector() -> None:
    given = {"b": 1, "x": [0] * 5, "y": [0] * 5}
    with rejects(pf.errors.InputError, "b"):
        residues.run(given, public=True, parameters=TOY, security=0)
