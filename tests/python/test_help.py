"""Help texts, `polyfabric programs` and `polyfabric doctor`."""

from __future__ import annotations

import json
import re

import click
import pytest
from polyfabric.apps import programs
from polyfabric.cli import cli
from polyfabric.cli.grouped import first_sentence
from polyfabric.cli.run import EXAMPLES, HEADINGS
from polyfabric.models.onnx_operators import OPERATORS


def helped(polyfabric, *command: str) -> str:
    return re.sub(r"\s+", " ", polyfabric(*command, "--help").out)


@pytest.mark.parametrize("name", cli.commands)
def test_the_list_of_commands_has_whole_sentences(polyfabric, name: str) -> None:
    sentence = first_sentence(cli.commands[name].help or "")
    assert re.match(r"[A-Z].*[^.]\.$", sentence)
    assert f"{name} {sentence}" in helped(polyfabric)


def test_the_options_of_run_are_under_headings(polyfabric) -> None:
    text, command = helped(polyfabric, "run"), cli.commands["run"]
    for heading in HEADINGS:
        assert f" {heading}: --" in text
    grouped = [name for names in HEADINGS.values() for name in names]
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert sorted(grouped) == sorted(option.name for option in options)
    for example in EXAMPLES:
        assert example in text


def test_programs_lists_every_built_in_program(polyfabric) -> None:
    listed = json.loads(polyfabric("programs", "--json").out)
    assert sorted(entry["name"] for entry in listed) == sorted({*programs.known(), *programs.MICROBENCHMARKS})
    assert {entry["scheme"] for entry in listed} == {"TFHE", "CKKS", "BGV", "limbs"}
    for entry in listed:
        on_slots = entry["name"] in programs.ON_SLOTS or entry["name"] in programs.ONLY_ROUNDS
        assert on_slots == (entry["scheme"] in ("CKKS", "BGV"))
    assert "lola-mnist" in polyfabric("programs").out


def test_operators_lists_every_operator_of_onnx_or_those_named(polyfabric) -> None:
    listed = json.loads(polyfabric("operators", "--json").out)
    assert {entry["name"]: entry["how"] for entry in listed} == {
        name: operator.how for name, operator in OPERATORS.items()
    }
    two = json.loads(polyfabric("operators", "softmax", "MaxPool", "--json").out)
    assert [(entry["name"], entry["how"]) for entry in two] == [("Softmax", "composite"), ("MaxPool", "refused")]
    text = polyfabric("operators", "maxpool").out
    assert "AveragePool" in text
    assert "Softmax" not in text
    wrong = polyfabric("operators", "Sofmax")
    assert wrong.status == 2
    assert "Softmax" in wrong.err


def test_doctor_shows_this_computer(polyfabric) -> None:
    found = json.loads(polyfabric("doctor", "--json").out)
    assert found["cores"] >= 1
    assert found["memory_bytes"]["total"] >= found["memory_bytes"]["available"] > 0
    assert found["tools"]["sklearn"]["found"]
    assert (found["gpu"]["card"] is None) == (found["gpu"]["reason"] is not None)
    text = polyfabric("doctor").out
    assert found["instruction_set"] in text
    assert "verilator" in text


@pytest.mark.parametrize(
    ("command", "choice"),
    [
        (("run",), "FILE.py:FUNCTION"),
        (("compare",), "FILE.py:FUNCTION"),
        (("simulate", "pbs"), "morphling"),
        (("widths", "--params", "fpt-I"), "morphling"),
        (("explore",), "morphling"),
        (("reproduce",), "morphling"),
    ],
)
def test_a_missing_argument_is_reported_with_its_choices(polyfabric, command, choice):
    done = polyfabric(*command)
    assert done.status == 2
    assert choice in done.err
