"""`from_trace`: a log of homomorphic operations, as a program that machines time and whose cost on a computer is estimated.

The text itself says which tool wrote it: a CSV of Intel's encrypted-computing-sdk, or a trace of OpenFHE, next to which a file has the parameters.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import ProgramError
from ..host.sources import text_of
from ..run.runnable_programs import Program
from . import intel_trace, openfhe_trace

LARGEST_FILE = 1 << 26
SUFFIXES = (".csv", ".txt")
"""Of the files of traces on the command line."""


def from_trace(trace: str | Path, context: str | Path | None = None) -> Program:
    """The program of a trace: `trace` is the file's path, or its text.

    Read are CSV files of Intel's encrypted-computing-sdk and traces of OpenFHE. The latter lack the parameters, which `context` has, a crypto
    context that OpenFHE serialized as JSON; without it, that is the file next to the trace with `.json` as its ending.

    Operations run at the levels of the trace; parameter set and key switch are chosen again for each machine. A line that is not understood is refused
    with its number.
    """
    text, file = text_of(trace, reader="from_trace", file="the file of a trace", largest=LARGEST_FILE)
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if lines and intel_trace.is_header(lines[0]):
        return intel_trace.parse(lines, file)
    if openfhe_trace.is_header(first):
        beside = Path(file).with_suffix(".json") if isinstance(trace, Path) or "\n" not in trace else None
        return openfhe_trace.parse(lines, file, context if context is not None else beside)
    raise ProgramError(
        f"{file}:1: neither the header of a CSV trace, {','.join(intel_trace.COLUMNS)},arg0,arg1,.., nor a call of OpenFHE, "
        "CryptoContext::EvalAdd(..):; check the file"
    )
