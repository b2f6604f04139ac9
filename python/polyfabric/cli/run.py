"""`polyfabric run`: encrypt, execute, decrypt, compare."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from .. import programs, slot_execution, stages
from ..apps.digits.classify import Classification, Image, classify
from ..apps.digits.data import ascii_art, split
from ..apps.trained_digits import CLASSIFIERS
from ..errors import InputError
from ..execution import MOST_THREADS, Keys, Plan, RunResult, estimate, matching, place, run_plan
from ..machines import Machine
from ..progress import ProgressHook, bars
from ..reports import Report, expect_folder
from ..reports.rows import circuit_privacy
from ..reports.units import bytes_text, probability, scaled
from . import inputs, life_run, slot_run, trained_run
from .console import grid, out, print_json, security_warnings, warning_line


@click.command()
@click.argument("program")
@click.option(
    "--on",
    default="cpu",
    show_default=True,
    metavar="PLACE",
    help="cpu, interpreter, or a machine (polyfabric machines lists them), by name or as a file.toml of yours.",
)
@click.option(
    "--params",
    "parameters",
    metavar="SET",
    help="Parameter set, of CKKS and BGV also a file.toml of yours; without it, one is chosen.",
)
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Ciphertexts of a built-in program.")
@click.option(
    "--image", type=click.IntRange(0), metavar="INDEX", help="digits and trained models: this held-out image."
)
@click.option(
    "--images",
    type=click.IntRange(1),
    metavar="COUNT",
    help="digits and trained models: the first COUNT held-out images.",
)
@click.option(
    "--board",
    metavar="BOARD",
    help="life: glider, blinker, block, toad, beacon, r-pentomino, random, or FILE.txt of # and .",
)
@click.option("--size", type=int, metavar="N", help="life: rows and columns around a pattern; 8 without it.")
@click.option("--generations", type=click.IntRange(1), metavar="COUNT", help="life: how many; 4 without it.")
@click.option(
    "--input", "given", multiple=True, metavar="NAME=VALUES", help="Input of your program, or a JSON file with all."
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
    help="TFHE: secret bits an iteration of blind rotation takes; more are faster, with a larger key and more noise.",
)
@click.option(
    "--max-failure",
    "target",
    type=float,
    metavar="LOG2",
    help="Largest failure probability that is accepted, as a power of 2; -128 without it.",
)
@click.option(
    "--reading", "readings", multiple=True, metavar="FACT=OPTION", help="How to read what the paper leaves open."
)
@click.option(
    "--report",
    "folder_out",
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
    help="CKKS, BGV: refuse a parameter set of fewer bits of security; 128 without it for one of yours.",
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
    help="Encrypt the inputs with a public key, as others do; errors are counted for that. With TFHE give it to every --step.",
)
@click.option(
    "--circuit-privacy",
    "circuit_privacy",
    type=float,
    metavar="BITS",
    help="TFHE: the server re-randomises and floods its outputs, so that each value hides with so many bits how it was computed; give it to every --step.",
)
@click.option("--cost", is_flag=True, help="Say what running takes, and do not run: parameters, keys, memory, errors.")
@click.option("--measure", is_flag=True, help="CKKS, BGV: measure the error of every operation.")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def run(
    program: str,
    *,
    on: str,
    parameters: str | None,
    batch: int | None,
    image: int | None,
    images: int | None,
    board: str | None,
    size: int | None,
    generations: int | None,
    given: tuple[str, ...],
    folder: Path | None,
    step: str | None,
    threads: int | None,
    unroll: str,
    target: float | None,
    readings: tuple[str, ...],
    folder_out: Path | None,
    rows: int | None,
    query: str | None,
    measure: bool,
    security: float | None,
    key_switch: str | None,
    flood: float | None,
    public: bool,
    circuit_privacy: float | None,
    cost: bool,
    as_json: bool,
) -> int:
    """Run PROGRAM on encrypted data and compare with the clear result.

    PROGRAM is digits, life, adder, deepcnn-20, -50 or -100, vgg-9, xgboost, deepcnn-20-digits or xgboost-digits (trained models),
    pbs, pbs+ks, keyswitch (TFHE), logistic-regression,
    lola-mnist, lola-mnist-encrypted, lola-cifar, lola-cifar-reduced, helr, mlp, lola, lenet,
    resnet20, ckks-bootstrapping (CKKS), database-lookup, matvec,
    bgv-bootstrapping, country-lookup (BGV), or your own: FILE.py:FUNCTION.
    """
    if program != "life" and any(value is not None for value in (board, size, generations)):
        raise InputError(f"--board, --size and --generations are of life, not {program}; leave them out")
    own = programs.on_slots(program, parameters)
    if folder is not None and not cost and step in (None, "keys", "encrypt"):
        # Where keys will be written is told before they are made.
        expect_folder(folder)
    if own is not None or program in programs.ON_SLOTS:
        options = {
            "--batch": batch,
            "--image": image,
            "--images": images,
            "--unroll": None if unroll == "1" else unroll,
            "--max-failure": target,
            "--reading": readings,
            "--circuit-privacy": circuit_privacy,
        }
        slot_run.refuse_options(program, options)
        if key_switch is not None and own is None:
            raise InputError(f"--key-switch is for your own programs and those by name, not {program}; leave it out")
        chosen = programs.slot_parameters(program, parameters)
        if cost:
            if own is None:
                raise InputError(f"--cost is for your own programs and those of papers, not {program}; leave it out")
            with security_warnings():
                return _cost(own.cost(chosen, public=public), as_json=as_json)
        # Keys are of one set, key switch included.
        given_keys = folder is not None and slot_run.has_keys(folder)
        switch = key_switch or ("set" if given_keys else slot_execution.switch_for(parameters, place(on), None))
        asked = slot_run.Asked(
            program=own,
            given=given,
            rows=rows,
            query=query,
            on=on,
            parameters=chosen,
            key_switch=switch,
            threads=threads,
            measure=measure,
            report=folder_out,
            keys=folder,
            step=step,
            security=security,
            flood=flood,
            public=public,
        )
        return slot_run.run(program, asked, as_json=as_json)
    if any(value is not None for value in (rows, query, key_switch, security, flood)) or measure:
        raise InputError(
            f"--rows, --query, --measure, --security, --flood and --key-switch are of programs of CKKS and BGV, not {program}"
        )
    if public and program in ("digits", "life", *CLASSIFIERS):
        raise InputError(f"--public is of your own program or one by name, not {program}; leave it out")
    asked_elements = Asked(
        program=program,
        on=on,
        machine=place(on, readings),
        parameters=parameters,
        batch=batch,
        given=given,
        folder=folder,
        threads=threads,
        target=target,
        unroll=int(unroll),
        circuit_privacy=circuit_privacy,
        public=public,
    )
    if cost:
        if program == "digits":
            raise InputError("--cost is of your own program or a built-in one; digits runs whole")
        with security_warnings():
            return _cost(Report("cost", estimate(asked_elements.plan())), as_json=as_json)
    if program == "life":
        if step is not None or given or batch is not None or image is not None or images is not None:
            raise InputError(
                "life plays a --board whole; --step, --input, --batch, --image and --images are not for it"
            )
        return life_run.run(
            board,
            size,
            generations,
            on=on,
            machine=asked_elements.machine,
            parameters=parameters,
            folder=folder,
            threads=threads,
            target=target,
            unroll=int(unroll),
            report_to=folder_out,
            as_json=as_json,
        )
    if unroll != "1" and (program == "digits" or step is not None or folder is not None):
        raise InputError("--unroll is not taken with digits, --step or --keys; leave it out")
    if circuit_privacy is not None and program == "digits":
        raise InputError(
            "--circuit-privacy is of your own program or one by name; the digits' client gets the hidden activations"
        )
    if program in CLASSIFIERS and step is None:
        if given or batch is not None or unroll != "1" or circuit_privacy is not None or folder_out is not None:
            raise InputError(
                f"{program} classifies held-out images: --image or --images; --input, --batch, --unroll, --circuit-privacy and "
                "--report are not for it"
            )
        return trained_run.run(
            program,
            image,
            images,
            on=on,
            machine=asked_elements.machine,
            parameters=parameters,
            folder=folder,
            threads=threads,
            target=target,
            as_json=as_json,
        )
    if program != "digits" and (image is not None or images is not None):
        raise InputError(f"--image and --images choose digits, but the program is {program}; leave them out")
    with security_warnings(), bars() as progress:
        if step is not None:
            return _step(step, asked_elements, progress, as_json)
        keys, made = _keys(folder, progress)
        if program == "digits":
            done = _digits(image, images, asked_elements, keys, progress)
            correct, report, data = done.correct, done.run.report, done
            result = done.run
        else:
            planned = asked_elements.plan(None if keys is None else matching(keys, parameters).name)
            values = inputs.inputs(planned.program, given)
            if not values and program in programs.known():
                values = inputs.drawn(planned.program)
            result = run_plan(
                planned, values, on=on, machine=asked_elements.machine, keys=keys, threads=threads, progress=progress
            )
            correct, report, data = result.correct, result.report, result
    if folder is not None and made:
        result.keys.save(folder)
    if report is not None and folder_out is not None:
        report.save(folder_out)
    elif folder_out is not None:
        warning_line("--report writes a machine's report; this run was not on a machine")
    if as_json:
        print_json(data.to_dict())
    elif isinstance(data, Classification):
        _show_digits(out(), data)
    else:
        _show(out(), result)
    return 0 if correct else 1


def _cost(report: Report, *, as_json: bool) -> int:
    if as_json:
        print_json(report.to_dict())
    else:
        report.print(out())
    return 0


def _keys(folder: Path | None, progress: ProgressHook) -> tuple[Keys | None, bool]:
    """The keys in `folder`, or none if it has none yet; and whether new ones are to be kept there."""
    if folder is None:
        return None, False
    if any((folder / name).exists() for name in ("client.key", "server.key")):
        return Keys.load(folder, progress), False
    return None, True


@dataclass(frozen=True)
class Asked:
    """What the command line asks of a program of TFHE."""

    program: str
    on: str
    machine: Machine | None
    parameters: str | None
    batch: int | None
    given: tuple[str, ...]
    folder: Path | None
    threads: int | None
    target: float | None
    unroll: int
    circuit_privacy: float | None
    public: bool

    def plan(self, of_keys: str | None = None) -> Plan:
        """The plan for the set that is named, or that keys are of, or for one to be chosen."""
        return programs.planned(
            self.program,
            self.parameters or of_keys,
            self.batch,
            self.machine,
            self.target,
            self.unroll,
            self.circuit_privacy,
            self.public,
        )


def _step(step: str, asked: Asked, progress: ProgressHook, as_json: bool) -> int:
    if asked.folder is None:
        raise InputError("--step works through files; name their folder with --keys DIR")
    if asked.program == "digits":
        raise InputError("--step runs your own program or a built-in one; digits runs whole")
    folder, given = asked.folder, asked.given
    if step == "keys":
        data = stages.make_keys(asked.plan, folder, progress)
    elif step == "encrypt":
        data = stages.encrypt(
            asked.plan, folder, lambda p: inputs.inputs(p, given) or inputs.drawn(p), progress, asked.parameters
        )
    elif step == "execute":
        data = stages.execute(
            asked.plan, folder, on=asked.on, machine=asked.machine, threads=asked.threads, progress=progress
        )
    else:
        data = stages.decrypt(asked.plan, folder)
    if as_json:
        print_json(data)
    else:
        for key, value in data.items():
            out().print(f"{key:<12} {value}")
    return 0 if data.get("correct", True) else 1


def _digits(
    image: int | None, images: int | None, asked: Asked, keys: Keys | None, progress: ProgressHook
) -> Classification:
    if image is not None and images is not None:
        raise InputError("--image names one image, --images a number of them; give one of the two")
    indices = list(range(images)) if images is not None else [image or 0]
    if keys is not None:
        matching(keys, asked.parameters)
    return classify(
        indices,
        on=asked.on,
        machine=asked.machine,
        parameters=asked.parameters,
        keys=keys,
        threads=asked.threads,
        target=asked.target,
        progress=progress,
    )


def _show_digits(console: Console, done: Classification) -> None:
    if len(done.images) <= 4:
        for image in done.images:
            _show_image(console, image)
    else:
        _show_many(console, done.images)
    equal = sum(image.activations_equal for image in done.images)
    total = sum(len(image.activations) for image in done.images)
    console.print(f"activations  {equal} of {total} equal those of the clear network")
    if done.encrypted_scores:
        same = sum(image.scores_equal for image in done.images)
        console.print(f"scores       added under encryption; those of {same} of {len(done.images)} images equal")
    else:
        fails = "" if done.why_not is None else f" would fail with probability {probability(done.why_not.log2_failure)}"
        console.print(f"scores       added by the client: sums under {done.run.on}'s arithmetic{fails}")
    console.print(
        "client sees  the hidden activations and the scores, not the class alone: with many images, the first layer too"
    )
    held_out = split()[1]
    right = sum(image.output == image.label for image in done.images)
    console.print(f"class        {right} of {len(done.images)} as labelled (held-out images 0 to {len(held_out) - 1})")
    _show_common(console, done.run)
    if not done.correct:
        console.print("[bold red]wrong: the encrypted run differs from the clear network[/]")


def _show_image(console: Console, image: Image) -> None:
    import numpy as np

    top = sorted(enumerate(image.scores), key=lambda item: -item[1])[:3]
    facts = [
        f"held-out image {image.index}",
        "",
        f"decrypted class   [bold]{image.output}[/]",
        f"clear network     {image.expected}",
        f"true label        {image.label}",
        "",
        "scores            " + ", ".join(f"{digit}: {score:+d}" for digit, score in top) + ", ..",
    ]
    art = ascii_art(np.asarray(image.pixels))
    console.print()
    for row in range(8):
        console.print(f"    {art[row]}    {facts[row] if row < len(facts) else ''}")
    console.print()


def _show_many(console: Console, images: list[Image]) -> None:
    console.print()
    for start in range(0, len(images), 16):
        row = images[start : start + 16]
        console.print("image    " + " ".join(f"{image.index:>3}" for image in row))
        console.print("class    " + " ".join(f"{image.output:>3}" for image in row))
        console.print(
            "label    "
            + " ".join(
                f"{image.label:>3}" if image.output == image.label else f"[red]{image.label:>3}[/]" for image in row
            )
        )
        console.print()


def _show(console: Console, result: RunResult) -> None:
    console.print(f"[bold]{result.program}[/] on {result.on}")
    table = grid("output", "decrypted", "expected", left=3)
    for name, values in result.outputs.items():
        table.add_row(name, _short(values), _short(result.expected[name]))
    console.print(table)
    verdict = (
        "[green]equal to the clear program[/]" if result.correct else "[bold red]differs from the clear program[/]"
    )
    console.print(f"result       {verdict}")
    _show_common(console, result)


def _short(values: Any) -> str:  # noqa: ANN401 - an integer or a list
    if not isinstance(values, list) or len(values) <= 24:
        return str(values)
    return f"[{', '.join(map(str, values[:24]))}, .. {len(values)} in all]".replace("[", "\\[")


def _show_common(console: Console, result: RunResult) -> None:
    failure = result.noise["log2_failure"]
    console.print(
        f"parameters   {result.parameters}; {result.lookups} look-ups; failure probability {probability(failure)}"
    )
    if "circuit_privacy_bits" in result.noise:
        console.print(f"privacy      {circuit_privacy(result.noise)}")
    sizes = result.sizes
    console.print(
        f"sizes        server key {bytes_text(sizes['server_key'])} ({bytes_text(sizes['server_key_compressed'])} to send), "
        f"inputs {bytes_text(sizes['inputs'])}, outputs {bytes_text(sizes['outputs'])}"
    )
    times = ", ".join(f"{name} {scaled(value, 's')}" for name, value in result.seconds.items())
    console.print(f"this run     {times}")
    report: Report | None = result.report
    if report is not None:
        console.print()
        report.print(console)
