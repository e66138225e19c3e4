"""Cycles of every regime as `bench control` times them, and cycles at random states: no command is unsafe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control import Mode
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.control import BEYOND, REGIMES_ALL, Timed, figures, time_regimes
from impact_aware_rigs.bench.random_cycles import random_cycles

ROBOT = RobotModel.from_profile("panda")


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "mode"), [("one_arm", Mode.ANTE), ("one_arm", Mode.POST), ("two_arms", Mode.INTERIM)])
def test_every_regime_occurs_and_no_command_is_unsafe(arms, mode):
    found = time_regimes(ROBOT, arms, mode, 5, seed=1)
    for regime in REGIMES_ALL:
        assert len(found.wall[regime]) == len(found.processor[regime]) >= 5, regime
    assert (found.unsafe, found.cut) == (0, 0)


def test_the_figures_are_those_of_each_regime():
    found = Timed()
    found.cycles, found.wall[BEYOND], found.processor[BEYOND] = 7, [3e-6, 1e-6, 2e-6], [1e-6, 1e-6, 4e-6]
    result = figures(found)
    assert result["cycles"] == 7 and result[REGIMES_ALL[0]] == {"cycles": 0}
    own = result[BEYOND]
    assert (own["cycles"], own["p50_us"], own["max_us"], own["processor_max_us"]) == pytest.approx((3, 2.0, 3.0, 4.0))
    assert own["processor_p50_us"] == pytest.approx(1.0) and 2.9 < own["p99_us"] < 3.0


@pytest.mark.parametrize("arms", [1, 2])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_no_command_is_ever_unsafe(arms, seed):
    found = random_cycles(ROBOT, arms, 100, seed)
    assert (found["not_finite"], found["over_limit"], found["over_rate"]) == (0, 0, 0), f"seed {seed}"


def test_every_mode_and_end_of_the_program_is_tried():
    found = random_cycles(ROBOT, 1, 2000, seed=1)
    assert found["cycles"] == sum(found["modes"].values()) == 2000
    assert set(found["modes"]) == {"idle", "ante", "interim", "post", "safe", "hold"}
    assert {"NON_FINITE", "STATE_STALE"} <= set(found["safe_reasons"])
    assert found["cycles"] == sum(found["regimes"].values()) and found["regimes"]["limits exclude each other"] > 0
    assert found["qp"]["solved"] > 0 and found["qp"]["softened"] > 0


def test_refuses_other_numbers_of_arms_and_no_cycle():
    with pytest.raises(InvalidInputError, match="arms"):
        random_cycles(ROBOT, 3, 10)
    with pytest.raises(InvalidInputError, match="count"):
        random_cycles(ROBOT, 1, 0)
