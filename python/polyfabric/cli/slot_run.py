"""`polyfabric run` of CKKS and BGV programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from .. import slot_stages
from ..apps.f1_programs import PROGRAMS as F1_PROGRAMS
from ..apps.f1_programs.execute import Answer, execute
from ..errors import InputError
from ..execution import place
from ..language.slot_program import SlotProgram
from ..progress import ProgressHook, bars
from ..reports.slots import failure
from ..reports.units import bytes_text, scaled, security
from ..slot_execution import SlotKeys, SlotRunResult
from ..slot_execution import run as run_program
from . import inputs
from .console import grid, out, print_json, security_warnings

SHOWN = 6
"""Numbers of an output that are printed."""


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    program: SlotProgram | None
    """The user's own; nothing for an application."""
    given: tuple[str, ...]
    rows: int | None
    query: str | None
    on: str
    parameters: str | None
    key_switch: str
    """Whose, or which."""
    threads: int | None
    measure: bool
    report: Path | None
    """Folder for a machine's report and timeline."""
    keys: Path | None
    """Folder of the keys, and of the files between steps."""
    step: str | None
    security: float | None
    """Bits that the parameter set must have."""
    flood: float | None
    """Deviation of the noise in outputs that others will see."""
    public: bool
    """Whether inputs are encrypted with a public key."""


def refuse_options(program: str, options: Mapping[str, object]) -> None:
    """Refuses options of TFHE programs, and those of another application."""
    for name, value in options.items():
        if value not in (None, (), False):
            raise InputError(f"{name} is for programs of TFHE, but {program} is of CKKS or BGV; leave it out")


def run(program: str, asked: Asked, *, as_json: bool) -> int:
    """Runs, prints, and gives the exit status."""
    for name, value, owner in (
        ("--rows", asked.rows, "logistic-regression"),
        ("--query", asked.query, "database-lookup"),
        ("--input", asked.given or None, None),
        ("--keys", asked.keys, None),
        ("--step", asked.step, None),
        ("--security", asked.security, None),
        ("--flood", asked.flood, None),
        ("--public", asked.public or None, None),
    ):
        if value is not None and (program != owner if owner else asked.program is None or program in F1_PROGRAMS):
            raise InputError(
                f"{name} is for {owner or 'your own programs'}, but the program is {program}; leave it out"
            )
    if asked.report is not None and asked.step is None and place(asked.on) is None:
        raise InputError("--report writes a machine's report; this run is not on a machine")
    with security_warnings(), bars() as progress:
        if asked.step is not None and asked.program is not None:
            return _step(asked.program, asked.step, asked, progress, as_json)
        done = _run(program, asked, progress)
    simulated = (done if isinstance(done, SlotRunResult) else done.run).simulation
    if asked.report is not None and simulated is not None:
        simulated.save(asked.report)
    if as_json:
        print_json(done.to_dict())
    elif isinstance(done, SlotRunResult):
        _show(out(), done)
    else:
        _show_application(out(), done)
    return 0 if done.correct else 1


def _run(program: str, asked: Asked, progress: ProgressHook) -> Any:  # noqa: ANN401 - a result of one of four kinds
    options: dict[str, Any] = {
        "on": asked.on,
        "parameters": asked.parameters,
        "threads": asked.threads,
        "measure": asked.measure,
        "progress": progress,
    }
    if program in F1_PROGRAMS:
        return execute(F1_PROGRAMS[program], key_switch=asked.key_switch, **options)
    if asked.program is not None:
        given = inputs.slot_inputs(asked.program, asked.given)
        keys = _keys(asked.keys, asked.program.scheme)
        done = run_program(
            asked.program,
            given,
            keys=keys,
            security=asked.security,
            key_switch=asked.key_switch,
            flood=asked.flood,
            public=asked.public,
            **options,
        )
        if asked.keys is not None and keys is None:
            done.keys.save(asked.keys)
        return done
    if program == "logistic-regression":
        from ..apps.logistic_regression.infer import infer

        return infer(asked.rows, **options)
    from ..apps.database.lookup import look_up

    return look_up("CH" if asked.query is None else asked.query, **options)


def _keys(folder: Path | None, scheme: str) -> SlotKeys | None:
    """The keys in `folder`, or none if it has none yet."""
    return SlotKeys.load(folder, scheme) if folder is not None and has_keys(folder) else None


def has_keys(folder: Path) -> bool:
    """Whether there is a key, to be used or to be refused, in `folder`."""
    return any((folder / name).exists() for name in ("client.key", "server.key"))


def _step(program: SlotProgram, step: str, asked: Asked, progress: ProgressHook, as_json: bool) -> int:
    if asked.keys is None:
        raise InputError("--step works through files; name their folder with --keys DIR")
    if asked.measure or asked.report is not None:
        raise InputError("--measure and --report are of a whole run; leave out --step")
    if asked.flood is not None and step != "decrypt":
        raise InputError("--flood is of what is decrypted; give it with --step decrypt, or without --step")
    if asked.public:
        raise InputError(
            "--public is of a whole run; leave it out: --step keys makes a public key, and --step encrypt uses the one in --keys DIR "
            "where there is no client.key"
        )
    machine = place(asked.on)
    if step == "keys":
        data = slot_stages.make_keys(
            program,
            asked.keys,
            parameters=asked.parameters,
            machine=machine,
            security=asked.security,
            key_switch=asked.key_switch,
            progress=progress,
        )
    elif step == "encrypt":
        data = slot_stages.encrypt(
            program,
            asked.keys,
            inputs.slot_inputs(program, asked.given),
            parameters=asked.parameters,
            machine=machine,
            security=asked.security,
            key_switch=asked.key_switch,
            progress=progress,
        )
    elif step == "execute":
        data = slot_stages.execute(
            program, asked.keys, on=asked.on, machine=machine, threads=asked.threads, progress=progress
        )
    else:
        data = slot_stages.decrypt(program, asked.keys, machine=machine, flood=asked.flood)
    if as_json:
        print_json(data)
    else:
        for key, value in data.items():
            out().print(f"{key:<12} {value}", markup=False)
    return 0 if data.get("correct", True) else 1


def _show(console: Console, result: SlotRunResult) -> None:
    console.print(f"[bold]{result.program}[/] with {result.scheme.upper()} on {result.on}")
    exact = result.scheme == "bgv"
    table = grid(
        "output", "decrypted", "expected", "wrong" if exact else "error", *([] if exact else ["bound"]), left=3
    )
    for name, values in result.outputs.items():
        error, bound = result.error[name], result.bound[name]
        figures = (f"{error:.0f}",) if exact else (f"{error:.1e}", f"{bound:.1e}")
        table.add_row(name, _short(values), _short(result.expected[name]), *figures)
    console.print(table)
    _show_common(console, result)


def _short(values: Any) -> str:  # noqa: ANN401 - a number or a list
    if not isinstance(values, list):
        return _number(values)
    shown = ", ".join(_number(value) for value in values[:SHOWN])
    more = f", .. {len(values)} in all" if len(values) > SHOWN else ""
    return f"\\[{shown}{more}]"


def _number(value: complex) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value:.5f}"


def _show_application(console: Console, done: Any) -> None:  # noqa: ANN401 - an application's result
    from ..apps.logistic_regression.infer import Inference

    console.print()
    if isinstance(done, Inference):
        for start in range(0, min(len(done.labels), 8), 4):
            shown = range(start, min(start + 4, len(done.labels)))
            words = ", ".join(f"{i}: {done.probabilities[i]:.4f}" for i in shown)
            console.print(f"held-out rows     {words}{', ..' if len(done.labels) > 8 and start == 4 else ''}")
        console.print(f"classes           {done.same} of {len(done.labels)} as by the model in the clear")
        console.print(
            f"right             {done.right} of {len(done.labels)} as labelled ({done.right / len(done.labels):.1%})"
        )
        console.print(f"probabilities     within {done.largest_difference:.1e} of the clear model's sigmoid")
    elif isinstance(done, Answer):
        shown = "  ".join(f"{value:.4g}" for value in done.found[:SHOWN])
        clear = "  ".join(f"{value:.4g}" for value in done.expected[:SHOWN])
        more = f"  .. {len(done.found):,} in all" if len(done.found) > SHOWN else ""
        console.print(f"decrypted         {shown}{more}")
        console.print(f"in the clear      {clear}{more}")
        if done.tolerance:
            console.print(f"largest error     {done.error:.1e} of the largest number (tolerated {done.tolerance:.0e})")
        if done.program.classifies:
            console.print(f"largest score     {done.found.index(max(done.found))}")
    else:
        console.print(f"query             {done.query!r} among {done.entries} encrypted entries")
        console.print(f"decrypted         [bold]{done.found or '(no such entry)'}[/]")
        console.print(f"in the clear      {done.expected or '(no such entry)'}")
    console.print()
    _show_common(console, done.run)
    if not done.correct:
        console.print("[bold red]wrong: the encrypted run differs from the clear one[/]")


def _show_common(console: Console, result: SlotRunResult) -> None:
    if result.scheme == "bgv":
        verdict = "equal to the clear program in every slot"
    else:
        name = max(result.error, key=lambda output: result.error[output])
        of = "" if result.bound_for == "any inputs" else f" for {result.bound_for}"
        verdict = f"within {result.error[name]:.1e} of the clear program (bound {result.bound[name]:.1e}{of})"
    if result.distance:
        verdict += f"; within {max(result.distance.values()):.1e} of its true functions, which polynomials stand for"
    style = "green" if result.correct else "bold red"
    console.print(f"result            [{style}]{verdict if result.correct else 'differs from the clear program'}[/]")
    facts, set_ = result.plan.facts, result.plan.facts["parameters"]
    console.print(
        f"parameters        {set_['name']}: degree {set_['ring_degree']}, logQP {set_['log2_q'] + set_['log2_p']:.0f}, "
        f"{security(set_['security_bits'])} bits of security; inputs at level {facts['start_level']}"
        + (", encrypted with a public key" if result.plan.public else "")
    )
    _, how_often = failure(result.scheme, facts["log2_failure"])
    console.print(
        f"fails             {how_often}" if result.scheme == "bgv" else f"bound             passed {how_often}"
    )
    sizes = result.sizes
    console.print(
        f"sizes             {len(facts['keys'])} switching keys {bytes_text(sizes['keys'])}, "
        f"inputs {bytes_text(sizes['inputs'])}, outputs {bytes_text(sizes['outputs'])}"
    )
    times = ", ".join(f"{name} {scaled(value, 's')}" for name, value in result.seconds.items())
    console.print(f"this run          {times}")
    if result.simulation is not None:
        console.print()
        result.simulation.print(console)
    if result.plan.key_switch is not None:
        console.print()
        result.plan.key_switch.print(console)
    if result.plan.measured:
        console.print()
        result.report.print(console)
        beyond = result.first_beyond
        if beyond is not None:
            console.print(f"[bold red]first beyond its bound: {beyond['op']} %{beyond['node']}, {beyond['place']}[/]")
