"""A run in steps through files: the client makes keys and encrypts, the server executes, the client decrypts.

The folder holds `client.key`, `server.key`, `NAME.in.ct` for each input and `NAME.out.ct` for each output; of a plan for inputs of a public key
`public.key` too, with which others encrypt. The server needs `server.key` and the inputs. `expected.json`, the clear results, is the client's like its key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _native
from .errors import FileError, ParameterError
from .execution import Keys, Plan, matching
from .execution import execute as execute_plan
from .language.program import Clear, Program
from .machines import Machine
from .progress import ProgressHook
from .reports import write_text, write_together
from .reports.units import security as security_text
from .slot_execution import STANDARD_SECURITY

STEPS = ("keys", "encrypt", "execute", "decrypt")

PlanFor = Callable[[str | None], Plan]
"""The plan for the parameter set of that name, or for one to be chosen."""


def make_keys(plan_for: PlanFor, folder: Path, progress: ProgressHook) -> dict[str, Any]:
    """Makes the client's key and the server's; refuses a folder that has keys."""
    present = [name for name in ("client.key", "server.key", "public.key") if (folder / name).exists()]
    if present:
        raise FileError(
            f"{folder / present[0]}: there are keys already, which new ones would replace; name another folder"
        )
    planned = plan_for(None)
    keys = Keys.generate(planned.parameters, progress)
    files = {"client.key": keys.client.save, "server.key": keys.server.save}
    if planned.public:
        files["public.key"] = _native.PublicKey.generate(keys.client).save
    write_together(folder, files)
    return {"step": "keys", "parameters": planned.parameters.name, "folder": str(folder)}


def encrypt(
    plan_for: PlanFor,
    folder: Path,
    inputs: Callable[[Program], Mapping[str, Clear]],
    progress: ProgressHook,
    named: str | None = None,
) -> dict[str, Any]:
    """Encrypts the inputs: with the client key, which is made if the folder has none, or with a public key that is there without it.

    The client notes the expected outputs beside its key. Who has the public key alone may encrypt some of the inputs, and notes nothing; the key's
    parameter set must then be the one that is `named`, or have 128 bits.
    """
    if (folder / "public.key").exists() and not (folder / "client.key").exists():
        return _encrypt_publicly(plan_for, folder, inputs, named)
    if (folder / "server.key").exists() and not (folder / "client.key").exists():
        raise FileError(
            f"{folder / 'server.key'}: it is of a client whose client.key is not here, and new keys would replace it; bring "
            "that client.key, or name another folder"
        )
    if (folder / "client.key").exists():
        keys = Keys.load(folder, progress)
        planned = plan_for(keys.parameters.name)
    else:
        planned = plan_for(None)
        keys = Keys.generate(planned.parameters, progress)
    program = planned.program
    flat = program.flatten(inputs(program))
    expected = program.native.evaluate(flat)
    ciphertexts = keys.client.encrypt(planned.signature, flat)
    if not (folder / "client.key").exists():
        keys.save(folder)
    for name in program.inputs:
        ciphertexts.save(planned.parameters, planned.signature, False, name, folder / f"{name}.in.ct")
    write_text(folder / "expected.json", json.dumps(expected), private=True)
    return {"step": "encrypt", "parameters": planned.parameters.name, "folder": str(folder), "inputs": flat}


def _encrypt_publicly(
    plan_for: PlanFor, folder: Path, inputs: Callable[[Program], Mapping[str, Clear]], named: str | None
) -> dict[str, Any]:
    public = _native.PublicKey.load(folder / "public.key")
    found = matching(public, named)
    # The client has chosen the set, and who encrypts must be content with it.
    if named is None and found.security_bits < STANDARD_SECURITY:
        raise ParameterError(
            f"{folder / 'public.key'}: it is of parameter set {found.name}, which has {security_text(found.security_bits)} bits of security, "
            f"not {STANDARD_SECURITY:g}: what is encrypted with it may be read; ask for another key, or accept it with --params {found.name}"
        )
    planned = plan_for(found.name)
    # A name may stand before other figures in a file.
    matching(public, planned.parameters)
    program = planned.program
    flat = program.flatten(inputs(program), partly=True)
    for name, values in flat.items():
        public.encrypt_to(planned.signature, name, values, folder / f"{name}.in.ct")
    return {"step": "encrypt", "parameters": planned.parameters.name, "folder": str(folder), "inputs": flat}


def execute(
    plan_for: PlanFor,
    folder: Path,
    *,
    on: str,
    machine: Machine | None,
    threads: int | None,
    progress: ProgressHook,
) -> dict[str, Any]:
    """Reads the server key and the inputs, executes, writes the outputs. Never reads the client key."""
    server = _native.ServerKey.load(folder / "server.key", progress)
    planned = plan_for(server.parameters.name)
    files = {name: folder / f"{name}.in.ct" for name in planned.program.inputs}
    ciphertexts = _native.Ciphertexts.load(planned.parameters, planned.signature, False, files, server)
    results, _ = execute_plan(planned, server, ciphertexts, on=on, machine=machine, threads=threads, progress=progress)
    for name in planned.program.outputs:
        results.save(planned.parameters, planned.signature, True, name, folder / f"{name}.out.ct")
    return {"step": "execute", "parameters": planned.parameters.name, "on": on, "lookups": planned.kernel.lookups}


def decrypt(plan_for: PlanFor, folder: Path) -> dict[str, Any]:
    """Reads the client key and the outputs, and decrypts; compares with what was expected, where this client noted it."""
    client = _native.ClientKey.load(folder / "client.key")
    planned = plan_for(client.parameters.name)
    program = planned.program
    files = {name: folder / f"{name}.out.ct" for name in program.outputs}
    results = _native.Ciphertexts.load(planned.parameters, planned.signature, True, files)
    values = client.decrypt(planned.signature, results)
    if not (folder / "expected.json").exists():
        return {"step": "decrypt", "output": program.shaped(values)}
    expected = _read(folder / "expected.json")
    return {
        "step": "decrypt",
        "correct": values == expected,
        "output": program.shaped(values),
        "expected": program.shaped(expected),
    }


def _read(path: Path) -> dict[str, list[int]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot read ({error.strerror}); run --step encrypt first") from error
    except ValueError as error:
        raise FileError(f"{path}: not the file that --step encrypt wrote ({error}); run it again") from error
    return {str(name): [int(x) for x in values] for name, values in data.items()}
