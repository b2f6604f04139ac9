"""Modules of PyTorch predict the same on encrypted rows. PyTorch is optional: with it, POLYFABRIC_FULL=1 runs these tests on what it exports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.models.torch_module import INSTALL
from rejects import rejects
from test_onnx_operators import TOY, onnx, own, samples

BLOCK = Path(__file__).parent / "onnx" / "block.onnx"
"""A block of a transformer as PyTorch 2.15 exports it: attention with two heads, layer normalisations, GELU. `python test_torch.py` writes it."""

SHAPE = (3, 4)


@pytest.mark.parametrize("missing", ["torch", "onnxscript", "onnx"])
def test_without_a_package_the_error_names_what_installs_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for other in {"torch", "onnxscript"} - {missing}:
        monkeypatch.setitem(sys.modules, other, type(sys)(other))
    with rejects(pf.errors.ProgramError, missing, INSTALL):
        pf.from_torch(None, np.zeros((2, 3)))


def test_an_exported_block_is_read() -> None:
    rows = samples(SHAPE, 60)
    model = onnx.load(BLOCK)
    exact = np.concatenate([own(model, row[None]) for row in rows])
    read = pf.from_onnx(BLOCK, rows, degree=15, margin=1.1)
    flat = rows.reshape(len(rows), -1)
    np.testing.assert_allclose(read.network.scores(flat), exact, atol=1e-4)
    assert np.abs(read.clear_scores(flat) - exact).max() < 0.02


@pytest.mark.full
def test_an_exported_block_encrypted() -> None:
    rows = samples(SHAPE, 60)
    read = pf.from_onnx(BLOCK, rows, degree=15, margin=1.1)
    done = read.program.run(x=read.encode(rows[:1])["x"], parameters=TOY, security=0, measure=True)
    np.testing.assert_allclose(read.decode(done.value)[:1], own(onnx.load(BLOCK), rows[:1]), atol=0.02)


# -- with PyTorch -------------------------------------------------------------------------------------------------------


def torch() -> Any:
    pytest.importorskip("onnxscript", reason=f"needs PyTorch: {INSTALL}")
    return pytest.importorskip("torch", reason=f"needs PyTorch: {INSTALL}")


def modules() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Modules, and the shape of their rows."""
    nn, functional = torch().nn, torch().nn.functional

    class Of(nn.Module):
        def __init__(self, function: Any, *parts: Any) -> None:
            super().__init__()
            self.parts, self.function = nn.ModuleList(parts), function

        def forward(self, x: Any) -> Any:
            return self.function(x, *self.parts)

    def attend(x: Any, q: Any, k: Any, v: Any) -> Any:
        heads = [part(x)[:, None] for part in (q, k, v)]
        return functional.scaled_dot_product_attention(*heads, is_causal=True)[:, 0]

    return {
        "perceptron": (nn.Sequential(nn.Linear(4, 6), nn.Dropout(), nn.LayerNorm(6), nn.SiLU(), nn.Linear(6, 3), nn.Softmax(-1)), (4,)),
        "convolution": (nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16, 3)), (1, 6, 6)),
        "encoder": (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, activation="gelu", layer_norm_eps=0.05), SHAPE),
        "block": (block(), SHAPE),
        "causal attention": (Of(attend, *(nn.Linear(4, 4) for _ in "qkv")), SHAPE),
        "normalised": (Of(lambda x, f: f(functional.normalize(x, dim=-1)), nn.Linear(4, 2)), (4,)),
        "doubles": (nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double(), (4,)),
    }  # fmt: skip


def block() -> Any:
    nn = torch().nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(4, eps=0.05), nn.LayerNorm(4, eps=0.05)
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.perceptron = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4))
            self.head = nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            y = self.first(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return self.head((x + self.perceptron(self.second(x))).mean(1))

    torch().manual_seed(0)
    return Block()


NAMES = ("perceptron", "convolution", "encoder", "block", "causal attention", "normalised", "doubles")


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_read(name: str) -> None:
    torch().manual_seed(1)
    module, shape = modules()[name]
    module.train()
    rows = samples(shape, 60)
    read = pf.from_torch(module, rows, degree=31, margin=1.2)
    assert module.training
    assert all(part.training for part in module.modules())
    given = torch().as_tensor(rows).to(next(module.parameters()).dtype)
    exact = module.eval()(given).detach().numpy().reshape(len(rows), -1)
    flat = rows.reshape(len(rows), -1)
    scores = read.clear_scores(flat)
    found = read.reading.probabilities(scores) if name == "perceptron" else scores
    np.testing.assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())
    one = pf.from_torch(module, given[:1], samples=given, degree=31, margin=1.2)
    np.testing.assert_array_equal(one.clear_scores(flat), read.clear_scores(flat))


@pytest.mark.full
@pytest.mark.parametrize(
    ("module", "example", "error"),
    [
        (lambda nn: nn.Linear(4, 2), np.zeros(4), pf.errors.InputError),
        (lambda nn: nn.Linear(4, 2), np.zeros((1, 4)), pf.errors.InputError),
        (lambda nn: nn.Linear(4, 2), [["a"]], pf.errors.InputError),
        (lambda nn: nn.Linear(4, 2), np.zeros((5, 3)), pf.errors.ProgramError),
        (lambda nn: nn.Linear, np.zeros((5, 3)), pf.errors.InputError),
        (lambda nn: nn.Sequential(nn.Flatten(), nn.LSTM(4, 3)), np.zeros((5, 4)), pf.errors.ProgramError),
    ],
    ids=["one axis", "one row", "texts", "other size", "class", "recurrent"],
)
def test_wrong_calls_are_refused(module: Any, example: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pf.from_torch(module(torch().nn), example)


if __name__ == "__main__":
    exported = torch().onnx.export(
        block().eval(), (torch().zeros(1, *SHAPE),), input_names=["x"], dynamo=True, opset_version=20
    )
    proto = exported.model_proto
    # Its notes contain paths of the computer that exported it.
    for each in (
        proto,
        proto.graph,
        *proto.graph.node,
        *proto.graph.initializer,
        *proto.graph.input,
        *proto.graph.output,
    ):
        each.ClearField("metadata_props")
        each.ClearField("doc_string")
    proto.graph.ClearField("value_info")
    BLOCK.parent.mkdir(exist_ok=True)
    BLOCK.write_bytes(proto.SerializeToString())
