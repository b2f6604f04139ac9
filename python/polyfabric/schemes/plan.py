"""Plans and results of a run: the interface that all schemes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np

from .. import _native
from ..errors import CancelledError, Error, NoiseError, shown
from ..host import memory
from ..host.computer import cores
from ..host.units import bytes_text, probability, scaled
from ..language.fixed_type import plain_number
from ..language.shapes import value_of
from ..reports import Report
from .context import Ciphertexts, ClientKey, Context, Parameters, ServerKey, Values
from .not_a_value import NotAValue

if TYPE_CHECKING:
    from ..accelerators.machine import Machine
    from ..host.progress import ProgressHook
    from ..language.reference import Wrapped
    from ..language.traced import TracedProgram
    from ..run.keys import Keys
    from .options import PlanOptions


SHOWN = 300
"""Largest number of characters of a value that `repr` of a result shows."""

Verdict: TypeAlias = Literal["correct", "not within bound", "bound says nothing"]
"""Verdict on one output: within its bound; not within it; or uninformative, because the bound is as large as the expected values."""


@dataclass(frozen=True)
class Expected:
    """The outputs of a program in the clear."""

    values: Values
    magnitudes: list[float] = field(default_factory=list, repr=False)
    """The largest value of each operation, with CKKS."""
    wrapped: list[Wrapped] = field(default_factory=list, repr=False)
    """Integers that left the range of their type, with TFHE."""
    undecided: list[int] = field(default_factory=list, repr=False)
    """Items of a batch that are not compared, because real numbers in them are near a border of a rounding."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """One execution before the comparison with the expected outputs."""

    on: str
    inputs: Values
    found: Values
    """The decrypted outputs."""
    expected: Expected
    results: Ciphertexts
    seconds: dict[str, float]
    ciphertext_bytes: int
    """Of the inputs."""
    keys: Keys
    flood: float | None
    simulation: Report | None


@dataclass(frozen=True)
class ClientSeconds:
    """Processor seconds of a client's steps in one run."""

    keys: float
    """The client's and the server's keys."""
    encrypt: float
    decrypt: float


class Plan(ABC):
    """A program, its parameter set and its kernel program, for this computer or for a machine."""

    program: TracedProgram
    machine: Machine | None
    """The machine that executes it; `None` for this computer."""

    parameters: Parameters
    """The parameter set."""
    public: bool
    """Whether inputs may be encrypted with the client's public key."""
    kernel: _native.TfheKernel | _native.RnsKernel
    """The kernel program: what a runtime or a machine executes."""
    log2_failure: float
    """log2 of the probability that a result is wrong; for CKKS, that an error exceeds its bound."""
    memory_bytes: int
    """Bytes of the server's keys and ciphertexts."""
    key_bytes: int
    """Bytes of the server's keys before execution."""
    key_text: str
    """The keys' part of the memory, in words."""
    work: dict[str, int]
    """Number of lookups or operations of an execution."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a plan does not pickle; pickle its program, and plan that again, as program.plan(..)")

    def __repr__(self) -> str:
        place = "this computer" if self.machine is None else self.machine.name
        return f"<plan of {self.program.name} with {self.parameters.name}, for {place}>"

    @classmethod
    @abstractmethod
    def make(cls, program: Any, options: PlanOptions) -> Plan:  # noqa: ANN401 - of the plan's kind
        """Chooses or checks the parameter set, checks noise and security, and lowers."""

    @property
    @abstractmethod
    def context(self) -> Context:
        """The client's operations."""

    @property
    def signature(self) -> Any:  # noqa: ANN401 - of either kind
        """The part of the program that a client must know."""
        return self.context.signature

    @property
    def refusal(self) -> str | None:
        """Why no run of it is possible; `None` if runs are possible."""
        try:
            _ = self.signature
        except NoiseError as error:
            return str(error)
        return None

    # -- before running -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def parameter_figures(self) -> dict[str, Any]:
        """The figures of its parameter set, as data."""

    @abstractmethod
    def facts_of_cost(self) -> dict[str, Any]:
        """The facts of the cost report except time."""

    @abstractmethod
    def processor_seconds(self) -> float:
        """Estimated processor seconds of an execution on this computer, summed over threads."""

    @abstractmethod
    def client_seconds(self) -> ClientSeconds:
        """Estimated processor seconds of key generation, encryption and decryption on this computer."""

    def cost(self, before: Mapping[str, float]) -> Report:
        """Estimates the cost of a run on this computer, or on the plan's machine, whose time is that of its schedule. `before` is the processor
        time that this process has already spent, by purpose."""
        client = self.client_seconds()
        whole = {**before, "keys": client.keys, "encrypt": client.encrypt}
        times: dict[str, Any]
        if self.machine is None:
            processor = self.processor_seconds()
            times = {"processor_seconds": processor, "seconds": processor / cores()}
            whole["execute"] = processor
        else:
            schedule = self.machine.simulate(self)
            times = {key: schedule[key] for key in ("machine", "seconds", "latency_s", "energy_j")}
        whole["decrypt"] = client.decrypt
        data = {
            "program": self.program.name,
            "scheme": self.program.scheme,
            "parameters": self.parameters.name,
            "parameter_set": self.parameter_figures,
            **times,
            "whole_run_seconds": whole,
            **self.facts_of_cost(),
        }
        return Report("cost" if self.program.kind == "elements" else "slot cost", data)

    def check_memory(self, held: int = 0, requests: int = 1) -> None:
        """Refuses a plan that does not fit the memory, with so many `requests` in one execution. `held` bytes are already allocated for keys and
        for what executions have prepared."""
        needed = self.memory_together(requests)
        if not memory.allows(needed, held):
            _native.let_go()
        memory.expect(
            f"{self.program.name} with parameter set {self.parameters.name} ({self.key_text})",
            needed,
            "name a smaller set, use fewer rotations or values, or a computer with more memory",
            held,
        )

    @abstractmethod
    def check_flood(self, flood: float | None) -> None:
        """Refuses invalid or ineffective noise for published outputs."""

    @abstractmethod
    def expect_place(self, on: str) -> None:
        """Fails if `on` is "gpu" and this computer has no card that can run the program."""

    @abstractmethod
    def expect_keys(self, server: ServerKey) -> None:
        """Fails if the server lacks a key that the program needs."""

    # -- running --------------------------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, inputs: Values) -> Expected:
        """The outputs in the clear. Refuses inputs whose values exceed the plan's range."""

    @abstractmethod
    def compute(
        self, server: ServerKey, ciphertexts: Ciphertexts, on: str, threads: int, progress: ProgressHook | None
    ) -> Ciphertexts:
        """Executes on this computer: on "cpu" with `threads` threads, on its "gpu", or with the "interpreter", operation by operation."""

    def together(self, threads: int) -> int:  # noqa: ARG002 - of plans that gain nothing
        """Number of requests that an execution on so many threads takes: more than one if they then take less time than apart."""
        return 1

    def memory_together(self, requests: int) -> int:  # noqa: ARG002 - one after the other
        """`memory_bytes` with so many requests in one execution."""
        return self.memory_bytes

    def compute_each(
        self, server: ServerKey, requests: Sequence[Ciphertexts], threads: int, progress: ProgressHook | None
    ) -> list[Ciphertexts | BaseException]:
        """`compute` on the CPU for the requests of one execution: the outputs of each, or its error."""

        def outcome(request: Ciphertexts) -> Ciphertexts | BaseException:
            try:
                return self.compute(server, request, "cpu", threads, progress)
            except CancelledError:
                raise
            except Error as error:
                return error

        return [outcome(request) for request in requests]

    @abstractmethod
    def hidden(self, server: ServerKey, results: Ciphertexts) -> Ciphertexts:
        """The results for the client: re-randomised and flooded if the plan has circuit privacy."""

    @abstractmethod
    def decrypt(self, client: ClientKey, results: Ciphertexts, flood: float | None = None) -> Values:
        """Decrypts the results. With `flood` (CKKS), adds noise of that deviation to every slot, for publication, and warns."""

    # -- comparing ------------------------------------------------------------------------------------------------

    @abstractmethod
    def errors(self, found: Values, expected: Values, undecided: Sequence[int] = ()) -> dict[str, float]:
        """Number of wrong values by output, without those of `undecided` items; with CKKS, the largest error of a slot."""

    @abstractmethod
    def bounds(self, flood: float | None = None, expected: Expected | None = None) -> dict[str, float]:
        """Error bound by output, including flooding noise; 0 for exact schemes.

        The bounds hold for any inputs; where they exceed the values `expected`, the bounds for these inputs replace them.
        """

    def rounding(self, magnitudes: Sequence[float] | None = None) -> float:  # noqa: ARG002 - integers are not rounded
        """Largest rounding error of the clear program, for operations with these magnitudes, or for any inputs without them."""
        return 0.0

    @property
    def input_size(self) -> float:
        """Largest declared magnitude of an input."""
        return inf

    @abstractmethod
    def result(self, done: Execution) -> RunResult:
        """Compares an execution with the expected outputs."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunResult(NotAValue, ABC):
    """The outputs of a run, the expected outputs, and the run's cost."""

    program: str
    scheme: str
    on: str
    parameters: str
    """Name of the parameter set."""
    outputs: dict[str, Any]
    """Outputs by name, for generic code; `value` has the form in which the function returned them."""
    expected: dict[str, Any]
    error: dict[str, float]
    """Number of wrong values by output; with CKKS, the largest error of a slot."""
    bound: dict[str, float]
    """Error bound by output, exceeded with probability 2^-40 at most (CKKS); 0 for exact schemes."""
    seconds: dict[str, float]
    sizes: dict[str, int]
    """Bytes of the server's keys and of the ciphertexts."""
    plan: Plan
    keys: Keys
    simulation: Report | None = None
    """The machine's report; `None` for a run on this computer."""
    rounding: float = 0.0
    """Largest rounding error of the clear program, with CKKS."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a result does not pickle; pickle its outputs or its to_dict()")

    def __repr__(self) -> str:
        value = shown(self.value)
        seconds = ", ".join(f"{step} {scaled(taken, 's')}" for step, taken in self.seconds.items())
        verdict = "correct" if self.problem is None else f"not correct: {self.problem}"
        return (
            f"{value if len(value) <= SHOWN else f'{value[:SHOWN]}..'}\n"
            f"{self.program} on {self.on} with {self.parameters}: {verdict}; {seconds}"
            + (f"; {self.plan.program.chosen}" if self.plan.program.chosen else "")
        )

    def _repr_html_(self) -> str:
        """The outputs and the cost as a table, for notebooks."""
        figures = {
            **{f"output {name}": shown(value)[:SHOWN] for name, value in self.outputs.items()},
            "correct": "yes" if self.problem is None else f"no: {self.problem}",
            "on": self.on,
            "parameters": self.parameters,
            "failure probability": probability(self.log2_failure),
            **{step: scaled(taken, "s") for step, taken in self.seconds.items()},
            **{name.replace("_", " "): bytes_text(size) for name, size in self.sizes.items()},
        }
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in figures.items())
        report = "" if self.simulation is None else self.simulation._repr_html_()
        return f"<table><caption>{escape(self.program)}</caption><tbody>{rows}</tbody></table>{report}"

    @property
    def value(self) -> Any:  # noqa: ANN401 - whatever the program's function returns
        """What the program's function returned: one value, a tuple or a dictionary."""
        return value_of(self.outputs)

    @property
    def verdict(self) -> dict[str, Verdict]:
        """The verdict on each output."""
        return verdicts(self.error, self.bound, self.expected, self.rounding, self.plan.input_size)

    @property
    def within_bounds(self) -> bool:
        """Whether every output is within its bound, even an uninformative one. Applications with their own tolerance check only this."""
        return "not within bound" not in self.verdict.values()

    @property
    def correct(self) -> bool:
        """Whether every output equals the expected one: exactly with TFHE and BGV, within a bound below the expected values with CKKS."""
        return self.problem is None

    @property
    def problem(self) -> str | None:
        """Why the result is not `correct`, with figures and a remedy."""
        return problem(self.verdict, self.error, self.bound, self.expected)

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that the result is wrong; for CKKS, that an error exceeds its bound."""
        return self.plan.log2_failure

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The facts specific to the scheme, as data."""

    def to_dict(self) -> dict[str, Any]:
        """The result as data; complex numbers are pairs."""
        return {
            "program": self.program,
            "scheme": self.scheme,
            "on": self.on,
            "parameters": self.parameters,
            "parameter_set": self.plan.parameter_figures,
            **({} if self.plan.program.chosen is None else {"chosen": self.plan.program.chosen}),
            "correct": self.correct,
            "verdict": self.verdict,
            "problem": self.problem,
            "outputs": plain(self.outputs),
            "expected": plain(self.expected),
            "error": self.error,
            "bound": {name: finite_or_none(bound) for name, bound in self.bound.items()},
            "log2_failure": self.log2_failure if isfinite(self.log2_failure) else None,
            "seconds": self.seconds,
            "sizes_bytes": self.sizes,
            **({} if self.simulation is None else {"machine": self.simulation.to_dict()}),
            **self.facts(),
        }


def common(plan: Plan, done: Execution) -> dict[str, Any]:
    """The fields of a result that all schemes share."""
    program = plan.program
    return {
        "program": program.name,
        "scheme": program.scheme,
        "on": done.on,
        "parameters": plan.parameters.name,
        "outputs": program.shaped(done.found),
        "expected": program.shaped(done.expected.values),
        "error": plan.errors(done.found, done.expected.values, done.expected.undecided),
        "seconds": done.seconds,
        "plan": plan,
        "keys": done.keys,
        "simulation": done.simulation,
    }


def verdicts(
    error: Mapping[str, float],
    bound: Mapping[str, float],
    expected: Mapping[str, Any],
    rounding: float,
    input_size: float,
) -> dict[str, Verdict]:
    """The verdict on each output. Expected values up to `rounding` count as 0, for which a bound up to the inputs' size is informative."""

    def of(name: str) -> Verdict:
        if not error[name] <= bound[name]:
            return "not within bound"
        # Exact schemes have bound 0, and texts have no magnitude.
        if bound[name] == 0:
            return "correct"
        size = magnitude(expected[name])
        informative = bound[name] < size or (size <= rounding and bound[name] <= input_size)
        return "correct" if informative else "bound says nothing"

    return {name: of(name) for name in error}


def problem(
    verdict: Mapping[str, Verdict], error: Mapping[str, float], bound: Mapping[str, float], expected: Mapping[str, Any]
) -> str | None:
    """Why a result is not correct, with figures and a remedy; `None` if it is."""
    found = []
    for name, of in verdict.items():
        if of == "not within bound" and bound[name] == 0:
            found.append(f"{error[name]:.0f} values of {name!r} are not the expected ones")
        elif of == "not within bound":
            found.append(
                f"the error of {name!r} is {error[name]:.1e}, above its bound of {bound[name]:.1e}; measure=True (--measure) finds the operation"
            )
        elif of == "bound says nothing":
            found.append(
                f"the bound of {name!r} is uninformative: it is {bound[name]:.1e}, and the expected values reach {magnitude(expected[name]):.1e} "
                f"(measured error {error[name]:.1e}); take a parameter set with a larger scale, declare smaller inputs with .bounded(), or find "
                "in cost() (--cost) where the bound grows"
            )
    return "; ".join(found) or None


def magnitude(shaped: Any) -> float:  # noqa: ANN401 - a number, a list, or a list of rows
    """The largest absolute value of an output in its program's shape."""
    return float(np.abs(shaped).max(initial=0.0))


def finite_or_none(bound: float | None) -> float | None:
    """A bound as data: `None` if it is not finite."""
    return bound if bound is not None and isfinite(bound) else None


def plain(values: Any) -> Any:  # noqa: ANN401 - numbers, lists and dictionaries of them
    """`values` for JSON: complex numbers as pairs, fractions as exact decimal numbers."""
    if isinstance(values, Mapping):
        return {name: plain(value) for name, value in values.items()}
    if isinstance(values, list):
        return [plain(value) for value in values]
    return [values.real, values.imag] if isinstance(values, complex) else plain_number(values)
