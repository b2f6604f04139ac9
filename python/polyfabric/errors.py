"""Exceptions. Every message gives the cause, the values, the location and the fix."""

from __future__ import annotations

__all__ = [
    "AbsentError",
    "CancelledError",
    "Error",
    "FileError",
    "InputError",
    "InternalError",
    "IntractableError",
    "MachineError",
    "NoiseError",
    "ParameterError",
    "ProgramError",
    "RunError",
    "SecurityWarning",
]


class Error(Exception):
    """Base class of Polyfabric's errors."""


class ProgramError(Error):
    """A program that cannot be built, or whose text cannot be read."""


class AbsentError(ProgramError, AttributeError):
    """A name that an encrypted value or the package lacks. Also an `AttributeError`, as `hasattr` and other libraries expect."""


class ParameterError(Error):
    """An unknown, inconsistent or unsupported parameter set."""


class NoiseError(Error):
    """A program that exceeds the noise budget of its parameter set."""


class InputError(Error):
    """Invalid values or options."""


class FileError(Error):
    """A key, ciphertext or program file that cannot be read or written."""


class MachineError(Error):
    """An invalid machine description, or a program that a machine does not support."""


class IntractableError(MachineError):
    """A program for which a machine's scheduler found no order within its limit."""


class RunError(Error):
    """An execution that cannot start or continue, or a failure of a key store; the inputs are not at fault."""


class CancelledError(Error):
    """An execution cancelled by the caller."""


class InternalError(Error):
    """A defect of Polyfabric itself."""


def shown(value: object) -> str:
    """A value for a message; integers too long for Python to print are described."""
    try:
        return repr(value)
    except ValueError:
        return (
            f"an integer of {value.bit_length():,} bits"
            if isinstance(value, int)
            else f"a {type(value).__name__} of numbers too long to be shown"
        )


class SecurityWarning(UserWarning):
    """A parameter set below 128 bits is used, or a CKKS decryption will be shared."""
