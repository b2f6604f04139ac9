"""What can go wrong. Every message gives the cause, the values, the place and the remedy."""

from __future__ import annotations


class Error(Exception):
    """Any error of Polyfabric."""


class ProgramError(Error):
    """A program that cannot be built, or whose text cannot be read."""


class ParameterError(Error):
    """A parameter set that is unknown, inconsistent, or not allowed without being named."""


class NoiseError(Error):
    """A program that exceeds the noise budget of its parameter set."""


class InputError(Error):
    """Values that a program does not take."""


class FileError(Error):
    """A key, ciphertext or program file that cannot be read or written."""


class MachineError(Error):
    """A machine description that does not hold, or a program that a machine does not take."""


class IntractableError(MachineError):
    """A program of which a machine's scheduler found no order in the time that it was given."""


class RunError(Error):
    """An execution that cannot start or go on, or a store that cannot read or write its keys: the fault is not in what was given."""


class CancelledError(Error):
    """An execution that its caller wanted no more of."""


class InternalError(Error):
    """A defect of Polyfabric itself."""


def shown(value: object) -> str:
    """A value as messages show it: numbers of thousands of digits, which Python does not print, by what they are."""
    try:
        return repr(value)
    except ValueError:
        return (
            f"an integer of {value.bit_length():,} bits"
            if isinstance(value, int)
            else f"a {type(value).__name__} of numbers too long to be shown"
        )


class SecurityWarning(UserWarning):
    """A parameter set under 128 bits was named and is used, or a decryption of CKKS is to be shared."""
