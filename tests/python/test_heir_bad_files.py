"""Damaged and hostile files of HEIR: each is refused with an error that names the line, in bounded time and memory."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import polyfabric as pf
import pytest
from rejects import rejects

SAMPLES = Path(__file__).parent / "heir"

SMALL = """\
!ct = !lwe.lwe_ciphertext<plaintext_space = <ring = <coefficientType = f64, polynomialModulus = <1 + x**8192>>, encoding = #lwe.inverse_canonical_encoding<scaling_factor = 45>>>
!pt = !lwe.lwe_plaintext<plaintext_space = <ring = <coefficientType = f64>>>
module attributes {ckks.schemeParam = #ckks.scheme_param<logN = 13>, scheme.ckks, scheme.requested_slot_count = 4 : i64} {
  func.func @f(%arg0: tensor<1x!ct>) -> tensor<1x!ct> attributes {heir.interface = {func_name = "f", roles = ["entry"]}} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant dense<[1.5, 0.0, 2.0, -1.0]> : tensor<4xf32>
    %pt = lwe.rlwe_encode %cst <level = 1> : tensor<4xf32> -> !pt
    %r = scf.for %i = %c0 to %c2 step %c2 iter_args(%t = %arg0) -> (tensor<1x!ct>) {
      %0 = tensor.extract %t[%c0] : tensor<1x!ct>
      %1 = ckks.rotate %0, %c2 : index : !ct
      %2 = ckks.mul_plain %1, %pt : (!ct, !pt) -> !ct
      %3 = tensor.insert %2 into %t[%c0] : tensor<1x!ct>
      scf.yield %3 : tensor<1x!ct>
    }
    return %r : tensor<1x!ct>
  }
  func.func @f__encrypt__arg0(%arg0: tensor<4xf32>, %pk: !pt) -> tensor<1x!ct> {
    %pt = lwe.rlwe_encode %arg0 : tensor<4xf32> -> !pt
    %ct = lwe.rlwe_encrypt %pt, %pk : (!pt, !pt) -> !ct
    %from_elements = tensor.from_elements %ct : tensor<1x!ct>
    return %from_elements : tensor<1x!ct>
  }
  func.func @f__decrypt__result0(%arg0: tensor<1x!ct>, %sk: !pt) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %0 = tensor.extract %arg0[%c0] : tensor<1x!ct>
    %1 = lwe.rlwe_decrypt %0, %sk : (!ct, !pt) -> !pt
    %2 = lwe.rlwe_decode %1 : !pt -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
"""
"""A function on one vector: x rotated by 2, times a constant."""


def line_of(text: str, part: str) -> str:
    return str(text[: text.index(part)].count("\n") + 1)


def test_the_small_file_is_right() -> None:
    assert pf.from_heir(SMALL).clear(arg0=[0.1, 0.2, 0.3, 0.4]) == pytest.approx([0.45, 0, 0.2, -0.2])


CHANGED = {
    "an unknown operation of a scheme": ("ckks.rotate %0", "ckks.twist %0", "ckks.twist"),
    "an unknown dialect": ("ckks.rotate %0", "toy.rotate %0", "toy.rotate"),
    "a value that is not defined": ("ckks.rotate %0, %c2", "ckks.rotate %0, %c9", "%c9"),
    "a shift that is encrypted": ("ckks.rotate %0, %c2", "ckks.rotate %0, %0", "ckks.rotate"),
    "an index beyond the tensor": ("tensor.extract %t[%c0]", "tensor.extract %t[%c2]", "tensor.extract"),
    "a type that is not defined": ("(!ct, !pt) -> !ct", "(!ct, !no) -> !ct", "!no"),
    "a division by 0": (
        "%1 = ckks.rotate %0, %c2",
        "%d = arith.divsi %c2, %c0 : index\n    %1 = ckks.rotate %0, %d",
        "arith.divsi",
    ),
    "a constant of another length": ("dense<[1.5, 0.0, 2.0, -1.0]>", "dense<[1.5, 0.0, 2.0]>", "3"),
    "a constant of another type": ("dense<[1.5, 0.0, 2.0, -1.0]>", 'dense<["a", "b"]>', "tensor<4xf32>"),
    "a constant that is too long": ("tensor<4xf32>\n    %pt", "tensor<99999x99999xf32>\n    %pt", "4,194,304"),
    "an endless loop": ("%c2 = arith.constant 2", "%c2 = arith.constant 2000000000000", "4,000,000"),
    "a loop with a step of 0": ("step %c2", "step %c0", "scf.for"),
}
"""A part of the small file, what replaces it, and a value that the error states."""


@pytest.mark.parametrize("what", CHANGED)
def test_a_changed_file_is_refused(what: str) -> None:
    old, new, value = CHANGED[what]
    changed = SMALL.replace(old, new, 1)
    assert changed != SMALL
    if what == "an endless loop":
        changed = changed.replace("step %c2", "step %one").replace(
            "%c0 = arith", "%one = arith.constant 1 : index\n    %c0 = arith", 1
        )
        changed = changed.replace("ckks.rotate %0, %c2", "ckks.rotate %0, %one").replace(
            "ckks.mul_plain %1, %pt", "ckks.add %1, %1"
        )
    with rejects(pf.errors.ProgramError, value):
        pf.from_heir(changed)


def test_the_error_names_the_line() -> None:
    changed = SMALL.replace("ckks.rotate", "ckks.twist")
    with rejects(pf.errors.ProgramError, line_of(changed, "ckks.twist")):
        pf.from_heir(changed)


def test_a_helper_for_another_number_of_ciphertexts_is_refused() -> None:
    old = "@f__decrypt__result0(%arg0: tensor<1x!ct>"
    assert old in SMALL
    changed = SMALL.replace(old, old.replace("1x", "3x"))
    with rejects(pf.errors.ProgramError, line_of(changed, "@f__decrypt__result0"), "3", "1"):
        pf.from_heir(changed)


@pytest.mark.parametrize("opening", ["<", "[", "{a = ", "(", "tensor<4x"])
def test_deep_nesting_is_refused(opening: str) -> None:
    with rejects(pf.errors.ProgramError, "64"):
        pf.from_heir(f"#a = {'#b.c<' if opening == '<' else ''}{opening * 20000}\nmodule {{}}")


def test_functions_that_call_themselves_are_refused() -> None:
    text = SMALL.replace(
        "return %r : tensor<1x!ct>",
        "%s = call @f(%r) : (tensor<1x!ct>) -> tensor<1x!ct>\n    return %s : tensor<1x!ct>",
    )
    with rejects(pf.errors.ProgramError, "@f"):
        pf.from_heir(text)


def test_the_program_is_named_if_there_are_several() -> None:
    again = SMALL[SMALL.index("  func.func") : SMALL.rindex("}")].replace("@f", "@g").replace('"f"', '"g"')
    both = SMALL[: SMALL.rindex("}")] + again + "}\n"
    with rejects(pf.errors.InputError, "f", "g"):
        pf.from_heir(both)
    assert pf.from_heir(both, "g").name == "g"
    with rejects(pf.errors.InputError, "'h'"):
        pf.from_heir(both, "h")


@pytest.mark.parametrize("bound", [0, -1, float("inf"), float("nan"), "1"])
def test_a_bound_is_positive(bound: object) -> None:
    with rejects(pf.errors.InputError, repr(bound)):
        pf.from_heir(SMALL, bound=bound)  # type: ignore[arg-type]


def test_inputs_beyond_the_bound() -> None:
    with rejects(pf.errors.InputError, "bound=3"):
        pf.from_heir(SMALL).clear(arg0=[0.1, 0.2, 0.3, 3])
    assert pf.from_heir(SMALL, bound=3).clear(arg0=[0.1, 0.2, 0.3, 3])[1] == 0


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(pf.errors.Error):
        pf.from_heir(tmp_path / "missing.mlir")
    (tmp_path / "bytes.mlir").write_bytes(b"\xff\xfe\x00")
    with rejects(pf.errors.InputError, "bytes.mlir"):
        pf.from_heir(tmp_path / "bytes.mlir")
    with rejects(pf.errors.InputError, "int"):
        pf.from_heir(3)  # type: ignore[arg-type]


TOKEN = re.compile(r"[\w.%!#@-]+|\S")


def damaged(text: str, random: random.Random) -> str:
    """With some tokens removed, doubled, exchanged or replaced by others of the text."""
    tokens = list(TOKEN.finditer(text))
    for _ in range(random.choice((1, 1, 2, 4))):
        one, other = random.choice(tokens), random.choice(tokens)
        start, end = one.span()
        new = random.choice(("", other.group(), one.group() * 2, "-1", "9999999999999", "<", "}", '"', "dense<", "?"))
        text = text[:start] + new + text[end:]
    return text[: random.randrange(len(text))] if random.random() < 0.1 else text


def damage(texts: list[str], count: int, seconds: float) -> int:
    """Reads damaged texts until one of both limits; returns their number. Only errors of this package may come."""
    generator, start, done = random.Random(56), time.process_time(), 0
    while done < count and time.process_time() - start < seconds:
        changed = damaged(generator.choice(texts), generator)
        try:
            pf.from_heir("\n" + changed)
        except pf.Error:
            pass
        except Exception as error:
            raise AssertionError(changed) from error
        done += 1
    return done


def gates() -> list[str]:
    return [(SAMPLES / f"{name}.mlir").read_text() for name in ("add_lut4", "integers", "less_integer")]


def test_damaged_files() -> None:
    assert damage([SMALL, *gates()], 1500, 2.5) > 300


@pytest.mark.full
def test_many_damaged_files() -> None:
    texts = [own.read_text() for own in sorted(SAMPLES.glob("*.mlir")) if "source" not in own.name]
    assert damage([SMALL, *gates(), *texts], 20000, 300) > 1000
