"""`.fhetch` traces become kernel programs with the results of their instructions, computed one by one with numpy; others are refused by name and line."""

from __future__ import annotations

import json
import random
import re
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from numpy.typing import NDArray
from rejects import rejects

EXAMPLE = Path(__file__).parents[2] / "examples" / "product" / "product.fhetch"
N = 1024
PRIMES = [12289, 18433, 40961]
TABLE = "modulus_count 4\nm[0] 0xFFFFFFFFFFFFFFFF\n" + "".join(
    f"m[{at}] {q:#X}\n".replace("0X", "0x") for at, q in enumerate(PRIMES, 1)
)
Vector = NDArray[np.int64]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "fhetch_replay.json"
    path.write_text(json.dumps({"crypto_context": {"ring_dimension": N}}))
    return path


# -- both forms, executed ----------------------------------------------------------------------------------------------


@cache
def powers(q: int) -> tuple[Vector, Vector]:
    """The matrix of the negacyclic transform, to evaluations at psi^(2j + 1), and its inverse."""
    psi = next(pow(g, (q - 1) // (2 * N), q) for g in range(2, q) if pow(g, (q - 1) // 2, q) == q - 1)
    table = np.array([pow(psi, at, q) for at in range(2 * N)], dtype=np.int64)
    j, i = np.arange(N)[:, None], np.arange(N)[None, :]
    forward, inverse = table[(2 * j + 1) * i % (2 * N)], table[-((2 * i + 1) * j) % (2 * N)]
    return forward, inverse * pow(N, -1, q) % q


def transform(a: Vector, q: int, *, forward: bool) -> Vector:
    return powers(q)[0 if forward else 1] @ a % q


def automorphism(a: Vector, k: int, q: int) -> Vector:
    """a(X^k), on coefficients."""
    at = np.arange(N) * k % (2 * N)
    made = np.zeros(N, dtype=np.int64)
    made[at % N] = np.where(at < N, a, -a) % q
    return made


REVERSED = np.array([int(f"{at:010b}"[::-1], 2) for at in range(N)])


def traced(text: str, inputs: dict[int, Vector]) -> dict[int, Vector]:
    """The memory after a trace. Evaluations are in bit-reversed order, as in OpenFHE."""
    at = dict(inputs)
    for line in text.splitlines():
        name, *rest = re.split(r"[ ,]+", line.partition("#")[0].strip())
        if not name.startswith("sr_"):
            continue
        target, *operands = (int(one[1:]) for one in rest if one.startswith("%"))
        numbers = {key: int(value) for key, _, value in (one.partition("=") for one in rest) if value}
        scalar = next((int(one) for one in rest if one.isdigit()), 0)
        q = PRIMES[numbers["m"] - 1] if numbers["m"] else 1 << 62
        a, *more = (at.get(one, np.zeros(N, dtype=np.int64)) for one in operands)
        if name.startswith(("sr_addp", "sr_subp", "sr_mulp")) and more:
            made = {"a": a + more[0], "s": a - more[0], "m": a * more[0]}[name[3]] % q
        elif name in ("sr_addps", "sr_subps", "sr_mulps"):
            made = {"a": a + scalar, "s": a - scalar, "m": a * scalar}[name[3]] % q
        elif name.endswith("coeff") and "ps" in name:
            made = a.copy()
            made[0] = (made[0] + scalar * (1 if "addps" in name else -1)) % q
        elif name == "sr_negp":
            made = -a % q
        elif name == "sr_ntt":
            made = transform(a, q, forward=True)[REVERSED]
        elif name == "sr_intt":
            made = transform(a[REVERSED], q, forward=False)
        elif name == "sr_automorph_coeff":
            made = automorphism(a, numbers["k"], q)
        else:
            assert name == "sr_automorph_eval"
            j = np.arange(N)
            made = np.empty_like(a)
            made[REVERSED] = a[REVERSED[(numbers["k"] * (2 * j + 1) >> 1) % N]]
        at[target] = made
    return at


def executed(text: str, inputs: dict[str, tuple[str, Vector]]) -> dict[str, Vector]:
    """The outputs of a kernel program, as coefficients. Its evaluations are in natural order; inputs are coefficients."""
    moduli = [int(q) for q in re.search(r"moduli \[(.*)\]", text)[1].split(", ")]  # type: ignore[index]
    values: list[tuple[int, bool, Vector]] = []
    outputs = {}
    for line in text.splitlines():
        result = re.fullmatch(r'output "(.*)" part \d+ = %(\d+)', line)
        if result:
            limb, evaluation, a = values[int(result[2])]
            outputs[result[1]] = transform(a, moduli[limb], forward=False) if evaluation else a
        if not line.startswith("%"):
            continue
        name, rest = line.split(" = ")[1].split(" ", 1)
        of = [values[int(one)] for one in re.findall(r"%(\d+)", rest)] if name != "input" else []
        numbers = [int(one) for one in re.findall(r"(?<![%\d])\d+", rest)]
        if name in ("input", "plaintext"):
            limb, evaluation = numbers[-1], "evaluation" in rest
            a = inputs[re.search(r'"(.*)"', rest)[1]][1] if name == "input" else np.zeros(N, dtype=np.int64)  # type: ignore[index]
            values.append((limb, evaluation, transform(a, moduli[limb], forward=True) if evaluation else a))
            continue
        limb, evaluation, a = of[0]
        q, b = moduli[limb], of[-1][2]
        if name in ("add", "sub", "multiply"):
            assert of[0][:2] == of[1][:2]
            assert evaluation or name != "multiply"
            made = {"add": a + b, "sub": a - b, "multiply": a * b}[name] % q
        elif name in ("forward_ntt", "inverse_ntt"):
            evaluation = name == "forward_ntt"
            made = transform(a, q, forward=evaluation)
        elif name == "automorphism":
            made = automorphism(transform(a, q, forward=False) if evaluation else a, numbers[0], q)
            made = transform(made, q, forward=True) if evaluation else made
        elif name == "base_conversion":
            assert not evaluation
            limb = numbers[0]
            made = (np.where(a > q // 2, a - q, a) if "centred" in rest else a) % moduli[limb]
        elif name == "add_constant":
            made = a + (numbers[0] if evaluation else numbers[0] * (np.arange(N) == 0))
            made %= q
        else:
            assert name in ("negate", "scale")
            made = a * (numbers[0] if name == "scale" else -1) % q
        values.append((limb, evaluation, made))
    return outputs


class Random:
    """A random trace that has a meaning: addresses with their prime and form, some of them written again."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.kinds: dict[int, tuple[int, bool]] = {}
        self.inputs: dict[int, tuple[int, bool]] = {}

    def write(self, count: int) -> str:
        for _ in range(count):
            self.step()
        # An instruction that says the prime of each address, which copies and automorphisms need not do.
        for address, (m, _) in list(self.kinds.items()):
            self.lines.append(f"sr_mulps %{1000 + address}, %{address}, 3, m={m}")
            self.kinds[1000 + address] = self.kinds[address]
        return TABLE + "\n".join(self.lines) + "\nhalt\n"

    def operand(self, m: int | None = None, *, evaluation: bool | None = None) -> tuple[int, int, bool]:
        fitting = [
            (a, *kind) for a, kind in self.kinds.items() if m in (None, kind[0]) and evaluation in (None, kind[1])
        ]
        if fitting and self.rng.random() < 0.8:
            return self.rng.choice(fitting)
        address = 1 + len(self.inputs)
        kind = (m or self.rng.randint(1, 3), self.rng.random() < 0.6 if evaluation is None else evaluation)
        self.kinds[address] = self.inputs[address] = kind
        return address, *kind

    def step(self) -> None:
        which = self.rng.randrange(11)
        scalar, k = self.rng.randrange(1, 60_000), self.rng.choice([3, 5, 25, 2 * N - 1])
        target = self.rng.choice([100 + self.rng.randrange(6), 200 + len(self.lines)])
        if which < 2:
            a, m, form = self.operand()
            b = self.operand(m, evaluation=form)[0]
            text = f"sr_{self.rng.choice(['addp', 'subp'])} %{{0}}, %{a}, %{b}, m={m}"
        elif which == 2:
            a, m, form = self.operand(evaluation=True)
            text = f"sr_mulp %{{0}}, %{a}, %{self.operand(m, evaluation=True)[0]}, m={m}"
        elif which == 3:
            a, m, form = self.operand()
            kind = self.rng.choice(["addps", "subps"])
            text = f"sr_{kind}{'' if form else '_coeff'} %{{0}}, %{a}, {scalar}, m={m}"
        elif which == 4:
            a, m, form = self.operand()
            text = self.rng.choice([f"sr_mulps %{{0}}, %{a}, {scalar}, m={m}", f"sr_negp %{{0}}, %{a}, m={m}"])
        elif which == 5:
            a, m, form = self.operand()
            text = f"sr_{'intt' if form else 'ntt'} %{{0}}, %{a}, m={m}, omega=5"
            form = not form
        elif which == 6:
            a, m, form = self.operand()
            text = f"sr_automorph_{f'eval %{{0}}, %{a}, k={k}, m={self.rng.choice([0, m])}' if form else f'coeff %{{0}}, %{a}, k={k}, m={m}'}"
        elif which == 7:
            a, m, form = self.operand()
            text = f"sr_addps %{{0}}, %{a}, 0, m=0"
        elif which == 8:
            m, form = self.rng.randint(1, 3), self.rng.random() < 0.5
            a, text = 1 + len(self.inputs), f"sr_mulps %{{0}}, %999, 0, m={m}"
        else:
            a, old, form = self.operand(evaluation=False)
            m = self.rng.choice([at for at in (1, 2, 3) if at != old])
            half = (PRIMES[old - 1] - 1) // 2
            moved = [
                f"sr_mulps %{{0}}, %{a}, 1, m={old}",
                f"sr_addps %{{0}}, %{{0}}, {half}, m={old}",
                f"sr_mulps %{{0}}, %{{0}}, 1, m={m}",
                f"sr_addps %{{0}}, %{{0}}, {-half % PRIMES[m - 1]}, m={m}",
            ]
            # The residues may also be taken as they are, if the prime's own form is certain.
            known = f"sr_negp %{{0}}, %{a}, m={old}\nsr_mulps %{{0}}, %{{0}}, {scalar}, m={m}"
            text = "\n".join(moved) if which == 9 else known
        self.lines.append(text.format(target))
        self.kinds[target] = (m, form)


@pytest.mark.parametrize("seed", range(12))
def test_random_traces_have_the_meaning_of_their_instructions(seed: int, manifest: Path) -> None:
    made = Random(seed)
    text = made.write(40)
    kernel = pf.from_trace(text, manifest).text()
    drawn = np.random.default_rng(seed)
    inputs = {address: drawn.integers(0, PRIMES[m - 1], N) for address, (m, _) in made.inputs.items()}
    memory = traced(
        text,
        {
            address: transform(a, PRIMES[m - 1], forward=True)[REVERSED] if form else a
            for (address, a), (m, form) in zip(inputs.items(), made.inputs.values(), strict=True)
        },
    )
    outputs = executed(kernel, {f"%{address}": ("", a) for address, a in inputs.items()})
    assert outputs
    for name, found in outputs.items():
        address = int(name[1:])
        m, form = made.kinds[address]
        expected = memory[address]
        if form:
            expected = transform(expected[REVERSED], PRIMES[m - 1], forward=False)
        assert np.array_equal(found, expected), name


# -- files --------------------------------------------------------------------------------------------------------------


def test_the_example_is_a_product_on_a_machine(polyfabric) -> None:
    kernel = pf.from_trace(EXAMPLE)
    assert pf.load_machine("f1").simulate(kernel).to_dict()["cycles"] > 0
    done = polyfabric("simulate", str(EXAMPLE), "--on", "f1", "--json")
    assert json.loads(done.out)["cycles"] > 0
    for options in (("run", str(EXAMPLE)), ("simulate", str(EXAMPLE), "--on", "f1", "--params", "f1-lola-mnist")):
        assert "product.fhetch" in polyfabric(*options).err


def test_the_manifest_names_inputs_keys_and_outputs(tmp_path: Path) -> None:
    def ids(name: str, *addresses: int) -> None:
        (tmp_path / name).write_bytes(b"".join(n.to_bytes(8, "little") for n in (len(addresses), *addresses)))

    ids("x.ids", 4, 9)
    ids("mk.ids", 7)
    (tmp_path / "in.json").write_text(json.dumps({"inputs": [{"name": "my x", "ids_file": "x.ids"}]}))
    output = {
        "name": "y",
        "ciphertext_data": [{"poly_index": 0, "elements": [11]}, {"poly_index": 1, "elements": [12]}],
    }
    (tmp_path / "out.json").write_text(json.dumps({"outputs": [output]}))
    files = {"inputs": "in.json", "outputs": "out.json", "evalmult_ids": "mk.ids"}
    (tmp_path / "fhetch_replay.json").write_text(json.dumps({"crypto_context": {"ring_dimension": N}, "files": files}))
    trace = tmp_path / "t.fhetch"
    trace.write_text(TABLE + "sr_mulp %11, %4, %9, m=1\nsr_addp %12, %11, %7, m=1\nsr_negp %13, %12, m=1\n")
    text = pf.from_trace(trace).text()
    for line in ('"my_x" part 0', '"my_x" part 1', '"evalmult-key" part 0', 'output "y" part 0', 'output "y" part 1'):
        assert line in text
    assert "negate" not in text


# -- written ------------------------------------------------------------------------------------------------------------

PROGRAM = f"""kernel "both" degree {N}
moduli [{", ".join(map(str, PRIMES))}]
plaintext 0 = narrow [{N} x 0]
plaintext 1 = narrow [7, {N - 1} x 0]
%0 = input "x" part 0 evaluation {{0-2}}
%1 = input "x" part 1 coefficient {{0-2}}
%2 = plaintext 1 evaluation {{0-2}}
%3 = add %0, %2
%4 = multiply_add %3, %0, %3
%5 = automorphism %4 by 5
%6 = mod_down %5 drop {{2}} balanced
%7 = inverse_ntt %6
%8 = select_limbs %1 {{0-1}}
%9 = sub %7, %8
%10 = base_conversion %9 to {{2}} approximate
%11 = concat %10, %9
%12 = automorphism %11 by 3
%13 = scale %12 [3, 5, 0]
%14 = add_constant %13 [1, 2, 3]
%15 = plaintext 0 coefficient {{0-2}}
%16 = add %15, %14
output "y" part 0 = %16
output "x again" part 0 = %1
"""


def meaning(x: list[Vector], y: list[Vector]) -> list[Vector]:
    """The first output of `PROGRAM`, on coefficients of both inputs, with Python's integers."""
    limbs = []
    for q, a in zip(PRIMES, x, strict=True):
        shifted = (a + 7 * (np.arange(N) == 0)) % q
        values = transform(shifted, q, forward=True) * transform(a, q, forward=True) % q
        limbs.append(automorphism((transform(values, q, forward=False) + shifted) % q, 5, q))
    last = PRIMES[2]
    dropped = np.where(limbs[2] > last // 2, limbs[2] - last, limbs[2])
    kept = [(limbs[at] - dropped) * pow(last, -1, PRIMES[at]) - y[at] for at in range(2)]
    kept = [a % q for a, q in zip(kept, PRIMES, strict=False)]
    p, q = PRIMES[:2]
    # Residues as they are: a sum that is too large by up to p q.
    digits = kept[0] * pow(q, -1, p) % p, kept[1] * pow(p, -1, q) % q
    kept.append((digits[0] * q + digits[1] * p) % last)
    turned = [automorphism(a, 3, q) for a, q in zip(kept, PRIMES, strict=True)]
    first = np.arange(N) == 0
    return [(a * by + to * first) % q for a, by, to, q in zip(turned, (3, 5, 0), (1, 2, 3), PRIMES, strict=True)]


def test_a_program_written_and_read_again_gives_the_same_results(tmp_path: Path) -> None:
    path = pf.to_trace(pf._native.RnsKernel.parse(PROGRAM), tmp_path / "out")
    drawn = np.random.default_rng(1)
    parts = [[drawn.integers(0, q, N) for q in PRIMES] for _ in range(2)]
    expected = meaning(*parts)

    def ids(name: str) -> list[int]:
        words = np.frombuffer((path.parent / name).read_bytes(), dtype="<u8").tolist()
        assert words[0] == len(words) - 1
        return words[1:]

    # As the files say it.
    listed = json.loads((path.parent / "inputs.json").read_text())["inputs"]
    assert [one["name"] for one in listed] == ["x"]
    forms = [
        transform(a, q, forward=True)[REVERSED] if part == 0 else a
        for part, own in enumerate(parts)
        for a, q in zip(own, PRIMES, strict=True)
    ]
    memory = traced(path.read_text(), dict(zip(ids(listed[0]["ids_file"]), forms, strict=True)))
    outputs = json.loads((path.parent / "outputs.json").read_text())["outputs"]
    found = {one["name"]: [memory[a] for p in one["ciphertext_data"] for a in p["elements"]] for one in outputs}
    assert all(map(np.array_equal, found["y"], expected))
    assert all(map(np.array_equal, found["x again"], parts[1]))

    # Read again, and written once more. What nothing computes with has no form, and counts as evaluations.
    again = pf.from_trace(path)
    flat = [a for own in parts for a in own]
    text = re.sub(r'input "x" part (\d+)', r'input "x\1" part \1', again.text())
    text = re.sub(r'output "(\w+)" part (\d+)', r'output "\1\2" part \2', text)
    done = executed(text, {f"x{at}": ("", a) for at, a in enumerate(flat)})
    assert all(np.array_equal(done[f"y{at}"], a) for at, a in enumerate(expected))
    twice = pf.from_trace(pf.to_trace(again, tmp_path / "again"))
    assert twice.text() == again.text()


def test_a_plan_is_written_with_its_keys(tmp_path: Path) -> None:
    @pf.program(x=pf.Real.vector(8))
    def turned(x):
        return (x * x).rotate(1) * np.arange(8)

    planned = turned.plan(on="f1")
    path = pf.to_trace(planned, tmp_path / "plan")
    manifest = json.loads((path.parent / "fhetch_replay.json").read_text())
    assert manifest["crypto_context"]["scheme_name"] == "CKKS"
    assert {"inputs", "outputs", "evalmult_ids", "evalautomorphism_ids", "bootstrap_precomp_ids"} < set(
        manifest["files"]
    )
    machine = pf.load_machine("f1")
    own, again = machine.simulate(planned).to_dict(), machine.simulate(pf.from_trace(path)).to_dict()
    assert own["cycles"] / 2 < again["cycles"] < own["cycles"] * 2


def test_parameters_may_have_the_names_of_what_a_manifest_lists(tmp_path: Path) -> None:
    kind = pf.Real.vector(8)

    @pf.program(precomputed=kind, evalmult_key=kind, automorphism_keys=kind)
    def named(precomputed, evalmult_key, automorphism_keys):
        return (precomputed * evalmult_key + automorphism_keys).rotate(1) * np.arange(8)

    text = pf.from_trace(pf.to_trace(named, tmp_path / "named")).text()
    for name in named.inputs:
        assert f'"{name}" part 0' in text


def test_what_no_instruction_says_is_refused(tmp_path: Path) -> None:
    head = f'kernel "k" degree {N}\nmoduli [{", ".join(map(str, PRIMES))}]\n'
    given = '%0 = input "x" part 0 coefficient {0-1}\n'
    for lines, words in (
        ("%1 = base_conversion %0 to {2} centred\n", ("base_conversion", "2")),
        ("%1 = select_limbs %0 {0}\n%2 = sub_digit %1 bits 5 index 0 of 3 to {0-2}\n", ("sub_digit",)),
    ):
        last = lines.count("\n")
        kernel = pf._native.RnsKernel.parse(f'{head}{given}{lines}output "y" part 0 = %{last}\n')
        with rejects(pf.errors.ProgramError, *words):
            pf.to_trace(kernel, tmp_path / "none")
    small = pf._native.RnsKernel.parse(
        'kernel "k" degree 512\nmoduli [12289]\n%0 = input "x" part 0 coefficient {0}\noutput "y" part 0 = %0\n'
    )
    with rejects(pf.errors.ProgramError, "512"):
        pf.to_trace(small, tmp_path / "none")
    for other in (pf.program(x=pf.UInt(2))(lambda x: x + 1), 3):
        with rejects(pf.errors.InputError):
            pf.to_trace(other, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_command_line_writes_a_trace(tmp_path: Path, polyfabric) -> None:
    folder = tmp_path / "again"
    polyfabric("simulate", str(EXAMPLE), "--on", "f1", "--fhetch", str(folder))
    text = pf.from_trace(folder / "program.fhetch").text()
    assert text.count(" = multiply ") == pf.from_trace(EXAMPLE).text().count(" = multiply ")


REFUSED = {
    "an unknown instruction": ("sr_addq %1, %2, %3, m=1", ":7", "sr_addq"),
    "a permutation": ("sr_permute %1, %2, m=1", ":7", "sr_permute"),
    "a rotation": ("sr_rot_automorph_coeff %1, %2, offset=3, m=1", ":7", "sr_rot_automorph_coeff"),
    "no integers": ("sr_mulp_ni %1, %2, %3", ":7", "sr_mulp_ni"),
    "a missing operand": ("sr_addp %1, %2, m=1", ":7", "sr_addp"),
    "no modulus": ("sr_addp %1, %2, %3", ":7", "m="),
    "a modulus beyond the table": ("sr_addp %1, %2, %3, m=9", ":7", "9"),
    "a product modulo no prime": ("sr_mulp %1, %2, %3, m=0", ":7", "m[0]"),
    "no automorphism": ("sr_automorph_eval %1, %2, m=1", ":7", "k="),
    "an even automorphism": ("sr_automorph_eval %1, %2, k=4, m=1", ":7", "4"),
    "two forms": ("sr_ntt %2, %1, m=1\nsr_mulp %3, %2, %1, m=1", ":8", "form"),
    "two primes": ("sr_mulps %2, %1, 3, m=1\nsr_mulps %3, %9, 3, m=2\nsr_addp %4, %2, %3, m=1", ":9", "m[1]", "m[2]"),
    "a shift of coefficients": ("sr_intt %2, %1, m=1\nsr_addps %3, %2, 5, m=1", ":8", "form"),
    "a line of something else": ("what is this?!", ":7", "what"),
    "a prime that is not said": ("sr_automorph_eval %2, %1, k=5, m=0", "prime", "%"),
    "nothing": ("halt", "instructions"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_instruction_is_refused_by_name_and_line(case: tuple[str, ...], manifest: Path) -> None:
    with rejects(pf.Error, *case[1:]):
        pf.from_trace(f"\n{TABLE}{case[0]}\n", manifest)


@pytest.mark.parametrize(
    "table",
    ["m[0] 0x3001\nm[1] 0x3001\n", "m[1] 0x3001\n", "m[0] 0x0\n", "m[0] 0x3002\n", "modulus_count 99999999999\n"],
)
def test_a_bad_table_is_refused(table: str, manifest: Path) -> None:
    with rejects(pf.Error):
        pf.from_trace(f"{table}sr_negp %1, %2, m=0\n", manifest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"crypto_context": {"ring_dimension": 1099511627776}}',
        '{"crypto_context": {"ring_dimension": 1024}, "files": {"inputs": "../../etc/passwd"}}',
        '{"crypto_context": {"ring_dimension": 1024}, "files": {"evalmult_ids": 3}}',
    ],
)
def test_a_bad_manifest_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "fhetch_replay.json"
    path.write_text(text)
    with rejects(pf.Error, "fhetch_replay.json"):
        pf.from_trace(f"{TABLE}sr_negp %1, %2, m=1\n", path)


def test_without_a_manifest_the_error_names_it(tmp_path: Path) -> None:
    trace = tmp_path / "t.fhetch"
    trace.write_text(f"{TABLE}sr_negp %1, %2, m=1\n")
    with rejects(pf.errors.InputError, "t.fhetch", "fhetch_replay.json"):
        pf.from_trace(trace)


def test_damaged_traces_are_read_or_refused_in_bounded_time(manifest: Path) -> None:
    rng = random.Random(3)
    text = EXAMPLE.read_text()
    words: list[Any] = ["%", "0", "-1", "99999999999999999999", "m=", "m=0", "k=5", "sr_ntt", "", ",", "\n", "é", "#"]
    accepted = 0
    for _ in range(150):
        parts = re.split(r"(\W)", text)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(parts))
            if rng.random() < 0.6:
                parts[at] = rng.choice([*words, *rng.sample(parts, 20)])
            else:
                parts[at : at + rng.randint(0, 5)] = []
        begin = time.monotonic()
        try:
            pf.from_trace("".join(parts) + "\n", manifest)
            accepted += 1
        except pf.Error:
            pass
        assert time.monotonic() - begin < 10
    assert 0 < accepted < 150
