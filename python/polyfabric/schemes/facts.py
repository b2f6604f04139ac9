"""Typed dictionaries for the native module's data on plans: noise with TFHE; levels, keys and errors with CKKS and BGV."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class ElementMemory(TypedDict):
    """Bytes of a program's keys and ciphertexts."""

    server_key: int
    """The key before the server transforms it."""
    server_key_compressed: int
    """The key in its transport form."""
    server_key_transformed: int
    """The key in the forms for execution."""
    client_key: int
    inputs: int
    outputs: int
    values: int
    """Intermediate values at their peak."""
    server: int
    """All memory of the server."""


class LookupNoise(TypedDict):
    """The noise of one lookup, or of several equal ones. Variances are fractions of the torus squared."""

    node: int
    op: str
    location: str
    """File and line."""
    operand: str
    count: int
    squared_norm: float
    """Σ w² over the independent ciphertexts of its operand."""
    weight_sum: float
    """Σ w over the ciphertexts that are results of lookups."""
    operand_variance: float
    """Of the combination."""
    variance: float
    """Variance of the phase that it reads."""
    mean_bound: float
    """Bound of the errors' common mean with one key."""
    margin: float
    """Largest error that it tolerates, as a fraction of the torus."""
    log2_failure: float


class Spacing(TypedDict):
    """The places of an output type's values on the torus."""

    values: int
    """Number of values."""
    distance: float
    """Distance of two neighbours, as a fraction of the torus."""
    torus_bits: int


class Undetected(TypedDict):
    """Alterations of an output that decryption cannot detect."""

    bits: int
    """Number of bits of a torus element that, if flipped, may give another value of the type."""
    anywhere: float
    """The probability that a uniformly random phase decodes to a wrong value of the type."""


class OutputNoise(TypedDict):
    """The noise of one output."""

    node: int
    name: str
    location: str
    element: str
    count: int
    key: str
    """Key of the output: "small" or "large"."""
    squared_norm: float
    variance: float
    mean_bound: float
    margin: float
    """Largest error that decoding tolerates."""
    error_bound: float
    """Bound of the error of its phase."""
    spacing: Spacing
    undetected: Undetected
    log2_failure: float
    flood_deviation: NotRequired[float]
    """Standard deviation of the flooding noise, with circuit privacy."""


class ElementNoise(TypedDict):
    """The noise of a program of TFHE with a parameter set."""

    parameters: str
    log2_failure: float
    """log2 of the probability that any lookup or output is wrong."""
    key_switch: NotRequired[str]
    lookups: NotRequired[list[LookupNoise]]
    outputs: NotRequired[list[OutputNoise]]
    inputs: NotRequired[str]
    """"public" if clients may encrypt them with the public key."""
    circuit_privacy_bits: NotRequired[float]
    log2_failure_of_one: NotRequired[float]
    """Built-in programs: log2 of the probability that one ciphertext of the batch is wrong."""
    bounds: NotRequired[dict[str, float]]
    """Built-in programs: bound of the error of each output's phase."""
    message_bits: NotRequired[int]
    """Built-in programs: message bits per ciphertext."""


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
    """CKKS: bound of a slot's error, exceeded with probability 2^-40 at most."""
    border: NotRequired[float | None]
    """CKKS: of a rounding, the distance from a border up to which a number may be rounded either way, in steps."""
    spread_bound: NotRequired[float]
    """CKKS: the random errors' part of the bound."""
    smudging_log2: NotRequired[float | None]
    """CKKS: log2 of the smudging noise's standard deviation, for outputs of several owners."""
    factor: NotRequired[int]
    """BGV: factor of the message."""
    measured: NotRequired[float]
    """The largest measured error; with BGV, the number of wrong slots."""
    noise_log2: NotRequired[float]
    """BGV: log2 of the noise's bound."""
    budget_bits: NotRequired[float]
    """BGV: bits of the modulus above the noise."""


class SwitchingKey(TypedDict):
    """A key that a program needs."""

    key: str
    bytes: int


class KeySwitches(TypedDict):
    """Number of uses of a key at a number of limbs."""

    key: str
    limbs: int
    count: int


class Bootstraps(TypedDict):
    """Number of bootstraps, and how many of them the compiler placed."""

    in_all: int
    placed: int


class SlotFacts(TypedDict):
    """Results of planning a program of CKKS or BGV. Sizes are bytes."""

    parameters: dict[str, Any]
    """The parameter set, as in `SlotParameters.to_dict`."""
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
    """log2 of the probability that an error exceeds its bound; BGV fails then."""
    operations: dict[str, int]
    """Operations on residue polynomials, by kind."""
    limb_operations: dict[str, int]
    """Operations on single limbs, by kind."""
    key_switches: list[KeySwitches]
    key_switch: dict[str, Any] | None
    """The key switch on a machine, and the alternatives that the compiler compared."""
    steps: list[dict[str, Any]]
    """The tried numbers of baby and giant steps of each matrix on a machine."""
    nodes: list[SlotNode]
