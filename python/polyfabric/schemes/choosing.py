"""The parameter set of a TFHE program, and the place of its key switch, with which it stays in its noise budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from .. import _native
from ..errors import MachineError, NoiseError, ParameterError, ProgramError
from ..language.program import Program
from ..reports.units import security as security_text
from .options import PlanOptions

DEFAULT_TARGET = -128.0
"""log2 of the failure probability that a program may have, wherever it runs and whoever names the set, unless the user takes more."""

ORDERS = ("none", "before", "after")
"""Places of the key switch, in the order in which they are tried."""


@dataclass(frozen=True)
class Choice:
    """A set with which a program stays in its budget."""

    parameters: _native.Parameters
    key_switch: str
    noise: _native.NoiseReport


def target(options: PlanOptions) -> float:
    """log2 of the failure probability that is accepted."""
    return DEFAULT_TARGET if options.max_failure is None else options.max_failure


def transform(parameters: _native.Parameters, options: PlanOptions) -> str | float:
    """The noise of the arithmetic that executes: "exact", "f64", or the variance of a coefficient, a fraction of the torus squared."""
    return "f64" if options.machine is None else options.machine.transform(parameters)


def noise_of(
    program: Program, parameters: _native.Parameters, key_switch: str, options: PlanOptions, arithmetic: str | float
) -> _native.NoiseReport:
    """The noise with a set; with what hides outputs if that is asked for. Refused where the program fails more often than is accepted."""
    processor = options.machine is None
    noise = program.native.noise(
        parameters,
        key_switch,
        arithmetic,
        key_unrolling=options.unroll,
        processor=processor,
        public=options.public,
    )
    noise.check(target(options))
    if options.circuit_privacy is not None:
        noise = noise.with_circuit_privacy(options.circuit_privacy, target(options))
        noise.check(target(options))
    return noise


def choose(program: Program, options: PlanOptions) -> Choice:
    """The cheapest default set with which the program fails no more often than is accepted, on the machine's torus."""
    machine = options.machine
    if machine is None:
        limits = (target(options), None, "f64", options.circuit_privacy, options.public)
        chosen, order, noise = program.native.choose_parameters(*limits)
        if options.unroll != 1:
            noise = noise_of(program, chosen, order, options, "f64")
        return Choice(chosen, order, noise)
    # A machine's transform errs differently with every set, so each is tried; the one of the fewest products is kept.
    suited: list[tuple[float, Choice]] = []
    refusals: list[tuple[_native.Parameters, NoiseError]] = []
    for name in _native.default_parameter_names():
        parameters = _native.Parameters.named(name)
        try:
            found = first_order(program, parameters, options)
        except (ProgramError, MachineError):
            continue
        except NoiseError as error:
            refusals.append((parameters, error))
        else:
            kernel = program.native.lower(parameters, found.key_switch, machine.native)
            suited.append((multiplications(kernel), found))
    if suited:
        return min(suited, key=lambda candidate: candidate[0])[1]
    raise NoiseError(
        f"no default parameter set carries {program.name} on {machine.name}{_of_widths(options)}"
        + (
            f"; the first reason: {_telling(program, options, refusals)}"
            if refusals
            else "; name a set with parameters"
        )
    )


def first_order(
    program: Program, parameters: _native.Parameters, options: PlanOptions, arithmetic: str | float | None = None
) -> Choice:
    """The first place of the key switch with which the program lowers and stays in its budget; else the first reason."""
    arithmetic = transform(parameters, options) if arithmetic is None else arithmetic
    machine = None if options.machine is None else options.machine.native
    reason: Exception | None = None
    for order in ORDERS:
        try:
            program.native.lower(parameters, order, machine)
            return Choice(parameters, order, noise_of(program, parameters, order, options, arithmetic))
        except (ProgramError, NoiseError) as error:
            # A noise budget says more than the need of a key switch, which only rules out the first order.
            if reason is None or (isinstance(reason, ProgramError) and isinstance(error, NoiseError)):
                reason = error
    raise reason if reason is not None else AssertionError("there is at least one order")


def _telling(
    program: Program, options: PlanOptions, refusals: Sequence[tuple[_native.Parameters, NoiseError]]
) -> NoiseError:
    """The refusal of a set that would carry the program with exact products, if there is one: the machine's is the fault."""
    exact = PlanOptions(max_failure=options.max_failure)
    for parameters, refusal in refusals:
        try:
            first_order(program, parameters, exact, "exact")
        except (ProgramError, NoiseError):
            continue
        return refusal
    return refusals[0][1]


def _of_widths(options: PlanOptions) -> str:
    """What the machine's arithmetic adds to an external product of a default set: the least, and the most, as words."""
    machine, noise = options.machine, []
    assert machine is not None
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


def expect_security(program: Program, parameters: _native.Parameters, options: PlanOptions) -> None:
    """Refuses a set of fewer bits of security than are asked for."""
    if options.security is not None and parameters.security_bits < options.security:
        named = "name a set with more, or ask for fewer" if options.parameters is not None else "ask for fewer"
        raise ParameterError(
            f"{program.name}: parameter set {parameters.name} has {security_text(parameters.security_bits)} bits of security, but "
            f"{options.security:g} are asked for; {named}"
        )


def multiplications(kernel: _native.KernelProgram) -> float:
    """Real multiplications of all products: 4 for each complex one of transforms and products in the transform domain."""
    counts = kernel.counts()
    half = json.loads(kernel.parameters.to_json())["ring_degree"] / 2
    transforms = counts["forward_transforms"] + counts["inverse_transforms"]
    return 4 * half * (transforms * log2(half) / 2 + counts["multiplies"])
