"""Programs of every scheme whose cost is estimated: `polyfabric run tests/python/costed_programs.py:NAME --cost`."""

from __future__ import annotations

import numpy as np
import polyfabric as pf

RANDOM = np.random.default_rng(1)
SQUARE, LARGE = (RANDOM.uniform(-1, 1, (n, n)) for n in (64, 256))
WEIGHTS = RANDOM.uniform(-1, 1, 2048)
RESIDUES = RANDOM.integers(0, 100, (128, 128))
ENTRIES = RANDOM.integers(0, 256, 256).tolist()

reals, residues = pf.Real.vector, pf.Mod(65537).vector


@pf.program(x=reals(64))
def ckks_matrix(x):
    return SQUARE @ x


@pf.program(x=reals(256))
def ckks_large_matrix(x):
    return LARGE @ x


@pf.program(x=reals(2048))
def ckks_weighted_sum(x):
    return pf.dot(WEIGHTS, x)


@pf.program(x=reals(4096))
def ckks_sum(x):
    return x.sum()


@pf.program(x=reals(512))
def ckks_polynomial(x):
    return pf.chebyshev(x, np.tanh, 63)


@pf.program(x=reals(64))
def ckks_rectifier(x):
    return pf.relu(x)


@pf.program(a=pf.Real.matrix(16, 16), b=pf.Real.matrix(16, 16))
def ckks_encrypted_matrices(a, b):
    return a @ b


@pf.program(x=reals(8), y=reals(8))
def ckks_small_sum(x, y):
    return x + y


@pf.program(x=residues(4096), y=residues(4096))
def bgv_product(x, y):
    return x * y + x


@pf.program(x=residues(128))
def bgv_matrix(x):
    return RESIDUES @ x


@pf.program(x=residues(1000))
def bgv_polynomial(x):
    return pf.polynomial(x, range(1, 9))


@pf.program(x=pf.UInt(32), y=pf.UInt(32))
def tfhe_added(x, y):
    return x + y


@pf.program(x=pf.UInt(8), y=pf.UInt(8))
def tfhe_multiplied(x, y):
    return x * y


@pf.program(x=pf.Int(0, 7).vector(60))
def tfhe_lookups(x):
    return pf.lookup(x, lambda v: v // 2)


@pf.program(x=pf.UInt(8).vector(4))
def tfhe_largest(x):
    return pf.max(pf.max(x[0], x[1]), pf.max(x[2], x[3]))


@pf.program(i=pf.UInt(8))
def tfhe_table(i):
    return pf.lookup(i, ENTRIES, result=pf.UInt(8))


@pf.program(x=pf.Int(0, 3), y=pf.Int(0, 3))
def tfhe_one_lookup(x, y):
    return x > y


@pf.program(x=pf.Int(0, 15).vector(64))
def tfhe_histogram(x):
    return [pf.sum(x == value) for value in range(16)]
