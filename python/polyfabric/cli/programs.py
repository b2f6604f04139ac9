"""`polyfabric programs`: the built-in programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from ..reports.tables import print_table
from .console import grid, out, print_json


@dataclass(frozen=True)
class BuiltIn:
    """A built-in program."""

    name: str
    scheme: str
    does: str
    commands: tuple[str, ...] = ("run", "simulate")


def _of(scheme: str, names: dict[str, str], commands: tuple[str, ...] = ("run", "simulate")) -> list[BuiltIn]:
    return [BuiltIn(name, scheme, does, commands) for name, does in names.items()]


BUILT_IN = [
    *_of(
        "TFHE",
        {
            "pbs": "programmable bootstraps",
            "keyswitch": "key switches",
            "pbs+ks": "programmable bootstraps, each after a key switch",
            "adder": "an 8-bit adder of gates",
            "digits": "handwritten digits, by a small network",
            "life": "the game of life",
            "nn-20": "a network of 20 layers, as two papers time it",
            "nn-50": "the same with 50 layers",
            "nn-100": "the same with 100 layers",
            "deepcnn-20": "a convolutional network with 20 layers",
            "deepcnn-50": "the same with 50 layers",
            "deepcnn-100": "the same with 100 layers",
            "vgg-9": "VGG-9",
            "xgboost": "boosted trees",
            "xgboost-comparisons": "the same, by comparisons",
            "deepcnn-20-digits": "deepcnn-20, trained on handwritten digits",
            "xgboost-digits": "boosted trees, trained on handwritten digits",
        },
    ),
    *_of("CKKS", {"logistic-regression": "a trained model on held-out rows"}, ("run",)),
    *_of(
        "CKKS",
        {
            "lola-mnist": "LoLa-MNIST, with public weights",
            "lola-mnist-encrypted": "the same with encrypted weights",
            "lola-cifar": "LoLa-CIFAR",
            "lola-cifar-reduced": "a smaller LoLa-CIFAR that this computer runs in seconds",
            "helr": "training of a logistic regression, 256 features",
            "ckks-bootstrapping": "the bootstrapping of one ciphertext",
            "mlp": "a multilayer perceptron for MNIST",
            "lola": "LoLA for MNIST, with matrices",
            "lenet": "LeNet for MNIST",
            "resnet20": "ResNet-20; `run` takes a reduced twin unless --params names the paper's set",
            "resnet20-block": "one block of ResNet-20 at the paper's size",
            "helr-1024": "training of a logistic regression on batches of 1024; `run` takes a reduced twin, as above",
            "sorting-stages": "two stages of the sorting network",
            "amortised-products": "a bootstrapping, and products at the levels that it leaves",
            "amortised-matrices": "a bootstrapping, and products with a matrix",
        },
    ),
    *_of("CKKS", {"sorting": "bitonic sorting of 2^14 numbers"}, ("simulate",)),
    *_of("BGV", {"database-lookup": "a country by its code of two letters"}, ("run",)),
    *_of(
        "BGV",
        {
            "matvec": "a matrix times an encrypted vector",
            "bgv-bootstrapping": "the bootstrapping of one ciphertext",
            "country-lookup": "a database lookup, as a paper times it",
        },
    ),
    *_of(
        "limbs",
        {
            "ntt": "number-theoretic transforms of ciphertexts",
            "automorphism": "automorphisms of ciphertexts",
            "multiply": "homomorphic products",
            "permute": "homomorphic permutations",
        },
        ("simulate",),
    ),
]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def programs(*, as_json: bool) -> None:
    """List the built-in programs.

    Programs of "limbs" are single operations; their --params is the log2 of the ring degree, 12 to 15. Your own program is FILE.py:FUNCTION,
    FILE.pf, the text that a program's .text() returns, FILE.mlir, which HEIR compiled, or a trace, FILE.csv or FILE.txt.
    """
    if as_json:
        print_json([asdict(program) for program in BUILT_IN])
        return
    table = grid("program", "scheme", "commands", "what", left=4)
    for program in BUILT_IN:
        table.add_row(program.name, program.scheme, ", ".join(program.commands), program.does)
    print_table(out(), table)
