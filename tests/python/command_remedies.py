"""Command lines that are refused beside those that their messages advise; `test_command_remedies.py` runs them, in a folder with `own.py` and `own.json`."""

from __future__ import annotations

from dataclasses import dataclass

FILE = """
import polyfabric as pf


@pf.program(x=pf.Int(0, 1).vector(2))
def elements(x):
    return pf.lookup(x, [1, 0])


@pf.program(x=pf.Real.vector(4))
def reals(x):
    return x * x
"""
ELEMENTS, REALS = "run own.py:elements --params polyfabric-1-p64-t32", "run own.py:reals"
BATCH = "simulate pbs --machine strix --max-failure 0"
DIGITS = "simulate digits --machine strix --params strix-I --max-failure 0"
PERMUTED = "simulate permute --machine f1 --params 12 --batch 1"


@dataclass(frozen=True)
class Line:
    """A refused line and those that are advised, which follow one another."""

    wrong: str
    words: str
    right: tuple[str, ...]
    before: tuple[str, ...] = ()
    """What is run before the refused one."""


def line(wrong: str, words: str, *right: str, before: tuple[str, ...] = ()) -> Line:
    return Line(wrong, words, right, before)


STEPS = (f"{REALS} --keys k --step encrypt", f"{REALS} --keys k --step execute", f"{REALS} --keys k --step decrypt")

LINES = [
    line(f"{REALS} --input x=1,0,0,0 --input x=0,0,0,0", "give it once", f"{REALS} --input x=1,0,0,0"),
    line(f"{REALS} --input x=1,0,0,0 --input own.json", "in own.json too; give it once", f"{REALS} --input own.json"),
    line(f"{REALS} --input x=[1,0,0,0", "close its brackets", f"{REALS} --input x=[1,0,0,0]"),
    line(f"{REALS} --input bad.json", "give a JSON object of inputs", f"{REALS} --input own.json"),
    line(f"{REALS} --input twice.json", "'x' is given twice; give it once", f"{REALS} --input own.json"),
    line(f"{REALS} --input deep.json", "an input is a list, or a list of rows", f"{REALS} --input own.json"),
    line(f"{REALS} --input long.json", "has too many digits to be read", f"{REALS} --input own.json"),
    line(
        f"{REALS} --input 1,0,0,0", "or name the input that it is of: --input x=1,0,0,0", f"{REALS} --input x=1,0,0,0"
    ),
    line(f"{REALS} --input list.json", "one entry for each of x", f"{REALS} --input own.json"),
    line("run digits --image 1 --images 2", "give one of the two", "run digits --image 1", "run digits --images 2"),
    line("run life --size 5 --board own.txt", "own.txt draws its own", "run life --generations 1 --board own.txt"),
    line("run life --keys k --unroll 2 --generations 1", "leave it out", "run life --generations 1 --size 3 --keys k"),
    line("run life --size 2", "give a size from", "run life --size 3 --generations 1"),
    line("run life --board none", "name glider", "run life --board glider --generations 1 --size 3"),
    line("run pbs --images 2", "is of digits", "run pbs"),
    line(f"{REALS} --images 2 --cost", "leave it out with --step or --cost", f"{REALS} --cost"),
    line("run life --batch 2", "leave it out"),
    line(f"{REALS} --report r", "this run is not on a machine", REALS),
    line(f"{REALS} --cost --threads 1", "leave one of the two out", f"{REALS} --threads 1"),
    line(f"{ELEMENTS} --unroll 2 --keys k", "--unroll is not taken with --keys", f"{ELEMENTS} --keys k"),
    line(f"{REALS} --step keys", "name their folder with --keys DIR", f"{REALS} --step keys --keys k"),
    line(f"{REALS} --step keys --keys k --report r", "leave it out with --step", f"{REALS} --step keys --keys k"),
    line(f"{REALS} --step keys --keys k --measure", "leave it out with --step", f"{REALS} --measure"),
    line(
        f"{REALS} --step execute --keys k --input own.json",
        "give it with --step encrypt, or without --step",
        f"{REALS} --step encrypt --keys k --input own.json",
        f"{REALS} --input own.json",
    ),
    line(
        f"{REALS} --step encrypt --keys k --threads 1",
        "give it with --step execute, or without --step",
        STEPS[0],
        f"{STEPS[1]} --threads 1",
        f"{REALS} --threads 1",
    ),
    line(
        f"{REALS} --step encrypt --keys k --on interpreter",
        "give it with --step execute, or without --step",
        STEPS[0],
        f"{STEPS[1]} --on interpreter",
        f"{REALS} --on interpreter",
    ),
    line(
        f"{STEPS[1]} --flood 0",
        "give it with --step decrypt, or without --step",
        *STEPS[:2],
        f"{STEPS[2]} --flood 0",
        f"{REALS} --flood 0",
        before=STEPS[:1],
    ),
    line("params --replay 2", "name them with --on", "params toy-256 --replay 2 --on fpt"),
    line("params --replay 2 --on fpt,gpu", "and gpu has none; leave it out", "params --on gpu"),
    line("params --message-bits 1", "add --replay COUNT", "params toy-256 --replay 2 --on fpt --message-bits 1"),
    line("params --scheme ckks --on morphling", "leave --scheme ckks out", "params --on morphling"),
    line("params --scheme bgv ckks-depth-1", "is a set of CKKS, not of BGV; leave --scheme out", "params ckks-depth-1"),
    line("params --scheme ckks strix-I", "is a set of TFHE, not of CKKS; leave --scheme out", "params strix-I"),
    line(
        "params --on f1",
        "f1 executes programs of CKKS and BGV, whose sets its widths do not change; name a machine of TFHE",
        "params --on strix",
        "params --scheme ckks",
    ),
    line("params set.toml --on strix", "leave --on strix out", "params set.toml"),
    line(f"{PERMUTED} --steps", "--steps is for whole programs; permute is operations", PERMUTED),
    line(f"{PERMUTED} --operations", "leave it out", PERMUTED),
    line(f"{PERMUTED} --security 128", "leave it out", PERMUTED),
    line(f"{PERMUTED} --security 0", "leave it out", PERMUTED),
    line(f"{PERMUTED} --max-failure -40", "leave it out", PERMUTED),
    line(f"{PERMUTED} --max-failure 0", "leave it out", PERMUTED),
    line(
        "params morphling-A --on morphling",
        "name one of them, or a machine of the set's width",
        "params morphling-A-t32 --on morphling",
    ),
    line(
        f"{PERMUTED} --load f.bin --scheduler priority",
        "--scheduler is for compiling it",
        f"{PERMUTED} --scheduler priority",
    ),
    line(
        f"{BATCH} --reading folding=on --reading folding=off",
        "--reading folding=on and folding=off are of one fact; give it once",
        f"{BATCH} --reading folding=off",
    ),
    line(f"{BATCH} --schedule flat", "leave it out for pbs", BATCH),
    line("simulate sorting --machine osiris --schedule flat", "leave --schedule out"),
    *[
        line(f"simulate sorting --machine osiris --{given}", "here rounds of sorting are loops; leave it out")
        for given in ("batch 2", "max-failure 0", "scheduler csr", "time-limit 5", "low-throughput ntt")
    ],
    line(
        f"{DIGITS} --security 128",
        "has 93.6 bits of security, but 128 are asked for",
        DIGITS,
        f"{DIGITS} --security 90",
    ),
    line(f"{DIGITS} --key-switch d8", "leave it out", DIGITS),
    line(f"{PERMUTED} --key-switch d2", "leave it out", PERMUTED),
    line(f"{BATCH} --operations", "leave it out", BATCH),
    line(
        "compare pbs --machines strix,fpt --params strix=strix-I,fpt",
        "give each machine its set: M1=SET,M2=SET",
        "compare pbs --machines strix,fpt --params strix=strix-I,fpt=fpt-I",
    ),
    line(
        "widths --params toy-256 --machine strix --out wide.txt",
        "name it wide.toml",
        "widths --params toy-256 --machine strix --out wide.toml",
    ),
    line(
        "compare pbs --machines strix,fpt --params strix=none,fpt=fpt-I --batch 8",
        'strix: no parameter set of TFHE is called "none"; known sets: polyfabric-1-p64-t32',
        "compare pbs --machines strix,fpt --params strix=strix-I,fpt=fpt-I --batch 8",
    ),
]
