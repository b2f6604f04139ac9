"""Parameter sets as data: figures with sources, security, what a look-up carries, key sizes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _native

WIDEST_MESSAGE = 6
"""Most message bits that the table considers."""

CARRIED_TARGET = -40.0
"""log2 of the failure probability up to which a set is said to carry a message space."""


@dataclass(frozen=True)
class ParameterSet:
    """One checked set of the table."""

    native: _native.Parameters

    @property
    def name(self) -> str:
        """Its name."""
        return self.native.name

    @property
    def family(self) -> str:
        """ "default", "paper" or "toy"."""
        return str(self._entry()["family"])

    def _entry(self) -> dict[str, Any]:
        text = self.native.entry()
        return {"family": "own", "claimed_security_bits": None, "note": ""} if text is None else json.loads(text)

    def _carries(self, variance: float) -> dict[str, Any]:
        """Widest padded message that noise of `variance` leaves readable, and how often it fails."""
        # m bits and a padding bit: 2^(m+1) slots on the torus, a margin of half a slot.
        failures = {
            bits: _native.failure_probability_log2(variance, 0.25 / 2**bits) for bits in range(1, WIDEST_MESSAGE + 1)
        }
        carried = max((bits for bits, failure in failures.items() if failure <= CARRIED_TARGET), default=0)
        return {
            "message_bits": carried,
            "log2_failure": failures[max(carried, 1)],
            "log2_failure_1_bit": failures[1],
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything about the set."""
        native = self.native
        literal = json.loads(native.to_json())
        sources = literal.pop("sources", {})
        literal.pop("name")
        literal.setdefault("key_switch_gadget", None)
        variances = native.variances()
        looked_up, key_switch = variances["blind_rotation"], variances["key_switch"]
        switched = None if key_switch is None else looked_up + key_switch + variances["modulus_switch"]
        return {
            "name": self.name,
            **self._entry(),
            **literal,
            "security_bits": native.security_bits,
            "estimated_bits": native.estimated_bits,
            "warning": native.security_warning,
            "direct": self._carries(variances["fresh_small"] + variances["modulus_switch"]),
            "chained": None if switched is None else self._carries(switched),
            "variances": variances,
            "bootstrap_key_bytes": native.bootstrap_key_bytes,
            "key_switch_key_bytes": native.key_switch_key_bytes,
            "key_bytes": native.bootstrap_key_bytes + (native.key_switch_key_bytes or 0),
            "figures": {k: v for k, v in literal.items() if v is not None},
            "sources": sources,
        }


def named(name: str) -> ParameterSet:
    """The set called `name`."""
    return ParameterSet(_native.Parameters.named(name))


def all_sets() -> list[ParameterSet]:
    """All sets, in the order of the table."""
    return [named(name) for name in _native.parameter_names()]


def slot_sets() -> list[dict[str, Any]]:
    """All sets of CKKS and BGV, as data."""
    return list(json.loads(_native.slot_parameter_sets()))
