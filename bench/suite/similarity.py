"""Fetch by similarity: which records of an encrypted table of unit vectors have a cosine similarity over 0.8 to an encrypted query?

A slot belongs to a record. A record's coordinates lie in several ciphertexts, or in several blocks of one, and the query has each coordinate in every slot
of its block. So similarities take one product a ciphertext, and sums of blocks. A polynomial turns them into 0 or 1: the suite promises that no
similarity is near 0.8. Matches multiply the payloads, or are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf
from typing import Any

import numpy as np
import polyfabric as pf
from instance import Exchange, Instance
from integers import nothing, total
from numpy.typing import NDArray

THRESHOLD = 0.8
STEEPNESS = 30.0
"""The step is erf(30 t): below 2e-4 at 0.09 from the threshold, and a polynomial of degree 255 is within 2e-8 of it."""
DEGREE = 255
PAYLOAD = 7
"""Integers of a payload, from 0 to 511."""
UNIT = 1024
"""A payload p is encrypted as (p + 1) / 1024, so that 0 stands for no match."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """A table in ciphertexts."""

    records: int
    dimension: int
    slots: int = 16384

    @property
    def part(self) -> int:
        """Records of one execution, a power of two."""
        return min(self.slots, 1 << (self.records - 1).bit_length())

    @property
    def blocks(self) -> int:
        """Coordinates in one ciphertext."""
        return self.slots // self.part

    @property
    def executions(self) -> int:
        """Parts of the table."""
        return -(-self.records // self.part)

    def ciphertexts(self, columns: int) -> int:
        """Ciphertexts with so many columns of a part."""
        return -(-columns // self.blocks)

    def packed(self, columns: Floats) -> list[Floats]:
        """Slots with the columns of one part, columns x records, padded with zeros."""
        count = self.ciphertexts(len(columns))
        wide = np.zeros((count * self.blocks, self.part))
        wide[: columns.shape[0], : columns.shape[1]] = columns
        return list(wide.reshape(count, self.slots))

    def unpacked(self, ciphertexts: list[Floats], columns: int) -> Floats:
        """The columns of one part, columns x records."""
        return np.concatenate([slots.reshape(self.blocks, self.part) for slots in ciphertexts])[:columns]


SIZES = {
    "toy": Layout(1_000, 128),
    "small": Layout(50_000, 128),
    "medium": Layout(1_000_000, 256),
    "large": Layout(20_000_000, 512),
}


def step(similarity: float) -> float:
    """1 above the threshold, 0 below."""
    return (1 + erf(STEEPNESS * (similarity - THRESHOLD))) / 2


def program(layout: Layout, *, count_only: bool) -> Any:
    """The server's program for one part of a table."""
    coordinates, payloads = layout.ciphertexts(layout.dimension), 0 if count_only else layout.ciphertexts(PAYLOAD)
    names = [f"{kind}{at}" for kind in ("record", "query") for at in range(coordinates)]
    names += [f"payload{at}" for at in range(payloads)]

    def fetch(**given: Any) -> Any:
        found = total([given[f"record{at}"] * given[f"query{at}"] for at in range(coordinates)])
        found = _turned(found, layout.part, layout.slots)
        matches = pf.chebyshev(found, np.vectorize(step), DEGREE, (-1.05, 1.05))
        if count_only:
            return _turned(matches, 1, layout.part)
        return tuple(matches * given[f"payload{at}"] for at in range(payloads))

    return pf.program(**{name: pf.Real.vector(layout.slots) for name in names})(fetch)


def _turned(value: Any, start: int, end: int) -> Any:
    """The sum of all rotations by multiples of `start` below `end`."""
    while start < end:
        value += value.rotate(start)
        start *= 2
    return value


class Similarity:
    """The workload."""

    @property
    def stages(self) -> dict[str, Callable[[Instance], None]]:
        """What each stage does."""
        return {
            "client_preprocess_dataset": nothing,
            "client_key_generation": self.make_keys,
            "client_encode_encrypt_db": self.encrypt_table,
            "server_preprocess_dataset": nothing,
            "client_preprocess_query": nothing,
            "client_encode_encrypt_query": self.encrypt_query,
            "server_encrypted_compute": self.compute,
            "client_decrypt_decode": self.decrypt,
            "client_postprocess": self.collect,
        }

    def layout(self, instance: Instance) -> Layout:
        """The table's layout."""
        return SIZES[instance.name]

    def program(self, instance: Instance) -> Any:
        """The server's program."""
        return program(self.layout(instance), count_only=instance.count_only)

    def make_keys(self, instance: Instance) -> None:
        """The client's keys."""
        self._exchange(instance).make_keys(self.program(instance))

    def encrypt_table(self, instance: Instance) -> None:
        """The client's records and payloads, a file for each part of the table."""
        layout = self.layout(instance)
        records = np.fromfile(instance.data / "db.bin", np.float32).reshape(-1, layout.dimension)
        payloads = np.fromfile(instance.data / "payloads.bin", np.int16).reshape(-1, PAYLOAD)
        for number in range(layout.executions):
            rows = slice(number * layout.part, (number + 1) * layout.part)
            group = _named("record", layout.packed(records[rows].T.astype(np.float64)))
            if not instance.count_only:
                group |= _named("payload", layout.packed((payloads[rows].T + 1) / UNIT))
            self._exchange(instance).encrypt({f"records-{number}.bin": group})

    def encrypt_query(self, instance: Instance) -> None:
        """The client's query."""
        layout = self.layout(instance)
        query = np.fromfile(instance.data / "query.bin", np.float32).astype(np.float64)
        columns = np.repeat(query[:, None], layout.part, axis=1)
        self._exchange(instance).encrypt({"query.bin": _named("query", layout.packed(columns))})

    def compute(self, instance: Instance) -> None:
        """The server's work, one part of the table after another."""
        exchange = self._exchange(instance)
        parts = enumerate(exchange.uploaded("records-*.bin"))
        results = {f"results.bin/part-{number}": [name, "query.bin"] for number, name in parts}
        exchange.execute(self.program(instance), results)

    def decrypt(self, instance: Instance) -> None:
        """Matches, or the payloads' columns."""
        found = self._exchange(instance).decrypt("results.bin/part-*")
        if instance.count_only:
            np.save(instance.io / "decrypted.npy", sum(float(np.real(one[0])) for one in found))
            return
        layout = self.layout(instance)
        parts = [one if isinstance(one, tuple) else (one,) for one in found]
        columns = [layout.unpacked([np.real(slots) for slots in part], PAYLOAD) for part in parts]
        np.save(instance.io / "decrypted.npy", np.concatenate(columns, axis=1))

    def collect(self, instance: Instance) -> None:
        """The number of matches, or their payloads in the suite's order."""
        found = np.load(instance.io / "decrypted.npy")
        if instance.count_only:
            np.array([round(float(found))], dtype=np.int64).tofile(instance.io / "results.bin")
            return
        payloads = np.rint(found.T * UNIT).astype(np.int16) - 1
        payloads = payloads[(payloads >= 0).all(axis=1)]
        payloads[np.lexsort(payloads.T[::-1])].astype(np.int16).tofile(instance.io / "results.bin")

    def _exchange(self, instance: Instance) -> Exchange:
        return Exchange(instance.io, "keys", public=True)


def _named(kind: str, ciphertexts: list[Floats]) -> dict[str, Floats]:
    return {f"{kind}{at}": slots for at, slots in enumerate(ciphertexts)}


WORKLOADS = {"similarity": Similarity()}
