"""Notes about the samples of an arm that a reader has to know."""

import numpy as np

from impact_aware.recordings.arm_notes import still_joints

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


def test_without_impacts_or_where_nothing_moves_nothing_is_said():
    assert still_joints(NAMES, []) == []
    assert still_joints(NAMES, windows(0, 1, 2)) == []
