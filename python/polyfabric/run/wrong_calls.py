"""Calls of public functions with wrong arguments: the error names what the function takes, instead of Python's own.

Arguments are only examined after a call has failed. For example, `fee.cost(threads=2)` raises

    polyfabric.errors.InputError: fee.cost has no option 'threads'; known are parameters, on, max_failure, ...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from ..errors import Error, InputError, shown
from ..host.names import suggestion
from ..language.place import pass_over, refuse
from ..language.shapes import written_call
from ..language.traced import TracedProgram

pass_over(__file__)

_PACKAGE = __package__.partition(".")[0]
_LANGUAGE = f"{_PACKAGE}.language"
_KEYWORD = re.compile(r"(?:unexpected keyword argument|multiple values for keyword argument) '(\w+)'")

_ELSEWHERE = {
    "batch": "pf.compare(program, [machine], batch=n) times n inputs, and program.in_batches(n) computes on them at once"
}
"""Options that other functions have."""


def wrong_call(
    function: Callable[..., Any],
    public_name: str,
    operands: Sequence[Any],
    options: Mapping[str, Any],
    problem: TypeError | AttributeError,
) -> Error | None:
    """The error for a call that failed with `problem`; `None` if its arguments are not at fault."""
    own = signature(function)
    receiver = operands[0] if operands and next(iter(own.parameters), None) in ("self", "cls") else None
    name = _name(receiver, public_name)
    message = _unbound(own, name, receiver, operands, options) or _mistyped(function, own, name, operands, options)
    if message is None:
        # An option that the function passes on; all such functions take those of `run`.
        passed = _KEYWORD.search(str(problem))
        if passed is None or passed[1] not in options or passed[1] in own.parameters:
            return None
        run = signature(type(receiver).run) if hasattr(receiver, "run") else own
        known = [one.name for one in run.parameters.values() if one.kind is one.KEYWORD_ONLY]
        message = f"{name} has no option {passed[1]!r}; {suggestion(passed[1], known, _ELSEWHERE)}"
    written = function.__module__.startswith(_LANGUAGE) and not isinstance(receiver, TracedProgram)
    return refuse(message) if written else InputError(message)


def _name(receiver: Any, public_name: str) -> str:  # noqa: ANN401 - any object with methods
    """The function as the user names it."""
    method = public_name.rpartition(".")[2]
    if receiver is None:
        return f"pf.{public_name}"
    if isinstance(receiver, TracedProgram):
        return f"{receiver.name}.{method}"
    if isinstance(receiver, type):
        return f"pf.{receiver.__name__}.{method}"
    kind = type(receiver).__name__
    if method == "__init__":
        return f"pf.{kind}"
    text = repr(receiver)
    return f"{text if text.startswith('pf.') else kind}.{method}"


def _unbound(
    own: Signature, name: str, receiver: object, operands: Sequence[Any], options: Mapping[str, Any]
) -> str | None:
    """The error in the number or the names of the arguments."""
    try:
        own.bind(*operands, **options)
    except TypeError as problem:
        reason = str(problem)
    else:
        return None
    taken = [one for one in own.parameters.values() if receiver is None or one.name not in ("self", "cls")]
    named = [one.name for one in taken if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    unknown = _KEYWORD.search(reason)
    if unknown is not None:
        known = suggestion(unknown[1], named, _ELSEWHERE) if named else "it takes none"
        return f"{name} has no option {unknown[1]!r}; {known}"
    if isinstance(receiver, TracedProgram) and any(one.kind is one.VAR_KEYWORD for one in taken):
        call = written_call(receiver.name, name.rpartition(".")[2], dict.fromkeys(receiver.inputs))
        return f"{name}: {reason}; inputs are given by name, as {call}"
    if isinstance(receiver, TracedProgram) and options.keys() & receiver.inputs.keys():
        values = dict.fromkeys(receiver.inputs)
        call = written_call(receiver.name, "run", values)
        if any(one.name == "inputs" for one in taken):
            call = f"{name}([{{{', '.join(f'{value!r}: ..' for value in values)}}}, ..])"
        return f"{name} does not take values of {', '.join(values)} by name; write {call}"
    unnamed = [one.name for one in taken if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    needed = [one for one in taken if one.default is Parameter.empty and one.name not in unnamed]
    keywords = [f"{one.name}=.." for one in needed if one.kind is one.KEYWORD_ONLY]
    by_name = [one.name for one in taken if one.kind is one.KEYWORD_ONLY and reason.startswith("too many")]
    more = f"; give options by name: {', '.join(by_name)}" if by_name else ""
    return f"{name}: {reason}; write {name}({', '.join([*unnamed, *keywords])}){more}"


def _mistyped(
    function: Callable[..., Any], own: Signature, name: str, operands: Sequence[Any], options: Mapping[str, Any]
) -> str | None:
    """The first argument of another type than its parameter's annotation."""
    known = {**vars(sys.modules[_PACKAGE]), **function.__globals__}
    for parameter, value in own.bind(*operands, **options).arguments.items():
        one = own.parameters[parameter]
        if not isinstance(one.annotation, str) or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        try:
            kind = eval(one.annotation, known)
        except (NameError, TypeError, SyntaxError, AttributeError):
            # Some names are only imported for type checkers.
            continue
        if not _fits(value, kind):
            return f"{name}: {parameter} is {shown(value):.80}; give {one.annotation.replace(' | ', ' or ')}"
    return None


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - whatever annotates a parameter
    """Whether a value may be of that type; unknown forms of types fit."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if kind is None:
        return value is None
    if kind is Any:
        return True
    if origin in (Sequence, list):
        return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
    kind = origin or kind
    if kind in (int, float):
        return isinstance(value, int | np.integer | (np.floating | float if kind is float else bool))
    return not isinstance(kind, type) or isinstance(value, kind) or kind is np.ndarray
