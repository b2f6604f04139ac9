"""Programs run as far above the lowest level as their values need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polyfabric as pf
import pytest
from rejects import rejects

pytestmark = pytest.mark.filterwarnings("ignore:.*bits of security:UserWarning")


@pf.program(x=pf.Real.vector(4096))
def total(x):
    return pf.sum(x)


@pytest.mark.parametrize("parameters", [None, "ckks-depth-2"])
def test_a_sum_takes_the_level_that_it_needs(parameters):
    done = total.run({"x": np.ones(4096)}, parameters=parameters)
    assert done.correct
    assert abs(done.value - 4096) < 1e-3
    assert done.plan.facts["start_level"] == 1
    assert all(node["headroom_bits"] >= 0 for node in done.nodes)


def test_what_fits_stays_at_the_lowest_level():
    @pf.program(x=pf.Real.vector(16))
    def small(x):
        return pf.sum(x)

    assert small.cost()["start_level"] == 0


def test_a_squared_distance_in_words_of_a_machine():
    @pf.program(x=pf.Real.vector(4), y=pf.Real.vector(4))
    def distance(x, y):
        d = x - y
        d = d * d
        d = d + d.rotate(1)
        return d + d.rotate(2)

    nodes = distance.cost(parameters="f1-14-L16-pairs")["nodes"]
    assert all(node["headroom_bits"] >= 0 for node in nodes)


def test_what_is_put_at_a_level_stays_there_and_is_told_what_helps():
    @pf.program(x=pf.Real.vector(4096))
    def low(x):
        return pf.sum(x.at_level(0))

    with rejects(pf.errors.NoiseError, ".at_level"):
        low.run({"x": np.ones(4096)})


def test_the_steps_agree_on_the_level(tmp_path):
    values = {"x": np.ones(4096)}
    total.in_folder(tmp_path).make_keys()
    total.in_folder(tmp_path).encrypt(values)
    total.in_folder(tmp_path).execute()
    assert abs(total.in_folder(tmp_path).decrypt().value - 4096) < 1e-3


def test_an_input_too_large_to_encode_is_refused_when_planned():
    """The coefficients of a plaintext reach 2^126, and scales are 2^40 here. The error is at the program."""

    def scaled(bound):
        return pf.program(x=pf.Real.bounded(bound))(lambda x: x * 2)

    large = 2.0**80
    assert scaled(large).run(x=large).value == pytest.approx(2 * large)
    with rejects(pf.errors.NoiseError, Path(__file__).name):
        scaled(1e27).plan()
    with rejects(pf.errors.NoiseError, Path(__file__).name):
        scaled(1e27).run(x=1, measure=True)


def test_a_result_beyond_all_numbers_is_an_error_in_the_clear():
    @pf.program(x=pf.Real.bounded(1e308))
    def doubled(x):
        return x + x

    assert doubled.clear(x=8e307) == 1.6e308
    with rejects(pf.errors.InputError, Path(__file__).name):
        doubled.clear(x=1e308)
    squared = pf.program(x=pf.Real.bounded(1e200))(lambda x: x * x)
    with rejects(pf.errors.InputError, Path(__file__).name):
        squared.clear(x=1e200)
