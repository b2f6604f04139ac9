"""Files that are refused, by their size, their kind or their place, beside those that the messages advise; `test_call_remedies.py` makes the calls."""

from __future__ import annotations

from pathlib import Path

import polyfabric as pf
from call_remedies import call, client, specification
from polyfabric import files, keys, programs
from polyfabric.specification import LARGEST


def text(path: Path) -> None:
    path.write_text("text", encoding="utf-8")


FILES = [
    call(
        lambda _: pf.Specification.load("/dev/zero"),
        "67,108,864 such a file has; check the path",
        lambda at: (specification().save(at / "own.json"), pf.Specification.load(at / "own.json")),
    ),
    call(
        lambda _: programs.read(Path("/dev/zero")),
        "268,435,456 such a file has; check the path",
        lambda at: (text(at / "inputs.json"), programs.read(at / "inputs.json")),
    ),
    call(
        lambda _: pf.Specification.from_bytes(bytes(LARGEST + 1)),
        "a specification has 67,108,864 at most; get it from whoever serves the program",
        lambda _: pf.Specification.from_bytes(specification().to_bytes()),
    ),
    call(
        lambda _: pf.EvaluationKey.load("/dev/null"),
        "it is a device or a pipe, whose length is not known; name a file",
        lambda at: (client().evaluation_key.save(at / keys.SERVER), pf.EvaluationKey.load(at / keys.SERVER)),
    ),
    call(
        lambda at: (text(at / "x"), files.write_new(at / "x", text)),
        "there is another file, which this one would replace; name another place",
        lambda at: (text(at / "x"), files.write_new(at / "y", text)),
    ),
    call(
        lambda at: client().save(at / "none" / keys.CLIENT),
        f"none/{keys.CLIENT}: cannot create the file (No such file or directory (os error 2)); check that the path exists",
        lambda at: client().save(at / keys.CLIENT),
    ),
]
