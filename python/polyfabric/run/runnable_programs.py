"""Runnable programs: the class that `@pf.program` creates, for each family of schemes, and their methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..accelerators.machine import chosen
from ..errors import InputError
from ..host.files import path_of
from ..host.names import pick, suggestion
from ..host.progress import watched
from ..language import copies as written_in_copies
from ..language import lane_program as written_on_lanes
from ..language import program as written
from ..language import slot_program as written_on_slots
from ..language.copies import copied
from ..language.lane_program import batched
from ..language.place import pass_over, refuse
from ..language.program import AUTO as AUTO_TABLES
from ..language.program import SCHEMES, SCHEMES_ELSEWHERE
from ..language.shapes import gathered, written_call
from ..language.traced import TracedProgram
from ..language.types import SlotType, Type
from ..schemes.options import LEAST_SMUDGING, OWN, PlanOptions
from ..schemes.ways import AUTO, SLOTS, TFHE
from ..schemes.ways import SCHEMES as BATCH_SCHEMES
from . import execution
from .batches import mapped
from .client_server import decrypted, encrypted, executed
from .execution import GPU, HERE, estimated_place, place
from .file_steps import Steps
from .keys import Keys, load_server_key, matching
from .messages import Ciphertexts, EvaluationKey
from .tracebacks import short

if TYPE_CHECKING:
    import distributed

    from ..accelerators.machine import Machine, Place
    from ..host.progress import ProgressHook
    from ..reports import Report
    from ..reports.graph import Picture
    from ..schemes.context import Parameters
    from ..schemes.plan import Plan, RunResult

pass_over(__file__)


_ON_SLOTS_HEADER = re.compile(r'^\s*program\s+"[^"]*"\s+(ckks|bgv)\b', re.MULTILINE)


class Program(TracedProgram):
    """A program on encrypted data. Created by `@pf.program`, or from its text by `Program.parse`.

    Options without a meaning for the program's scheme raise an error.
    """

    @classmethod
    def parse(cls, text: str) -> Program:
        """The program that `text()` printed, of any scheme. With TFHE every input and output is a vector."""
        return (SlotProgram if _ON_SLOTS_HEADER.search(text) else TfheProgram).parse(text)

    def plan(
        self,
        parameters: str | Parameters | None = None,
        *,
        on: Place = "cpu",
        **options: Any,  # noqa: ANN401 - those of `run`
    ) -> Plan:
        """Plans the program, with the planning options of `run`: parameter set, noise and kernel program."""
        return execution.plan(self, parameters, machine=place(on), gpu=on == GPU, **options)

    def kernel_text(self, parameters: str | Parameters | None = None) -> str:
        """The kernel program as text, as a runtime or machine executes it."""
        return execution.plan(self, parameters, security=0).kernel.text()

    @property
    def run_options(self) -> list[str]:
        """Names of the options of `run`."""
        return [name for name, own in signature(Program.run).parameters.items() if own.kind is own.KEYWORD_ONLY]

    # -- execution ------------------------------------------------------------------------------------------------

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        on: Place = "cpu",
        parameters: str | Parameters | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        max_failure: float | None = None,
        security: float | None = None,
        public: bool = False,
        secret: str | None = None,
        unroll: int | None = None,
        circuit_privacy: float | None = None,
        measure: bool = False,
        key_switch: str | None = None,
        widths: str = OWN,
        flood: float | None = None,
        memory: int | str | None = None,
        progress: ProgressHook | None = None,
        **named: Any,  # noqa: ANN401 - values of the program's types
    ) -> RunResult:
        """Encrypts, executes, decrypts, and compares with evaluation in the clear; `.value` of the result is what the function returns.

        Inputs are given by keyword, `run(x=3)`, or in one dictionary, `run({"x": 3})`; in a dictionary if one has the name of an option.

        `on` is "cpu", "gpu", "interpreter", or a machine, by name, file or loaded, whose schedule is executed on the ciphertexts with its
        arithmetic.
        By default, `parameters` is the cheapest sufficient set; user-defined CKKS and BGV sets are `pf.SlotParameters` or a file.
        `max_failure` is the accepted log2 failure probability, by default -128; for CKKS it concerns the error bounds, by default 2^-20.
        `security` is the minimum security in bits; by default user-defined sets need 128. With `public`, inputs are encrypted with the
        public key, and noise and failures are computed for that.

        `memory` limits the memory of every step, in bytes or as text such as "4G", instead of this computer's free memory. A program that
        needs more is rejected before it allocates any.

        TFHE: `secret="block-binary"` chooses a set with block-binary keys: lookups are up to twice as fast, under a newer assumption
        (docs/threat-model.md). `unroll` is the number of secret bits per blind-rotation iteration of a uniform key; 2 is faster on a CPU, with
        a 50 % larger key and more noise. With `circuit_privacy` bits, the server re-randomizes and floods every output, so that the client learns little about the
        program except its values. On a machine, `widths="derived"` gives its transforms the fixed-point widths that FPT's design method finds
        for the parameter set, instead of those of its file ("own"), with which many programs would fail; area and power are then unknown.

        CKKS and BGV: `measure` measures the error of every operation, and also runs programs whose bounds leave no precision. `key_switch`
        is "set" for the parameter set's, "auto" for the cheapest, or a name ("listing1", "d8"); the default is "auto" on a machine without
        a named set, otherwise "set". `flood` (CKKS) is for outputs that others will see: it adds noise of that deviation to every slot, and
        a warning says how much it hides.
        """
        given = gathered(self.name, self.inputs, inputs, named, "run", self.run_options)
        options = PlanOptions(
            parameters=parameters,
            max_failure=max_failure,
            security=security,
            public=public,
            secret=secret,
            unroll=unroll,
            circuit_privacy=circuit_privacy,
            measure=measure,
            key_switch=key_switch,
            widths=widths,
            memory=memory,
        )
        with watched(progress):
            return execution.run(
                self, given, options, on=on, keys=keys, threads=threads, flood=flood, progress=progress
            )

    def map(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        client: distributed.Client | None = None,
        parameters: str | None = None,
        progress: ProgressHook | None = None,
    ) -> list[Any]:
        """Encrypts each of `inputs`, dictionaries, with one new key, executes, and decrypts to the list of what the function returns.

        The workers of a Dask `client` execute, without a secret key, or this computer without a client. Inputs are taken when there is work for
        them, so they may come from a generator.
        """
        return mapped(self, inputs, client, parameters, progress)

    def simulate(
        self,
        on: str | Path | Machine,
        *,
        parameters: str | Parameters | None = None,
        readings: Sequence[str] = (),
        max_failure: float | None = None,
        security: float | None = None,
        key_switch: str | None = None,
        widths: str = OWN,
        memory: int | str | None = None,
        progress: ProgressHook | None = None,
    ) -> Report:
        """Time, stalls, traffic and energy of a machine's checked schedule for this program.

        `on` is a machine, by name, file or loaded; `readings` are choices `fact=option` where its paper is ambiguous. Other options are as
        in `run`, but nothing is encrypted, so any security is accepted. `progress(stage, done, total)` is called occasionally; its exceptions
        cancel the simulation.
        """
        options = PlanOptions(
            parameters=parameters,
            machine=chosen(on, readings),
            max_failure=max_failure,
            security=security,
            key_switch=key_switch,
            widths=widths,
            memory=memory,
        )
        with watched(progress):
            return execution.simulate(self, options)

    def cost(
        self,
        parameters: str | Parameters | None = None,
        *,
        on: Place = "cpu",
        max_failure: float | None = None,
        circuit_privacy: float | None = None,
        public: bool = False,
        secret: str | None = None,
        parties: int = 1,
        smudging: float = LEAST_SMUDGING,
        widths: str = OWN,
        memory: int | str | None = None,
    ) -> Report:
        """Predicts the cost before running: time on this CPU, or of the schedule `on` a machine; memory, sizes of keys and ciphertexts, and
        noise or error bounds; for TFHE lookups, for CKKS and BGV levels and operations.

        Options as in `run`, and `parties` and `smudging` as in `pf.Specification.of`. Nothing is encrypted, so any security is accepted.
        """
        options = PlanOptions(
            parameters=parameters,
            machine=estimated_place(on),
            widths=widths,
            max_failure=max_failure,
            circuit_privacy=circuit_privacy,
            public=public,
            secret=secret,
            parties=parties,
            smudging=smudging,
            memory=memory,
        )
        return execution.cost(self, options)

    def draw(self) -> Picture:
        """The program's operations as a picture, with the types of their results: a notebook shows it, and `.save("program.svg")` writes it.

        With TFHE it shows the operations of the function; with CKKS and BGV those of the homomorphic program, with its rotations. A program of
        more than 400 operations raises `pf.errors.InputError`.
        """
        from ..reports.graph import picture

        return picture(self)

    def in_batches(
        self,
        batch: int,
        *,
        scheme: str = SLOTS,
        summed: str | Iterable[str] = (),
        longest_table: int | None = None,
    ) -> Program:
        """The same program for a batch of inputs, at most 65,536: each input and output is a list.

        `scheme` is "slots" for CKKS and all inputs at once, "tfhe" for one after another, or "auto" for the way that executes in less time on this
        computer, without key generation, and fits its memory; `.chosen` of the program says why. `cost()` has both ways.

        Outputs in `summed`, by name, are summed over the batch: counts of truth values, sums of integers. They are exact, and no list.

        Tables are lookups on the slots of a ciphertext, which take about the same time for one input as for all lanes of a ring. Only for programs
        on integers, truth values and texts, whose results are as exact as with TFHE.

        A table has up to 256 entries if that takes less work than digits with tables of 16. A parameter set with such tables needs
        `longest_table=16`.
        """
        if not isinstance(self, TfheProgram):
            raise InputError(
                f"{self.name}: in_batches is for programs of TFHE's types, but this one has {self.scheme.upper()}, whose vectors take many values already"
            )
        way, chosen = pick("scheme", scheme, BATCH_SCHEMES), None
        of_slots = bool(summed) or longest_table is not None
        if self.reals is not None:
            if way == TFHE:
                raise InputError(
                    f'{self.name}: it has real numbers next to integers, which need slots; omit scheme="tfhe"'
                )
            way = SLOTS
        if way == TFHE and of_slots:
            raise InputError(
                f'{self.name}: scheme="tfhe" computes one input after another, without sums over the batch or tables of slots; omit summed and longest_table'
            )
        if way == AUTO and not of_slots:
            found = execution.ways(self, batch)
            way, chosen = found.cheaper, f"{found.cheaper}: {found.why}"
        if way == TFHE:
            copies = copied(self, batch, CopiesProgram)
            copies.chosen = chosen
            return copies
        made = batched(self, batch, LaneProgram, longest_table, summed)
        made.chosen = chosen
        return made

    # -- step by step, in memory or through files ---------------------------------------------------------------------

    def keygen(
        self,
        parameters: str | Parameters | None = None,
        *,
        security: float | None = None,
        memory: int | str | None = None,
        progress: ProgressHook | None = None,
    ) -> Keys:
        """Generates the secret key and the evaluation keys of one client, with the options of `run`.

        `keys.evaluation_key` is for the server, and decrypts nothing. `run` takes the keys too, as `keys=`.
        """
        with watched(progress):
            return Keys.generate(execution.plan(self, parameters, security=security, memory=memory), progress)

    def encrypt(
        self,
        keys: Keys | None = None,
        inputs: Mapping[str, Any] | None = None,
        /,
        **named: Any,  # noqa: ANN401 - of the inputs' types
    ) -> Ciphertexts:
        """Encrypts inputs, by keyword or in one dictionary, with the secret key of `keys`, which are necessary."""
        if keys is None:
            call = written_call(self.name, "encrypt", named or dict.fromkeys(self.inputs)).replace("(", "(keys, ", 1)
            raise InputError(f"{self.name}: keys are missing; write keys = {self.name}.keygen(), and {call}")
        planned = self._planned(keys)
        flat = planned.program.flatten(gathered(self.name, self.inputs, inputs, named, "encrypt"))
        # Reports values that break a promise of the program, which decrypt to others.
        planned.evaluate(flat)
        return encrypted(planned.context, keys.client, flat)

    def execute(
        self,
        evaluation_key: EvaluationKey,
        request: Ciphertexts,
        /,
        *,
        on: str = "cpu",
        threads: int | None = None,
        progress: ProgressHook | None = None,
    ) -> Ciphertexts:
        """Executes on encrypted inputs, without a secret key, `on` "cpu", "gpu" or "interpreter". The parameter set is that of the key.

        A `pf.Server` answers many requests: it reads the key once.
        """
        if not isinstance(evaluation_key, EvaluationKey):
            raise InputError(
                f"{self.name}: execute takes an evaluation key, not a {type(evaluation_key).__name__}; give keys.evaluation_key"
            )
        if on not in HERE:
            raise InputError(
                f"{self.name}: execute runs on {', '.join(HERE)}, not on {on}; use run(.., on={on!r}), or in_folder(.., on={on!r})"
            )
        with watched(progress):
            key = load_server_key(self.scheme, evaluation_key.data, progress)
            planned = execution.plan(self, matching(key, None), security=0)
            planned.expect_keys(key)
            return executed(planned, key, request, on=on, threads=threads, progress=progress)

    def decrypt(self, keys: Keys, answer: Ciphertexts, /) -> Any:  # noqa: ANN401 - whatever the function returns
        """Decrypts an answer of `execute` to what the function returns: one value, a tuple or a dictionary."""
        return decrypted(self._planned(keys).context, keys.client, answer)

    def _planned(self, keys: Keys) -> Plan:
        return execution.make_plan(self, execution.with_keys(self, PlanOptions(), keys))

    def in_folder(
        self,
        folder: str | Path,
        *,
        on: Place = "cpu",
        progress: ProgressHook | None = None,
        **options: Any,  # noqa: ANN401 - those of `run`
    ) -> Steps:
        """The same steps through the files of a folder, as of the command line: `make_keys`, `encrypt`, `execute`, `decrypt`.

        `options` are the planning options of `run`. For TFHE every step needs the same `public`, `circuit_privacy` and `max_failure`, and with
        every scheme the same machine `on`.
        """
        asked = PlanOptions(machine=place(on), gpu=on == GPU, **options)
        if asked.measure and self.kind != "elements":
            raise InputError(f"{self.name}: measure=True needs a whole run with all keys; omit it in a step")
        return Steps(path_of(folder), self.scheme, asked, partial(execution.make_plan, self), progress, on)


class TfheProgram(written.TfheProgram, Program):
    """A TFHE program."""


class CopiesProgram(written_in_copies.CopiesProgram, Program):
    """A TFHE program in copies for a batch of inputs."""


class SlotProgram(written_on_slots.SlotProgram, Program):
    """A CKKS or BGV program."""


class LaneProgram(written_on_lanes.LaneProgram, Program):
    """A program on batches of integers with CKKS."""


traced = partial(written.trace, kinds=(TfheProgram, SlotProgram))
"""Traces a function on inputs of given types."""

finished = partial(written_on_slots.finish, kind=SlotProgram)
"""Builds the program of a slot tracer."""


def program(
    name: str | None = None,
    /,
    *,
    scheme: str | Type | SlotType | None = None,
    slots: int | Type | SlotType | None = None,
    lanes: int | Type | SlotType | None = None,
    tables: str | Type | SlotType = AUTO_TABLES,
    **inputs: Type | SlotType,
) -> Callable[[Callable[..., Any]], Program]:
    """Turns a function into a `pf.Program`. Keywords or annotations give the types of its parameters,
    `@pf.program(x=pf.UInt(8))` or `def f(x: pf.UInt(8))`; a parameter with a default and without a type is public.

    The function is called once, immediately, with encrypted values. It returns one value (output "result"), a tuple ("result0", "result1", ..)
    or a dictionary of outputs. A list within these is a vector.

    `scheme` is "tfhe", "ckks" or "bgv"; by default the types determine it. With CKKS and BGV, every vector has `slots` slots, a power of two; by
    default as many as the longest input needs. `lanes` is the number of lookups that take the time of one on the target, for integers in
    digits, by default 2; with many, as on an accelerator, carries use a parallel prefix.

    `tables` says how tables of integers are read, of up to 2^16 entries: "wide" by circuit bootstrapping, on the processor only, where one of 256
    takes a tenth of the time; by "lookups"; or "auto", as takes less, with the part of key generation that an execution bears. Products, quotients
    and shifts can be such tables too.
    """
    # The function may have parameters with these names.
    if isinstance(scheme, Type | SlotType):
        inputs["scheme"], scheme = scheme, None  # type: ignore[assignment]
    if isinstance(slots, Type | SlotType):
        inputs["slots"], slots = slots, None  # type: ignore[assignment]
    if isinstance(lanes, Type | SlotType):
        inputs["lanes"], lanes = lanes, None  # type: ignore[assignment]
    if isinstance(tables, Type | SlotType):
        inputs["tables"], tables = tables, AUTO_TABLES
    if callable(name):
        raise refuse(
            "@pf.program needs parentheses, and the types of the parameters; write @pf.program(x=pf.Int(0, 7)), or @pf.program() over "
            "def f(x: pf.Int(0, 7))"
        )
    if scheme is not None and scheme not in SCHEMES:
        raise refuse(f"there is no scheme {scheme!r}; {suggestion(str(scheme), list(SCHEMES), SCHEMES_ELSEWHERE)}")

    @short
    def decorate(function: Callable[..., Any]) -> Program:
        return traced(function, inputs, name, scheme=scheme, slots=slots, lanes=lanes, tables=tables)

    return decorate
