"""What a client does, whichever the scheme: make keys, encrypt, decrypt, for one program with one parameter set, without the program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import _native, memory
from ..slot_parameters import SlotParameters

if TYPE_CHECKING:
    from ..language.shapes import Shapes
    from ..language.slot_shapes import SlotShapes
    from ..progress import ProgressHook

STANDARD_SECURITY = 128.0
"""Bits that a set of one's own, or of somebody else's key or specification, must have unless fewer are asked for."""

LARGEST_KEY = 4 << 30
"""Bytes of the largest evaluation key that a client makes unless it accepts more: whoever wrote its specification asks for the key."""

Parameters: TypeAlias = _native.Parameters | SlotParameters
"""A checked parameter set."""

ClientKey: TypeAlias = _native.ClientKey | _native.SlotClient
"""What decrypts."""

ServerKey: TypeAlias = _native.ServerKey | _native.SlotServer
"""What executes: bootstrapping and switching keys."""

PublicKey: TypeAlias = _native.PublicKey | _native.SlotPublicKey
"""What others encrypt with."""

Ciphertexts: TypeAlias = _native.Ciphertexts | _native.SlotCiphertexts
"""Encrypted inputs of a program, or its outputs."""

Source: TypeAlias = "bytes | Path"
"""A file, or its bytes."""

Values: TypeAlias = dict[str, Any]
"""By name: a list of integers of elements and residues, the real and the imaginary parts of complex slots."""


class Context(ABC):
    """The encodings of a program's inputs and outputs with one parameter set. A specification says as much, and a plan has one."""

    signature: Any
    """The native one: names, encodings and bounds."""
    shapes: Shapes | SlotShapes
    """Types of what goes in and comes out."""

    scheme: str
    """ "tfhe", "ckks" or "bgv"."""
    parameters: Parameters
    """The parameter set."""
    public: bool
    """Whether inputs may be encrypted with the client's public key."""
    security_bits: float
    """Bits of security of the parameter set; 0 if none are known."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As data: what a specification says beside the program's name and scheme."""

    # -- keys -----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def key_bytes(self) -> int:
        """Bytes of the evaluation key, as its client makes it."""

    @abstractmethod
    def generate(self) -> ClientKey:
        """A fresh secret key, from the operating system's randomness; refused if the evaluation key would not fit the memory."""

    @abstractmethod
    def server_key(self, client: ClientKey, progress: ProgressHook | None = None) -> ServerKey:
        """The keys that the program's server needs of a client; refused if they would not fit the memory."""

    @abstractmethod
    def evaluation_key(self, client: ClientKey, progress: ProgressHook | None = None) -> bytes:
        """The file of these keys, for a client that only sends it; refused if making it would not fit the memory."""

    def expect_memory(self, wanted: int) -> None:
        """Fails if fewer bytes of memory are left than keys take."""
        memory.expect(
            f"the keys of parameter set {self.parameters.name}",
            wanted,
            "use a computer with more memory, or a specification with a smaller set or fewer rotations",
        )

    # -- values ---------------------------------------------------------------------------------------------------

    def encrypt(self, client: ClientKey, values: Values) -> Ciphertexts:
        """Inputs, encrypted with the secret key."""
        return client.encrypt(self.signature, values)  # type: ignore[arg-type]

    def encrypt_to(self, public: PublicKey, name: str, values: Any, path: Path | None = None) -> bytes | None:  # noqa: ANN401 - those of one input
        """The file of an input that somebody else encrypts, written to `path`, or returned without it."""
        return public.encrypt_to(self.signature, name, values, path)

    @abstractmethod
    def encrypt_publicly(self, public: PublicKey, values: Values, server: ServerKey) -> Ciphertexts:
        """Inputs, encrypted with a public key, as the server has them."""

    @abstractmethod
    def decrypt(self, client: ClientKey, results: Ciphertexts) -> Values:
        """The outputs' values. What no execution of the program leaves is refused."""

    # -- files ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def read(self, sources: Mapping[str, Source], *, outputs: bool, server: ServerKey | None = None) -> Ciphertexts:
        """The inputs, or the outputs, that are in files; inputs with the key of the server that takes them."""

    def expect_own(self, sources: Mapping[str, Source], *, outputs: bool) -> None:
        """Refuses inputs, or outputs, that are of another program, whatever their parameter set."""
        self.signature.expect_own(outputs, sources)

    @abstractmethod
    def write(self, ciphertexts: Ciphertexts, name: str, path: Path | None = None, *, outputs: bool) -> bytes | None:
        """The file of one of them, written to `path`, or returned without it."""


def content(data: bytes | None) -> bytes:
    """What was returned in place of being written."""
    assert data is not None
    return bytes(data)
