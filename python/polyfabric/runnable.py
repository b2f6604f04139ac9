"""Programs that run: what `@pf.program` makes of a function, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import execution
from .errors import InputError, shown
from .execution import place
from .files import path_of
from .keys import CLIENT, PUBLIC, present
from .language import program as written
from .language import slot_program as written_on_slots
from .language.place import pass_over, refuse
from .language.program import SCHEMES
from .language.traced import TracedProgram
from .language.types import SlotType, Type
from .machines import Machine, expect_list
from .machines import load as load_machine
from .names import suggestion
from .progress import watched
from .schemes.options import PlanOptions
from .stages import Encrypted, Executed, Steps

if TYPE_CHECKING:
    from .keys import Keys
    from .progress import ProgressHook
    from .reports import Report
    from .schemes.context import Parameters
    from .schemes.plan import Plan, RunResult

pass_over(__file__)


class Runnable(TracedProgram):
    """What can be done with a program, on elements or on slots. An option that has no meaning for one of the two is refused with the reason."""

    def plan(self, parameters: str | Parameters | None = None, **options: Any) -> Plan:  # noqa: ANN401 - those of `run`
        """The program planned, with the options of `run` that plan it: the parameter set, its noise, and its kernel program."""
        return execution.plan(self, parameters, **options)

    def kernel_text(self, parameters: str | Parameters | None = None) -> str:
        """The kernel program as text: what a runtime or a machine executes."""
        return execution.plan(self, parameters, security=0).kernel.text()

    # -- execution ------------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        on: str = "cpu",
        parameters: str | Parameters | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        max_failure: float | None = None,
        security: float | None = None,
        public: bool = False,
        unroll: int = 1,
        circuit_privacy: float | None = None,
        measure: bool = False,
        key_switch: str | None = None,
        flood: float | None = None,
        memory: int | str | None = None,
        progress: ProgressHook | None = None,
        **unknown: Any,  # noqa: ANN401 - refused
    ) -> RunResult:
        """Encrypts, executes, decrypts, and compares with the program in the clear. `inputs` are a dictionary, by name.

        `on` is "cpu", "gpu", "interpreter", or a machine, by name or as a file of yours: its own schedule, carried out on the ciphertexts with
        its arithmetic. Without `parameters`, the cheapest set that carries the program is taken; those of your own are `pf.SlotParameters` or a file, of CKKS
        and BGV. `max_failure` is log2 of the failure probability that is accepted, -128 without it; of CKKS it is what the bounds of errors are drawn
        for. A set below `security` bits is refused; without it, one of your own below 128. With `public`, inputs are encrypted with the public
        key, as others encrypt them, and failures and errors are counted for that.

        `memory` is the most that any step may take, bytes or a text such as "4G", in place of what this computer has left: a program that needs more is refused
        before it takes any.

        TFHE: `unroll` is the number of secret bits an iteration of blind rotation takes: 2 is faster on a CPU, with a key half as large again
        and more noise. With `circuit_privacy` bits the server re-randomises and floods every output, so that the client learns little more of the
        program than its values.

        CKKS and BGV: with `measure` the error of every operation is measured, and a program runs too of which by its bounds nothing is left.
        `key_switch` is "set" for the parameter set's, "auto" for the compiler's choice, or a name ("listing1", "d8"); without it, "auto" on a machine if no
        set is named. `flood`, with CKKS, is for outputs that others will see: noise of that deviation is added to every slot, and a warning says what it
        hides.
        """
        if inputs is None or unknown:
            raise self._not_given(inputs, unknown)
        options = PlanOptions(
            parameters=parameters,
            max_failure=max_failure,
            security=security,
            public=public,
            unroll=unroll,
            circuit_privacy=circuit_privacy,
            measure=measure,
            key_switch=key_switch,
            memory=memory,
        )
        with watched(progress):
            return execution.run(
                self, inputs, options, on=on, keys=keys, threads=threads, flood=flood, progress=progress
            )

    def _not_given(self, inputs: Mapping[str, Any] | None, unknown: Mapping[str, Any]) -> InputError:
        """Why `run` was called without inputs, or with what it does not take, and how it is called."""
        values = ", ".join(f'"{name}": ..' for name in self.inputs)
        call = f"{self.name}.run({{{values}}})"
        other = next((name for name in unknown if name not in self.inputs), None)
        if other is not None:
            options = [name for name, own in signature(Runnable.run).parameters.items() if own.kind is own.KEYWORD_ONLY]
            return InputError(f"{self.name}: run has no option {other!r}; {suggestion(other, options)}")
        what = "inputs are missing" if inputs is None and not unknown else "inputs are given as one dictionary"
        return InputError(f"{self.name}: {what}; write {call}")

    def simulate(
        self,
        machine: str | Machine,
        *,
        parameters: str | Parameters | None = None,
        readings: Sequence[str] = (),
        max_failure: float | None = None,
        security: float | None = None,
        key_switch: str | None = None,
        memory: int | str | None = None,
        progress: ProgressHook | None = None,
    ) -> Report:
        """The time, stalls, traffic and energy of a machine's checked schedule for this program.

        `machine` is a name, a file of yours, or the machine; `readings` are choices `fact=option` of what its paper leaves open; the rest as in `run`, but
        that nothing is encrypted, and any set's security will do. `progress(stage, done, total)` is called now and then; what it raises ends the simulation.
        """
        if not isinstance(machine, str | Machine):
            raise InputError(f"a machine is {shown(machine)}; give its name, a file of yours, or pf.machine of one")
        if not isinstance(machine, str) and expect_list(readings):
            raise InputError(
                f"{machine.name} is loaded, with readings of its own; name it, or load it with {readings[0]}"
            )
        target = load_machine(machine, readings) if isinstance(machine, str) else machine
        options = PlanOptions(
            parameters=parameters,
            machine=target,
            max_failure=max_failure,
            security=security,
            key_switch=key_switch,
            memory=memory,
        )
        with watched(progress):
            return execution.simulate(self, options)

    def cost(
        self,
        parameters: str | Parameters | None = None,
        *,
        max_failure: float | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
        memory: int | str | None = None,
    ) -> Report:
        """What running takes, before running: time on this CPU, memory, sizes of keys and ciphertexts, and noise or error bounds; of TFHE
        look-ups, of CKKS and BGV levels and operations.

        Options as in `run`, but that nothing is encrypted, and any set's security will do.
        """
        options = PlanOptions(
            parameters=parameters,
            max_failure=max_failure,
            circuit_privacy=circuit_privacy,
            public=public,
            memory=memory,
        )
        return execution.cost(self, options)

    # -- execution in steps through files, by several parties -----------------------------------------------------

    def make_keys(
        self,
        folder: str | Path,
        *,
        progress: ProgressHook | None = None,
        **options: Any,  # noqa: ANN401 - those of `run`
    ) -> Keys:
        """Makes keys in `folder`: `client.key` for the client alone, `server.key` for the server, and `public.key` for whoever encrypts, of TFHE
        with `public=True`.

        `options` are those of `run` that plan the program, here and in the other steps. Of TFHE each step is to be given the same `public`,
        `circuit_privacy` and `max_failure`.
        """
        return self._steps(folder, None, progress, options).make_keys().keys

    def encrypt(self, inputs: Mapping[str, Any], folder: str | Path, **options: Any) -> Encrypted:  # noqa: ANN401 - those of `run`
        """Encrypts inputs with the client key in `folder`, or with the public key in it: `NAME.in.ct` for each.

        With a public key alone only some of the inputs may be given. Its parameter set must have `security` bits, or 128.
        """
        path = path_of(folder)
        if not present(path, CLIENT, PUBLIC):
            raise InputError(
                f"{self.name}: {path} has neither {CLIENT} nor {PUBLIC}; bring one, or make_keys(folder) first"
            )
        return self._steps(path, None, None, options).encrypt(lambda _: inputs)

    def execute(
        self,
        folder: str | Path,
        *,
        on: str = "cpu",
        threads: int | None = None,
        progress: ProgressHook | None = None,
        **options: Any,  # noqa: ANN401 - those of `run`
    ) -> Executed:
        """Executes on the inputs in `folder`, with its `server.key`: `NAME.out.ct` for each output."""
        return self._steps(folder, place(on), progress, options).execute(on=on, threads=threads)

    def decrypt(
        self,
        folder: str | Path,
        *,
        on: str = "cpu",
        flood: float | None = None,
        **options: Any,  # noqa: ANN401 - those of `run`
    ) -> dict[str, Any]:
        """Decrypts the outputs in `folder` with its `client.key`, as `on` leaves them; with `flood`, of CKKS, for others."""
        return self._steps(folder, place(on), None, options).outputs(flood=flood)

    def _steps(
        self, folder: str | Path, machine: Machine | None, progress: ProgressHook | None, options: dict[str, Any]
    ) -> Steps:
        asked = PlanOptions(machine=machine, **options)
        if asked.measure and self.kind == "slots":
            raise InputError(f"{self.name}: measure=True is of a whole run, which has all keys; leave it out of a step")
        return Steps(path_of(folder), self.scheme, asked, partial(execution.make_plan, self), progress)


class Program(Runnable, written.Program):
    """A program on encrypted elements, with TFHE. Made by `@pf.program`, or from its text by `Program.parse`."""


class SlotProgram(Runnable, written_on_slots.SlotProgram):
    """A CKKS or BGV program. Made by `@pf.program`, or from its text by `SlotProgram.parse`."""


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
    """Turns a function into a `Program`, or a `SlotProgram`. Keywords give the type of each parameter, in the function's names; one with a default value
    and without a type is public, and has that value.

    The function is called once, now, with encrypted values. It returns one value (output "result"), a tuple
    ("result0", "result1", ..) or a dictionary of outputs. A list within these is a vector of its values.

    `scheme` is "tfhe", "ckks" or "bgv"; without it, the types say which. With CKKS and BGV, every vector has `slots`
    slots, a power of two; without it, as many as the longest input needs. `lanes` is how many look-ups take the time of one
    where integers in digits will run (2 without it): where there are many, as on an accelerator, carries go by a parallel prefix.
    """
    # Parameters of the function may bear these names too.
    if isinstance(scheme, Type | SlotType):
        inputs["scheme"], scheme = scheme, None  # type: ignore[assignment]
    if isinstance(slots, Type | SlotType):
        inputs["slots"], slots = slots, None  # type: ignore[assignment]
    if isinstance(lanes, Type | SlotType):
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
