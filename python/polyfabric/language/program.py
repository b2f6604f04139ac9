"""Programs on encrypted values: traces a function to a program, and evaluates it in the clear."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from traceback import extract_tb
from typing import Any, Self, TypeVar

import numpy as np

from .. import _native
from ..errors import Error, InputError, ProgramError
from . import ranges, selectors, slot_program
from .cells import Cells
from .digits import Digits
from .functions import concat
from .instead import declared
from .mixed_shapes import MixedShapes
from .numpy_calls import Asked
from .place import refuse, source, traced_again, warn_user, whole
from .real_steps import RealSteps
from .reals import RealValue
from .reference import Reference, Wrapped
from .selectors import SelectorValue
from .shapes import Shapes, written
from .slot_matrix import MoreSlots
from .slot_program import SlotProgram
from .slot_refusals import Rounds
from .slots import SlotValue
from .traced import TracedProgram
from .tracer import Form, InDigits, Tracer, Unfit
from .types import MOST_DECRYPTED, SlotType, Type
from .values import TfheValue

P = TypeVar("P", bound="TfheProgram")
S = TypeVar("S", bound=SlotProgram)


class TfheProgram(TracedProgram):
    """A program with TFHE, in which every element is encrypted by itself."""

    kind = "elements"
    native: _native.TfheProgram
    shapes: Shapes
    scheme = "tfhe"
    declared: Mapping[str, Type] | None = None
    """The types of the traced function's parameters; `None` without a function."""
    tables: str
    """How it reads tables of integers, one of `TABLES`."""
    wide: Self | None = None
    """The same program with wide tables, if these may take less; `None` for the only form, or for one that has them itself."""
    lanes: int | None = None
    """The parallel lookups that it was traced for; `None` for the default."""
    reals: RealSteps | None = None
    """The steps on real numbers of a program that has them next to integers: it executes in batches alone."""
    reference: Reference | None = None
    """The meaning of the traced function; `None` for a program that was parsed from text or restored from a file."""

    def __init__(
        self,
        native: _native.TfheProgram,
        scalars: frozenset[str] = frozenset(),
        doc: str | None = None,
        integers: Mapping[str, Type] | None = None,
    ) -> None:
        self.tables = WIDE if native.has_wide_tables else LOOKUPS
        self._begin(native, Shapes(native, scalars, integers), doc)

    def with_reals(self, reals: RealSteps, inputs: list[str], outputs: list[str]) -> None:
        """Adds steps on real numbers. `inputs` and `outputs` are the order of all."""
        self.reals = reals
        self.shapes = MixedShapes(self.native, self.shapes, reals, inputs, outputs)

    def _stored(self) -> dict[str, Any]:
        if self.reals is None:
            return super()._stored() | ({} if self.wide is None else {"wide": self.wide._stored()})
        shapes = {"shapes": self.shapes.to_dict(), "order": [list(self.inputs), list(self.outputs)]}
        return {"text": self.native.text(), "doc": self.__doc__, "reals": self.reals.to_dict(), **shapes}

    def text(self) -> str:
        """As of every program. One with real numbers has a text for batches alone."""
        if self.reals is not None:
            raise InputError(
                f"{self.name} has real numbers next to integers; take the text of a batch, {self.name}.in_batches(n).text()"
            )
        return super().text()

    @classmethod
    def parse(cls, text: str) -> Self:
        """The program that `text()` printed. Every input and output is a vector; integers in digits are vectors of them."""
        made = cls(_native.TfheProgram.parse(text))
        made.shapes.declared = False
        return made

    def reference_values(self, inputs: Mapping[str, Sequence[int]]) -> tuple[dict[str, list[int]], list[Wrapped]]:
        """The outputs on Python's integers, and the results that wrapped. Integers in digits are given and returned as digits.

        A program without a trace (parsed, restored, or built natively) has no reference. Its lowered operations are evaluated instead,
        so an error of the lowering goes unnoticed, and no wraps are listed.
        """
        values, wrapped, _ = self.reference_at(inputs)
        return values, wrapped

    def reference_at(self, inputs: Mapping[str, Sequence[int]]) -> tuple[dict[str, list[int]], list[Wrapped], float]:
        """As `reference_values`, and the smallest distance of a real number from a border at which it is rounded, in steps."""
        if self.reference is not None:
            values, wrapped = self.reference.evaluate(inputs)
            return values, wrapped, min(self.reference.distances, default=inf)
        if self.reals is None:
            return self.native.evaluate(inputs), [], inf
        values, distances = self.reals.evaluate(self.native, inputs)
        return values, [], min(distances, default=inf)

    def _evaluated(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        values, wrapped = self.reference_values(inputs)
        for wrap in wrapped:
            warn_user(f"{self.name}: {wrap}", RuntimeWarning)
        return values

    @classmethod
    def _restored(cls, data: Mapping[str, Any]) -> Self:
        program = cls.parse(data["text"])
        shapes = Shapes.of(data["shapes"], program.native)
        program._begin(program.native, shapes, written(str, data["doc"], "its documentation"))
        if "reals" in data:
            program.with_reals(RealSteps.of(data["reals"]), *data["order"])
        return program._with_wide_of(data)

    def _with_wide_of(self, data: Mapping[str, Any]) -> Self:
        """The program with its form for wide tables from the data of `_stored`, if it has one."""
        if "wide" in data:
            self.tables, self.wide = AUTO, type(self)._restored(data["wide"])
        return self


SCHEMES = ("tfhe", "ckks", "bgv")

AUTO, WIDE, LOOKUPS = "auto", "wide", "lookups"
TABLES = (AUTO, WIDE, LOOKUPS)
"""How tables of integers are read: by circuit bootstrapping (docs/tfhe.md, Wide tables), by lookups, or as a plan finds cheaper."""

MOST_VALUES_TWICE = 1024
"""Most values, intermediate ones too, of a program that is traced with wide tables as well: that of a neural network takes minutes."""

_BINARY = 'TFHE computes on bits and small integers: write scheme="tfhe", with inputs of pf.Bool, pf.Int or pf.UInt'
SCHEMES_ELSEWHERE = {
    "bfv": 'BGV computes the same, sums and products of integers modulo t, and decrypts the same values: write scheme="bgv", or declare the inputs '
    "alone, as x=pf.Mod(65537).vector(8)",
    **dict.fromkeys(("fhew", "cggi", "dm", "binfhe"), _BINARY),
    "heaan": 'CKKS is that scheme\'s name here: write scheme="ckks", with inputs of pf.Real or pf.Complex',
}
"""What to write instead of schemes, or names of schemes, of other libraries."""


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, Type | SlotType],
    name: str | None = None,
    *,
    scheme: str | None = None,
    slots: int | None = None,
    lanes: int | None = None,
    tables: str = AUTO,
    kinds: tuple[type[P], type[S]],
) -> P | S:
    """Traces `function` on inputs of the given types. The program's class is the first of `kinds` with TFHE, else the second."""
    inputs = with_annotations(function, inputs)
    _check_signature(function, inputs)
    own = function.__name__ if name is None else name
    if name is None and not re.fullmatch(r"[A-Za-z0-9_]+", own):
        own = "program"
    _expect_encodable((own, *inputs))
    on_slots = {parameter: kind for parameter, kind in inputs.items() if isinstance(kind, SlotType)}
    mixed = scheme is None and 0 < len(on_slots) < len(inputs)
    asked = scheme
    if scheme is None:
        scheme = "tfhe" if mixed else next((kind.scheme for kind in on_slots.values()), "tfhe")
    if scheme == "tfhe":
        if on_slots and not mixed:
            parameter, kind = next(iter(on_slots.items()))
            raise refuse(
                f"{own}: parameter {parameter!r} is {kind}, which TFHE cannot encrypt; use scheme={kind.scheme!r}"
            )
        if slots is not None:
            raise refuse(f"{own}: slots={slots} is for CKKS and BGV; TFHE encrypts every element by itself")
        if mixed and (lanes, tables) != (None, AUTO):
            raise refuse(
                f"{own}: lanes= and tables= (--tables) are for TFHE, but real numbers next to integers execute on slots; leave them out"
            )
        if tables not in TABLES:
            raise refuse(f"{own}: tables={tables!r} (--tables); give {', '.join(map(repr, TABLES))}, or leave it out")
        return _trace_elements(function, own, inputs, lanes, kinds[0], tables)  # type: ignore[arg-type]
    if tables != AUTO:
        raise refuse(
            f"{own}: tables={tables!r} (--tables) is for the tables of TFHE's integers, which {scheme.upper()} lacks; leave it out"
        )
    if lanes is not None:
        raise refuse(
            f"{own}: lanes={lanes} is for the parallel lookups of TFHE's integers, which {scheme.upper()} lacks; omit it"
        )
    for parameter, kind in inputs.items():
        if parameter not in on_slots:
            fitting = "pf.Mod(t)" if scheme == "bgv" else "pf.Real or pf.Complex"
            raise refuse(
                f"{own}: parameter {parameter!r} is {kind}, which {scheme.upper()} cannot encrypt; use {fitting}"
            )
    least, refusal = 1, None
    while True:
        made = slot_program.tracer(own, scheme, slots, on_slots, least=least)
        values = {
            parameter: selectors.declared(made, parameter) if kind.kind == "selector" else made.input(parameter, kind)
            for parameter, kind in on_slots.items()
        }
        made.may_round = asked is None and slots is None
        try:
            outputs = named(_called(function, values, own, made), function, made)
        except MoreSlots as more:
            least = more.slots
            continue
        except Rounds as rounds:
            # Rounded numbers are integers, which need lookups on slots.
            refusal = rounds.refusal
            break
        program = slot_program.finish(made, on_slots, outputs, function.__doc__, kinds[1])
        program.function = function
        return program
    try:
        with traced_again(function):
            return _trace_elements(function, own, inputs, None, kinds[0])  # type: ignore[arg-type]
    except RealsAloneError as alone:
        raise (refusal or alone) from None
    except ProgramError as error:
        if refusal is None:
            raise
        raise ProgramError(f"{refusal}. Next to integers it can be, but: {error}") from None


class RealsAloneError(ProgramError):
    """A program has real numbers that depend on no integer."""


def _trace_elements(
    function: Callable[..., Any],
    own: str,
    inputs: Mapping[str, Type],
    lanes: int | None,
    kind: type[P],
    tables: str = LOOKUPS,
) -> P:
    if tables == WIDE:
        return _cheapest_form(function, own, inputs, lanes, kind, wide=True)[0]
    made, tracer = _cheapest_form(function, own, inputs, lanes, kind)
    made.tables = tables
    if tables == AUTO and tracer.replaceable and not tracer.reals and tracer.reference.size <= MOST_VALUES_TWICE:
        # An error is one of this form: the program has the other one.
        with suppress(Unfit, Error):
            wide, other = _cheapest_form(function, own, inputs, lanes, kind, wide=True, again=True)
            # Wider ranges may widen a result, which then wraps at another width.
            if wide.native.has_wide_tables and other.reference.widths == tracer.reference.widths:
                made.wide = wide
    return made


def _cheapest_form(
    function: Callable[..., Any],
    own: str,
    inputs: Mapping[str, Type],
    lanes: int | None,
    kind: type[P],
    *,
    wide: bool = False,
    again: bool = False,
) -> tuple[P, Tracer]:
    """The form of the program with the fewest multiplications, all with wide tables or all with lookups. `again`: see `Tracer`."""

    def traced(
        form: Form, digits: Collection[str] = (), *, again: bool = again, operations: bool = True, bits: bool = True
    ) -> tuple[P, Tracer]:
        tracer = Tracer(own, form, digits, again=again, wide_tables=wide, wide_operations=operations, bits=bits)
        return traced_in(tracer, function, inputs, lanes, kind)

    def cheaper(
        found: tuple[P, Tracer],
        form: Form,
        digits: Collection[str] = (),
        *,
        operations: bool = True,
        bits: bool = True,
    ) -> tuple[P, Tracer]:
        try:
            other = traced(form, digits, again=True, operations=operations, bits=bits)
        except (Unfit, Error):
            # This lowering may have wider ranges, with values that a table's function rejects.
            return found
        # Wider ranges may also widen a result, which then wraps at another width.
        if other[1].reference.widths != found[1].reference.widths:
            return found
        return other if _multiplications(other[0]) < _multiplications(found[0]) else found

    try:
        # Wide tables are of digits.
        found = traced("split" if wide else "free")
    except InDigits:
        found = traced("split")
    if found[1].wide and not found[1].fixed:
        # One lookup of that many values needs a larger ring; digits may be cheaper.
        found = cheaper(found, "split")
    if found[1].converted:
        # Converting inputs to digits takes lookups; inputs in digits may be cheaper.
        form = found[1].form
        found = cheaper(found, form, found[1].converted)
        found = cheaper(found, form, inputs)
    if found[1].splits and not wide:
        # Sums of bits are noisier than digits, and may need a larger set.
        found = cheaper(found, found[1].form, found[1].digits, bits=False)
    if found[1].by_table:
        # Next to lookups, a table needs a set in which both take longer.
        found = cheaper(found, found[1].form, found[1].digits, operations=False)
    found[0].lanes = lanes
    return found


def with_tables(program: P, tables: str) -> P:
    """The same program, which reads its tables so."""
    if program.tables == tables:
        return program
    function, declared = program.function, program.declared
    if function is None or declared is None:
        raise refuse(
            f"{program.name} was parsed from text, which determines how it reads its tables; leave tables={tables!r} (--tables) out"
        )
    with traced_again(function):
        return _trace_elements(function, program.name, declared, program.lanes, type(program), tables)


def repeated(program: P, count: int) -> P:
    """`count` times the program, on inputs of their own: "x.0", "x.1" and so on."""
    function, declared = program.function, program.declared
    if function is None or declared is None:
        raise refuse(f"{program.name} was parsed from text, so it cannot be repeated; give its function's program")

    def all_of_them(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - encrypted values
        found = {}
        for at in range(count):
            own = function(**{name: values[f"{name}.{at}"] for name in declared})
            found |= {f"{name}.{at}": value for name, value in named(own, function, None).items()}
        return found

    inputs = {f"{name}.{at}": kind for at in range(count) for name, kind in declared.items()}
    with traced_again(function):
        return _trace_elements(all_of_them, program.name, inputs, program.lanes, type(program), program.tables)


def _multiplications(program: TfheProgram) -> float:
    """Multiplications of an execution with the cheapest parameter set; infinite if no set fits the program."""
    try:
        return program.native.plan()[0].multiplications
    except Error:
        return inf


def traced_in(
    tracer: Tracer, function: Callable[..., Any], inputs: Mapping[str, Type], lanes: int | None, kind: type[P]
) -> tuple[P, Tracer]:
    """Traces a function with one tracer."""
    if lanes is not None:
        tracer.builder.integer_lanes(whole("lanes", lanes, 1, 1 << 20))
    values = {parameter: tracer.input(parameter, kind) for parameter, kind in inputs.items()}
    scalars = {parameter for parameter, kind in inputs.items() if kind.scalar and isinstance(kind, Type)}
    integers = {
        parameter: replace(kind, split=True)
        for parameter, kind in inputs.items()
        if isinstance(kind, Type) and isinstance(values[parameter].form, Digits)
    }
    outputs: list[str] = []
    for output, value in named(_called(function, values, tracer.name, tracer), function, tracer).items():
        if isinstance(value, RealValue):
            tracer.reals.output(output, value)
            tracer.reference.output(output, value)
            outputs.append(output)
            continue
        outputs.append(output)
        form = value.form
        if isinstance(form, Cells) and value.type.kind == "integer" and ranges.size(form.span) > MOST_DECRYPTED:
            form = tracer.split(form)
        if isinstance(form, Digits):
            form = form.as_type(value.type)
            tracer.builder.integer_output(output, form.handle)
            integers[f"->{output}"] = value.type
        else:
            tracer.builder.output(output, form.node)
            if form.scalar:
                scalars.add(f"->{output}")
        tracer.reference.output(output, value)
    if tracer.reals and not tracer.reals.integer_outputs and set(tracer.reals.outputs) == set(outputs):
        raise RealsAloneError(
            _refused(
                function,
                "returns real numbers that depend on no integer; leave unused integer parameters and comparisons out, for a program on reals alone",
            )
        )
    tracer.by_table |= tracer.builder.integer_operations_by_table()
    tracer.replaceable |= tracer.fixed or tracer.builder.integer_lookups_replaceable()
    program = kind(tracer.builder.finish(), frozenset(scalars), function.__doc__, integers)
    program.function = function
    program.declared = inputs
    program.reference = tracer.reference.finish()
    if tracer.reals:
        program.with_reals(tracer.reals, list(inputs), outputs)
    return program, tracer


def _called(function: Callable[..., Any], values: Mapping[str, Any], own: str, tracer: Asked) -> Any:  # noqa: ANN401 - whatever it returns
    """Calls the user's function on encrypted values, with errors at the user's lines."""
    try:
        return function(**values)
    except (IndexError, ValueError) as error:
        if "int_max_str_digits" in str(error):
            raise ProgramError(
                f"{_inside(error, function, own)}: a public number has thousands of digits, too many for any type; give a smaller one"
            ) from None
        innermost = extract_tb(error.__traceback__)[-1]
        file, line = source(innermost.filename, innermost.lineno or 0)
        hidden = tracer.hidden_by(error, f"{file}:{line}")
        if hidden is None:
            raise
        raise hidden from None
    except RecursionError as error:
        raise ProgramError(
            f"{_inside(error, function, own)}: {own} calls itself without end, because an encrypted value cannot end a "
            "recursion; count it down with a public number"
        ) from None


def _inside(error: BaseException, function: Callable[..., Any], own: str) -> str:
    """The innermost line of the function's file in an error's traceback."""
    inside = [frame for frame in extract_tb(error.__traceback__) if frame.filename == function.__code__.co_filename]
    file, line = source(inside[-1].filename, inside[-1].lineno or 0) if inside else (own, 0)
    return f"{file}:{line}"


def with_annotations(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The types of the inputs, with those of annotated parameters, as `def f(x: pf.UInt(8))`. Keywords take precedence.

    Annotations may be strings, as with `from __future__ import annotations`. Those that cannot be evaluated, or are no types of inputs, are
    ignored: many functions annotate what the parameter is inside them, `x: pf.Value`.
    """
    if not inspect.isfunction(function):
        return inputs
    known, found = dict(function.__globals__), dict(inputs)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        # The function's own cell is empty while it is decorated.
        with suppress(ValueError):
            known[name] = cell.cell_contents
    for name, own in inspect.signature(function).parameters.items():
        kind = own.annotation
        if name in inputs or kind is inspect.Parameter.empty or own.kind is own.VAR_KEYWORD:
            continue
        if isinstance(kind, str):
            try:
                kind = eval(kind, known)
            except Exception:
                continue
        # Without a default, the parameter must be encrypted: `_check_signature` reports Python's own types.
        if isinstance(kind, Type | SlotType) or (own.default is inspect.Parameter.empty and declared(kind) is not None):
            found[name] = kind
    if len(found) == len(inputs):
        return inputs
    order = [name for name in inspect.signature(function).parameters if name in found]
    return {name: found[name] for name in [*order, *(name for name in inputs if name not in order)]}


def _check_signature(function: Callable[..., Any], inputs: Mapping[str, Type | SlotType]) -> None:
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise refuse(f"@pf.program decorates a function, not {type(function).__name__}; write def f(x): ..")
    written = inspect.signature(function).parameters
    parameters = list(written)
    for parameter, own in written.items():
        if own.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise refuse(
                f"{function.__name__}: parameter {parameter!r} is positional only, but inputs are given by name; remove the / from its "
                "parameters"
            )
        if own.kind is inspect.Parameter.VAR_POSITIONAL:
            raise refuse(
                f"{function.__name__}: parameter {parameter!r} takes any number of values; give each input a name and a type, with "
                f"**{parameter} for names that the types list, as @pf.program(**{{f'x{{i}}': pf.UInt(8) for i in range(10)}})"
            )
    others = {parameter for parameter, own in written.items() if own.kind is inspect.Parameter.VAR_KEYWORD}
    parameters = [parameter for parameter in parameters if parameter not in others]
    for parameter in inputs:
        if parameter not in parameters and not others:
            raise refuse(
                f"{function.__name__} has no parameter {parameter!r}; its parameters are {', '.join(parameters) or 'none'}"
            )
    for parameter in parameters:
        # A parameter with a default but without a type is public: a number, a table or similar.
        if parameter not in inputs and written[parameter].default is inspect.Parameter.empty:
            if parameter in ("self", "cls") and parameter == parameters[0]:
                raise refuse(
                    f"{function.__name__}: parameter {parameter!r} belongs to a method, but a program takes only encrypted values; write a "
                    "function outside the class"
                )
            raise refuse(
                f"{function.__name__}: parameter {parameter!r} has no type; write @pf.program({parameter}=pf.Int(0, 7), ..), or annotate it, "
                f"def {function.__name__}({parameter}: pf.Int(0, 7), ..)"
            )
    for parameter, kind in inputs.items():
        if not isinstance(kind, Type | SlotType):
            known = declared(kind)
            if known is not None:
                name = kind.__name__  # type: ignore[attr-defined]
                lacks = (
                    "without its size" if known.startswith(f"pf.{name}(") else "which does not determine the encryption"
                )
                raise refuse(
                    f"{function.__name__}: parameter {parameter!r} has {name} as its type, {lacks}; write {known}"
                )
            raise refuse(
                f"{function.__name__}: parameter {parameter!r} has {kind!r} as its type; give pf.Bool, pf.Int(lo, hi), "
                "pf.UInt(bits), pf.SInt(bits), pf.Text(length), pf.Real, pf.Complex, pf.Mod(t) or a vector of them"
            )


def _expect_encodable(names: Iterable[str]) -> None:
    """Rejects names with half a surrogate pair, which no text can hold; the lower layers check the rest."""
    for name in names:
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise refuse(f"the name {name!r} is not a text; use letters, digits and _ - + .")


def named(result: Any, function: Callable[..., Any], tracer: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever the user's function returned
    """A function's results as outputs by name. With `tracer`, checks that they belong to its program."""
    if isinstance(result, TfheValue | RealValue | SlotValue | SelectorValue):
        found: dict[str, Any] = {"result": result}
    elif isinstance(result, Mapping):
        found = {}
        for key, value in result.items():
            if str(key) in found:
                raise _refused(function, f"returned two outputs called {str(key)!r}; give them different names")
            found[str(key)] = value
    elif isinstance(result, tuple | list):
        found = {f"result{i}": value for i, value in enumerate(result)}
    else:
        also = ", or the array's .tolist()" if isinstance(result, np.ndarray) and result.dtype == object else ""
        raise _refused(
            function, f"returned {result!r}; return an encrypted value, a tuple or a dictionary of them{also}"
        )
    if not found:
        raise _refused(function, "has no output; return at least one value")
    _expect_encodable(found)
    for output, value in found.items():
        if isinstance(value, list | tuple):
            found[output] = value = _listed(function, output, value)
        if isinstance(value, SelectorValue):
            raise _refused(function, f"returned {output!r}, a selector; return what it selects, as bit * x")
        if not isinstance(value, TfheValue | RealValue | SlotValue):
            raise _refused(
                function, f"returned {output!r} = {value!r}, which is not encrypted; return encrypted values"
            )
        if tracer is not None and value._tracer is not tracer:
            raise _refused(
                function, f"returned {output!r}, which belongs to another program; return values of this one"
            )
    return found


def _listed(function: Callable[..., Any], output: str, values: Sequence[Any]) -> Any:  # noqa: ANN401 - whatever the user's function returned
    """A list in an output as a vector of its values, or as a matrix of its rows if they are vectors in slots."""
    for value in values:
        if not isinstance(value, TfheValue | RealValue | SlotValue):
            raise _refused(
                function,
                f"returned {output!r}, a list with {value!r} in it, which is not encrypted; return lists of encrypted values",
            )
    single = bool(values) and all(value.type.scalar for value in values)
    rows = {_row(value) for value in values}
    if not single and (len(rows) != 1 or None in rows):
        raise _refused(
            function,
            f"returned {output!r}, a list of {', '.join(str(value.type) for value in values) or 'nothing'}; return a list of single values, "
            "or pf.concat(x, y) of vectors, or give each value its own name",
        )
    code = function.__code__
    file, line = source(code.co_filename, code.co_firstlineno)
    try:
        vector = concat(*values)
        return vector if single else vector.reshape(len(values), -1)
    except ProgramError as error:
        reason = str(error).partition(": ")[2]
        raise ProgramError(f"{file}:{line}: {function.__name__} returned {output!r}, a list: {reason}") from None


def _row(value: TfheValue | RealValue | SlotValue) -> Any:  # noqa: ANN401 - equal for the rows of a matrix
    """What the rows of a matrix have in common; `None` if the value is no row."""
    if isinstance(value, RealValue):
        return value.shape if value.ndim == 1 else None
    return value.type if isinstance(value, SlotValue) and not value.grid else None


def _refused(function: Callable[..., Any], message: str) -> ProgramError:
    """An error about a function's result, at the function's file and line."""
    code = function.__code__
    file, line = source(code.co_filename, code.co_firstlineno)
    return ProgramError(f"{file}:{line}: {function.__name__} {message}")
