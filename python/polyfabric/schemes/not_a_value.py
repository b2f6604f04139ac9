"""Python's operators on the result of a run, which is a value with a report: each raises an error that names the value.

fee.run(risk=5) + 1        # InputError: .. write result.value + ..
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import AbsentError, InputError


class NotAValue:
    """The base of results. `result == 13` would be False, and `if result:` always true, without a word."""

    program: str
    """Name of the program."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NotAValue):
            return self is other
        return _refused("result.value == ..")(self)

    def __ne__(self, other: object) -> bool:
        if isinstance(other, NotAValue):
            return self is not other
        return _refused("result.value != ..")(self)

    def __getattr__(self, name: str) -> NoReturn:
        # Python and libraries probe for names with an underscore.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise AbsentError(
            f"a result of {vars(self).get('program')} has no .{name}; its value is result.value, its outputs are result.outputs, and the "
            "times of its steps result.seconds"
        )

    def __format__(self, form: str) -> str:
        return str(self) if not form else _refused(f"f'{{result.value:{form}}}'")(self)


def _refused(form: str) -> Callable[..., NoReturn]:
    """A method that advises `form`."""

    def method(self: NotAValue, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401 - operands of any operator
        raise InputError(f"a result of {self.program} is its value with a report; write {form}")

    return method


_FORMS = {
    "__array__": "np.asarray(result.value)",
    "__complex__": "complex(result.value)",
    "__divmod__": "divmod(result.value, ..)",
    "__invert__": "~result.value",
    "__pos__": "+result.value",
    "__bool__": "if result.value, or if result.correct",
    "__contains__": ".. in result.value",
    "__float__": "float(result.value)",
    "__getitem__": "result.value[..], or result.outputs['name']",
    "__index__": "result.value",
    "__int__": "int(result.value)",
    "__iter__": "list(result.value)",
    "__len__": "len(result.value)",
    "__neg__": "-result.value",
    "__abs__": "abs(result.value)",
    "__round__": "round(result.value)",
}
_OPERATORS = {
    "add": "+",
    "and": "&",
    "floordiv": "//",
    "lshift": "<<",
    "matmul": "@",
    "mod": "%",
    "mul": "*",
    "or": "|",
    "pow": "**",
    "rshift": ">>",
    "sub": "-",
    "truediv": "/",
    "xor": "^",
}
_FORMS |= {f"__{name}__": f"result.value {sign} .." for name, sign in _OPERATORS.items()}
_FORMS |= {f"__r{name}__": f".. {sign} result.value" for name, sign in _OPERATORS.items()}
_FORMS |= {
    f"__{name}__": f"result.value {sign} .." for name, sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items()
}
for _name, _form in _FORMS.items():
    setattr(NotAValue, _name, _refused(_form))
