"""Keys, files of ciphertexts and specifications that the Rust half refuses, beside those that its messages advise; `test_native_remedies.py` makes them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any
from unittest import mock

import polyfabric as pf
from call_remedies import BITS, ELEMENTS, NUMBERS, REALS, TWO, VALUES, Call, call, request, server, specification
from native_remedies import TINY, traced
from polyfabric import keys
from polyfabric.errors import Error
from test_damaged_results import flipped

OTHER_SET = "polyfabric-1-p128-t32"


@cache
def side(parameters: str | None = None, public: bool = False) -> tuple[pf.Client, pf.Server]:
    """A client and a server of ELEMENTS."""
    made = pf.Client(pf.Specification.of(ELEMENTS, parameters, public=public))
    return made, pf.Server(ELEMENTS, made.evaluation_key, public=public)


@cache
def pair() -> tuple[pf.Client, pf.Server, pf.Ciphertexts]:
    """A client and a server of TWO, and a request."""
    made = pf.Client(pf.Specification.of(TWO))
    return made, pf.Server(TWO, made.evaluation_key), made.encrypt({"x": NUMBERS["x"], "y": NUMBERS["x"]})


def answered(program: Any, inputs: dict[str, Any]) -> Callable[..., Any]:
    """What a client decrypts: the answer, or with a bit flipped so many bytes before its end."""

    @cache
    def made() -> tuple[pf.Client, pf.Ciphertexts]:
        own = pf.Client(pf.Specification.of(program))
        return own, pf.Server(program, own.evaluation_key).execute(own.encrypt(inputs))

    def decrypted(place: int = 0, bit: int = 0) -> Any:
        own, given = made()
        ((name, data),) = given.parts.items()
        kept = flipped(data, len(data) - place, bit) if place else data
        return own.decrypt(pf.Ciphertexts({name: kept}, ".out.ct"))

    return decrypted


FIVE = answered(traced(lambda x: pf.lookup(x, [2, 3, 4, 0, 1]), x=pf.Int(0, 4).vector(2)), {"x": [1, 0]})
SQUARE = answered(REALS, NUMBERS)
RESIDUE = answered(traced(lambda x: x * x + 1, x=pf.Mod(65537).vector(4)), VALUES)


def written_anew(made: Callable[[], pf.Specification], *path: str | int, to: Any) -> pf.Specification:
    """A specification with one figure changed."""
    data = json.loads(made().to_bytes())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return pf.Specification.from_bytes(json.dumps(data).encode())


def elements() -> pf.Specification:
    return pf.Specification.of(ELEMENTS, TINY)


def large() -> pf.Specification:
    return pf.Specification.of(ELEMENTS, "polyfabric-6-p64-t32")


def specified(made: Callable[[], pf.Specification], words: str, *path: str | int, to: Any) -> Call:
    """A specification that is refused, and the one that the server gives."""
    return call(
        lambda _: written_anew(made, *path, to=to),
        words,
        lambda _: pf.Specification.from_bytes(made().to_bytes()),
    )


def with_little_memory(data: bytes) -> Any:
    """A server of ELEMENTS on a computer that has a MiB left."""
    with mock.patch.object(keys, "available_bytes", return_value=1 << 20):
        return pf.Server(ELEMENTS, pf.EvaluationKey(data))


EXPANDED = call(
    lambda _: with_little_memory(side()[0].evaluation_key.to_bytes()),
    "MiB of memory are left; use a computer with more memory",
    lambda _: pf.Server(ELEMENTS, side()[0].evaluation_key),
)
ON_A_DEVICE = call(
    lambda _: side()[0].save("/dev/null"),
    "a device or a pipe is there; name another place",
    lambda at: side()[0].save(at / "client.key"),
)
OF_TFHE = [
    specified(elements, words, "signature", *path, to=to)
    for words, path, to in (
        ("expected a sequence", ("inputs",), 3),
        ("and a vector has 1 to", ("inputs", 0, "length"), 0),
        ("do not carry integer[0..1]; get the specification again", ("inputs", 0, "step"), 1),
        ("and this one has none; get the specification again", ("outputs", 0, "error_bound"), None),
        ("letters, digits and _ - + . alone; get the specification again", ("inputs", 0, "name"), "../x"),
        ("is no bound where values are told apart up to", ("outputs", 0, "error_bound"), 0.7),
        ("5 to 0 by 1 is no range of integers", ("inputs", 0, "element"), {"integer": [5, 0, 1]}),
    )
]
OF_SLOTS = [
    specified(specification, "get it again from whoever serves the program", "signature", *path, to=to)
    for path, to in (
        (("parameters", "ckks", "noise_std"), 0.001),
        (("inputs", 0, "limbs"), [0, 1, 99]),
        (("inputs",), 3),
    )
]
OF_SETS = [
    call(
        lambda _, key=key, wrong=wrong: written_anew(elements, "parameters", key, to=wrong),
        words,
        lambda _, key=key, right=right: written_anew(elements, "parameters", key, to=right),
    )
    for words, key, wrong, right in (
        ("so write 32 or 64", "torus_bits", 48, 32),
        ("lower one of the two", "ring_degree", 131_072, 512),
        (
            "lower log2_base or levels, or use a 64-bit torus",
            "bootstrap_gadget",
            {"log2_base": 12, "levels": 3},
            {"log2_base": 10, "levels": 3},
        ),
        (
            "lower log2_base or levels, or use a 64-bit torus",
            "bootstrap_gadget",
            {"log2_base": 12, "levels": 3},
            {"log2_base": 12, "levels": 2},
        ),
    )
]
LARGE = call(
    lambda _: written_anew(large, "parameters", "lwe_dimension", to=131_072),
    "lower the dimensions or the levels",
    lambda _: written_anew(large, "parameters", "lwe_dimension", to=1024),
)

DAMAGED = [
    call(
        lambda _: FIVE(33, 4),
        "of the torus from the nearest value",
        lambda _: FIVE(),
    ),
    # Half of the torus is three steps, to a value that nothing has.
    call(lambda _: FIVE(33, 7), "which integer[0..4] does not hold: the ciphertext was damaged", lambda _: FIVE()),
    call(lambda _: SQUARE(1000, 3), "and by the plan it is at most", lambda _: SQUARE()),
    call(lambda _: RESIDUE(996, 0), "the phase has coefficients up to", lambda _: RESIDUE()),
]

CIPHERTEXTS = [
    call(
        lambda _: side(TINY)[1].execute(side(OTHER_SET)[0].encrypt(BITS)),
        "use ciphertexts and keys of one set",
        lambda _: [server.execute(made.encrypt(BITS)) for made, server in (side(TINY), side(OTHER_SET))],
    ),
    call(
        lambda _: side(TINY)[1].execute(pf.Ciphertexts({}, ".in.ct")),
        "name one for each batch",
        lambda _: side(TINY)[1].execute(side(TINY)[0].encrypt(BITS)),
    ),
    call(
        lambda _: pf.Server(ELEMENTS, side(TINY, public=True)[0].evaluation_key).execute(encrypted_by_others()),
        "whose noise elements was not planned for; plan it with public=True (--public)",
        lambda _: side(TINY, public=True)[1].execute(encrypted_by_others()),
    ),
    call(
        lambda _: pf.Encryptor(elements(), side(TINY, public=True)[0].public_key).encrypt(BITS),
        "is not planned for inputs of a public key, which have more noise; plan it with public=True (--public)",
        lambda _: encrypted_by_others(),
    ),
    call(
        lambda _: pair()[1].execute(pf.Ciphertexts({"x": pair()[2].parts["x"]}, ".in.ct")),
        "give all of them",
        lambda _: pair()[1].execute(pair()[2]),
    ),
    call(
        lambda _: server().execute(deeper()[0].encrypt(NUMBERS)),
        "the program is lowered for ckks-depth-1; use one set",
        lambda _: (server().execute(request()), deeper()[1].execute(deeper()[0].encrypt(NUMBERS))),
    ),
    call(
        lambda _: warned(lambda: REALS.run(NUMBERS, flood=0.0)),
        "share it only with who may know the key, or ask for flooding",
        lambda _: REALS.run(NUMBERS, flood=1e-3),
    ),
]


def warned(run: Callable[[], Any]) -> None:
    """A run that is warned of, as if it were refused."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run()
    raise Error("; ".join(str(one.message) for one in told))


def encrypted_by_others() -> pf.Ciphertexts:
    made = side(TINY, public=True)[0]
    return pf.Encryptor(made.specification, made.public_key).encrypt(BITS)


@cache
def deeper() -> tuple[pf.Client, pf.Server]:
    made = pf.Client(pf.Specification.of(REALS, "ckks-depth-3"))
    return made, pf.Server(REALS, made.evaluation_key)


READ = [EXPANDED, ON_A_DEVICE, *OF_TFHE, *OF_SLOTS, *OF_SETS, LARGE, *DAMAGED, *CIPHERTEXTS]
