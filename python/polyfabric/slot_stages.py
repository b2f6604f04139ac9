"""A run of a CKKS or BGV program in three steps through files, as `stages` has it for TFHE.

The folder holds `client.key`, `server.key`, `NAME.in.ct` for each input and `NAME.out.ct` for each output. The server
needs all but `client.key`. Every file names the key generation that it is of; files of two are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import FileError
from .language.slot_program import SlotProgram
from .reports import write_text
from .slot_execution import SlotKeys, bound, check_flood, error, flooded, plain, plan
from .slot_execution import decrypt as decrypt_results
from .slot_execution import execute as execute_plan
from .slot_parameters import SlotParameters

if TYPE_CHECKING:
    from .language.slots import Native, Numbers
    from .machines import Machine
    from .progress import ProgressHook


def encrypt(
    program: SlotProgram,
    folder: Path,
    inputs: Mapping[str, Numbers],
    *,
    parameters: str | None,
    security: float | None,
    machine: Machine | None,
    key_switch: str | None,
    progress: ProgressHook,
) -> dict[str, Any]:
    """Makes keys if the folder has none, encrypts the inputs, and notes the expected outputs beside the client key."""
    flat = program.flatten(inputs)
    keys = SlotKeys.load(folder, program.scheme) if (folder / "client.key").exists() else None
    if keys is not None and security is None:
        security = 0  # Whoever made the keys has accepted their set.
    planned = plan(
        program,
        parameters or (keys and keys.parameter_set),
        security=security,
        machine=machine,
        key_switch=key_switch,
    )
    whole, _ = planned.native.evaluate(flat, program.meant)
    if keys is None:
        keys = SlotKeys.generate(planned, progress)
        keys.save(folder)
    keys.server.expect_keys(planned.native)
    ciphertexts = keys.client.encrypt(planned.native, flat)
    for name in program.inputs:
        ciphertexts.save(planned.native, False, name, folder / f"{name}.in.ct")
    write_text(folder / "expected.json", json.dumps(whole))
    return {"step": "encrypt", "parameters": planned.parameters, "folder": str(folder)}


def execute(
    program: SlotProgram,
    folder: Path,
    *,
    on: str,
    machine: Machine | None,
    threads: int | None,
    progress: ProgressHook,
) -> dict[str, Any]:
    """Reads the switching keys and the inputs, executes, writes the outputs. Never reads the client key."""
    server = _native.SlotServer.load(program.scheme, folder / "server.key")
    planned = plan(program, SlotParameters(server.parameters), security=0, machine=machine)
    server.expect_keys(planned.native)
    files = {name: folder / f"{name}.in.ct" for name in program.inputs}
    ciphertexts = _native.SlotCiphertexts.load(planned.native, False, files)
    results, _ = execute_plan(planned, server, ciphertexts, on, machine, threads, progress, lambda _: None)
    for name in program.outputs:
        results.save(planned.native, True, name, folder / f"{name}.out.ct")
    return {"step": "execute", "parameters": planned.parameters, "on": on}


def decrypt(
    program: SlotProgram, folder: Path, *, machine: Machine | None, flood: float | None = None
) -> dict[str, Any]:
    """Reads the client key and the outputs, decrypts, and compares with what was expected; with `flood`, for others."""
    client = _native.SlotClient.load(program.scheme, folder / "client.key")
    planned = plan(program, SlotParameters(client.parameters), security=0, machine=machine)
    check_flood(planned, flood)
    files = {name: folder / f"{name}.out.ct" for name in program.outputs}
    found = decrypt_results(planned, client, _native.SlotCiphertexts.load(planned.native, True, files), flood)
    whole = _read(folder / "expected.json", found)
    errors = {name: error(found[name], whole[name]) for name in program.outputs}
    bounds = {name: flooded(program, bound(planned, name), flood) for name in program.outputs}
    return {
        "step": "decrypt",
        "correct": all(errors[name] <= bounds[name] for name in errors),
        "output": plain(program.shaped(found)),
        "expected": plain(program.shaped(whole)),
        "error": errors,
        "bound": bounds,
    }


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
