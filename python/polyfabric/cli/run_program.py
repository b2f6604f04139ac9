"""`polyfabric run` of your own program or of one by name, on elements or on slots: whole, in steps, or its cost."""

from __future__ import annotations

from functools import partial

from .. import programs
from ..errors import InputError
from ..execution import run_plan, unguarded
from ..progress import bars
from ..schemes.elements import ElementResult
from ..schemes.plan import RunResult
from ..stages import Decrypted, Steps
from . import inputs, show_elements, show_slots
from .asked import FLAGS, OWNERS, Asked
from .console import out, print_json, security_warnings


def run(asked: Asked) -> int:
    """Runs, prints, and gives the exit status: 0 if the result is the clear program's."""
    scheme = programs.scheme_of(asked.program, asked.parameters)
    asked.take_only(*(name for name in FLAGS if name not in OWNERS))
    if asked.cost:
        return _cost(asked)
    if asked.unroll != 1 and asked.folder is not None:
        raise InputError("--unroll is not taken with --keys, whose files are of one bit an iteration; leave it out")
    if asked.step is not None and asked.report_to is not None:
        raise InputError("--report is of a whole run; leave it out with --step")
    asked.expect_places()
    if asked.step is not None:
        return _step(asked, scheme)
    with asked.kept_keys(scheme) as (keys, progress):
        planned = programs.planned(asked.program, asked.options_with(keys), asked.batch, to_run=True)
        given = inputs.of(planned.program, asked.given)
        done = run_plan(
            planned, given, on=asked.on, keys=keys, threads=asked.threads, flood=asked.flood, progress=progress
        )
    asked.keep(keys, done.keys, done.simulation)
    if asked.as_json:
        print_json(done.to_dict())
    else:
        _show(done)
    return 0 if done.correct else 1


def _show(done: RunResult) -> None:
    if isinstance(done, ElementResult):
        show_elements.show(out(), done)
    else:
        show_slots.show(out(), done)


def _cost(asked: Asked) -> int:
    """What running takes, by whichever key; nothing is encrypted."""
    with security_warnings():
        report = programs.planned(asked.program, unguarded(asked.options), asked.batch).cost()
    if asked.as_json:
        print_json(report.to_dict())
    else:
        report.print(out())
    return 0


def _step(asked: Asked, scheme: str) -> int:
    if asked.folder is None:
        raise InputError("--step works through files; name their folder with --keys DIR")
    if asked.measure:
        raise InputError("--measure is of a whole run; leave it out with --step")
    if asked.flood is not None and asked.step != "decrypt":
        raise InputError("--flood is of what is decrypted; give it with --step decrypt, or without --step")
    with security_warnings(), bars() as progress:
        plan = partial(programs.planned, asked.program, batch=asked.batch, to_run=True)
        steps = Steps(asked.folder, scheme, asked.options, plan, progress)
        if asked.step == "keys":
            done = steps.make_keys()
        elif asked.step == "encrypt":
            done = steps.encrypt(lambda program: inputs.of(program, asked.given))
        elif asked.step == "execute":
            done = steps.execute(on=asked.on, threads=asked.threads)
        else:
            done = steps.decrypt(flood=asked.flood)
    data = done.to_dict()
    if asked.as_json:
        print_json(data)
    else:
        for key, value in data.items():
            out().print(f"{key:<12} {value}", markup=False)
    return 1 if isinstance(done, Decrypted) and done.correct is False else 0
