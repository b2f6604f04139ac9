"""What clients and servers exchange, as bytes: ciphertexts, evaluation keys and public keys. Secret keys are rejected."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .. import _native
from ..errors import FileError, InputError
from ..host.files import bytes_of, path_of, read_bytes, write_bytes, write_together

CLIENT_KIND, PUBLIC_KINDS, CIPHERTEXT_KINDS = "ClientKey", ("PublicKey",), ("Ciphertexts", "Selector")
EVALUATION_KINDS = ("CompressedServerKey", "EvaluationKeys")
"""Rust names of the kinds of files, for all schemes."""

INPUTS, OUTPUTS = ".in.ct", ".out.ct"
"""Endings of the files of encrypted inputs and outputs."""

NAME = re.compile(r"[A-Za-z0-9_.+-]{1,256}")
"""Valid names of inputs and outputs, which are file names too."""


@dataclass(frozen=True)
class Ciphertexts:
    """The encrypted inputs or outputs of one execution: file contents by name."""

    parts: dict[str, bytes] = field(repr=False)
    ending: str
    """`INPUTS` or `OUTPUTS`."""

    def __post_init__(self) -> None:
        """Rejects invalid names, since they become file names, and bytes that are not ciphertexts."""
        wrong = next((name for name in self.parts if not NAME.fullmatch(name)), None)
        if wrong is not None:
            raise FileError(
                f"the ciphertexts: {wrong[:64]!r} is not a valid name, which has only letters, digits and _ - + .; "
                "send the result of to_bytes()"
            )
        for name, data in self.parts.items():
            expect_kind(data, f"the ciphertexts {name!r}", CIPHERTEXT_KINDS, "send the result of to_bytes()")

    def __repr__(self) -> str:
        what = "inputs" if self.ending == INPUTS else "outputs"
        return f"<encrypted {what} {', '.join(self.parts)}: {sum(map(len, self.parts.values()))} bytes>"

    def to_bytes(self) -> bytes:
        """All of them as a zip archive, stored without compression."""
        return _native.pack_ciphertexts(list(self.parts.items()), self.ending == OUTPUTS)

    @classmethod
    def from_bytes(cls, data: bytes) -> Ciphertexts:
        """Parses the result of `to_bytes`."""
        outputs, files = _native.unpack_ciphertexts(bytes_of(data, "the ciphertexts"))
        return cls(dict(files), OUTPUTS if outputs else INPUTS)

    def save(self, folder: str | Path) -> None:
        """Writes `NAME.in.ct` or `NAME.out.ct` files to `folder`, as the command line does; all or none."""
        write_together(
            folder, {name + self.ending: partial(write_bytes, data=data) for name, data in self.parts.items()}
        )

    @classmethod
    def load(cls, folder: str | Path, *, outputs: bool = False) -> Ciphertexts:
        """Loads all inputs, or all `outputs`, in `folder`."""
        ending, other = (OUTPUTS, INPUTS) if outputs else (INPUTS, OUTPUTS)
        place = path_of(folder)
        files = {path.name: read_bytes(path) for path in sorted(place.glob(f"*{ending}"))}
        if not files and any(place.glob(f"*{other}")):
            held, wanted = ("inputs", "outputs") if outputs else ("outputs", "inputs")
            raise FileError(f"{folder}: it has {held} and no {wanted}; load them with outputs={not outputs}")
        if not files:
            raise FileError(f"{folder}: no ciphertexts of inputs, or of outputs; give those of one execution")
        return cls({name.removesuffix(ending): data for name, data in files.items()}, ending)

    def __or__(self, other: Ciphertexts) -> Ciphertexts:
        """Combines inputs encrypted by two parties into one request."""
        if not isinstance(other, Ciphertexts):
            return NotImplemented
        twice = sorted(set(self.parts) & set(other.parts))
        if self.ending != INPUTS or other.ending != INPUTS or twice:
            raise InputError(
                f"{self} and {other} are not the inputs of one request"
                + (f": both have {twice[0]!r}; encrypt it once" if twice else "; combine results of encrypt()")
            )
        return Ciphertexts({**self.parts, **other.parts}, self.ending)


@dataclass(frozen=True)
class EvaluationKey:
    """Keys that a server needs to execute for one client; they decrypt nothing."""

    data: bytes

    def __post_init__(self) -> None:
        """Rejects other files' bytes, especially secret keys, before they are sent."""
        expect_kind(
            self.data, "the evaluation key", EVALUATION_KINDS, "give client.evaluation_key.to_bytes(), or a server.key"
        )

    def __repr__(self) -> str:
        return f"<evaluation key: {len(self.data)} bytes>"

    def to_bytes(self) -> bytes:
        """The content of `server.key`."""
        return self.data

    @classmethod
    def from_bytes(cls, data: bytes) -> EvaluationKey:
        """Parses the result of `to_bytes`; the server checks its content."""
        return cls(bytes_of(data, "the evaluation key"))

    def save(self, path: str | Path) -> None:
        """Writes the file atomically."""
        write_bytes(path_of(path), self.data)

    @classmethod
    def load(cls, path: str | Path) -> EvaluationKey:
        """Loads a `server.key`."""
        return cls(read_bytes(path_of(path)))


@dataclass(frozen=True)
class PublicKey:
    """A key with which anybody encrypts for one client; it decrypts nothing."""

    data: bytes

    def __post_init__(self) -> None:
        """Rejects other files' bytes, especially secret keys, before they are published."""
        expect_kind(self.data, "the public key", PUBLIC_KINDS, "give client.public_key.to_bytes(), or a public.key")

    def __repr__(self) -> str:
        return f"<public key: {len(self.data)} bytes>"

    def to_bytes(self) -> bytes:
        """The content of `public.key`."""
        return self.data

    @classmethod
    def from_bytes(cls, data: bytes) -> PublicKey:
        """Parses the result of `to_bytes`; the encryptor checks its content."""
        return cls(bytes_of(data, "the public key"))

    def save(self, path: str | Path) -> None:
        """Writes the file atomically."""
        write_bytes(path_of(path), self.data)

    @classmethod
    def load(cls, path: str | Path) -> PublicKey:
        """Loads a `public.key`."""
        return cls(read_bytes(path_of(path)))


def expect_kind(data: bytes, what: str, kinds: Collection[str], remedy: str) -> None:
    """Rejects bytes that are not a file of one of `kinds` (Rust names), so that nobody sends a secret key by mistake."""
    found = _native.file_kind(bytes_of(data, what)[:16])
    if found is None:
        raise FileError(f"{what}: {len(data):,} bytes that are not a Polyfabric file; {remedy}")
    kind, words = found
    if kind == CLIENT_KIND:
        raise FileError(
            f"{what}: these are the bytes of {words}, a secret that decrypts everything; never send it, and {remedy}"
        )
    if kind not in kinds:
        raise FileError(f"{what}: these are the bytes of {words}; {remedy}")
