"""Joint states without ROS: joints are found by name in any message; what is read, what is refused and why."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.robot import JointOrder
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
    assert JointReader("abcd").take(1.0, ["x"], [0.0], [], []) == "joint_states lacks a, b, c"
    assert made.take(1.001, ["b"], [2.0], [], []) == "joint_states lacks a"
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


JOINTS = ("shoulder", "elbow", "wrist")


@settings(max_examples=100)
@given(
    order=st.permutations([*JOINTS, "finger_left", "finger_right", "wheel"]),
    kept=st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_any_order_and_any_company_give_the_models_order(order, kept):
    others = [name for name, keep in zip(("finger_left", "finger_right", "wheel"), kept, strict=True) if not keep]
    names = [name for name in order if name not in others]
    values = [float(len(name)) for name in names]
    mapping = JointOrder(JOINTS)
    out = np.empty(3)
    assert mapping.locate(names)
    assert mapping.pick(values, out)
    np.testing.assert_array_equal(out, [len(name) for name in JOINTS])
    assert mapping.missing == ()


def test_a_missing_joint_is_named():
    mapping = JointOrder(JOINTS)
    assert not mapping.locate(["wrist", "wheel"])
    assert mapping.missing == ("shoulder", "elbow")
    assert not mapping.pick([1.0, 2.0], np.empty(3))


def test_before_any_message_all_joints_are_missing():
    mapping = JointOrder(JOINTS)
    assert mapping.missing == JOINTS
    assert not mapping.pick([1.0, 2.0, 3.0], np.empty(3))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_only_for_our_joints(bad):
    mapping = JointOrder(JOINTS)
    mapping.locate(["wheel", *JOINTS])
    out = np.empty(3)
    assert mapping.pick([bad, 1.0, 2.0, 3.0], out)
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])
    assert not mapping.pick([0.0, 1.0, bad, 3.0], out)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_an_empty_or_short_field_is_refused_and_leaves_the_output_alone(values):
    mapping = JointOrder(JOINTS)
    mapping.locate(list(JOINTS))
    out = np.full(3, 7.0)
    assert not mapping.pick(values, out)
    np.testing.assert_array_equal(out, 7.0)


def test_a_field_that_ends_after_our_joints_is_enough():
    mapping = JointOrder(JOINTS)
    mapping.locate([*JOINTS, "wheel"])
    assert mapping.pick([1.0, 2.0, 3.0], np.empty(3))


def test_a_changed_name_list_is_learnt_anew_and_the_same_one_is_remembered():
    mapping = JointOrder(JOINTS)
    out = np.empty(3)
    names = list(JOINTS)
    assert mapping.locate(names)
    assert mapping.locate(names)
    assert mapping.locate(names[::-1])
    mapping.pick([3.0, 2.0, 1.0], out)
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])
    assert not mapping.locate(["wheel"])
    assert not mapping.locate(["wheel"])
    assert mapping.locate(names)
    assert mapping.missing == ()


def test_a_caller_that_reuses_its_list_can_not_spoil_the_memory():
    mapping = JointOrder(JOINTS)
    names = list(JOINTS)
    mapping.locate(names)
    names[0], names[2] = names[2], names[0]
    out = np.empty(3)
    assert mapping.locate(names)
    mapping.pick([3.0, 2.0, 1.0], out)
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_names_may_come_in_any_sequence(container):
    mapping = JointOrder(JOINTS)
    out = np.empty(3)
    for _ in range(2):
        assert mapping.locate(container(["wrist", "elbow", "shoulder"]))
        assert mapping.pick(container([3.0, 2.0, 1.0]), out)
    np.testing.assert_array_equal(out, [1.0, 2.0, 3.0])


def test_a_message_that_names_a_joint_twice_is_refused_with_that_name():
    reader = JointReader(JOINTS)
    names = ["shoulder", "elbow", "wrist", "elbow"]
    assert reader.take(1.0, names, [0.0] * 4, [0.0] * 4, []) == "joint_states names elbow more than once"
    assert reader.take(1.0, names[:2], [0.0] * 2, [0.0] * 2, []) == "joint_states lacks wrist"


def test_an_order_without_joints_is_found_in_anything_and_picks_nothing():
    order = JointOrder([])
    assert order.locate([])
    assert order.locate(["a"])
    assert order.pick([], np.zeros(0))
