"""The output of `polyfabric run` for the trained models `deepcnn-20-digits`, `xgboost-digits` and `resnet20` on held-out digits."""

from __future__ import annotations

from rich.console import Console

from ..apps.digits.data import ascii_art, split
from ..apps.trained_digits import resnet
from ..apps.trained_digits.classifier import Classification
from ..host.units import probability, scaled
from . import show_slots
from .console import BAD, styled


def show_trained(console: Console, done: Classification) -> None:
    """Prints images, classes, and the cost of the runs."""
    held_out = split()[1]
    for image in done.images:
        _show_image(console, image.index, image.output, image.expected, image.label)
    console.print()
    run, count = done.run, len(done.images)
    right = sum(image.output == image.label for image in done.images)
    console.print(f"class        {right} of {count} match the label")
    console.print(f"model        {done.accuracy:.1%} of all {len(held_out)} held-out images right, in the clear")
    failure = probability(run.log2_failure)
    console.print(f"parameters   {run.parameters}; {run.lookups:,} lookups an image; failure probability {failure}")
    console.print("this run     " + ", ".join(f"{step} {scaled(value, 's')}" for step, value in done.seconds.items()))
    if run.simulation is not None:
        console.print()
        run.simulation.print(console)
    verdict = ("equal to the clear program", "green") if done.correct else ("wrong: differs from the clear model", BAD)
    console.print(styled("result       ", verdict))


def show_residual(console: Console, done: resnet.Classification) -> None:
    """Prints digits, classes and scores of ResNet-20's twin, and the cost of the last run."""
    for image in done.images:
        _show_image(console, image.index, image.output, image.clear, image.label)
    console.print()
    right, count = sum(image.output == image.label for image in done.images), len(done.images)
    shape = resnet.SHAPE
    console.print(
        f"reduced           {len(shape.channels)} stages with one block each, {shape.side} x {shape.side} pixels, {shape.channels[0]} and {shape.channels[1]} channels; "
        "`simulate` times the whole program"
    )
    console.print(f"class             {right} of {count} match the label")
    console.print(f"model             {done.accuracy:.1%} of all {len(split()[1])} held-out images right, in the clear")
    error = max(image.error for image in done.images)
    console.print(
        f"scores            within {error:.1e} of the network in the clear (tolerated {resnet.PRECISION:.0e})"
    )
    console.print()
    show_slots.show_common(console, done.run, tolerated=True)
    if not done.correct:
        console.print("wrong: the encrypted run differs from the clear network", style=BAD)


def _show_image(console: Console, index: int, output: int, clear: int, label: int) -> None:
    """Prints a digit next to its decrypted class, clear class and label."""
    facts = [
        f"held-out image {index}",
        "",
        styled("decrypted class   ", (str(output), "bold")),
        f"clear model       {clear}",
        f"true label        {label}",
    ]
    console.print()
    for row, art in enumerate(ascii_art(split()[1].images[index])):
        console.print(styled(f"    {art}    ", facts[row] if row < len(facts) else ""))
