"""Types that are refused, words of the messages, and the types that they advise; `test_remedies.py` runs them."""

from __future__ import annotations

import polyfabric as pf
from remedy import anything

TYPES = [
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
    (lambda: pf.Bool.array(3), "types have .vector(length)", lambda: pf.Bool.vector(3)),
    (lambda: pf.Real.vector(-1), "give an integer from 1 to 32768", lambda: pf.Real.vector(32768)),
]
