"""Joints are found by name whatever the message's order, company, gaps and repetitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.robot import JointOrder

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


def test_a_name_given_twice_is_refused():
    mapping = JointOrder(JOINTS)
    assert not mapping.locate(["shoulder", "elbow", "wrist", "elbow"])
    assert mapping.missing == ("elbow",)


def test_an_order_without_joints_is_found_in_anything_and_picks_nothing():
    order = JointOrder([])
    assert order.locate([])
    assert order.locate(["a"])
    assert order.pick([], np.zeros(0))
