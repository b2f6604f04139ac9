"""Calls that are refused beside those that their messages advise: planning, running, keys, files, clients and servers; `test_call_remedies.py` makes them."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Event
from typing import Any

import polyfabric as pf
from polyfabric import execution, files, keys, machines, programs, store
from polyfabric.reports import plots
from polyfabric.schemes.options import PlanOptions

SET, OTHER_SET, WEAK_SET, WEAK_CKKS = "polyfabric-1-p64-t32", "polyfabric-1-p128-t32", "toy-256-t64", "toy-12"
PROGRAMS = """
import polyfabric as pf


@pf.program(x=pf.Int(0, 1).vector(2))
def elements(x):
    return pf.lookup(x, [1, 0])


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x


@pf.program(x=pf.Mod(65537).vector(4))
def residues(x):
    return x + x


@pf.program(x=pf.Real.vector(4), y=pf.Real.vector(4))
def two(x, y):
    return x + y
"""
_found: dict[str, Any] = {}
exec(PROGRAMS, _found)
ELEMENTS, REALS, RESIDUES, TWO = (_found[name] for name in ("elements", "reals", "residues", "two"))
BITS, NUMBERS, VALUES = {"x": [0, 1]}, {"x": [0.5, -0.25, 0.125, 0.0]}, {"x": [1, 2, 3, 4]}


@pf.program(x=pf.Real.vector(4))
def turned(x: pf.SlotValue) -> pf.SlotValue:
    return x * pf.rotate(x, 1)


def own_machine(folder: Path, name: str) -> str:
    """A machine file whose machine is called so."""
    text = (Path(__file__).parents[2] / "examples" / "own-tfhe-machine.toml").read_text(encoding="utf-8")
    (folder / "own.toml").write_text(text.replace('"kingfisher"', f'"{name}"', 1), encoding="utf-8")
    return str(folder / "own.toml")


def permuted() -> Any:
    return programs.microbenchmark("permute", "12", 1)


def doubled() -> bytes:
    """Ciphertexts of which two have one name."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w") as archive:
        for _ in range(2):
            archive.writestr("x.in.ct", b"")
    return buffer.getvalue()


@dataclass(frozen=True)
class Call:
    """A refused call and the advised one, each with a folder of its own."""

    wrong: Callable[[Path], Any]
    words: str
    right: Callable[[Path], Any]


def call(wrong: Callable[[Path], Any], words: str, right: Callable[[Path], Any]) -> Call:
    return Call(wrong, words, right)


@cache
def element_keys(name: str) -> pf.Keys:
    return pf.Keys.generate(name)


@cache
def slot_keys() -> pf.Keys:
    return pf.Keys.generate(REALS.plan())


@cache
def specification(public: bool = False) -> pf.Specification:
    return pf.Specification.of(REALS, public=public)


@cache
def client(public: bool = False) -> pf.Client:
    return pf.Client(specification(public))


@cache
def server() -> pf.Server:
    return pf.Server(REALS, client().evaluation_key)


@cache
def request() -> pf.Ciphertexts:
    return client().encrypt(NUMBERS)


@cache
def answer() -> pf.Ciphertexts:
    return server().execute(request())


def own_set(**changed: Any) -> dict[str, Any]:
    """The fields of a set of one's own."""
    return {
        "name": "mine",
        "ring_degree": 16384,
        "q": [{"bits": 50}, {"bits": 40, "count": 3}],
        "p": [{"bits": 50, "count": 2}],
        "gadget": {"hybrid": {"digit_limbs": 2}},
        "scale_log2": 40,
        "secret": "uniform-ternary",
        "noise_std": 3.2,
        **changed,
    }


OWN_FILE = """
[ckks]
name = "mine"
ring_degree = 16384
q = [{ bits = 50 }, { bits = 40, count = 3 }]
p = [{ bits = 50, count = 2 }]
gadget = { hybrid = { digit_limbs = 2 } }
scale_log2 = 40
secret = "uniform-ternary"
noise_std = 3.2
"""


def archived(compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.writestr("x.in.ct", bytes(100_000))
    return buffer.getvalue()


def saved(folder: Path, *made: pf.Keys, names: tuple[str, ...] = (keys.CLIENT, keys.SERVER)) -> Path:
    """The first one's client key and the last one's server key, in `folder`."""
    folder.mkdir(exist_ok=True)
    for name, one in zip(names, (made[0].client, made[-1].server), strict=True):
        one.save(folder / name)
    return folder


def altered(**changed: Any) -> bytes:
    """The specification with other fields."""
    return json.dumps({**json.loads(specification().to_bytes()), **changed}).encode()


def of_a_broken_set() -> bytes:
    """A specification of elements whose parameter set has no ring."""
    data = json.loads(pf.Specification.of(ELEMENTS).to_bytes())
    return json.dumps({**data, "parameters": {**data["parameters"], "ring_degree": 511}}).encode()


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def program_file(folder: Path, text: str = PROGRAMS) -> Path:
    # One that no other case has loaded.
    return written(folder / "own.py", text)


def stopped() -> Event:
    event = Event()
    event.set()
    return event


PLANNING = [
    call(lambda _: REALS.run(NUMBERS)["y"], "no output 'y'; it has result", lambda _: REALS.run(NUMBERS)["result"]),
    call(lambda _: REALS.run(NUMBERS, threads=0), "an integer from 1 to", lambda _: REALS.run(NUMBERS, threads=1)),
    call(
        lambda _: execution.place("cpu", ["fft_rate=published"]),
        "name a machine, or leave fft_rate=published out",
        lambda _: (execution.place("morphling", ["fft_rate=published"]), execution.place("cpu")),
    ),
    call(
        lambda _: machines.load("morphling", ["published"]),
        "a reading is FACT=OPTION",
        lambda _: machines.load("morphling", ["fft_rate=published"]),
    ),
    call(
        lambda _: pf.machine("morphling").simulate(ELEMENTS),
        "write program.simulate('morphling') for a program of yours, program.plan(..) for its plan",
        lambda _: (
            ELEMENTS.simulate("morphling", max_failure=0),
            pf.machine("morphling").simulate(ELEMENTS.plan(machine=pf.machine("morphling"), max_failure=0)),
        ),
    ),
    call(
        lambda _: pf.machine("strix").simulate("pbs"),
        "this is 'pbs'; write",
        lambda _: ELEMENTS.simulate("strix", max_failure=0),
    ),
    call(lambda _: machines.load("morfling"), "did you mean morphling?", lambda _: machines.load("morphling")),
    call(
        lambda _: ELEMENTS.run(BITS, keys="folder"),
        "or pf.Keys.load(folder)",
        lambda at: ELEMENTS.run(BITS, keys=pf.Keys.load(saved(at, element_keys(SET)))),
    ),
    call(
        lambda _: ELEMENTS.run(BITS, keys=slot_keys()),
        "bring keys that were made for it",
        lambda _: ELEMENTS.run(BITS, keys=element_keys(SET)),
    ),
    call(
        lambda _: ELEMENTS.run(BITS, on="interpreter", threads=1, keys=element_keys(SET)),
        "this runs on interpreter; leave it out",
        lambda _: ELEMENTS.run(BITS, on="interpreter", keys=element_keys(SET)),
    ),
    call(
        lambda _: execution.run_plan(REALS.plan(), NUMBERS, on="f1"),
        "plan it for the place where it is to run",
        lambda _: execution.run_plan(REALS.plan(), NUMBERS, on="cpu"),
    ),
    call(
        lambda _: ELEMENTS.run(BITS, parameters=OTHER_SET, keys=element_keys(SET)),
        "name that set, or make new keys",
        lambda _: (
            ELEMENTS.run(BITS, parameters=SET, keys=element_keys(SET)),
            ELEMENTS.run(BITS, parameters=OTHER_SET),
        ),
    ),
    call(
        lambda _: PlanOptions(max_failure=1.0),
        "give log2 of it, as -40",
        lambda _: ELEMENTS.plan(max_failure=-40),
    ),
    call(lambda _: ELEMENTS.plan(max_failure="1"), "give log2 of it", lambda _: ELEMENTS.plan(max_failure=-40)),
    call(lambda _: REALS.plan(security="all"), "a number of bits, such as 128", lambda _: REALS.plan(security=128)),
    call(lambda _: REALS.plan(key_switch=2), "give a name", lambda _: REALS.plan(key_switch="set")),
    call(lambda _: REALS.plan(public="no"), "give True or False", lambda _: REALS.plan(public=False)),
    call(
        lambda _: REALS.run(NUMBERS, progress="bar"),
        "give a function of a stage, what is done and the total",
        lambda _: REALS.run(NUMBERS, progress=lambda _stage, _done, _total: None),
    ),
    call(
        lambda _: ELEMENTS.simulate("morphling", readings="fft_rate=published"),
        "give a list of them, each as 'FACT=OPTION'",
        lambda _: ELEMENTS.simulate("morphling", readings=["fft_rate=published"]),
    ),
    call(lambda _: REALS.plan(unroll=2), "has no blind rotation: leave it out", lambda _: REALS.plan()),
    call(lambda _: ELEMENTS.plan(measure=True), "predicted for every look-up", lambda _: ELEMENTS.plan()),
    call(
        lambda _: ELEMENTS.plan(parameters=WEAK_SET, security=128),
        "name a set with more, or ask for fewer",
        lambda _: (ELEMENTS.plan(security=128), ELEMENTS.plan(parameters=WEAK_SET, security=0)),
    ),
    call(lambda _: ELEMENTS.plan(security=200), "ask for fewer", lambda _: ELEMENTS.plan(security=128)),
    call(lambda _: ELEMENTS.plan(parameters=3), "the name of a set of TFHE", lambda _: ELEMENTS.plan(parameters=SET)),
    call(lambda _: REALS.plan(parameters=3), "give a name, a file's", lambda _: REALS.plan(parameters=WEAK_CKKS)),
    call(
        lambda _: REALS.plan(parameters=WEAK_CKKS, security=128),
        "bits of security",
        lambda _: (REALS.plan(security=128), REALS.plan(parameters=WEAK_CKKS, security=0)),
    ),
    call(
        lambda _: REALS.plan().check_memory(1 << 20),
        "name a smaller set",
        lambda _: REALS.plan(parameters=WEAK_CKKS).check_memory(1 << 28),
    ),
    call(
        lambda _: RESIDUES.run(VALUES, flood=1.0),
        "what BGV decrypts has none in it: leave it out",
        lambda _: RESIDUES.run(VALUES),
    ),
    call(
        lambda _: REALS.run(NUMBERS, flood=1e-30),
        "or 0 for none",
        lambda _: REALS.run(NUMBERS, flood=0.0),
    ),
    call(
        lambda _: pf.SlotParameters.load(3),
        "give a str or a pathlib.Path",
        lambda at: REALS.plan(pf.SlotParameters.load(written(at / "mine.toml", OWN_FILE))),
    ),
    call(
        lambda _: pf.SlotParameters.of("ckks", **own_set(noise_std=object())),
        "numbers, strings, lists and dictionaries",
        lambda _: pf.SlotParameters.of("ckks", **own_set()),
    ),
    call(lambda _: REALS.run(), "write reals.run({", lambda _: REALS.run(NUMBERS)),
    call(lambda _: REALS.run(NUMBERS, thread=1), "did you mean threads", lambda _: REALS.run(NUMBERS, threads=1)),
    call(
        lambda _: ELEMENTS.simulate(machines.load("morphling"), readings=["fft_rate=published"]),
        "name it, or load it with fft_rate=published",
        lambda _: (
            ELEMENTS.simulate("morphling", readings=["fft_rate=published"]),
            ELEMENTS.simulate(machines.load("morphling", ["fft_rate=published"])),
        ),
    ),
]


def stepped(folder: Path) -> dict[str, Any]:
    ELEMENTS.make_keys(folder)
    ELEMENTS.encrypt(BITS, folder)
    ELEMENTS.execute(folder)
    return ELEMENTS.decrypt(folder)


FILES = [
    call(
        lambda at: ELEMENTS.execute(at),
        "make keys first (--step keys, make_keys)",
        lambda at: (ELEMENTS.make_keys(at), ELEMENTS.encrypt(BITS, at), ELEMENTS.execute(at)),
    ),
    call(
        lambda at: (ELEMENTS.make_keys(at), ELEMENTS.execute(at)),
        "encrypt first (--step encrypt, encrypt)",
        lambda at: (ELEMENTS.make_keys(at), ELEMENTS.encrypt(BITS, at), ELEMENTS.execute(at)),
    ),
    call(
        lambda at: ELEMENTS.decrypt(at),
        "name the folder (--keys) of the client that encrypted",
        lambda at: stepped(at / "k"),
    ),
    call(
        lambda at: (ELEMENTS.make_keys(at), ELEMENTS.encrypt(BITS, at), ELEMENTS.decrypt(at)),
        "execute first (--step execute, execute)",
        lambda at: stepped(at),
    ),
    call(
        lambda at: pf.Keys.load(saved(at, slot_keys()), "tfhe"),
        "give keys that were made for this program, or run the program that they are of",
        lambda at: (pf.Keys.load(saved(at, slot_keys()), "ckks"), pf.Keys.load(saved(at, element_keys(SET)), "tfhe")),
    ),
    call(
        lambda at: pf.Keys.load(saved(at, element_keys(SET), element_keys(OTHER_SET))),
        "use the two files of one key generation",
        lambda at: pf.Keys.load(saved(at, element_keys(SET))),
    ),
    call(
        lambda at: REALS.encrypt(NUMBERS, at),
        "bring one, or make_keys(folder) first",
        lambda at: (REALS.make_keys(at), REALS.encrypt(NUMBERS, at)),
    ),
    call(
        lambda at: REALS.make_keys(at, measure=True),
        "leave it out of a step",
        lambda at: (REALS.make_keys(at), REALS.run(NUMBERS, measure=True)),
    ),
    call(
        lambda at: (saved(at, slot_keys()), REALS.make_keys(at)),
        "name another folder",
        lambda at: (saved(at, slot_keys()), REALS.make_keys(at / "other")),
    ),
    call(
        lambda at: (
            REALS.make_keys(at),
            (at / keys.CLIENT).unlink(),
            (at / keys.PUBLIC).unlink(),
            steps(at).encrypt(given),
        ),
        f"bring that {keys.CLIENT}, or name another folder",
        lambda at: (saved(at, slot_keys()), steps(at).encrypt(given), steps(at / "other").encrypt(given)),
    ),
    call(
        lambda at: (executed(at), written(at / "expected.json", "{}"), steps(at).decrypt()),
        "run it again",
        lambda at: (executed(at), steps(at).decrypt()),
    ),
    call(
        lambda at: (REALS.make_keys(at, parameters=WEAK_CKKS), (at / keys.CLIENT).unlink(), REALS.encrypt(NUMBERS, at)),
        f"or accept it with --params {WEAK_CKKS} or security=",
        lambda at: (
            REALS.make_keys(at, parameters=WEAK_CKKS),
            (at / keys.CLIENT).unlink(),
            REALS.encrypt(NUMBERS, at, parameters=WEAK_CKKS),
            REALS.encrypt(NUMBERS, at, security=0),
        ),
    ),
    call(
        lambda at: store.KeyStore(REALS, at).put("../other", client().evaluation_key),
        "up to 64 letters, digits, - and _",
        lambda at: store.KeyStore(REALS, at).put("other", client().evaluation_key),
    ),
    call(
        lambda at: store.KeyStore(REALS, at).server("ada"),
        "send its evaluation key first",
        lambda at: (
            store.KeyStore(REALS, at).put("ada", client().evaluation_key),
            store.KeyStore(REALS, at).server("ada").execute(request()),
        ),
    ),
    call(
        lambda at: store.KeyStore(REALS, at).put(5, client().evaluation_key),  # type: ignore[arg-type]
        "not 5; choose such a name",
        lambda at: store.KeyStore(REALS, at).put("5", client().evaluation_key),
    ),
    call(
        lambda _: server().execute(client().encrypt(NUMBERS), cancel=True),  # type: ignore[arg-type]
        "give a threading.Event",
        lambda _: server().execute(client().encrypt(NUMBERS), cancel=Event()),
    ),
    call(
        lambda at: store.KeyStore(REALS, at, most_bytes=-1),
        "most_bytes=-1; give the bytes of memory for keys, from 0",
        lambda at: store.KeyStore(REALS, at, most_bytes=0),
    ),
    call(
        lambda at: files.expect_file(at / "none" / "x.json"),
        "x.json: cannot write (No such file or directory); check that the folder exists",
        lambda at: files.expect_file(at / "x.json"),
    ),
    call(
        lambda at: plots.expect_kind(at / "x.svgg"),
        "x.svgg: plots are not drawn as svgg; name it .svg, .pdf or .png",
        lambda at: [plots.expect_kind(at / f"x.{kind}") for kind in ("svg", "pdf", "png")],
    ),
    call(
        lambda at: machines.load(own_machine(at, "../x")),
        "`name` is '../x'; give one of letters, digits and dashes",
        lambda at: machines.load(own_machine(at, "my-machine-2")),
    ),
    call(
        lambda at: (element_keys(WEAK_SET).save(at), pf.Keys.generate(WEAK_SET).save(at)),
        "there is another key, which this one would replace; name another folder",
        lambda at: (element_keys(WEAK_SET).save(at), pf.Keys.generate(WEAK_SET).save(at / "other")),
    ),
    *(
        call(
            lambda at, save=save: (
                save(slot_keys(), at),
                save(pf.Keys.generate(REALS.plan(WEAK_CKKS, security=0)), at),
            ),
            "this is no key of this client, and would be replaced; name another folder",
            lambda at, save=save: (
                save(slot_keys(), at),
                save(pf.Keys.generate(REALS.plan(WEAK_CKKS, security=0)), at / "other"),
            ),
        )
        for save in (pf.Keys.save_public, lambda own, at: (own.save(at), (at / keys.CLIENT).unlink()))
    ),
    call(
        lambda at: ((at / keys.SERVER).mkdir(), element_keys(WEAK_SET).save(at)),
        "cannot write, it is a folder; move it away, or name another place",
        lambda at: ((at / keys.SERVER).mkdir(), element_keys(WEAK_SET).save(at / "other")),
    ),
    call(
        lambda _: pf.Ciphertexts({"../x": b""}, ".in.ct"),
        "is no name of an input or an output, which has letters, digits and _ - + . alone",
        lambda _: pf.Ciphertexts.from_bytes(request().to_bytes()),
    ),
    call(
        lambda _: pf.Ciphertexts.from_bytes(doubled()),
        "two of them have one name; send what to_bytes() gives",
        lambda _: pf.Ciphertexts.from_bytes(request().to_bytes()),
    ),
    call(
        lambda _: programs.planned("pbs", PlanOptions(machine=pf.machine("f1"))),
        "f1 executes programs of CKKS and BGV, and pbs is of TFHE; name a machine of that family",
        lambda _: programs.planned("pbs", PlanOptions(machine=pf.machine("strix"), max_failure=0)),
    ),
    call(
        lambda at: ((at / "x.bin").write_text("{"), pf.machine("f1").load(permuted(), at / "x.bin")),
        "x.bin: the compiled `permute` cannot be used: this is no compiled program",
        lambda at: (
            pf.machine("f1").map(permuted()).save(at / "x.bin"),  # type: ignore[attr-defined]
            pf.machine("f1").load(permuted(), at / "x.bin"),
        ),
    ),
    call(
        lambda _: client().encrypt(None),  # type: ignore[arg-type]
        "inputs are NoneType; give a dictionary with x",
        lambda _: client().encrypt(NUMBERS),
    ),
    call(
        lambda _: server().execute_batch(request()),  # type: ignore[arg-type]
        "give a list of pf.Ciphertexts, or one to `execute`",
        lambda _: (server().execute_batch([request()]), server().execute(request())),
    ),
    call(
        lambda _: ELEMENTS.simulate(5, parameters=SET),  # type: ignore[arg-type]
        "a machine is 5; give its name, a file of yours, or pf.machine of one",
        lambda _: (ELEMENTS.simulate("strix", max_failure=0), ELEMENTS.simulate(pf.machine("strix"), max_failure=0)),
    ),
    *[
        call(lambda _, wrong=wrong: ELEMENTS.plan(**wrong), words, lambda _, right=right: ELEMENTS.plan(**right))
        for wrong, words, right in (
            ({"unroll": 3}, "unroll=3; give 1, 2 or 4", {"unroll": 2}),
            ({"unroll": "2"}, "unroll='2'; give 1, 2 or 4", {"unroll": 4}),
            (
                {"security": 10**5000},
                "an integer of 16,610 bits; give a number of bits, such as 128",
                {"security": 128},
            ),
            ({"max_failure": 10**5000}, "an integer of 16,610 bits (--max-failure) is log2", {"max_failure": -40}),
        )
    ],
]


def given(_: Any) -> dict[str, Any]:
    return NUMBERS


def steps(folder: Path) -> Any:
    from polyfabric.stages import Steps

    return Steps(folder, "ckks", PlanOptions(), lambda options: execution.make_plan(REALS, options))


def executed(folder: Path) -> None:
    REALS.make_keys(folder)
    steps(folder).encrypt(given)
    steps(folder).execute()


SIDES = [
    call(
        lambda _: pf.Server(turned, client().evaluation_key),
        "if that was made for another program, bring the key of a client of turned",
        lambda _: pf.Server(turned, pf.Client(pf.Specification.of(turned)).evaluation_key),
    ),
    call(lambda _: pf.Specification.of(3), "decorate it with @pf.program(..)", lambda _: specification()),
    call(
        lambda _: pf.Specification.of(REALS, "mine.toml"),
        "of CKKS and BGV with --scheme, or none",
        lambda _: (pf.Specification.of(REALS, WEAK_CKKS), pf.Specification.of(REALS)),
    ),
    *(
        call(
            lambda _, data=data: pf.Specification.from_bytes(data),
            words,
            lambda _: pf.Specification.from_bytes(specification().to_bytes()),
        )
        for data, words in (
            (b"no JSON", "get it from whoever serves the program"),
            (b"[]", "not a specification; get it"),
            (altered(version=1), "update the older side"),
            (altered(scheme="fhew"), "get it again"),
        )
    ),
    call(
        lambda _: pf.Specification.from_bytes(of_a_broken_set(), "own.json"),
        "get it from whoever serves the program",
        lambda _: pf.Specification.from_bytes(pf.Specification.of(ELEMENTS).to_bytes(), "own.json"),
    ),
    call(
        lambda at: pf.Specification.load(at / "none.json"),
        "check the path",
        lambda at: (specification().save(at / "own.json"), pf.Specification.load(at / "own.json")),
    ),
    call(
        lambda _: pf.Client(pf.Specification.of(REALS, WEAK_CKKS)),
        "or accept it with security=",
        lambda _: (pf.Client(pf.Specification.of(REALS, WEAK_CKKS), security=0), pf.Client(specification())),
    ),
    call(
        lambda _: pf.Ciphertexts.from_bytes(archived(zipfile.ZIP_DEFLATED)),
        "send what to_bytes() gives",
        lambda _: server().execute(pf.Ciphertexts.from_bytes(request().to_bytes())),
    ),
    call(
        lambda _: pf.Ciphertexts.from_bytes(b"no archive"),
        "send what to_bytes() gives",
        lambda _: server().execute(pf.Ciphertexts.from_bytes(request().to_bytes())),
    ),
    call(
        lambda at: (answer().save(at), pf.Ciphertexts.load(at)),
        "load them with outputs=True",
        lambda at: (answer().save(at), client().decrypt(pf.Ciphertexts.load(at, outputs=True))),
    ),
    call(
        lambda at: pf.Ciphertexts.load(at),
        "give those of one execution",
        lambda at: (request().save(at), pf.Ciphertexts.load(at)),
    ),
    call(
        lambda _: request() | request(),
        "let one encrypt it",
        lambda _: server_of_two().execute(part("x") | part("y")),
    ),
    call(
        lambda _: request() | answer(),
        "give what was encrypted",
        lambda _: server_of_two().execute(part("x") | part("y")),
    ),
    call(
        lambda at: pf.EvaluationKey.load(at / keys.SERVER),
        "check the path",
        lambda at: (client().evaluation_key.save(at / keys.SERVER), pf.EvaluationKey.load(at / keys.SERVER)),
    ),
    call(
        lambda _: pf.Client(REALS),
        "give pf.Specification.of(program)",
        lambda _: pf.Client(pf.Specification.of(REALS)),
    ),
    call(
        lambda _: client().decrypt(answer().to_bytes()),
        "pf.Ciphertexts.from_bytes of bytes",
        lambda _: client().decrypt(pf.Ciphertexts.from_bytes(answer().to_bytes())),
    ),
    call(
        lambda _: client().decrypt(request()),
        "give what the server answered",
        lambda _: client().decrypt(server().execute(request())),
    ),
    call(
        lambda at: (client().save(at / "one.key"), client(public=True).save(at / "one.key")),
        "name another path",
        lambda at: (client().save(at / "one.key"), client(public=True).save(at / "two.key")),
    ),
    call(
        lambda _: pf.Encryptor(specification(public=True), client(public=True).public_key.to_bytes()),
        "take client.public_key",
        lambda _: pf.Encryptor(specification(public=True), client(public=True).public_key).encrypt(NUMBERS),
    ),
    call(
        lambda _: pf.Encryptor(specification(), client().public_key).encrypt(NUMBERS),
        "make the specification with public=True",
        lambda _: pf.Encryptor(specification(public=True), client(public=True).public_key).encrypt(NUMBERS),
    ),
    call(
        lambda _: pf.Server(REALS, client().evaluation_key.to_bytes()),
        "take client.evaluation_key",
        lambda _: pf.Server(REALS, client().evaluation_key),
    ),
    call(
        lambda _: pf.Keys.generate(7),
        "give the plan of a result",
        lambda _: pf.Keys.generate(REALS.run(NUMBERS).plan),
    ),
    call(
        lambda _: pf.Server("reals", client().evaluation_key),
        "give the one that @pf.program(..) made",
        lambda _: pf.Server(REALS, client().evaluation_key),
    ),
    call(
        lambda _: pf.EvaluationKey.load(5),
        "give a str or a pathlib.Path",
        lambda at: (client().evaluation_key.save(at / keys.SERVER), pf.EvaluationKey.load(at / keys.SERVER)),
    ),
    call(
        lambda _: pf.Ciphertexts.from_bytes(request()),
        "give what to_bytes() gives",
        lambda _: pf.Ciphertexts.from_bytes(request().to_bytes()),
    ),
    call(
        lambda _: server().execute(request().to_bytes()),
        "pf.Ciphertexts.from_bytes of bytes",
        lambda _: server().execute(pf.Ciphertexts.from_bytes(request().to_bytes())),
    ),
    call(
        lambda _: server().execute(answer()),
        "give what the client encrypted",
        lambda _: server().execute(request()),
    ),
    call(
        lambda _: pf.Client.from_bytes(pf.Specification.of(REALS, WEAK_CKKS), client().to_bytes(), security=0),
        "make a client of this specification",
        lambda _: pf.Client(pf.Specification.of(REALS, WEAK_CKKS), security=0),
    ),
    call(
        lambda _: server().execute(request(), cancel=stopped()),
        "start it again for its result",
        lambda _: server().execute(request(), cancel=Event()),
    ),
]


@cache
def specification_of_two() -> pf.Specification:
    return pf.Specification.of(TWO, public=True)


@cache
def client_of_two() -> pf.Client:
    return pf.Client(specification_of_two())


def server_of_two() -> pf.Server:
    return pf.Server(TWO, client_of_two().evaluation_key, public=True)


def part(name: str) -> pf.Ciphertexts:
    return pf.Encryptor(specification_of_two(), client_of_two().public_key).encrypt({name: NUMBERS["x"]})


PROGRAM_FILES = [
    call(
        lambda _: programs.load("digits"),
        "name another program",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda _: programs.load("digit.txt"),
        "your own would be FILE.py:FUNCTION or FILE.pf",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda at: programs.load(f"{program_file(at, 'def f(:')}:f"),
        "correct the file",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda at: programs.load(f"{program_file(at, '1 / 0')}:f"),
        "ZeroDivisionError: division by zero; correct the file",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda at: programs.load(str(program_file(at))),
        "name one, as ",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda at: programs.load(f"{program_file(at)}:real"),
        "did you mean reals",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda at: programs.load(f"{at / 'none.py'}:reals"),
        "check the path",
        lambda at: programs.load(f"{program_file(at)}:reals"),
    ),
    call(
        lambda at: ((at / "own.pf").write_bytes(b"\xff\xfe"), programs.load(str(at / "own.pf"))),
        "not a text file",
        lambda at: programs.load(str(written(at / "own.pf", REALS.text()))),
    ),
    call(
        lambda _: programs.on_slots("sorting"),
        "which is timed, not run",
        lambda _: programs.on_slots("lola"),
    ),
    call(
        lambda _: programs.microbenchmark("ntt", "11", 1),
        "log2 of the ring degree",
        lambda _: programs.microbenchmark("ntt", "12", 1),
    ),
    call(
        lambda _: programs.residue_kernel("pbs", None, machines.load("f1")),
        "or FILE.py:FUNCTION",
        lambda at: programs.residue_kernel(f"{program_file(at)}:reals", "f1-12-L3", machines.load("f1")),
    ),
    call(
        lambda _: programs.planned("pbs", PlanOptions(parameters="morphling-I", machine=machines.load("morphling"))),
        "choose another set, or accept it with --max-failure -1",
        lambda _: (
            programs.planned(
                "pbs", PlanOptions(parameters="polyfabric-direct-t32", machine=machines.load("morphling"))
            ),
            programs.planned(
                "pbs", PlanOptions(parameters="morphling-I", machine=machines.load("morphling"), max_failure=-1)
            ),
        ),
    ),
    call(
        lambda _: programs.planned("pbs", PlanOptions(circuit_privacy=10)),
        "has none; leave it out",
        lambda _: programs.planned("pbs", PlanOptions()),
    ),
    call(
        lambda _: programs.planned("pbs", PlanOptions(public=True)),
        "is of your own program or an application",
        lambda _: programs.planned("pbs", PlanOptions()),
    ),
    call(
        lambda at: programs.planned(f"{program_file(at)}:reals", PlanOptions(), 2),
        "takes the inputs that it declares",
        lambda at: programs.planned(f"{program_file(at)}:reals", PlanOptions()),
    ),
    call(
        lambda _: machines.load("morphling").map(ELEMENTS.plan(), scheduler="greedy"),
        "is of TFHE; leave it out",
        lambda _: machines.load("morphling").map(ELEMENTS.plan(machine=machines.load("morphling"))).report(),
    ),
]

CALLS = [*PLANNING, *FILES, *SIDES, *PROGRAM_FILES]
