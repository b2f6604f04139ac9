"""A run of a CKKS or BGV program in steps through files, as `stages` has it for TFHE.

The folder holds `client.key`, `server.key`, `public.key`, `NAME.in.ct` for each input and `NAME.out.ct` for each output. The
server needs `server.key` and the inputs; who encrypts for the client, `public.key`. `expected.json`, the clear results, is the
client's like its key. Every file names the key generation that it is of; files of two are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import FileError
from .language.slot_program import SlotProgram
from .reports import write_text, write_together
from .slot_execution import SlotKeys, SlotPlan, bound, check_flood, errors, flooded, plain, plan
from .slot_execution import decrypt as decrypt_results
from .slot_execution import execute as execute_plan
from .slot_parameters import SlotParameters

if TYPE_CHECKING:
    from .language.slots import Native, Numbers
    from .machines import Machine
    from .progress import ProgressHook


def make_keys(
    program: SlotProgram,
    folder: Path,
    *,
    parameters: str | SlotParameters | None = None,
    security: float | None = None,
    machine: Machine | None = None,
    key_switch: str | None = None,
    progress: ProgressHook | None = None,
) -> dict[str, Any]:
    """Makes the client's key, the server's, and a public one for whoever encrypts; refuses a folder that has keys."""
    present = [name for name in ("client.key", "server.key", "public.key") if (folder / name).exists()]
    if present:
        raise FileError(
            f"{folder / present[0]}: there are keys already, which new ones would replace; name another folder"
        )
    planned = plan(program, parameters, security=security, machine=machine, key_switch=key_switch, public=True)
    keys = SlotKeys.generate(planned, progress)
    files = {"client.key": keys.client.save, "server.key": keys.server.save, "public.key": keys.client.public().save}
    write_together(folder, files)
    return {"step": "keys", "parameters": planned.parameters, "folder": str(folder), "files": list(files)}


def encrypt(
    program: SlotProgram,
    folder: Path,
    inputs: Mapping[str, Numbers],
    *,
    parameters: str | SlotParameters | None = None,
    security: float | None = None,
    machine: Machine | None = None,
    key_switch: str | None = None,
    progress: ProgressHook | None = None,
) -> dict[str, Any]:
    """Encrypts the inputs: with the client key, which is made if the folder has none, or with a public key that is there without it.

    The client notes the expected outputs beside its key. Who has the public key alone may encrypt some of the inputs, and notes nothing.
    """
    if (folder / "public.key").exists() and not (folder / "client.key").exists():
        return _encrypt_for(program, folder, inputs, parameters, security, machine)
    flat = program.flatten(inputs)
    present = any((folder / name).exists() for name in ("client.key", "server.key"))
    keys = SlotKeys.load(folder, program.scheme) if present else None
    if keys is not None and security is None:
        security = 0  # Whoever made the keys has accepted their set.
    planned = plan(
        program,
        parameters or (keys and keys.parameter_set),
        security=security,
        machine=machine,
        key_switch=key_switch,
    )
    whole, _ = planned.native.evaluate(flat, program.mapped)
    made = keys is None
    keys = keys or SlotKeys.generate(planned, progress)
    keys.server.expect_keys(planned.native)
    ciphertexts = keys.client.encrypt(planned.signature, flat)
    if made:
        keys.save(folder)
    for name in program.inputs:
        ciphertexts.save(planned.signature, False, name, folder / f"{name}.in.ct")
    write_text(folder / "expected.json", json.dumps(whole), private=True)
    return {"step": "encrypt", "parameters": planned.parameters, "folder": str(folder)}


def _encrypt_for(
    program: SlotProgram,
    folder: Path,
    inputs: Mapping[str, Numbers],
    parameters: str | SlotParameters | None,
    security: float | None,
    machine: Machine | None,
) -> dict[str, Any]:
    """Encrypts inputs for the client whose public key is in the folder: all, or those that are given."""
    flat = program.flatten(inputs, partly=True)
    public = _native.SlotPublicKey.load(program.scheme, folder / "public.key")
    # The client has chosen the set, and who encrypts must be content with it.
    asked = SlotParameters(public.parameters) if parameters is None else parameters
    planned = plan(program, asked, security=security, machine=machine, public=True)
    if len(flat) == len(program.inputs):
        planned.native.evaluate(flat, program.mapped)
    for name, values in flat.items():
        public.encrypt_to(planned.signature, name, values, folder / f"{name}.in.ct")
    return {"step": "encrypt", "parameters": planned.parameters, "folder": str(folder), "inputs": list(flat)}


def execute(
    program: SlotProgram,
    folder: Path,
    *,
    on: str = "cpu",
    machine: Machine | None = None,
    threads: int | None = None,
    progress: ProgressHook | None = None,
) -> dict[str, Any]:
    """Reads the switching keys and the inputs, executes, writes the outputs. Never reads the client key."""
    server = _native.SlotServer.load(program.scheme, folder / "server.key")
    planned = plan(program, SlotParameters(server.parameters), security=0, machine=machine)
    server.expect_keys(planned.native)
    files = {name: folder / f"{name}.in.ct" for name in program.inputs}
    ciphertexts = _native.SlotCiphertexts.load(planned.signature, False, files)
    results, _ = execute_plan(planned, server, ciphertexts, on, machine, threads, progress, lambda _: None)
    for name in program.outputs:
        results.save(planned.signature, True, name, folder / f"{name}.out.ct")
    return {"step": "execute", "parameters": planned.parameters, "on": on}


def decrypt(
    program: SlotProgram, folder: Path, *, machine: Machine | None = None, flood: float | None = None
) -> dict[str, Any]:
    """Reads the client key and the outputs, and decrypts; with `flood`, for others.

    Compares with what was expected, where this client encrypted the inputs: what others encrypted is not known here.
    """
    planned, found = decrypted(program, folder, machine, flood)
    noted = folder / "expected.json"
    bounds = {name: flooded(program, bound(planned, name), flood) for name in program.outputs}
    output = plain(program.shaped(found))
    if planned.public and not noted.exists():
        return {"step": "decrypt", "output": output, "bound": bounds}
    whole = _read(noted, found)
    wrong = errors(program, found, whole)
    return {
        "step": "decrypt",
        "correct": all(wrong[name] <= bounds[name] for name in wrong),
        "output": output,
        "expected": plain(program.shaped(whole)),
        "error": wrong,
        "bound": bounds,
    }


def decrypted(
    program: SlotProgram, folder: Path, machine: Machine | None, flood: float | None
) -> tuple[SlotPlan, dict[str, Native]]:
    """The outputs, all slots of each. Where there is a public key inputs may be encrypted with it, and the plan's bounds hold for that."""
    client = _native.SlotClient.load(program.scheme, folder / "client.key")
    public = (folder / "public.key").exists()
    planned = plan(program, SlotParameters(client.parameters), security=0, machine=machine, public=public)
    check_flood(planned, flood)
    files = {name: folder / f"{name}.out.ct" for name in program.outputs}
    ciphertexts = _native.SlotCiphertexts.load(planned.signature, True, files)
    return planned, decrypt_results(planned, client, ciphertexts, flood)


def _read(path: Path, found: Mapping[str, Native]) -> dict[str, Native]:
    """The values of `path`, which must be as many as those `found`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        values = {name: _like(data[name], sample) for name, sample in found.items()}
    except OSError as problem:
        raise FileError(f"{path}: cannot read ({problem.strerror}); run --step encrypt first") from problem
    except (ValueError, TypeError, KeyError) as problem:
        raise FileError(f"{path}: not the file that --step encrypt wrote ({problem}); run it again") from problem
    return values


def _like(values: Any, sample: Native) -> Native:  # noqa: ANN401 - what a file holds
    """`values` in the form of `sample`: integers, or the real and the imaginary parts."""
    if isinstance(sample, tuple):
        re, im = ([float(value) for value in half] for half in values)
        if (len(re), len(im)) == (len(sample[0]), len(sample[1])):
            return re, im
    elif len(values) == len(sample):
        return [int(value) for value in values]
    raise ValueError("another number of slots")
