"""Contexts and plans of TFHE: every value of a vector is one ciphertext, and lookups refresh its noise."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from ..errors import Error, InputError, NoiseError, ParameterError, SecurityWarning
from ..host import memory
from ..host.units import bytes_text
from ..host.units import security as security_text
from ..language.copies import CopyShapes
from ..language.place import warn_user
from ..language.program import LOOKUPS, WIDE, TfheProgram
from ..language.shapes import Shapes
from ..reports import Report
from . import gpu
from .context import Context, Source, Values
from .facts import ElementMemory, ElementNoise
from .options import BLOCK_BINARY, DERIVED, OWN, UNIFORM, PlanOptions, refuse_meaningless
from .plan import ClientSeconds, Execution, Expected, Plan, RunResult, common

if TYPE_CHECKING:
    from ..accelerators.machine import Machine
    from ..host.progress import ProgressHook
    from ..language.reference import Wrapped

DEFAULT_SETS = "polyfabric-"
"""First part of the names of the default sets."""

LANES = 8
"""Lookups that a thread computes at once."""

BATCH = 8
"""Largest number of requests in one execution."""

BATCH_BYTES = 256 << 20
"""Largest memory for the values of several requests in one execution."""

KEY_BYTE = 60.0
"""Multiplications of an execution in the time in which a byte of an evaluation key is generated: 57 to 69, measured on an AVX-512 processor."""

EXECUTIONS = 10
"""Number of executions that share the cost of their key when planning chooses between keys of several sizes."""

WIDE_BYTES = 4 << 30
"""Largest memory of an execution with wide tables where lookups need less. It is no computer's free memory, so that client and server choose the same."""

LIKELY = -20.0
"""log2 of the failure probability above which noise, not damage, most likely caused an invalid result."""


def named_parameters(name: str, *, warn: bool = True) -> _native.TfheParameters:
    """The set called `name`, with a warning below 128 bits of security."""
    parameters = _native.TfheParameters.named(name)
    return warned(parameters) if warn else parameters


def with_key_noise(parameters: _native.TfheParameters, factor: float) -> _native.TfheParameters:
    """The same set, with `factor` times the standard deviation of the bootstrapping key's noise."""
    literal = json.loads(parameters.to_json())
    literal["glwe_noise_log2"] += math.log2(factor)
    return _native.TfheParameters.from_json(json.dumps(literal))


def has_circuit(parameters: _native.TfheParameters) -> bool:
    """Whether the set has circuit bootstrapping, for wide tables."""
    return "circuit" in json.loads(parameters.to_json())


def warned(parameters: _native.TfheParameters) -> _native.TfheParameters:
    """The same set, with a warning below 128 bits of security."""
    if parameters.security_warning is not None:
        warn_user(parameters.security_warning, SecurityWarning)
    return parameters


def expect_security(program: TfheProgram, parameters: _native.TfheParameters, options: PlanOptions) -> None:
    """Refuses a set with fewer bits of security than the options require."""
    if options.security is not None and parameters.security_bits < options.security:
        named = "name a set with more, or require fewer" if options.parameters is not None else "require fewer"
        raise ParameterError(
            f"{program.name}: parameter set {parameters.name} has {security_text(parameters.security_bits)} bits of security, but "
            f"{options.security:g} are required; {named}"
        )


def expect_secret(program: TfheProgram, parameters: _native.TfheParameters, secret: str | None) -> None:
    """Refuses a set whose small key has another distribution than `secret`, if given."""
    own = UNIFORM if parameters.block == 1 else BLOCK_BINARY
    if secret not in (None, own):
        raise InputError(
            f"{program.name}: secret={secret!r} (--secret), but the keys of parameter set {parameters.name} are {own}; leave one of the two out, or "
            "name another set"
        )


def _with_derived_widths(program: TfheProgram, options: PlanOptions, key_switch: str | None) -> TfhePlan:
    """The plan with a set that suffices with exact products, on the machine with widths derived for it."""

    def derived(parameters: _native.TfheParameters) -> TfhePlan:
        machine = options.machine.with_derived_widths(parameters)
        return TfhePlan.make(program, replace(options, widths=OWN, machine=machine, parameters=parameters), key_switch)

    # If any failure is accepted, the widths of the machine's file do not matter for the choice.
    accepting = replace(options, widths=OWN, max_failure=0.0)
    cheapest = TfhePlan.make(program, accepting, key_switch).parameters
    try:
        return derived(cheapest)
    except NoiseError as error:
        if options.parameters is not None:
            raise
        refused = error
    # Derived widths use a part of the noise budget, which the cheapest set lacked.
    for parameters in _surer(program, accepting, cheapest):
        with suppress(NoiseError):
            return derived(parameters)
    raise refused


def _surer(program: TfheProgram, options: PlanOptions, than: _native.TfheParameters) -> list[_native.TfheParameters]:
    """The default sets that the machine supports and that fail less often than a set with exact products, the fastest first."""
    here = replace(options, machine=None)
    limit = TfhePlan.make(program, replace(here, parameters=than)).log2_failure
    found: list[tuple[float, _native.TfheParameters]] = []
    for name in _native.parameter_names():
        if name.startswith(DEFAULT_SETS):
            with suppress(Error):
                parameters = _native.TfheParameters.named(name)
                if (parameters.block > 1) != (than.block > 1) or has_circuit(parameters):
                    continue
                if TfhePlan.make(program, replace(here, parameters=parameters)).log2_failure < limit:
                    planned = TfhePlan.make(program, replace(options, parameters=parameters))
                    options.machine.map(planned)
                    found.append((planned.processor_seconds(), parameters))
    return [parameters for _, parameters in sorted(found, key=lambda one: one[0])]


def _most_wide_bytes() -> int:
    """The largest memory of an execution with wide tables where lookups need less."""
    return min(WIDE_BYTES, memory.asked() or WIDE_BYTES)


@dataclass(frozen=True)
class ElementContext(Context):
    """A client's operations with TFHE. Without signature and types it only makes keys, which fit all programs of their set."""

    signature: _native.TfheSignature | None
    parameters: _native.TfheParameters
    shapes: Shapes | None
    unroll: int | None = None
    """Secret bits per iteration of blind rotation; `None` for the set's own number."""

    scheme = "tfhe"

    @classmethod
    def of_keys(cls, parameters: _native.TfheParameters, unroll: int | None) -> ElementContext:
        """The context for keys of a parameter set, independent of the program."""
        return cls(None, parameters, None, unroll)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> ElementContext:
        """From `to_dict`."""
        signature = _native.TfheSignature.from_json(json.dumps(data["signature"]))
        parameters = _native.TfheParameters.from_json(json.dumps(data["parameters"]))
        kind = CopyShapes if "copies" in data["shapes"] else Shapes
        return cls(signature, parameters, kind.of(data["shapes"], signature))

    def to_dict(self) -> dict[str, Any]:
        """The fields of a specification except the program's name and scheme."""
        return {
            "signature": json.loads(self.signature.to_json()),
            "parameters": json.loads(self.parameters.to_json()),
            "shapes": self.shapes.to_dict(),
        }

    def names(self, *, outputs: bool) -> list[str]:
        """Names of the ciphertexts that hold the inputs or outputs."""
        return self.shapes.names(outputs=outputs)

    @property
    def public(self) -> bool:
        """Whether inputs may be encrypted with the client's public key."""
        return bool(self.signature.public)

    @property
    def security_bits(self) -> float:
        """Bits of security of the parameter set; 0 if unknown."""
        return self.parameters.security_bits

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation key, which has a seed instead of masks."""
        return self.parameters.key_bytes(self.unroll)[0]

    def generate(self) -> _native.TfheClientKey:
        """Generates a secret key from the operating system's randomness. Fails if the evaluation key would not fit the memory."""
        self.expect_memory(self.key_bytes)
        return _native.TfheClientKey.generate(self.parameters)

    def server_key(self, client: _native.TfheClientKey, progress: ProgressHook | None = None) -> _native.TfheServerKey:
        """Generates the server's keys, compressed and expanded. Fails if they would not fit the memory."""
        self.expect_memory(sum(self.parameters.key_bytes(self.unroll)))
        return _native.TfheServerKey.generate(client, progress, self.unroll)

    def evaluation_key(self, client: _native.TfheClientKey, progress: ProgressHook | None = None) -> bytes:
        """The file of the compressed server's keys. Fails if making it would not fit the memory."""
        self.expect_memory(2 * self.key_bytes)
        return client.evaluation_key(progress, self.unroll)

    def encrypt_publicly(
        self, public: _native.TfhePublicKey, values: Values, server: _native.TfheServerKey
    ) -> _native.TfheCiphertexts:
        """Encrypts inputs with a public key, and unpacks the files as the server does."""
        files = {name: public.encrypt_to(self.signature, name, own) for name, own in values.items()}
        return self.read(files, outputs=False, server=server)

    def decrypt(self, client: _native.TfheClientKey, results: _native.TfheCiphertexts) -> Values:
        """Decrypts the outputs. Fails if a phase exceeds every error bound of the program."""
        return client.decrypt(self.signature, results)

    def read(
        self, sources: Mapping[str, Source], *, outputs: bool, server: _native.TfheServerKey | None = None
    ) -> _native.TfheCiphertexts:
        """Reads inputs or outputs from files."""
        return _native.TfheCiphertexts.load(self.parameters, self.signature, outputs, sources, server)

    def write(
        self, ciphertexts: _native.TfheCiphertexts, name: str, path: Path | None = None, *, outputs: bool
    ) -> bytes | None:
        """Writes one ciphertext to the file `path`; returns the bytes if there is no path."""
        return ciphertexts.save(self.parameters, self.signature, outputs, name, path)


@dataclass(frozen=True, repr=False)
class TfhePlan(Plan):
    """A program of TFHE, its parameter set, and its kernel program."""

    program: TfheProgram
    kernel: _native.TfheKernel
    noise: ElementNoise
    machine: Machine | None = field(default=None, repr=False)
    other: TfhePlan | None = field(default=None, repr=False)
    """The plan of the program's other form, with wide tables or without, that planning did not take."""

    @classmethod
    def make(cls, program: TfheProgram, options: PlanOptions, key_switch: str | None = None) -> TfhePlan:
        """Plans the cheaper form of the program, with wide tables or without; the only one that the options allow otherwise.

        Only sets for wide tables have circuit bootstrapping; machines, the GPU and block-binary keys lack it. The form with wide tables may have another
        set, if no output needs one of these tables.
        """
        if program.wide is None:
            return cls._make(program, options, key_switch)
        if options.parameters is not None:
            named = options.parameters
            named = named_parameters(named, warn=False) if isinstance(named, str) else named
            if isinstance(named, _native.TfheParameters) and has_circuit(named):
                return cls._make(program.wide, options, key_switch)
        if options.machine is not None or options.gpu or options.secret == BLOCK_BINARY:
            return cls._make(program, options, key_switch)
        plans: list[TfhePlan] = []
        refused: Error | None = None
        for form in (program, program.wide):
            try:
                plans.append(cls._make(form, options, key_switch))
            except Error as error:
                refused = refused or error
        if not plans:
            raise refused
        if len(plans) == 1:
            return plans[0]
        lookups, wide = plans
        fits = wide.memory_bytes <= max(_most_wide_bytes(), lookups.memory_bytes)
        if fits and wide.cost_with_keys < lookups.cost_with_keys:
            return replace(wide, other=lookups)
        return replace(lookups, other=wide)

    @classmethod
    def _make(cls, program: TfheProgram, options: PlanOptions, key_switch: str | None) -> TfhePlan:
        """Chooses or checks the parameter set, checks the noise, and lowers.

        Without a set, planning takes the cheapest default set for the machine's torus that meets the accepted failure probability.
        It refuses a given set that fails more often. `key_switch` places the key switch: "none", "before" or "after" the lookups; without
        it, planning takes the first of these places that meets the noise budget. With derived widths, the set is one that suffices with exact
        products, and the plan's machine has the widths for it.
        """
        if program.reals is not None:
            raise InputError(
                f"{program.name} compares or rounds real numbers, or has integers next to them, which works on batches only: {program.name}.in_batches(n) "
                "(--batch n) takes lists of n inputs, and many seconds; or compare the decrypted result, or use pf.sign(x - limit), a polynomial"
            )
        if options.machine is not None and options.secret == BLOCK_BINARY and options.parameters is None:
            raise InputError(
                f"{program.name}: {options.machine.name} takes one bit of the key a step, so blocks gain nothing there; leave secret= (--secret) out"
            )
        if options.widths == DERIVED:
            return _with_derived_widths(program, options, key_switch)
        asked = options.parameters
        if asked is not None and not isinstance(asked, str | _native.TfheParameters):
            of_inputs = (
                f"; for {asked} inputs write {program.name}.in_batches({asked}).cost()"
                if isinstance(asked, int)
                else ""
            )
            raise InputError(f"{program.name}: parameters={asked!r}; give the name of a set of TFHE{of_inputs}")
        named = named_parameters(asked) if isinstance(asked, str) else asked
        if named is not None:
            expect_security(program, named, options)
            expect_secret(program, named, options.secret)
        kernel, noise = program.native.plan(
            named,
            key_switch,
            None if options.machine is None else options.machine.native,
            options.accepted_failure,
            options.unroll,
            options.secret == BLOCK_BINARY,
            options.public,
            options.circuit_privacy,
            memory.most(),
        )
        expect_security(program, kernel.parameters, options)
        return cls(program, kernel, json.loads(noise), machine=options.machine)

    @classmethod
    def built_in(
        cls,
        name: str,
        parameters: str | _native.TfheParameters,
        batch: int,
        *,
        machine: Machine | None = None,
        unroll: int | None = None,
    ) -> TfhePlan:
        """The plan of a built-in program, `pbs`, `pbs+ks` or `keyswitch`, on `batch` ciphertexts, without a noise check."""
        chosen = named_parameters(parameters) if isinstance(parameters, str) else parameters
        if machine is not None:
            machine.expect_executes(name, on_slots=False)
        on = None if machine is None else machine.native

        def needed(count: int) -> int:
            kernel = _native.built_in(name, chosen, count, on, unroll)[1]
            return json.loads(kernel.memory())["server"] if on is None else on.mapping_bytes(kernel)

        if batch > 1:
            memory.expect_many(name, batch, needed)
        native, kernel, message_bits, one, bound = _native.built_in(name, chosen, batch, on, unroll)
        noise = ElementNoise(
            parameters=chosen.name,
            message_bits=message_bits,
            log2_failure=min(0.0, one + log2(batch)),
            log2_failure_of_one=one,
            bounds={"y": bound},
        )
        return cls(TfheProgram(native), kernel, noise, machine=machine)

    @property
    def parameters(self) -> _native.TfheParameters:
        """The parameter set."""
        return self.kernel.parameters

    @property
    def unroll(self) -> int:
        """Secret bits per iteration of blind rotation. More bits mean fewer iterations and more noise, and of uniform keys larger evaluation keys."""
        return self.kernel.key_unrolling

    @property
    def key_switch(self) -> str:
        """The place of the key switch: "none", "before" or "after" the lookups."""
        return self.kernel.key_switch

    @cached_property
    def context(self) -> ElementContext:
        """The client's operations."""
        signature = _native.TfheSignature.of(self.program.native, self.kernel, self.error_bounds, self.public)
        return ElementContext(signature, self.parameters, self.program.shapes, self.unroll)

    @property
    def error_bounds(self) -> dict[str, float]:
        """Error bound of each output's phase. Decryption refuses larger errors, because no run of this plan has them."""
        return {row["name"]: row["error_bound"] for row in self.noise.get("outputs", [])} | self.noise.get("bounds", {})

    @property
    def floods(self) -> dict[str, float]:
        """Standard deviation of the flooding noise by output; empty without circuit privacy."""
        rows = self.noise.get("outputs", [])
        return {row["name"]: row["flood_deviation"] for row in rows if "flood_deviation" in row}

    @property
    def public(self) -> bool:
        """Whether inputs may be encrypted with the client's public key."""
        return self.noise.get("inputs") == "public"

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that any lookup or output is wrong."""
        found = self.noise["log2_failure"]
        return -inf if found is None else float(found)

    # -- before running -------------------------------------------------------------------------------------------

    @cached_property
    def memory(self) -> ElementMemory:
        """Bytes of keys and ciphertexts."""
        return json.loads(self.kernel.memory())

    @property
    def memory_bytes(self) -> int:
        """Bytes of the server's keys and ciphertexts."""
        return self.memory["server"]

    @property
    def key_bytes(self) -> int:
        """Bytes of the expanded server's keys, without their transforms."""
        return self.memory["server_key"]

    @property
    def key_text(self) -> str:
        """The keys' part of the memory, in words."""
        return f"{bytes_text(self.key_bytes)} for the server's keys, and their transforms"

    @property
    def cost_with_keys(self) -> float:
        """Multiplications of an execution, and those in the time of its part of key generation."""
        return self.kernel.multiplications + KEY_BYTE / EXECUTIONS * self.key_bytes

    @property
    def work(self) -> dict[str, int]:
        """Number of lookups per execution."""
        return {"lookups": self.kernel.lookups}

    @property
    def parameter_figures(self) -> dict[str, Any]:
        """The figures of its parameter set, as data."""
        return {**json.loads(self.parameters.to_json()), "security_bits": self.parameters.security_bits}

    def facts_of_cost(self) -> dict[str, Any]:
        """Lookups, sizes and noise."""
        own, sizes = self.parameters, self.memory
        return {
            "security_bits": own.security_bits,
            "key_switch": self.key_switch,
            "lookups": self.kernel.lookups,
            "memory_bytes": sizes["server"],
            "server_key_bytes": sizes["server_key"],
            "server_key_compressed_bytes": sizes["server_key_compressed"],
            "client_key_bytes": sizes["client_key"],
            "input_bytes": sizes["inputs"],
            "output_bytes": sizes["outputs"],
            "noise": self.noise,
        }

    def cost(self, before: Mapping[str, float]) -> Report:
        """As of every plan, with the cost of both ways to read tables if there are two."""
        report = super().cost(before)
        if self.other is None:
            return report
        own, other = self._way(report["whole_run_seconds"]["keys"]), self.other._way(self.other.client_seconds().keys)
        why = "it takes less time, with a tenth of the time of making keys"
        if self.cost_with_keys > self.other.cost_with_keys:
            why = f"wide tables take more than {bytes_text(_most_wide_bytes())} of memory"
        ways = {"chosen": self.way, "why": why, self.way: own, self.other.way: other}
        return Report(report.kind, {**report.to_dict(), "tables": ways})

    @property
    def way(self) -> str:
        """How it reads tables: "wide" or "lookups"."""
        return WIDE if self.program.native.has_wide_tables else LOOKUPS

    def _way(self, key_seconds: float) -> dict[str, Any]:
        return {
            "parameters": self.parameters.name,
            "lookups": self.kernel.lookups,
            "multiplications": self.kernel.multiplications,
            "processor_seconds": self.processor_seconds(),
            "key_seconds": key_seconds,
            "server_key_bytes": self.key_bytes,
            "server_key_compressed_bytes": self.memory["server_key_compressed"],
            "memory_bytes": self.memory_bytes,
        }

    def processor_seconds(self) -> float:
        """Estimated processor seconds of an execution on this computer."""
        return self.kernel.execution_seconds()

    def client_seconds(self) -> ClientSeconds:
        """Estimated processor seconds of the client's steps on this computer."""
        return ClientSeconds(*self.kernel.client_seconds())

    def check_flood(self, flood: float | None) -> None:
        """Refuses every value: TFHE decrypts exactly."""
        if flood is not None:
            refuse_meaningless(self.program, {"flood": flood})

    def expect_place(self, on: str) -> None:
        """Fails if `on` is "gpu" and this computer has no card that can run the program."""
        if on == "gpu" and has_circuit(self.parameters):
            raise InputError(
                f"{self.program.name}: parameter set {self.parameters.name} is for wide tables, which the GPU does not have; make keys with "
                'tables="lookups" (@pf.program, or --tables lookups in every step), or run it on the processor'
            )
        if on == "gpu":
            gpu.card(self.parameters, self.unroll)

    def expect_keys(self, server: _native.TfheServerKey) -> None:
        """Checks nothing: a server's keys fit every program with their parameter set."""

    # -- running --------------------------------------------------------------------------------------------------

    def evaluate(self, inputs: Values) -> Expected:
        """The outputs of the traced function on Python's integers, independent of the lowering, and the results that wrapped."""
        values, wrapped = self.program.reference_values(inputs)
        return Expected(values, wrapped=wrapped)

    def compute(
        self,
        server: _native.TfheServerKey,
        ciphertexts: _native.TfheCiphertexts,
        on: str,
        threads: int,
        progress: ProgressHook | None,
    ) -> _native.TfheCiphertexts:
        """Executes on this computer: on "cpu" with `threads` threads, on its "gpu", or with the "interpreter", operation by operation."""
        if on == "interpreter":
            return self.kernel.interpret(server, ciphertexts, progress)
        if on == "gpu":
            return self.kernel.run_on_gpu(server, ciphertexts, progress)[0]
        return self.kernel.run(server, ciphertexts, threads, progress)

    def together(self, threads: int) -> int:
        """A power of two of requests that fills the lanes of all threads twice, at most `BATCH`, within `BATCH_BYTES`."""
        batches, own = self.kernel.rotation_batches, self.memory
        if not batches:
            return 1
        filling = ceil(2 * LANES * threads * len(batches) / sum(batches))
        fitting = BATCH_BYTES // (own["inputs"] + own["values"] + own["outputs"])
        return max(1, min(BATCH, 1 << (filling - 1).bit_length(), fitting))

    def memory_together(self, requests: int) -> int:
        """`memory_bytes` with so many requests in one execution."""
        if requests not in self._server_bytes:
            self._server_bytes[requests] = json.loads(self.kernel.memory(requests))["server"]
        return self._server_bytes[requests]

    @cached_property
    def _server_bytes(self) -> dict[int, int]:
        return {1: self.memory_bytes}

    def compute_each(
        self,
        server: _native.TfheServerKey,
        requests: Sequence[_native.TfheCiphertexts],
        threads: int,
        progress: ProgressHook | None,
    ) -> list[_native.TfheCiphertexts | BaseException]:
        """As one execution, with larger batches of lookups."""
        return self.kernel.run_together(server, requests, threads, progress)

    def hidden(self, server: _native.TfheServerKey, results: _native.TfheCiphertexts) -> _native.TfheCiphertexts:
        """The results for the client: re-randomised and flooded if the plan has circuit privacy."""
        return server.rerandomise(results, self.floods) if self.floods else results

    def decrypt(
        self, client: _native.TfheClientKey, results: _native.TfheCiphertexts, flood: float | None = None
    ) -> Values:
        """Decrypts the results. If the program is likely to fail, an invalid result raises `NoiseError`."""
        self.check_flood(flood)
        try:
            return self.context.decrypt(client, results)
        except Error as error:
            if self.log2_failure <= LIKELY:
                raise
            remedy, place = "choose another parameter set", ""
            if self.machine is not None:
                place = f" on {self.machine.name}"
                remedy += f", or widths that suffice for this one: polyfabric widths --on {self.machine.argument} --params {self.parameters.name}"
            raise NoiseError(
                f"{self.program.name}: a result decrypts to no value of its range. With parameter set {self.parameters.name}{place} the "
                f"program fails with probability 2^{self.log2_failure:.1f}, which the caller accepted; {remedy}. If it did not fail: {error}"
            ) from error

    # -- comparing ------------------------------------------------------------------------------------------------

    def errors(self, found: Values, expected: Values, undecided: Sequence[int] = ()) -> dict[str, float]:  # noqa: ARG002 - only batches have any
        """Number of wrong values by output."""
        return self.program.shapes.by_output(
            {
                name: float(sum(a != b for a, b in zip(values, expected[name], strict=True)))
                for name, values in found.items()
            }
        )

    def bounds(self, flood: float | None = None, expected: Expected | None = None) -> dict[str, float]:  # noqa: ARG002 - no noise is in exact values
        """0: no value may be wrong."""
        return dict.fromkeys(self.program.outputs, 0.0)

    def result(self, done: Execution) -> ElementResult:
        """Compares an execution with the expected outputs."""
        server: Any = done.keys.server
        sizes = {
            "server_key": server.bytes,
            "server_key_compressed": server.compressed_bytes,
            "inputs": done.ciphertext_bytes,
            "outputs": done.results.bytes,
        }
        return ElementResult(**common(self, done), bound=self.bounds(), sizes=sizes, wrapped=done.expected.wrapped)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ElementResult(RunResult):
    """The result of an execution with TFHE."""

    plan: TfhePlan
    wrapped: list[Wrapped]
    """Results outside their declared type's range, which were reduced modulo 2^bits."""

    def __repr__(self) -> str:
        return super().__repr__() + "".join(f"; wrapped: {wrap}" for wrap in self.wrapped)

    @property
    def noise(self) -> ElementNoise:
        """The predicted noise and failure probability of every lookup and output."""
        return self.plan.noise

    @property
    def lookups(self) -> int:
        """Number of lookups of the execution."""
        return self.plan.kernel.lookups

    def facts(self) -> dict[str, Any]:
        """Noise, lookups, and wrapped results."""
        return {"noise": self.noise, "lookups": self.lookups, "wrapped": [wrap.to_dict() for wrap in self.wrapped]}
