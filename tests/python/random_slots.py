"""Random programs of CKKS and BGV, each in the language and in numpy, for `test_slot_properties`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polyfabric as pf

T = 65537
MODULI = (T, T, 12289, 8404993, (1 << 59) - 55)
"""The reference takes Python's integers beyond 2^23."""
LENGTHS = (1, 2, 3, 5, 6, 7, 8, 12, 13)
SLOTS = (None, None, 64, 128, 256)


@dataclass(frozen=True)
class Instruction:
    """One operation, of values by their place."""

    text: str
    operands: tuple[int, ...]
    encrypted: Callable[..., Any]
    clear: Callable[..., Any]
    """Takes the slots of the program first."""


@dataclass(frozen=True)
class Drawn:
    """A program."""

    seed: int
    types: dict[str, Any]
    inputs: dict[str, Any]
    instructions: list[Instruction]
    slots: int | None
    modulus: int | None

    def __str__(self) -> str:
        lines = [f"    v{at} = {name}: {kind!r}" for at, (name, kind) in enumerate(self.types.items())]
        for at, one in enumerate(self.instructions, len(lines)):
            lines.append(f"    v{at} = {one.text.format(*(f'v{operand}' for operand in one.operands))}")
        return "\n".join([f"seed {self.seed}, slots={self.slots}", *lines])

    def function(self, *values: Any) -> dict[str, Any]:
        """The program, of encrypted inputs."""
        held = list(values)
        for one in self.instructions:
            held.append(one.encrypted(*(held[operand] for operand in one.operands)))
        return {f"v{at}": value for at, value in enumerate(held)}

    def traced(self) -> Any:
        """The program of the language."""
        names = ", ".join(self.types)
        own = eval(
            f"lambda {names}: function({names})", {"function": self.function}
        )  # the tracer reads names of parameters
        own.__name__ = "drawn"
        return pf.program(slots=self.slots, **self.types)(own)

    def clear(self, slots: int) -> list[Any]:
        """All values by numpy's arrays; of BGV of Python's integers."""
        held = [self.array(value) for value in self.inputs.values()]
        for one in self.instructions:
            held.append(self.array(one.clear(slots, *(held[operand] for operand in one.operands))))
        return held

    def array(self, value: Any) -> Any:
        """As the clear values are."""
        return np.asarray(value) if self.modulus is None else np.asarray(value, dtype=object)


def drawn(seed: int, kind: str, count: int | None = None, modulus: int | None = None) -> Drawn:
    """A random program: `kind` is "real", "complex", "residue" or "bits"."""
    random = np.random.default_rng([seed, len(kind)])
    modulus = modulus or {"residue": int(_pick(random, MODULI)), "bits": 1 << int(random.integers(1, 60))}.get(kind)
    types, inputs = {}, {}
    for name in "xyz"[: random.integers(1, 4)]:
        real = kind == "real" or (kind == "complex" and random.random() < 0.3)
        element = pf.Mod(modulus) if modulus else pf.Real if real else pf.Complex
        shape = () if kind == "bits" else _shape(random)
        types[name] = element if shape == () else element.vector(*shape) if len(shape) == 1 else element.matrix(*shape)
        inputs[name] = _numbers(random, "real" if real else kind, modulus, shape)
    program = Drawn(seed, types, inputs, [], SLOTS[random.integers(len(SLOTS))] if kind != "bits" else None, modulus)
    held = [program.array(value) for value in inputs.values()]
    for _ in range(random.integers(2, 7) if count is None else count):
        for _ in range(50):
            made = _operation(random, kind, modulus, held)
            try:
                found = program.array(made.clear(128, *(held[operand] for operand in made.operands)))
            except (ValueError, IndexError, TypeError, np.exceptions.AxisError):
                continue
            if found.ndim <= 2 and 0 < found.size <= 64 and (modulus or np.abs(found).max() < 1e3):
                held.append(found)
                program.instructions.append(made)
                break
    return program


def _shape(random: np.random.Generator) -> tuple[int, ...]:
    dimensions = random.choice(3, p=[0.15, 0.45, 0.4])
    return tuple(int(random.choice(LENGTHS[: 9 if dimensions == 1 else 5])) for _ in range(dimensions))


def _numbers(random: np.random.Generator, kind: str, modulus: int | None, shape: tuple[int, ...]) -> Any:
    if kind in ("residue", "bits"):
        found = random.integers(-modulus // 2, modulus, shape)
        return found if shape else int(found)
    found = random.uniform(-1, 1, shape)
    if kind == "complex":
        found = (found + 1j * random.uniform(-1, 1, shape)) / 2
    return found


def _operation(random: np.random.Generator, kind: str, modulus: int | None, held: list[Any]) -> Instruction:
    """One that may not fit the shapes."""
    at = int(random.integers(len(held)) if random.random() < 0.5 else len(held) - 1)
    choices = [_unary, _with_public, _with_public, _of_two, _of_two]
    if kind != "bits":
        choices += [_part, _part, _summed, _shaped, _joined, _product, _product, _turned]
    return choices[random.integers(len(choices))](random, kind, modulus, held, at)


def _same(text: str, operands: tuple[int, ...], function: Callable[..., Any]) -> Instruction:
    return Instruction(text, operands, function, lambda _slots, *values: function(*values))


def _pick(random: np.random.Generator, choices: list[Any]) -> Any:
    return choices[random.integers(len(choices))]


def _unary(random, kind, modulus, held, at):
    choices = [
        ("-{0}", lambda x: -x),
        ("+{0}", lambda x: +x),
        ("{0} ** 2", lambda x: x**2),
        ("{0} ** 3", lambda x: x**3),
        ("{0} ** 0", lambda x: x**0),
        ("{0} ** 1", lambda x: x**1),
        ("np.square({0})", np.square),
        ("np.negative({0})", np.negative),
        ("{0} * {0} - {0}", lambda x: x * x - x),
    ]
    if modulus is None:
        choices += [("{0}.conjugate()", lambda x: x.conjugate()), ("{0} / 3", lambda x: x / 3)]
        if random.random() < 0.3:
            return Instruction("{0}.real_part()", (at,), lambda x: x.real_part(), lambda _, x: np.real(x))
    if random.random() < 0.3:
        low = -1 if modulus is None else -modulus
        c = random.integers(low, 3, random.integers(2, 6))
        powers = lambda _slots, x: sum(int(c[k]) * x**k for k in range(len(c)))  # noqa: E731
        return Instruction(f"pf.polynomial({{0}}, {c.tolist()})", (at,), lambda x: pf.polynomial(x, c), powers)
    if kind == "real" and random.random() < 0.2 and np.abs(held[at]).max() < 2:
        c = random.uniform(-1, 1, random.integers(2, 6))
        low, high = _pick(random, [(-2.0, 2.0), (-3.0, 2.0), (-2.5, 4.0)])
        series = np.polynomial.Chebyshev(c, domain=(low, high))
        return Instruction(
            f"pf.chebyshev({{0}}, {c.tolist()}, interval=({low}, {high}))",
            (at,),
            lambda x: pf.chebyshev(x, c, interval=(low, high)),
            lambda _, x: series(x),
        )
    text, function = _pick(random, choices)
    return _same(text, (at,), function)


def _with_public(random, kind, modulus, held, at):
    shape = held[at].shape
    shapes = [(), shape]
    if kind != "bits":
        shapes += [shape[-1:], (1, *shape[-1:]), (*shape[:1], 1), (3, 1), (5,)]
    public = _numbers(random, kind, modulus, _pick(random, shapes))
    form = random.integers(6)
    if kind == "complex" and form == 0:
        public = np.real(public)
    elif modulus is None and form == 1:
        public = np.round(public * 3).real.astype(int)
    elif form == 2 and np.ndim(public):
        public = public.tolist()
    elif form == 3:
        public = np.asarray(public, dtype=public.dtype if np.ndim(public) else None)
    elif modulus is not None and form == 4:
        public = np.asarray(public).astype(object) + (modulus << 70) if np.ndim(public) else public - (modulus << 80)
    exact = np.asarray(public, dtype=object if modulus else None)
    choices = [
        ("{0} + p", lambda x, p: x + p),
        ("p + {0}", lambda x, p: p + x),
        ("{0} - p", lambda x, p: x - p),
        ("p - {0}", lambda x, p: p - x),
        ("{0} * p", lambda x, p: x * p),
        ("p * {0}", lambda x, p: p * x),
        ("np.add(p, {0})", lambda x, p: np.add(p, x)),
        ("np.multiply({0}, p)", lambda x, p: np.multiply(x, p)),
        ("np.subtract(p, {0})", lambda x, p: np.subtract(p, x)),
    ]
    if modulus is None:
        choices.append(("{0} / (p * p + 1)", lambda x, p: x / (np.real(np.asarray(p)) ** 2 + 1)))
    text, function = _pick(random, choices)
    return Instruction(
        f"{text} with p = {public!r}", (at,), lambda x: function(x, public), lambda _slots, x: function(x, exact)
    )


def _of_two(random, kind, modulus, held, at):
    other = int(random.integers(len(held)))
    choices = [
        ("{0} + {1}", lambda x, y: x + y),
        ("{0} - {1}", lambda x, y: x - y),
        ("{0} * {1}", lambda x, y: x * y),
        ("np.subtract({0}, {1})", np.subtract),
        ("np.multiply({0}, {1})", np.multiply),
    ]
    text, function = _pick(random, choices)
    return _same(text, (at, other), function)


def _index(random: np.random.Generator, length: int) -> Any:
    form = random.integers(7)
    if form == 0:
        return int(random.integers(-length, length))
    if form == 1:
        return [int(i) for i in random.integers(-length, length, random.integers(1, 5))]
    if form == 2:
        return np.int64(random.integers(length))
    if form == 3:
        return random.integers(-length, length, 3)
    ends = [None, *range(-length - 1, length + 2)]
    return slice(_pick(random, ends), _pick(random, ends), _pick(random, [None, None, 1, 2, 3, -1, -2]))


def _part(random, kind, modulus, held, at):
    shape = held[at].shape
    if len(shape) == 2:
        index = _pick(
            random,
            [
                _index(random, shape[0]),
                (_index(random, shape[0]), _index(random, shape[1])),
                (slice(None), _index(random, shape[1])),
                (_index(random, shape[0]), slice(None)),
            ],
        )
    else:
        index = _pick(random, [*[_index(random, (shape or (1,))[0])] * 4, (slice(None), None), (None, slice(None))])
    return _same(f"{{0}}[{index!r}]", (at,), lambda x: x[index])


def _summed(random, kind, modulus, held, at):
    dimensions = held[at].ndim
    axis = _pick(random, [None, 0, 1, -1, -2])
    options = {} if axis is None else {"axis": axis}
    if dimensions == 2 and axis is not None and random.random() < 0.4:
        options["keepdims"] = True
    names = ["sum"] if modulus is not None else ["sum", "mean", "var"]
    name = _pick(random, names)
    if name == "var" and random.random() < 0.3:
        options["ddof"] = 1
    if random.random() < 0.5:
        return _same(f"np.{name}({{0}}, **{options})", (at,), lambda x: getattr(np, name)(x, **options))
    return _same(f"{{0}}.{name}(**{options})", (at,), lambda x: getattr(x, name)(**options))


def _shaped(random, kind, modulus, held, at):
    size = held[at].size
    divisors = [d for d in range(1, size + 1) if size % d == 0]
    rows = int(_pick(random, divisors))
    choices = [
        ("{0}.T", lambda x: x.T),
        ("np.transpose({0})", np.transpose),
        ("{0}.reshape(-1)", lambda x: x.reshape(-1)),
        (f"{{0}}.reshape({rows}, -1)", lambda x: x.reshape(rows, -1)),
        (f"np.reshape({{0}}, ({rows}, {size // rows}))", lambda x: np.reshape(x, (rows, size // rows))),
    ]
    text, function = _pick(random, choices)
    return _same(text, (at,), function)


def _joined(random, kind, modulus, held, at):
    others = tuple(int(i) for i in random.integers(len(held), size=random.integers(0, 3)))
    operands = (at, *others)
    of = ", ".join(f"{{{i}}}" for i in range(len(operands)))

    def clear(_slots: int, *values: Any) -> Any:
        if {value.ndim for value in values} <= {0, 1}:
            values = tuple(np.atleast_1d(value) for value in values)
        return np.concatenate(values)

    if random.random() < 0.5 and all(held[i].ndim for i in operands):
        return _same(f"np.concatenate(({of},))", operands, lambda *values: np.concatenate(values))
    return Instruction(f"pf.concat({of})", operands, lambda *values: pf.concat(*values), clear)


def _product(random, kind, modulus, held, at):
    shape = held[at].shape
    form = random.integers(3)
    if form == 0:
        other = int(random.integers(len(held)))
        choices = [
            ("{0} @ {1}", lambda x, y: x @ y),
            ("np.dot({0}, {1})", np.dot),
            ("np.matmul({0}, {1})", np.matmul),
            ("{0} @ {1}.T", lambda x, y: x @ y.T),
        ]
        text, function = _pick(random, choices)
        return _same(text, (at, other), function)
    wide = int(random.integers(1, 8))
    left = form == 1
    inner = (shape or (1,))[0 if left else -1]
    public = _numbers(random, kind, modulus, _pick(random, [(inner,), (wide, inner) if left else (inner, wide)]))
    if random.random() < 0.3:
        public = np.where(random.random(public.shape) < 0.6, 0, public)
    exact = np.asarray(public, dtype=object if modulus else None)
    if left:
        choices = [("p @ {0}", lambda x, p: p @ x), ("np.dot(p, {0})", lambda x, p: np.dot(p, x))]
    else:
        choices = [("{0} @ p", lambda x, p: x @ p), ("np.matmul({0}, p)", lambda x, p: np.matmul(x, p))]
    text, function = _pick(random, choices)
    return Instruction(
        f"{text} with p = {public!r}", (at,), lambda x: function(x, public), lambda _slots, x: function(x, exact)
    )


def _turned(random, kind, modulus, held, at):
    """A rotation of all slots, of which the first are kept."""
    steps, kept = int(random.integers(-20, 20)), int(random.integers(1, 20))
    rows = 1 if modulus is None else 2

    def clear(slots: int, x: Any) -> Any:
        if x.ndim == 0:
            raise ValueError("a single number")
        flat = x.reshape(-1)
        filled = np.concatenate([flat, np.zeros(slots - flat.size, dtype=flat.dtype)]).reshape(rows, -1)
        return np.roll(filled, -steps, axis=1).reshape(-1)[:kept]

    return Instruction(f"{{0}}.rotate({steps})[:{kept}]", (at,), lambda x: x.rotate(steps)[:kept], clear)
