"""A program, the parameter set that carries it, and what running it leaves: the skeleton that elements and slots share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np

from .. import memory
from ..computer import cores
from ..errors import InputError, NoiseError
from ..reports import Report
from ..reports.units import scaled
from .context import Ciphertexts, ClientKey, Context, Parameters, ServerKey, Values

if TYPE_CHECKING:
    from .. import _native
    from ..keys import Keys
    from ..language.reference import Wrapped
    from ..language.traced import TracedProgram
    from ..machines import Machine
    from ..progress import ProgressHook
    from .options import PlanOptions


Verdict: TypeAlias = Literal["correct", "not within bound", "bound says nothing"]
"""On one output: it is the expected one within its bound; it is not; or its bound is as large as the expected values, so that being within it proves nothing."""


@dataclass(frozen=True)
class Expected:
    """What a program gives in the clear."""

    values: Values
    magnitudes: list[float] = field(default_factory=list, repr=False)
    """The largest value of each operation, of slots."""
    wrapped: list[Wrapped] = field(default_factory=list, repr=False)
    """Where integers left the range of their type, with TFHE."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """One execution as it was, before it is compared with what it should give."""

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
    """Processor time of what a client does for one run."""

    keys: float
    """Its own, and its server's."""
    encrypt: float
    decrypt: float


class Plan(ABC):
    """A program, the parameter set that carries it, and its kernel program, for this computer or for a machine."""

    program: TracedProgram
    machine: Machine | None
    """The machine that executes it; this computer without one."""

    parameters: Parameters
    """The parameter set."""
    public: bool
    """Whether inputs may be encrypted with the client's public key."""
    kernel: _native.KernelProgram | _native.ResidueKernel
    """The kernel program: what a runtime or a machine executes."""
    log2_failure: float
    """log2 of the probability that a result is wrong: of CKKS, that it is off by more than its bound."""
    memory_bytes: int
    """Memory that the server takes: keys and ciphertexts."""
    key_bytes: int
    """What of that is a client's keys as a server has them when it begins."""
    key_text: str
    """The same in words."""
    work: dict[str, int]
    """How many look-ups an execution has, or operations on slots."""

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
        """What its client does with it."""

    @property
    def signature(self) -> Any:  # noqa: ANN401 - of either kind
        """What a client has to know of the program."""
        return self.context.signature

    @property
    def refusal(self) -> str | None:
        """Why it is not run, whatever its inputs; `None` if it is."""
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
        """What its cost report says beside its time."""

    @abstractmethod
    def processor_seconds(self) -> float:
        """Processor time that an execution takes here, all threads together."""

    @abstractmethod
    def client_seconds(self) -> ClientSeconds:
        """Processor time of what its client does here: the keys, its own and its server's, encryption and decryption."""

    def cost(self, before: Mapping[str, float]) -> Report:
        """What running it on this computer takes, before running it; `before` is processor time of a whole run that this process has taken already, by what
        it was for."""
        processor, client = self.processor_seconds(), self.client_seconds()
        times = {"processor_seconds": processor, "seconds": processor / cores()}
        whole = {
            **before,
            "keys": client.keys,
            "encrypt": client.encrypt,
            "execute": processor,
            "decrypt": client.decrypt,
        }
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

    def check_memory(self, held: int = 0) -> None:
        """Refuses a plan that does not fit the memory, before any key is made; or before it is executed, with keys that take `held` bytes already."""
        memory.expect(
            f"{self.program.name} with parameter set {self.parameters.name} ({self.key_text})",
            self.memory_bytes,
            "name a smaller set, use fewer rotations or values, or a computer with more memory",
            held,
        )

    @abstractmethod
    def check_flood(self, flood: float | None) -> None:
        """Refuses noise for outputs that others will see, where it is none, or hides nothing."""

    @abstractmethod
    def expect_place(self, on: str) -> None:
        """Fails if `on` is this computer's "gpu", and it has none that runs the program."""

    @abstractmethod
    def expect_keys(self, server: ServerKey) -> None:
        """Fails if a server's keys lack one that the program asks for."""

    # -- running --------------------------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, inputs: Values) -> Expected:
        """What it gives in the clear. Inputs whose values the plan does not carry are refused."""

    @abstractmethod
    def compute(
        self, server: ServerKey, ciphertexts: Ciphertexts, on: str, threads: int, progress: ProgressHook | None
    ) -> Ciphertexts:
        """Executes on this computer: on "cpu" with so many threads, on its "gpu", or by the "interpreter", operation by operation."""

    @abstractmethod
    def hidden(self, server: ServerKey, results: Ciphertexts) -> Ciphertexts:
        """The results as they leave the server: re-randomised and flooded if the plan asks for it."""

    @abstractmethod
    def decrypt(self, client: ClientKey, results: Ciphertexts, flood: float | None = None) -> Values:
        """What the results say; with `flood`, of CKKS, as others may see them, with noise of that deviation in every slot and a warning."""

    # -- comparing ------------------------------------------------------------------------------------------------

    @abstractmethod
    def errors(self, found: Values, expected: Values) -> dict[str, float]:
        """By output: how many values are wrong; with CKKS, the largest error of a slot."""

    @abstractmethod
    def bounds(self, flood: float | None = None, expected: Expected | None = None) -> dict[str, float]:
        """By output: what its error stays within, noise for others included; 0 of exact schemes.

        The bounds hold for any inputs; where these say nothing of the values `expected`, for the inputs that gave those.
        """

    def rounding(self, magnitudes: Sequence[float] | None = None) -> float:  # noqa: ARG002 - integers are not rounded
        """What the clear program's own rounding may leave of a 0, where its operations have values of these sizes; without them, for any inputs."""
        return 0.0

    @abstractmethod
    def result(self, done: Execution) -> RunResult:
        """An execution, compared with what it should give."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult(ABC):
    """The answer, the answer expected, and what the execution took."""

    program: str
    scheme: str
    on: str
    parameters: str
    """Name of the parameter set."""
    outputs: dict[str, Any]
    expected: dict[str, Any]
    error: dict[str, float]
    """By output: how many values are wrong; with CKKS, the largest error of a slot."""
    bound: dict[str, float]
    """By output: what the error stays within, of CKKS but for a probability of 2^-40; 0 of exact schemes."""
    seconds: dict[str, float]
    sizes: dict[str, int]
    """Bytes of the server's keys and of the ciphertexts."""
    plan: Plan
    keys: Keys
    simulation: Report | None = None
    """What the machine takes; nothing for a run on this computer."""
    rounding: float = 0.0
    """What the clear program's own rounding may leave of a 0, with CKKS."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("a result does not pickle; pickle its outputs, or what its to_dict() gives")

    def __repr__(self) -> str:
        outputs = ", ".join(f"{name} = {value!s:.200}" for name, value in self.outputs.items())
        seconds = ", ".join(f"{step} {scaled(taken, 's')}" for step, taken in self.seconds.items())
        verdict = "correct" if self.problem is None else f"not correct: {self.problem}"
        return f"<{self.program} on {self.on} with {self.parameters}: {outputs}; {verdict}; {seconds}>"

    def __getitem__(self, output: str) -> Any:  # noqa: ANN401 - as its program shapes it
        """The output of that name."""
        if output not in self.outputs:
            raise InputError(f"{self.program} has no output {output!r}; it has {', '.join(self.outputs)}")
        return self.outputs[output]

    @property
    def verdict(self) -> dict[str, Verdict]:
        """By output: whether it is the expected one within its bound, and a bound that says something."""
        return verdicts(self.error, self.bound, self.expected, self.rounding)

    @property
    def within_bounds(self) -> bool:
        """Whether every output is within its bound, which may say nothing. Applications with their own tolerance ask for no more."""
        return "not within bound" not in self.verdict.values()

    @property
    def correct(self) -> bool:
        """Whether every output is the expected one: exactly with TFHE and BGV; with CKKS within its bound, which is smaller than the expected values."""
        return self.problem is None

    @property
    def problem(self) -> str | None:
        """Why it is not `correct`, with the figures and what to do."""
        return problem(self.verdict, self.error, self.bound, self.expected)

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that it is wrong: of CKKS, that a bound is passed."""
        return self.plan.log2_failure

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What is of its kind alone, as data."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data; complex numbers as pairs."""
        return {
            "program": self.program,
            "scheme": self.scheme,
            "on": self.on,
            "parameters": self.parameters,
            "parameter_set": self.plan.parameter_figures,
            "correct": self.correct,
            "verdict": self.verdict,
            "problem": self.problem,
            "outputs": plain(self.outputs),
            "expected": plain(self.expected),
            "error": self.error,
            "bound": {name: told(bound) for name, bound in self.bound.items()},
            "log2_failure": self.log2_failure,
            "seconds": self.seconds,
            "sizes_bytes": self.sizes,
            **({} if self.simulation is None else {"machine": self.simulation.to_dict()}),
            **self.facts(),
        }


def common(plan: Plan, done: Execution) -> dict[str, Any]:
    """The fields of a result that are the same for all schemes."""
    program = plan.program
    return {
        "program": program.name,
        "scheme": program.scheme,
        "on": done.on,
        "parameters": plan.parameters.name,
        "outputs": program.shaped(done.found),
        "expected": program.shaped(done.expected.values),
        "error": plan.errors(done.found, done.expected.values),
        "seconds": done.seconds,
        "plan": plan,
        "keys": done.keys,
        "simulation": done.simulation,
    }


def verdicts(
    error: Mapping[str, float], bound: Mapping[str, float], expected: Mapping[str, Any], rounding: float
) -> dict[str, Verdict]:
    """The verdict on each output. Expected values up to `rounding` are 0, and every finite bound says something of them."""

    def of(name: str) -> Verdict:
        if not error[name] <= bound[name]:
            return "not within bound"
        # Exact schemes have no bound, and texts no magnitude.
        if bound[name] == 0 or (isfinite(bound[name]) and not rounding < magnitude(expected[name]) <= bound[name]):
            return "correct"
        return "bound says nothing"

    return {name: of(name) for name in error}


def problem(
    verdict: Mapping[str, Verdict], error: Mapping[str, float], bound: Mapping[str, float], expected: Mapping[str, Any]
) -> str | None:
    """Why a result is not correct, with the figures and what to do; nothing if it is."""
    found = []
    for name, of in verdict.items():
        if of == "not within bound" and bound[name] == 0:
            found.append(f"{error[name]:.0f} values of {name!r} are not the expected ones")
        elif of == "not within bound":
            found.append(
                f"the error of {name!r} is {error[name]:.1e}, beyond its bound of {bound[name]:.1e}; measure=True (--measure) finds the operation"
            )
        elif of == "bound says nothing":
            found.append(
                f"the bound of {name!r} says nothing: it is {bound[name]:.1e}, and the expected values go up to {magnitude(expected[name]):.1e} "
                f"(measured error {error[name]:.1e}); take a parameter set with a larger scale, declare smaller inputs with .bounded(), or look "
                "where the bound grows in cost() (--cost)"
            )
    return "; ".join(found) or None


def magnitude(shaped: Any) -> float:  # noqa: ANN401 - a number, a list, or a list of rows
    """The largest absolute value of an output as its program shapes it."""
    return float(np.abs(shaped).max(initial=0.0))


def told(bound: float | None) -> float | None:
    """A bound as data: null where it is beyond the largest number."""
    return bound if bound is not None and isfinite(bound) else None


def plain(values: Any) -> Any:  # noqa: ANN401 - numbers, lists and dictionaries of them
    """`values` as JSON takes them: complex numbers as pairs."""
    if isinstance(values, Mapping):
        return {name: plain(value) for name, value in values.items()}
    if isinstance(values, list):
        return [plain(value) for value in values]
    return [values.real, values.imag] if isinstance(values, complex) else values
