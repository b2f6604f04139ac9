"""Polyfabric: one program on encrypted data, run on your machine, and executed and timed on published accelerators.

```python
import polyfabric as pf


@pf.program(x=pf.Int(0, 7), y=pf.Int(0, 7))
def larger(x, y):
    return pf.max(x, y)


print(larger.clear(x=3, y=5))  # in the clear
print(larger.run(x=3, y=5))  # on ciphertexts
print(larger.simulate("morphling", widths="derived"))  # its time on an accelerator
```
"""

from __future__ import annotations

# Imported first, so that Ctrl-C shows no traceback of the following imports.
from . import interrupts as _interrupts  # noqa: F401 - see there
from ._native import instruction_set
from .client_server import Client, Encryptor, Server
from .errors import (
    CancelledError,
    Error,
    FileError,
    InputError,
    InternalError,
    IntractableError,
    MachineError,
    NoiseError,
    ParameterError,
    ProgramError,
    RunError,
    SecurityWarning,
)
from .keys import Keys
from .language import instead as _instead
from .language.functions import (
    Table,
    concat,
    convolve,
    dot,
    lookup,
    maximum,
    minimum,
    mux,
    nand,
    nor,
    relu,
    sign,
    xnor,
)
from .language.functions import maximum as max  # noqa: A004 - as pf.max
from .language.functions import minimum as min  # noqa: A004 - as pf.min
from .language.functions import total as sum  # noqa: A004 - as pf.sum
from .language.slot_functions import chebyshev, polynomial
from .language.slots import SlotValue, bootstrap, rotate, sum_slots
from .language.sorting import sort
from .language.types import Bool, Complex, Int, Mod, Real, SInt, SlotType, Text, Torus, Type, UInt
from .language.values import Value
from .machines import Machine
from .machines import load as machine
from .messages import Ciphertexts, EvaluationKey, PublicKey
from .models import Fidelity, Model, ModelRun, from_onnx, from_sklearn
from .reports import Report
from .runnable_programs import Program, SlotProgram, program
from .schemes.plan import RunResult
from .slot_parameters import SlotParameters
from .specification import Specification
from .store import KeyStore


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("polyfabric")
    raise _instead.function(name)


__all__ = [
    "Bool",
    "CancelledError",
    "Ciphertexts",
    "Client",
    "Complex",
    "Encryptor",
    "Error",
    "EvaluationKey",
    "Fidelity",
    "FileError",
    "InputError",
    "Int",
    "InternalError",
    "IntractableError",
    "KeyStore",
    "Keys",
    "Machine",
    "MachineError",
    "Mod",
    "Model",
    "ModelRun",
    "NoiseError",
    "ParameterError",
    "Program",
    "ProgramError",
    "PublicKey",
    "Real",
    "Report",
    "RunError",
    "RunResult",
    "SInt",
    "SecurityWarning",
    "Server",
    "SlotParameters",
    "SlotProgram",
    "SlotType",
    "SlotValue",
    "Specification",
    "Table",
    "Text",
    "Torus",
    "Type",
    "UInt",
    "Value",
    "bootstrap",
    "chebyshev",
    "concat",
    "convolve",
    "dot",
    "from_onnx",
    "from_sklearn",
    "instruction_set",
    "lookup",
    "machine",
    "max",
    "maximum",
    "min",
    "minimum",
    "mux",
    "nand",
    "nor",
    "polynomial",
    "program",
    "relu",
    "rotate",
    "sign",
    "sort",
    "sum",
    "sum_slots",
    "xnor",
]
