"""An altered specification is refused or harmless, and never silently weaker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polyfabric as pf
import pytest
from rejects import rejects


@pf.program(x=pf.Int(0, 5).vector(2), n=pf.UInt(8), t=pf.Text(2))
def elements(x, n, t):
    return {"y": pf.lookup(x, [2, 3, 4, 5, 0, 1]), "n": n + 1, "t": t}


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x + 0.5


@pf.program(x=pf.Mod(65537).matrix(2, 2))
def residues(x):
    return x @ x


@pf.program(x=pf.Int(0, 3))
def small(x):
    return x + 1


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "tfhe": (elements, {"x": [1, 2], "n": 3, "t": "ab"}),
    "ckks": (reals, {"x": [0.5, 0.25, 0, 1]}),
    "bgv": (residues, {"x": [[1, 2], [3, 4]]}),
    "lanes": (small.in_batches(2), {"x": [1, 2]}),
}

WRONG: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    2**31,
    2**63,
    10**30,
    0.5,
    1e308,
    "",
    "x",
    "Ω" * 300,
    [],
    [1, 2, 3],
    {},
    {"a": 1},
]


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield (*path, key)
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield (*path, index)
            yield from leaves(value, (*path, index))


def altered(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(data))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


@pytest.mark.parametrize("scheme", CASES)
@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
def test_every_part_of_a_specification_altered(scheme: str) -> None:
    """Every field takes every wrong value: an error of ours, or a client that encrypts in its own types with 128 bits."""
    program, inputs = CASES[scheme]
    data = pf.Specification.of(program).data
    refused = taken = 0
    for number, path in enumerate(leaves(data)):
        # Each field gets some of the values, all of them in turn.
        for value in WRONG if len(path) < 2 else WRONG[number % 4 :: 4]:
            text = json.dumps(altered(data, path, value)).encode()
            try:
                client = pf.Client(pf.Specification.from_bytes(text))
                client.encrypt(inputs)
            except pf.Error:
                refused += 1
            except Exception as problem:
                raise AssertionError(f"{path} = {value!r}") from problem
            else:
                taken += 1
    assert refused > taken, (refused, taken)


@pytest.mark.filterwarnings("ignore::polyfabric.errors.SecurityWarning")
@pytest.mark.parametrize(("program", "weak"), [(elements, "toy-256"), (reals, "toy-10")], ids=["tfhe", "ckks"])
def test_a_specification_of_a_weak_set_is_refused(program: Any, weak: str) -> None:
    """Who serves the program names the set; the client alone accepts less than 128 bits."""
    if weak == "toy-256":
        data = json.loads(pf.Specification.of(elements).to_bytes())
        data["parameters"]["lwe_noise_log2"] -= 4
        spec = pf.Specification.from_bytes(json.dumps(data).encode())
    else:
        spec = pf.Specification.of(program, weak)
    with rejects(pf.errors.ParameterError, "128"):
        pf.Client(spec)
    key = pf.Client(spec, security=0).to_bytes()
    with rejects(pf.errors.ParameterError, "128"):
        pf.Client.from_bytes(spec, key)
    pf.Client.from_bytes(spec, key, security=0)
