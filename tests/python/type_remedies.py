"""Types that are refused, words of the messages, and the types that they advise; `test_remedies.py` runs them."""

from __future__ import annotations

import numpy as np
import polyfabric as pf
from remedy import anything

TYPES = [
    *[
        (
            vector,
            "has several elements, and those of a vector are single values; declare one vector of them all",
            instead,
        )
        for vector, instead in (
            (lambda: pf.Int(0, 7).vector(2).vector(3), lambda: pf.Int(0, 7).vector(6)),
            (lambda: pf.UInt(8).vector(2).vector(3), lambda: pf.UInt(8).vector(6)),
            (
                lambda: pf.Text(4).vector(3),
                lambda: pf.program(one=pf.Text(4), two=pf.Text(4))(lambda one, two: one == two),
            ),
            (lambda: pf.Real.vector(2).vector(3), lambda: pf.Real.vector(6)),
            (lambda: pf.Real.vector(2).matrix(2, 3), lambda: pf.Real.matrix(2, 3)),
        )
    ],
    (lambda: pf.Mod(8).vector(3), "or take a prime modulus, as pf.Mod(65537)", lambda: pf.Mod(65537).vector(3)),
    (lambda: pf.Mod(65537).bounded(3), "leave .bounded() out", lambda: pf.Mod(65537)),
    (lambda: pf.Real.bounded(-1), "give a positive, finite number", lambda: pf.Real.bounded(1)),
    (lambda: pf.program(anything), "write @pf.program(x=pf.Int(0, 7))", lambda: pf.program(x=pf.Int(0, 7))(anything)),
    (lambda: pf.Int(0, 1 << 63), "take pf.UInt(bits) or pf.SInt(bits), of any width", lambda: pf.UInt(64)),
    (lambda: pf.Int(-(1 << 70), 0), "goes beyond ±2^40; narrow it", lambda: pf.Int(-(1 << 40), 0)),
    (lambda: pf.Int(0, 3.5), "the upper end of pf.Int is 3.5; give an integer", lambda: pf.Int(0, 3)),
    (lambda: pf.Int(0, 8, step=0.5), "give an integer from 1 to", lambda: pf.Int(0, 8, step=1)),
    (lambda: pf.Torus(2.5), "give an integer from 1 to 30", lambda: pf.Torus(30)),
    (lambda: pf.Torus(31), "give an integer from 1 to 30", lambda: pf.Torus(30)),
    (lambda: pf.Int(0, 3).bounded(3), "its type bounds it, as pf.Int(lo, hi)", lambda: pf.Int(0, 2)),
    (lambda: pf.UInt(8).matrix(2, 2), ".vector(rows * columns)", lambda: pf.UInt(8).vector(2 * 2)),
    (lambda: pf.Real.matrix((2, 3, 4)), "give its rows and columns, as .matrix(3, 4)", lambda: pf.Real.matrix(3, 4)),
    (
        lambda: pf.Real.matrix(3),
        "the shape of a matrix is 3; give its rows",
        lambda: pf.Real.matrix(np.ones((3, 3)).shape),
    ),
    (lambda: pf.Bool.array(3), "types have .vector(length)", lambda: pf.Bool.vector(3)),
    (lambda: pf.Bool(), "leave the () away, with .vector(10)", lambda: pf.Bool.vector(10)),
    (lambda: pf.Real(8), "or .bounded(8) of numbers beyond 1", lambda: pf.Real.bounded(8)),
    (lambda: pf.UInt(8)(3), "the type uint8 is not called; leave the () away", lambda: pf.UInt(8)),
    *[
        (
            lambda kind=kind: pf.program(x=kind)(anything),
            f"; write {words}",
            lambda right=right: pf.program(x=right)(anything),
        )
        for kind, words, right in (
            (float, "pf.Real", pf.Real),
            (np.uint16, "pf.UInt(16)", pf.UInt(16)),
            (np.int64, "pf.SInt(64)", pf.SInt(64)),
            (np.float32, "pf.Real", pf.Real),
            (np.bool_, "pf.Bool", pf.Bool),
            (pf.UInt, "pf.UInt(8)", pf.UInt(8)),
            (pf.Text, "pf.Text(20)", pf.Text(20)),
        )
    ],
    (lambda: pf.Real.vector(-1), "give an integer from 1 to 32768", lambda: pf.Real.vector(32768)),
]
