"""Calls of sweeps, comparisons, compiled programs, reports and applications that are refused beside those that their messages advise;
`test_call_remedies.py` makes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
from call_remedies import ELEMENTS, NUMBERS, REALS, SET, call, written
from polyfabric import axes, comparison, exploration, files, machines, statements
from polyfabric.apps import ckks_bootstrapping, life
from polyfabric.apps.database import store
from polyfabric.apps.digits import classify
from polyfabric.apps.f1_programs import country_lookup
from polyfabric.apps.logistic_regression import infer

PBS = "pbs@strix-I"
AXIS = "units.core.count=8,4"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def explored(
    axis: str = AXIS, *, machine: str = "strix", program: str = PBS, results: Path | None = None, **more: Any
) -> pf.Report:
    task = exploration.Task.of(machine, (program,), 8)
    return exploration.explore(task, [axes.axis(axis)], results=results, jobs=1, **more)


@cache
def swept() -> pf.Report:
    """The sweep that several messages lead to, made once."""
    return explored()


def own_machine(folder: Path, *, swept: bool = True) -> str:
    """The machine file of the examples, or the same without its sweep."""
    lines = (EXAMPLES / "own-tfhe-machine.toml").read_text(encoding="utf-8").splitlines()
    own = ("sweep_programs", "[[sweep]]", '"units.core.', '"channels.key_bus.')
    kept = [line for line in lines if swept or not line.startswith(own)]
    return str(written(folder / "own.toml", "\n".join(kept)))


def unpriced(folder: Path) -> str:
    """The same with a memory of unknown energy."""
    text = Path(own_machine(folder)).read_text(encoding="utf-8")
    return str(written(folder / "own.toml", text.replace("energy = { value = 3.92", 'energy = { value = "unknown"')))


def unswept(folder: Path) -> str:
    """The same with an axis of nothing."""
    text = Path(own_machine(folder, swept=False)).read_text(encoding="utf-8")
    return str(written(folder / "own.toml", f"{text}\n[[sweep]]\n"))


def cramped(folder: Path) -> str:
    """The same with a local scratchpad of no ciphertext."""
    text = Path(own_machine(folder)).read_text(encoding="utf-8")
    local = text.index("[memories.local]")
    return str(written(folder / "own.toml", text[:local] + re.sub(r"value = \d+", "value = 1", text[local:], count=1)))


def swept_by(given: list[axes.Axis]) -> pf.Report:
    return exploration.explore(exploration.Task.of("strix", (PBS,), 8), given, jobs=1)


def compiled() -> machines.MappedSlots:
    mapped = machines.load("f1").map(on_f1())
    assert isinstance(mapped, machines.MappedSlots)
    return mapped


def on_f1() -> Any:
    return REALS.plan("f1-12-L3", machine=machines.load("f1"), security=0)


def piped(path: Path) -> Path:
    os.mkfifo(path)
    return path


def with_descriptor(path: Path, write: Callable[[Path], None]) -> None:
    with path.open("wb") as file:
        write(Path(f"/dev/fd/{file.fileno()}"))


def taken_up(folder: Path) -> pf.Report:
    """A sweep whose results are there already."""
    explored(results=folder / "points.jsonl")
    return explored(results=folder / "points.jsonl")


SWEEPS = [
    call(
        lambda at: explored(machine=str(at / "none.toml")),
        "cannot read the machine file",
        lambda at: explored("units.core.count=4,2", machine=own_machine(at)),
    ),
    call(
        lambda at: exploration.Task.of(own_machine(at, swept=False)),
        "name some with --programs",
        lambda at: exploration.Task.of(own_machine(at, swept=False), (PBS,)),
    ),
    call(lambda _: explored("units.none=1"), "has no figure 'units.none'", lambda _: swept()),
    call(
        lambda at: explored("components.local.area=1", machine=own_machine(at)),
        "sweep one of those",
        lambda at: explored("memories.local.capacity=256", machine=own_machine(at)),
    ),
    call(
        lambda at: exploration.own_axes(exploration.Task.of(own_machine(at, swept=False), (PBS,))),
        "name axes with --axis KEY=V1,V2,..",
        lambda at: exploration.Task.of(own_machine(at), (PBS,)).own([axes.axis("units.core.count=4,2")]),
    ),
    call(lambda _: explored("units.core.count"), "is not KEY=V1,V2,..", lambda _: swept()),
    call(
        lambda _: explored("units.core.count=8,4;channels.hbm.stacks=1"),
        "give as many of each",
        lambda _: axes.axis("units.core.count=8,4;channels.hbm.stacks=1,2"),
    ),
    call(
        lambda _: axes.axis(f"{next(iter(axes.EXCHANGES))}=none"),
        "; take ",
        lambda _: [axes.axis(f"{key}={value}") for key, known in axes.EXCHANGES.items() for value in known],
    ),
    call(lambda _: explored("units.core.count=many"), "takes numbers", lambda _: swept()),
    call(
        lambda at: explored("units.core.count=true", machine=own_machine(at)),
        "give numbers in its unit on its axis",
        lambda at: explored("units.core.count=2", machine=own_machine(at)),
    ),
    call(
        lambda at: exploration.Task.of(own_machine(at), (PBS,)).own([{"channels.key_bus.multicast": [1.0]}]),
        "give true or false on its axis",
        lambda at: exploration.Task.of(own_machine(at), (PBS,)).own([axes.axis("channels.key_bus.multicast=true")]),
    ),
    call(
        lambda _: axes.axis("units.core.count=8;units.core.count=4"),
        "give all of its values at once",
        lambda _: axes.axis("units.core.count=8,4"),
    ),
    call(
        lambda _: swept_by([{"units.core.count": [8.0]}, {"units.core.count": [4.0]}]),
        "give all of its values on one",
        lambda _: swept(),
    ),
    call(
        lambda at: machines.load(unswept(at)),
        "own.toml: [[sweep]]: an axis is of no figure; give it one with its values, or leave it out",
        lambda at: machines.load(own_machine(at)),
    ),
    call(lambda _: swept_by([{}]), "give it one with its values, or leave it out", lambda _: swept_by([])),
    call(lambda _: swept_by([{"units.core.count": []}]), "give some, or leave it out", lambda _: swept_by([])),
    call(
        lambda _: swept_by([{"units.core.count": [1.0 / number for number in range(1, 200_000)]}]),
        "give fewer values",
        lambda _: swept(),
    ),
    call(
        lambda at: exploration.Task.of(unpriced(at), (PBS,)).own([axes.axis("channels.hbm.energy=4")]),
        "give it one in the machine file",
        lambda at: exploration.Task.of(own_machine(at), (PBS,)).own([axes.axis("channels.hbm.energy=4")]),
    ),
    call(
        lambda at: explored("units.core.count=2", machine=cramped(at)),
        "or enlarge it in the machine file",
        lambda at: explored("units.core.count=2", machine=own_machine(at)),
    ),
    call(
        lambda at: exploration.Task.of(own_machine(at), ("",)),
        "give each as PROGRAM or PROGRAM@SET",
        lambda at: [exploration.Task.of(own_machine(at), (program,)) for program in ("pbs", PBS)],
    ),
    call(
        lambda at: (written(at / "points.jsonl", "other"), explored(results=at / "points.jsonl")),
        "name another one",
        lambda at: explored(results=at / "points.jsonl"),
    ),
    call(
        lambda at: (written(at / "points.jsonl", "{}\n"), explored(results=at / "points.jsonl")),
        "name another file, or remove the line",
        taken_up,
    ),
    call(
        lambda at: (at.joinpath("points.jsonl").write_bytes(b"\xff"), explored(results=at / "points.jsonl")),
        "cannot read the results file",
        lambda at: explored(results=at / "points.jsonl"),
    ),
    call(
        lambda at: explored(results=at / "none" / "points.jsonl"),
        "check that the folder exists",
        lambda at: explored(results=at / "points.jsonl"),
    ),
]

COMPARISONS = [
    call(
        lambda _: comparison.compare("digits", ["strix"], widths="derived"),
        "name one with --params",
        lambda _: comparison.compare("pbs", ["strix"], parameters="strix-I", widths="derived", batch=8),
    ),
    call(
        lambda _: comparison.compare("pbs", ["strix", "fpt"], parameters={"morphling": "strix-I"}),
        "is none of the machines",
        lambda _: comparison.compare("pbs", ["strix", "fpt"], parameters={"strix": "strix-I"}, batch=8),
    ),
    call(
        lambda _: comparison.compare("pbs", ["strix"], parameters="strix-I", readings=["none=1"]),
        "none of these machines leaves 'none' open; they have",
        lambda _: comparison.compare("pbs", ["strix"], parameters="strix-I", batch=8),
    ),
    call(
        lambda _: comparison.compare("pbs", ["f1"], parameters="strix-I"),
        "name another machine",
        lambda _: comparison.compare("pbs", ["strix"], parameters="strix-I", batch=8),
    ),
]

COMPILED = [
    call(
        lambda at: machines.load("morphling").load(ELEMENTS.plan(machine=machines.load("morphling")), at / "own.bin"),
        "leave the file out",
        lambda _: machines.load("morphling").map(ELEMENTS.plan(machine=machines.load("morphling"))).report(),
    ),
    call(
        lambda at: machines.load("f1").load(on_f1(), at / "none.bin"),
        "check the path",
        lambda at: (compiled().save(at / "own.bin"), machines.load("f1").load(on_f1(), at / "own.bin").report()),
    ),
    call(
        lambda at: compiled().save(at / "none" / "own.bin"),
        "check that the folder exists",
        lambda at: compiled().save(at / "own.bin"),
    ),
]

REPORTS = [
    call(
        lambda _: REALS.simulate("f1", parameters="f1-12-L3")["none"],
        "has no entry 'none'; it has",
        lambda _: REALS.simulate("f1", parameters="f1-12-L3")["cycles"],
    ),
    call(
        lambda _: comparison.compare("pbs", ["strix"], parameters="strix-I", batch=8).timeline(),
        "simulate a program, or run it on a machine",
        lambda _: (
            REALS.simulate("f1", parameters="f1-12-L3").timeline(),
            REALS.run(NUMBERS, on="f1", parameters="f1-12-L3").simulation.timeline(),
        ),
    ),
    call(
        lambda at: files.made_folder(written(at / "file", "") / "folder"),
        "name another one",
        lambda at: files.made_folder(at / "folder"),
    ),
    call(
        lambda at: files.expect_folder(written(at / "file", "") / "folder"),
        "name another one",
        lambda at: files.expect_folder(at / "folder"),
    ),
    call(
        lambda at: files.write_text(piped(at / "pipe"), "", private=True),
        "name a file of your own",
        lambda at: files.write_text(at / "file", "", private=True),
    ),
    call(
        lambda at: with_descriptor(at / "file", lambda path: files.write_text(path, "")),
        "name the file itself",
        lambda at: files.write_text(at / "file", ""),
    ),
    call(
        lambda at: files.write_text(at / "none" / "file", ""),
        "check that the folder exists",
        lambda at: files.write_text(at / "file", ""),
    ),
]


def board(folder: Path, text: str) -> str:
    return str(written(folder / "own.txt", text))


APPLICATIONS = [
    call(lambda _: classify.classify([449]), "they are numbered 0 to", lambda _: classify.classify([0])),
    call(lambda _: classify.classify([]), "give at least one index", lambda _: classify.classify([0])),
    call(lambda _: life.drawn("glider", 2), "give a size from", lambda _: life.drawn("glider", 8)),
    call(lambda _: life.drawn("beacon", 3), "give a larger size", lambda _: life.drawn("beacon", 4)),
    call(
        lambda _: life.drawn("none"),
        "random, or a FILE.txt of # and .",
        lambda at: (life.drawn("random"), life.drawn(board(at, "..#\n..#\n..#\n"))),
    ),
    call(lambda at: life.drawn(str(at / "none.txt")), "check the path", lambda at: life.drawn(board(at, ".#.\n" * 3))),
    call(
        lambda at: (at.joinpath("own.txt").write_bytes(b"\xff"), life.drawn(str(at / "own.txt"))),
        "not a text file",
        lambda at: life.drawn(board(at, ".#.\n" * 3)),
    ),
    call(lambda at: life.drawn(board(at, ".#\n.\n")), "of equal length", lambda at: life.drawn(board(at, ".#.\n" * 3))),
    call(lambda _: life.life(2, 4), "rows and columns", lambda _: life.life(4, 4).plan()),
    call(
        lambda _: life.play(np.eye(3, dtype=bool), 0),
        "play one at least",
        lambda _: life.play(np.eye(3, dtype=bool), 1),
    ),
    call(
        lambda _: life.prepare(8, 8, 1024, parameters=SET, max_failure=-150.0),
        "play 9 at most, choose another set, or accept it with --max-failure -143",
        lambda _: (
            life.prepare(8, 8, 9, parameters=SET, max_failure=-150.0),
            life.prepare(8, 8, 1024, parameters=SET, max_failure=-143),
            life.prepare(8, 8, 1024, max_failure=-150.0),
        ),
    ),
    call(
        lambda _: life.prepare(8, 8, 2, parameters=SET, max_failure=-160.0),
        "more than 2^-160.0; choose another set",
        lambda _: life.prepare(8, 8, 2, max_failure=-160.0),
    ),
    call(lambda _: store.numbers("Reykjavik", 2), "shorten it", lambda _: store.numbers("Reyk", 2)),
    call(lambda _: store.key("C1"), "give its two letters, such as CH", lambda _: store.key("CH")),
    call(
        lambda _: country_lookup.encoded("Bern", country_lookup.Shape()),
        "write it in small letters",
        lambda _: country_lookup.encoded("bern", country_lookup.Shape()),
    ),
    call(
        lambda _: country_lookup.country_lookup(
            country_lookup.Shape(characters=4, entries=0, slots=64, letters=4, limbs=None)
        ),
        "give at least one",
        lambda _: country_lookup.country_lookup(
            country_lookup.Shape(characters=4, entries=1, slots=64, letters=4, limbs=None)
        ),
    ),
    call(
        lambda _: ckks_bootstrapping.ckks_bootstrapping("ckks-depth-2"),
        f"such as {ckks_bootstrapping.FULL_SET}",
        lambda _: ckks_bootstrapping.ckks_bootstrapping(ckks_bootstrapping.FULL_SET),
    ),
    call(lambda _: infer.infer(rows=0), "give a number of those", lambda _: infer.infer(rows=1)),
]


def stated(
    degree: int = 64, *, inputs: tuple[str, ...] = ("x",), limbs: int | None = None, outputs: tuple[str, ...] = ("y",)
) -> Any:
    """A program of statements, planned."""
    program = statements.Program(degree)
    values = [program.Input(limbs, name=name) for name in inputs]
    for name in outputs:
        program.Output(statements.Add(values[0], values[0]), name=name)
    return program.finish().cost()


STATEMENTS = [
    call(lambda _: stated(100), "give the ring degree, such as 16384", lambda _: stated(16384)),
    call(
        lambda _: stated(inputs=("x", "x")), "two inputs 'x'; give each its name", lambda _: stated(inputs=("x", "z"))
    ),
    call(lambda _: stated(limbs=0), "give at least 1", lambda _: stated(limbs=1)),
    call(
        lambda _: stated(outputs=("y", "y")),
        "two outputs 'y'; give each its name",
        lambda _: stated(outputs=("y", "z")),
    ),
    call(lambda _: stated(outputs=()), "give it one with Output(..)", lambda _: stated()),
]


@pf.program(x=pf.Int(0, 63))
def wide(x: pf.Value) -> pf.Value:
    return pf.lookup(x, abs)


SERVERS = [
    call(
        lambda _: pf.Server(wide, pf.Client(pf.Specification.of(ELEMENTS)).evaluation_key),
        "if that was made for another program, bring the key of a client of wide",
        lambda _: pf.Server(wide, pf.Client(pf.Specification.of(wide)).evaluation_key),
    ),
]

TOOLS = [*SWEEPS, *COMPARISONS, *COMPILED, *REPORTS, *APPLICATIONS, *STATEMENTS, *SERVERS]
