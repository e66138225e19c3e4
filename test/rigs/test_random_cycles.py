"""Whatever the state, the field and the mode: no command is unsafe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.random_cycles import random_cycles

ROBOT = RobotModel.from_profile("panda")


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
