"""Counters, gauges and histograms in the text format of Prometheus. They name programs and no tenant."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper bounds of the histograms' intervals, in seconds."""

Labels = tuple[tuple[str, str], ...]


class _Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds


class Metrics:
    """The figures of one server. Only the event loop's thread changes them."""

    def __init__(self) -> None:
        self._counters: Counter[tuple[str, Labels]] = Counter()
        self._histograms: dict[tuple[str, Labels], _Histogram] = {}

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Adds to a counter."""
        self._counters[name, tuple(labels.items())] += amount

    def time(self, name: str, seconds: float, **labels: str) -> None:
        """Adds one duration to a histogram."""
        self._histograms.setdefault((name, tuple(labels.items())), _Histogram()).add(seconds)

    def text(self, gauges: Mapping[str, float]) -> str:
        """All figures, with gauges as they are now."""
        lines = []
        for name, value in gauges.items():
            lines += [f"# TYPE polyfabric_{name} gauge", f"polyfabric_{name} {value}"]
        for name in sorted({name for name, _ in self._counters}):
            lines.append(f"# TYPE polyfabric_{name} counter")
            rows = sorted((labels, count) for (own, labels), count in self._counters.items() if own == name)
            lines += [f"polyfabric_{name}{_braces(labels)} {count}" for labels, count in rows]
        for name in sorted({name for name, _ in self._histograms}):
            lines.append(f"# TYPE polyfabric_{name} histogram")
            for labels, histogram in sorted((key[1], own) for key, own in self._histograms.items() if key[0] == name):
                below = 0
                for bound, count in zip((*map(str, BOUNDS), "+Inf"), histogram.counts, strict=True):
                    below += count
                    lines.append(f"polyfabric_{name}_bucket{_braces((*labels, ('le', bound)))} {below}")
                lines.append(f"polyfabric_{name}_sum{_braces(labels)} {histogram.sum}")
                lines.append(f"polyfabric_{name}_count{_braces(labels)} {below}")
        return "\n".join(lines) + "\n"


def _braces(labels: Labels) -> str:
    """Labels as text; their values are programs' names and our own words, which need no escapes."""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
