"""`polyfabric conform`: one program, one key and one input at every place, and receipts of that."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..apps import programs
from ..errors import InputError
from ..host.files import expect_file
from ..host.progress import bars, working
from ..host.units import scaled
from ..language.types import MOST_ELEMENTS
from ..reports.tables import print_table
from ..run.conformance import Check, Conformance
from ..run.execution import HERE
from ..run.file_steps import Steps
from ..run.keys import CLIENT, PUBLIC, SERVER, present
from ..run.receipts import Receipt
from . import inputs, machine_choices, memory_option, named
from .console import BAD, grid, out, print_json, security_warnings
from .grouped import Grouped
from .run_options import RunOptions

HEADINGS = {
    "What": ("given", "batch", "on", "readings", "skip"),
    "Plan": ("parameters", "key_switch", "widths", "max_failure", "public", "memory"),
    "Files": ("folder", "receipt_to", "checked"),
    "Output": ("as_json",),
}

EXAMPLES = (
    "polyfabric conform examples/integers.py:auction",
    "polyfabric conform examples/integers.py:auction --keys run --receipt receipt.json",
    "polyfabric conform examples/integers.py:auction --keys run --check receipt.json",
)


@click.command(cls=Grouped, headings=HEADINGS, examples=EXAMPLES)
@click.argument("program", type=named.PROGRAM)
@click.option(
    "--on",
    metavar="MACHINE",
    help="Plan for this machine, and also execute its schedule; a name or a file.toml of yours.",
)
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(HERE),
    help="Leave this place out. The interpreter takes minutes for programs of seconds.",
)
@click.option("--params", "parameters", metavar="SET", help="Parameter set; default: chosen automatically.")
@click.option(
    "--batch",
    type=click.IntRange(1, MOST_ELEMENTS),
    metavar="N",
    help="Inputs of your own program on integers, at once with CKKS.",
)
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="NAME=VALUES",
    help="One input (repeat the option for others), or a JSON file with all inputs; default: those in DIR, or random ones.",
)
@click.option(
    "--keys",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder of keys, inputs and outputs, as of `run --step`; without client.key in it, values are not compared.",
)
@click.option(
    "--receipt",
    "receipt_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the hashes of the computation in DIR to FILE.",
)
@click.option(
    "--check",
    "checked",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Repeat the computation of this receipt with server.key and the inputs in DIR, and compare all hashes.",
)
@click.option(
    "--key-switch",
    "key_switch",
    metavar="NAME",
    help="CKKS, BGV: as of `run`.",
)
@click.option(
    "--max-failure", "max_failure", type=float, metavar="LOG2", help="log2 of the largest accepted failure probability."
)
@click.option("--public", is_flag=True, help="The inputs are encrypted with a public key.")
@machine_choices.readings
@machine_choices.widths
@memory_option.option
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def conform(
    *,
    program: str,
    on: str | None,
    receipt_to: Path | None,
    checked: Path | None,
    skip: tuple[str, ...],
    **given: Any,  # noqa: ANN401 - the options above, by the names of `RunOptions`
) -> int:
    """Execute PROGRAM with one key and one input at every place, and compare.

    Places are this processor with each of its instruction sets, the interpreter, a GPU if there is one, and the machine --on. Ciphertexts must be
    the same bit for bit where the arithmetic is exact or a machine's, and values everywhere. The status is 1 if they differ.
    """
    if on in HERE:
        raise InputError(f"--on {on}: this computer is always compared; name a machine, or leave it out")
    options = RunOptions(program=program, on=on or HERE[0], **given)
    for flag, path in (("--receipt", receipt_to), ("--check", checked)):
        if path is not None and options.folder is None:
            raise InputError(f"{flag} is about files: name the folder of server.key and the inputs with --keys DIR")
    if checked is not None and (options.given or receipt_to is not None):
        raise InputError("--check repeats a computation; leave out --input and --receipt")
    if receipt_to is not None:
        expect_file(receipt_to)
    receipt = None if checked is None else Receipt.load(checked)
    with working(f"loading {program}"):
        scheme = programs.scheme_of(program, options.options, options.batch)
    plan = partial(programs.planned, program, batch=options.batch)
    with tempfile.TemporaryDirectory(prefix="polyfabric-") as temporary, security_warnings(), bars() as progress:
        steps = Steps(options.folder or Path(temporary), scheme, options.options, plan, progress, options.on)
        if receipt is not None:
            check = steps.check(receipt, skip=skip)
            _show_check(check, as_json=options.as_json)
            return 0 if check.conforms else 1
        if _must_encrypt(steps, options):
            steps.encrypt_or_begin(lambda own: inputs.of(own, options.given))
        found = steps.conform(skip=skip)
    if receipt_to is not None:
        found.receipt.save(receipt_to)
    if options.as_json:
        print_json(found.to_dict())
    else:
        _show(found)
    return 0 if found.conforms else 1


def _must_encrypt(steps: Steps, options: RunOptions) -> bool:
    """Whether inputs are to be encrypted: given ones, or random ones if the folder has none."""
    folder = steps.folder
    return bool(options.given) or not any(folder.glob("*.in.ct")) or not present(folder, CLIENT, SERVER, PUBLIC)


def _show(found: Conformance) -> None:
    receipt = found.receipt
    out().print(f"program      {receipt.program}, {receipt.scheme.upper()} with {receipt.parameters}")
    table = grid("place", "instruction set", "arithmetic", "ciphertexts", "values", "error / bound", "time", left=5)
    for one in found.computed:
        same = found.same_bits(one)
        values = "wrong" if one.problem else "not compared" if one.decrypted is None else _values(one.decrypted.correct)
        table.add_row(
            one.place.on,
            one.place.instruction_set,
            one.place.arithmetic,
            "reference" if same is None else "same bits" if same else "other bits",
            values,
            "" if one.error_over_bound is None else f"{one.error_over_bound:.1e}",
            scaled(one.place.seconds, "s"),
        )
    print_table(out(), table)
    for place, reason in found.left_out.items():
        out().print(f"left out     {place}: {reason}", soft_wrap=True)
    for difference in found.differences:
        out().print(f"differs      {difference}", style=BAD, soft_wrap=True)
    if found.conforms:
        out().print("conforms     all places agree")


def _values(correct: bool | None) -> str:
    return "decrypted" if correct is None else "correct" if correct else "wrong"


def _show_check(check: Check, *, as_json: bool) -> None:
    if as_json:
        print_json(check.to_dict())
        return
    if check.conformance is not None:
        _show(check.conformance)
    table = grid("compared with the receipt", "", left=2)
    for own in (*check.compared, *check.repeated):
        verdict = "not compared" if own.same is None else "agrees" if own.same else "differs"
        table.add_row(own.what, verdict, style=BAD if own.same is False else None)
    print_table(out(), table)
    made = ", ".join(f"{name} {value}" for name, value in check.receipt.made_with.items())
    out().print(f"made with    {made}", soft_wrap=True)
    if check.conformance is None:
        out().print("differs      the computation would be another one, so it was not repeated", style=BAD)
