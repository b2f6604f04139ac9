"""Programs that run: what `@pf.program` makes of a function, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import execution, slot_execution, slot_stages
from .errors import InputError
from .language import program as written
from .language import slot_program as written_on_slots
from .language.place import pass_over, refuse
from .language.program import SCHEMES
from .language.types import IntegerType, SlotType, Type
from .machines import load as load_machine
from .names import suggestion
from .slot_execution import SlotKeys

if TYPE_CHECKING:
    from .execution import Keys, RunResult
    from .language.shapes import Clear
    from .language.slot_shapes import SlotOutputs
    from .language.slots import Numbers
    from .machines import Machine
    from .progress import ProgressHook
    from .reports import Report
    from .slot_execution import SlotRunResult
    from .slot_parameters import SlotParameters

pass_over(__file__)


class Program(written.Program):
    """A program on encrypted data. Made by `@pf.program`, or from its text by `Program.parse`."""

    def kernel_text(self, parameters: str | None = None) -> str:
        """The kernel program as text: what a runtime or a machine executes."""
        return execution.plan(self, parameters).kernel.text()

    # -- execution ------------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: Mapping[str, Clear],
        *,
        on: str = "cpu",
        parameters: str | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        max_failure: float | None = None,
        unroll: int = 1,
        circuit_privacy: float | None = None,
        public: bool = False,
        progress: ProgressHook | None = None,
    ) -> RunResult:
        """Encrypts, executes, decrypts, and compares with the program in the clear.

        `on` is "cpu", "interpreter", or a machine, by name or as a file of yours: its own schedule, replayed on the ciphertexts with
        its arithmetic. Without `parameters`, a set is chosen. `max_failure` is log2 of the failure probability that is accepted, -128 without it. `unroll` is the
        number of secret bits an iteration of blind rotation takes: 2 is faster on a CPU, with a key half as large again
        and more noise. With `circuit_privacy` bits the server re-randomises and floods every output, so that the client learns little more of the
        program than its values. With `public`, inputs are encrypted with the public key, as others encrypt them, and failures counted for that.
        """
        return execution.run(
            self,
            inputs,
            on=on,
            parameters=parameters,
            keys=keys,
            threads=threads,
            target=max_failure,
            unroll=unroll,
            circuit_privacy=circuit_privacy,
            public=public,
            progress=progress,
        )

    def simulate(
        self,
        machine: str,
        *,
        parameters: str | None = None,
        readings: Sequence[str] = (),
        max_failure: float | None = None,
    ) -> Report:
        """The time, stalls, traffic and energy of a machine's schedule for this program.

        `machine` is a name or a file of yours; `readings` are choices `fact=option` of what its paper leaves open; `max_failure` as in `run`.
        """
        return execution.simulate(self, machine, parameters=parameters, readings=readings, target=max_failure)

    def cost(
        self,
        parameters: str | None = None,
        *,
        max_failure: float | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
    ) -> Report:
        """What running takes, before running: look-ups, time on this CPU, memory, key and ciphertext sizes, noise.

        With `public`, the noise of inputs that are encrypted with a public key.
        """
        return execution.cost(self, parameters, max_failure, circuit_privacy, public)


class SlotProgram(written_on_slots.SlotProgram):
    """A CKKS or BGV program. Made by `@pf.program`, or from its text by `SlotProgram.parse`."""

    def kernel_text(self, parameters: str | SlotParameters | None = None) -> str:
        """The kernel program as text: what a runtime or a machine executes."""
        return slot_execution.plan(self, parameters, security=0).native.kernel().text()

    # -- execution --------------------------------------------------------------------------------------------------

    def run(
        self,
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
        """Encrypts, executes, decrypts, and compares with the program in the clear; with `measure` every operation.

        `on` is "cpu", "interpreter", or a machine for CKKS and BGV, whose schedule is then carried out. Without `parameters`, a set's name or
        file or `pf.SlotParameters`, the smallest ring of 128 bits of security is taken whose modulus carries the program's levels; a set below
        `security` bits is refused, and one of your own below 128 unless `security` allows it. `key_switch` is "set" for the parameter set's,
        "auto" for the compiler's choice, or a name ("listing1", "d8"); without it, "auto" on a machine if no set is named.
        `flood`, with CKKS, is for outputs that others will see: noise of that deviation is added to every slot, and a warning says what it hides.
        With `public`, inputs are encrypted with the public key, as others encrypt them, and errors are bounded for that.
        """
        return slot_execution.run(
            self,
            inputs,
            on=on,
            parameters=parameters,
            keys=keys,
            threads=threads,
            measure=measure,
            security=security,
            key_switch=key_switch,
            flood=flood,
            public=public,
            progress=progress,
        )

    def simulate(
        self, machine: str | Machine, *, parameters: str | SlotParameters | None = None, key_switch: str | None = None
    ) -> Report:
        """The time, stalls, traffic and energy of the program on a machine, from a checked schedule; `key_switch` as in `run`."""

        target = load_machine(machine) if isinstance(machine, str) else machine
        return target.simulate(slot_execution.plan(self, parameters, machine=target, key_switch=key_switch, security=0))

    def cost(self, parameters: str | SlotParameters | None = None, *, public: bool = False) -> Report:
        """What running takes, before running: levels, keys and their sizes, memory, operations, error bounds.

        With `public`, the error bounds of inputs that are encrypted with a public key.
        """
        return slot_execution.cost(self, parameters, public=public)

    # -- execution in steps through files, by several parties -----------------------------------------------------------

    def make_keys(
        self,
        folder: str | Path,
        *,
        parameters: str | SlotParameters | None = None,
        security: float | None = None,
        key_switch: str | None = None,
        progress: ProgressHook | None = None,
    ) -> SlotKeys:
        """Makes keys in `folder`: `client.key` for the client alone, `server.key` for the server, `public.key` for whoever encrypts."""
        options: dict[str, Any] = {"parameters": parameters, "security": security, "key_switch": key_switch}
        slot_stages.make_keys(self, Path(folder), **options, progress=progress)
        return SlotKeys.load(folder, self.scheme)

    def encrypt(
        self, inputs: Mapping[str, Numbers], folder: str | Path, *, security: float | None = None
    ) -> dict[str, Any]:
        """Encrypts inputs with the client key in `folder`, or with the public key in it: `NAME.in.ct` for each.

        With a public key alone only some of the inputs may be given. Its parameter set must have `security` bits, or 128.
        """
        path = Path(folder)
        if not any((path / name).exists() for name in ("client.key", "public.key")):
            raise InputError(
                f"{self.name}: {path} has neither client.key nor public.key; bring one, or make_keys(folder) first"
            )
        return slot_stages.encrypt(self, path, inputs, security=security)

    def execute(
        self,
        folder: str | Path,
        *,
        on: str = "cpu",
        threads: int | None = None,
        progress: ProgressHook | None = None,
    ) -> dict[str, Any]:
        """Executes on the inputs in `folder`, with its `server.key`: `NAME.out.ct` for each output."""
        return slot_stages.execute(
            self, Path(folder), on=on, machine=execution.place(on), threads=threads, progress=progress
        )

    def decrypt(self, folder: str | Path, *, flood: float | None = None) -> SlotOutputs:
        """Decrypts the outputs in `folder` with its `client.key`; with `flood`, for others."""
        return self.shaped(slot_stages.decrypted(self, Path(folder), None, flood)[1])


traced = partial(written.trace, kinds=(Program, SlotProgram))
"""The program of a function on inputs of given types."""

finished = partial(written_on_slots.finish, kind=SlotProgram)
"""The program that a tracer of slots has written."""


def program(
    name: str | None = None,
    /,
    *,
    scheme: str | Type | SlotType | None = None,
    slots: int | Type | SlotType | None = None,
    lanes: int | Type | SlotType | None = None,
    **inputs: Type | SlotType,
) -> Callable[[Callable[..., Any]], Any]:
    """Turns a function into a `Program`, or a `SlotProgram`. Keywords give the type of each parameter, in the function's names.

    The function is called once, now, with encrypted values. It returns one value (output "result"), a tuple
    ("result0", "result1", ..) or a dictionary of outputs.

    `scheme` is "tfhe", "ckks" or "bgv"; without it, the types say which. With CKKS and BGV, every vector has `slots`
    slots, a power of two; without it, as many as the longest input needs. `lanes` is how many look-ups take the time of one
    where integers of any width will run (2 without it): where there are many, as on an accelerator, carries go by a parallel prefix.
    """
    # Parameters of the function may bear these names too.
    if isinstance(scheme, Type | SlotType | IntegerType):
        inputs["scheme"], scheme = scheme, None  # type: ignore[assignment]
    if isinstance(slots, Type | SlotType | IntegerType):
        inputs["slots"], slots = slots, None  # type: ignore[assignment]
    if isinstance(lanes, Type | SlotType | IntegerType):
        inputs["lanes"], lanes = lanes, None  # type: ignore[assignment]
    if callable(name):
        raise refuse(
            "@pf.program needs the types of the parameters; write @pf.program(x=pf.Int(0, 7)), or another type"
        )
    if scheme is not None and scheme not in SCHEMES:
        raise refuse(f"there is no scheme {scheme!r}; {suggestion(str(scheme), list(SCHEMES))}")

    def decorate(function: Callable[..., Any]) -> Program | SlotProgram:
        return traced(function, inputs, name, scheme=scheme, slots=slots, lanes=lanes)

    return decorate
