"""What the Rust links tell of a plan, as data with known fields: the noise of elements, and levels, keys and errors of slots."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class ElementMemory(TypedDict):
    """Bytes of a program's keys and ciphertexts."""

    server_key: int
    """Before the server transforms it."""
    server_key_compressed: int
    """In its transport form."""
    server_key_transformed: int
    """In the forms that executions of the program make of it."""
    client_key: int
    inputs: int
    outputs: int
    server: int
    """All that a server holds."""


class LookupNoise(TypedDict):
    """The noise of one look-up, or of several alike. Variances are of the torus squared."""

    node: int
    op: str
    location: str
    """File and line."""
    operand: str
    count: int
    squared_norm: float
    """Σ w² over the independent ciphertexts that it combines."""
    weight_sum: float
    """Σ w over those of them that are results of look-ups."""
    operand_variance: float
    """Of the combination."""
    variance: float
    """Of the phase that it reads."""
    mean_bound: float
    """Bound of the mean that all such errors of one key share."""
    margin: float
    """Noise that it withstands, a fraction of the torus."""
    log2_failure: float


class Spacing(TypedDict):
    """Where the values of an output's type lie on the torus."""

    values: int
    """How many there are."""
    distance: float
    """Of two neighbours, a fraction of the torus."""
    torus_bits: int


class Undetected(TypedDict):
    """What of an altered output is not told from a right one."""

    bits: int
    """How many bits of a torus element may give another value of the type, if one of them is flipped."""
    anywhere: float
    """The probability that a phase anywhere on the torus is read as a wrong value of the type."""


class OutputNoise(TypedDict):
    """The noise of one output."""

    node: int
    name: str
    location: str
    element: str
    count: int
    key: str
    """Which key it is under: "small" or "large"."""
    squared_norm: float
    variance: float
    mean_bound: float
    margin: float
    """Noise that decoding withstands."""
    error_bound: float
    """What an error of its phase stays within."""
    spacing: Spacing
    undetected: Undetected
    log2_failure: float
    flood_deviation: NotRequired[float]
    """Deviation of the noise that hides how it was computed, with circuit privacy."""


class ElementNoise(TypedDict):
    """The noise of a program of TFHE with a parameter set."""

    parameters: str
    log2_failure: float
    """log2 of the probability that any look-up or output is wrong."""
    key_switch: NotRequired[str]
    lookups: NotRequired[list[LookupNoise]]
    outputs: NotRequired[list[OutputNoise]]
    inputs: NotRequired[str]
    """"public" where they may be encrypted with the public key."""
    circuit_privacy_bits: NotRequired[float]
    log2_failure_of_one: NotRequired[float]
    """Of a built-in program: that one ciphertext of its batch is wrong."""
    bounds: NotRequired[dict[str, float]]
    """Of a built-in program: by output, what an error of its phase stays within."""
    message_bits: NotRequired[int]
    """Of a built-in program: bits of the message that a ciphertext holds."""


class SlotNode(TypedDict):
    """One operation of a program of CKKS or BGV."""

    node: int
    op: str
    place: str
    """File and line."""
    level: int
    limbs: int
    scale_log2: NotRequired[float]
    """CKKS: log2 of the scale."""
    magnitude: NotRequired[float]
    """CKKS: the largest value of a slot."""
    headroom_bits: NotRequired[float]
    """CKKS: bits between the largest phase and half of the modulus."""
    bound: NotRequired[float]
    """CKKS: what the error of a slot stays within but for a probability of 2^-40."""
    spread_bound: NotRequired[float]
    """CKKS: the part of the bound that is of random errors."""
    factor: NotRequired[int]
    """BGV: what the message is multiplied by."""
    measured: NotRequired[float]
    """The largest error that was measured; with BGV, the number of wrong slots."""
    noise_log2: NotRequired[float]
    """BGV: log2 of the noise's bound."""
    budget_bits: NotRequired[float]
    """BGV: bits that are left of the modulus."""


class SwitchingKey(TypedDict):
    """A key that a program asks for."""

    key: str
    bytes: int


class KeySwitches(TypedDict):
    """How often a key is used at so many limbs."""

    key: str
    limbs: int
    count: int


class Bootstraps(TypedDict):
    """Bootstraps of a program, and how many of them the compiler placed."""

    in_all: int
    placed: int


class SlotFacts(TypedDict):
    """What planning a program of CKKS or BGV found. Sizes are bytes."""

    parameters: dict[str, Any]
    """What is known of the parameter set, as `SlotParameters.to_dict` has it."""
    start_level: int
    """Of the inputs."""
    bootstraps: Bootstraps
    keys: list[SwitchingKey]
    key_bytes: int
    input_bytes: int
    output_bytes: int
    plaintext_bytes: int
    memory_bytes: int
    log2_failure: float
    """log2 of the probability that a bound is passed: of BGV, that it fails."""
    operations: dict[str, int]
    """Operations on residue polynomials, by kind."""
    limb_operations: dict[str, int]
    """The same on single limbs."""
    key_switches: list[KeySwitches]
    key_switch: dict[str, Any] | None
    """The key switch on a machine, and the others that the compiler weighed."""
    steps: list[dict[str, Any]]
    """What a machine tried for the baby and giant steps of each matrix."""
    nodes: list[SlotNode]
