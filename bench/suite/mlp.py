"""Classification of handwritten digits, images of 28 x 28 pixels, by a network with layers of 128, 64 and 10, as the suite's.

    python mlp.py MODEL [DATA.npz]      trains the network and writes it

`DATA.npz` has `pixels`, images x 784 from 0 to 1, and `labels`. Without it the digits of scikit-learn are enlarged from 8 x 8. The activation is a hyperbolic
tangent, since polynomials approximate it better than the suite's rectifier. The server has the network; the client has how pixels become slots.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import polyfabric as pf
from instance import Exchange, Instance
from integers import nothing
from numpy.typing import NDArray
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

SIZES = {"single": 1, "small": 15, "medium": 1_000, "large": 10_000}
BATCH = 16
"""Images in one ciphertext, if there are several."""
PIXELS, CLASSES = 28 * 28, 10

Floats = NDArray[np.float64]


def digits() -> tuple[Floats, NDArray[np.int64]]:
    """The digits of scikit-learn at the suite's size."""
    images, labels = load_digits(return_X_y=True)
    wide = zoom(images.reshape(-1, 8, 8) / 16, (1, 3.5, 3.5), order=1)
    return wide.reshape(len(wide), PIXELS).clip(0, 1), labels


def train(path: Path, data: Path | None = None) -> None:
    """Trains on three quarters of the images."""
    if data is None:
        pixels, labels = digits()
    else:
        with np.load(data) as read:
            pixels, labels = read["pixels"], read["labels"]
    seen = np.arange(len(pixels)) % 4 != 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network = MLPClassifier((128, 64), activation="tanh", alpha=0.01, max_iter=60, random_state=0)
        network.fit(pixels[seen], labels[seen])
    path.parent.mkdir(parents=True, exist_ok=True)
    # The intervals of the polynomials are taken from rows.
    joblib.dump((network, pixels[seen][:2000]), path)


class Network:
    """The workload."""

    @property
    def stages(self) -> dict[str, Callable[[Instance], None]]:
        """What each stage does."""
        return {
            "client_key_generation": self.make_keys,
            "server_preprocess_model": nothing,
            "client_preprocess_input": self.scale,
            "client_encode_encrypt_input": self.encrypt,
            "server_encrypted_compute": self.compute,
            "client_decrypt_decode": self.decrypt,
            "client_postprocess": nothing,
        }

    def model(self, instance: Instance) -> pf.models.Model:
        """The network on encrypted images, which only the server has."""
        network, rows = joblib.load(instance.root / "submission" / "model.joblib")
        batch = 1 if instance.name == "single" else BATCH
        return pf.from_sklearn(network, rows, batch=batch, margin=1.25)

    def make_keys(self, instance: Instance) -> None:
        """The client's keys. The server publishes how pixels become slots."""
        model = self.model(instance)
        Exchange(instance.io).make_keys(model.program)
        shape = (model.batch, model.network.block)
        np.savez(instance.io / "public_keys" / "encoding.npz", middle=model.middle, half=model.half, shape=shape)

    def scale(self, instance: Instance) -> None:
        """Pixels to the inputs of the program, within the bounds of its type."""
        pixels = np.loadtxt(instance.data / "intermediate" / "test_pixels.txt", ndmin=2)
        with np.load(instance.io / "public_keys" / "encoding.npz") as read:
            middle, half, (batch, block) = read["middle"], read["half"], read["shape"]
        on_unit = ((pixels - middle) / half).clip(-1, 1)
        executions = -(-len(pixels) // batch)
        slots = np.zeros((executions * batch, block))
        slots[: len(pixels), :PIXELS] = on_unit
        # Padding repeats an image, for which every polynomial stays within its interval.
        slots[len(pixels) :, :PIXELS] = on_unit[-1]
        np.save(instance.io / "inputs.npy", slots.reshape(executions, batch * block))

    def encrypt(self, instance: Instance) -> None:
        """The client's images."""
        inputs = np.load(instance.io / "inputs.npy")
        Exchange(instance.io).encrypt({f"images-{at}.bin": {"x": slots} for at, slots in enumerate(inputs)})

    def compute(self, instance: Instance) -> None:
        """The server's work."""
        exchange = Exchange(instance.io)
        exchange.execute(self.model(instance).program, {name: [name] for name in exchange.uploaded("images-*.bin")})

    def decrypt(self, instance: Instance) -> None:
        """The class of the highest score of each image."""
        found = Exchange(instance.io).decrypt("images-*.bin")
        with np.load(instance.io / "public_keys" / "encoding.npz") as read:
            batch, _ = read["shape"]
        count = len(np.loadtxt(instance.data / "intermediate" / "test_pixels.txt", ndmin=2))
        scores = np.concatenate([np.real(one).reshape(batch, -1)[:, :CLASSES] for one in found])[:count]
        np.savetxt(instance.io / "encrypted_model_predictions.txt", scores.argmax(axis=1), fmt="%d")


WORKLOADS = {"mlp": Network()}

if __name__ == "__main__":
    train(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
