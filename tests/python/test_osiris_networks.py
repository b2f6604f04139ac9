"""LeNet and ResNet-20 equal convolutions in the clear, and their schedules give the paper's rows."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
import polyfabric as pf
import pytest
from polyfabric.accelerators.machine import load
from polyfabric.apps import lenet, multiplexed, orion, resnet20
from polyfabric.errors import MachineError, SecurityWarning
from polyfabric.papers import osiris_networks, osiris_roofline
from polyfabric.reports import Report
from polyfabric.run.execution import plan
from polyfabric.run.repeated_rounds import Body, Folded, Round, RoundProgram, simulated
from rejects import rejects

SMALL_LENET = lenet.Shape(side=8, frame=8, window=3, maps=(2, 8), hidden=8, classes=3, slots=128)
SMALL = resnet20.Shape(side=4, colours=1, channels=(2, 4), blocks=1, classes=3, degrees=(7, 7), gap=2.0**-3, whole=1)
"""Two stages of a block each: every kind of layer, and a bootstrap in each rectifier and between layers."""
REDUCED = "toy-12-boot-osiris-IV"


def applied(diagonals, vector):
    tiled = {offset: np.tile(values, len(vector) // len(values)) for offset, values in diagonals.items()}
    return sum(values * np.roll(vector, -offset) for offset, values in tiled.items())


@pytest.mark.parametrize(
    ("before", "channels", "stride", "window"),
    [
        (multiplexed.Packing(3, 4, 8, 2), 5, 1, 3),
        (multiplexed.Packing(3, 4, 8, 2), 20, 2, 3),
        (multiplexed.Packing(4, 8, 8), 4, 1, 3),
        (multiplexed.Packing(2, 7, 8), 8, 2, 5),
    ],
)
def test_a_convolution_is_a_matrix_from_packing_to_packing(before, channels, stride, window):
    generator = np.random.default_rng(0)
    kernels = generator.normal(size=(channels, before.channels, window, window))
    image = generator.normal(size=(before.channels, before.side, before.side))
    found = applied(multiplexed.convolution(kernels, before, stride), before.packed(image, 2048))
    expected = multiplexed.convolved(kernels, image, stride)
    side = before.side // stride
    assert np.allclose(found, before.after(channels, stride).packed(expected[:, :side, :side], 2048))


def test_diagonals_are_those_of_the_packing():
    counts = {name: len(diagonals) for name, diagonals in resnet20.matrices().items()}
    # Taps and distances of channels: 9 x 16 shifts, then (2 + 2·3 - 1)² x 8, then (3·4 + 3)² x 4 of gaps of 2 and 4.
    assert counts["stage 1, block 2, first"] == 9 * 16
    assert counts["stage 2, block 2, first"] == 7**2 * 8
    assert counts["stage 3, block 2, first"] == 15**2 * 4
    assert (counts["stem"], counts["stage 2, block 1, first"], counts["stage 3, block 1, first"]) == (36, 256, 648)


def test_a_matrix_takes_fewer_rotations_than_channels_by_themselves():
    found = resnet20.rotations()
    one = found["stage 1, block 1, first"]
    # No steps of 144 diagonals are fewer than 12 x 12; by channels: 8 taps, 4 sums for each of 8 pairs of results, 15 places, 1 copy.
    assert 11 + 11 <= one.as_matrix <= 15 + 9
    assert one.by_channels == 8 + 8 * 4 + 15 + 1
    # 16 groups of 4 of 64 results; each sums two rows, two columns and four frames of eight channels.
    strided = found["stage 3, block 1, first"]
    assert strided.by_channels == 8 + 16 * (1 + 1 + 3) + 63 + 3
    assert [sum(getattr(each, way) for each in found.values()) for way in ("as_matrix", "by_channels")] == [764, 1638]


@pytest.mark.parametrize(
    ("parameters", "slots"), [(REDUCED, 1 << 11), pytest.param("osiris-bootstrap", 1 << 15, marks=pytest.mark.full)]
)
def test_a_bootstrap_of_half_the_slots_is_shorter(parameters, slots):
    @pf.program(x=pf.Complex.vector(slots))
    def refreshed(x):
        return x.at_level(0).bootstrap()

    @pf.program(x=pf.Complex.vector(slots))
    def half(x):
        return x.at_level(0).bootstrap(slots=slots // 2)

    machine = load("osiris", ["hoisting=double"])
    times = [
        machine.simulate(plan(program, parameters, machine=machine, key_switch="set", security=0)).to_dict()
        for program in (half, refreshed)
    ]
    assert times[0]["seconds"] < times[1]["seconds"]
    for report in times:
        assert report["lower_bound_cycles"] <= report["cycles"]
        # Diagonals come as one limb of 40 bits: memory has nothing but inputs, outputs, keys and those.
        assert parameters != REDUCED or report["traffic_bytes"]["inputs_outputs"] < 2**22


def test_lenet_is_the_network_of_windows_encrypted_too():
    weights, image = lenet.Weights.drawn(SMALL_LENET), lenet.drawn_image(SMALL_LENET, np.random.default_rng(1))
    with pytest.warns(SecurityWarning):
        done = lenet.lenet(SMALL_LENET).run(lenet.image_input(SMALL_LENET, image), parameters="osiris-II")
    assert done.correct
    assert np.allclose(done.outputs["scores"], lenet.scores(weights, image), atol=2.0**-15)


@pytest.mark.full
def test_lenet_takes_the_levels_of_its_set():
    planned = plan(lenet.lenet(), "osiris-II", machine=load("osiris"), key_switch="set", security=0)
    assert planned.facts["start_level"] == 7


@pytest.fixture(scope="module")
def image():
    return resnet20.drawn_image(SMALL, np.random.default_rng(11))


def test_resnet_is_the_network_of_windows_encrypted_too(image):
    with pytest.warns(SecurityWarning):
        done = resnet20.resnet20(SMALL).run(resnet20.image_input(SMALL, image), parameters=REDUCED)
    assert done.correct
    assert max(done.error.values()) < 2**-20
    assert max(done.bound.values()) < 0.02
    expected = resnet20.scores(SMALL, resnet20.Weights.drawn(SMALL), image)
    # True rectifiers, where these polynomials leave a thirtieth.
    assert np.allclose(done.outputs["scores"], expected, atol=0.03)


@pytest.mark.full
def test_resnets_schedule_is_checked():
    """A test below also checks one stage, together with its rounds."""
    with pytest.warns(SecurityWarning):
        found, facts = scheduled(resnet20.resnet20(SMALL))
    assert found["lower_bound_cycles"] <= found["cycles"]
    assert sum(node["op"] == "bootstrap" for node in facts["nodes"]) == 9


def test_parts_one_behind_the_other_are_the_network(image):
    parts = {part.name: part for part in resnet20.parts(SMALL)}
    assert list(parts) == ["stem", "stage1-block", "stage2-first", "head"]
    value = resnet20.image_input(SMALL, image)["image"]
    for part in parts.values():
        value = part.program(SMALL).clear(image=value)
    whole = resnet20.resnet20(SMALL).clear(resnet20.image_input(SMALL, image))["scores"]
    assert np.allclose(value, whole, atol=1e-9)


def test_parts_have_all_blocks_of_the_paper():
    counts = [part.count for part in resnet20.parts() if part.name not in ("stem", "head")]
    assert (sum(counts), len(resnet20.Shape().places)) == (9, 9)


def scheduled(program, parameters=REDUCED):
    """The report on a program's schedule without loops, and the facts of its plan."""
    machine = load("osiris")
    planned = plan(program, parameters, machine=machine, key_switch="set", security=0)
    return machine.simulate(planned).to_dict(), planned.facts


def folded(network, parameters):
    """A program's rounds as one schedule, and each body by itself."""
    alone = [scheduled(body.build(), parameters)[0] for body in network.bodies]
    return simulated(network, parameters, load("osiris")), alone


def test_rounds_are_scheduled_as_one_with_the_time_of_their_bodies():
    """Of one stage, with two blocks: a loop."""
    shape = replace(SMALL, channels=(2,), blocks=2)
    network = resnet20.rounds(shape)
    assert [one.body for one in network.rounds] == [0, 1, 1, 2]
    with pytest.warns(SecurityWarning):
        found, alone = folded(network, REDUCED)
    flat, facts = scheduled(resnet20.resnet20(shape))
    report = found.report.to_dict()
    assert report["cycles"] == sum(alone[one.body]["cycles"] for one in network.rounds)
    assert report["events"] == sum(alone[one.body]["events"] for one in network.rounds)
    assert found.held_events == sum(one["events"] for one in alone)
    assert report["traffic_bytes"]["total"] == sum(alone[one.body]["traffic_bytes"]["total"] for one in network.rounds)
    assert [part["cycles"] for part in found.parts] == [one["cycles"] for one in alone]
    # Keys that all rounds read are the network's once, as they are where it has no loops.
    assert report["traffic_bytes"]["hints"] == flat["traffic_bytes"]["hints"]
    in_all = found.to_dict()["bootstraps"]
    assert in_all == sum(facts["bootstraps"]["in_all"] for facts in found.facts) + 4 == 9
    # Where it has no loops, that is a schedule which was checked, and has as many.
    assert flat["lower_bound_cycles"] <= flat["cycles"]
    assert sum(node["op"] == "bootstrap" for node in facts["nodes"]) == in_all


def test_rounds_have_the_security_that_is_asked_for():
    with rejects(pf.errors.ParameterError, "128"):
        simulated(resnet20.rounds(SMALL), REDUCED, load("osiris"), security=128)


def test_rounds_end_at_the_level_at_which_the_next_begin():
    network = resnet20.rounds(replace(SMALL, channels=(2,)))
    wrong = RoundProgram("wrong", network.bodies, [Round(1), Round(0)])
    with pytest.warns(SecurityWarning), pytest.raises(pf.errors.MachineError, match="end each round at the level"):
        simulated(wrong, REDUCED, load("osiris"))


def test_blocks_of_a_stage_are_alike():
    shape = resnet20.Shape(side=8, channels=(2, 4), blocks=3)
    found = resnet20.matrices(shape)
    for stage, blocks in (("stage 1", (1, 2, 3)), ("stage 2", (2, 3))):
        for place in ("first", "second"):
            offsets = [set(found[f"{stage}, block {block}, {place}"]) for block in blocks]
            assert all(other == offsets[0] for other in offsets)


def report(seconds=1e-3):
    return {
        "seconds": seconds,
        "cycles": 1e6,
        "stalls": {"key_switch_key": 1.0, "other_transfer": 1.0, "busy": 2.0},
        "traffic_bytes": {"total": 1e9, "hints": 4e8, "hints_again": 1e8},
        "utilisation": {"ntt": 0.5},
        "energy_j": 0.1,
        "off_chip_energy_j": 0.04,
    }


FACTS = {
    "key_switches": [{"key": "k", "count": 2}],
    "nodes": [{"op": "bootstrap"}],
    "limb_operations": {"multiplies": 1000},
    "parameters": {"ring_degree": 65536},
}


def test_multiplications_are_those_of_the_units():
    work = osiris_roofline.Multiplications()
    work.schedule(65536, report())
    work.program(2, FACTS)
    # Both NTT units take 512 residues a cycle, half of the time; a residue passes 16 stages of one multiplier each.
    assert work.transforms == 2 * 512 * 0.5 * 1e6 * 16
    assert work.products == 2 * 65536 * 1000
    rows = osiris_roofline.roofline("x", "double", "2TB", work, 1e-3, [], "known")
    assert [row["value"] for row in rows[:2]] == [work.all / 1e9, work.all / 1e9]
    assert rows[2]["value"] == pytest.approx(100 * work.all / (512 * 73 * 1e6))


def test_the_roofline_has_a_point_for_each_schedule_under_its_roof():
    rows = []
    for bandwidth in ("1TB", "2TB"):
        work = osiris_roofline.Multiplications()
        work.add(FACTS, report())
        for name, hoisting in (("ResNet-20", "double"), ("ResNet-20", "none"), ("LeNet", "double"), ("LeNet", "none")):
            made = osiris_roofline.roofline(name, hoisting, bandwidth, work, 1e-3, [], "known")
            rows += [
                {"table": row["beside"][0], "cell": row["beside"][1], "unit": row["beside"][2], "model": row["value"]}
                for row in made
            ]
    ((_, figure),) = osiris_roofline.drawings(rows)
    for axes, named in zip(figure.axes, ({"ResNet-20", "LeNet"}, {"double", "none"}), strict=True):
        assert {text.get_text() for text in axes.texts} == named
        marks = [line for line in axes.lines if line.get_marker() == "o"]
        roofs = [line for line in axes.lines if line.get_marker() != "o"]
        assert (len(marks), [roof.get_label() for roof in roofs]) == (4, ["1 TB/s", "2 TB/s"])
        assert max(roofs[0].get_ydata()) == pytest.approx(512 * 73 / 1e3)
        # A roof rises by its bandwidth: T multiplications a second of so many a byte.
        (at, *_), (height, *_) = roofs[1].get_data()
        assert height == pytest.approx(2 * at)
        # A schedule's operations per second are its intensity times its bytes per second.
        assert marks[0].get_ydata()[0] == pytest.approx(work.all / 1e-3 / 1e12)
        assert marks[0].get_xdata()[0] == pytest.approx(work.all / 1e9)
    assert osiris_roofline.drawings(rows[:1]) == []


def test_names_of_points_that_are_close_stand_apart():
    points = [(2.8, 2.42), (2.83, 2.43), (5.0, 2.42), (2.8, 2.42)]
    wide, high = osiris_roofline._ROOM
    places = osiris_roofline._apart(points, [], 1)
    assert [x for x, _ in places] == [x for x, _ in points]
    # The one that has the room to itself is where its point is.
    assert places[2] == points[2]
    close = [y for x, y in places if abs(x - 2.8) < wide]
    assert all(abs(a - b) >= high for number, a in enumerate(close) for b in close[:number])
    assert all(-3.5 * high < place[1] - point[1] <= 0 for place, point in zip(places, points, strict=True))


def test_the_rooflines_machine_is_the_file():
    figure = osiris_networks.accelerators.load("osiris").native.figure
    stages, lanes = figure("units.ntt.stages"), figure("units.ntt.lanes")
    # A lane has a multiplier and a twiddle's in each stage of both NTT units, four in each cell of the Hadamard unit, one in each of the base conversion's, and one that changes the modulus.
    multipliers = 2 * stages + 4 * figure("units.hadamard.count") * figure("units.hadamard.height")
    multipliers += figure("units.base_conversion.height") + 1
    assert (lanes, multipliers) == (osiris_roofline.LANES, osiris_roofline.MULTIPLIERS)
    assert figure("clock") * 1e9 == osiris_roofline.CLOCK


def test_rows_of_the_networks(monkeypatch):
    times = iter(range(1, 100))

    class Machine:
        def simulate(self, planned):
            return type("", (), {"to_dict": lambda self: report(1e-3 * next(times))})()

    planned = type("", (), {"facts": FACTS})()
    network = RoundProgram("resnet20", [Body("stem", None, 1), Body("block", None, 4)], [Round(0), Round(1), Round(1)])

    def folded(program, parameters, machine):
        whole = Report("simulation", report(1e-3 * next(times)))
        parts = [{"rounds": count, "seconds": 1e-4, "energy_j": 1e-3 * count} for count in (1, 2)]
        return Folded(network, "osiris", parameters, whole, parts, [FACTS, FACTS], 10)

    monkeypatch.setattr(osiris_networks.repeated_rounds, "simulated", folded)
    monkeypatch.setattr(osiris_networks.accelerators, "load", lambda name, readings: Machine())
    monkeypatch.setattr(osiris_networks, "planned", lambda *given: planned)
    monkeypatch.setattr(osiris_networks, "_WIDER", ())
    monkeypatch.setattr(osiris_networks, "_with_lanes", lambda machine, lanes: machine)
    osiris_networks.resnet20_timed.cache_clear()
    rows = reduce(list.__add__, (step() for _, step in osiris_networks.work()), []) + osiris_networks.ratios()
    osiris_networks.resnet20_timed.cache_clear()
    found = {row["id"]: row["value"] for row in rows if row["beside"] is None}
    assert found["table3a.lenet.nh"] == pytest.approx(1000)
    # The schedule's own time, behind the six of LeNet: no sum of its parts.
    assert found["table3a.resnet20.nh"] == pytest.approx(7)
    (reason,) = [row["reason"] for row in rows if row["id"] == "table3a.resnet20.nh"]
    assert "3 bootstraps, 6 key switches" in reason
    assert "ms of parts: stem 0.1, block 0.2" in reason
    (power,) = [row["reason"] for row in rows if row["id"] == "table4.osiris.power"]
    assert "20 W at most in one part" in power
    # The work of all multipliers in the time of the step that is limb by limb and giant-step-centric.
    assert 0 < found["figure12.interleaving"] < 100
    # All do as many multiplications here, so it is the time with limbs in turn over that with interleaved ones.
    steps = [row["value"] for row in rows if row["id"] == "figure12.steps"]
    assert found["figure12.interleaving.gain"] == pytest.approx(steps[1] / steps[2])
    assert {"table3b.resnet20.dh", "figure12.dataflow", "figure12.fusion"} <= found.keys()
    beside = [row["beside"][0] for row in rows if row["beside"] is not None]
    assert beside.count("Figure 13") == 3 * 12
    assert {"Figure 12 (a)", "Figure 12 (b)", "Table IV"} <= set(beside)
    # LeNet's time was known when its program was written, and ResNet-20 was changed when its times were; how many rotations a convolution has was not.
    kinds = {row["id"]: row["kind"] for row in rows if row["value"] is not None}
    assert kinds.pop("section6.rotations") == "predicted_under_reading"
    assert set(kinds.values()) == {"calibrated"}


def test_programs_that_cannot_be_timed_say_why(monkeypatch):
    def refused(*given):
        raise MachineError("the scratchpad is full")

    monkeypatch.setattr(osiris_networks, "planned", refused)
    monkeypatch.setattr(osiris_networks.repeated_rounds, "simulated", refused)
    osiris_networks.resnet20_timed.cache_clear()
    rows = reduce(list.__add__, (step() for _, step in osiris_networks.work()), []) + osiris_networks.ratios()
    # The ratio of rotations is counted, and takes no schedule.
    timed = [row for row in rows if row["kind"] != "not_modelled" and row["id"] != "section6.rotations"]
    assert {row["failure"] for row in timed} == {"the scratchpad is full"}


def test_orions_packing_gives_the_networks_scores():
    shape = SMALL_LENET
    weights, image = lenet.Weights.drawn(shape), lenet.drawn_image(shape, np.random.default_rng(1))
    found = orion.lenet(shape).clear({"image": image.reshape(-1)})["scores"]
    np.testing.assert_allclose(found, lenet.scores(weights, image), atol=1e-9)


def test_orions_packing_cuts_a_matrix_to_its_rows():
    entries = orion.connected(np.ones((3, 8)), np.arange(8))

    @pf.program(slots=16, x=pf.Real.vector(8))
    def product(x):
        return {"cut": orion.applied(x, entries, 16, last=False), "whole": orion.applied(x, entries, 16, last=True)}

    found = product.clear(x=np.arange(8) / 8)
    np.testing.assert_allclose(found["cut"], np.tile([3.5, 3.5, 3.5, 0.0], 4))
    np.testing.assert_allclose(found["whole"], [3.5] * 3 + [0.0] * 13)
