"""`polyfabric run` of the built-in applications that come with their own data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rich.console import Console

from ..apps.database.lookup import look_up
from ..apps.digits.classify import Classification, Image, classify
from ..apps.digits.data import ascii_art, split
from ..apps.f1_programs import PROGRAMS as F1_PROGRAMS
from ..apps.f1_programs import ExampleProgram
from ..apps.f1_programs.execute import Answer, execute
from ..apps.logistic_regression.infer import Inference, infer
from ..apps.reduced import TWINS, WHOLE
from ..apps.trained_digits import CLASSIFIERS, resnet
from ..apps.trained_digits.classifier import classify as classify_by
from ..host.units import probability
from . import life_run, show_elements, show_slots
from .console import BAD, out, print_json, styled
from .run_options import RunOptions
from .show_trained import show_residual, show_trained


def runner(options: RunOptions) -> Callable[[RunOptions], int] | None:
    """The function that runs an application; `None` for programs that run like a user's own."""
    own = {"digits": digits, "logistic-regression": tumours, "database-lookup": capital}
    if options.cost and options.program == "digits":
        return None
    if options.program in own or options.cost:
        return own.get(options.program)
    if options.program == "life":
        return life_run.run
    if options.program in CLASSIFIERS and options.step is None:
        return trained
    if options.program in F1_PROGRAMS:
        return example
    # A named set applies to the whole program, not to its reduced twin.
    if options.parameters is not None:
        known = WHOLE.get(options.program)
        as_example = options.machine is None and options.extras.keys() <= {"measure", "key_switch"}
        return whole if known is not None and options.parameters == known.parameters and as_example else None
    if options.step is not None or options.given:
        return None
    if options.program in WHOLE and options.program not in TWINS:
        return whole
    return residual if options.program == "resnet20" else example if options.program in TWINS else None


def digits(options: RunOptions) -> int:
    """Classifies held-out digits with the built-in network; correct if every activation equals the clear one."""
    run = partial(classify, options.indices, widths=options.widths)
    return _whole(options, run, _show_digits, "image", "images", "folder", "widths")


def trained(options: RunOptions) -> int:
    """Classifies held-out digits with a trained model; correct if every result equals the clear model's."""
    classifier = CLASSIFIERS[options.program]()
    return _whole(options, partial(classify_by, classifier, options.indices), show_trained, "image", "images", "folder")


def example(options: RunOptions) -> int:
    """Runs a program of a paper, or its reduced twin, on a random example; correct if the answer equals that of an independent clear computation."""
    return _example(options, {**F1_PROGRAMS, **TWINS}[options.program])


def whole(options: RunOptions) -> int:
    """Runs one of Osiris' programs, or a part of it, with the paper's set."""
    return _example(options, WHOLE[options.program])


def _example(options: RunOptions, program: ExampleProgram) -> int:
    run = partial(execute, program, key_switch=options.key_switch, measure=options.measure)
    return _whole(options, run, partial(_show_on_slots, operations=options.measure), "measure", "key_switch")


def residual(options: RunOptions) -> int:
    """Classifies held-out digits with ResNet-20's reduced twin; correct if every score equals the clear network's."""
    run = partial(resnet.classify, options.indices, key_switch=options.key_switch, measure=options.measure)
    return _whole(options, run, show_residual, "image", "images", "measure", "key_switch")


def tumours(options: RunOptions) -> int:
    """Classifies held-out tumours; correct if every class equals the clear model's."""
    return _whole(options, partial(infer, options.rows, measure=options.measure), _show_on_slots, "rows", "measure")


def capital(options: RunOptions) -> int:
    """Looks a capital up; correct if it equals the table's."""
    query = "CH" if options.query is None else options.query
    return _whole(options, partial(look_up, query, measure=options.measure), _show_on_slots, "query", "measure")


def _whole(options: RunOptions, run: Callable[..., Any], show: Callable[[Console, Any], None], *takes: str) -> int:
    """Runs an application with the options `takes` and the common ones; returns 0 if it is correct. Only TFHE's applications use key files."""
    options.take_only(*takes)
    options.expect_places()
    with options.kept_keys("tfhe") as (keys, progress):
        done = run(
            on=options.on,
            readings=options.readings,
            parameters=options.parameters,
            threads=options.threads,
            max_failure=options.max_failure,
            progress=progress,
            **({} if keys is None else {"keys": keys}),
        )
    options.keep(keys, done.run.keys, done.run.simulation)
    if options.as_json:
        print_json(done.to_dict())
    else:
        show(out(), done)
    return 0 if done.correct else 1


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
        "client sees  the hidden activations and the scores, not only the class; many images reveal the first layer too"
    )
    held_out = split()[1]
    right = sum(image.output == image.label for image in done.images)
    console.print(
        f"class        {right} of {len(done.images)} match the label (held-out images 0 to {len(held_out) - 1})"
    )
    show_elements.show_common(console, done.run)
    if not done.correct:
        console.print("wrong: the encrypted run differs from the clear network", style=BAD)


def _show_image(console: Console, image: Image) -> None:
    import numpy as np

    top = sorted(enumerate(image.scores), key=lambda item: -item[1])[:3]
    facts = [
        f"held-out image {image.index}",
        "",
        styled("decrypted class   ", (str(image.output), "bold")),
        f"clear network     {image.expected}",
        f"true label        {image.label}",
        "",
        "scores            " + ", ".join(f"{digit}: {score:+d}" for digit, score in top) + ", ..",
    ]
    art = ascii_art(np.asarray(image.pixels))
    console.print()
    for row in range(8):
        console.print(styled(f"    {art[row]}    ", facts[row] if row < len(facts) else ""))
    console.print()


def _show_many(console: Console, images: list[Image]) -> None:
    console.print()
    for start in range(0, len(images), 16):
        row = images[start : start + 16]
        console.print("image    " + " ".join(f"{image.index:>3}" for image in row))
        console.print("class    " + " ".join(f"{image.output:>3}" for image in row))
        labels = [(f" {image.label:>3}", "" if image.output == image.label else "red") for image in row]
        console.print(styled("label   ", *labels))
        console.print()


def _show_on_slots(console: Console, done: Any, *, operations: bool = True) -> None:  # noqa: ANN401 - an application's result
    console.print()
    if isinstance(done, Inference):
        for start in range(0, min(len(done.labels), 8), 4):
            shown = range(start, min(start + 4, len(done.labels)))
            words = ", ".join(f"{i}: {done.probabilities[i]:.4f}" for i in shown)
            console.print(f"held-out rows     {words}{', ..' if len(done.labels) > 8 and start == 4 else ''}")
        console.print(f"classes           {done.same} of {len(done.labels)} equal to the clear model's")
        console.print(
            f"right             {done.right} of {len(done.labels)} match the label ({done.right / len(done.labels):.1%})"
        )
        console.print(f"probabilities     within {done.largest_difference:.1e} of the clear model's sigmoid")
    elif isinstance(done, Answer):
        shown = "  ".join(f"{value:.4g}" for value in done.found[: show_slots.SHOWN])
        clear = "  ".join(f"{value:.4g}" for value in done.expected[: show_slots.SHOWN])
        more = f"  .. {len(done.found):,} in all" if len(done.found) > show_slots.SHOWN else ""
        if done.program.of is not None:
            console.print(f"reduced           {done.program.of}; `simulate` times the whole program")
        console.print(f"decrypted         {shown}{more}")
        console.print(f"in the clear      {clear}{more}")
        if done.tolerance:
            console.print(f"largest error     {done.error:.1e} of the largest number (tolerated {done.tolerance:.0e})")
        if done.program.classifies:
            console.print(f"largest score     {done.found.index(max(done.found))}")
    else:
        console.print(f"query             {done.query!r} among {done.entries} encrypted entries")
        console.print(styled("decrypted         ", (done.found or "(no such entry)", "bold")))
        console.print(f"in the clear      {done.expected or '(no such entry)'}")
    console.print()
    show_slots.show_common(console, done.run, operations=operations, tolerated=isinstance(done, Answer))
    if not done.correct:
        console.print("wrong: the encrypted run differs from the clear one", style=BAD)
