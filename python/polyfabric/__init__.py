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
from .host import interrupts as _interrupts  # noqa: F401 - see there

# isort: split
from .host import native_module as _native_module  # noqa: F401 - see there

# isort: split
from . import errors, models
from .accelerators.machine import Machine, machines
from .accelerators.machine import load as load_machine
from .errors import Error
from .importers import from_heir, from_polars, from_trace, to_trace
from .language import instead as _instead
from .language.aes import aes_decrypt
from .language.fixed_type import Fixed
from .language.functions import concat, convolve, dot, lookup, nand, nor, relu, sign, where, xnor
from .language.functions import maximum as max  # noqa: A004 - as pf.max
from .language.functions import minimum as min  # noqa: A004 - as pf.min
from .language.functions import total as sum  # noqa: A004 - as pf.sum
from .language.numpy_calls import Value
from .language.place import pass_over as _pass_over
from .language.slot_functions import chebyshev, polynomial
from .language.sorting import sort
from .language.types import Bool, Complex, Int, Mod, Real, SInt, Text, Torus, UInt
from .language.types import SlotType as _SlotType
from .language.types import Type as _Type
from .models import from_onnx, from_sklearn, from_torch
from .papers import reproduce
from .reports import Report
from .run import tracebacks as _tracebacks
from .run.client_server import Client, Encryptor, Server
from .run.keys import Keys
from .run.messages import Ciphertexts, EvaluationKey, PublicKey
from .run.parties import JointKeys, Party, decrypt_jointly
from .run.runnable_programs import Program, program
from .run.specification import Specification
from .run.store import KeyStore
from .schemes.plan import RunResult
from .schemes.slot_parameters import SlotParameters, parameter_sets
from .service.remote import RemoteServer
from .studies import compare, explore

__all__ = [
    "Bool",
    "Ciphertexts",
    "Client",
    "Complex",
    "Encryptor",
    "Error",
    "EvaluationKey",
    "Fixed",
    "Int",
    "JointKeys",
    "KeyStore",
    "Keys",
    "Machine",
    "Mod",
    "Party",
    "Program",
    "PublicKey",
    "Real",
    "RemoteServer",
    "Report",
    "RunResult",
    "SInt",
    "Server",
    "SlotParameters",
    "Specification",
    "Text",
    "Torus",
    "UInt",
    "Value",
    "aes_decrypt",
    "chebyshev",
    "compare",
    "concat",
    "convolve",
    "decrypt_jointly",
    "dot",
    "errors",
    "explore",
    "from_heir",
    "from_onnx",
    "from_polars",
    "from_sklearn",
    "from_torch",
    "from_trace",
    "load_machine",
    "lookup",
    "machines",
    "max",
    "min",
    "models",
    "nand",
    "nor",
    "parameter_sets",
    "polynomial",
    "program",
    "relu",
    "reproduce",
    "sign",
    "sort",
    "sum",
    "to_trace",
    "where",
    "xnor",
]

_pass_over(__file__)
_tracebacks.shorten(__all__, globals(), (_Type, _SlotType))
_tracebacks.shorten(models.__all__, vars(models))


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("polyfabric")
    raise _instead.function(name, __all__)
