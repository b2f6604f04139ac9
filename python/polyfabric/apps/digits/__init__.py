"""The main job: a handwritten digit, encrypted, classified by a network whose activations are look-ups."""

from __future__ import annotations

from functools import cache

from ... import Int, Program, Value, dot, program, sign
from .network import Network, shipped


def build(network: Network) -> Program:
    """The program of a network: 128 encrypted signs in, 64 activations and 10 class scores out."""

    @program("digits", pixels=Int(-1, 1, step=2).vector(network.signs))
    def digits(pixels: Value) -> dict[str, Value]:
        """Classifies an 8x8 digit, given as two signs a pixel."""
        hidden = sign(dot(network.hidden_weights, pixels) + network.hidden_bias)
        scores = dot(network.class_weights, hidden) + network.class_bias
        return {"hidden": hidden, "scores": scores}

    return digits


@cache
def digits() -> Program:
    """The program of the network that comes with the package."""
    return build(shipped())
