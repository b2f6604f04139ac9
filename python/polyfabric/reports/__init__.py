"""Reports hold data; tables, plots, pages and timelines are drawn from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import AbsentError, InputError
from ..host.files import made_folder, path_of, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

KINDS = (
    "simulation",
    "cost",
    "slot cost",
    "operations",
    "reproduction",
    "validation",
    "exploration",
    "comparison",
    "trials",
)


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a simulation, a cost estimate, a comparison with a paper or of machines, or a sweep."""

    kind: str
    """One of `KINDS`."""
    data: dict[str, Any]
    trace: Callable[[], str] | None = None
    """Draws the timeline, as Chrome trace-event JSON."""
    drawings: Callable[[], list[tuple[str, Figure]]] | None = None
    """Draws further plots, as (caption, figure), in the style of a paper."""

    def __repr__(self) -> str:
        of = self.data.get("program")
        return f"<{self.kind} report{f' of {of}' if isinstance(of, str) else ''}: print it, or take its .table(), .to_dict(), .plot(), .save(folder)>"

    def __str__(self) -> str:
        return self.table().rstrip()

    def to_dict(self) -> dict[str, Any]:
        """The data."""
        return self.data

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - data
        if key not in self.data:
            raise InputError(f"this {self.kind} report has no entry {key!r}; it has {', '.join(self.data)}")
        return self.data[key]

    def __getattr__(self, name: str) -> NoReturn:
        if name in vars(self).get("data", ()):
            raise AbsentError(f"a {self.kind} report has no .{name}; write report[{name!r}]")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __contains__(self, key: object) -> bool:
        return key in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def print(self, console: Console) -> None:
        """Prints the tables."""
        from . import tables

        for part in tables.of(self):
            if isinstance(part, tables.Table):
                tables.print_table(console, part)
            else:
                console.print(part)

    def table(self) -> str:
        """The tables, as text."""
        from rich.console import Console

        console = Console(width=120, color_system=None, highlight=False)
        with console.capture() as captured:
            self.print(console)
        return captured.get()

    def plot(self, path: str | Path | None = None) -> list[Figure]:
        """The plots, as matplotlib figures; with `path`, also written there, numbered if there are several."""
        from . import plots

        figures = [figure for _, figure in plots.of(self)]
        if path is not None:
            target = path_of(path)
            for number, figure in enumerate(figures):
                file = target if len(figures) == 1 else target.with_stem(f"{target.stem}-{number + 1}")
                plots.write(figure, file)
        return figures

    def timeline(self, path: str | Path | None = None) -> str:
        """The schedule as Chrome trace-event JSON, which Perfetto opens; with `path`, also written there."""
        if self.trace is None:
            raise InputError(f"a {self.kind} report has no timeline; simulate a program, or run it on a machine")
        text = self.trace()
        if path is not None:
            write_text(path_of(path), text)
        return text

    def _repr_html_(self) -> str:
        """All tables and plots, for notebooks."""
        from . import html

        return html.content(self)

    def save_html(self, path: str | Path) -> None:
        """One self-contained page with all tables and plots."""
        from . import html

        write_text(path_of(path), html.page(self))

    def save(self, folder: str | Path) -> list[Path]:
        """Writes `report.html`, `report.json`, each plot as SVG, named by its caption, and, for a schedule, `timeline.json`."""
        from . import plots

        target = made_folder(folder)
        written = [target / "report.html", target / "report.json"]
        self.save_html(written[0])
        write_text(written[1], json.dumps(self.data, indent=2) + "\n")
        for caption, figure in plots.of(self):
            written.append(target / f"{plots.file_name(caption)}.svg")
            plots.write(figure, written[-1])
        if self.trace is not None:
            written.append(target / "timeline.json")
            self.timeline(written[2])
        return written
