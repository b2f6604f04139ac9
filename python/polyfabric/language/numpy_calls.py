"""numpy's functions on encrypted values. Operators and methods are called as such; all others raise an error with the code to write instead."""

from __future__ import annotations

from collections.abc import Callable, Collection
from inspect import signature
from typing import Any, ClassVar, NoReturn

import numpy as np

from ..errors import ProgramError
from .instead import Absences
from .place import refuse

OPERATORS: dict[np.ufunc, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"),
    np.floor_divide: ("__floordiv__", "__rfloordiv__"),
    np.remainder: ("__mod__", "__rmod__"),
    np.divmod: ("__divmod__", "__rdivmod__"),
    np.power: ("__pow__", "__rpow__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.bitwise_and: ("__and__", "__rand__"),
    np.bitwise_or: ("__or__", "__ror__"),
    np.bitwise_xor: ("__xor__", "__rxor__"),
    np.left_shift: ("__lshift__", "__rlshift__"),
    np.right_shift: ("__rshift__", "__rrshift__"),
    np.less: ("__lt__", "__gt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.negative: ("__neg__", ""),
    np.positive: ("__pos__", ""),
    np.absolute: ("__abs__", ""),
    np.invert: ("__invert__", ""),
}
"""The method of an encrypted left (or only) operand, and of a right one. A numpy array on the left calls the latter."""


class Asked:
    """Keeps the last error of a program's values, because numpy may replace it with its own."""

    last: ProgramError | None = None

    def asked(self, message: str) -> ProgramError:
        """The error `message`, with the user's place in front."""
        self.last = refuse(message)
        return self.last

    def hidden_by(self, error: Exception, at: str) -> ProgramError | None:
        """Our error behind numpy's `error` at this place: the cause of a `ValueError`, or the last error for an index, which numpy drops."""
        if isinstance(error, ValueError) and isinstance(error.__cause__, ProgramError):
            return error.__cause__
        same = self.last is not None and str(self.last).startswith(f"{at}: ")
        return self.last if isinstance(error, IndexError) and same else None


class Value(Absences):
    """An encrypted value inside a program, of any scheme: what the parameters of a `@pf.program` function are while it is traced.

    It has Python's operators, and those functions of numpy that have an encrypted equivalent. Other names raise a `pf.errors.ProgramError` with
    the code to write instead.
    """

    __slots__ = ()
    METHODS: ClassVar[frozenset[str]] = frozenset()
    """numpy functions that these values have as methods of the same name."""

    def _refused(self, name: str, operands: int, options: Collection[str]) -> NoReturn:
        """Rejects a numpy function. The replacement code is only valid without `options`."""
        if options:
            raise refuse(
                f"numpy's {name} with {', '.join(options)} does not support encrypted values; use operators, slices, pf.where and pf.concat"
            )
        raise refuse(f"numpy's {name} does not support encrypted values; {self._instead(name, operands)}")

    def __array_ufunc__(self, function: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:  # noqa: ANN401 - numpy's protocol
        name = function.__name__ if method == "__call__" else f"{function.__name__}.{method}"
        if "out" in options:
            raise refuse(
                f"numpy's {name} cannot write an encrypted value into an array of numbers (+=, out=); assign the result to a new name"
            )
        own, reflected = OPERATORS.get(function, ("", "")) if method == "__call__" and not options else ("", "")
        first, *rest = operands
        if method == "__call__" and not options:
            from .numpy_functions import UFUNCS

            if function in UFUNCS:
                return UFUNCS[function](*operands)
        calls = [(first, own, rest), *((right, reflected, [first]) for right in rest)]
        if rest and type(rest[0]) is not type(first) and isinstance(rest[0], type(first)):
            # As Python, which asks a right operand of a derived type first.
            calls.reverse()
        for operand, operator, others in calls:
            found = getattr(operand, operator, None) if isinstance(operand, Value) else None
            result = NotImplemented if found is None else found(*others)
            if result is not NotImplemented:
                return result
        return self._refused(name, len(operands), options)

    def __array_function__(self, function: Callable[..., Any], _types: Any, operands: Any, options: Any) -> Any:  # noqa: ANN401
        from .numpy_functions import FUNCTIONS

        name = function.__name__
        if name in self.METHODS and operands and operands[0] is self:
            method = getattr(self, name)
            if _takes(method, operands[1:], options):
                return method(*operands[1:], **options)
        if function in FUNCTIONS and not options and _takes(FUNCTIONS[function], operands, {}):
            return FUNCTIONS[function](*operands)
        return self._refused(name, len(operands), _options(function, operands, options))


def _options(function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]) -> list[str]:
    """The arguments of a numpy function after its operands, by name."""
    try:
        given = signature(function).bind(*operands).arguments
    except (TypeError, ValueError):
        return list(options)
    # The code for np.roll shifts by 1.
    shifted = [f"a shift by {given['shift']!r}"] if given.get("shift", 1) != 1 else []
    operands_of = 3 if function in (np.clip, np.select, np.where) else 2
    return [*shifted, *list(given)[operands_of:], *options]


def _takes(function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a function of this language accepts the arguments of the numpy call. It may lack `axis`, for example."""
    try:
        signature(function).bind(*operands, **options)
    except TypeError:
        return False
    return True
