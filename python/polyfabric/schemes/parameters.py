"""Parameter sets as data: figures with sources, security, message widths, key sizes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .. import _native


def _carries(capacity: dict[str, Any]) -> dict[str, Any]:
    """Widest padded message that a lookup supports, and its failure probability for nearly every key (docs/tfhe.md, Keys)."""
    return {
        "message_bits": capacity["message_bits"],
        "log2_failure": capacity["failure_log2"],
        "log2_failure_1_bit": capacity["failure_log2_1_bit"],
    }


@dataclass(frozen=True)
class ParameterSet:
    """A checked parameter set of the table."""

    native: _native.TfheParameters

    @property
    def name(self) -> str:
        """The set's name."""
        return self.native.name

    @property
    def family(self) -> str:
        """ "default", "paper" or "toy"."""
        return str(self._entry()["family"])

    def _entry(self) -> dict[str, Any]:
        text = self.native.entry()
        return {"family": "own", "claimed_security_bits": None, "note": ""} if text is None else json.loads(text)

    scheme = "tfhe"

    def __repr__(self) -> str:
        return f"<parameter set {self.name} of TFHE>"

    def to_dict(self) -> dict[str, Any]:
        """All facts about the set, sizes in bytes."""
        native = self.native
        literal = json.loads(native.to_json())
        sources = literal.pop("sources", {})
        literal.pop("name")
        literal.setdefault("key_switch_gadget", None)
        literal.setdefault("circuit", None)
        direct, chained = json.loads(native.capacities())
        return {
            "name": self.name,
            "scheme": self.scheme,
            **self._entry(),
            **literal,
            "security_bits": native.security_bits,
            "estimated_bits": native.estimated_bits,
            "warning": native.security_warning,
            "direct": _carries(direct),
            "chained": None if chained is None else _carries(chained),
            "variances": native.variances(),
            "bootstrap_key_bytes": native.bootstrap_key_bytes,
            "key_switch_key_bytes": native.key_switch_key_bytes,
            "key_bytes": native.bootstrap_key_bytes + (native.key_switch_key_bytes or 0),
            "figures": {k: v for k, v in literal.items() if v is not None},
            "sources": sources,
        }


def named(name: str) -> ParameterSet:
    """The set called `name`."""
    return ParameterSet(_native.TfheParameters.named(name))
