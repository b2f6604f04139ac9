"""Three and five owners of one key decrypt together what one server computes; fewer do not, and other messages are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from damage import cut, flip, flipped, longer, newer, other
from rejects import rejects

REFERENCE = "the sum of the parties' coins, 2026-11-30"


@pf.program(x=pf.Real.vector(8), y=pf.Real.vector(8))
def reals(x, y):
    return {"product": x * y.rotate(1) + 0.25, "cube": x * x * x}


@pf.program(x=pf.Mod(65537).vector(8), y=pf.Mod(65537).vector(8))
def residues(x, y):
    return x * y.rotate(1) + x


@pf.program(x=pf.Mod(786433).vector(16))
def fifth(x):
    return x * x * x * x * x


WEIGHTS = np.linspace(-1, 1, 16).reshape(4, 4)


@pf.program(x=pf.Real.vector(4))
def turned(x):
    return WEIGHTS @ x


@pf.program(x=pf.Complex.vector(4))
def linear(x):
    return x + 1j


@pf.program(x=pf.Int(0, 3))
def integers(x):
    return x + 1


INPUTS: dict[str, dict[str, Any]] = {
    "ckks": {"x": np.linspace(-1, 1, 8), "y": np.linspace(1, 0.5, 8)},
    "bgv": {"x": np.arange(8) * 8191, "y": 65536 - np.arange(8)},
}
PROGRAMS = {"ckks": reals, "bgv": residues}


def expected(scheme: str) -> Any:
    """In NumPy's and Python's own arithmetic."""
    x, y = INPUTS[scheme]["x"], INPUTS[scheme]["y"]
    if scheme == "ckks":
        return {"product": x * np.roll(y, -1) + 0.25, "cube": x**3}
    # Rotations are within each of two rows.
    turned = np.roll(y.reshape(2, 4), -1, axis=1).ravel()
    found = [(int(a) * int(b) + int(a)) % 65537 for a, b in zip(x, turned, strict=True)]
    return [value - 65537 if value > 32768 else value for value in found]


@dataclass
class Run:
    """One run of the protocol, up to the shares."""

    specification: pf.Specification
    parties: list[pf.Party]
    first: list[bytes]
    second: list[bytes]
    keys: pf.JointKeys
    answer: pf.Ciphertexts
    shares: list[bytes]

    def decrypt(self, shares: list[bytes] | None = None, answer: pf.Ciphertexts | None = None) -> Any:
        return pf.decrypt_jointly(
            self.specification, REFERENCE, answer or self.answer, self.shares if shares is None else shares
        )


def made(scheme: str, count: int, **options: Any) -> Run:
    program = PROGRAMS[scheme]
    # Through bytes, as over a network.
    published = pf.Specification.of(program, parties=count, **options).to_bytes()
    specification = pf.Specification.from_bytes(published)
    parties = [pf.Party(pf.Specification.from_bytes(published), index, REFERENCE, security=0) for index in range(count)]
    first = [party.first_message() for party in parties]
    second = [party.second_message(first) for party in parties]
    keys = pf.JointKeys(specification, REFERENCE, first, second)
    encryptors = [
        pf.Encryptor(specification, pf.PublicKey.from_bytes(keys.public_key.to_bytes()), security=0) for _ in range(2)
    ]
    inputs = INPUTS[scheme]
    request = encryptors[0].encrypt(x=inputs["x"]) | encryptors[1].encrypt(y=inputs["y"])
    server = pf.Server(program, pf.EvaluationKey.from_bytes(keys.evaluation_key.to_bytes()), parties=count, **options)
    answer = server.execute(pf.Ciphertexts.from_bytes(request.to_bytes()))
    shares = [party.share(answer) for party in parties]
    return Run(specification, parties, first, second, keys, answer, shares)


@pytest.fixture(scope="module")
def runs() -> Callable[[str, int], Run]:
    known: dict[tuple[str, int], Run] = {}

    def run(scheme: str, count: int) -> Run:
        if (scheme, count) not in known:
            known[scheme, count] = made(scheme, count)
        return known[scheme, count]

    return run


def expect(scheme: str, found: Any) -> None:
    if scheme == "ckks":
        for name, values in expected(scheme).items():
            assert np.abs(found[name] - values).max() < 1e-3, name
    else:
        assert list(found) == expected(scheme)


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
@pytest.mark.parametrize("count", [3, pytest.param(5, marks=pytest.mark.full)])
def test_parties_decrypt_together(scheme: str, count: int, runs: Any) -> None:
    run = runs(scheme, count)
    expect(scheme, run.decrypt())
    expect(scheme, run.decrypt(run.shares[::-1]))
    assert run.specification.context.security_bits >= 128
    # Fewer shares are refused, and the sum of fewer is no result: a share replaced by nothing of its own decrypts to no plan's values.
    with rejects(pf.errors.InputError, str(count - 1), str(count)):
        run.decrypt(run.shares[1:])
    with rejects(pf.errors.FileError, "1"):
        run.decrypt([run.shares[1], *run.shares[1:]])


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
def test_any_two_of_three_parties_decrypt(scheme: str, runs: Any, tmp_path: Any) -> None:
    run = runs(scheme, 3)
    dealt = [party.secret_shares(2) for party in run.parties]
    assert dealt[0] == run.parties[0].secret_shares(2)
    for party in run.parties:
        with rejects(pf.errors.InputError, str(party.index)):
            # Nothing has been taken.
            party.share(run.answer, among=[party.index, (party.index + 1) % 3])
        party.take_shares([own[party.index] for own in dealt][::-1])
    # A party comes back with what it has taken.
    run.parties[2].save(tmp_path / "two")
    parties = [*run.parties[:2], pf.Party.load(run.specification, tmp_path / "two", REFERENCE, security=0)]
    shares = {}
    for among in ([0, 1], [2, 0], [1, 2]):
        shares[tuple(among)] = [parties[index].share(run.answer, among=among) for index in among]
        expect(scheme, run.decrypt(shares[tuple(among)]))
        with rejects(pf.errors.FileError):
            run.decrypt(shares[tuple(among)][:1])
    # All together as before; and no other sets of shares.
    expect(scheme, run.decrypt())
    with rejects(pf.errors.FileError):
        run.decrypt([shares[0, 1][0], shares[1, 2][0]])
    with rejects(pf.errors.FileError):
        run.decrypt([shares[0, 1][0], run.shares[1], run.shares[2]])
    for wrong in ([0], [1, 2], [0, 0], [0, 3], [0, 1, 2], [], [0, -1], "01", 1, [0, 1.0], [0, 1 << 40]):
        with rejects(pf.errors.InputError):
            run.parties[0].share(run.answer, among=wrong)
    for wrong in (1, 3, 0, -2, 2.0, None, True, 1 << 40):
        with rejects(pf.errors.InputError):
            run.parties[0].secret_shares(wrong)
    own = [mine[0] for mine in dealt]
    anew = pf.Party(run.specification, 1, REFERENCE, security=0)
    with rejects(pf.errors.InputError, "1"):
        anew.secret_shares(2)
    anew.second_message([run.first[0], anew.first_message(), run.first[2]])
    refused = (pf.errors.FileError, pf.errors.InputError)
    for wrong in (
        own[1:],
        [own[0], own[0], own[2]],
        [own[0], dealt[1][1], own[2]],
        [own[0], anew.secret_shares(2)[0], own[2]],
        [own[0], run.first[1], own[2]],
        [own[0], b"", own[2]],
        own[0],
        None,
        *([own[0], damage(own[1]), own[2]] for damage in (cut, flip, longer, newer, other)),
    ):
        with rejects(refused):
            run.parties[0].take_shares(wrong)
    with rejects(pf.errors.InputError, "0"):
        run.decrypt([])
    # A secret share is no message.
    with rejects(pf.errors.FileError):
        run.decrypt([run.shares[0], own[1], run.shares[2]])


OTHERS: list[tuple[Any, Any, Callable[[Any], Any]]] = [
    (fifth, np.arange(16) * 49_999 % 786_433, lambda x: [pow(int(value), 5, 786_433) for value in x]),
    (turned, np.linspace(0, 1, 4), lambda x: WEIGHTS @ x),
    (linear, np.array([0.5, 1j, 0, -1]), lambda x: x + 1j),
]


@pytest.mark.parametrize(("program", "x", "right"), OTHERS, ids=["fifth", "turned", "linear"])
def test_other_programs_are_computed_too(program: Any, x: Any, right: Callable[[Any], Any]) -> None:
    """Many levels of BGV; rotation keys alone; no keys at all. The key works as any other, without `parties`."""
    specification = pf.Specification.of(program, parties=2)
    parties = [pf.Party(specification, index, b"agreed") for index in (0, 1)]
    first = [party.first_message() for party in parties]
    keys = pf.JointKeys(specification, b"agreed", first, [party.second_message(first) for party in parties])
    request = pf.Encryptor(specification, keys.public_key).encrypt(x=x)
    answer = program.execute(keys.evaluation_key, request)
    found = pf.decrypt_jointly(specification, b"agreed", answer, [party.share(answer) for party in parties])
    if program is fifth:
        assert [int(value) % 786_433 for value in found] == right(x)
    else:
        assert np.abs(np.array(found) - right(x)).max() < 1e-3


def test_the_cost_is_known_before_and_includes_the_noise() -> None:
    alone, joint, more = (reals.cost(parties=count).to_dict() for count in (1, 3, 12))
    outputs = [[node["bound"] for node in cost["nodes"] if node["op"] == "output"] for cost in (joint, more)]
    assert joint["key_bytes"] != alone["key_bytes"]
    assert all(few < many for few, many in zip(*outputs, strict=True))


def test_the_error_is_that_of_the_smudging_noise_and_within_its_bound(runs: Any) -> None:
    run = runs("ckks", 3)
    found, right = run.decrypt(), expected("ckks")
    terminals = {own["name"]: own for own in run.specification.data["signature"]["outputs"]}
    ratios = []
    for name, values in right.items():
        own = terminals[name]
        encoding, smudging = own["encoding"]["ckks"], own["smudging"]
        assert smudging["bits"] == 40
        error = np.abs(found[name] - values)
        assert error.max() < encoding["error"], name
        # A polynomial of 16 coefficients has the 8 slots; a real slot has half of |e|² = 3·16·σ².
        slot = sqrt(3 * 16 / 2) * 2 ** smudging["log2_deviation"] / encoding["scale"]
        ratios.extend(error / slot)
    assert 0.4 < sqrt(np.square(ratios).mean()) < 2


@pytest.mark.parametrize("bits", [39.9, 0, -1, float("nan"), "40", 81])
def test_other_bits_of_smudging_are_refused(bits: Any) -> None:
    with rejects((pf.errors.InputError, pf.errors.ParameterError), "40"):
        pf.Specification.of(reals, parties=3, smudging=bits)


def test_more_parties_and_more_bits_have_larger_bounds() -> None:
    specifications = [pf.Specification.of(residues, parties=count) for count in (2, 16)]
    phases = [one.data["signature"]["outputs"][0]["encoding"]["bgv"]["log2_phase"] for one in specifications]
    assert phases[1] > phases[0] + 1
    least, more = (
        pf.Specification.of(reals, parties=3, smudging=bits).data["signature"]["outputs"][0] for bits in (40, 50)
    )
    noise = [terminal["smudging"]["log2_deviation"] for terminal in (least, more)]
    assert more["smudging"]["bits"] == 50
    assert noise[1] > noise[0] + 5


def test_a_specification_with_less_smudging_is_refused(runs: Any) -> None:
    specification = runs("ckks", 3).specification
    for change in ({"bits": 20.0}, {"log2_deviation": 200.0}, {"bits": float("nan")}, None):
        data = pf.Specification.from_bytes(specification.to_bytes()).data
        terminal = data["signature"]["outputs"][0]
        if change is None:
            del terminal["smudging"]
        else:
            terminal["smudging"].update(change)
        with rejects(pf.errors.FileError):
            pf.Party(pf.Specification.from_bytes(pf.Specification(data).to_bytes()), 0, REFERENCE)


def test_messages_of_others_are_refused(runs: Any) -> None:
    run = runs("bgv", 3)
    specification, first, second = run.specification, run.first, run.second
    stranger = pf.Party(specification, 1, REFERENCE)
    elsewhere = pf.Party(specification, 1, "another reference")
    refused = (pf.errors.FileError, pf.errors.InputError, pf.errors.ParameterError)
    wrong: list[tuple[Any, Any]] = [
        (first[1:], second),
        ([first[0], second[1], first[2]], second),
        (first, [second[0], first[1], second[2]]),
        ([first[0], first[0], first[2]], second),
        ([first[0], stranger.first_message(), first[2]], second),
        ([first[0], elsewhere.first_message(), first[2]], second),
        ([first[0], run.shares[1], first[2]], second),
        ([first[0], b"nothing", first[2]], second),
        ([first[0], run.keys.public_key.to_bytes(), first[2]], second),
        (first[0], second),
        (None, second),
    ]
    for one, two in wrong:
        with rejects(refused):
            pf.JointKeys(specification, REFERENCE, one, two)
    with rejects(pf.errors.InputError, "0"):
        run.parties[0].second_message([first[0], stranger.first_message(), first[2]])
    assert run.parties[0].second_message(first[::-1]) == second[0]
    assert run.parties[0].first_message() == first[0]
    assert run.parties[0].share(run.answer) == run.shares[0]
    # Shares of another answer, though of the same inputs, and of parties that made no keys.
    with rejects(pf.errors.InputError, "1"):
        stranger.share(run.answer)
    again = pf.Server(residues, run.keys.evaluation_key, parties=3).execute(
        pf.Encryptor(specification, run.keys.public_key).encrypt(INPUTS["bgv"])
    )
    shares = [party.share(again) for party in run.parties]
    expect("bgv", run.decrypt(shares, again))
    with rejects(pf.errors.FileError):
        run.decrypt([run.shares[0], shares[1], run.shares[2]])
    with rejects(pf.errors.FileError):
        run.decrypt(shares)


@pytest.mark.parametrize("damage", [cut, flip, longer, newer, other])
def test_damaged_messages_are_refused(damage: Any, runs: Any) -> None:
    run = runs("bgv", 3)
    first, second, shares = (list(messages) for messages in (run.first, run.second, run.shares))
    for messages in (first, second, shares):
        messages[1] = damage(messages[1])
    with rejects(pf.errors.FileError):
        pf.JointKeys(run.specification, REFERENCE, first, run.second)
    with rejects(pf.errors.FileError):
        pf.JointKeys(run.specification, REFERENCE, run.first, second)
    with rejects(pf.errors.FileError):
        run.decrypt(shares)


@pytest.mark.parametrize("count", [60, pytest.param(20_000, marks=pytest.mark.full)])
def test_no_damage_to_a_share_is_more_than_refused_or_a_wrong_result(count: int, runs: Any) -> None:
    """Bits are flipped and the checksum is made right again: a hostile party can do no more."""
    run, generator = runs("bgv", 3), random.Random(1)
    accepted = 0
    for _ in range(count):
        # Half of the damage is in the header, where all fields are.
        place = generator.randrange(400 if generator.random() < 0.5 else len(run.shares[1]) - 32)
        share = flipped(run.shares[1], place, generator.randrange(8))
        try:
            run.decrypt([share, run.shares[0], run.shares[2]])
            accepted += 1
        except pf.errors.Error:
            pass
    print(f"{accepted} of {count} damaged shares gave a result")


def test_a_party_comes_back_from_its_file(runs: Any, tmp_path: Any) -> None:
    run = runs("bgv", 3)
    path = tmp_path / "party.key"
    run.parties[2].save(path)
    assert path.stat().st_mode & 0o077 == 0
    with rejects(pf.errors.FileError):
        run.parties[1].save(path)
    party = pf.Party.load(run.specification, path, REFERENCE)
    assert (party.index, party.share(run.answer)) == (2, run.shares[2])
    with rejects(pf.errors.ParameterError):
        pf.Party.load(run.specification, path, "another")
    with rejects(pf.errors.FileError):
        run.decrypt([*run.shares[:2], path.read_bytes()])
    with pytest.raises(TypeError):
        party.__reduce__()


def test_what_has_one_owner_is_refused() -> None:
    alone = pf.Specification.of(reals)
    with rejects(pf.errors.ParameterError, "reals"):
        pf.Party(alone, 0, REFERENCE)
    joint = pf.Specification.of(reals, parties=3)
    with rejects(pf.errors.RunError, "3"):
        pf.Client(joint)
    with rejects(pf.errors.InputError, "TFHE", "3"):
        pf.Specification.of(integers, parties=3)
    for index in (-1, 3, 1.0, True, "0"):
        with rejects(pf.errors.InputError, "3"):
            pf.Party(joint, index, REFERENCE)  # type: ignore[arg-type]
    for reference in (b"", "", 5, None):
        with rejects(pf.errors.InputError):
            pf.Party(joint, 0, reference)  # type: ignore[arg-type]
    for parties in (0, -1, 2.0, True, 65):
        with rejects((pf.errors.InputError, pf.errors.ParameterError), str(parties)):
            pf.Specification.of(reals, parties=parties)  # type: ignore[arg-type]
    with rejects((pf.errors.ParameterError, pf.errors.ProgramError)):
        pf.Specification.of(reals, "ckks-boot-1519", parties=3)


def test_a_named_set_is_that_of_several_owners() -> None:
    specification = pf.Specification.of(residues, parties=4)
    name = specification.context.parameters.name
    assert name.endswith("-parties-4")
    again = pf.Specification.of(residues, name)
    assert again.data == specification.data
    with rejects(pf.errors.ParameterError, "4"):
        pf.Specification.of(residues, name, parties=3)
