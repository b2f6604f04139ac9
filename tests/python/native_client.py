"""The C library of clients, called from Python, for tests."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import polyfabric as pf
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "debug"
HEADER = ROOT / "crates" / "capi" / "include" / "polyfabric_client.h"
STATUS = ("OK", "FILE", "INPUT", "PARAMETER", "RUN", "CALL", "DEFECT")


class Bytes(ctypes.Structure):
    """`pf_bytes`."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


class Limits(ctypes.Structure):
    """`pf_limits`."""

    _fields_ = (("security", ctypes.c_double), ("key_bytes", ctypes.c_uint64))


class RefusedError(Exception):
    """A call that failed, with its status and message."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


def library() -> ctypes.CDLL:
    """The library that `make test` builds."""
    path = FOLDER / "libpolyfabric_client.so"
    if not path.exists():
        pytest.fail(f"{path} is missing; `make tested` builds it")
    found = ctypes.CDLL(str(path))
    found.pf_error.restype = ctypes.c_char_p
    found.pf_client_free.argtypes = (ctypes.c_void_p,)
    return found


class NativeClient:
    """A client of the C library. Accepts sets of any security unless `limits` are given."""

    def __init__(self, spec: bytes, key: bytes | None = None, limits: Limits | None = None) -> None:
        self.library = library()
        self.handle = ctypes.c_void_p()
        given = ctypes.byref(Limits(0, 1 << 40) if limits is None else limits)
        size = ctypes.c_size_t(len(spec))
        if key is None:
            self.check(self.library.pf_client_generate(spec, size, given, ctypes.byref(self.handle)))
        else:
            sizes = (size, key, ctypes.c_size_t(len(key)))
            self.check(self.library.pf_client_load(spec, *sizes, given, ctypes.byref(self.handle)))

    def __del__(self) -> None:
        self.library.pf_client_free(self.handle)

    def check(self, status: int) -> None:
        """Raises the error of a failed call."""
        if status:
            raise RefusedError(STATUS[status], self.library.pf_error().decode())

    def bytes_of(self, name: str, *given: Any) -> bytes:
        """The result of a call that gives bytes."""
        made = Bytes()
        self.check(getattr(self.library, name)(self.handle, *given, ctypes.byref(made)))
        found = ctypes.string_at(made.data, made.size + 1)
        assert found[-1] == 0
        self.library.pf_bytes_free(ctypes.byref(made))
        assert made.data is None
        return found[:-1]

    def key(self) -> bytes:
        return self.bytes_of("pf_client_save")

    def evaluation_key(self) -> bytes:
        return self.bytes_of("pf_client_evaluation_key")

    def encrypt(self, **inputs: Any) -> bytes:
        return self.bytes_of("pf_client_encrypt", json.dumps(inputs).encode())

    def decrypt(self, answer: bytes) -> Any:
        return json.loads(self.bytes_of("pf_client_decrypt", answer, ctypes.c_size_t(len(answer))))


def run(program: Any, parameters: str | None = None, **inputs: Any) -> Any:
    """The outputs of a program: C encrypts and decrypts, Python executes."""
    client = NativeClient(pf.Specification.of(program, parameters).to_bytes())
    server = pf.Server(program, pf.EvaluationKey.from_bytes(client.evaluation_key()), parameters=parameters)
    request = pf.Ciphertexts.from_bytes(client.encrypt(**inputs))
    return client.decrypt(server.execute(request).to_bytes())
