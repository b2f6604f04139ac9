"""One self-contained page, without scripts or other files."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING

from . import plots, rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from . import Report

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #e4e7eb; text-align: right; vertical-align: top; }
td.text, th.text { text-align: left; } th { color: #7b8794; font-weight: 500; }
p.note { color: #7b8794; font-size: .9rem; margin: .3rem 0; }
figure { margin: 1.5rem 0; } figcaption { color: #7b8794; font-size: .9rem; } svg { max-width: 100%; height: auto; }
"""


def content(report: Report) -> str:
    """The tables and plots of a report."""
    figures = [
        f"<figure>{_svg(figure)}<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, figure in plots.of(report)
    ]
    return "\n".join([*map(_table, rows.of(report)), *figures])


def page(report: Report) -> str:
    """The page of a report."""
    tables = rows.of(report)
    title = tables[0].title if tables else report.kind
    body = [f"<h1>{escape(title)}</h1>", content(report)]
    if report.trace is not None:
        body.append("<p>The timeline in the same folder, <code>timeline.json</code>, opens in Perfetto.</p>")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _table(content: rows.Rows) -> str:
    def cell(tag: str, index: int, text: str) -> str:
        is_text = index < content.left or content.columns[index] in ("kind", "note")
        return f"<{tag}{' class=text' if is_text else ''}>{escape(text)}</{tag}>"

    head = "".join(cell("th", i, c) for i, c in enumerate(content.columns))
    lines = ["<tr>" + "".join(cell("td", i, c) for i, c in enumerate(row)) + "</tr>" for row in content.rows]
    heading = "" if content.columns == ("figure", "value") else f"<thead><tr>{head}</tr></thead>"
    notes = "".join(f"<p class=note>{escape(note)}</p>" for note in content.note.splitlines())
    return f"<h2>{escape(content.title)}</h2>\n<table>{heading}<tbody>{''.join(lines)}</tbody></table>{notes}"


def _svg(figure: Figure) -> str:
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]
