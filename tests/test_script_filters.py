"""Is every word by which a script chooses or skips Rust tests a part of some test's name, so that none is chosen or skipped in vain?"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rust_tests(crate: str) -> set[str]:
    """The paths of a crate's unit tests, as its test program names them."""
    found, source = set(), ROOT / "crates" / crate / "src"
    for file in source.rglob("*.rs"):
        own = [part for part in file.relative_to(source).with_suffix("").parts if part not in ("mod", "lib")]
        modules: list[tuple[int, str]] = []
        is_test = False
        for line in file.read_text(encoding="utf-8").splitlines():
            indent, words = len(line) - len(line.lstrip()), line.split()
            if match := re.match(r"\s*(?:pub(?:\(.*\))? )?mod (\w+) \{", line):
                modules.append((indent, match[1]))
            elif words == ["}"] and modules and modules[-1][0] == indent:
                modules.pop()
            elif words == ["#[test]"]:
                is_test = True
            elif is_test and (match := re.match(r"\s*fn (\w+)", line)):
                found.add("::".join([*own, *(name for _, name in modules), match[1]]))
                is_test = False
    return found


def filters() -> list[tuple[str, str, str]]:
    """Words by which scripts choose or skip Rust tests: the script, the crate, the word."""
    text = {name: (ROOT / "scripts" / name).read_text(encoding="utf-8") for name in ("miri", "kernel-tests", "aarch64")}
    (chosen,) = re.findall(r"^MIRIFLAGS=.* -- (.*)", text["miri"].replace("\\\n", " "), re.MULTILINE)
    (once,) = re.findall(r"^once=\((.*?)\)", text["kernel-tests"], re.MULTILINE | re.DOTALL)
    found = [("miri", "kernels", word) for word in chosen.split()]
    found += [("kernel-tests", "kernels", word) for word in once.split()]
    for crate, words in re.findall(r"^ *test_with \S+ (\w+)(.*)", text["aarch64"], re.MULTILINE):
        found += [("aarch64", crate, word) for word in words.split() if word != "--skip"]
    return found


def test_every_filter_of_a_script_is_of_some_test() -> None:
    tests = {crate: rust_tests(crate) for crate in ("kernels", "runtime")}
    assert len(tests["kernels"]) > 100
    known = filters()
    assert {script for script, _, _ in known} == {"miri", "kernel-tests", "aarch64"}
    assert [one for one in known if not any(one[2] in path for path in tests[one[1]])] == []
