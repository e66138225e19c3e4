"""Which states may be used, by their stamps and by how far an arm can have moved; which limits count in which mode."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control import Mode
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import SafeReason
from impact_aware.control.safety.contact_force import ContactForceObserver
from impact_aware.control.safety.state_guard import StateGuard
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
REST = np.zeros(ROBOT.n)
TASK = load_task("hit_and_push")
FIELD = make_field(TASK, [ROBOT])


def begun(time=5.0, q=ROBOT.home):
    guard = StateGuard([ControlledArm(ROBOT)])
    assert guard.refusal(time, q, REST, 0.0) == (None, True)
    return guard


@pytest.mark.parametrize(
    ("interval", "reason", "detail"),
    [
        (0.0199, None, ""),
        (0.0211, SafeReason.STATE_STALE, "no joint state for 21 ms"),
        (0.999, SafeReason.STATE_STALE, "no joint state for 999 ms"),
        (1.002, SafeReason.CLOCK_JUMP, "the stamps of joint_states jumped by +1.002 s"),
        (-0.0199, None, ""),
        (-0.021, SafeReason.CLOCK_JUMP, "the stamps of joint_states jumped by -0.021 s"),
    ],
)
def test_a_stamp_follows_the_last_one_within_the_state_age(interval, reason, detail):
    found, usable = begun().refusal(5.0 + interval, ROBOT.home, REST, 0.0)
    assert usable
    assert found is None if reason is None else found == (reason, detail)


@pytest.mark.parametrize(("age", "detail"), [(0.0199, None), (0.0206, "joint state 21 ms old")])
def test_a_state_is_as_young_as_the_state_age(age, detail):
    guard = begun()
    found, _ = guard.refusal(5.001, ROBOT.home, REST, age)
    assert (found and found.detail) == detail
    assert StateGuard([ControlledArm(ROBOT)], state_age=0.03).refusal(1.0, ROBOT.home, REST, age)[0] is None


@pytest.mark.parametrize(("time", "repeats"), [(5.0, True), (4.981, True), (4.979, False), (5.0001, False)])
def test_what_is_not_newer_repeats_the_last_state(time, repeats):
    assert begun().repeats(time) is repeats


def test_how_far_a_joint_can_have_moved_counts_from_the_last_state_that_was_accepted():
    guard, moved = begun(), ROBOT.home + 0.03 * np.eye(ROBOT.n)[2]
    # 30 mrad are more than twice 2.175 rad/s allow in a millisecond and 5 mrad of noise; in 6 ms they are less.
    for time, usable in ((5.001, False), (5.003, False), (5.006, True)):
        found, taken = guard.refusal(time, moved, REST, 0.0)
        assert (taken, found is None) == (usable, usable)
        np.testing.assert_array_equal(guard.position, moved if usable else ROBOT.home)
    guard.begin()
    assert guard.refusal(1.0, ROBOT.home + 0.5, REST, 0.0) == (None, True)


def at(shift):
    """A guard that has seen the arm with its tool `shift` m in front of its impact position."""
    arm = ControlledArm(ROBOT)
    guard, own = StateGuard([arm]), FIELD.arms[0]
    q = np.array(start_posture(TASK.arms[0], ROBOT, tuple(own.impact_position + shift * own.normal)))
    arm.update(q, REST)
    guard.refusal(5.0, q, REST, 0.0)
    return guard


@pytest.mark.parametrize("mode", list(Mode))
def test_a_tool_behind_its_impact_position_matters_before_the_impact_only(mode):
    limit = SafetyLimits.of(ROBOT).impact_overrun
    for shift, missed in ((-limit - 0.005, True), (-limit + 0.005, False), (limit + 0.02, False)):
        found = at(shift).left(REST, None, mode, FIELD)
        if mode is Mode.ANTE and missed:
            assert found.reason is SafeReason.IMPACT_MISSED and f"{-shift:.3g} m past" in found.detail
        else:
            assert found is None
    assert at(-limit - 0.005).left(REST, None, mode, None) is None


def test_the_face_of_an_object_that_moves_is_where_it_is_now():
    """Away from the tool at 0.1 m/s, seen 0.2 s ago: a tool may be 2 cm further."""
    limit, normal = SafetyLimits.of(ROBOT).impact_overrun, FIELD.arms[0].normal
    moving = dataclasses.replace(FIELD, object_velocity=-0.1 * normal, object_time=4.8)
    assert at(-limit - 0.015).left(REST, None, Mode.ANTE, moving) is None
    found = at(-limit - 0.025).left(REST, None, Mode.ANTE, moving)
    assert found.reason is SafeReason.IMPACT_MISSED and f"{limit + 0.005:.3g} m past" in found.detail


@pytest.mark.parametrize(("seen", "lost"), [(2.1, False), (1.9, True), (8.1, True)])
def test_an_object_that_moves_and_is_no_longer_seen_is_lost(seen, lost):
    moving = dataclasses.replace(FIELD, object_velocity=np.array([0.1, 0.0, 0.0]), object_time=seen)
    found = at(0.05).left(REST, None, Mode.ANTE, moving)
    assert (found is not None) is lost
    if lost:
        assert found.reason is SafeReason.OBJECT_LOST and "seen" in found.detail
    assert at(0.05).left(REST, None, Mode.POST, moving) is None


def test_forces_are_judged_of_arms_that_measure_them_behind_the_motor():
    push = ROBOT.gravity(ROBOT.home) - ROBOT.frame_jacobian(ROBOT.home)[:3].T @ [0.0, 200.0, 0.0]
    motor, lacking = (
        RobotModel.from_profile(dataclasses.replace(ROBOT.profile, effort_kind=kind))
        for kind in ("current", "without_gravity")
    )
    held = ROBOT.gravity(ROBOT.home)
    cases = (ROBOT, push, True), (ROBOT, held, False), (motor, push, False)
    for robot, effort, stops in (*cases, (lacking, push - held, True), (lacking, 0.0 * held, False)):
        guard = StateGuard([ControlledArm(robot)])
        found = None
        for k in range(300):
            guard.refusal(5.0 + 1e-3 * k, ROBOT.home, REST, 0.0)
            found = found or guard.left(REST, effort, Mode.ANTE, None)
            assert guard.left(REST, None, Mode.ANTE, None) is None
        assert (found is not None) is stops


# The observer of contact forces

PUSH = np.array([10.0, -40.0, 20.0])


def observed(count, *, interval=1e-3, **options):
    """The force after so many states of an arm held still against a push."""
    observer = ContactForceObserver(ControlledArm(ROBOT), **options)
    effort = ROBOT.gravity(ROBOT.home) - ROBOT.frame_jacobian(ROBOT.home)[:3].T @ PUSH
    for _ in range(count):
        force = observer.update(ROBOT.home, REST, effort, interval)
    return observer, effort, force


def test_the_force_comes_up_with_the_time_constant():
    assert observed(1)[2] == 0.0
    # The first state only begins; each further one takes 1 ms / T of what is left.
    share = 1.0 - (1.0 - 1e-3 / 0.05) ** 50
    assert observed(51)[2] == pytest.approx(share * np.linalg.norm(PUSH), rel=3e-3)


@pytest.mark.parametrize(("interval", "kept"), [(0.0099, True), (0.0101, False), (0.0, False), (-0.001, False)])
def test_it_starts_over_after_a_gap_and_when_time_stands_still(interval, kept):
    observer, effort, before = observed(200)
    force = observer.update(ROBOT.home, REST, effort, interval)
    assert (force > 0.9 * before) is kept
    assert kept or force == 0.0 and not observer.external_torque.any()
    assert observed(200, interval=0.0199, period=0.002)[2] > 0.9 * before


def test_a_torque_that_is_not_finite_starts_it_over():
    observer, effort, _ = observed(200)
    assert observer.update(ROBOT.home, REST, effort * np.nan, 1e-3) == 0.0
    assert not observer.external_torque.any()
    assert observer.update(ROBOT.home, REST, effort, 1e-3) == 0.0
    assert observer.update(ROBOT.home, REST, effort, 1e-3) > 0.0


@pytest.mark.parametrize("kind", ["link_torque", "motor_torque"])
def test_motion_alone_is_no_force(kind):
    # Free motion under known torques: the momentum grows by what the torques and the inertia they drive say.
    arm = ControlledArm(RobotModel.from_profile(dataclasses.replace(ROBOT.profile, effort_kind=kind)))
    observer = ContactForceObserver(arm)
    rates = np.array([3.0, -2.4, 2.7, 3.3, -2.1, 3.6, 1.8])
    largest = 0.0
    for k in range(400):
        time = 1e-3 * k
        q, dq = ROBOT.home + 0.2 * np.sin(rates * time), 0.2 * rates * np.cos(rates * time)
        ddq = -0.2 * rates**2 * np.sin(rates * time)
        arm.update(q, dq)
        driven = ROBOT.mass_matrix(q, "M" if kind == "link_torque" else "M+B_theta")
        largest = max(largest, observer.update(q, dq, driven @ ddq + arm.bias, 1e-3))
    # A half step's change of the torques is left, 0.02 N; the other kind's inertia would be 0.47 N.
    assert 0.0 < largest < 0.05


# Limits by themselves: each trips with its own reason, and nothing else does

anything = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=7, max_size=7).map(np.array)


def make(**changes):
    return StateGuard([ControlledArm(ROBOT)], [SafetyLimits.of(ROBOT, **changes)])


def judge(limits, q, dq, forces=None):
    limits._arms[0].update(q, dq)
    return limits.judge_state(q, dq, forces)


def posture(joint, value):
    q = ROBOT.home.copy()
    q[joint] = value
    return q


def only(joint, value):
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
    assert judge(limits, posture(0, sign * (end - stopping - 1e-3)), only(0, sign * speed)) is None
    found = judge(limits, posture(0, sign * (end - stopping + 1e-3)), only(0, sign * speed))
    assert found.reason is SafeReason.POSITION_LIMIT
    assert "panda_joint1" in found.detail
    assert judge(limits, posture(0, sign * (end - 1e-3)), only(0, -sign * speed)) is None, "it moves away"


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

    def judged(changes, dq=REST, forces=None):
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
    jumped = limits.implausible(posture(3, ROBOT.home[3] + 0.02), REST, ROBOT.home, 0.001)
    assert jumped.reason is SafeReason.STATE_IMPLAUSIBLE
    assert limits.implausible(posture(3, ROBOT.home[3] + 0.02), REST, ROBOT.home, 0.02) is None


@given(anything, anything)
@settings(max_examples=200, derandomize=True)
def test_no_state_raises_and_no_accepted_one_hides_a_value_that_is_not_finite(q, dq):
    limits = make()
    with np.errstate(all="ignore"):
        doubt = limits.implausible(q, dq, None, 0.001)
    if not (np.isfinite(q).all() and np.isfinite(dq).all()):
        assert doubt.reason in (SafeReason.NON_FINITE, SafeReason.STATE_IMPLAUSIBLE)
