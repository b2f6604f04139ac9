"""`polyfabric run deepcnn-20-digits` and `xgboost-digits`: held-out digits, classified by trained models under encryption."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ..apps.digits.data import ascii_art, split
from ..apps.trained_digits import CLASSIFIERS
from ..apps.trained_digits.classifier import Classification, classify
from ..errors import InputError
from ..execution import Keys, matching
from ..machines import Machine
from ..progress import bars
from ..reports.units import probability, scaled
from .console import out, print_json, security_warnings


def run(
    name: str,
    image: int | None,
    images: int | None,
    *,
    on: str,
    machine: Machine | None,
    parameters: str | None,
    folder: Path | None,
    threads: int | None,
    target: float | None,
    as_json: bool,
) -> int:
    """Classifies and shows; 0 if every result equals that of the model in the clear."""
    if image is not None and images is not None:
        raise InputError("--image names one image, --images a number of them; give one of the two")
    indices = list(range(images)) if images is not None else [image or 0]
    with security_warnings(), bars() as progress:
        kept = folder is not None and any((folder / file).exists() for file in ("client.key", "server.key"))
        keys = Keys.load(folder, progress) if folder is not None and kept else None
        if keys is not None:
            parameters = matching(keys, parameters).name
        done = classify(
            CLASSIFIERS[name](),
            indices,
            on=on,
            machine=machine,
            parameters=parameters,
            keys=keys,
            threads=threads,
            target=target,
            progress=progress,
        )
    if folder is not None and not kept:
        done.run.keys.save(folder)
    if as_json:
        print_json(done.to_dict())
    else:
        _show(out(), done)
    return 0 if done.correct else 1


def _show(console: Console, done: Classification) -> None:
    held_out = split()[1]
    for image in done.images:
        facts = [
            f"held-out image {image.index}",
            "",
            f"decrypted class   [bold]{image.output}[/]",
            f"clear model       {image.expected}",
            f"true label        {image.label}",
        ]
        console.print()
        for row, art in enumerate(ascii_art(held_out.images[image.index])):
            console.print(f"    {art}    {facts[row] if row < len(facts) else ''}")
    console.print()
    run, count = done.run, len(done.images)
    right = sum(image.output == image.label for image in done.images)
    console.print(f"class        {right} of {count} as labelled")
    console.print(f"model        {done.accuracy:.1%} of all {len(held_out)} held-out images right, in the clear")
    failure = probability(run.noise["log2_failure"])
    console.print(f"parameters   {run.parameters}; {run.lookups:,} look-ups an image; failure probability {failure}")
    console.print("this run     " + ", ".join(f"{step} {scaled(value, 's')}" for step, value in done.seconds.items()))
    if run.report is not None:
        console.print()
        run.report.print(console)
    verdict = (
        "[green]equal to the clear program[/]" if done.correct else "[bold red]wrong: differs from the clear model[/]"
    )
    console.print(f"result       {verdict}")
