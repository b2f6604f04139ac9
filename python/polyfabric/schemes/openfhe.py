"""The parameters in a crypto context that OpenFHE serialized as JSON, `Serial::SerializeToFile("trace.json", context, SerType::JSON)`.

Its archive nests base classes as `value0`, and a pointer's object as `ptr_wrapper`. The primes of the key switch are not in it: OpenFHE derives them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..host.sources import text_of

LARGEST_FILE = 1 << 22
MOST_PRIMES = 128
SCHEMES = {"CKKS": "ckks", "BGV": "bgv", "BFV": "bfv"}
SECRETS = {1: "uniform-ternary", 2: {"sparse-ternary": 192}}
"""By OpenFHE's number of the distribution."""
HYBRID = 2
"""OpenFHE's number of the key switch with special primes."""
EXTENDED = 3
"""OpenFHE's number of the scaling technique FLEXIBLEAUTOEXT, whose last prime only serves encryption."""


@dataclass(frozen=True)
class Context:
    """What a trace and a parameter set take from it."""

    file: str
    scheme: str
    """ "ckks", "bgv" or "bfv"."""
    degree: int
    slots: int
    """Slots of a vector, OpenFHE's batch size."""
    primes: tuple[int, ...]
    """Of the ciphertext modulus, level 0 first."""
    plaintext: int
    """The plaintext modulus; with CKKS, the bits of the scale."""
    digits: int
    special_bits: int
    """Bits of a special prime; 0 for a key switch without them."""
    secret: int
    noise: float

    @property
    def highest(self) -> int:
        """The highest level."""
        return len(self.primes) - 1

    def fields(self) -> dict[str, Any]:
        """The fields of a parameter set with these figures. CKKS has the same primes of Q; special primes, and BGV's primes, are others of as many bits."""
        if self.scheme == "bfv":
            raise ParameterError(
                f"{self.file}: parameters of BFV, which multiplies in another way; let BGV choose its own for the program"
            )
        if self.secret not in SECRETS:
            raise ParameterError(f"{self.file}: secret distribution {self.secret}; ternary secrets (1, 2) are read")
        width = ceil(len(self.primes) / self.digits) if self.special_bits else 1
        bits = [prime.bit_length() for prime in self.primes]
        largest = max(sum(bits[at : at + width]) for at in range(0, len(bits), width))
        each = self.special_bits or max(bits)
        count = ceil(largest / each)
        common = {
            "name": "openfhe-" + re.sub(r"[^A-Za-z0-9]", "-", Path(self.file).stem)[:40],
            "ring_degree": self.degree,
            "secret": SECRETS[self.secret],
            "noise_std": self.noise,
        }
        if self.scheme == "bgv":
            return common | {
                "q_bits": bits,
                "special_bits": [each] * count,
                "digit_limbs": width,
                "plaintext_modulus": {"packed": self.plaintext},
            }
        return common | {
            "q": [{"prime": prime} for prime in self.primes],
            "p": [{"bits": each, "count": count}],
            "gadget": {"hybrid": {"digit_limbs": width}},
            "scale_log2": self.plaintext,
        }


def read(source: str | Path) -> Context:
    """The context in a file, given by its path, or in its text."""
    text, file = text_of(
        source, reader="openfhe", file="the JSON of a crypto context", largest=LARGEST_FILE, marks="\n{"
    )
    try:
        return _context(json.loads(text), file)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as problem:
        what = (
            str(problem)
            if isinstance(problem, _UnfitError)
            else "its fields are not those of a serialized CryptoContext"
        )
        raise ParameterError(
            f"{file}: {what}; write it with OpenFHE's Serial::SerializeToFile(file, context, SerType::JSON)"
        ) from None


class _UnfitError(ValueError):
    """A field with a value that no context has."""


def _context(data: Any, file: str) -> Context:  # noqa: ANN401 - whatever a file has
    own = data["value0"]["ptr_wrapper"]["data"]["cc"]
    name = str(own["polymorphic_name"])
    scheme = next((mine for theirs, mine in SCHEMES.items() if theirs in name), None)
    if scheme is None:
        raise _UnfitError(f"{name[:80]!r} are not parameters of CKKS, BGV or BFV")
    layers = [own["ptr_wrapper"]["data"]]
    while isinstance(layers[-1].get("value0"), dict) and len(layers) < 8:
        layers.append(layers[-1]["value0"])

    def of(field: str) -> Any:  # noqa: ANN401 - as above
        return next(layer[field] for layer in layers if field in layer)

    try:
        ring, encoding = [of(field)["ptr_wrapper"]["data"] for field in ("elp", "enp")]
        degree = _whole(ring["value0"]["rd"], "ring dimension", 1 << 10, 1 << 17)
        towers = ring["p"]
        if degree & (degree - 1) or not 1 <= len(towers) <= MOST_PRIMES:
            raise _UnfitError(f"ring dimension {degree} with {len(towers)} primes")
        primes = [_whole(tower["ptr_wrapper"]["data"]["value0"]["cm"]["v"], "a prime", 3, 1 << 61) for tower in towers]
        if of("rs") == EXTENDED and scheme == "ckks" and len(primes) > 1:
            primes.pop()
        rows = degree // 2 if scheme == "ckks" else degree
        batch = _whole(encoding["bs"], "batch size", 0, rows)
        return Context(
            file,
            scheme,
            degree,
            batch if scheme == "ckks" and batch and not batch & (batch - 1) else rows,
            tuple(primes),
            _whole(encoding["m"], "plaintext modulus", 2, 1 << 60),
            _whole(of("dnum"), "digits", 0, MOST_PRIMES) or 1,
            _whole(of("ab"), "bits of special primes", 0, 64) if of("ks") == HYBRID else 0,
            _whole(of("mo"), "secret distribution", 0, 9),
            float(of("dp")),
        )
    except StopIteration:
        raise KeyError from None


def _whole(value: object, what: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise _UnfitError(f"{what} {value!r:.40}, but it is from {least} to {most}")
    return value
