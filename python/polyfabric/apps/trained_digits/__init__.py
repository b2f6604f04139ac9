"""Held-out handwritten digits, classified under encryption by networks of Morphling's section VI-A: a DeepCNN-20 and boosted trees.

Both are trained in this package on scikit-learn's 8 x 8 digits ([`..digits.data`]), never on the images that they are shown. Every decrypted
result is compared with the model in the clear.
"""

from __future__ import annotations

from collections.abc import Callable

from ...run.runnable_programs import Program
from .classifier import Classifier
from .deep import deepcnn_20
from .trees import xgboost

CLASSIFIERS: dict[str, Callable[[], Classifier]] = {"deepcnn-20-digits": deepcnn_20, "xgboost-digits": xgboost}
"""Classifiers by command-line name."""

PROGRAMS: dict[str, Callable[[], Program]] = {
    "deepcnn-20-digits": lambda: deepcnn_20().program,
    "xgboost-digits": lambda: xgboost().program,
}
"""Their programs."""
