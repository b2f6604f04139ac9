"""`polyfabric run` of your own program or of one by name, with TFHE, CKKS or BGV: a whole run, one step, or its cost."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

import numpy as np

from ..apps import programs
from ..errors import InputError
from ..host.progress import bars, working
from ..language.fixed_type import FixedType
from ..language.traced import TracedProgram
from ..language.types import TextType
from ..run.execution import cost_of, estimated_place, run_plan, unguarded
from ..run.file_steps import Decrypted, Steps
from ..schemes.plan import RunResult, plain
from ..schemes.tfhe import ElementResult
from . import inputs, show_elements, show_slots
from .console import out, print_json, security_warnings
from .run_options import FLAGS, OWNERS, RunOptions
from .show_elements import SHOWN


def run(options: RunOptions) -> int:
    """Runs, prints and returns the exit status: 0 if the result equals the clear program's."""
    with working(f"loading {options.program}"):
        scheme = programs.scheme_of(options.program, options.options, options.batch, options.scheme)
    options.take_only(*(name for name in FLAGS if name not in OWNERS))
    if options.cost:
        of_runs = {"--threads": options.threads, "--report": options.report_to}
        of_runs |= {FLAGS[name]: options.extras.get(name) for name in ("step", "folder", "flood")}
        for flag, given in of_runs.items():
            if given is not None:
                raise InputError(f"{flag} applies to a run, and --cost runs nothing; leave one of the two out")
        return _cost(options)
    if options.unroll not in (None, 1) and options.folder is not None:
        raise InputError("--keys excludes --unroll: key files support one secret bit per iteration; leave it out")
    if options.step is not None and options.report_to is not None:
        raise InputError("--report applies to a whole run; leave it out with --step")
    options.expect_places()
    if options.step is not None:
        return _step(options, scheme)
    with options.kept_keys(scheme) as (keys, progress):
        planned = programs.planned(options.program, options.options_with(keys), options.batch, options.scheme)
        given = inputs.of(planned.program, options.given)
        done = run_plan(
            planned, given, on=options.on, keys=keys, threads=options.threads, flood=options.flood, progress=progress
        )
    options.keep(keys, done.keys, done.simulation)
    drawn = {} if options.given else _as_given(planned.program, given)
    if options.as_json:
        print_json(done.to_dict() | ({"drawn_inputs": _data(drawn)} if drawn else {}))
    else:
        _show(done)
        for name, value in drawn.items():
            out().print(f"random       --input {name}={_drawn(value)}", soft_wrap=True)
    return 0 if done.correct else 1


def _as_given(program: TracedProgram, drawn: dict[str, Any]) -> dict[str, Any]:
    """Drawn inputs as a user gives them: texts instead of their bytes, and fixed-point numbers as exact decimal numbers."""

    def text(value: Any) -> Any:  # noqa: ANN401 - the bytes of a text, or a batch of them
        return [text(own) for own in value] if isinstance(value[0], list) else bytes(value).decode()

    given = dict(drawn)
    for name, kind in program.inputs.items():
        if isinstance(kind, TextType):
            given[name] = text(drawn[name])
        elif isinstance(kind, FixedType):
            given[name] = plain(drawn[name])
    return given


def _data(drawn: dict[str, Any]) -> dict[str, Any]:
    """Drawn inputs as data; complex numbers are pairs."""
    found = {name: np.asarray(value).tolist() for name, value in drawn.items()}
    return {
        name: [[number.real, number.imag] for number in value] if np.iscomplexobj(drawn[name]) else value
        for name, value in found.items()
    }


def _drawn(value: Any) -> str:  # noqa: ANN401 - numbers of any type
    """A drawn input as text; a long one is cut."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and isinstance(value[0], list | str):
        return json.dumps(value)
    numbers = np.atleast_1d(np.asarray(value)).tolist()
    text = ",".join(
        f"{number:.6g}" if isinstance(number, float | complex) else str(number) for number in numbers[:SHOWN]
    )
    return text + (f",.. {len(numbers)} in all" if len(numbers) > SHOWN else "")


def _show(done: RunResult) -> None:
    if isinstance(done, ElementResult):
        show_elements.show(out(), done)
    else:
        show_slots.show(out(), done)


def _cost(options: RunOptions) -> int:
    """Prints the cost, which is the same for all inputs; encrypts nothing. Given inputs are checked."""
    estimated_place(options.on)
    with security_warnings(), bars():
        # The cost report includes the time of starting and planning, which a run spends too.
        start = time.process_time()
        planned = programs.planned_to_time(options.program, unguarded(options.options), options.batch, options.scheme)
        if options.given:
            planned.evaluate(planned.program.flatten(inputs.of(planned.program, options.given)))
        report = cost_of(planned, {"start": start, "plan": time.process_time() - start})
    if options.as_json:
        print_json(report.to_dict())
    else:
        report.print(out())
    return 0


def _step(options: RunOptions, scheme: str) -> int:
    if options.folder is None:
        raise InputError("--step exchanges files; name their folder with --keys DIR")
    if options.measure:
        raise InputError("--measure applies to a whole run; leave it out with --step")
    if options.given and options.step != "encrypt":
        raise InputError("only encryption reads --input; give it with --step encrypt, or without --step")
    if options.step != "execute":
        if options.threads is not None:
            raise InputError("only execution uses --threads; give it with --step execute, or without --step")
        if options.on in ("gpu", "interpreter"):
            raise InputError(
                f"only execution uses --on {options.on}; give it with --step execute, or without --step. Give a machine to "
                "every step, because it changes the plan"
            )
    if options.flood is not None and options.step != "decrypt":
        raise InputError("only decryption uses --flood; give it with --step decrypt, or without --step")
    with security_warnings(), bars() as progress:
        plan = partial(programs.planned, options.program, batch=options.batch, scheme=options.scheme)
        steps = Steps(options.folder, scheme, options.options, plan, progress, options.on)
        if options.step == "keys":
            done = steps.make_keys()
        elif options.step == "encrypt":
            done = steps.encrypt_or_begin(lambda program: inputs.of(program, options.given))
        elif options.step == "execute":
            done = steps.execute(threads=options.threads)
        else:
            done = steps.decrypt(flood=options.flood)
    data = done.to_dict()
    if options.as_json:
        print_json(data)
    else:
        for key, value in data.items():
            # Exact results have no bound, and correct results no problem.
            if value is None or (key == "bound" and not any(value.values())):
                continue
            out().print(f"{key:<12} {_text(value)}", markup=False)
    return 1 if isinstance(done, Decrypted) and done.correct is False else 0


def _text(value: object) -> str:
    """A step's result as text, without Python's brackets."""
    if isinstance(value, dict):
        return ", ".join(f"{name} = {own}" for name, own in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
