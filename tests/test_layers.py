"""Do the modules of each crate, and of the Python package, import only what `layers.toml` has below them?"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = tomllib.loads((ROOT / "tests" / "layers.toml").read_text())


class Import(NamedTuple):
    """Module `of` imports from module `to`; both are names of `layers.toml`."""

    of: str
    to: str
    place: str


# Comments, strings and characters, in which nothing is imported.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.DOTALL)
TEST_ONLY = re.compile(r"#\[cfg\((?:test|all\(test)[^\]]*\]\s*")
PATH_START = re.compile(r"(?<![\w:])(crate|self|super)\s*::\s*")
WORD = re.compile(r"\s*(\w+)\s*")


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """`text` with blanks for what `pattern` matches: every line keeps its number."""
    return pattern.sub(lambda match: re.sub(r"\S", " ", match.group()), text)


def without_tests(text: str) -> str:
    """`text` with blanks for each item that only tests have: up to its `;`, or to the end of its block."""
    for attribute in TEST_ONLY.finditer(text):
        depth, end = 0, attribute.end()
        while end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
            if depth == 0 and text[end - 1] in ";}":
                break
        text = text[: attribute.start()] + re.sub(r"\S", " ", text[attribute.start() : end]) + text[end:]
    return text


def excused(lines: list[str], line: int) -> bool:
    """Whether a comment in or above a line states why its import closes a circle."""
    return any("circle:" in text for text in lines[max(0, line - 1) : line + 1])


def first_words(text: str, at: int) -> Iterator[str]:
    """The first words of the path, or of the group of paths, that begins at `at`."""
    group = re.compile(r"\s*\{").match(text, at)
    if not group:
        if word := WORD.match(text, at):
            yield word.group(1)
        return
    depth, fresh = 1, True
    for token in re.compile(r"[{},]|\w+").finditer(text, group.end()):
        depth += (token.group() == "{") - (token.group() == "}")
        if depth == 0:
            return
        if depth == 1 and fresh and token.group().isidentifier():
            yield token.group()
        fresh = depth == 1 and token.group() == ","


def rust_imports(source: Path) -> Iterator[Import]:
    """Imports between the modules that `lib.rs` names. What `lib.rs` defines itself is below all of them."""
    root = blanked((source / "lib.rs").read_text(), NOT_CODE)
    modules = set(re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+)", root, re.MULTILINE))
    reexported = {
        name: module
        for module, names in re.findall(r"pub(?:\([^)]*\))? use (?:self::)?(\w+)::([^;]*);", root)
        for name in re.findall(r"\w+", names)
    }
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0] == "lib" or {"tests", "test_support"} & set(parts):
            continue
        own = parts[:-1] if parts[-1] == "mod" else parts
        written = path.read_text().splitlines()
        text = without_tests(blanked(path.read_text(), NOT_CODE))
        for start in PATH_START.finditer(text):
            line = text.count("\n", 0, start.start())
            if start.group(1) == "self" or excused(written, line):
                continue
            at, up = start.end(), 0 if start.group(1) == "crate" else 1
            while up and (more := re.compile(r"super\s*::\s*").match(text, at)):
                at, up = more.end(), up + 1
            # A path that goes up, but not to the root, stays within its module.
            if up and up < len(own):
                continue
            for word in first_words(text, at):
                module = word if word in modules else reexported.get(word)
                if module not in (None, own[0]):
                    yield Import(own[0], module, f"{path.relative_to(ROOT)}:{line + 1}")


def python_imports(source: Path) -> Iterator[Import]:
    """Imports between the modules at the top of the package, those inside functions too. Types alone are no imports: nothing is loaded for them."""
    names = {path.stem for path in source.glob("*.py")} | {path.parent.name for path in source.glob("*/__init__.py")}
    names.add("_native")

    def of(node: ast.AST, package: list[str], own: str, place: Path, lines: list[str]) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.ImportFrom) and not excused(lines, child.lineno - 1):
                module = child.module.split(".") if child.module else []
                if child.level:
                    module = [*package[: len(package) - child.level + 1], *module]
                elif module[:1] == ["polyfabric"]:
                    module = module[1:]
                else:
                    continue
                for name in child.names:
                    first = (module or [name.name])[0]
                    to = first if first in names else "polyfabric"
                    if to != own:
                        yield Import(own, to, f"{place.relative_to(ROOT)}:{child.lineno}")
            yield from of(child, package, own, place, lines)

    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        own = "polyfabric" if parts[0] == "__init__" else parts[0]
        text = path.read_text()
        yield from of(ast.parse(text), list(parts[:-1]), own, path, text.splitlines())


def imports(name: str) -> list[Import]:
    source = ROOT / LAYERS[name]["source"]
    return list(rust_imports(source) if (source / "lib.rs").exists() else python_imports(source))


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A circle among `arrows`, or nothing."""
    done: set[str] = set()

    def from_(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for to in sorted(arrows.get(module, ())):
            if found := from_(to, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in sorted(arrows) if (found := from_(module, []))), [])


@pytest.mark.parametrize("name", LAYERS)
def test_no_import_runs_up(name: str) -> None:
    layer = {module: number for number, modules in enumerate(LAYERS[name]["layers"]) for module in modules}
    found = imports(name)
    assert found, "nothing imports anything: is it read?"
    unknown = {module for one in found for module in (one.of, one.to)} - set(layer)
    assert not unknown, f"give it a layer in tests/layers.toml: {', '.join(sorted(unknown))}"
    up = [f"{one.place}: {one.of} imports {one.to}" for one in found if layer[one.to] > layer[one.of]]
    assert not up, "imports run up:\n" + "\n".join(up)
    arrows: dict[str, set[str]] = {}
    for one in found:
        arrows.setdefault(one.of, set()).add(one.to)
    assert not circle(arrows), f"imports run in a circle: {' → '.join(circle(arrows))}"


def test_every_crate_has_layers() -> None:
    crates = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "crates").glob("*/src")}
    listed = {table["source"] for table in LAYERS.values()}
    assert {f"{crate}/src" for crate in crates} <= listed
    for table in LAYERS.values():
        for module in (module for modules in table["layers"] for module in modules):
            path = ROOT / table["source"] / module
            compiled = module in ("_native", "polyfabric")
            there = compiled or path.is_dir() or any(path.with_suffix(end).exists() for end in (".rs", ".py"))
            assert there, f"tests/layers.toml lists {module}, which {table['source']} has not"


def test_an_import_that_runs_up_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "low").mkdir()
    (tmp_path / "lib.rs").write_text("pub mod high;\nmod low;\npub use high::Roof;\npub struct Ground;\n")
    (tmp_path / "high.rs").write_text("use crate::low::Floor;\n")
    (tmp_path / "low/mod.rs").write_text(
        "use crate::{Ground, Roof};\n// crate::high\nuse super::{high::{self, Beam}};\n"
        "#[cfg(test)]\nmod tests {\n    use crate::high::Attic;\n}\n"
    )
    (tmp_path / "low/inner.rs").write_text("use super::Floor;\n// circle: a test has it\nuse crate::high::Roof;\n")
    found = [(one.of, one.to, one.place) for one in rust_imports(tmp_path)]
    assert found == [("high", "low", "high.rs:1"), ("low", "high", "low/mod.rs:1"), ("low", "high", "low/mod.rs:3")]
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").write_text("")
    (tmp_path / "package/low.py").write_text(
        "def f():\n    from .high import g\n    from . import high  # circle: why\n"
    )
    (tmp_path / "package/high.py").write_text("if TYPE_CHECKING:\n    from .low import f\nfrom . import VERSION\n")
    found = [(one.of, one.to) for one in python_imports(tmp_path / "package")]
    assert found == [("high", "polyfabric"), ("low", "high")]
