"""`polyfabric widths`: fixed-point widths for a parameter set, by FPT's design method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from ..accelerators.machine import load
from ..host.files import write_text
from ..host.progress import bars
from ..reports.tables import print_table
from ..schemes.parameters import named
from ..schemes.tfhe import with_key_noise
from . import places
from .console import grid, out, print_json
from .named import MACHINE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"key": "bootstrapping key", "forward": "forward FFT", "inverse": "inverse FFT"}


@click.command()
@click.option("--params", "set_name", required=True, metavar="SET", help="The parameter set.")
@click.option("--on", type=MACHINE, required=True, metavar="MACHINE", help="A machine of TFHE, or a file of one.")
@click.option(
    "--judge",
    type=click.Choice(["phase", "coefficient"]),
    default="phase",
    show_default=True,
    help="Bound the error of the phase, which decryption sees, or of one coefficient.",
)
@click.option(
    "--noise",
    type=click.FloatRange(0.0, 1024.0, min_open=True),
    default=1.0,
    metavar="FACTOR",
    help="Assume FACTOR times the standard deviation of the bootstrapping key's noise. Default: 1.",
)
@click.option(
    "--out",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.machine_file,
    metavar="FILE.toml",
    help="Write the machine's file with these widths.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=places.plot,
    metavar="FILE",
    help="Plot noise against bits (figure 5).",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def widths(
    set_name: str, *, on: str, judge: str, noise: float, file: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Derive fixed-point formats for key, forward and inverse transform.

    The most significant bits follow from measured variances and the machine's overflow probability. The least significant bits are swept
    until each of the three takes a third of half of the noise bound.
    """
    with bars() as progress:
        parameters = with_key_noise(named(set_name).native, noise)
        found, text = load(on).derive_widths(parameters, judge, progress)
    if file is not None:
        write_text(file, text)
    if plot is not None:
        from ..reports import plots

        plots.write(_curves(found["widths"]), plot)
    if as_json:
        print_json(found)
    else:
        _formats(found)


def _formats(found: dict[str, Any]) -> None:
    derived = found["widths"]
    table: Table = grid("", "format", "deviation", "MSB by variance", "by schedule")
    for part in derived["formats"]:
        form = f"FixedPoint{part['width']}({part['integer_bits']}, {part['fraction_bits']})"
        bits = (str(part[f"{rule}_integer_bits"]) for rule in ("measured", "scheduled"))
        table.add_row(NAMES[part["part"]], form, f"2^{part['log2_deviation']:.2f}", *bits)
    print_table(out(), table)
    out().print(f"limit of each: a variance of 2^{derived['log2_limit']:.2f}, of {derived['judge']}s")
    out().print(f"all three together: {derived['share']:.2f} of half of the bound")
    if found["log2_failure"] is not None:
        out().print(f"a lookup fails with probability 2^{found['log2_failure']:.1f}")


def _curves(derived: dict[str, Any]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for part in derived["formats"]:
        points = part["curve"]
        bits = [point["fraction_bits"] for point in points]
        axes.plot(bits, [point["log2_noise"] for point in points], marker=".", label=NAMES[part["part"]])
    axes.axhline(derived["log2_limit"], color="grey", linestyle="--", label="a sixth of the bound")
    axes.set_xlabel("fractional bits")
    axes.set_ylabel(f"log2 of the variance of a {derived['judge']}")
    axes.set_title(derived["set"])
    axes.legend()
    return figure
