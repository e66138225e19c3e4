"""Two palms that hold nothing stop before they meet."""

import dataclasses

import numpy as np
import pytest

from impact_aware.control import ControlSession, Mode, SafeReason
from impact_aware.control.safety.state_guard import GRASP_SHARE
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import base_placement, load_task, make_field, start_posture

TASK = load_task("dual_arm_grab")
ROBOTS = [RobotModel.from_profile(arm.robot) for arm in TASK.arms]
FIELD = make_field(TASK, ROBOTS)
OVERRUN = SafetyLimits.of(ROBOTS[0]).impact_overrun
BASES = [base_placement(arm) for arm in TASK.arms]


def posture(closer) -> np.ndarray:
    """Both tools at their positions of the impact, each moved towards the other by half of its `closer`, m."""
    ways = zip(FIELD.arms, 0.5 * closer * np.ones(2), strict=True)
    positions = [own.impact_position - way * own.normal for own, way in ways]
    return np.concatenate([start_posture(a, r, p) for a, r, p in zip(TASK.arms, ROBOTS, positions, strict=True)])


def after_contact(q: np.ndarray, field=FIELD):
    """The second command in contact with the arms at q."""
    session = ControlSession(ROBOTS, field=field, bases=BASES)
    still = np.zeros(q.size)
    session.start(1.0, q, check=False)
    for arm in range(2):
        session.events.notify_impact(1.0, 1.0, arm=arm, anywhere=True)
    session.cycle(1.0, q, still)
    return session.cycle(1.001, q, still)


@pytest.mark.parametrize("closer", [-0.1, 0.0, 0.03])
def test_palms_on_an_object_of_about_its_width_go_on(closer):
    command = after_contact(posture(closer))
    assert (command.mode, command.reason) == (Mode.INTERIM, None)


def test_palms_much_closer_than_the_object_is_wide_stop():
    command = after_contact(posture(0.06))
    assert (command.mode, command.reason) == (Mode.SAFE, SafeReason.OBJECT_LOST)
    # The sentence says how much closer.
    assert "0.06 m closer" in command.detail
    assert GRASP_SHARE * OVERRUN < 0.06


@pytest.mark.parametrize("careful", [0, 1])
def test_the_more_careful_of_two_arms_decides_also_before_any_impact_was_seen(careful):
    """But each on its own way alone: one tool past its position, and the other far before it."""
    limits = [
        SafetyLimits.of(robot, impact_overrun=(0.3 if arm == careful else 1.0) * OVERRUN)
        for arm, robot in enumerate(ROBOTS)
    ]
    own, other = np.eye(2)[[careful, 1 - careful]]
    for closer, reason in (
        (0.25 * GRASP_SHARE * OVERRUN, None),
        (0.35 * GRASP_SHARE * OVERRUN, SafeReason.OBJECT_LOST),
        (0.7 * OVERRUN * own - 0.2 * other, SafeReason.IMPACT_MISSED),
        (0.7 * OVERRUN * other - 0.2 * own, None),
    ):
        session = ControlSession(ROBOTS, field=FIELD, bases=BASES, limits=limits)
        q = posture(closer)
        session.start(1.0, q, check=False)
        assert session.cycle(1.0, q, np.zeros(q.size)).reason is reason, closer


def test_a_narrower_field_allows_palms_that_are_closer():
    narrow = dataclasses.replace(TASK.object, half_extents=(0.1, 0.035, 0.1))
    field = make_field(dataclasses.replace(TASK, object=narrow), ROBOTS)
    command = after_contact(posture(0.06), field)
    assert command.mode is Mode.INTERIM
