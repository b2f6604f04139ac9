"""A run in steps through files: the client generates keys and encrypts, the server executes, the client decrypts.

The folder contains `client.key`, `server.key`, optionally `public.key`, `NAME.in.ct` for each input and `NAME.out.ct` for each output. The server
needs `server.key` and the inputs; other encryptors need `public.key`. `expected.json`, the clear results, is as private as the client's key.
Every file names its key generation; files of different generations are rejected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Error, FileError, InputError, ParameterError
from ..host.files import expect_whole, write_bytes, write_text, write_together
from ..host.names import pick
from ..host.units import security as security_text
from ..language.shapes import gathered, value_of
from ..schemes.context import STANDARD_SECURITY, Ciphertexts, ClientKey, Context, ServerKey, Source, Values
from ..schemes.options import PlanOptions
from ..schemes.plan import Expected, Plan, Verdict, finite_or_none, plain, problem, verdicts
from ..schemes.rns import SecretInputsError
from .conformance import Check, Compared, Computed, Conformance, executions, file_hash, receipt_of, ways
from .execution import HERE, execute, named_place
from .keys import (
    CLIENT,
    PUBLIC,
    SERVER,
    Keys,
    load_client_key,
    load_public_key,
    load_server_key,
    matching,
    parameters_of,
    present,
)
from .receipts import Receipt

if TYPE_CHECKING:
    from ..accelerators.machine import Place
    from ..host.progress import ProgressHook
    from ..language.traced import TracedProgram

STEPS = ("keys", "encrypt", "execute", "decrypt")

EXPECTED = "expected.json"

Inputs = Callable[["TracedProgram"], Mapping[str, Any]]
"""A program's inputs as the user gives them."""


@dataclass(frozen=True)
class KeysMade:
    """Result of `Steps.make_keys`."""

    keys: Keys
    folder: Path
    files: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Everything except the keys, as data."""
        name = self.keys.parameters.name
        return {"step": "keys", "parameters": name, "folder": str(self.folder), "files": self.files}


@dataclass(frozen=True)
class Encrypted:
    """Result of `Steps.encrypt`."""

    parameters: str
    folder: Path
    inputs: list[str]
    """Names of the encrypted inputs; a subset with only a public key."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        return {"step": "encrypt", "parameters": self.parameters, "folder": str(self.folder), "inputs": self.inputs}


@dataclass(frozen=True)
class Executed:
    """Result of `Steps.execute`."""

    parameters: str
    on: str
    work: dict[str, int]
    """Number of lookups or slot operations."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        return {"step": "execute", "parameters": self.parameters, "on": self.on, **self.work}


@dataclass(frozen=True)
class Decrypted:
    """Result of `Steps.decrypt`, and its comparison with the client's expected results; unknown if others encrypted inputs."""

    outputs: dict[str, Any]
    """Outputs by name; `value` has the form in which the function returns them."""
    bound: dict[str, float]
    """Error bound by output; 0 for exact schemes."""
    expected: dict[str, Any] | None = None
    error: dict[str, float] | None = None
    """By output: the number of wrong values; for CKKS, the largest error of a slot."""
    rounding: float = 0.0
    """Rounding error of the clear program's own result 0, with CKKS."""
    input_size: float = 0.0
    """Largest declared magnitude of an input."""
    undecided: Sequence[int] = ()
    """Items of a batch with a real number so near a border that it may be rounded either way. They are not compared."""

    @property
    def value(self) -> Any:  # noqa: ANN401 - whatever the program's function returns
        """What the program's function returns: one value, a tuple or a dictionary."""
        return value_of(self.outputs)

    @property
    def verdict(self) -> dict[str, Verdict] | None:
        """Verdict by output, as in a result; `None` if the expected values are unknown."""
        if self.error is None or self.expected is None:
            return None
        return verdicts(self.error, self.bound, self.expected, self.rounding, self.input_size)

    @property
    def problem(self) -> str | None:
        """Why it is not `correct`, with figures and remedy."""
        if self.verdict is None or self.error is None or self.expected is None:
            return None
        return problem(self.verdict, self.error, self.bound, self.expected)

    @property
    def correct(self) -> bool | None:
        """Whether every output equals the expected one, as in a result; `None` if unknown."""
        return None if self.verdict is None else self.problem is None

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        bound = {name: finite_or_none(bound) for name, bound in self.bound.items()}
        data = {"step": "decrypt", "outputs": plain(self.outputs), "bound": bound}
        if self.expected is None:
            return data
        judged = {"correct": self.correct, "verdict": self.verdict, "problem": self.problem}
        undecided = {"undecided": list(self.undecided)} if self.undecided else {}
        return {**data, **judged, "expected": plain(self.expected), "error": self.error, **undecided}


@dataclass(frozen=True)
class Steps:
    """The steps of one program through the files in one folder."""

    folder: Path
    scheme: str
    options: PlanOptions
    """As requested; the set of existing keys takes precedence."""
    plan: Callable[[PlanOptions], Plan]
    """Plans the program."""
    progress: ProgressHook | None = None
    on: Place = "cpu"
    """Where `execute` runs. If it is a machine, `options` has it too, since it changes the plan of every step."""

    def make_keys(self) -> KeysMade:
        """Generates the secret and evaluation keys, and a public key if others may encrypt; rejects a folder with keys."""
        there = present(self.folder)
        if there:
            raise FileError(f"{self.folder / there[0]}: keys exist here and would be replaced; name another folder")
        # Every CKKS and BGV set supports public-key noise; TFHE may need a larger set, so it must be requested.
        public = self.options.public or self.scheme != "tfhe"
        try:
            planned = self.plan(replace(self.options, public=public))
        except SecretInputsError:
            if self.options.public:
                raise
            public, planned = False, self.plan(self.options)
        keys = Keys.generate(planned, self.progress)
        files = {CLIENT: keys.client.save, SERVER: keys.server.save}
        if public:
            files[PUBLIC] = keys.public().save
        write_together(self.folder, files, new=files)
        return KeysMade(keys, self.folder, list(files))

    def encrypt(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> Encrypted:  # noqa: ANN401 - of the inputs' types
        """Encrypts inputs, by keyword or in one dictionary, to `NAME.in.ct` each, with the client key or the public key in the folder.

        With only a public key, inputs may be a subset. Its parameter set must have at least `security` bits, by default 128.
        """
        if not present(self.folder, CLIENT, PUBLIC):
            raise InputError(f"{self.folder} has neither {CLIENT} nor {PUBLIC}; bring one, or call make_keys() first")
        return self.encrypt_or_begin(lambda program: gathered(program.name, program.inputs, inputs, named, "encrypt"))

    def encrypt_or_begin(self, inputs: Inputs) -> Encrypted:
        """Encrypts the inputs with the client key, which is generated if the folder has none, or with a public key if that is present without it.

        The client saves the expected outputs with its key. With only a public key, inputs may be a subset and no outputs are saved; the key's
        set must be the named one, or have the requested security, by default 128 bits.
        """
        there = present(self.folder)
        if CLIENT not in there and PUBLIC in there:
            return self._encrypt_publicly(inputs)
        if CLIENT not in there and SERVER in there:
            raise FileError(
                f"{self.folder / SERVER}: it belongs to a client whose {CLIENT} is missing, and new keys would replace it; add "
                f"that {CLIENT}, or name another folder"
            )
        keys = Keys.load(self.folder, self.scheme, self.progress) if there else None
        planned = self.plan(self.options) if keys is None else self._plan_of_client(keys.client)
        program = planned.program
        flat = program.flatten(inputs(program))
        expected = planned.evaluate(flat)
        made = keys is None
        keys = Keys.generate(planned, self.progress) if keys is None else keys
        planned.expect_keys(keys.server)
        ciphertexts = planned.context.encrypt(keys.client, flat)
        if made:
            keys.save(self.folder)
        self._forget_outputs(planned)
        files: dict[str, Callable[[Path], object]] = {
            self._input(name).name: partial(_write, planned.context, ciphertexts, name, outputs=False)
            for name in planned.context.encrypted(flat)
        }
        noted = {"values": expected.values, "magnitudes": expected.magnitudes, "undecided": expected.undecided}
        files[EXPECTED] = partial(write_text, text=json.dumps(noted), private=True)
        write_together(self.folder, files)
        return Encrypted(planned.parameters.name, self.folder, list(flat))

    def _encrypt_publicly(self, inputs: Inputs) -> Encrypted:
        public = load_public_key(self.scheme, self.folder / PUBLIC)
        found = matching(public, self.options.parameters)
        planned = self.plan(replace(self.options, parameters=found, security=0, public=True))
        # The client chose the set; the encryptor can only accept or reject it.
        accepted = self.options.security
        if accepted is None:
            accepted = STANDARD_SECURITY if self.options.parameters is None else 0.0
        bits = planned.context.security_bits
        if bits < accepted:
            least = security_text(bits)
            raise ParameterError(
                f"{self.folder / PUBLIC}: it belongs to parameter set {found.name}, which has {least} bits of security, not {accepted:g}: what is "
                f"encrypted with it may be read; ask for another key, or accept it with --params {found.name} or security={least} "
                f"(--security {least})"
            )
        program = planned.program
        given = inputs(program)
        flat = program.flatten(given, partly=True)
        if len(given) == len(program.inputs):
            planned.evaluate(flat)
        self._forget_outputs(planned)
        write_together(
            self.folder,
            {
                self._input(name).name: partial(planned.context.encrypt_to, public, name, values)
                for name, values in planned.context.encrypted(flat).items()
            },
        )
        return Encrypted(planned.parameters.name, self.folder, list(flat))

    def execute(self, *, threads: int | None = None) -> Executed:
        """Reads the evaluation key and the inputs, executes, and writes the outputs. Never reads the client key."""
        planned, server, files = self._ready()
        planned.check_memory(server.bytes)
        ciphertexts = planned.context.read(files, outputs=False, server=server)
        results, _ = execute(planned, server, ciphertexts, on=self.on, threads=threads, progress=self.progress)
        write_together(
            self.folder,
            {
                self._output(name).name: partial(_write, planned.context, results, name, outputs=True)
                for name in planned.context.names(outputs=True)
            },
        )
        return Executed(planned.parameters.name, named_place(self.on), planned.work)

    def decrypt(self, *, flood: float | None = None) -> Decrypted:
        """Decrypts the outputs with the client key, with `flood` for sharing them. Compares with the expected results if this client saved
        them."""
        path = _there(self.folder / CLIENT, "name the folder (--keys) of the client that encrypted")
        client = load_client_key(self.scheme, path)
        planned = self._plan_of_files(client, outputs=True)
        planned.check_flood(flood)
        first = "execute first (--step execute, execute), or copy it from the server"
        files = {name: _there(self._output(name), first) for name in planned.context.names(outputs=True)}
        return self._decrypted(planned, client, files, flood)

    def _decrypted(
        self, planned: Plan, client: ClientKey, sources: Mapping[str, Source], flood: float | None = None
    ) -> Decrypted:
        """The values of outputs, compared with the expected ones if this client saved them."""
        found = planned.decrypt(client, planned.context.read(sources, outputs=True), flood)
        outputs = planned.program.shaped(found)
        if not (self.folder / EXPECTED).exists():
            return Decrypted(outputs, planned.bounds(flood))
        expected = _read(self.folder / EXPECTED, found)
        errors = planned.errors(found, expected.values, expected.undecided)
        shaped = planned.program.shaped(expected.values)
        bounds, rounding = planned.bounds(flood, expected), planned.rounding(expected.magnitudes)
        return Decrypted(outputs, bounds, shaped, errors, rounding, planned.input_size, expected.undecided)

    def conform(self, *, skip: Collection[str] = ()) -> Conformance:
        """Executes the inputs at every place: on this CPU with each of its instruction sets, with the interpreter, on its GPU if it has one, and by
        the schedule of the machine `on`. Compares ciphertexts, and values if the client's key is here; writes the outputs. Places to `skip` are
        "cpu", "gpu" and "interpreter", which is slow."""
        planned, inputs = self._ready()[::2]
        hashes = {name: file_hash(path) for name, path in inputs.items()}
        found = self._conformance(planned, file_hash(self.folder / SERVER), hashes, skip)
        files = {self._output(name).name: partial(write_bytes, data=data) for name, data in found.outputs.items()}
        write_together(self.folder, files)
        return found

    def check(self, receipt: Receipt | str | Path, *, skip: Collection[str] = ()) -> Check:
        """Repeats the computation of a receipt, with the evaluation key and the inputs alone, and compares all of its hashes. Outputs in the folder are
        compared too, and not replaced."""
        receipt = receipt if isinstance(receipt, Receipt) else Receipt.load(receipt)
        remedy = "copy the one that the receipt is for"
        key = file_hash(_there(self.folder / SERVER, remedy))
        inputs = {name: file_hash(_there(self._input(name), remedy)) for name in receipt.inputs}
        files = {name: self._output(name) for name in receipt.places[0].outputs}
        results = {name: (path.name, file_hash(path)) for name, path in files.items() if path.exists()}
        try:
            planned = self._ready()[0]
            here = receipt_of(planned, key, inputs, [])
        except Error:
            # Planned without the key, the program shows whether it is the receipt's.
            planned = self.plan(replace(self.options, parameters=None, security=0))
            here = replace(receipt_of(planned, key, inputs, []), parameters_sha256=receipt.parameters_sha256)
            if here.is_of(receipt):
                raise
        compared = [
            Compared(f"program {here.program}", here.program_hash == receipt.program_hash),
            Compared(f"parameter set {receipt.parameters}", here.parameters_sha256 == receipt.parameters_sha256),
            Compared(f"machine {here.machine or 'none'}", here.machine_sha256 == receipt.machine_sha256),
            Compared("names of inputs", set(planned.context.names(outputs=False)) == set(receipt.inputs)),
            Compared(SERVER, key == receipt.evaluation_key),
            *(Compared(self._input(name).name, own == receipt.inputs[name]) for name, own in inputs.items()),
        ]
        if not all(one.same for one in compared):
            return Check.of(receipt, compared, results, None)
        return Check.of(receipt, compared, results, self._conformance(planned, key, inputs, skip))

    def _ready(self) -> tuple[Plan, ServerKey, dict[str, Path]]:
        """The evaluation key in the folder, its plan, and the files of the inputs."""
        path = _there(self.folder / SERVER, "make keys first (--step keys, make_keys), or copy the client's")
        server = load_server_key(self.scheme, path, self.progress)
        planned = self._plan_of_files(server, outputs=False)
        first = "encrypt first (--step encrypt, encrypt), or copy the encryptor's"
        files = {name: _there(self._input(name), first) for name in planned.context.names(outputs=False)}
        return planned, server, files

    def _conformance(self, planned: Plan, key: str, inputs: Mapping[str, str], skip: Collection[str]) -> Conformance:
        """Executes at every place, and decrypts if the client's key is in the folder."""
        if self.options.circuit_privacy is not None:
            raise InputError(
                "circuit_privacy (--circuit-privacy) re-randomizes outputs, so that no two executions agree; omit it"
            )
        for place in skip:
            pick("place to leave out", place, HERE)
        options = replace(self.options, parameters=planned.parameters, security=0)
        made, left_out = ways(planned, self.plan, options, skip)
        client = load_client_key(self.scheme, self.folder / CLIENT) if (self.folder / CLIENT).exists() else None
        files = {name: self._input(name) for name in inputs}
        computed = []
        for way in made:
            job = way.job(self.plan, self.folder / SERVER, files)
            ran = sorted(executions(way, job, self.progress), key=lambda one: way.places.index(one[0].on))
            for place, outputs in ran:
                decrypted, trouble = None, None
                if client is not None:
                    try:
                        decrypted = self._decrypted(way.planned, client, outputs)
                        trouble = decrypted.problem
                    except Error as error:
                        trouble = str(error)
                computed.append(Computed(place, outputs, decrypted, trouble))
        return Conformance(receipt_of(planned, key, inputs, [one.place for one in computed]), computed, left_out)

    def _plan_of(self, key: ClientKey | ServerKey, *, public: bool = False) -> Plan:
        """The plan with the set of a key, which its creator has accepted."""
        found = matching(key, self.options.parameters)
        public = public or self.options.public
        return self.plan(replace(self.options, parameters=found, security=0, public=public))

    def _plan_of_files(self, key: ClientKey | ServerKey, *, outputs: bool) -> Plan:
        """The plan with the set of a key, for the inputs or `outputs` in the folder. If planning fails because key and files belong to another
        program, reports that instead."""
        try:
            if outputs:
                return self._plan_of_client(key)
            planned = self._plan_of(key)
            planned.expect_keys(key)
            return planned
        except Error:
            self._expect_own(key, outputs=outputs)
            raise

    def _expect_own(self, key: ClientKey | ServerKey, *, outputs: bool) -> None:
        """Rejects files of another program, if this program can be planned with its own set or the key's, which may take another form of it."""
        path = self._output if outputs else self._input
        refused: Error | None = None
        for named in (None, parameters_of(key)):
            try:
                own = self.plan(replace(self.options, parameters=named, security=0, secret=None))
            except Error:
                continue
            names = own.context.names(outputs=outputs)
            try:
                own.context.expect_own({name: path(name) for name in names if path(name).exists()}, outputs=outputs)
            except Error as error:
                refused = refused or error
            else:
                return
        if refused is not None:
            raise refused

    def _plan_of_client(self, key: ClientKey) -> Plan:
        """The client's plan: if a public key exists, inputs may be encrypted with it."""
        return self._plan_of(key, public=PUBLIC in present(self.folder))

    def _forget_outputs(self, planned: Plan) -> None:
        """Removes the outputs of previous inputs, which would otherwise be taken for those of the new inputs."""
        for path in map(self._output, planned.context.names(outputs=True)):
            try:
                path.unlink(missing_ok=True)
            except OSError as problem:
                raise FileError(
                    f"{path}: cannot remove the output of other inputs ({problem.strerror}); remove it"
                ) from problem

    def _input(self, name: str) -> Path:
        return self.folder / f"{name}.in.ct"

    def _output(self, name: str) -> Path:
        return self.folder / f"{name}.out.ct"


def _write(context: Context, ciphertexts: Ciphertexts, name: str, path: Path, *, outputs: bool) -> None:
    """Writes one input or output."""
    context.write(ciphertexts, name, path, outputs=outputs)


def _there(path: Path, remedy: str) -> Path:
    """`path`, which must exist from an earlier step."""
    if not path.exists():
        raise FileError(f"{path} is not there; {remedy}")
    expect_whole(path)
    return path


def _read(path: Path, found: Values) -> Expected:
    """Reads expected values from `path`, in the form of `found`."""
    expect_whole(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        values = {name: _like(data["values"][name], sample) for name, sample in found.items()}
        undecided = [int(at) for at in data["undecided"]]
        return Expected(values, [float(size) for size in data["magnitudes"]], undecided=undecided)
    except OSError as problem:
        raise FileError(f"{path}: cannot read ({problem.strerror}); run --step encrypt first") from problem
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as problem:
        raise FileError(f"{path}: not the file that --step encrypt wrote ({problem}); run it again") from problem


def _like(values: Any, sample: Any) -> Any:  # noqa: ANN401 - what a file holds
    """`values` in the form of `sample`: integers, real numbers, or real and imaginary parts."""
    if isinstance(sample, tuple):
        re, im = ([float(value) for value in half] for half in values)
        if (len(re), len(im)) == (len(sample[0]), len(sample[1])):
            return re, im
    elif len(values) == len(sample):
        return [type(own)(value) for own, value in zip(sample, values, strict=True)]
    raise ValueError("another number of values")
