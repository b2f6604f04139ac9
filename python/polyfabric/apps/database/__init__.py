"""Lookup in an encrypted database with an encrypted query: the server learns neither, with BGV."""

from __future__ import annotations

from functools import cache

from ...language.numpy_calls import Value
from ...language.types import Mod
from ...run.runnable_programs import Program, program
from .store import PARTS, T


@cache
def database_lookup(stride: int) -> Program:
    """The program for a database of up to `stride` entries, a power of two.

    Slot j·stride + i of `values` is part j of value i, and of `keys` the key of entry i, so every part's block has all
    keys. Slot j·stride of the result is part j of the value found.
    """

    @program("database-lookup", query=Mod(T), keys=Mod(T).vector(PARTS * stride), values=Mod(T).vector(PARTS * stride))
    def lookup(query: Value, keys: Value, values: Value) -> Value:
        """The value of the entry whose key is the query, or zeros."""
        # By Fermat's little theorem, x^(t - 1) is 0 for x = 0 and 1 otherwise.
        found = (1 - (keys - query) ** (T - 1)) * values
        steps = stride
        while steps > 1:
            steps //= 2
            found = found + found.rotate(steps)
        return found

    return lookup
