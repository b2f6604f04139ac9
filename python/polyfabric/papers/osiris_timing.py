"""Shared code of the rows of Osiris' programs: table III's columns, the chain of set IV, and a plan with the paper's set."""

from __future__ import annotations

from collections.abc import Sequence

from ..accelerators import machine as accelerators
from ..language.slot_program import SlotProgram
from ..run.execution import plan
from ..schemes.rns import RnsPlan
from ..schemes.slot_parameters import SlotParameters

HOISTING = {"nh": "none", "sh": "single", "dh": "double"}
"""Table III's columns, as the machine's readings."""

CHAIN_IV: dict[str, str | None] = {
    "name": "osiris-bootstrap-IV: as osiris-bootstrap with nine levels left, pairs of primes of 49 and 47 bits",
    "evidence": "table II and its note print alpha, the primes of P and log QP; a level more leaves bootstrapping so much less",
}

FOR_KEYS: dict[str, str | None] = {
    "name": "every wait of the NTT units for memory counts as one for keys",
    "evidence": "section V: units that make diagonals wait while keys come; here a diagonal's one limb waits on the channel behind them and all else that comes",
}
"""The note for shares of the time that wait for keys."""


def waits(for_keys: float, of_keys: float) -> str:
    """The note for such a share: the share of the wait for keys alone, and the share of keys in the memory traffic."""
    return (
        f"share of the NTT units' time that waits for memory, {for_keys:.0%} for what keys make and the rest for other limbs; "
        f"{of_keys:.0%} of what memory moves is keys"
    )


def readings(choices: Sequence[str]) -> list[dict[str, str | None]]:
    """Choices `fact=option` as the readings of a row, each with its source in the machine file."""
    facts = accelerators.load("osiris").to_dict()["readings"]
    chosen = [choice.split("=", 1) for choice in choices]
    return [
        {"name": f"{fact}={option}", "evidence": facts[fact]["options"][option]["source"]} for fact, option in chosen
    ]


def planned(program: SlotProgram, parameters: str | SlotParameters, machine: accelerators.Machine) -> RnsPlan:
    """A program's plan with the set's key switch, at any security."""
    return plan(program, parameters, machine=machine, key_switch="set", security=0)
