"""Plans and executions of programs of all schemes, from inputs to decrypted results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..accelerators import machine as accelerators
from ..errors import Error, InputError
from ..host import memory
from ..host.computer import workers
from ..host.names import pick
from ..host.progress import ProgressHook
from ..language.copies import CopiesProgram
from ..language.lane_program import LaneProgram, batched
from ..language.program import TfheProgram
from ..language.traced import TracedProgram
from ..reports import Report
from ..schemes.context import Ciphertexts, ServerKey
from ..schemes.lanes import LanePlan
from ..schemes.options import PlanOptions
from ..schemes.plan import Execution, Plan, RunResult
from ..schemes.rns import RnsPlan
from ..schemes.tfhe import TfhePlan
from ..schemes.ways import Ways
from .keys import Keys, matching

if TYPE_CHECKING:
    from ..accelerators.machine import Machine, Place
    from ..schemes.context import Parameters

GPU = "gpu"
HERE = ("cpu", GPU, "interpreter")
"""Values of `on` that mean this computer."""

PLANS: Mapping[str, type[Plan]] = {"elements": TfhePlan, "slots": RnsPlan, "lanes": LanePlan}
"""Plan classes by language."""


def place(on: Place, readings: Sequence[str] = ()) -> Machine | None:
    """The machine `on`, by name, file or loaded, with these readings; `None` if `on` is this computer (`HERE`)."""
    if on in HERE:
        if readings:
            raise InputError(
                f"readings apply to machines, but {on} is this computer; name a machine, or omit {readings[0]}"
            )
        return None
    if isinstance(on, str) and not accelerators.is_file(on):
        pick("place to run", accelerators.built_in(on), [*HERE, *accelerators.names()])
    return accelerators.chosen(on, readings)


def named_place(on: Place) -> str:
    """`on` as results and messages name it."""
    return on.argument if isinstance(on, accelerators.Machine) else str(on)


def estimated_place(on: Place, readings: Sequence[str] = ()) -> Machine | None:
    """The `place` of a cost estimate, which exists for the CPU and for machines."""
    if on in HERE[1:]:
        raise InputError(f"a cost is estimated for the CPU or a machine, not for {on!r}; omit on (--on)")
    return place(on, readings)


def plan(program: TracedProgram, parameters: str | Parameters | None = None, **options: Any) -> Plan:  # noqa: ANN401 - those of `PlanOptions`
    """Plans a program with `parameters` and further fields of `PlanOptions`: chooses or checks the set, checks the noise, and lowers."""
    return make_plan(program, PlanOptions(parameters=parameters, **options))


def make_plan(program: TracedProgram, options: PlanOptions) -> Plan:
    """The plan of a program."""
    with memory.limited(options.memory):
        checked = options.checked(program)
        # Reals next to integers need a batch anywhere, as `make` says.
        of_batches = isinstance(program, TfheProgram) and program.reals is not None
        if checked.machine is not None and not of_batches:
            checked.machine.expect_executes(program.name, on_slots=program.kind != "elements")
        return PLANS[program.kind].make(program, checked)


def run(
    program: TracedProgram,
    inputs: Mapping[str, Any],
    options: PlanOptions,
    *,
    on: Place = "cpu",
    keys: Keys | None = None,
    threads: int | None = None,
    flood: float | None = None,
    progress: ProgressHook | None = None,
) -> RunResult:
    """See `Program.run`."""
    program.flatten(inputs)
    options = replace(options, machine=place(on), gpu=on == GPU)
    if keys is None:
        planned = make_plan(program, options)
    else:
        options = with_keys(program, options, keys)
        planned = keys.planned(program, options, lambda: make_plan(program, options))
    with memory.limited(options.memory):
        return run_plan(planned, inputs, on=on, keys=keys, threads=threads, flood=flood, progress=progress)


def with_keys(program: TracedProgram, options: PlanOptions, keys: Keys) -> PlanOptions:
    """The options for a run with existing keys: their set, which must be the named one, if any."""
    if not isinstance(keys, Keys):
        raise InputError(
            f"keys are {type(keys).__name__}; give {program.name}.keygen(), those of a result, or pf.Keys.load(folder)"
        )
    if keys.scheme != program.scheme:
        raise InputError(
            f"the keys are for {keys.scheme.upper()}, but {program.name} is a {program.scheme.upper()} program; use keys that were "
            "made for it"
        )
    return options.accepting(matching(keys, options.parameters))


def run_plan(
    planned: Plan,
    inputs: Mapping[str, Any],
    *,
    on: Place | None = None,
    keys: Keys | None = None,
    threads: int | None = None,
    flood: float | None = None,
    progress: ProgressHook | None = None,
) -> RunResult:
    """Encrypts, executes, decrypts, and compares with the program in the clear.

    With a plan for a machine, it executes the reported schedule on the ciphertexts.
    """
    on = _place_of(planned, on)
    expect_threads(on, threads)
    planned.expect_place(on)
    planned.check_flood(flood)
    flat = planned.program.flatten(inputs)
    expected = planned.evaluate(flat)
    laps = Laps()
    if keys is None:
        keys = Keys.generate(planned, progress)
        laps("keys")
    else:
        planned.check_memory(keys.server.bytes)
    # Report missing keys before anything is encrypted.
    planned.expect_keys(keys.server)
    if planned.public:
        ciphertexts = planned.context.encrypt_publicly(keys.public(), flat, keys.server)
    else:
        ciphertexts = planned.context.encrypt(keys.client, flat)
    laps("encrypt")
    results, simulation = execute(
        planned, keys.server, ciphertexts, on=on, threads=threads, progress=progress, lap=laps
    )
    found = planned.decrypt(keys.client, results, flood)
    laps("decrypt")
    return planned.result(
        Execution(
            on=on,
            inputs=flat,
            found=found,
            expected=expected,
            results=results,
            seconds=laps.seconds,
            ciphertext_bytes=ciphertexts.bytes,
            keys=keys,
            flood=flood,
            simulation=simulation,
        )
    )


def execute(
    planned: Plan,
    server: ServerKey,
    ciphertexts: Ciphertexts,
    *,
    on: Place | None = None,
    threads: int | None = None,
    progress: ProgressHook | None = None,
    lap: Callable[[str], None] = lambda _: None,
) -> tuple[Ciphertexts, Report | None]:
    """The server's part: executes on ciphertexts; returns ciphertexts, and the machine's report if its schedule was executed."""
    simulation, on = None, _place_of(planned, on)
    expect_threads(on, threads)
    if planned.machine is not None:
        mapped = planned.machine.map(planned)
        lap("compile")
        results, simulation = mapped.replay(server, ciphertexts, progress)
        lap("replay")
    else:
        planned.expect_place(on)
        results = planned.compute(server, ciphertexts, on, workers(threads), progress)
        lap("execute")
    return planned.hidden(server, results), simulation


def execute_each(
    planned: Plan,
    server: ServerKey,
    requests: Sequence[Ciphertexts],
    *,
    threads: int | None = None,
    progress: ProgressHook | None = None,
) -> list[Ciphertexts | BaseException]:
    """`execute` on the CPU for the requests of one execution: the results of each, or its error."""
    found = planned.compute_each(server, requests, workers(threads), progress)
    return [one if isinstance(one, BaseException) else planned.hidden(server, one) for one in found]


def expect_threads(on: str, threads: int | None) -> None:
    """Rejects an invalid number of threads, or one for a target without threads."""
    workers(threads)
    if threads is not None and on != HERE[0]:
        raise InputError(f"threads={threads} (--threads) applies to {HERE[0]}, but this runs on {on}; omit it")


def _place_of(planned: Plan, on: Place | None) -> str:
    """The target of a plan: `on`, which must match the plan, or by default the CPU or the plan's machine."""
    own = HERE[0] if planned.machine is None else planned.machine.name
    asked = own if on is None else named_place(on)
    if on is not None and (asked in HERE) != (planned.machine is None):
        raise InputError(f"the plan of {planned.program.name} is for {own}, not for {asked}; plan it for {asked}")
    return asked


class Laps:
    """Seconds of each step, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def __call__(self, name: str) -> None:
        """Ends the step called `name`."""
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now


def simulate(program: TracedProgram, options: PlanOptions) -> Report:
    """See `Program.simulate`."""
    assert options.machine is not None
    planned = make_plan(program, unguarded(options))
    with memory.limited(options.memory):
        return planned.machine.simulate(planned)


def cost(program: TracedProgram, options: PlanOptions) -> Report:
    """See `Program.cost`."""
    begin = time.process_time()
    planned = make_plan(program, unguarded(options))
    with memory.limited(options.memory):
        return cost_of(planned, {"plan": time.process_time() - begin})


def cost_of(planned: Plan, before: Mapping[str, float]) -> Report:
    """As `Plan.cost`; for a batch of integers on this computer, also the cost of the other way to execute it."""
    report, program = planned.cost(before), planned.program
    if planned.machine is not None or not isinstance(program, CopiesProgram | LaneProgram) or program.single.reals:
        return report
    found = ways(program.single, program.batch, planned if isinstance(planned, LanePlan) else None)
    return Report(report.kind, {**report.to_dict(), "ways": found.to_dict()})


def ways(single: TfheProgram, batch: int, on_slots: LanePlan | None = None) -> Ways:
    """Both ways to execute a batch of inputs of `single` on this computer."""
    try:
        found: Plan | Error = on_slots or make_plan(batched(single, batch, LaneProgram), PlanOptions(security=0))
    except Error as error:
        found = error
    return Ways.of(single, batch, found)


def unguarded(options: PlanOptions) -> PlanOptions:
    """The options for uses without encryption, which accept any security unless `security` is given."""
    return options.accepting(options.parameters)
