"""Encrypted handwritten digits, classified by a network whose activations are lookups."""

from __future__ import annotations

from functools import cache

from ...language.functions import concat, dot, sign
from ...language.numpy_calls import Value
from ...language.types import Int
from ...run.runnable_programs import Program, program
from .network import Network, shipped


def build(network: Network, *, images: int = 1, encrypted_scores: bool = True) -> Program:
    """The program of a network: 128 encrypted signs per image in, 64 activations and 10 class scores per image out.

    Without `encrypted_scores` the activations alone come out, and whoever decrypts them adds them up. That is for
    arithmetic too coarse to add them under encryption: an activation alone withstands noise of a quarter of the
    torus, a score of the shipped network 1/64, of 31 activations' noise.
    """
    name = "digits" if encrypted_scores else "digits-hidden"

    @program(name, pixels=Int(-1, 1, step=2).vector(network.signs * images))
    def digits(pixels: Value) -> dict[str, Value]:
        """Classifies 8x8 digits from two signs per pixel."""
        each = [pixels[i * network.signs : (i + 1) * network.signs] for i in range(images)]
        hidden = [sign(dot(network.hidden_weights, image) + network.hidden_bias) for image in each]
        outputs = {"hidden": concat(*hidden)}
        if encrypted_scores:
            outputs["scores"] = concat(*(dot(network.class_weights, h) for h in hidden))
        return outputs

    return digits


@cache
def digits(*, images: int = 1, encrypted_scores: bool = True) -> Program:
    """The program of the built-in network."""
    return build(shipped(), images=images, encrypted_scores=encrypted_scores)
