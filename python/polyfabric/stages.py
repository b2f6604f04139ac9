"""A run in steps through files: the client makes keys and encrypts, the server executes, the client decrypts.

The folder holds `client.key`, `server.key`, `public.key` where others encrypt too, `NAME.in.ct` for each input and `NAME.out.ct` for each output. The
server needs `server.key` and the inputs; who encrypts for the client, `public.key`. `expected.json`, the clear results, is the client's like its
key. Every file names the key generation that it is of; files of two are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import Error, FileError, ParameterError
from .execution import execute
from .files import expect_whole, write_text, write_together
from .keys import (
    CLIENT,
    PUBLIC,
    SERVER,
    Keys,
    load_client_key,
    load_public_key,
    load_server_key,
    matching,
    present,
)
from .reports.units import security as security_text
from .schemes.context import STANDARD_SECURITY, Ciphertexts, ClientKey, Context, ServerKey, Values
from .schemes.options import PlanOptions
from .schemes.plan import Expected, Plan, Verdict, plain, problem, told, verdicts

if TYPE_CHECKING:
    from .language.traced import TracedProgram
    from .progress import ProgressHook

STEPS = ("keys", "encrypt", "execute", "decrypt")

EXPECTED = "expected.json"

Inputs = Callable[["TracedProgram"], Mapping[str, Any]]
"""The inputs for a program, as the user gives them."""


@dataclass(frozen=True)
class KeysMade:
    """What `Steps.make_keys` made."""

    keys: Keys
    folder: Path
    files: list[str]

    def to_dict(self) -> dict[str, Any]:
        """All but the keys, as data."""
        name = self.keys.parameters.name
        return {"step": "keys", "parameters": name, "folder": str(self.folder), "files": self.files}


@dataclass(frozen=True)
class Encrypted:
    """What `Steps.encrypt` encrypted."""

    parameters: str
    folder: Path
    inputs: list[str]
    """Names of those that were given: of somebody with a public key alone, some."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        return {"step": "encrypt", "parameters": self.parameters, "folder": str(self.folder), "inputs": self.inputs}


@dataclass(frozen=True)
class Executed:
    """What `Steps.execute` executed."""

    parameters: str
    on: str
    work: dict[str, int]
    """How many look-ups, or operations on slots."""

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        return {"step": "execute", "parameters": self.parameters, "on": self.on, **self.work}


@dataclass(frozen=True)
class Decrypted:
    """What `Steps.decrypt` read, and how it compares with what this client noted; what others encrypted is not known here."""

    outputs: dict[str, Any]
    bound: dict[str, float]
    """By output: what its error stays within; 0 of exact schemes."""
    expected: dict[str, Any] | None = None
    error: dict[str, float] | None = None
    """By output: how many values are wrong; with CKKS, the largest error of a slot."""
    rounding: float = 0.0
    """What the clear program's own rounding may leave of a 0, with CKKS."""

    @property
    def verdict(self) -> dict[str, Verdict] | None:
        """By output, as of a result; nothing if what is expected is not known."""
        if self.error is None or self.expected is None:
            return None
        return verdicts(self.error, self.bound, self.expected, self.rounding)

    @property
    def problem(self) -> str | None:
        """Why it is not `correct`, with the figures and what to do."""
        if self.verdict is None or self.error is None or self.expected is None:
            return None
        return problem(self.verdict, self.error, self.bound, self.expected)

    @property
    def correct(self) -> bool | None:
        """Whether every output is the expected one, as of a result; nothing if that is not known."""
        return None if self.verdict is None else self.problem is None

    def to_dict(self) -> dict[str, Any]:
        """All of it, as data."""
        bound = {name: told(bound) for name, bound in self.bound.items()}
        data = {"step": "decrypt", "outputs": plain(self.outputs), "bound": bound}
        if self.expected is None:
            return data
        judged = {"correct": self.correct, "verdict": self.verdict, "problem": self.problem}
        return {**data, **judged, "expected": plain(self.expected), "error": self.error}


@dataclass(frozen=True)
class Steps:
    """The steps of one program through the files of one folder."""

    folder: Path
    scheme: str
    options: PlanOptions
    """As they are asked for; the set is that of the keys, where there are some."""
    plan: Callable[[PlanOptions], Plan]
    """Plans the program."""
    progress: ProgressHook | None = None

    def make_keys(self) -> KeysMade:
        """Makes the client's key, the server's, and a public one where others may encrypt; refuses a folder that has keys."""
        there = present(self.folder)
        if there:
            raise FileError(
                f"{self.folder / there[0]}: there are keys already, which new ones would replace; name another folder"
            )
        # Every set of CKKS and BGV carries the noise of a public key; of TFHE it may take a larger set, which is to be asked for.
        public = self.options.public or self.scheme != "tfhe"
        keys = Keys.generate(self.plan(replace(self.options, public=public)), self.progress)
        files = {CLIENT: keys.client.save, SERVER: keys.server.save}
        if public:
            files[PUBLIC] = keys.public().save
        write_together(self.folder, files, new=files)
        return KeysMade(keys, self.folder, list(files))

    def encrypt(self, inputs: Inputs) -> Encrypted:
        """Encrypts the inputs: with the client key, which is made if the folder has none, or with a public key that is there without it.

        The client notes the expected outputs beside its key. Who has the public key alone may encrypt some of the inputs, and notes nothing; the
        key's set must then be the one that is named, or have the security that is asked for, 128 bits without a word.
        """
        there = present(self.folder)
        if CLIENT not in there and PUBLIC in there:
            return self._encrypt_publicly(inputs)
        if CLIENT not in there and SERVER in there:
            raise FileError(
                f"{self.folder / SERVER}: it is of a client whose {CLIENT} is not here, and new keys would replace it; bring "
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
        self._forget_outputs(program)
        files: dict[str, Callable[[Path], object]] = {
            self._input(name).name: partial(_write, planned.context, ciphertexts, name, outputs=False)
            for name in program.inputs
        }
        noted = {"values": expected.values, "magnitudes": expected.magnitudes}
        files[EXPECTED] = partial(write_text, text=json.dumps(noted), private=True)
        write_together(self.folder, files)
        return Encrypted(planned.parameters.name, self.folder, list(flat))

    def _encrypt_publicly(self, inputs: Inputs) -> Encrypted:
        public = load_public_key(self.scheme, self.folder / PUBLIC)
        found = matching(public, self.options.parameters)
        planned = self.plan(replace(self.options, parameters=found, security=0, public=True))
        # The client has chosen the set, and who encrypts must be content with it.
        accepted = self.options.security
        if accepted is None:
            accepted = STANDARD_SECURITY if self.options.parameters is None else 0.0
        bits = planned.context.security_bits
        if bits < accepted:
            least = security_text(bits)
            raise ParameterError(
                f"{self.folder / PUBLIC}: it is of parameter set {found.name}, which has {least} bits of security, not {accepted:g}: what is "
                f"encrypted with it may be read; ask for another key, or accept it with --params {found.name} or security={least} "
                f"(--security {least})"
            )
        program = planned.program
        flat = program.flatten(inputs(program), partly=True)
        if len(flat) == len(program.inputs):
            planned.evaluate(flat)
        self._forget_outputs(program)
        write_together(
            self.folder,
            {
                self._input(name).name: partial(planned.context.encrypt_to, public, name, values)
                for name, values in flat.items()
            },
        )
        return Encrypted(planned.parameters.name, self.folder, list(flat))

    def execute(self, *, on: str = "cpu", threads: int | None = None) -> Executed:
        """Reads the server key and the inputs, executes, writes the outputs. Never reads the client key."""
        path = _there(
            self.folder / SERVER, "make keys first (--step keys, make_keys), or bring the one of whoever encrypts"
        )
        server = load_server_key(self.scheme, path, self.progress)
        planned = self._plan_of_files(server, outputs=False)
        first = "encrypt first (--step encrypt, encrypt), or bring it from whoever did"
        files = {name: _there(self._input(name), first) for name in planned.program.inputs}
        planned.check_memory(server.bytes)
        ciphertexts = planned.context.read(files, outputs=False, server=server)
        results, _ = execute(planned, server, ciphertexts, on=on, threads=threads, progress=self.progress)
        write_together(
            self.folder,
            {
                self._output(name).name: partial(_write, planned.context, results, name, outputs=True)
                for name in planned.program.outputs
            },
        )
        return Executed(planned.parameters.name, on, planned.work)

    def decrypt(self, *, flood: float | None = None) -> Decrypted:
        """Reads the client key and the outputs, and decrypts; with `flood`, for others. Compares with what was expected, where this client noted
        it."""
        planned, found = self._decrypted(flood)
        outputs = planned.program.shaped(found)
        if not (self.folder / EXPECTED).exists():
            return Decrypted(outputs, planned.bounds(flood))
        expected = _read(self.folder / EXPECTED, found)
        errors, shaped = planned.errors(found, expected.values), planned.program.shaped(expected.values)
        bounds, rounding = planned.bounds(flood, expected), planned.rounding(expected.magnitudes)
        return Decrypted(outputs, bounds, shaped, errors, rounding)

    def outputs(self, *, flood: float | None = None) -> dict[str, Any]:
        """What `decrypt` reads, compared with nothing."""
        planned, found = self._decrypted(flood)
        return planned.program.shaped(found)

    def _decrypted(self, flood: float | None) -> tuple[Plan, Values]:
        path = _there(self.folder / CLIENT, "name the folder (--keys) of the client that encrypted")
        client = load_client_key(self.scheme, path)
        planned = self._plan_of_files(client, outputs=True)
        planned.check_flood(flood)
        first = "execute first (--step execute, execute), or bring it from the server"
        files = {name: _there(self._output(name), first) for name in planned.program.outputs}
        return planned, planned.decrypt(client, planned.context.read(files, outputs=True), flood)

    def _plan_of(self, key: ClientKey | ServerKey, *, public: bool = False) -> Plan:
        """The plan with the set of a key, which whoever made it has accepted."""
        found = matching(key, self.options.parameters)
        public = public or self.options.public
        return self.plan(replace(self.options, parameters=found, security=0, public=public))

    def _plan_of_files(self, key: ClientKey | ServerKey, *, outputs: bool) -> Plan:
        """The plan with the set of a key, for the inputs or the `outputs` in the folder. Where it cannot be that, because they are another program's as
        their key is, that is what is told."""
        try:
            if outputs:
                return self._plan_of_client(key)
            planned = self._plan_of(key)
            planned.expect_keys(key)
            return planned
        except Error:
            self._expect_own(outputs=outputs)
            raise

    def _expect_own(self, *, outputs: bool) -> None:
        """Refuses files in the folder that are another program's, where this one has a plan with a set of its own."""
        try:
            own = self.plan(replace(self.options, parameters=None, security=0))
        except Error:
            return
        names, path = (own.program.outputs, self._output) if outputs else (own.program.inputs, self._input)
        own.context.expect_own({name: path(name) for name in names if path(name).exists()}, outputs=outputs)

    def _plan_of_client(self, key: ClientKey) -> Plan:
        """The client's plan: where it has a public key, inputs may be encrypted with that."""
        return self._plan_of(key, public=PUBLIC in present(self.folder))

    def _forget_outputs(self, program: TracedProgram) -> None:
        """Removes the outputs of other inputs, which would be decrypted as those of the ones that follow."""
        for path in map(self._output, program.outputs):
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
    """`path`, of a file that an earlier step writes."""
    if not path.exists():
        raise FileError(f"{path} is not there; {remedy}")
    expect_whole(path)
    return path


def _read(path: Path, found: Values) -> Expected:
    """What `path` holds, of as many values as those `found`."""
    expect_whole(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        values = {name: _like(data["values"][name], sample) for name, sample in found.items()}
        return Expected(values, [float(size) for size in data["magnitudes"]])
    except OSError as problem:
        raise FileError(f"{path}: cannot read ({problem.strerror}); run --step encrypt first") from problem
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as problem:
        raise FileError(f"{path}: not the file that --step encrypt wrote ({problem}); run it again") from problem


def _like(values: Any, sample: Any) -> Any:  # noqa: ANN401 - what a file holds
    """`values` in the form of `sample`: integers, or the real and the imaginary parts."""
    if isinstance(sample, tuple):
        re, im = ([float(value) for value in half] for half in values)
        if (len(re), len(im)) == (len(sample[0]), len(sample[1])):
            return re, im
    elif len(values) == len(sample):
        return [int(value) for value in values]
    raise ValueError("another number of values")
