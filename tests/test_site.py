"""Links of the pages, and how the site's hook turns them; the site itself is built by `make docs`."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from documentation import site, words  # noqa: E402

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "rtl").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    path = page.relative_to(ROOT).as_posix()
    linked = [target for target, _ in site.links(path, page.read_text(encoding="utf-8"))]
    assert [target for target in linked if not (ROOT / target).exists()] == []


NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_have_no_outputs_and_their_links_lead_to_files(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    linked = [target for target, _ in site.links(path.relative_to(ROOT).as_posix(), text)]
    assert linked
    assert [target for target in linked if not (ROOT / target).exists()] == []


def turned(uri: str, text: str) -> str:
    return site.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=uri)))


@pytest.mark.parametrize(
    ("uri", "text", "expected"),
    [
        ("models.md", "[a](../examples/model.py)", "[a](source/examples/model.py.md)"),
        ("rtl.md", "[a](../rtl/cmux/README.md#b)", "[a](source/rtl/cmux/README.md#b)"),
        ("index.md", "[`a`](docs/gpu.md), ![b](docs/pictures/c.svg)", "[`a`](gpu.md), ![b](pictures/c.svg)"),
        ("source/rtl/README.md", "[a](../docs/rtl.md#b)", "[a](../../rtl.md#b)"),
        ("strix.md", "[a](../crates)", "a"),
        ("gpu.md", "[a](#b), [c](https://d.e), `[a](../examples)`", "[a](#b), [c](https://d.e), `[a](../examples)`"),
        ("gpu.md", "```\n[a](../examples)\n```", "```\n[a](../examples)\n```"),
    ],
)
def test_links_by_path_become_links_of_the_site(uri: str, text: str, expected: str) -> None:
    assert turned(uri, text) == expected


def test_links_of_notebooks_become_links_of_the_site() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="tutorials/sweep.ipynb"))
    html = '<a href="auction.ipynb">a</a> <a href="../explore.md#b">c</a> <a href="../../rtl/README.md">f</a> <a href="https://d.e/f.md">g</a>'
    expected = '<a href="auction.html">a</a> <a href="../explore.html#b">c</a> <a href="../source/rtl/index.html">f</a> <a href="https://d.e/f.md">g</a>'
    assert site.on_page_content(html, page) == expected


def test_a_page_of_the_site_knows_its_file() -> None:
    for path in ("README.md", "docs/gpu.md", "rtl/README.md", "LICENSE", "examples/model.py"):
        assert site.path_of(site.uri_of(path)) == path


def test_every_page_and_tutorial_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages = [*(ROOT / "docs").glob("*.md"), *NOTEBOOKS]
    names = [page.relative_to(ROOT / "docs").as_posix() for page in pages]
    assert [name for name in names if not re.search(rf"[-:] {re.escape(name)}$", navigation, re.MULTILINE)] == []


def test_the_python_reference_has_every_public_name_in_its_group() -> None:
    import polyfabric

    text = site.public_names()
    sections = {part.partition("\n")[0]: part for part in text.split("## ")[1:]}
    listed = set(re.findall(r"^::: polyfabric\.(?:\w+\.)?(\w+)$", text, re.MULTILINE))
    assert listed >= {name for name in polyfabric.__all__ if not inspect.ismodule(getattr(polyfabric, name))}
    for group, name in zip(site.GROUPS, ("program", "UInt", "lookup", "Client", "Error"), strict=True):
        assert re.search(rf"polyfabric\.(?:\w+\.)?{name}$", sections[group], re.MULTILINE), name


def test_the_pages_are_short() -> None:
    counts = {page: words.count(page) for page in words.pages()}
    assert sum(counts.values()) <= words.LIMIT, words.summary()
    assert [name for name in words.MACHINES if counts[name] > words.MACHINE_LIMIT] == []
    assert all(not page.endswith("-tables.md") for page in counts)
