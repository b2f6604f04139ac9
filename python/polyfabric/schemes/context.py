"""A client's operations for every scheme: key generation, encryption and decryption for one program, without the program itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _native
from ..host import memory
from .slot_parameters import SlotParameters

if TYPE_CHECKING:
    from ..host.progress import ProgressHook
    from ..language.lane_shapes import LaneShapes
    from ..language.shapes import Shapes
    from ..language.slot_shapes import SlotShapes

STANDARD_SECURITY = 128.0
"""Default minimum security of the user's own sets, and of sets in keys and specifications from others."""

LARGEST_KEY = 4 << 30
"""Default limit of an evaluation key's bytes. The author of a specification, whom a client need not trust, chooses that size."""

Parameters: TypeAlias = _native.TfheParameters | SlotParameters
"""A checked parameter set."""

ClientKey: TypeAlias = _native.TfheClientKey | _native.RnsClientKey
"""A client's secret key, which decrypts."""

ServerKey: TypeAlias = _native.TfheServerKey | _native.RnsServerKey
"""A server's keys: bootstrapping and switching keys."""

PublicKey: TypeAlias = _native.TfhePublicKey | _native.RnsPublicKey
"""A public key, with which others encrypt."""

Ciphertexts: TypeAlias = _native.TfheCiphertexts | _native.RnsCiphertexts
"""Encrypted inputs of a program, or its outputs."""

Source: TypeAlias = "bytes | Path"
"""A file, or its bytes."""

Values: TypeAlias = dict[str, Any]
"""Values by name: a list of integers for TFHE and BGV, the real and imaginary parts for CKKS."""


class Context(ABC):
    """The encodings of a program's inputs and outputs with one parameter set. Specifications and plans both contain one."""

    signature: Any
    """The native signature: names, encodings and bounds."""
    shapes: Shapes | SlotShapes | LaneShapes
    """Types of inputs and outputs."""

    scheme: str
    """ "tfhe", "ckks" or "bgv"."""
    parameters: Parameters
    """The parameter set."""
    public: bool
    """Whether inputs may be encrypted with the client's public key."""
    security_bits: float
    """Bits of security of the parameter set; 0 if unknown."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The fields of a specification except the program's name and scheme."""

    def names(self, *, outputs: bool) -> list[str]:
        """Names of the ciphertexts that hold the inputs or outputs."""
        return list(self.shapes.outputs if outputs else self.shapes.inputs)

    def encrypted(self, values: Values) -> Values:
        """Those of the inputs that have a ciphertext: a plan may leave out inputs that no result depends on."""
        return {name: values[name] for name in self.names(outputs=False) if name in values}

    # -- keys -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def key_bytes(self) -> int:
        """Bytes of the evaluation key in the client's form."""

    @abstractmethod
    def generate(self) -> ClientKey:
        """Generates a secret key from the operating system's randomness. Fails if the evaluation key would not fit the memory."""

    @abstractmethod
    def server_key(self, client: ClientKey, progress: ProgressHook | None = None) -> ServerKey:
        """Generates the server's keys for the program. Fails if they would not fit the memory."""

    @abstractmethod
    def evaluation_key(self, client: ClientKey, progress: ProgressHook | None = None) -> bytes:
        """The file of the server's keys, for a client that only sends it. Fails if making it would not fit the memory."""

    def expect_memory(self, wanted: int) -> None:
        """Fails if less than `wanted` bytes of memory are free."""
        memory.expect(
            f"the keys of parameter set {self.parameters.name}",
            wanted,
            "use a computer with more memory, or a specification with a smaller set or fewer rotations",
        )

    # -- values ---------------------------------------------------------------------------------------------------

    def encrypt(self, client: ClientKey, values: Values) -> Ciphertexts:
        """Encrypts inputs with the secret key."""
        return client.encrypt(self.signature, values)  # type: ignore[arg-type]

    def encrypt_to(self, public: PublicKey, name: str, values: Any, path: Path | None = None) -> bytes | None:  # noqa: ANN401 - those of one input
        """Encrypts one input with a public key to the file `path`; returns the bytes if there is no path."""
        return public.encrypt_to(self.signature, name, values, path)

    @abstractmethod
    def encrypt_publicly(self, public: PublicKey, values: Values, server: ServerKey) -> Ciphertexts:
        """Encrypts inputs with a public key, in the server's form."""

    @abstractmethod
    def decrypt(self, client: ClientKey, results: Ciphertexts) -> Values:
        """Decrypts the outputs. Fails if a phase exceeds every error bound of the program."""

    # -- files ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def read(self, sources: Mapping[str, Source], *, outputs: bool, server: ServerKey | None = None) -> Ciphertexts:
        """Reads inputs or outputs from files; inputs need the server's key."""

    def expect_own(self, sources: Mapping[str, Source], *, outputs: bool) -> None:
        """Refuses inputs or outputs of another program."""
        self.signature.expect_own(outputs, sources)

    @abstractmethod
    def write(self, ciphertexts: Ciphertexts, name: str, path: Path | None = None, *, outputs: bool) -> bytes | None:
        """Writes one ciphertext to the file `path`; returns the bytes if there is no path."""


def content(data: bytes | None) -> bytes:
    """The bytes from a call without a path."""
    assert data is not None
    return bytes(data)
