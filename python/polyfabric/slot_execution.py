"""Plans, keys and execution of CKKS and BGV programs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log, log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from .errors import InputError, ParameterError, RunError
from .execution import SecurityWarning, cores, place, workers
from .language.place import warn_user
from .language.slot_program import SlotProgram
from .language.slot_shapes import SlotOutputs, SlotShapes, numbers
from .machines import Machine, simulation
from .names import pick
from .reports import Report, write_together
from .reports.units import bytes_text
from .reports.units import security as security_text
from .slot_parameters import SlotParameters, chosen
from .timing import of_slots

if TYPE_CHECKING:
    from .language.slots import Native, Numbers
    from .progress import ProgressHook


STANDARD_SECURITY = 128.0
"""Bits that a set of one's own must have, unless fewer are asked for: of the sets that come with the project a name is enough."""

MOST_FLOOD = 2.0**48
"""The largest deviation that noise is drawn with, in units of a polynomial."""


@dataclass(frozen=True)
class SlotPlan:
    """A program, the parameter set that carries it, and what running it takes."""

    program: SlotProgram
    native: _native.SlotPlan = field(repr=False)
    facts: dict[str, Any] = field(repr=False)
    measured: bool = False
    public: bool = False
    """Whether inputs are encrypted with the client's public key, which leaves more noise."""

    @property
    def parameters(self) -> str:
        """Name of the parameter set."""
        return str(self.facts["parameters"]["name"])

    @cached_property
    def signature(self) -> _native.SlotSignature:
        """What a client has to know of the program."""
        return self.native.signature()

    @property
    def key_switch(self) -> Report | None:
        """Its key switch on the machine that it is for, and what the compiler estimated of the others."""
        facts = self.facts["key_switch"]
        return None if facts is None else Report("key switch", facts)


@dataclass(frozen=True)
class SlotKeys:
    """A client's secret key, and the switching keys that one program asks of it."""

    client: _native.SlotClient
    server: _native.SlotServer

    @property
    def parameters(self) -> str:
        """Name of their parameter set."""
        return self.client.parameters.name

    @property
    def parameter_set(self) -> SlotParameters:
        """Their parameter set, whether it comes with the project or not."""
        return SlotParameters(self.client.parameters)

    @classmethod
    def generate(cls, planned: SlotPlan, progress: ProgressHook | None = None) -> SlotKeys:
        """Fresh keys for a plan, from the operating system's randomness."""
        if not isinstance(planned, SlotPlan):
            raise TypeError(
                f"SlotKeys.generate takes the plan of a program, which says what keys it needs, not {planned!r}; give the "
                "plan of a result, done.plan, or let program.run(..) make the keys"
            )
        check_memory(planned)
        client = _native.SlotClient.generate(planned.signature)
        return cls(client, client.server(planned.signature, progress))

    def save(self, folder: str | Path) -> None:
        """Writes `client.key` (secret) and `server.key` (masks as seeds) to `folder`."""
        write_together(folder, {"client.key": self.client.save, "server.key": self.server.save})

    def save_public(self, folder: str | Path) -> None:
        """Writes `public.key` to `folder`: for whoever encrypts for this client, and cannot decrypt."""
        write_together(folder, {"public.key": self.client.public().save})

    @classmethod
    def load(cls, folder: str | Path, scheme: str = "ckks") -> SlotKeys:
        """The keys that `save` wrote, of one key generation; `scheme` is "ckks" or "bgv"."""
        path, chosen = Path(folder), pick("scheme", scheme, ["ckks", "bgv"])
        keys = cls(
            _native.SlotClient.load(chosen, path / "client.key"), _native.SlotServer.load(chosen, path / "server.key")
        )
        keys.server.expect_client(keys.client)
        return keys


@dataclass(frozen=True)
class SlotRunResult:
    """The answer, the answer expected, and what the execution took."""

    program: str
    scheme: str
    on: str
    parameters: str
    outputs: SlotOutputs
    expected: SlotOutputs
    error: dict[str, float]
    """By output: the largest error of a slot; with BGV, the number of wrong ones."""
    bound: dict[str, float]
    """By output: what the largest error stays under but for a probability of 2^-40; with BGV, 0."""
    distance: dict[str, float]
    """By output: the largest distance of a slot from what the true functions give, in place of the polynomials that approximate them; nothing if
    the program approximates none."""
    bound_for: str
    """What the bounds are of: "any inputs" within their types, or, where those bounds say nothing, "these inputs"."""
    seconds: dict[str, float]
    sizes: dict[str, int]
    """Bytes of the switching keys and of the ciphertexts."""
    nodes: list[dict[str, Any]]
    """Every operation: place, level, scale, bound of its error, and the measured error where that was asked for."""
    plan: SlotPlan = field(repr=False)
    keys: SlotKeys = field(repr=False)
    simulation: Report | None = field(default=None, repr=False)
    """What the machine takes; nothing for a run on this computer."""

    @property
    def correct(self) -> bool:
        """Whether every output is the clear program's: exactly with BGV, within the bound with CKKS."""
        return all(self.error[name] <= self.bound[name] for name in self.error)

    @property
    def first_beyond(self) -> dict[str, Any] | None:
        """The first operation whose measured error is beyond its bound."""
        return next((node for node in self.nodes if node.get("measured", 0.0) > node.get("bound", 0.0)), None)

    @property
    def report(self) -> Report:
        """The operations as a report."""
        return Report("operations", {"program": self.program, "parameters": self.parameters, "rows": self.nodes})

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that a bound of the plan is passed: of BGV, that it fails."""
        return float(self.plan.facts["log2_failure"])

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data; complex numbers as pairs."""
        return {
            "program": self.program,
            "scheme": self.scheme,
            "on": self.on,
            "parameters": self.plan.facts["parameters"],
            "correct": self.correct,
            "output": plain(self.outputs),
            "expected": plain(self.expected),
            "error": self.error,
            "bound": self.bound,
            "distance_from_true_functions": self.distance,
            "bound_for": self.bound_for,
            "public_key": self.plan.public,
            "log2_failure": self.log2_failure,
            "seconds": self.seconds,
            "sizes_bytes": self.sizes,
            "operations": self.nodes,
            "key_switch": self.plan.facts["key_switch"],
            "simulation": None if self.simulation is None else self.simulation.to_dict(),
        }


def plain(values: Any) -> Any:  # noqa: ANN401 - numbers, lists and dictionaries of them
    """`values` as JSON takes them: complex numbers as pairs."""
    if isinstance(values, dict):
        return {name: plain(value) for name, value in values.items()}
    if isinstance(values, list):
        return [plain(value) for value in values]
    return [values.real, values.imag] if isinstance(values, complex) else values


def plan(
    program: SlotProgram,
    parameters: str | SlotParameters | None = None,
    *,
    measured: bool = False,
    security: float | None = None,
    machine: Machine | None = None,
    key_switch: str | None = None,
    public: bool = False,
) -> SlotPlan:
    """Chooses or checks the parameter set, places rescalings, and lowers; under 128 bits of security with a warning.

    With `security`, a set of fewer bits is refused, or not chosen; without it, a set of one's own that has fewer than 128, or unknown
    security. With `measured`, the value of every operation is kept, so that its error can be measured. With `machine`, the program is
    lowered as that wants it, in its words. `key_switch` is the set's ("set"; so on this computer, or if a set is named), the one that
    the compiler chooses ("auto"; so on a machine), or a named one: "listing1", or "d8" for eight digits. With `public`, errors are those of
    inputs that are encrypted with the public key.
    """
    if key_switch is not None and not isinstance(key_switch, str):
        raise InputError(f"key_switch={key_switch!r}; give a name")
    asked = chosen(parameters)
    own = isinstance(asked, SlotParameters)
    bits = (STANDARD_SECURITY if own else 0.0) if security is None else security
    if not isinstance(bits, int | float) or not 0 <= bits < inf:
        raise InputError(f"security={security!r}; give a number of bits, such as 128")
    wanted = switch_for(asked, machine, key_switch)
    on = machine.native if machine else None
    given = asked.native if isinstance(asked, SlotParameters) else asked
    native = _native.SlotPlan.make(program.native, given, bool(measured), on, wanted, bits, bool(public))
    facts = json.loads(native.to_json())
    found = facts["parameters"]
    if found["security_bits"] < bits:
        raise ParameterError(f"{program.name}: {too_weak(found, bits, asked is not None, own and security is None)}")
    warning = found.get("warning")
    if warning is not None:
        warn_user(warning, SecurityWarning)
    return SlotPlan(program, native, facts, measured, public)


def too_weak(found: Mapping[str, Any], bits: float, named: bool, by_default: bool) -> str:
    """Why a set of so few bits is refused, and what to do."""
    has = (
        f"{security_text(found['security_bits'])} bits of security"
        if found["security_bits"]
        else "no security that is known of"
    )
    figures = f"logQP {found['log2_q'] + found['log2_p']:.0f} at degree {found['ring_degree']}"
    known = f"parameter set {found['name']} has {has} ({found['security_source']}; {figures})"
    if by_default:
        least = security_text(found["security_bits"])
        return (
            f"{known}, but {bits:.0f} are needed; take a set with a larger ring_degree or fewer bits of moduli, or accept this one "
            f"for experiments with security={least} (--security {least})"
        )
    other = ", or none" if named else ""
    return f"{known}, but {bits:.0f} are asked for; name a set with a larger degree{other}, or ask for fewer"


def switch_for(parameters: object, machine: Machine | None, wanted: str | None) -> str:
    """The key switch that is wanted; else the compiler's choice on a machine, or the set's if one is named."""
    return wanted or ("auto" if machine is not None and parameters is None else "set")


def run(
    program: SlotProgram,
    inputs: Mapping[str, Numbers],
    *,
    on: str = "cpu",
    parameters: str | SlotParameters | None = None,
    keys: SlotKeys | None = None,
    threads: int | None = None,
    measure: bool = False,
    security: float | None = None,
    key_switch: str | None = None,
    flood: float | None = None,
    public: bool = False,
    progress: ProgressHook | None = None,
) -> SlotRunResult:
    """See `SlotProgram.run`."""
    program.flatten(inputs)
    machine = place(on)
    if keys is not None:
        if not isinstance(keys, SlotKeys):
            raise InputError(f"keys are {type(keys).__name__}; give those of a result, or pf.SlotKeys.load(folder)")
        asked, own = chosen(parameters), keys.parameter_set
        if asked is not None and asked != (own if isinstance(asked, SlotParameters) else own.name):
            raise InputError(f"the keys are of parameter set {own}, not {asked}; name that set")
        # Whoever made the keys has accepted their set.
        parameters, security = own, 0 if security is None else security
    planned = plan(
        program,
        parameters,
        measured=measure,
        security=security,
        machine=machine,
        key_switch=key_switch,
        public=public,
    )
    return run_plan(planned, inputs, on=on, machine=machine, keys=keys, threads=threads, flood=flood, progress=progress)


def run_plan(
    planned: SlotPlan,
    inputs: Mapping[str, Numbers],
    *,
    on: str = "cpu",
    machine: Machine | None = None,
    keys: SlotKeys | None = None,
    threads: int | None = None,
    flood: float | None = None,
    progress: ProgressHook | None = None,
) -> SlotRunResult:
    """Encrypts, executes, decrypts, and compares with the program in the clear.

    On a machine the schedule that is reported on is carried out, on the ciphertexts.
    """
    program = planned.program
    workers(threads)
    check_flood(planned, flood)
    flat = program.flatten(inputs)
    whole, magnitudes = planned.native.evaluate(flat, program.mapped)
    seconds: dict[str, float] = {}
    last = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[name], last = now - last, now

    if keys is None:
        keys = SlotKeys.generate(planned, progress)
        lap("keys")
    # What the server would miss is told before anything is encrypted.
    keys.server.expect_keys(planned.native)
    encrypter = keys.client.public() if planned.public else keys.client
    ciphertexts = encrypter.encrypt(planned.signature, flat)
    lap("encrypt")
    results, simulated = execute(planned, keys.server, ciphertexts, on, machine, threads, progress, lap)
    found = decrypt(planned, keys.client, results, flood)
    lap("decrypt")
    nodes = [dict(node) for node in planned.facts["nodes"]]
    bound_for = "any inputs"
    if any(bound(planned, name) >= largest(whole[name]) > 0 for name in program.outputs if program.scheme == "ckks"):
        bound_for = "these inputs"
        here = planned.native.bounds(magnitudes)
        for node in nodes:
            node["bound"] = here[node["node"]]
    if planned.measured:
        measured = keys.client.errors(planned.native, flat, results)
        for node in nodes:
            if node["node"] in measured:
                node["measured"] = measured[node["node"]]
    return SlotRunResult(
        program=program.name,
        scheme=program.scheme,
        on=on,
        parameters=planned.parameters,
        outputs=program.shaped(found),
        expected=program.shaped(whole),
        error=errors(program, found, whole),
        bound={
            name: flooded(program, limit, flood)
            for name, limit in zip(program.outputs, output_bounds(nodes), strict=True)
        },
        distance=errors(program, found, program.native.evaluate_functions(flat, program.functions))
        if program.functions
        else {},
        bound_for=bound_for,
        seconds=seconds,
        sizes={"keys": keys.server.bytes, "inputs": ciphertexts.bytes, "outputs": results.bytes},
        nodes=nodes,
        plan=planned,
        keys=keys,
        simulation=simulated,
    )


def execute(
    planned: SlotPlan,
    server: _native.SlotServer,
    ciphertexts: _native.SlotCiphertexts,
    on: str,
    machine: Machine | None,
    threads: int | None,
    progress: ProgressHook | None,
    lap: Callable[[str], None],
) -> tuple[_native.SlotCiphertexts, Report | None]:
    """The server's part: this computer's result, or that of a machine's schedule and what the machine takes."""
    if machine is None:
        count = None if on == "interpreter" else workers(threads)
        results = server.execute(planned.native, ciphertexts, count, progress)
        lap("execute")
        return results, None
    mapped = machine.compile(planned)
    simulated = simulation(mapped)
    lap("compile")
    results = mapped.replay(server, ciphertexts)
    lap("replay")
    return results, simulated


def check_flood(planned: SlotPlan, flood: float | None) -> None:
    """Refuses noise that is none, and noise for a scheme whose decryptions are exact."""
    if flood is None:
        return
    if planned.program.scheme != "ckks":
        raise InputError(f"flood={flood!r} hides the noise of CKKS; what BGV decrypts has none in it: leave it out")
    # A unit of the decrypted polynomial, in a slot.
    scale = 2 ** min(node["scale_log2"] for node in planned.facts["nodes"] if node["op"] == "output")
    unit = sqrt(2 * planned.program.slots) / scale
    if not isinstance(flood, int | float) or not (flood == 0 or unit <= flood <= unit * MOST_FLOOD):
        raise InputError(
            f"flood={flood!r}; give the deviation of the noise to add to every slot, from {unit:.1e} to "
            f"{unit * MOST_FLOOD:.1e} at the scale of the outputs, or 0 for none"
        )


def decrypt(
    planned: SlotPlan, client: _native.SlotClient, results: _native.SlotCiphertexts, flood: float | None
) -> dict[str, Native]:
    """The outputs; with `flood` as others may see them, with noise of that deviation in every slot, and a warning."""
    real = real_outputs(planned.program.shapes)
    if flood is None:
        # What is measured may be anything: the first operation beyond its bound is then named.
        return client.decrypt(planned.signature, results, None if planned.measured else real)
    found, notices = client.decrypt_to_share(planned.signature, results, real, flood)
    for notice in dict.fromkeys(notices):
        warn_user(notice + hidden(planned, flood), SecurityWarning)
    return found


def real_outputs(shapes: SlotShapes) -> list[str]:
    """The outputs whose slots are real numbers."""
    return [name for name, kind in shapes.outputs.items() if kind.kind == "real"]


def hidden(planned: SlotPlan, flood: float) -> str:
    """How well noise of that deviation hides what the encryption leaves in a result, by its bound for any inputs."""
    if flood == 0:
        return ""
    # k decryptions and κ bits take a deviation of √(12 k)·2^(κ/2) bounds in a coefficient, which is no larger than a slot.
    coefficient = flood / sqrt(2 * planned.program.slots)
    largest_bound = max(bound(planned, name) for name in planned.program.outputs)
    bits = max(0.0, 2 * log2(coefficient / (sqrt(12) * largest_bound)))
    return f"; by the bound of its error, {largest_bound:.1e}, one of them is hidden to {bits:.0f} bits of statistical security"


def flooded(program: SlotProgram, limit: float, flood: float | None) -> float:
    """`limit`, and what noise of that deviation stays under in every slot but for a probability of 2^-40."""
    return limit + (flood or 0.0) * sqrt((40 + log2(program.slots)) * log(2))


def errors(program: SlotProgram, found: Mapping[str, Native], expected: Mapping[str, Native]) -> dict[str, float]:
    """By output: the largest error of its own slots, not of those behind its end; with BGV, the number of wrong ones."""
    kinds = program.outputs.items()
    return {name: error(found[name], expected[name], None if kind.scalar else kind.length) for name, kind in kinds}


def error(found: Native, expected: Native, slots: int | None) -> float:
    """The largest error of so many slots, or of all; with BGV, the number of wrong ones."""
    a, b = numbers(found)[:slots], numbers(expected)[:slots]
    return float(np.abs(a - b).max()) if isinstance(found, tuple) else float((a != b).sum())


def bound(planned: SlotPlan, output: str) -> float:
    """The bound of an output's error, for any inputs within their types."""
    return output_bounds(planned.facts["nodes"])[list(planned.program.outputs).index(output)]


def output_bounds(nodes: list[dict[str, Any]]) -> list[float]:
    """The bounds of the outputs, which are the last nodes of a program, in order; with BGV, 0."""
    return [node.get("bound", 0.0) for node in nodes if node["op"] == "output"]


def largest(slots: Native) -> float:
    """The largest absolute value of a slot."""
    return float(np.abs(numbers(slots)).max(initial=0.0))


def available_bytes() -> int | None:
    """Memory that this computer has left, where it tells."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as info:
            return next((int(line.split()[1]) << 10 for line in info if line.startswith("MemAvailable:")), None)
    except OSError:
        return None


def check_memory(planned: SlotPlan, available: int | None = None) -> None:
    """Refuses a plan that does not fit the memory, before any key is made."""
    needed, left = planned.facts["memory_bytes"], available_bytes() if available is None else available
    if left is None or needed <= left:
        return
    keys = len(planned.facts["keys"])
    raise RunError(
        f"{planned.program.name}: {bytes_text(needed)} of memory are needed with parameter set {planned.parameters} "
        f"({bytes_text(planned.facts['key_bytes'])} for {keys} switching keys), but {bytes_text(left)} are left; name a "
        "smaller set, use fewer rotations, or a machine with more memory"
    )


def check_key_memory(name: str, key_bytes: int, available: int | None = None) -> None:
    """Refuses the switching keys of a specification that do not fit the memory, before any is made."""
    left = available_bytes() if available is None else available
    if left is not None and key_bytes > left:
        raise RunError(
            f"{name}: its switching keys take {bytes_text(key_bytes)}, but {bytes_text(left)} are left; use a machine with more memory"
        )


def cost(program: SlotProgram, parameters: str | SlotParameters | None = None, *, public: bool = False) -> Report:
    """See `SlotProgram.cost`."""
    return Report("slot cost", estimate(plan(program, parameters, security=0, public=public)))


def estimate(planned: SlotPlan) -> dict[str, Any]:
    """What running a plan takes, before running it."""
    facts = planned.facts
    processor = of_slots(planned)
    return {
        "program": planned.program.name,
        "scheme": planned.program.scheme,
        "slots": planned.program.slots,
        "processor_seconds": processor,
        "seconds": processor / cores(),
        **{name: facts[name] for name in ("parameters", "start_level", "bootstraps", "keys", "key_bytes")},
        **{name: facts[name] for name in ("memory_bytes", "input_bytes", "output_bytes", "plaintext_bytes")},
        **{name: facts[name] for name in ("log2_failure", "operations", "limb_operations", "nodes")},
    }


def operation_counts(planned: SlotPlan) -> list[dict[str, Any]]:
    """The homomorphic operations of a plan by kind and limbs: a product's before its rescaling."""
    counts: dict[tuple[str, int], int] = {}
    for node in planned.facts["nodes"]:
        key = (node["op"], node["limbs"])
        counts[key] = counts.get(key, 0) + 1
    return [{"operation": op, "limbs": limbs, "count": count} for (op, limbs), count in counts.items()]
