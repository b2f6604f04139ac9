"""`polyfabric run`: encrypt, execute, decrypt, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..host.computer import MOST_THREADS
from ..language.program import TABLES
from ..language.types import MOST_ELEMENTS
from ..run import file_steps
from ..schemes.options import SECRETS
from ..schemes.ways import SCHEMES
from . import machine_choices, memory_option, named, run_applications, run_program
from .grouped import Grouped
from .run_options import RunOptions

HEADINGS = {
    "Where and how": (
        "on",
        "parameters",
        "secret",
        "threads",
        "memory",
        "unroll",
        "tables",
        "key_switch",
        "readings",
        "widths",
    ),
    "Inputs": ("given", "batch", "scheme", "image", "images", "rows", "query", "board", "size", "generations"),
    "Keys and steps": ("folder", "step", "public", "circuit_privacy", "flood"),
    "Limits": ("max_failure", "security"),
    "Output": ("cost", "measure", "report_to", "as_json"),
}

EXAMPLES = (
    "polyfabric run examples/integers.py:auction --input bids=1200,40000,39999",
    "polyfabric run examples/integers.py:auction --cost",
)


@click.command(cls=Grouped, headings=HEADINGS, examples=EXAMPLES, context_settings={"allow_extra_args": True})
@click.pass_context
@click.argument("program", type=named.PROGRAM)
@click.option(
    "--on",
    default="cpu",
    show_default=True,
    metavar="PLACE",
    help="cpu, gpu, interpreter, or a machine (polyfabric machines lists them), by name or as a file.toml of yours.",
)
@click.option(
    "--params",
    "parameters",
    metavar="SET",
    help="Parameter set, of CKKS and BGV also a file.toml of yours; default: chosen automatically.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, MOST_ELEMENTS),
    metavar="N",
    help="Ciphertexts of a built-in program; inputs of your own on integers, at once with CKKS, or one after another on a TFHE machine.",
)
@click.option(
    "--scheme",
    type=click.Choice(SCHEMES),
    help="With --batch of your own program: slots, all inputs at once with CKKS, the default; tfhe, one after another; auto, what executes in less time.",
)
@click.option(
    "--image", type=click.IntRange(0), metavar="INDEX", help="digits, resnet20 and trained models: this held-out image."
)
@click.option(
    "--images",
    type=click.IntRange(1),
    metavar="COUNT",
    help="digits, resnet20 and trained models: the first COUNT held-out images.",
)
@click.option(
    "--board",
    metavar="BOARD",
    help="life: glider, blinker, block, toad, beacon, r-pentomino, random, or FILE.txt of # and .",
)
@click.option("--size", type=int, metavar="N", help="life: rows and columns of a pattern's board; default 8.")
@click.option("--generations", type=click.IntRange(1), metavar="COUNT", help="life: number of generations; default 4.")
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="NAME=VALUES",
    help="One input of your program (repeat the option for others), or a JSON file with all inputs.",
)
@click.option(
    "--keys",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Use the keys in DIR; if DIR has none, generate and store them there.",
)
@click.option(
    "--step",
    type=click.Choice(file_steps.STEPS),
    help="Run one step, through files in --keys DIR: keys (also a public key for CKKS, BGV and --public), encrypt, execute (the server) or decrypt.",
)
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Processors to use; default: all.")
@click.option(
    "--unroll",
    type=click.Choice(["1", "2", "4"]),
    callback=lambda _context, _option, value: None if value is None else int(value),
    help="TFHE: secret bits per iteration of blind rotation of a uniform key; more are faster but need a larger key and add noise. Default: 1.",
)
@click.option(
    "--secret",
    type=click.Choice(SECRETS),
    help="TFHE: the secret key's distribution. block-binary keys make lookups up to twice as fast, under a newer assumption; default: uniform.",
)
@click.option(
    "--tables",
    type=click.Choice(TABLES),
    help="TFHE, your own programs: how tables are read, by circuit bootstrapping (wide, on the processor) or by lookups; auto takes the cheaper.",
)
@click.option(
    "--max-failure",
    "max_failure",
    type=float,
    metavar="LOG2",
    help="log2 of the largest accepted failure probability; default -128, for CKKS that of its error bounds.",
)
@machine_choices.readings
@machine_choices.widths
@click.option(
    "--report",
    "report_to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the machine's report and timeline to DIR.",
)
@click.option(
    "--rows", type=click.IntRange(1), metavar="COUNT", help="logistic-regression: the first COUNT held-out rows."
)
@click.option("--query", metavar="CODE", help="database-lookup: a country's code of two letters.")
@click.option(
    "--key-switch",
    "key_switch",
    metavar="NAME",
    help="CKKS, BGV: set (the parameter set's), auto (the compiler chooses), listing1, or d8 for eight digits; default: auto on a machine without --params, else set.",
)
@click.option(
    "--security",
    type=float,
    metavar="BITS",
    help="Refuse a parameter set with fewer bits of security; default 128 for your own sets and for public keys.",
)
@click.option(
    "--flood",
    type=float,
    metavar="DEVIATION",
    help="CKKS: before you publish outputs, add noise of this standard deviation to every slot; 0 adds none and warns.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Encrypt the inputs with a public key and plan for its noise. With TFHE, give it to --step execute too.",
)
@click.option(
    "--circuit-privacy",
    "circuit_privacy",
    type=float,
    metavar="BITS",
    help="TFHE: re-randomise and flood the outputs for this many bits of circuit privacy; give it to every --step.",
)
@click.option("--cost", is_flag=True, help="Print parameters, keys, memory, time and errors, and do not run.")
@click.option(
    "--measure",
    is_flag=True,
    help="CKKS, BGV: measure the error of every operation; also run programs whose bounds exceed their values.",
)
@memory_option.option
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def run(context: click.Context, program: str, **given: Any) -> int:  # noqa: ANN401 - the options above, by the names of `RunOptions`
    """Run PROGRAM on encrypted data and compare with the clear result.

    PROGRAM is your own, FILE.py:FUNCTION, FILE.pf, FILE.mlir of HEIR, FILE.csv or FILE.txt of a trace, or a built-in one, which `polyfabric programs` lists.
    """
    if context.args:
        first = context.args[0]
        remedy = f"give an input as --input {first}" if "=" in first else "an input is --input NAME=VALUE"
        raise click.UsageError(f"{first!r} is neither an option nor its value; {remedy}", context)
    options = RunOptions(program=program, **given)
    return (run_applications.runner(options) or run_program.run)(options)
