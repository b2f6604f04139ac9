"""The words of the site's pages, which people have to read, and the limit that they keep to.

A word is what has a letter or a digit. Counted are README and every page of `docs/` in the navigation, with code, tables and the text of the
notebooks. Not counted is what the navigation has under "Tables of all rows": pages of generated tables, which are looked up instead of read.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 41_000
MACHINE_LIMIT = 2_000
"""Of the page of one machine."""
MACHINES = ("f1.md", "fpt.md", "morphling.md", "osiris.md", "strix.md")
_TABLES = "Tables of all rows"


def pages() -> list[str]:
    """The counted pages, by their path in `docs/`, in the order of the navigation; README is `index.md`."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    found: list[str] = []
    tables: int | None = None
    for line in navigation.splitlines():
        indent = len(line) - len(line.lstrip())
        if tables is not None and indent > tables:
            continue
        tables = indent if line.strip() == f"- {_TABLES}:" else None
        page = re.search(r"\S+\.(?:md|ipynb)$", line)
        if page and not page[0].startswith("source/"):
            found.append(page[0])
    return found


def text(page: str) -> str:
    """What a reader sees of a page, with Markdown's marks."""
    path = ROOT / "README.md" if page == "index.md" else ROOT / "docs" / page
    source = path.read_text(encoding="utf-8")
    if page.endswith(".ipynb"):
        cells = json.loads(source)["cells"]
        source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"<!--.*?-->", "", source, flags=re.DOTALL))


def count(page: str) -> int:
    """The number of words of a page."""
    return sum(1 for word in text(page).split() if re.search(r"[^\W_]", word))


def summary() -> str:
    """The words of every page and of all."""
    counts = {page: count(page) for page in pages()}
    lines = [f"{number:7,} {page}" for page, number in sorted(counts.items(), key=lambda item: -item[1])]
    return "\n".join([*lines, f"{sum(counts.values()):7,} words in {len(counts)} pages; limit: {LIMIT:,}"])
