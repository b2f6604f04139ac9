"""Has the stub of the native module the names, parameters and defaults that the module has? `make stubs` writes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import polyfabric
from polyfabric import _native

STUB = Path(polyfabric.__file__).with_name("_native.pyi")


def parameters(function: ast.FunctionDef) -> str:
    """The parameters with their defaults, without types and without the receiver."""
    own = function.args
    names = [argument.arg for argument in [*own.posonlyargs, *own.args, *own.kwonlyargs]]
    defaults = [ast.unparse(default) for default in [*own.defaults, *filter(None, own.kw_defaults)]]
    names = [name for name in names if name not in ("self", "cls")]
    return f"{names} {defaults}"


def declared() -> dict[str, str]:
    """What the stub has."""
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = parameters(node)
        elif isinstance(node, ast.AnnAssign):
            found[ast.unparse(node.target)] = "constant"
        elif isinstance(node, ast.ClassDef):
            found[node.name] = "class"
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                    property_ = any(ast.unparse(of) == "property" for of in member.decorator_list)
                    found[f"{node.name}.{member.name}"] = "property" if property_ else parameters(member)
    return found


def described(value: object) -> str:
    """What a member of the module is, in the words of `declared`."""
    if isinstance(value, type):
        return "class"
    signature = getattr(getattr(value, "__func__", value), "__text_signature__", None)
    if signature is None:
        return "property" if hasattr(value, "__objclass__") else "constant"
    (function,) = ast.parse(f"def f{signature.replace('$self', 'self')}: ...").body
    assert isinstance(function, ast.FunctionDef)
    return parameters(function)


def members() -> Iterator[tuple[str, str]]:
    """What the module has."""
    for name, value in vars(_native).items():
        if name.startswith("__"):
            continue
        yield name, described(value)
        if isinstance(value, type):
            own = ((f"{name}.{member}", of) for member, of in vars(value).items() if not member.startswith("__"))
            yield from ((member, described(of)) for member, of in own)


def test_the_stub_is_that_of_the_module() -> None:
    stub, module = declared(), dict(members())
    assert stub.keys() == module.keys(), sorted(stub.keys() ^ module.keys())
    differ = {name: (stub[name], module[name]) for name in stub if stub[name] != module[name]}
    assert not differ, f"run `make stubs`: {differ}"
