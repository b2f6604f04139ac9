"""Encrypted classification of held-out digits, compared with the network in the clear, activation by activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import _native
from ...errors import InputError, NoiseError
from ...host.progress import ProgressHook
from ...run.execution import make_plan, place, run_plan
from ...run.keys import Keys, matching
from ...schemes.options import OWN, PlanOptions
from ...schemes.tfhe import ElementResult, TfhePlan
from . import digits
from .data import split
from .network import shipped


@dataclass(frozen=True)
class Image:
    """One image and its result."""

    index: int
    """Index among the held-out images."""
    label: int
    pixels: list[list[int]]
    output: int
    """The class from the decrypted run."""
    expected: int
    """The class by the network in the clear."""
    scores: list[int]
    activations: list[int]
    activations_equal: int
    scores_equal: bool

    @property
    def correct(self) -> bool:
        """Whether the encrypted run equals the clear network, in every activation and score."""
        return self.activations_equal == len(self.activations) and self.scores_equal


@dataclass(frozen=True)
class Classification:
    """The images, the run, and the place where the scores were added."""

    images: list[Image]
    run: ElementResult
    encrypted_scores: bool
    why_not: Refusal | None = field(default=None)
    """Why the client added the scores, if so."""

    @property
    def correct(self) -> bool:
        """Whether the encrypted run equals the clear network on every image."""
        return all(image.correct for image in self.images)

    def to_dict(self) -> dict[str, Any]:
        """The result as data."""
        data = self.run.to_dict()
        data.update(
            correct=self.correct,
            output=[image.output for image in self.images],
            expected=[image.expected for image in self.images],
            labels=[image.label for image in self.images],
            right=sum(image.output == image.label for image in self.images),
            encrypted_scores=self.encrypted_scores,
            scores_added_by="the server, under encryption" if self.encrypted_scores else "the client",
            reason=None if self.why_not is None else self.why_not.reason,
            scores_log2_failure=None if self.why_not is None else self.why_not.log2_failure,
            images=[
                {
                    "index": image.index,
                    "label": image.label,
                    "output": image.output,
                    "expected": image.expected,
                    "scores": image.scores,
                    "activations_equal": image.activations_equal,
                    "activations": len(image.activations),
                }
                for image in self.images
            ],
        )
        return data


@dataclass(frozen=True)
class Refusal:
    """Why the server cannot add the scores under encryption."""

    reason: str
    log2_failure: float
    """log2 of the failure probability of encrypted scores."""


def prepare(images: int, options: PlanOptions) -> tuple[TfhePlan, Refusal | None]:
    """The plan, and the reason if the client adds the scores: the noise of adding them under encryption."""
    whole = digits(images=images)
    try:
        return make_plan(whole, options), None
    except NoiseError as error:
        reason = str(error)
    planned = make_plan(digits(images=images, encrypted_scores=False), options)
    options = replace(options, parameters=planned.parameters)
    try:
        # The set carries the activations, so the scores alone cause the refusal.
        TfhePlan.make(whole, options, key_switch=planned.key_switch)
    except NoiseError as error:
        reason = str(error)
    anyway = TfhePlan.make(whole, replace(options, max_failure=0.0), key_switch=planned.key_switch)
    return planned, Refusal(reason, anyway.log2_failure)


def classify(
    indices: Sequence[int],
    *,
    on: str = "cpu",
    readings: Sequence[str] = (),
    parameters: str | _native.TfheParameters | None = None,
    keys: Keys | None = None,
    threads: int | None = None,
    max_failure: float | None = None,
    widths: str = OWN,
    progress: ProgressHook | None = None,
) -> Classification:
    """Encrypts, executes and decrypts the held-out images `indices`, in one batch."""
    network, (_, held_out) = shipped(), split()
    for index in indices:
        if not 0 <= index < len(held_out):
            raise InputError(f"there is no held-out image {index}; they are numbered 0 to {len(held_out) - 1}")
    if len(indices) == 0:
        raise InputError("no image to classify; give at least one index")
    if keys is not None:
        parameters = matching(keys, parameters)
    options = PlanOptions(parameters=parameters, machine=place(on, readings), max_failure=max_failure, widths=widths)
    planned, why_not = prepare(len(indices), options)
    chosen = np.asarray(indices)
    signs = network.encode(held_out.images[chosen])
    run = run_plan(planned, {"pixels": signs.reshape(-1)}, on=on, keys=keys, threads=threads, progress=progress)
    activations = np.asarray(run.outputs["hidden"]).reshape(len(indices), network.hidden)
    clear = network.activations(signs)
    clear_scores = network.scores(clear)
    encrypted = "scores" in run.outputs
    scores = np.asarray(run.outputs["scores"]).reshape(len(indices), 10) if encrypted else network.scores(activations)
    images = [
        Image(
            index=int(index),
            label=int(held_out.labels[index]),
            pixels=held_out.images[index].tolist(),
            output=int(scores[i].argmax()),
            expected=int(clear_scores[i].argmax()),
            scores=scores[i].tolist(),
            activations=activations[i].tolist(),
            activations_equal=int((activations[i] == clear[i]).sum()),
            scores_equal=bool((scores[i] == clear_scores[i]).all()),
        )
        for i, index in enumerate(chosen)
    ]
    return Classification(images, run, encrypted, why_not)
