"""Does AES under an encrypted key decrypt the published ciphertexts, in the clear and encrypted, with no lookup outside of its S-boxes?"""

from __future__ import annotations

import random
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import polyfabric as pf
import pytest

ROOT = Path(__file__).resolve().parents[2]

PLAIN = "00112233445566778899aabbccddeeff"
FIPS_197 = {
    16: "69c4e0d86a7b0430d8cdb78070b4c55a",
    24: "dda97ca4864cdfe06eaf70a0ec0d7191",
    32: "8ea2b7ca516745bfeafc49904b496089",
}
"""Ciphertexts of appendix C by the bytes of the key 00 01 02 .."""

MESSAGE = (
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
KEYS = {
    16: "2b7e151628aed2a6abf7158809cf4f3c",
    24: "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
    32: "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
}
ECB = {
    16: "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
    "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
    24: "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
    "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
    32: "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
    "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
}
CTR = {
    16: "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
    "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    24: "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
    "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    32: "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
}
"""SP 800-38A, sections F.1 and F.5, by the bytes of the key."""
COUNTER = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")


def decryption(size: int, ciphertext: bytes, **options: bytes):
    @pf.program(tables="wide", key=pf.UInt(8).vector(size))
    def decrypted(key):
        return pf.aes_decrypt(key, ciphertext, **options)

    return decrypted


def lookups_on_digits(program: pf.Program) -> list[str]:
    return [line for line in program.text().splitlines() if " = lookup " in line or " = lookup_each " in line]


@pytest.mark.parametrize("size", [16, 24, 32])
def test_single_blocks_are_those_of_the_standard(size: int) -> None:
    program = decryption(size, bytes.fromhex(FIPS_197[size]))
    assert bytes(program.clear(key=list(range(size)))).hex() == PLAIN
    assert not lookups_on_digits(program)
    program = decryption(size, bytes.fromhex(ECB[size]))
    assert bytes(program.clear(key=bytes.fromhex(KEYS[size]))).hex() == MESSAGE


@pytest.mark.parametrize("size", [16, 24, 32])
def test_counter_mode_is_that_of_the_standard(size: int) -> None:
    key = list(bytes.fromhex(KEYS[size]))
    for length in (64, 41, 1):
        program = decryption(size, bytes.fromhex(CTR[size])[:length], counter=COUNTER)
        assert bytes(program.clear(key=key)).hex() == MESSAGE[: 2 * length]
        assert not lookups_on_digits(program)


def test_the_counter_wraps() -> None:
    """After 2^128 - 1 comes 0: the second block is that of the counter 0."""
    zeros = bytes(16)
    key = [random.randrange(256) for _ in range(16)]
    both = decryption(16, zeros * 2, counter=b"\xff" * 16).clear(key=key)
    assert list(both)[16:] == list(decryption(16, zeros, counter=zeros).clear(key=key))


def test_the_s_boxes_are_all_that_takes_time() -> None:
    program = decryption(16, bytes(32), counter=COUNTER)
    # The key's bytes, 40 S-boxes of the key schedule, 160 of each block; digits of the result. Equal bytes of counters share theirs.
    most = 8 * (16 + 40 + 2 * 160 + 2 * 16)
    assert 0.9 * most < program.plan().kernel.lookups <= most
    assert program.plan().parameters.name == "polyfabric-wide-t64"
    assert program.plan().log2_failure <= -128


@pytest.mark.full
@pytest.mark.parametrize("counter", [None, COUNTER])
def test_a_block_decrypts_encrypted(counter: bytes | None) -> None:
    given = bytes.fromhex((ECB if counter is None else CTR)[16])[:16]
    done = decryption(16, given, **({} if counter is None else {"counter": counter})).run(
        key=list(bytes.fromhex(KEYS[16]))
    )
    assert bytes(done.value).hex() == MESSAGE[:32]


def test_the_example_is_in_the_clear_what_the_standard_says() -> None:
    spec = spec_from_file_location("aes", ROOT / "examples/aes.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert bytes(module.decrypted.clear(key=list(bytes.fromhex(KEYS[16])))).hex() == MESSAGE[:32]


def test_two_rounds_of_a_small_cipher_decrypt() -> None:
    """Exclusive ors and permutations between tables of four bits, as in AES, on ciphertexts."""
    box = random.sample(range(16), 16)

    @pf.program(tables="wide", state=pf.UInt(4).vector(2), key=pf.UInt(4).vector(2))
    def small(state, key):
        state = pf.lookup(state, range(16), result=pf.UInt(4))
        key = pf.lookup(key, range(16), result=pf.UInt(4))
        for _ in range(2):
            found = pf.lookup(state ^ key, box, result=pf.UInt(4))
            state = found.rotate_left(1) ^ found[[1, 0]] ^ key ^ 5
        return state, state[0] + 1

    def clear(state, key):
        for _ in range(2):
            found = [box[a ^ b] for a, b in zip(state, key, strict=True)]
            turned = [(value << 1 | value >> 3) & 15 for value in found]
            state = [turned[at] ^ found[1 - at] ^ key[at] ^ 5 for at in range(2)]
        return state

    # Tables of both inputs and of two rounds, digits of the result, and the sum's carry; nothing for exclusive ors and rotations.
    assert small.plan().kernel.lookups <= 4 * (4 + 2 * 2 + 2) + 2
    given = {name: [random.randrange(16) for _ in range(2)] for name in ("state", "key")}
    expected = clear(**given)
    assert list(small.run(**given).outputs.values()) == [expected, (expected[0] + 1) % 16]


def test_keys_and_ciphertexts_of_other_forms_are_refused() -> None:
    for kind, blocks, counter in [
        (pf.UInt(8).vector(15), bytes(16), None),
        (pf.UInt(4).vector(16), bytes(16), None),
        (pf.UInt(8), bytes(16), None),
        (pf.UInt(8).vector(16), bytes(15), None),
        (pf.UInt(8).vector(16), b"", None),
        (pf.UInt(8).vector(16), b"", COUNTER),
        (pf.UInt(8).vector(16), bytes(16), bytes(15)),
        (pf.UInt(8).vector(16), [256] * 16, None),
        (pf.UInt(8).vector(16), [1.5] * 16, None),
        (pf.UInt(8).vector(16), "0" * 16, None),
        (pf.UInt(8).vector(16), 16, None),
        (pf.UInt(8).vector(16), set(range(16)), None),
        (pf.UInt(8).vector(16), dict.fromkeys(range(16)), None),
    ]:
        with pytest.raises(pf.errors.ProgramError):
            pf.program(tables="wide", key=kind)(
                lambda key, blocks=blocks, counter=counter: pf.aes_decrypt(key, blocks, counter=counter)
            )
    with pytest.raises(pf.errors.ProgramError):
        pf.aes_decrypt(bytes(16), bytes(16))
