"""Writes pictures as SVG: boxes, arrows and texts in one style, for light and dark pages.

drawing = Drawing(200, 60, "Two boxes")
drawing.box(10, 10, 60, 40, "a")
drawing.box(120, 10, 60, 40, "b")
drawing.arrow([(70, 30), (120, 30)])
drawing.svg()
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

COLOURS = {
    "a": ("#2f6f9f", "#7db7e0"),
    "b": ("#b5651d", "#e6a869"),
    "c": ("#3f7d4e", "#86c796"),
    "d": ("#8a4f9e", "#c79ad6"),
    "e": ("#a8434b", "#e58f96"),
}
"""Accents: on light and on dark paper."""
_PAPER, _INK, _SOFT, _FAINT = (
    ("#ffffff", "#1f2328"),
    ("#24292f", "#e6e6e6"),
    ("#f1f4f6", "#2b303b"),
    ("#8c959f", "#7d8590"),
)


def _rules(dark: int) -> str:
    rules = {
        ".paper": f"fill:{_PAPER[dark]}",
        "text": f"fill:{_INK[dark]}",
        ".faint": f"fill:{_FAINT[dark]}",
        ".box": f"fill:{_SOFT[dark]};stroke:{_FAINT[dark]}",
        ".line": f"stroke:{_INK[dark]}",
        ".rule": f"stroke:{_FAINT[dark]}",
        ".tip": f"fill:{_INK[dark]}",
        ".band": f"fill:{_SOFT[dark]}",
    }
    for name, colour in COLOURS.items():
        rules[f".{name}"] = f"fill:{colour[dark]};stroke:{colour[dark]}"
        rules[f".t{name}"] = f"fill:{colour[dark]}"
        rules[f".box.{name}"] = f"fill:{_SOFT[dark]};stroke:{colour[dark]}"
    return "".join(f"{selector}{{{rule}}}" for selector, rule in rules.items())


_STYLE = (
    "text{font-family:system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;stroke:none}"
    ".box{stroke-width:1.5}.line,.rule{fill:none;stroke-width:1.5}.rule{stroke-width:1}"
    f"{_rules(0)}@media (prefers-color-scheme:dark){{{_rules(1)}}}"
)


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")


class Drawing:
    """A picture of a size in pixels."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, text: str = "", *, kind: str = "", copies: int = 1
    ) -> None:
        """A rounded box with lines of text in its middle; `copies` draws further ones behind it. `kind` is an accent."""
        for copy in range(min(copies, 3) - 1, -1, -1):
            at = 5 * copy
            self._parts.append(
                f'<rect class="{f"box {kind}".strip()}" x="{_n(x + at)}" y="{_n(y - at)}" width="{_n(width)}" height="{_n(height)}" rx="6"/>'
            )
        lines = text.split("\n") if text else []
        top = y + height / 2 - 9 * (len(lines) - 1) + 5
        for index, line in enumerate(lines):
            self.text(x + width / 2, top + 18 * index, line, bold=index == 0, size=14 if index == 0 else 12)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 13,
        bold: bool = False,
        anchor: str = "middle",
        kind: str = "",
    ) -> None:
        """A line of text. `kind` is "faint" or t and an accent."""
        more = f' class="{kind}"' if kind else ""
        more += ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
        )

    def bar(
        self, x: float, y: float, width: float, height: float, kind: str, *, tip: str = "", faint: bool = False
    ) -> None:
        """A filled rectangle; `tip` shows when the pointer is on it."""
        more = ' opacity="0.45"' if faint else ""
        self._parts.append(
            f'<rect class="{kind}" stroke="none" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{more}>{_tip(tip)}</rect>'
        )

    def dot(self, x: float, y: float, kind: str, *, hollow: bool = False, tip: str = "") -> None:
        """A point of a chart."""
        more = ' fill-opacity="0.15"' if hollow else ""
        self._parts.append(f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="4"{more}>{_tip(tip)}</circle>')

    def rule(self, x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> None:
        """A thin line."""
        more = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(f'<path class="rule" d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}"{more}/>')

    def curve(self, points: Sequence[tuple[float, float]], kind: str = "") -> None:
        """A line along points, in an accent."""
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        look = f'class="{kind}" style="fill:none" stroke-width="1.5"' if kind else 'class="line"'
        self._parts.append(f'<path {look} d="M{path}"/>')

    def arrow(self, points: Sequence[tuple[float, float]], text: str = "", *, both: bool = False) -> None:
        """An arrow along points, with a label at its first part."""
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        self._parts.append(f'<path class="line" d="M{path}"/>')
        ends = [(points[-2], points[-1])] + ([(points[1], points[0])] if both else [])
        for (fx, fy), (tx, ty) in ends:
            length = ((tx - fx) ** 2 + (ty - fy) ** 2) ** 0.5
            dx, dy = (tx - fx) / length, (ty - fy) / length
            corners = [(tx, ty), *((tx - 8 * dx + s * 4 * dy, ty - 8 * dy - s * 4 * dx) for s in (1, -1))]
            self._parts.append(f'<path class="tip" d="M{"L".join(f"{_n(x)} {_n(y)}" for x, y in corners)}Z"/>')
        if text:
            (x1, y1), (x2, y2) = points[:2]
            if x1 == x2:
                self.text(x1 + 7, (y1 + y2) / 2 + 4, text, size=12, anchor="start")
            else:
                self.text((x1 + x2) / 2, min(y1, y2) - 6, text, size=12)

    def svg(self) -> str:
        """The file's text."""
        size = f'width="{_n(self.width)}" height="{_n(self.height)}" viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        paper = f'<rect class="paper" width="{_n(self.width)}" height="{_n(self.height)}"/>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{escape(self.title)}</title><style>{_STYLE}</style>'
        return "\n".join([head, paper, *self._parts, "</svg>", ""])


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
