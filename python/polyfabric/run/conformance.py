"""One program, one key and one input at every place that can execute it: are ciphertexts and values the same?

Each instruction set has a new process, because a process uses one. It has the evaluation key and the inputs, as a server has; values are
compared where the client's key is.

Two executions give the same bits if their arithmetic is exact, or if it is that of one machine. TFHE on this computer multiplies polynomials in
f64, whose rounding depends on the instruction set. There only values must agree; the bits of one instruction set are the same on every run.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..accelerators import machine as accelerators
from ..errors import Error, FileError, InputError, RunError
from ..host import memory
from ..host.computer import workers
from ..host.processes import spawned
from ..schemes import gpu
from ..schemes.context import Ciphertexts, ServerKey, content
from ..schemes.options import OWN, PlanOptions
from ..schemes.plan import Plan, plain
from .execution import HERE, execute
from .keys import load_server_key, matching
from .receipts import Place, Receipt

if TYPE_CHECKING:
    from ..host.progress import ProgressHook
    from .file_steps import Decrypted

CPU, GPU, INTERPRETER = HERE

INSTRUCTION_SETS = ("avx512", "avx2", "neon", "portable")
"""All instruction sets, the fastest first. Each is tried, since a process can use any that its processor has."""

EXACT, FLOATING = "exact", "f64"
"""Arithmetic with one result everywhere, and with roundings."""


@dataclass(frozen=True)
class Computed:
    """The result at one place."""

    place: Place
    outputs: dict[str, bytes]
    """Files by output."""
    decrypted: Decrypted | None = None
    """The values; `None` without the client's key, or if they cannot be decrypted."""
    problem: str | None = None
    """Why its values are wrong."""

    @property
    def error_over_bound(self) -> float | None:
        """The largest error as a part of its bound, with CKKS; `None` for exact values, and without expected values."""
        if self.decrypted is None or self.decrypted.error is None:
            return None
        parts = [error / bound for name, error in self.decrypted.error.items() if (bound := self.decrypted.bound[name])]
        return max(parts, default=None)


@dataclass(frozen=True)
class Conformance:
    """A comparison of places, with its receipt."""

    receipt: Receipt
    computed: list[Computed]
    left_out: dict[str, str]
    """Places of this computer that cannot execute the program, with the reason."""

    @property
    def outputs(self) -> dict[str, bytes]:
        """The files of the outputs, from a place that everybody has: portable instructions, if the rounding depends on the instruction set."""
        chosen = self.computed[0]
        if chosen.place.arithmetic == FLOATING:
            portable = (one for one in self.computed if one.place.instruction_set == "portable")
            chosen = next(portable, chosen)
        return chosen.outputs

    @property
    def differences(self) -> list[str]:
        """Each difference that should not be."""
        found = []
        for one in self.computed:
            first = self._first(one)
            if one.place.arithmetic != FLOATING:
                names = [name for name, own in one.place.outputs.items() if own != first.place.outputs[name]]
                found += [f"the ciphertexts of {name!r} on {one.place} and on {first.place} differ" for name in names]
            if one.problem is not None:
                found.append(f"the values on {one.place} are wrong: {one.problem}")
            elif one.decrypted is not None and one.decrypted.expected is None and self.receipt.scheme != "ckks":
                values = [plain(own.decrypted.outputs) for own in (one, self.computed[0]) if own.decrypted is not None]
                if any(own != values[0] for own in values):
                    found.append(f"the values on {one.place} and on {self.computed[0].place} differ")
        return found

    @property
    def conforms(self) -> bool:
        """Whether all places agree as far as their arithmetic promises."""
        return not self.differences

    def same_bits(self, one: Computed) -> bool | None:
        """Whether its ciphertexts are those of the first place with the same arithmetic; `None` for that place itself."""
        first = self._first(one)
        return None if first is one else one.place.outputs == first.place.outputs

    def _first(self, one: Computed) -> Computed:
        return next(own for own in self.computed if own.place.arithmetic == one.place.arithmetic)

    def to_dict(self) -> dict[str, Any]:
        """All of it as data, without values and ciphertexts."""
        rows = [
            {
                "on": one.place.on,
                "instruction_set": one.place.instruction_set,
                "arithmetic": one.place.arithmetic,
                "same_bits": self.same_bits(one),
                "correct": False if one.problem else None if one.decrypted is None else one.decrypted.correct,
                "error_over_bound": one.error_over_bound,
                "seconds": one.place.seconds,
            }
            for one in self.computed
        ]
        return {
            "program": self.receipt.program,
            "scheme": self.receipt.scheme,
            "parameters": self.receipt.parameters,
            "conforms": self.conforms,
            "differences": self.differences,
            "places": rows,
            "left_out": self.left_out,
        }


@dataclass(frozen=True)
class Compared:
    """A part of a computation, here and in a receipt."""

    what: str
    same: bool | None
    """`None` if there is nothing to compare with."""


@dataclass(frozen=True)
class Check:
    """A comparison of a computation with a receipt."""

    receipt: Receipt
    compared: list[Compared]
    """The program, the parameter set, the machine and the files."""
    repeated: list[Compared]
    """The outputs at each place of this computer."""
    conformance: Conformance | None
    """The repeated computation; `None` if it would be another one."""

    @classmethod
    def of(
        cls,
        receipt: Receipt,
        compared: list[Compared],
        results: Mapping[str, tuple[str, str]],
        conformance: Conformance | None,
    ) -> Check:
        """Compares a repeated computation, if there is one, and files with `results`, their names and hashes by output, with the receipt.

        A file counts only if a place here gives it too, because a receipt may claim any hash for a place that nobody can repeat.
        """
        computed = [] if conformance is None else conformance.computed
        for name, (file, own) in results.items():
            claimed = any(place.outputs.get(name) == own for place in receipt.places)
            again = any(one.place.outputs.get(name) == own for one in computed)
            compared = [*compared, Compared(file, (again or None) if claimed else False)]
        repeated = []
        for one in computed:
            there = [place.outputs for place in receipt.places if _comparable(one.place, place)]
            for name, own in one.place.outputs.items():
                same = all(outputs.get(name) == own for outputs in there) if there else None
                repeated.append(Compared(f"{name!r} on {one.place}", same))
            if any(outputs.keys() != one.place.outputs.keys() for outputs in there):
                repeated.append(Compared(f"names of outputs on {one.place}", same=False))
        return cls(receipt, compared, repeated, conformance)

    @property
    def conforms(self) -> bool:
        """Whether everything agrees, each file was compared, and the computation was repeated at one place of the receipt at least."""
        if self.conformance is None or not self.conformance.conforms:
            return False
        agree = all(own.same for own in self.compared) and all(own.same is not False for own in self.repeated)
        return agree and any(own.same for own in self.repeated)

    def to_dict(self) -> dict[str, Any]:
        """All of it as data."""
        return {
            "conforms": self.conforms,
            "compared": [asdict(own) for own in (*self.compared, *self.repeated)],
            "made_with": self.receipt.made_with,
            "repeated": None if self.conformance is None else self.conformance.to_dict(),
        }


def _comparable(here: Place, there: Place) -> bool:
    """Whether two places promise the same bits."""
    if here.arithmetic != there.arithmetic:
        return False
    return here.arithmetic != FLOATING or (here.on, here.instruction_set) == (there.on, there.instruction_set)


@dataclass(frozen=True)
class Way:
    """A plan, and the places that execute it."""

    planned: Plan
    options: PlanOptions
    arithmetic: str
    places: list[str]

    def job(self, plan: Callable[[PlanOptions], Plan], key: Path, inputs: Mapping[str, Path]) -> Job:
        """Its execution in a process."""
        machine = self.options.machine
        named = None
        if machine is not None:
            named = (machine.argument, [f"{fact}={own}" for fact, own in machine.readings.items()])
            if accelerators.load(*named).to_dict() != machine.to_dict():
                raise InputError(
                    f"{machine.name} has other figures than {machine.argument}, which another process would load; write them to a file, and "
                    "name that"
                )
        options = replace(self.options, machine=None, parameters=None)
        return Job(plan, options, named, self.planned.program.scheme, key, inputs, self.places, memory.asked())


def ways(
    planned: Plan, plan: Callable[[PlanOptions], Plan], options: PlanOptions, skip: Collection[str]
) -> tuple[list[Way], dict[str, str]]:
    """What executes a plan, without the places to `skip`; and the places of this computer that cannot, with the reason."""
    machine, elements = planned.machine, planned.program.kind == "elements"
    here, left_out = [CPU, INTERPRETER], {}
    if machine is None:
        made = [Way(planned, options, FLOATING if elements else EXACT, here)]
    elif not elements:
        made = [Way(planned, options, EXACT, [*here, machine.name])]
    else:
        # This computer computes in f64, and only the interpreter also in the machine's arithmetic.
        made = [Way(planned, options, machine.name, [INTERPRETER, machine.name])]
        own = replace(options, machine=None, widths=OWN)
        planned_here = plan(own)
        if _reads(planned_here) == _reads(planned):
            made.insert(0, Way(planned_here, own, FLOATING, here))
        else:
            left_out[CPU] = f"its plan reads inputs in another form than that of {machine.name}"
    if made[0].arithmetic in (EXACT, FLOATING) and gpu.here()["card"] is not None:
        try:
            made[0].planned.expect_place(GPU)
            made[0].places.append(GPU)
        except Error as error:
            left_out[GPU] = str(error)
    kept = [replace(way, places=[place for place in way.places if place not in skip]) for way in made]
    if not any(way.places for way in kept):
        raise InputError(
            f"no place is left without {', '.join(sorted(skip))}; skip (--skip) fewer, or name a machine with on (--on)"
        )
    return [way for way in kept if way.places], left_out


def _reads(planned: Plan) -> tuple[Any, Any]:
    """The program and the form of its inputs, as their files have them."""
    signature = planned.context.to_dict()["signature"]
    return signature["hash"], signature["inputs"]


@dataclass(frozen=True)
class Job:
    """Executions in a process with one instruction set."""

    plan: Callable[[PlanOptions], Plan]
    options: PlanOptions
    """Without the machine and the parameter set, which do not pickle. The set is the key's."""
    machine: tuple[str, list[str]] | None
    """Its name or file, and readings."""
    scheme: str
    key: Path
    inputs: Mapping[str, Path]
    places: list[str]
    memory: int | None
    """The limit of the caller."""

    def run(self, instruction_set: str, only: str | None) -> list[tuple[str, dict[str, bytes], float]] | None:
        """Executes at each place, or `only` at one: outputs and seconds; `None` if the processor lacks the instruction set."""
        os.environ["POLYFABRIC_ISA"] = instruction_set
        try:
            _native.instruction_set()
        except Error:
            return None
        with warnings.catch_warnings(), memory.limited(self.memory):
            # The caller has shown them.
            warnings.simplefilter("ignore")
            machine = None if self.machine is None else accelerators.load(*self.machine)
            server = load_server_key(self.scheme, self.key)
            planned = self.plan(replace(self.options, machine=machine, parameters=matching(server, None)))
            inputs = planned.context.read(self.inputs, outputs=False, server=server)
            return [
                (place, *_executed(planned, server, inputs, place)) for place in self.places if only in (None, place)
            ]


def _executed(planned: Plan, server: ServerKey, inputs: Ciphertexts, place: str) -> tuple[dict[str, bytes], float]:
    """The files of the outputs, and the seconds of the execution."""
    begin = time.perf_counter()
    if place in HERE:
        results = planned.compute(server, inputs, place, workers(None), None)
    else:
        results, _ = execute(planned, server, inputs)
    seconds = time.perf_counter() - begin
    names = planned.context.names(outputs=True)
    return {name: content(planned.context.write(results, name, outputs=True)) for name in names}, seconds


def executions(way: Way, job: Job, progress: ProgressHook | None) -> Iterator[tuple[Place, dict[str, bytes]]]:
    """The outputs at each place, this computer's in every instruction set that its processor has."""
    best = True
    for at, name in enumerate(INSTRUCTION_SETS):
        if progress is not None:
            progress(f"places of {way.planned.program.name}", at, len(INSTRUCTION_SETS))
        if not best and CPU not in way.places:
            return
        with spawned(1) as pool:
            try:
                found = pool.submit(job.run, name, None if best else CPU).result()
            except BrokenProcessPool:
                raise RunError(
                    f"{way.planned.program.name}: the process that executed with {name} was killed, perhaps for lack of memory; free "
                    "some, or take a smaller program"
                ) from None
        if found is None:
            continue
        best = False
        for place, files, seconds in found:
            hashes = {output: hashlib.sha256(data).hexdigest() for output, data in files.items()}
            yield Place(place, name, way.arithmetic, seconds, hashes), files


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise FileError(f"{path}: cannot read ({problem.strerror}); check the path") from problem


def receipt_of(planned: Plan, key: str, inputs: Mapping[str, str], places: Sequence[Place]) -> Receipt:
    """The receipt of executions of a plan; `key` and `inputs` are hashes of files."""
    data = planned.context.to_dict()
    signature = data["signature"]
    machine = planned.machine
    return Receipt(
        program=planned.program.name,
        scheme=planned.program.scheme,
        program_hash=bytes(signature["hash"]).hex(),
        parameters=planned.parameters.name,
        parameters_sha256=_data_hash(data["parameters"] if "parameters" in data else signature["parameters"]),
        machine=None if machine is None else machine.name,
        machine_sha256=None if machine is None else _data_hash(machine.to_dict()),
        evaluation_key=key,
        inputs=dict(inputs),
        places=list(places),
        made_with={
            "polyfabric": version("polyfabric"),
            "python": platform.python_version(),
            "processor": platform.machine(),
            "kernels": _native.instruction_set(),
        },
    )


def _data_hash(data: object) -> str:
    """SHA-256 of data as JSON, in the order of the alphabet."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
