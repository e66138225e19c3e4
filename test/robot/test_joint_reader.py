"""Joint states without ROS: what is read, what is refused and why."""

from __future__ import annotations

import numpy as np
import pytest

from impact_aware.robot.joint_reader import OUT_OF_ORDER, JointReader

NAMES = ["b", "a"]


def reader() -> JointReader:
    made = JointReader(["a", "b"])
    assert made.take(1.0, NAMES, [2.0, 1.0], [0.2, 0.1], [20.0, 10.0]) == ""
    return made


def test_joints_are_picked_by_name():
    made = reader()
    np.testing.assert_array_equal(made.position, [1.0, 2.0])
    np.testing.assert_array_equal(made.velocity, [0.1, 0.2])
    np.testing.assert_array_equal(made.effort, [10.0, 20.0])


def test_a_message_that_was_overtaken_is_refused_and_changes_nothing():
    made = reader()
    assert "out of order" in made.take(1.0 - 0.5 * OUT_OF_ORDER, NAMES, [9.0, 9.0], [], [])
    np.testing.assert_array_equal(made.position, [1.0, 2.0])
    assert made.time == 1.0
    assert made.rejected == {"out of order": 1}


def test_stamps_that_repeat_or_were_set_back_are_read():
    made = reader()
    assert made.take(1.0, NAMES, [2.0, 1.0], [], []) == ""
    assert made.take(1.0 - 2.0 * OUT_OF_ORDER, NAMES, [4.0, 3.0], [], []) == ""
    np.testing.assert_array_equal(made.position, [3.0, 4.0])


def test_what_is_missing_or_not_finite_is_refused_in_words():
    made = reader()
    assert "lacks a" in made.take(1.001, ["b"], [2.0], [], [])
    assert made.missing == ("a",)
    assert "not finite" in made.take(1.002, NAMES, [np.nan, 1.0], [], [])
    np.testing.assert_array_equal(made.position, [1.0, 2.0])


@pytest.mark.parametrize(
    ("names", "position"),
    [([], []), (["a", "a"], [1.0, 2.0]), (["a", "b"], [1.0]), (["a"], [1.0, 2.0]), (["a", "b"], [1.0, np.nan])],
)
@pytest.mark.parametrize("gaps", [False, True])
def test_joints_are_learnt_only_from_a_message_that_is_in_order(names, position, gaps):
    made = JointReader([], gaps=gaps)
    assert "name each joint once" in made.take(1.0, names, position, [], [])
    assert (made.joint_names, made.rejected) == ((), {"no joints to learn": 1})
    assert made.take(1.001, NAMES, [2.0, 1.0], [], []) == ""
    assert made.joint_names == ("b", "a")


def test_a_missing_velocity_is_the_difference_of_positions():
    made = reader()
    assert made.take(1.5, NAMES, [2.4, 0.5], [], [21.0, 11.0]) == ""
    np.testing.assert_allclose(made.velocity, [-1.0, 0.8])
    assert not made.velocity_measured
    np.testing.assert_array_equal(made.effort, [11.0, 21.0])
    # Without a newer stamp there is nothing to divide by, and without efforts they are unknown.
    assert made.take(1.5, NAMES, [2.5, 0.5], [], []) == ""
    np.testing.assert_array_equal(made.velocity, [0.0, 0.0])
    assert np.isnan(made.effort).all()


def test_a_row_of_numbers_is_read_as_the_message_it_came_from():
    made = reader()
    places = np.array([2, 1, 4, 3, 6, 5])
    row = np.array([9.0, 3.0, 4.0, 0.3, 0.4, 30.0, 40.0])
    assert made.take_row(1.1, row, places)
    np.testing.assert_array_equal(made.position, [4.0, 3.0])
    np.testing.assert_array_equal(made.velocity, [0.4, 0.3])
    np.testing.assert_array_equal(made.effort, [40.0, 30.0])
    assert made.time == 1.1 and made.velocity_measured
    # The same stamp again, an older one, and a velocity that is no number change nothing.
    spoilt = row.copy()
    spoilt[3] = np.nan
    for time, values in ((1.1, row + 1.0), (1.05, row + 1.0), (1.2, spoilt)):
        assert not made.take_row(time, values, places)
        np.testing.assert_array_equal(made.position, [4.0, 3.0])
        assert made.time == 1.1
    # Without efforts, or with one that is no number, they are unknown.
    assert made.take_row(1.2, row, places[:4]) and np.isnan(made.effort).all()
    spoilt = row.copy()
    spoilt[6] = np.inf
    assert made.take_row(1.3, spoilt, places) and np.isnan(made.effort).all()
