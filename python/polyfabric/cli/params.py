"""`polyfabric params`: the table of parameter sets."""

from __future__ import annotations

from math import ceil
from typing import Any

import click
from rich.table import Table

from .. import _native
from ..accelerators.machine import load
from ..errors import InputError, ParameterError
from ..host.names import near_names
from ..host.progress import bars, working
from ..host.units import bytes_text, probability, security
from ..reports.tables import print_table
from ..schemes import gpu
from ..schemes.options import OWN, WIDTHS
from ..schemes.parameters import ParameterSet, named
from ..schemes.slot_parameters import SlotParameters, is_file, parameter_sets
from ..studies.lookup_trials import trials
from .console import grid, out, print_json, styled, warning_line
from .params_gpu import show_gpu_elements, show_gpu_slots

MOST_MESSAGE_BITS = 6
"""Largest message of a lookup with any set."""
MOST_LOOKUPS = 10**8
"""Months of work, and a count that fits every integer type involved."""
GPU = "gpu"
"""This computer's graphics card. It has no fixed-point widths."""


@click.command()
@click.argument("name", required=False)
@click.option(
    "--on",
    "machine",
    metavar="MACHINE",
    help="Judge the sets with this machine's widths; for gpu, list the supported sets and their best speed. With --replay, also M1,M2,..",
)
@click.option(
    "--replay",
    "lookups",
    type=click.IntRange(1, MOST_LOOKUPS),
    metavar="COUNT",
    help="With --on: execute COUNT lookups of every set, or of NAME, by the machine's schedule, on fresh ciphertexts.",
)
@click.option(
    "--message-bits",
    type=click.IntRange(1, MOST_MESSAGE_BITS),
    metavar="BITS",
    help="With --replay: message bits, whether or not the set supports them.",
)
@click.option(
    "--widths",
    type=click.Choice(WIDTHS),
    default=OWN,
    help="With --replay: use the file's widths, or those derived for each set.",
)
@click.option(
    "--scheme",
    type=click.Choice(["tfhe", "ckks", "bgv"]),
    help="List the sets of this scheme; default: of all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
@click.option("--toys", is_flag=True, help="Include the insecure sets that only tests use.")
def params(
    name: str | None,
    *,
    machine: str | None,
    lookups: int | None,
    message_bits: int | None,
    widths: str,
    scheme: str | None,
    as_json: bool,
    toys: bool,
) -> None:
    """List the parameter sets with security, message space and failure probability; or show NAME.

    NAME is also a file.toml of yours, with a set of CKKS or BGV.
    """
    if scheme not in (None, "tfhe") and (lookups is not None or machine not in (None, GPU)):
        raise InputError(f"only TFHE's sets have lookups and their widths; leave --scheme {scheme} out")
    if name is not None and machine not in (None, GPU) and is_file(name):
        raise InputError(f"{name} is a set of CKKS or BGV, which no machine's widths affect; leave --on {machine} out")
    if lookups is not None:
        if machine is None:
            raise InputError("--replay executes lookups on machines; name them with --on")
        machines = machine.split(",")
        if GPU in machines:
            raise InputError(
                "--replay executes lookups by a machine's schedule, and gpu has none; leave it out, or execute a program on the card with "
                "`polyfabric run pbs --on gpu`"
            )
        with bars() as progress:
            done = trials(machines, name, lookups=lookups, bits=message_bits, widths=widths, progress=progress)
        if as_json:
            print_json(done.to_dict())
        else:
            done.print(out())
        return
    if message_bits is not None or widths != OWN:
        raise InputError("--message-bits and --widths apply to executed lookups; add --replay COUNT")
    if machine is not None and machine != GPU:
        with working(f"measuring {machine}'s arithmetic on every set"):
            of = load(machine)
            if of.on_slots:
                raise InputError(
                    f"{machine} executes programs of CKKS and BGV, whose sets its widths do not affect; name a machine of TFHE, or list "
                    "those sets with --scheme"
                )
            measured = of.findings()
        found = [f for f in measured if name in (None, f["set"])]
        if name is not None and not found:
            raise InputError(
                f"set `{named(name).name}` is not supported by `{machine}` ({', '.join(f['set'] for f in measured)}): name one of "
                "them, or a machine of the set's width"
            )
        if as_json:
            print_json(found)
        else:
            _findings(machine, found)
        return
    on_slots = _on_slots(name, scheme, toys=toys)
    if machine is not None:
        if on_slots is not None:
            findings, show = gpu.slot_findings(on_slots), show_gpu_slots
        else:
            findings, show = gpu.element_findings(_on_elements(name, toys=toys)), show_gpu_elements
        if as_json:
            print_json(findings)
        else:
            show(findings)
        return
    if on_slots is not None:
        if as_json:
            print_json(on_slots[0] if name is not None else on_slots)
        else:
            _slot_sets(on_slots, detailed=name is not None)
        return
    if name is not None:
        try:
            chosen = named(name)
        except ParameterError:
            near = near_names(name, [own.name for own in parameter_sets(scheme, toys=True)])
            remedy = f"did you mean {' or '.join(near)}?" if near else "`polyfabric params` lists all"
            raise ParameterError(f"no parameter set is called {name!r}; {remedy}") from None
        if as_json:
            print_json(chosen.to_dict())
        else:
            _detail(chosen)
        return
    sets = _on_elements(None, toys=toys)
    others = [] if scheme == "tfhe" else [*parameter_sets("ckks", toys=toys), *parameter_sets("bgv", toys=toys)]
    if as_json:
        print_json([s.to_dict() for s in [*sets, *others]])
        return
    print_table(out(), _table(sets))
    out().print(
        "\nn: LWE dimension, 250·3 in blocks of three bits with at most one 1 each; k: GLWE dimension; N: ring degree; β^l: base and levels of the gadget of bootstrapping; β_k^l_k: of the key switch.\n"
        f"message bits: the widest padded message whose lookup fails with probability 2^{_native.DEFAULT_FAILURE_LOG2:.0f} at most (the default), fresh (direct) "
        "and after a key switch (chained); next to it its failure probability (of one bit if no message fits).\n"
        "security: the smaller of the published curves' and the lattice estimator's.\nSets under 128 bits run only when named."
    )
    for own in filter(None, ([s for s in others if s.scheme == name] for name in ("ckks", "bgv"))):
        out().print()
        _slot_sets([s.to_dict() for s in own], detailed=False)


def _on_elements(name: str | None, *, toys: bool) -> list[ParameterSet]:
    """The named set of TFHE, or all."""
    return [named(name)] if name is not None else parameter_sets("tfhe", toys=toys)


def _on_slots(name: str | None, scheme: str | None, *, toys: bool) -> list[dict[str, Any]] | None:
    """The named set of CKKS or BGV (a name or a file), or all of `scheme`; `None` if the command lists TFHE's."""
    if name is None:
        if scheme in (None, "tfhe"):
            return None
        return [found.to_dict() for found in parameter_sets(scheme, toys=toys)]
    if is_file(name):
        found = [SlotParameters.load(name).to_dict()]
    else:
        variant = SlotParameters.named(name)
        found = [] if variant is None else [variant.to_dict()]
    own = found[0]["scheme"] if found else "tfhe"
    if scheme not in (None, own):
        raise InputError(f"{name} is a set of {own.upper()}, not of {scheme.upper()}; leave --scheme out")
    return found or None


def _table(sets: list[ParameterSet]) -> Table:
    table = grid(
        "TFHE", "torus", "n", "k", "N", "β^l", "β_k^l_k", "security", "direct", "fails", "chained", "fails ", "keys"
    )
    for s in sets:
        d = s.to_dict()
        switch = d["key_switch_gadget"]
        direct, chained = d["direct"], d["chained"]
        table.add_row(
            s.name,
            str(d["torus_bits"]),
            str(d["lwe_dimension"])
            if s.native.block == 1
            else f"{d['lwe_dimension'] // s.native.block}·{s.native.block}",
            str(d["glwe_dimension"]),
            str(d["ring_degree"]),
            f"2^{d['bootstrap_gadget']['log2_base']}·{d['bootstrap_gadget']['levels']}",
            "-" if switch is None else f"2^{switch['log2_base']}·{switch['levels']}",
            security(d["security_bits"]) if d["security_bits"] else "unknown",
            bits_text(direct["message_bits"]),
            probability(direct["log2_failure"], digits=0),
            "-" if chained is None else bits_text(chained["message_bits"]),
            "-" if chained is None else probability(chained["log2_failure"], digits=0),
            bytes_text(d["key_bytes"]),
        )
    return table


def _slot_sets(sets: list[dict[str, Any]], *, detailed: bool) -> None:
    table = grid(
        sets[0]["scheme"].upper(),
        "N",
        "slots",
        "levels",
        "limbs",
        "logQ",
        "logP",
        "digits",
        "scale or t",
        "security",
        "estimator",
        "family",
    )
    for s in sets:
        scale = f"2^{s['scale_log2']:.0f}" if s["scheme"] == "ckks" else str(s["plaintext_modulus"])
        figures = (s["ring_degree"], s["slots"], s["levels"], f"{s['limbs']} + {s['special_limbs']}")
        table.add_row(
            s["name"],
            *map(str, figures),
            f"{s['log2_q']:.0f}",
            f"{s['log2_p']:.0f}",
            str(s["digits"]),
            scale,
            security(s["security_bits"]) if s["security_bits"] else "unknown",
            _estimated(s["estimated_bits"]),
            s["family"],
        )
    print_table(out(), table)
    if not detailed:
        out().print(
            "\nN: ring degree; logQ, logP: bits of the ciphertext modulus and of the key switch's; limbs: of both; digits: of the key switch.\n"
            "security: the smaller of the published tables' and the lattice estimator's; estimator: its result, or - if it was not run.\n"
            "Sets under 128 bits run only when named."
        )
        return
    chosen = sets[0]
    if chosen["note"]:
        out().print(f"\n{chosen['note']}")
    out().print(
        f"\na fresh ciphertext {bytes_text(chosen['ciphertext_bytes'])}; a switching key {bytes_text(chosen['key_bytes'])}, "
        f"{bytes_text(chosen['transport_key_bytes'])} to send"
    )
    out().print(f"security by {chosen['security_source']}")
    for figure, source in chosen["sources"].items():
        out().print(f"{figure}: {source}")
    if chosen["warning"] is not None:
        warning_line(chosen["warning"])


def _findings(machine: str, found: list[dict[str, Any]]) -> None:
    columns = ("set", "verdict", "transform noise", "measured", "message", "lookup fails", "with exact products")
    table = grid(*columns, left=2)
    for f in found:
        table.add_row(
            f["set"],
            verdict(f),
            f"2^{f['predicted_log2']:.1f}",
            f"2^{f['measured_log2']:.1f}",
            bits_text(f["message_bits"]),
            probability(f["log2_failure"]),
            probability(f["log2_failure_exact"]),
        )
    print_table(out(), table)
    out().print(
        f"\ntransform noise: standard deviation of the error that {machine}'s fixed-point transform adds to a coefficient in one "
        f"external product, as a fraction of the torus. fits: fails with 2^{_native.DEFAULT_FAILURE_LOG2:.0f} at most, the default; "
        "only 2^b: runs with --max-failure b; too coarse: fails with more than 2^-40."
    )


def verdict(found: dict[str, Any]) -> str:
    """Whether the machine runs a set's lookups: by default, with an accepted failure probability, or not at all."""
    if found["too_coarse"]:
        return "too coarse"
    if found["log2_failure"] > _native.DEFAULT_FAILURE_LOG2:
        return f"only {probability(ceil(found['log2_failure']), digits=0)}"
    return "fits"


def _estimated(bits: float | None) -> str:
    return "-" if bits is None else security(bits)


def bits_text(bits: int) -> str:
    """The width of a message."""
    return "none" if bits == 0 else f"{bits} bit{'s' if bits > 1 else ''}"


def _gadget(gadget: dict[str, int]) -> str:
    return f"2^{gadget['log2_base']}, {gadget['levels']} levels"


def _detail(chosen: ParameterSet) -> None:
    console = out()
    data = chosen.to_dict()
    console.print(styled((chosen.name, "bold"), f"  {data['note']}"))
    table = grid("figure", "value", "source", left=3)
    for key, value in data["figures"].items():
        shown = str(value)
        if key == "secret":
            shown = f"blocks of {value['block']} bits, at most one 1 each"
        elif key == "circuit":
            shown = "; ".join(f"{name} {_gadget(own)}" for name, own in value.items())
        elif isinstance(value, dict):
            shown = _gadget(value)
        table.add_row(key, shown, data["sources"].get(key, "-"))
    print_table(console, table)
    bits = data["security_bits"]
    console.print(f"security {security(bits)} bits" if bits else "security unknown", end="")
    claimed = data["claimed_security_bits"]
    stated = f"; its source states {claimed}" if claimed is not None else ""
    console.print(f"{stated}; the lattice estimator gives {_estimated(data['estimated_bits'])}")
    for way, carried in (("direct", data["direct"]), ("chained", data["chained"])):
        if carried is None:
            console.print(f"{way}: the set has no key switch")
        else:
            message = bits_text(carried["message_bits"])
            console.print(
                f"{way}: {message} within the default of 2^{_native.DEFAULT_FAILURE_LOG2:.0f}; 1 bit fails with {probability(carried['log2_failure_1_bit'])}"
                + (f", {message} with {probability(carried['log2_failure'])}" if carried["message_bits"] > 1 else "")
            )
    console.print(
        f"keys {bytes_text(data['key_bytes'])}: bootstrapping {bytes_text(data['bootstrap_key_bytes'])}, "
        + (
            f"key switch {bytes_text(data['key_switch_key_bytes'])}"
            if data["key_switch_key_bytes"] is not None
            else "no key switch"
        )
    )
    if data["warning"] is not None:
        warning_line(data["warning"])
