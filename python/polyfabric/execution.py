"""Plans, keys, and execution: what happens between a program and its decrypted answer."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native, machines
from .errors import Error, InputError, MachineError, NoiseError, ParameterError, ProgramError
from .language.place import warn_user
from .language.program import Clear, Outputs, Program
from .names import pick
from .progress import ProgressHook
from .reports import Report, write_together
from .timing import of_lookups

if TYPE_CHECKING:
    from .machines import Machine

DEFAULT_TARGET = -128.0
"""log2 of the failure probability that a program may have, wherever it runs and whoever names the set, unless the user takes more."""

HERE = ("cpu", "interpreter")
"""Places to run that are this computer."""

MOST_THREADS = 1024
"""Far more than help: each takes memory and time to start."""

_ORDERS = ("none", "before", "after")


class SecurityWarning(UserWarning):
    """A parameter set under 128 bits was named and is used, or a decryption of CKKS is to be shared."""


@dataclass(frozen=True)
class Plan:
    """A program, the parameter set that carries it, and its kernel program."""

    program: Program
    parameters: _native.Parameters
    key_switch: str
    kernel: _native.KernelProgram
    noise: dict[str, Any]
    unroll: int = 1
    """Secret bits that one iteration of blind rotation takes: more are fewer iterations, a larger key and more noise."""

    @property
    def error_bounds(self) -> dict[str, float]:
        """By output: what an error of its phase stays within; a larger one is refused, as no run of this plan leaves it."""
        bounds = {row["name"]: row["error_bound"] for row in self.noise.get("outputs", [])}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    @property
    def floods(self) -> dict[str, float]:
        """By output: the deviation of the noise that hides how it was computed; nothing without circuit privacy."""
        rows = self.noise.get("outputs", [])
        return {row["name"]: row["flood_deviation"] for row in rows if "flood_deviation" in row}

    @cached_property
    def signature(self) -> _native.Signature:
        """What a client has to know of the program."""
        return _native.Signature.of(self.program.native, self.kernel, self.error_bounds, self.public)

    @property
    def public(self) -> bool:
        """Whether inputs may be encrypted with the client's public key."""
        return self.noise.get("inputs") == "public"


def named_parameters(name: str, *, warn: bool = True) -> _native.Parameters:
    """The set called `name`; under 128 bits of security with a warning."""
    parameters = _native.Parameters.named(name)
    if warn and parameters.security_warning is not None:
        warn_user(parameters.security_warning, SecurityWarning)
    return parameters


def plan(
    program: Program,
    parameters: str | _native.Parameters | None = None,
    *,
    machine: Machine | None = None,
    target: float | None = None,
    unroll: int = 1,
    circuit_privacy: float | None = None,
    public: bool = False,
) -> Plan:
    """Chooses or checks the parameter set, checks the noise, and lowers.

    Without `parameters`: the cheapest default set with which the program fails with a probability of 2^`target` at
    most, on the machine's torus. With it: that set, refused if the program fails more often than that. Without `target`, 2^-128. `unroll` is the
    number of secret bits an iteration of blind rotation takes, 1, 2 or 4. With `circuit_privacy` the server re-randomises and floods every
    output, so that each of its values hides with so many bits how it was computed. With `public`, inputs may be encrypted with the client's
    public key, which leaves more noise.
    """
    target = DEFAULT_TARGET if target is None else target
    if circuit_privacy is not None and not isinstance(circuit_privacy, int | float):
        raise InputError(
            f"circuit_privacy={circuit_privacy!r} is no number; give the bits that are to be hidden, as 10"
        )
    if parameters is None:
        chosen, order, noise = _choose(program, machine, target, circuit_privacy, public)
        if unroll != 1:
            transform = "f64" if machine is None else machine.transform(chosen)
            noise = program.native.noise(chosen, order, transform, unroll, machine is None, public)
            noise = _within(noise, target, circuit_privacy)
    else:
        chosen = named_parameters(parameters) if isinstance(parameters, str) else parameters
        transform = "f64" if machine is None else machine.transform(chosen)
        order, noise = _order(program, chosen, target, transform, unroll, machine, circuit_privacy, public)
    kernel = program.native.lower(chosen, order, None if machine is None else machine.native, unroll)
    return Plan(program, chosen, order, kernel, json.loads(noise.to_json()), unroll)


def _within(noise: _native.NoiseReport, target: float, circuit_privacy: float | None) -> _native.NoiseReport:
    """The noise, with what hides outputs if it is asked for; refused where the program fails more often than 2^`target`."""
    noise.check(target)
    if circuit_privacy is not None:
        noise = noise.with_circuit_privacy(circuit_privacy, target)
        noise.check(target)
    return noise


def _choose(
    program: Program, machine: Machine | None, target: float, circuit_privacy: float | None, public: bool
) -> tuple[_native.Parameters, str, _native.NoiseReport]:
    if machine is None:
        return program.native.choose_parameters(target, None, "f64", circuit_privacy, public)
    # A machine's transform errs differently with every set, so each is tried; the one of the fewest products is kept.
    suited: list[tuple[float, _native.Parameters, str, _native.NoiseReport]] = []
    refusals: list[tuple[_native.Parameters, NoiseError]] = []
    for name in _native.default_parameter_names():
        parameters = _native.Parameters.named(name)
        try:
            transform = machine.transform(parameters)
            order, noise = _order(
                program, parameters, target, transform, machine=machine, circuit_privacy=circuit_privacy, public=public
            )
        except (ProgramError, MachineError):
            continue
        except NoiseError as error:
            refusals.append((parameters, error))
        else:
            kernel = program.native.lower(parameters, order, machine.native)
            suited.append((multiplications(kernel), parameters, order, noise))
    if suited:
        return min(suited, key=lambda candidate: candidate[0])[1:]
    raise NoiseError(
        f"no default parameter set carries {program.name} on {machine.name}{_of_widths(machine)}"
        + (f"; the first reason: {_telling(program, target, refusals)}" if refusals else "; name a set with parameters")
    )


def _telling(program: Program, target: float, refusals: Sequence[tuple[_native.Parameters, NoiseError]]) -> NoiseError:
    """The refusal of a set that would carry the program with exact products, if there is one: the machine's is the fault."""
    for parameters, refusal in refusals:
        try:
            _order(program, parameters, target, "exact")
        except (ProgramError, NoiseError):
            continue
        return refusal
    return refusals[0][1]


def _of_widths(machine: Machine) -> str:
    """What the machine's arithmetic adds to an external product of a default set: the least, and the most, as words."""
    noise = []
    for name in _native.default_parameter_names():
        try:
            variance = machine.transform(_native.Parameters.named(name))
        except MachineError:
            continue
        if isinstance(variance, float) and variance > 0:
            noise.append(log2(variance) / 2)
    if not noise:
        return ""
    return (
        f": its widths add noise of 2^{min(noise):.1f} of the torus at least, 2^{max(noise):.1f} at most, to every external "
        f"product of such a set (`polyfabric params --on {machine.name}` has them one by one; `polyfabric machines "
        f"{machine.name}` has the readings)"
    )


def _order(
    program: Program,
    parameters: _native.Parameters,
    target: float,
    transform: str | float,
    unroll: int = 1,
    machine: Machine | None = None,
    circuit_privacy: float | None = None,
    public: bool = False,
) -> tuple[str, _native.NoiseReport]:
    """The first place of the key switch with which the program lowers and stays in its budget; else the first reason."""
    reason: Exception | None = None
    for order in _ORDERS:
        try:
            program.native.lower(parameters, order, None if machine is None else machine.native)
            noise = program.native.noise(parameters, order, transform, unroll, machine is None, public)
            noise = _within(noise, target, circuit_privacy)
        except (ProgramError, NoiseError) as error:
            # A noise budget says more than the need of a key switch, which only rules out the first order.
            if reason is None or (isinstance(reason, ProgramError) and isinstance(error, NoiseError)):
                reason = error
        else:
            return order, noise
    raise reason if reason is not None else AssertionError("there is at least one order")


@dataclass(frozen=True)
class Keys:
    """A client's secret keys and the server's public ones, of one parameter set."""

    client: _native.ClientKey
    server: _native.ServerKey

    @property
    def parameters(self) -> _native.Parameters:
        """Their parameter set."""
        return self.client.parameters

    @classmethod
    def generate(
        cls, parameters: str | _native.Parameters, progress: ProgressHook | None = None, *, unroll: int = 1
    ) -> Keys:
        """Fresh keys, from the operating system's randomness; for programs with `unroll` secret bits an iteration."""
        chosen = named_parameters(parameters) if isinstance(parameters, str) else parameters
        client = _native.ClientKey.generate(chosen)
        return cls(client, _native.ServerKey.generate(client, progress, unroll))

    def save(self, folder: str | Path) -> None:
        """Writes `client.key` (secret) and `server.key` (its compressed transport form) to `folder`."""
        write_together(folder, {"client.key": self.client.save, "server.key": self.server.save})

    @classmethod
    def load(cls, folder: str | Path, progress: ProgressHook | None = None) -> Keys:
        """The keys that `save` wrote, of one key generation."""
        path = Path(folder)
        keys = cls(_native.ClientKey.load(path / "client.key"), _native.ServerKey.load(path / "server.key", progress))
        if keys.client.parameters != keys.server.parameters:
            raise ParameterError(
                f"{path}: client.key is of {keys.client.parameters.name}, server.key of {keys.server.parameters.name}; "
                "use the two files of one key generation"
            )
        keys.server.expect_client(keys.client)
        return keys


@dataclass(frozen=True)
class RunResult:
    """The answer, the answer expected, and what the execution took."""

    program: str
    on: str
    parameters: str
    outputs: Outputs
    expected: Outputs
    seconds: dict[str, float]
    noise: dict[str, Any]
    lookups: int
    sizes: dict[str, int]
    """Bytes of the server key, in memory and to send, and of the ciphertexts."""
    keys: Keys = field(repr=False)
    report: Report | None = field(default=None, repr=False)
    """The machine's report, when a machine's schedule was replayed."""

    @property
    def correct(self) -> bool:
        """Whether every decrypted value equals the clear program's."""
        return self.outputs == self.expected

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        data = {
            "program": self.program,
            "on": self.on,
            "parameters": self.parameters,
            "correct": self.correct,
            "output": self.outputs,
            "expected": self.expected,
            "seconds": self.seconds,
            "noise": self.noise,
            "lookups": self.lookups,
            "sizes_bytes": self.sizes,
        }
        if self.report is not None:
            data["machine"] = self.report.to_dict()
        return data


def run(
    program: Program,
    inputs: Mapping[str, Clear],
    *,
    on: str = "cpu",
    parameters: str | _native.Parameters | None = None,
    keys: Keys | None = None,
    threads: int | None = None,
    target: float | None = None,
    unroll: int = 1,
    circuit_privacy: float | None = None,
    public: bool = False,
    progress: ProgressHook | None = None,
) -> RunResult:
    """See `Program.run`."""
    program.flatten(inputs)
    machine = place(on)
    if keys is not None:
        parameters = matching(keys, parameters)
    planned = plan(
        program,
        parameters,
        machine=machine,
        target=target,
        unroll=unroll,
        circuit_privacy=circuit_privacy,
        public=public,
    )
    return run_plan(planned, inputs, on=on, machine=machine, keys=keys, threads=threads, progress=progress)


def place(on: str, readings: tuple[str, ...] = ()) -> Machine | None:
    """The machine called `on`, or of the file `on`, by one reading of its paper; nothing for this computer's "cpu" and "interpreter"."""
    if on in HERE:
        return None
    if machines.is_file(on):
        return machines.load(on, readings)
    return machines.load(pick("place to run", on, [*HERE, *machines.names()]), readings)


def matching(keys: Keys | _native.PublicKey, parameters: str | _native.Parameters | None) -> _native.Parameters:
    """The parameter set of `keys`, which must be the one that was named, if any."""
    if parameters is not None:
        named = named_parameters(parameters, warn=False) if isinstance(parameters, str) else parameters
        if named != keys.parameters:
            raise InputError(
                f"the keys are of parameter set {keys.parameters.name}, not {named.name}; name that set, or make new keys"
            )
    return keys.parameters


def run_plan(
    planned: Plan,
    inputs: Mapping[str, Clear],
    *,
    on: str,
    machine: Machine | None = None,
    keys: Keys | None = None,
    threads: int | None = None,
    progress: ProgressHook | None = None,
) -> RunResult:
    """Encrypts, executes, decrypts, and compares with the program in the clear."""
    program = planned.program
    workers(threads)
    flat = program.flatten(inputs)
    expected = program.shaped(program.native.evaluate(flat))
    seconds: dict[str, float] = {}
    clock = _Clock(seconds)
    if keys is None:
        keys = Keys.generate(planned.parameters, progress, unroll=planned.unroll)
        clock.lap("keys")
    ciphertexts = _encrypted(planned, keys, flat)
    clock.lap("encrypt")
    results, report = execute(
        planned, keys.server, ciphertexts, on=on, machine=machine, threads=threads, progress=progress
    )
    clock.lap("execute")
    outputs = program.shaped(decrypted(planned, keys.client, results, machine))
    clock.lap("decrypt")
    return RunResult(
        program=program.name,
        on=on,
        parameters=planned.parameters.name,
        outputs=outputs,
        expected=expected,
        seconds=seconds,
        noise=planned.noise,
        lookups=planned.kernel.lookups,
        sizes={
            "server_key": keys.server.bytes,
            "server_key_compressed": keys.server.compressed_bytes,
            "inputs": ciphertexts.bytes,
            "outputs": results.bytes,
        },
        keys=keys,
        report=report,
    )


def _encrypted(planned: Plan, keys: Keys, flat: Mapping[str, list[int]]) -> _native.Ciphertexts:
    """The inputs, encrypted by the client, or with its public key if the plan is for that."""
    if not planned.public:
        return keys.client.encrypt(planned.signature, flat)
    public = _native.PublicKey.generate(keys.client)
    files: dict[str, bytes] = {}
    for name, values in flat.items():
        data = public.encrypt_to(planned.signature, name, values)
        assert data is not None
        files[name] = data
    return _native.Ciphertexts.load(planned.parameters, planned.signature, False, files, keys.server)


def execute(
    planned: Plan,
    server: _native.ServerKey,
    ciphertexts: _native.Ciphertexts,
    *,
    on: str,
    machine: Machine | None,
    threads: int | None,
    progress: ProgressHook | None,
) -> tuple[_native.Ciphertexts, Report | None]:
    """What the server does: ciphertexts in, ciphertexts out, and the machine's report if one was replayed."""
    report = None
    if machine is not None:
        results, report = machine.replay(planned, server, ciphertexts, progress=progress)
    elif on == "interpreter":
        results = planned.kernel.interpret(server, ciphertexts, progress)
    else:
        results = planned.kernel.run(server, ciphertexts, workers(threads), progress)
    return hidden(planned, server, results), report


LIKELY = -20.0
"""log2 of the failure probability above which a result that is no message is most likely a failure, and not damage."""


def decrypted(
    planned: Plan, client: _native.ClientKey, results: _native.Ciphertexts, machine: Machine | None
) -> dict[str, list[int]]:
    """What the results say. One that is no message of a program that was known to fail is told as such."""
    try:
        return client.decrypt(planned.signature, results)
    except Error as error:
        failure = planned.noise["log2_failure"]
        if failure <= LIKELY:
            raise
        remedy = "choose another parameter set"
        if machine is not None:
            remedy += f", or widths that suffice for this one: polyfabric widths --machine {machine.name} --params {planned.parameters.name}"
        raise NoiseError(
            f"{planned.program.name}: a result decrypts to no value of its range. With parameter set {planned.parameters.name}"
            f"{'' if machine is None else f' on {machine.name}'} the program comes out wrong with probability 2^{failure:.1f}, which was accepted; {remedy}"
        ) from error


def hidden(planned: Plan, server: _native.ServerKey, results: _native.Ciphertexts) -> _native.Ciphertexts:
    """The results as they leave the server: re-randomised and flooded if the plan asks for it."""
    return server.rerandomise(results, planned.floods) if planned.floods else results


def built_in(
    name: str, parameters: str | _native.Parameters, batch: int, *, machine: Machine | None = None, unroll: int = 1
) -> Plan:
    """The plan of a built-in program: `pbs`, `pbs+ks` or `keyswitch` on `batch` ciphertexts."""
    chosen = named_parameters(parameters) if isinstance(parameters, str) else parameters
    on = None if machine is None else machine.native
    native, kernel, message_bits, log2_failure = _native.built_in(name, chosen, batch, on, unroll)
    noise = {"parameters": chosen.name, "message_bits": message_bits, "log2_failure": log2_failure}
    return Plan(Program(native), chosen, "none" if name == "pbs" else "after", kernel, noise, unroll)


class _Clock:
    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._seconds[name] = now - self._last
        self._last = now


def workers(threads: int | None) -> int:
    """The threads that are asked for, or one a processor."""
    if threads is None:
        return cores()
    if not isinstance(threads, int) or not 1 <= threads <= MOST_THREADS:
        raise InputError(
            f"threads={threads!r}; give an integer from 1 to {MOST_THREADS}, or none for all {cores()} processors"
        )
    return threads


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate(
    program: Program,
    machine: str,
    *,
    parameters: str | None = None,
    readings: Sequence[str] = (),
    target: float | None = None,
) -> Report:
    """See `Program.simulate`."""
    chosen = machines.load(machine, readings)
    return chosen.simulate(plan(program, parameters, machine=chosen, target=target))


def cost(
    program: Program,
    parameters: str | None = None,
    target: float | None = None,
    circuit_privacy: float | None = None,
    public: bool = False,
) -> Report:
    """See `Program.cost`."""
    planned = plan(program, parameters, target=target, circuit_privacy=circuit_privacy, public=public)
    return Report("cost", estimate(planned))


def estimate(planned: Plan) -> dict[str, Any]:
    """What running a plan on this computer takes, before running it."""
    chosen = planned.parameters
    sizes = json.loads(planned.kernel.sizes())
    processor = of_lookups(planned)
    server = chosen.server_key_bytes
    # The bootstrapping key is held in the transform domain too, 8 bytes a coefficient.
    transformed = chosen.bootstrap_key_bytes * 64 // chosen.torus_bits
    return {
        "program": planned.program.name,
        "parameters": chosen.name,
        "security_bits": chosen.security_bits,
        "key_switch": planned.key_switch,
        "lookups": planned.kernel.lookups,
        "processor_seconds": processor,
        "seconds": processor / cores(),
        "memory_bytes": server + transformed + sizes["inputs"] + sizes["outputs"],
        "server_key_bytes": server,
        "server_key_compressed_bytes": chosen.compressed_key_bytes,
        "client_key_bytes": sizes["client_key"],
        "input_bytes": sizes["inputs"],
        "output_bytes": sizes["outputs"],
        "noise": planned.noise,
    }


def multiplications(kernel: _native.KernelProgram) -> float:
    """Real multiplications of all products: 4 for each complex one of transforms and products in the transform domain."""
    counts = kernel.counts()
    half = json.loads(kernel.parameters.to_json())["ring_degree"] / 2
    transforms = counts["forward_transforms"] + counts["inverse_transforms"]
    return 4 * half * (transforms * log2(half) / 2 + counts["multiplies"])
