"""`polyfabric run`: encrypt, execute, decrypt, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import stages
from ..computer import MOST_THREADS
from ..language.types import MOST_ELEMENTS
from . import machine_choices, memory_option, run_applications, run_program
from .run_options import RunOptions


@click.command()
@click.argument("program")
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
    help="Parameter set, of CKKS and BGV also a file.toml of yours; without it, one is chosen.",
)
@click.option("--batch", type=click.IntRange(1, MOST_ELEMENTS), metavar="N", help="Ciphertexts of a built-in program.")
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
@click.option("--size", type=int, metavar="N", help="life: rows and columns around a pattern; 8 without it.")
@click.option("--generations", type=click.IntRange(1), metavar="COUNT", help="life: how many; 4 without it.")
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="NAME=VALUES",
    help="Input of your program, each with an --input of its own, a text as it is; or a JSON file with all.",
)
@click.option(
    "--keys",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Use the keys in DIR; make and keep them there if there are none.",
)
@click.option(
    "--step",
    type=click.Choice(stages.STEPS),
    help="Only this part, through files in --keys DIR: the client's keys (a public one too: of CKKS and BGV, and with --public), what it sends, what the server does, what the client reads.",
)
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Processors to use; all without it.")
@click.option(
    "--unroll",
    type=click.Choice(["1", "2", "4"]),
    default="1",
    callback=lambda _context, _option, value: int(value),
    help="TFHE: secret bits an iteration of blind rotation takes; more are faster, with a larger key and more noise.",
)
@click.option(
    "--max-failure",
    "max_failure",
    type=float,
    metavar="LOG2",
    help="Largest failure probability that is accepted, as a power of 2: -128 without it, of CKKS what the bounds of its errors are drawn for.",
)
@machine_choices.readings
@click.option(
    "--report",
    "report_to",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the machine's report and timeline there.",
)
@click.option(
    "--rows", type=click.IntRange(1), metavar="COUNT", help="logistic-regression: the first COUNT held-out rows."
)
@click.option("--query", metavar="CODE", help="database-lookup: a country's code of two letters.")
@click.option(
    "--key-switch",
    "key_switch",
    metavar="NAME",
    help="CKKS, BGV: set (the parameter set's), auto (the compiler chooses), listing1, or d8 for eight digits; auto on a machine unless a set is named, else set.",
)
@click.option(
    "--security",
    type=float,
    metavar="BITS",
    help="Refuse a parameter set of fewer bits of security; 128 without it for one of yours, or of a public key.",
)
@click.option(
    "--flood",
    type=float,
    metavar="DEVIATION",
    help="CKKS: for outputs that others will see, add noise of this deviation to every slot; 0 adds none and warns.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Encrypt the inputs with a public key, as others do; errors are counted for that. With TFHE give it to --step execute too.",
)
@click.option(
    "--circuit-privacy",
    "circuit_privacy",
    type=float,
    metavar="BITS",
    help="TFHE: the server re-randomises and floods its outputs, so that each value hides with so many bits how it was computed; give it to every --step.",
)
@click.option("--cost", is_flag=True, help="Say what running takes, and do not run: parameters, keys, memory, errors.")
@click.option(
    "--measure",
    is_flag=True,
    help="CKKS, BGV: measure the error of every operation; what by its bounds is all error runs too.",
)
@memory_option.option
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def run(program: str, **given: Any) -> int:  # noqa: ANN401 - the options above, by the names of `RunOptions`
    """Run PROGRAM on encrypted data and compare with the clear result.

    PROGRAM is digits, life, adder, nn-20, -50 or -100, deepcnn-20, -50 or -100, vgg-9, xgboost, deepcnn-20-digits or xgboost-digits (trained models),
    pbs, pbs+ks, keyswitch (TFHE), logistic-regression,
    lola-mnist, lola-mnist-encrypted, lola-cifar, lola-cifar-reduced, helr, mlp, lola, lenet,
    resnet20, helr-1024, sorting, amortised-products, amortised-matrices (reduced twins of these five, unless --params names the paper's set),
    sorting-stages, resnet20-block (parts at the paper's size), ckks-bootstrapping (CKKS), database-lookup, matvec,
    bgv-bootstrapping, country-lookup (BGV), or your own: FILE.py:FUNCTION.
    """
    options = RunOptions(program=program, **given)
    return (run_applications.runner(options) or run_program.run)(options)
