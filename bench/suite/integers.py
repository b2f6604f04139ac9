"""Sums and products of 64-bit integers, modulo 2^64.

One pair is two encrypted integers of TFHE, and so is its result, with which a server can go on computing. A batch is in the slots of BGV: the client
splits numbers into digits, the server adds or multiplies the polynomials of the digits, and the client carries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polyfabric as pf
from instance import Exchange, Instance
from numpy.typing import NDArray

SIZES = {"single": 1, "small": 1_000, "medium": 100_000, "large": 10_000_000}
PLAIN = 786433
"""A prime with slots in every ring up to 131072, above the largest digit of a result: 8 · 255², or 2 · 65535."""
SLOTS = 8192

Numbers = NDArray[np.uint64]


@dataclass(frozen=True)
class Integers:
    """A workload: an operation on pairs."""

    operation: str
    digit_bits: int

    @property
    def stages(self) -> dict[str, Callable[[Instance], None]]:
        """What each stage does."""
        return {
            "client_preprocess_input": nothing,
            "client_key_generation": self.make_keys,
            "client_encode_encrypt_input": self.encrypt,
            "server_encrypted_compute": self.compute,
            "client_decrypt_decode": self.decrypt,
            "client_postprocess": self.carry,
        }

    @property
    def digits(self) -> int:
        """Digits of a number."""
        return 64 // self.digit_bits

    def program(self, name: str) -> Any:
        """The server's program for an instance."""
        return self._pair() if name == "single" else self._batch()

    def executions(self, name: str) -> int:
        """Executions of the program for an instance."""
        return -(-SIZES[name] // SLOTS)

    def _pair(self) -> Any:
        if self.operation == "addition":
            return pf.program(x=pf.UInt(64), y=pf.UInt(64))(lambda x, y: x + y)
        return pf.program(x=pf.UInt(64), y=pf.UInt(64))(lambda x, y: x * y)

    def _batch(self) -> Any:
        count = self.digits
        types = {f"{side}{at}": pf.Mod(PLAIN).vector(SLOTS) for side in "xy" for at in range(count)}

        def digits(**given: Any) -> tuple[Any, ...]:
            x, y = ([given[f"{side}{at}"] for at in range(count)] for side in "xy")
            if self.operation == "addition":
                return tuple(a + b for a, b in zip(x, y, strict=True))
            return tuple(total([x[at] * y[place - at] for at in range(place + 1)]) for place in range(count))

        return pf.program(**types)(digits)

    # -- stages -------------------------------------------------------------------------------------------------------

    def make_keys(self, instance: Instance) -> None:
        """The client's keys."""
        Exchange(instance.io).make_keys(self.program(instance.name))

    def encrypt(self, instance: Instance) -> None:
        """The client's numbers, as one pair or in digits."""
        x, y = (read(instance, side) for side in ("lhs", "rhs"))
        if instance.name == "single":
            groups = {"pair-0.bin": {"x": int(x[0]), "y": int(y[0])}}
        else:
            starts = range(0, len(x), SLOTS)
            groups = {
                f"pairs-{number}.bin": {
                    f"{side}{at}": digit
                    for side, values in (("x", x), ("y", y))
                    for at, digit in enumerate(self.split(values[start : start + SLOTS]))
                }
                for number, start in enumerate(starts)
            }
        Exchange(instance.io).encrypt(groups)

    def compute(self, instance: Instance) -> None:
        """The server's work."""
        exchange = Exchange(instance.io)
        exchange.execute(self.program(instance.name), {name: [name] for name in exchange.uploaded("pair*.bin")})

    def decrypt(self, instance: Instance) -> None:
        """Digits of all results, each a row."""
        found = Exchange(instance.io).decrypt("pair*.bin")
        if instance.name == "single":
            digits = np.array([[found[0]]], dtype=np.uint64)
        else:
            rows = [np.mod(np.array(one, dtype=np.int64), PLAIN) for one in found]
            digits = np.concatenate(rows, axis=1).astype(np.uint64)
        np.save(_decrypted(instance), digits)

    def carry(self, instance: Instance) -> None:
        """Numbers from digits."""
        digits = np.load(_decrypted(instance))[:, : len(read(instance, "lhs"))]
        folder = instance.io / "cleartext_output"
        folder.mkdir(exist_ok=True)
        np.savetxt(folder / "out.txt", self.joined(digits), fmt="%u")

    # -- digits -------------------------------------------------------------------------------------------------------

    def split(self, values: Numbers) -> NDArray[np.int64]:
        """Digits of numbers, the lowest first, padded to all slots."""
        mask = np.uint64((1 << self.digit_bits) - 1)
        shifts = np.arange(self.digits, dtype=np.uint64)[:, None] * np.uint64(self.digit_bits)
        return np.pad((values[None, :] >> shifts) & mask, ((0, 0), (0, SLOTS - len(values)))).astype(np.int64)

    def joined(self, digits: Numbers) -> Numbers:
        """Numbers from digits of any size, modulo 2^64."""
        shifts = np.arange(len(digits), dtype=np.uint64)[:, None] * np.uint64(self.digit_bits)
        return np.add.reduce(digits << shifts, axis=0, dtype=np.uint64)


def nothing(instance: Instance) -> None:
    """A stage with nothing to do."""


def read(instance: Instance, side: str) -> Numbers:
    """The suite's numbers, one a line."""
    return np.loadtxt(instance.data / f"{side}.txt", dtype=np.uint64, ndmin=1)


def total(values: list[Any]) -> Any:
    """A sum that does not begin with 0."""
    first, *others = values
    return sum(others, first)


def _decrypted(instance: Instance) -> Any:
    return instance.io / "decrypted.npy"


WORKLOADS = {
    "addition": Integers("addition", digit_bits=16),
    "multiplication": Integers("multiplication", digit_bits=8),
}
