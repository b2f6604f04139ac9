"""`from_trace`: a log of homomorphic operations, as a program that machines time and whose cost on a computer is estimated. `to_trace` writes one.

The text itself says which tool wrote it: a CSV of Intel's encrypted-computing-sdk, a trace of OpenFHE, next to which a file has the parameters, or `.fhetch`,
instructions on polynomials with a manifest. The last are a kernel program, which machines time.
"""

from __future__ import annotations

from pathlib import Path

from .. import _native
from ..errors import InputError, ProgramError
from ..host.sources import text_of
from ..language.traced import TracedProgram
from ..run.execution import make_plan
from ..run.runnable_programs import Program
from ..schemes.options import PlanOptions
from ..schemes.plan import Plan
from . import fhetch, intel_trace, openfhe_trace

LARGEST_FILE = 1 << 26
SUFFIXES = (".csv", ".txt")
"""Of the files of traces of operations on ciphertexts, on the command line."""
FHETCH = ".fhetch"
"""Of those of instructions on polynomials."""


def from_trace(trace: str | Path, context: str | Path | None = None) -> Program | _native.RnsKernel:
    """The program of a trace: `trace` is the file's path, or its text.

    Read are CSV files of Intel's encrypted-computing-sdk, traces of OpenFHE, and `.fhetch`. Those of OpenFHE lack the parameters, which `context` has, a crypto
    context that OpenFHE serialized as JSON; without it, that is the file next to the trace with `.json` as its ending. Those in `.fhetch` have a
    manifest, `fhetch_replay.json` in their folder or `context`, and become a kernel program, which `Machine.simulate` times.

    Operations run at the levels of the trace; parameter set and key switch are chosen again for each machine. A line that is not understood is refused
    with its number.
    """
    text, file = text_of(trace, reader="from_trace", file="the file of a trace", largest=LARGEST_FILE)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if lines and intel_trace.is_header(lines[0]):
        return intel_trace.parse(lines, file)
    path = Path(file) if isinstance(trace, Path) or "\n" not in trace else None
    if openfhe_trace.is_header(first):
        beside = None if path is None else path.with_suffix(".json")
        return openfhe_trace.parse(lines, file, beside if context is None else context)
    if fhetch.is_header(lines):
        beside = None if path is None else path.with_name(fhetch.MANIFEST)
        return fhetch.parse(lines, file, beside if context is None else context)
    raise ProgramError(
        f"{file}:1: neither the header of a CSV trace, {','.join(intel_trace.COLUMNS)},arg0,arg1,.., nor a call of OpenFHE, "
        "CryptoContext::EvalAdd(..):, nor the moduli of a .fhetch trace; check the file"
    )


def to_trace(program: TracedProgram | Plan | _native.RnsKernel, folder: str | Path) -> Path:
    """Writes a program of CKKS or BGV as `.fhetch`, instructions on polynomials with a manifest, to a folder. `from_trace` reads the returned path.

    A plan, `program.plan(on="f1")`, has the key switch and the parameters of its machine. Public polynomials are inputs of the trace. Digits smaller than a limb
    and comparisons of numbers of several limbs, as in bootstrapping, have no instruction, so programs with them are refused.
    """
    planned = make_plan(program, PlanOptions()) if isinstance(program, TracedProgram) else program
    kernel = planned.kernel if isinstance(planned, Plan) else planned
    if not isinstance(kernel, _native.RnsKernel):
        of_tfhe = isinstance(planned, Plan) or isinstance(kernel, _native.TfheKernel)
        what = "a program of TFHE" if of_tfhe else f"{type(program).__name__}, which is no program"
        raise InputError(f"to_trace: {what}; give a program of CKKS or BGV, or its plan")
    return fhetch.write(kernel, folder, planned.program.scheme if isinstance(planned, Plan) else None)
