"""A user's machine file works like a built-in machine, and a wrong one is refused with place, values and remedy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polyfabric as pf
import pytest
from polyfabric.apps import programs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TORUS = EXAMPLES / "own-tfhe-machine.toml"
RNS = EXAMPLES / "own-rns-machine.toml"
SYSTOLIC = EXAMPLES / "own-systolic-machine.toml"
PAGE = (EXAMPLES.parent / "docs" / "your-own-machine.md").read_text(encoding="utf-8")


@pytest.mark.full
def test_an_encrypted_digit_is_classified_by_a_machine_of_no_paper(polyfabric):
    done = polyfabric("run", "digits", "--on", str(TORUS), "--json")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["correct"] is True
    assert found["machine"]["machine"] == "kingfisher"
    assert found["machine"]["saturations"] == 0


def test_it_is_listed_timed_and_priced(polyfabric):
    done = polyfabric("machines", str(TORUS))
    assert done.status == 0, done.err
    assert "units.multiply.accumulates" in done.out
    common = ("simulate", "pbs+ks", "--params", "strix-I", "--max-failure", "0", "--batch", "64", "--json", "--on")
    report = json.loads(polyfabric(*common, str(TORUS)).out)
    assert report["area_mm2"] == pytest.approx(pf.load_machine(str(TORUS)).native.area())
    assert report["energy_j"] > report["off_chip_energy_j"] > 0
    parts = {part["name"]: part for part in report["components"]}
    shares = [share for name, share in report["utilisation"].items() if name.endswith(".local")]
    assert parts["local"]["activity"] == pytest.approx(sum(shares) / len(shares))
    assert parts["forward_transforms"]["activity"] == report["utilisation"]["fft"]


@pytest.mark.parametrize(("file", "unit"), [(TORUS, "decomposer"), (RNS, "ntt")], ids=["tfhe", "rns"])
def test_activities_are_resolved_when_the_file_is_read(file, unit, polyfabric, tmp_path):
    text = file.read_text()
    assert f'activity = ["{unit}"]' in text
    (tmp_path / "own.toml").write_text(text.replace(f'activity = ["{unit}"]', f'activity = ["{unit}s"]'))
    done = polyfabric("machines", "own.toml")
    assert done.status != 0
    message = " ".join(done.err.split())
    assert f'activity`: the schedule has no unit class, channel class or memory "{unit}s". Choose from: ' in message
    assert f" {unit}," in message


def finch() -> tuple[str, str]:
    """The machine of the page for one's own machines, and the component that the page appends to it."""
    shown = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    assert len(shown) == 2
    return shown[0], shown[1]


def cycles(file, text):
    file.write_text(text)
    machine = pf.load_machine(str(file))
    return machine.simulate(programs.timed("pbs", "toy-256", 4, machine))["cycles"]


def test_lanes_of_a_stage_have_the_counts_on_the_page(tmp_path):
    text, _ = finch()
    rows = re.findall(r"^\|[^|]*\| ((?:`\w+`,? ?)+)\| (coefficients|points) \|", PAGE, re.M)
    counted = {stage: what for stages, what in rows for stage in re.findall(r"`(\w+)`", stages)}
    assert set(counted) == {"rotator", "decomposer", "forward", "inverse", "multiply", "accumulator"}
    own, lanes = cycles(tmp_path / "finch.toml", text), 4
    for stage, what in counted.items():
        for share, same in ((1, True), (2, False)):
            # With folding a point is two coefficients. Slow stages need room for what they hold: more latency.
            given = (2 if what == "coefficients" else 1) * lanes // share
            latency = "" if same else 'latency = { value = 200, unit = "cycles", source = "chosen" }\n'
            table = f'[units.{stage}]\nlanes = {{ value = {given}, unit = "lanes", source = "chosen" }}\n{latency}'
            found = cycles(tmp_path / "finch.toml", f"{text}\n{table}")
            assert (found == own) is same, stage


def test_the_component_of_the_page_gives_area_and_with_the_memorys_energy_energy(tmp_path):
    text, component = finch()
    file = tmp_path / "finch.toml"
    for energy, known in (('"unknown"', False), ("3.9", True)):
        file.write_text(text.replace('energy = { value = "unknown"', f"energy = {{ value = {energy}") + component)
        machine = pf.load_machine(str(file))
        report = machine.simulate(programs.timed("pbs", "toy-256", 4, machine))
        assert report["area_mm2"] == 3
        assert (report["energy_j"] is not None) is known
    for key in ("area", "power", "idle_share", "activity"):
        file.write_text(text + re.sub(rf"^{key} = .*\n", "", component, flags=re.M))
        with pytest.raises(pf.errors.MachineError, match=f"missing field `{key}`"):
            pf.load_machine(str(file))
    for key, refused in (("area", False), ("power", False), ("idle_share", True)):
        file.write_text(
            text + re.sub(rf"^{key} = {{ value = [^,]+", f'{key} = {{ value = "unknown"', component, flags=re.M)
        )
        if refused:
            with pytest.raises(pf.errors.MachineError, match="unknown"):
                pf.load_machine(str(file))
        else:
            assert None in (pf.load_machine(str(file)).native.area(), pf.load_machine(str(file)).native.power())
    for key in ("count", "size"):
        file.write_text(text + re.sub(rf"^{key} = .*\n", "", component, flags=re.M))
        assert pf.load_machine(str(file)).native.area() == 3


@pf.program(x=pf.Real.vector(64))
def cube(x):
    return x * x * x


def test_a_custom_set_is_made_for_the_other_example_as_on_the_page():
    words = re.findall(r'`(primes = "[^`]+"|pair_bits)`', PAGE)
    assert words == ['primes = "1-mod-2^16"', "pair_bits"]
    common = {"ring_degree": 16384, "gadget": {"hybrid": {"digit_limbs": 2}}, "noise_std": 3.2, "scale_log2": 56}
    chain = {"q": [{"pair_bits": 62}, {"pair_bits": 56, "count": 3}], "p": [{"bits": 31, "count": 3}]}
    fields = {"secret": "uniform-ternary", **common, **chain}
    made = pf.SlotParameters.of("ckks", name="own-32", primes="1-mod-2^16", **fields)
    assert cube.simulate(str(RNS), parameters=made)["parameters"] == "own-32"
    with pytest.raises(pf.errors.MachineError, match="below 2\\^32 that are 1 modulo 2\\^16"):
        cube.simulate(str(RNS), parameters=pf.SlotParameters.of("ckks", name="own-any", **fields))


def test_groups_of_systolic_units_share_the_work(tmp_path):
    product = pf.program(a=pf.Mod(65537).matrix(2, 2))(lambda a: a @ a)
    done = product.run({"a": [[3, 5], [70, 11]]}, on=str(SYSTOLIC))
    assert done.value == [[359, 70], [980, 471]]
    text = SYSTOLIC.read_text()
    seconds, areas = [], []
    for groups in (1, 2):
        (tmp_path / "own.toml").write_text(
            text.replace("count = { value = 2, unit", f"count = {{ value = {groups}, unit", 1)
        )
        report = cube.simulate(str(tmp_path / "own.toml"))
        seconds.append(report["seconds"])
        areas.append(report["area_mm2"])
    assert seconds[1] <= seconds[0]
    assert areas[1] > areas[0]


def test_a_path_is_as_good_as_its_text():
    assert pf.load_machine(TORUS).argument == str(TORUS)
    assert pf.load_machine(TORUS).to_dict() == pf.load_machine(str(TORUS)).to_dict()


def test_a_machine_of_unknown_parts_has_no_table_of_them(polyfabric, tmp_path):
    text = TORUS.read_text()
    (tmp_path / "bare.toml").write_text(text[: text.index("[component_clock]")])
    simulate = ("simulate", "pbs", "--params", "toy-256", "--max-failure", "0", "--batch", "4", "--on")
    assert "area and energy by component" in polyfabric(*simulate, str(TORUS)).out
    done = polyfabric(*simulate, "bare.toml")
    assert "area unknown" in " ".join(done.out.split())
    assert "area and energy by component" not in done.out


def test_its_area_and_energy_follow_a_sweep(polyfabric):
    axis = "units.core.lanes=4,16;channels.key_bus.rate=1024,4096"
    common = ("--programs", "pbs+ks@strix-I", "--axis", axis, "--jobs", "1", "--json")
    done = polyfabric("explore", str(TORUS), *common)
    assert done.status == 0, done.err
    own, narrow, wide = json.loads(done.out)["points"]
    assert narrow["area_mm2"] < own["area_mm2"] < wide["area_mm2"]
    assert narrow["performance"] < own["performance"] < wide["performance"]
    done = polyfabric(
        *(
            "explore",
            str(TORUS),
            "--programs",
            "pbs@strix-I",
            "--axis",
            "units.pipeline.adder=2",
            "--jobs",
            "1",
            "--json",
        )
    )
    other = json.loads(done.out)["points"][1]
    assert (done.status, other["area_mm2"], other["pareto"]) == (0, None, False), done.err
    assert 'those of `units.pipeline.adder` = "1 cycles", not of 2 cycles' in other["area_cause"]


@pytest.mark.full
def test_half_an_f1_runs_a_program_and_reports_reloaded_data(polyfabric):
    common = ("simulate", "permute", "--on", str(RNS), "--params", "12", "--batch", "8")
    report = json.loads(polyfabric(*common, "--json").out)
    traffic = report["traffic_bytes"]
    again = ("hints_again", "inputs_again", "intermediate_loads", "intermediate_stores")
    assert report["not_compulsory_bytes"] == sum(traffic[name] for name in again)
    assert "not compulsory" in polyfabric(*common).out
    whole = json.loads(polyfabric(*(*common[:3], "f1", *common[4:]), "--json").out)
    assert report["area_mm2"] < whole["area_mm2"]
    assert report["cycles"] >= whole["cycles"]


@pytest.mark.parametrize(
    ("file", "change", "expected"),
    [
        (
            TORUS,
            ("[units.inverse]", "[units.invers]"),
            "mine.toml: `units.invers.count` is no figure of `torus-pipeline`. Did you mean `units.inverse.count`?",
        ),
        (
            TORUS,
            ("accumulates = { value = true", "accumulates = { value = false"),
            "mine.toml: `units.inverse.count` is 1 and `units.multiply.accumulates` is 0: ",
        ),
        (
            TORUS,
            (
                "[memories.global]",
                '[memories.global]\nread_rate = { value = 8, unit = "bytes/cycle", source = "chosen" }',
            ),
            "mine.toml: `memories.global.read_rate` is 8 and at least 707 are needed",
        ),
        (
            TORUS,
            ("[units.core]\ncount = { value = 4", "[units.core]\ncount = { value = 1000000000"),
            "mine.toml, `units.core.count` = 1000000000: the streaming cores, TvLP lies between 1 and 64 units. "
            "Correct the value",
        ),
        (
            TORUS,
            ('source = "chosen: sums side by side"', 'source = ""'),
            "mine.toml, `units.switch.columns` = 8: no source is given. Name the paper and place",
        ),
        (
            TORUS,
            ("largest_ring = { value = 4096", "largest_ring = { value = 512"),
            "choose a set with a smaller ring, or enlarge `units.core.largest_ring` in the machine file",
        ),
        (
            RNS,
            ("lanes = { value = 128", "lanes = { value = 100"),
            "mine.toml: `units.cluster.lanes` is 100 and `memories.register_file.banks` is 8: lanes are a power of two",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_place_values_and_remedy(polyfabric, tmp_path, file, change, expected):
    text = file.read_text()
    assert change[0] in text
    (tmp_path / "mine.toml").write_text(text.replace(*change, 1))
    done = polyfabric("simulate", "pbs", "--on", "mine.toml", "--params", "strix-I", "--max-failure", "0")
    assert done.status == 2
    assert done.out == ""
    assert expected in " ".join(done.err.split())


@pytest.mark.parametrize("name", ["", "  ", "../../x", "..", "a\\\\b", "a\\u202eb"])
def test_a_name_that_is_none_is_refused(polyfabric, tmp_path, name):
    (tmp_path / "mine.toml").write_text(TORUS.read_text().replace('"kingfisher"', f'"{name}"', 1))
    done = polyfabric("machines", "mine.toml")
    assert done.status == 2
    assert "; give one of letters, digits and dashes" in done.err


@pytest.mark.parametrize("where", ['"kingfisher', 'title = "', 'source = "'])
def test_terminal_control_characters_are_rejected(polyfabric, tmp_path, where):
    (tmp_path / "mine.toml").write_text(TORUS.read_text().replace(where, f"{where}\\u001b[31m", 1))
    done = polyfabric("machines", "mine.toml")
    assert (done.status, "\x1b" in done.err) == (2, False)
    assert "has a character that steers a terminal; remove it" in " ".join(done.err.split())


def test_texts_of_files_are_printed_without_markup(polyfabric, tmp_path):
    text = TORUS.read_text().replace('"kingfisher"', '"[red]king[green]"', 1)
    text = text.replace('title = "Kingfisher', 'title = "[bold] x', 1).replace('source = "', 'source = "[see 3] ')
    (tmp_path / "mine.toml").write_text(text.replace('title = "[bold] x', 'title = "[/bold] x'))
    done = polyfabric("machines", "mine.toml")
    assert done.status == 0, done.err
    assert "[red]king[green]  [/bold] x" in done.out
    assert "[see 3] chosen" in done.out
    simulated = polyfabric("simulate", "pbs+ks", "--params", "strix-I", "--max-failure", "0", "--on", "mine.toml")
    assert simulated.status == 0, simulated.err
    assert "[red]king[green]" in simulated.out


def test_without_a_set_a_built_in_program_takes_one_that_the_machine_holds(polyfabric):
    # The usual set has ciphertexts of three polynomials, and this machine multiplies two columns.
    usual = polyfabric("simulate", "pbs", "--on", str(TORUS), "--params", programs.DEFAULT_SET_ON_MACHINE)
    assert usual.status == 2
    assert "the accumulator has 3 polynomials" in usual.err
    for command in ("simulate", "run"):
        done = polyfabric(command, "pbs", "--on", str(TORUS), "--json")
        assert done.status == 0, done.err
        found = json.loads(done.out)
        report = found.get("machine", found) if command == "run" else found
        assert report["machine"] == "kingfisher"
        assert report["parameters"].startswith("polyfabric-")
        assert found.get("correct", True) is True
    assert report["saturations"] == 0
    assert programs.default_set("pbs", pf.load_machine("morphling")) == programs.DEFAULT_SET_ON_MACHINE
