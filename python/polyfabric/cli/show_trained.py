"""What `polyfabric run deepcnn-20-digits` and `xgboost-digits` print: held-out digits, classified by trained models under encryption."""

from __future__ import annotations

from rich.console import Console

from ..apps.digits.data import ascii_art, split
from ..apps.trained_digits.classifier import Classification
from ..reports.units import probability, scaled


def show_trained(console: Console, done: Classification) -> None:
    """Images, classes and what the runs took."""
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
    failure = probability(run.log2_failure)
    console.print(f"parameters   {run.parameters}; {run.lookups:,} look-ups an image; failure probability {failure}")
    console.print("this run     " + ", ".join(f"{step} {scaled(value, 's')}" for step, value in done.seconds.items()))
    if run.simulation is not None:
        console.print()
        run.simulation.print(console)
    verdict = (
        "[green]equal to the clear program[/]" if done.correct else "[bold red]wrong: differs from the clear model[/]"
    )
    console.print(f"result       {verdict}")
