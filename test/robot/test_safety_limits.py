"""Limits of an arm: their defaults are those of the page on hardware, and what makes no limit is refused by name."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot import RobotModel
from impact_aware.robot.load import load_robot, robot_description
from impact_aware.robot.safety_limits import DEFAULTS, SafetyLimits

ROBOT = RobotModel.from_profile("panda")
BARE = RobotModel.from_profile(dataclasses.replace(ROBOT.profile, safety={}))
PAGE = (Path(__file__).parents[2] / "docs" / "hardware.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*DEFAULTS])
def test_defaults_are_those_of_the_page_on_hardware(name):
    stated = re.search(rf"^\| `{name}` \| ([\d.]+) ", PAGE, re.MULTILINE)
    assert getattr(SafetyLimits.of(BARE), name) == float(stated[1])


def test_the_rest_comes_from_the_urdf():
    limits, own = SafetyLimits.of(BARE), BARE.limits
    np.testing.assert_array_equal(limits.position_lower, BARE.model.lowerPositionLimit)
    np.testing.assert_array_equal(limits.position_upper, BARE.model.upperPositionLimit)
    np.testing.assert_array_equal(limits.braking_deceleration, 15.0)
    np.testing.assert_allclose(limits.velocity, 1.1 * own.velocity, rtol=1e-15)
    np.testing.assert_array_equal(limits.effort, own.effort)
    np.testing.assert_array_equal(limits.effort_rate, own.effort_rate)
    np.testing.assert_array_equal(limits.velocity_jump, own.velocity)
    assert (limits.workspace_lower == -np.inf).all() and (limits.workspace_upper == np.inf).all()


PER_JOINT = ("braking_deceleration", "velocity", "effort", "effort_rate", "velocity_jump")


@pytest.mark.parametrize("name", PER_JOINT)
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, [1.0] * 6, [1.0] * 6 + [0.0]])
def test_a_limit_per_joint_is_as_many_positive_numbers(name, wrong):
    with pytest.raises(InvalidInputError, match=rf"safety\.{name}"):
        SafetyLimits.of(ROBOT, **{name: wrong})
    given = np.arange(1.0, 8.0)
    np.testing.assert_array_equal(getattr(SafetyLimits.of(ROBOT, **{name: given}), name), given)
    np.testing.assert_array_equal(getattr(SafetyLimits.of(ROBOT, **{name: 0.5}), name), 0.5)


@pytest.mark.parametrize("name", [*DEFAULTS])
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan])
def test_a_limit_of_the_arm_is_positive(name, wrong):
    with pytest.raises(InvalidInputError, match=rf"safety\.{name}"):
        SafetyLimits.of(ROBOT, **{name: wrong})


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"position_upper": [0.0] * 6}, "position_upper"),
        ({"position_lower": ROBOT.model.upperPositionLimit}, "position_lower"),
        ({"workspace_lower": 1.0, "workspace_upper": [2.0, 1.0, 2.0]}, "workspace_lower"),
        ({"workspace_lower": [0.0, 0.0], "workspace_upper": [1.0, 1.0]}, "workspace_lower"),
    ],
)
def test_ranges_and_boxes_are_not_empty(changes, name):
    with pytest.raises(InvalidInputError, match=rf"safety\.{name}"):
        SafetyLimits.of(ROBOT, **changes)
    box = SafetyLimits.of(ROBOT, workspace_lower=-0.5, workspace_upper=[1.0, 2.0, 3.0])
    assert box.workspace_lower.tolist() == [-0.5] * 3 and box.workspace_upper.tolist() == [1.0, 2.0, 3.0]


def test_a_robot_is_found_by_name_profile_or_urdf():
    robot = load_robot("panda")
    assert robot.name == "panda" and robot_description("panda") == ROBOT.profile.urdf.read_text(encoding="utf-8")
    inertia = tuple(np.arange(1.0, 8.0))
    np.testing.assert_array_equal(load_robot("panda", inertia).apparent_motor_inertia, inertia)
    other = load_robot(str(ROBOT.profile.urdf), (0.1,) * 7)
    assert other.name == ROBOT.profile.urdf.stem and other.joint_names == robot.joint_names
    assert any("panda_finger_joint1, panda_finger_joint2" in note for note in other.notes)
    assert robot_description(ROBOT.profile.urdf) == robot_description("panda")
    for wrong, words in (("none.urdf", "an existing URDF file"), ("none.xml", "an existing URDF file")):
        with pytest.raises(InvalidInputError, match=words):
            load_robot(wrong)
        with pytest.raises(InvalidInputError, match=words):
            robot_description(wrong)
    with pytest.raises(UnknownNameError, match="panda"):
        load_robot("none")
