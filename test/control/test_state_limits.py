"""The limits of states by themselves: each limit trips with its own reason, and nothing else does."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import SafeReason
from impact_aware.control.safety.state_guard import StateGuard
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits

ROBOT = RobotModel.from_profile("panda")
REST = np.zeros(ROBOT.n)
anything = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=7, max_size=7).map(np.array)


def make(**changes: object) -> StateGuard:
    return StateGuard([ControlledArm(ROBOT)], [SafetyLimits.of(ROBOT, **changes)])


def judge(limits: StateGuard, q: np.ndarray, dq: np.ndarray, forces: list[float] | None = None):
    limits._arms[0].update(q, dq)
    return limits.judge_state(q, dq, forces)


def at(joint: int, value: float) -> np.ndarray:
    q = ROBOT.home.copy()
    q[joint] = value
    return q


def only(joint: int, value: float) -> np.ndarray:
    return np.eye(ROBOT.n)[joint] * value


def test_an_arm_at_rest_at_home_that_holds_itself_is_within_all_limits():
    limits = make()
    assert judge(limits, ROBOT.home, REST, [0.0]) is None
    assert limits.implausible(ROBOT.home, REST, ROBOT.home, 0.001) is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_joint_that_can_no_longer_stop_before_its_position_limit_is_outside(sign):
    limits = SafetyLimits.of(ROBOT)
    a, end = limits.braking_deceleration[0], limits.position_upper[0]
    speed = 1.5
    stopping = speed**2 / (2.0 * a)
    limits = make(workspace_lower=-9.0, workspace_upper=9.0)
    # A millimetre-sized angle to either side of the place from which it just stops.
    assert judge(limits, at(0, sign * (end - stopping - 1e-3)), only(0, sign * speed)) is None
    found = judge(limits, at(0, sign * (end - stopping + 1e-3)), only(0, sign * speed))
    assert found.reason is SafeReason.POSITION_LIMIT
    assert "panda_joint1" in found.detail
    assert judge(limits, at(0, sign * (end - 1e-3)), only(0, -sign * speed)) is None, "it moves away"


def test_each_limit_of_the_state_has_its_own_reason():
    jacobian = ROBOT.frame_jacobian(ROBOT.home)
    forward = np.linalg.pinv(jacobian) @ np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    place = ROBOT.placement(ROBOT.home).translation
    assert judge(make(), ROBOT.home, only(6, 2.9)).reason is SafeReason.VELOCITY_LIMIT
    assert judge(make(tool_speed=0.49), ROBOT.home, forward).reason is SafeReason.TOOL_SPEED_LIMIT
    assert judge(make(tool_speed=0.51), ROBOT.home, forward) is None
    low = make(workspace_lower=[-1.0, -1.0, place[2] + 0.01])
    assert judge(low, ROBOT.home, REST).reason is SafeReason.WORKSPACE_LIMIT
    pressed = judge(make(contact_force=50.0), ROBOT.home, REST, [51.0])
    assert pressed.reason is SafeReason.CONTACT_FORCE_LIMIT
    assert "51 N" in pressed.detail


def test_the_workspace_is_that_of_the_arms_base():
    base = pin.SE3(pin.utils.rotate("z", 2.0), np.array([3.0, -1.0, 0.2]))
    limits = StateGuard([ControlledArm(ROBOT, base)], [SafetyLimits.of(ROBOT)], bases=[base])
    assert judge(limits, ROBOT.home, REST) is None
    elsewhere = StateGuard([ControlledArm(ROBOT, base)], [SafetyLimits.of(ROBOT)])
    assert judge(elsewhere, ROBOT.home, REST).reason is SafeReason.WORKSPACE_LIMIT


@pytest.mark.parametrize("second", [0, 1])
def test_each_of_two_arms_has_its_own_limits_in_its_own_base(second):
    """Both bases are turned, about axes that leave no coordinate alone, and the boxes are not symmetric."""
    bases = [
        pin.SE3(pin.rpy.rpyToMatrix(0.4, -0.3, 1.9), np.array([3.0, -1.0, 0.2])),
        pin.SE3(pin.rpy.rpyToMatrix(-0.2, 0.7, -0.8), np.array([-2.0, 0.5, 0.4])),
    ]
    place = ROBOT.placement(ROBOT.home).translation
    wide = {"workspace_lower": place - [0.1, 0.2, 0.3], "workspace_upper": place + [0.3, 0.1, 0.2], "tool_speed": 0.6}
    jacobian = ROBOT.frame_jacobian(ROBOT.home)
    forward = np.linalg.pinv(jacobian) @ np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])

    def judged(changes: dict[str, object], dq: np.ndarray = REST, forces: list[float] | None = None):
        """Of two arms of which the one in question alone has narrower limits, and moves."""
        own = [SafetyLimits.of(ROBOT, **(wide | changes if arm == second else wide)) for arm in range(2)]
        arms = [ControlledArm(ROBOT, base) for base in bases]
        speeds = [dq if arm == second else REST for arm in range(2)]
        for arm, speed in zip(arms, speeds, strict=True):
            arm.update(ROBOT.home, speed)
        return StateGuard(arms, own, bases=bases).judge_state(np.tile(ROBOT.home, 2), np.concatenate(speeds), forces)

    assert judged({}) is None and judged({}, forward) is None
    for axis in range(3):
        for end, side in (("lower", 0.01), ("upper", -0.01)):
            bound = np.array(wide[f"workspace_{end}"])
            bound[axis] = place[axis] + side
            found = judged({f"workspace_{end}": bound})
            assert found.reason is SafeReason.WORKSPACE_LIMIT, (axis, end)
            bound[axis] = place[axis] - side
            assert judged({f"workspace_{end}": bound}) is None, (axis, end)
    assert judged({"tool_speed": 0.49}, forward).reason is SafeReason.TOOL_SPEED_LIMIT
    assert judged({"tool_speed": 0.51}, forward) is None
    assert judged({"contact_force": 49.0}, forces=[50.0, 50.0]).reason is SafeReason.CONTACT_FORCE_LIMIT
    assert judged({"contact_force": 51.0}, forces=[50.0, 50.0]) is None


def test_states_that_can_not_be_true_are_told_from_those_over_a_limit():
    limits = make()
    assert limits.implausible(ROBOT.home * np.nan, REST, None, 0.001).reason is SafeReason.NON_FINITE
    assert limits.implausible(ROBOT.home, REST + np.inf, None, 0.001).reason is SafeReason.NON_FINITE
    fast = limits.implausible(ROBOT.home, only(2, 1e6), None, 0.001)
    assert fast.reason is SafeReason.STATE_IMPLAUSIBLE
    jumped = limits.implausible(at(3, ROBOT.home[3] + 0.02), REST, ROBOT.home, 0.001)
    assert jumped.reason is SafeReason.STATE_IMPLAUSIBLE
    assert limits.implausible(at(3, ROBOT.home[3] + 0.02), REST, ROBOT.home, 0.02) is None


@given(anything, anything)
@settings(max_examples=200, derandomize=True)
def test_no_state_raises_and_no_accepted_one_hides_a_value_that_is_not_finite(q, dq):
    limits = make()
    with np.errstate(all="ignore"):
        doubt = limits.implausible(q, dq, None, 0.001)
    if not (np.isfinite(q).all() and np.isfinite(dq).all()):
        assert doubt.reason in (SafeReason.NON_FINITE, SafeReason.STATE_IMPLAUSIBLE)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tool_speed": 0.0}, "tool_speed"),
        ({"velocity": [1.0, 2.0]}, "velocity"),
        ({"workspace_lower": [2.0, 2.0, 2.0]}, "workspace_lower"),
        ({"effort": -1.0}, "effort"),
        ({"dance": 1.0}, "dance"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(changes, named):
    with pytest.raises(InvalidInputError, match=named):
        SafetyLimits.of(ROBOT, **changes)


def test_one_number_stands_for_every_joint():
    np.testing.assert_array_equal(SafetyLimits.of(ROBOT, velocity=0.5).velocity, np.full(ROBOT.n, 0.5))
