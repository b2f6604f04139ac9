"""Does the C library encrypt and decrypt as Python's client does, for all types, and are its errors statuses and no crashes?"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polyfabric as pf
import pytest
from native_client import FOLDER, HEADER, ROOT, Bytes, Limits, NativeClient, RefusedError, library, run

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")


def compiled(source: Path, target: Path, *options: str) -> Path:
    library()
    link = (f"-L{FOLDER}", "-lpolyfabric_client", f"-Wl,-rpath,{FOLDER}")
    subprocess.run(["cc", *WARNINGS, f"-I{HEADER.parent}", source, "-o", target, *options, *link], check=True)
    return target


@pf.program(bid=pf.UInt(8), reserve=pf.UInt(8))
def accepted(bid, reserve):
    above = bid >= reserve
    return {"accepted": above, "surplus": pf.where(above, bid - reserve, bid & 0)}


def test_the_example_in_c(tmp_path: Path) -> None:
    program = compiled(ROOT / "examples" / "client.c", tmp_path / "client")
    spec = pf.Specification.of(accepted)
    spec.save(tmp_path / "spec.json")

    def step(*words: str, given: bytes = b"") -> bytes:
        command = [program, "spec.json", *words]
        return subprocess.run(command, cwd=tmp_path, input=given, stdout=subprocess.PIPE, check=True).stdout

    server = pf.Server(accepted, pf.EvaluationKey.from_bytes(step("keys")))
    for bid, reserve in ((200, 150), (3, 4)):
        request = pf.Ciphertexts.from_bytes(step("encrypt", json.dumps({"bid": bid, "reserve": reserve})))
        found = json.loads(step("decrypt", given=server.execute(request).to_bytes()))
        assert found == {"accepted": int(bid >= reserve), "surplus": max(bid - reserve, 0)}
    wrong = subprocess.run([program, "spec.json", "encrypt", '{"bid": 256}'], cwd=tmp_path, capture_output=True)
    assert wrong.returncode == 1
    assert wrong.stderr
    assert not wrong.stdout


def test_keys_and_messages_are_those_of_python() -> None:
    spec = pf.Specification.of(accepted)
    ours = NativeClient(spec.to_bytes())
    theirs = pf.Client.from_bytes(spec, ours.key())
    server = pf.Server(accepted, theirs.evaluation_key)
    answer = server.execute(pf.Ciphertexts.from_bytes(ours.encrypt(bid=7, reserve=7)))
    assert theirs.decrypt(answer) == ours.decrypt(answer.to_bytes()) == {"accepted": 1, "surplus": 0}
    # The other way, with a key that Python made.
    client = pf.Client(spec)
    again = NativeClient(spec.to_bytes(), client.to_bytes())
    assert again.key() == client.to_bytes()
    answer = pf.Server(accepted, client.evaluation_key).execute(client.encrypt(bid=9, reserve=2))
    assert again.decrypt(answer.to_bytes())["surplus"] == 7


@pf.program(
    bits=pf.Bool.vector(3),
    small=pf.Int(-3, 4),
    odd=pf.Int(-7, 5, step=4).vector(2),
    wide=pf.SInt(70),
    unsigned=pf.UInt(5).vector(3),
    text=pf.Text(4),
    fixed=pf.Fixed(10, 4, rounding="nearest"),
    long=pf.Fixed(60, 50).vector(2),
)
def echo(bits, small, odd, wide, unsigned, text, fixed, long):
    return {
        "bits": bits,
        "small": small,
        "odd": odd,
        "wide": wide,
        "unsigned": unsigned,
        "text": text,
        "fixed": fixed,
        "long": long,
    }


def test_all_types_of_tfhe() -> None:
    client = NativeClient(pf.Specification.of(echo).to_bytes())
    server = pf.Server(echo, pf.EvaluationKey.from_bytes(client.evaluation_key()))
    given = {
        "bits": [1, 0, True],
        "small": -3,
        "odd": [-7, 5],
        "wide": str(-(2**69)),
        "unsigned": [0, 31, 18],
        "text": "hé",
        "fixed": -2.59375,  # halfway: to the even step
        "long": ["-1.125", 3],
    }
    for change, expected in (
        ({}, {**given, "bits": [1, 0, 1], "fixed": -2.625 + 0.0, "long": ["-1.125", "3"]}),
        (
            {"wide": 2**63 - 1, "text": [65, 0, 0, 0], "fixed": "31.93749"},
            {"wide": str(2**63 - 1), "text": "A", "fixed": 31.9375},
        ),
    ):
        found = client.decrypt(
            server.execute(pf.Ciphertexts.from_bytes(client.encrypt(**{**given, **change}))).to_bytes()
        )
        assert {name: found[name] for name in expected} == expected
        assert found["wide"] == str(
            echo.clear(**{**given, "fixed": 0, "long": [0, 0], "wide": int({**given, **change}["wide"])})["wide"]
        )
    for name, wrong in (
        ("bits", [1, 0]),
        ("bits", [1, 0, 2]),
        ("small", 5),
        ("small", [1]),
        ("small", 1.5),
        ("odd", [-6, 5]),
        ("wide", 2**69),
        ("wide", "1e3"),
        ("unsigned", [0, 32, 1]),
        ("unsigned", 7),
        ("text", "abcde"),
        ("text", "a\0b"),
        ("fixed", 32),
        ("fixed", None),
        ("long", ["x", 1]),
    ):
        with pytest.raises(RefusedError) as refused:
            client.encrypt(**{**given, name: wrong})
        assert refused.value.status == "INPUT", (name, wrong)
        assert name in str(refused.value), (name, wrong)
    for names in ({}, {**given, "more": 1}):
        with pytest.raises(RefusedError) as refused:
            client.encrypt(**names)
        assert refused.value.status == "INPUT"


def test_reals_and_residues() -> None:
    # No result depends on one of the inputs, which has no ciphertext.
    @pf.program(x=pf.Real.vector(3), z=pf.Complex, m=pf.Real.matrix(2, 2).bounded(4), unused=pf.Real)
    def reals(x, z, m, unused):
        return {"x": x + x, "z": z, "m": m * 0.5}

    found = run(reals, x=[0.25, -1, 1], z=[0.5, -0.25], m=[[1, 2], [3, -4]], unused=0.5)
    assert found["x"] == pytest.approx([0.5, -2, 2], abs=1e-3)
    assert found["z"] == pytest.approx([0.5, -0.25], abs=1e-3)
    assert found["m"][0] + found["m"][1] == pytest.approx([0.5, 1, 1.5, -2], abs=1e-3)

    @pf.program(x=pf.Mod(65537).vector(4), y=pf.Mod(65537))
    def residues(x, y):
        return x * y, y + 1

    found = run(residues, x=[1, -2, 3, str(2**70)], y="-5")
    # Python's client gives residues in (-t/2, t/2].
    assert found == {"result0": [-5, 10, -15, (2**70 * -5 + 32768) % 65537 - 32768], "result1": -4}


def test_batches() -> None:
    @pf.program(x=pf.UInt(3))
    def square(x):
        return x * x

    copies = square.in_batches(2, scheme="tfhe")
    assert run(copies, x=[3, 5]) == {"result": [1, 1]}
    with pytest.raises(RefusedError):
        run(copies, x=[3])


@pytest.mark.full
def test_batches_on_slots() -> None:
    @pf.program(x=pf.UInt(3), s=pf.Int(-2, 1), unused=pf.UInt(3))
    def both(x, s, unused):
        return {"square": x * x, "sign": s < 0}

    given = {"x": [0, 3, 7], "s": [-2, 0, 1], "unused": [1, 2, 3]}
    expected = {"square": [0, 1, 1], "sign": [1, 0, 0]}
    assert run(both.in_batches(3, scheme="slots"), **given) == expected
    summed = both.in_batches(3, scheme="slots", summed=["square"])
    assert run(summed, **given) == {**expected, "square": 2}
    with pytest.raises(RefusedError) as refused:
        run(both.in_batches(3, scheme="slots"), **{**given, "x": [0, 8, 1]})
    assert refused.value.status == "INPUT"


@pytest.mark.full
def test_batches_of_reals_next_to_integers() -> None:
    @pf.program(x=pf.Real.vector(2).bounded(2), n=pf.UInt(2), z=pf.Real)
    def mixed(x, n, z):
        return {"n": n + 1, "x": x * 0.5, "step": z.quantize(pf.Int(-4, 4), 0.25), "z": z * z}

    given = {"x": [[1, -2], [0.5, 0.25], [0, 2]], "n": [0, 3, 1], "z": [0.9, -0.6, 0.1]}
    batch = mixed.in_batches(3, scheme="slots")
    client = NativeClient(pf.Specification.of(batch).to_bytes())
    for name, wrong in (("x", [[1, 2], [1], [1, 1]]), ("x", [[1, 2.1], [0, 0], [0, 0]]), ("z", [1, 2, "3"])):
        with pytest.raises(RefusedError) as refused:
            client.encrypt(**{**given, name: wrong})
        assert refused.value.status == "INPUT"
        assert name in str(refused.value)
    server = pf.Server(batch, pf.EvaluationKey.from_bytes(client.evaluation_key()))
    found = client.decrypt(server.execute(pf.Ciphertexts.from_bytes(client.encrypt(**given))).to_bytes())
    assert found["n"] == [1, 0, 2]
    assert found["step"] == [round(z / 0.25) for z in given["z"]]
    assert found["x"] == [pytest.approx([half / 2 for half in pair], abs=1e-2) for pair in given["x"]]
    assert found["z"] == pytest.approx([z * z for z in given["z"]], abs=1e-2)


def test_a_matrix_of_reals_next_to_integers_is_read() -> None:
    @pf.program(x=pf.Real.matrix(2, 2), n=pf.UInt(2))
    def mixed(x, n):
        return {"n": n + 1, "step": (x @ np.array([1.0, 0.5])).quantize(pf.Int(-4, 4), 0.5)}

    batch = mixed.in_batches(2, scheme="slots")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.errors.SecurityWarning)
        spec = pf.Specification.of(batch, parameters="toy-10-lookup")
    client = NativeClient(spec.to_bytes())
    with pytest.raises(RefusedError) as refused:
        client.encrypt(x=[[[1, 2], [1]], [[1, 1], [0, 0]]], n=[0, 1])
    assert refused.value.status == "INPUT"


def test_limits_and_damaged_files_are_statuses() -> None:
    spec = pf.Specification.of(accepted)
    for limits in (Limits(200, 1 << 40), Limits(float("nan"), 1 << 40), Limits(0, 1000)):
        with pytest.raises(RefusedError) as refused:
            NativeClient(spec.to_bytes(), limits=limits)
        assert refused.value.status == "PARAMETER"
    text = spec.to_bytes()
    for wrong in (
        b"",
        b"{}",
        b"[" * 100_000,
        text[:-1],
        text.replace(b'"version": 2', b'"version": 3'),
        b" " * (1 << 24) + text,
    ):
        with pytest.raises(RefusedError) as refused:
            NativeClient(wrong)
        assert refused.value.status == "FILE"
    client, other = NativeClient(text), NativeClient(text)
    server = pf.Server(accepted, pf.EvaluationKey.from_bytes(client.evaluation_key()))
    request = client.encrypt(bid=1, reserve=2)
    answer = server.execute(pf.Ciphertexts.from_bytes(request)).to_bytes()
    for wrong in (b"", answer[:-1], answer[:500] + b"x" + answer[501:], request):
        with pytest.raises(RefusedError) as refused:
            client.decrypt(wrong)
        assert refused.value.status == "FILE"
    with pytest.raises(RefusedError) as refused:
        other.decrypt(answer)
    assert refused.value.status == "FILE"
    for key in (b"", client.key()[:-1], client.evaluation_key()):
        with pytest.raises(RefusedError) as refused:
            NativeClient(text, key)
        assert refused.value.status == "FILE"


@pf.program(x=pf.Real.bounded(2).vector(4), y=pf.Real)
def reals(x, y):
    return x * x + y


def refused_by_both(specification: Any) -> None:
    """C and Python refuse the specification."""
    text = json.dumps(specification).encode()
    with pytest.raises(RefusedError) as refused:
        NativeClient(text)
    assert refused.value.status == "FILE"
    with pytest.raises(pf.errors.FileError):
        pf.Specification.from_bytes(text)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("key_bytes",), 1),
        (("key_bytes",), None),
        (("key_bytes",), -1),
        (("shapes", "inputs", "x", "bound"), 3.0),
        (("shapes", "inputs", "x", "bound"), 1e-300),
        (("shapes", "inputs", "x", "kind"), "selector"),
        (("signature", "inputs"), []),
        (("signature", "outputs"), []),
    ],
)
def test_a_specification_that_contradicts_itself_is_refused_as_in_python(path: tuple[str, ...], value: Any) -> None:
    data = json.loads(pf.Specification.of(reals).to_bytes())
    NativeClient(json.dumps(data).encode())
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    refused_by_both(data)


@pytest.mark.parametrize("ends", ["inputs", "outputs"])
def test_a_program_without_inputs_or_outputs_is_refused(ends: str) -> None:
    data = json.loads(pf.Specification.of(accepted).to_bytes())
    data["signature"][ends] = []
    refused_by_both(data)


def test_null_pointers_are_statuses() -> None:
    found = library()
    handle, made, size = ctypes.c_void_p(), Bytes(), ctypes.c_size_t(1)
    spec = pf.Specification.of(accepted).to_bytes()
    client = NativeClient(spec)
    for status in (
        found.pf_client_generate(None, size, None, ctypes.byref(handle)),
        found.pf_client_generate(spec, ctypes.c_size_t(len(spec)), None, None),
        found.pf_client_generate(spec, ctypes.c_size_t(2**64 - 1), None, ctypes.byref(handle)),
        found.pf_client_save(None, ctypes.byref(made)),
        found.pf_client_save(client.handle, None),
        found.pf_client_evaluation_key(None, ctypes.byref(made)),
        found.pf_client_encrypt(client.handle, None, ctypes.byref(made)),
        found.pf_client_encrypt(client.handle, b"\xff", ctypes.byref(made)),
        found.pf_client_decrypt(client.handle, None, size, ctypes.byref(made)),
    ):
        assert status == 5
        assert found.pf_error()
    found.pf_client_free(None)
    found.pf_bytes_free(None)
    found.pf_bytes_free(ctypes.byref(made))
    assert handle.value is None
    assert made.data is None


def test_the_header_declares_what_the_library_has() -> None:
    header, source = HEADER.read_text(), (HEADER.parents[1] / "src" / "lib.rs").read_text()
    declared = re.findall(r"^[\w \*]*?(pf_\w+)\(([^)]*)\);", header, re.MULTILINE)
    defined = re.findall(r'extern "C" fn (pf_\w+)\(([^)]*)\)', source)

    def shape(arguments: str) -> list[str]:
        words = [one for one in arguments.split(",") if one.strip() not in ("", "void")]
        return [re.findall(r"\w+", one)[0 if ":" in one else -1] for one in words]

    assert [(name, shape(given)) for name, given in declared] == [(name, shape(given)) for name, given in defined]
