"""Notes about the samples of an arm that a reader has to know."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.arm_notes import still_joints
from impact_aware.recordings.arm_selection import arm_of_table

NAMES = ("shoulder", "elbow", "wrist")


def windows(*still):
    rng = np.random.default_rng(3)
    made = [rng.uniform(-1.0, 1.0, (20, 3)) for _ in range(2)]
    for window in made:
        window[:, list(still)] = 0.7
    return made


def test_a_joint_that_stands_still_to_the_last_digit_while_others_move_is_named():
    assert still_joints(NAMES, windows(1)) == ["elbow"]
    assert still_joints(NAMES, windows(0, 2)) == ["shoulder", "wrist"]
    assert still_joints(NAMES, windows()) == []


def test_one_that_moves_at_one_impact_is_not():
    made = windows(1)
    made[1][4, 1] += 1e-5
    assert still_joints(NAMES, made) == []


def test_columns_of_two_arms_are_refused_with_the_way_to_choose_one():
    names = tuple(f"{side}_{joint}" for side in ("left", "right") for joint in range(1, 8))
    with pytest.raises(InvalidInputError, match="panda_joint7 are missing: --columns 'q=COLUMNS joints=JOINTS'"):
        arm_of_table(names, "panda")


def test_without_impacts_or_where_nothing_moves_nothing_is_said():
    assert still_joints(NAMES, []) == []
    assert still_joints(NAMES, windows(0, 1, 2)) == []
