"""Events that are taken once, when a stop is complete, and what an arm can be asked for."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import Mode, QpStatus, SafeReason
from impact_aware.control.arm import ControlledArm
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.ending import ComingToRest
from impact_aware.control.impact_events import MOST_REMEMBERED, ImpactEvents
from impact_aware.control.qp import QpSolution
from impact_aware.control.safety.impact_check import check_prediction, expected_impact
from impact_aware.control.session import ControlSession
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ArmAfterImpact
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import base_placement, load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
FIELD = make_field(load_task("hit_and_push"), [ROBOT])
GRAB = load_task("dual_arm_grab")
PAIR = [RobotModel.from_profile(arm.robot) for arm in GRAB.arms]


class Law:
    """Takes every event down."""

    def __init__(self, arms=2, field=None, takes=True):
        self.arms, self.field, self.takes = [None] * arms, field, takes
        self.impacts, self.arms_after, self.complete = [], [], []

    def notify_impact(self, time, time_detected, object_velocity, *, arm, event_sequence, arms_after):
        self.arms_after.append(arms_after)
        self.impacts.append((time, time_detected, object_velocity, arm, event_sequence))
        return self.takes

    def notify_contact_complete(self, time):
        self.complete.append(time)
        return True


def test_an_event_reaches_the_law_as_it_came():
    law = Law()
    after = {1: ArmAfterImpact(np.array([0.1, 0.0, 0.2]), 0.3)}
    assert ImpactEvents(law).notify_impact(1.0, 1.002, [0.1, 0.2, 0.3], arm=1, sequence=4, arms_after=after)
    assert law.arms_after == [after]
    assert law.impacts == [(1.0, 1.002, [0.1, 0.2, 0.3], 1, 4)]


def test_a_number_is_taken_once_of_each_arm_and_kind():
    law = Law()
    events = ImpactEvents(law)
    assert [events.notify_impact(1.0, 1.0, arm=arm, sequence=n) for arm, n in ((0, 3), (0, 3), (1, 3), (0, 4))] == [
        True, False, True, True,
    ]  # fmt: skip
    assert events.sequence == 4 and len(law.impacts) == 3
    # An event without a number is always new, and leaves the number of the last one.
    assert events.notify_impact(1.0, 1.0) and events.notify_impact(1.0, 1.0)
    assert events.sequence == 4
    assert not events.notify_contact_complete(1.1, arm=0, sequence=3)
    assert events.notify_contact_complete(1.2, arm=1, sequence=3) and law.complete == [1.2]
    events.begin()
    assert events.notify_impact(2.0, 2.0, arm=0, sequence=3)
    assert not events.notify_contact_complete(2.1, arm=1, sequence=3)


def test_an_event_that_the_law_has_no_use_for_is_not_acted_upon():
    events = ImpactEvents(Law(takes=False))
    assert not events.notify_impact(1.0, 1.0, sequence=7) and events.sequence == 0


def test_the_oldest_of_very_many_events_is_forgotten():
    events = ImpactEvents(Law())
    for number in range(MOST_REMEMBERED):
        assert events.notify_impact(1.0, 1.0, sequence=number)
    assert not events.notify_impact(1.0, 1.0, sequence=0)
    assert events.notify_impact(1.0, 1.0, sequence=MOST_REMEMBERED)
    assert not events.notify_impact(1.0, 1.0, sequence=1) and events.notify_impact(1.0, 1.0, sequence=0)


def test_a_velocity_that_can_not_be_true_is_left_out_and_counted():
    law, after = Law(field=FIELD), {0: ArmAfterImpact()}
    events = ImpactEvents(law)
    for velocity in ([0.0, -1.01, 0.0], [0.0, -0.99, 0.0], None):
        events.notify_impact(1.0, 1.0, velocity, arms_after=after)
    # Neither is what came along with it.
    assert law.arms_after == [None, after, after]
    assert [entry[2] for entry in law.impacts] == [None, [0.0, -0.99, 0.0], None]
    assert events.refused_predictions == 1


def before(distance: float, sideways: float = 0.0, task=None, arm: int = 0) -> np.ndarray:
    """Posture (n,) of an arm with its tool so far before the face that it should hit, m."""
    task = task or load_task("hit_and_push")
    own = make_field(task, PAIR if len(task.arms) > 1 else [ROBOT]).arms[arm]
    place = own.impact_position + distance * own.normal + sideways * np.cross(own.normal, [0.0, 0.0, 1.0])
    return np.array(start_posture(task.arms[arm], ROBOT, tuple(place)))


def started(posture, field, robots=ROBOT, bases=None) -> ControlSession:
    session = ControlSession(robots, field=field, bases=bases)
    session.start(5.0, posture, check=False)
    assert session.cycle(5.0, posture, np.zeros_like(posture)).mode is Mode.ANTE
    return session


@pytest.mark.parametrize(("distance", "sideways"), [(0.11, 0.0), (0.09, 0.0), (0.3, 0.0), (0.09, 0.12), (-0.05, 0.0)])
def test_before_the_impact_an_event_counts_where_the_object_is_near(distance, sideways):
    session, near = started(before(distance, sideways), FIELD), distance < SafetyLimits.of(ROBOT).impact_lead
    assert session.events.notify_impact(4.998, 5.0, sequence=3) is near
    assert session.events.elsewhere == (not near) and session.events.sequence == (3 if near else 0)
    assert session.mode is (Mode.INTERIM if near else Mode.ANTE)
    # What the same event turns out to mean is not asked either; another one is.
    assert not session.events.notify_impact(4.998, 5.0, sequence=3) and session.events.elsewhere == (not near)
    session.events.notify_impact(5.0, 5.0, sequence=4, anywhere=True)
    assert session.mode is Mode.INTERIM


def test_how_near_is_said_by_each_arm_s_limits():
    field, bases = make_field(GRAB, PAIR), [base_placement(arm) for arm in GRAB.arms]
    limits = [SafetyLimits.of(robot, impact_lead=lead) for robot, lead in zip(PAIR, (0.05, 0.2), strict=True)]
    posture = np.concatenate([before(0.1, task=GRAB, arm=arm) for arm in range(2)])
    session = ControlSession(PAIR, field=field, bases=bases, limits=limits)
    session.start(5.0, posture, check=False)
    session.cycle(5.0, posture, np.zeros(14))
    assert not session.events.notify_impact(5.0, 5.0, arm=0) and session.mode is Mode.ANTE
    assert session.events.notify_impact(5.0, 5.0, arm=1) and session.mode is Mode.INTERIM
    # Once one arm has hit, the object may have come to meet the other one.
    assert session.events.notify_impact(5.0, 5.0, arm=0) and session.events.elsewhere == 1


@pytest.mark.parametrize("far", [0, 1])
def test_each_arm_is_as_near_as_its_own_tool(far):
    field, bases = make_field(GRAB, PAIR), [base_placement(arm) for arm in GRAB.arms]
    posture = np.concatenate([before(0.16 if arm == far else 0.02, task=GRAB, arm=arm) for arm in range(2)])
    session = started(posture, field, PAIR, bases)
    assert not session.events.notify_impact(5.0, 5.0, arm=far) and session.mode is Mode.ANTE
    assert session.events.notify_impact(5.0, 5.0, arm=1 - far) and session.mode is Mode.INTERIM


@pytest.mark.parametrize(("speed", "near"), [(0.1, True), (-0.1, False)])
def test_an_object_that_moves_is_near_where_it_is_now(speed, near):
    """Seen 0.2 s ago, and since then 2 cm closer to the tool, or farther away."""
    moving = dataclasses.replace(FIELD, object_velocity=speed * FIELD.arms[0].normal, object_time=4.8)
    session = started(before(0.11 if near else 0.09), moving)
    assert session.events.notify_impact(5.0, 5.0) is near


@pytest.mark.parametrize(("share", "released"), [(0.0199, True), (-0.0199, True), (0.0201, False), (-0.0201, False)])
def test_an_arm_is_left_alone_with_nearly_its_gravity_torque(share, released):
    limit, gravity = np.array([100.0, 50.0]), np.array([10.0, -20.0])
    rest = ComingToRest(limit, 0.02)
    assert rest.may_release(gravity + [0.0, 50.0 * share], gravity) is released
    for speed, time, done in ((0.019, 1.0, released), (0.021, 1.0, False), (0.021, 3.0, False), (0.021, 3.001, True)):
        rest = ComingToRest(limit, 0.02)
        assert not rest.stopping and not rest.update(time, gravity, gravity, 0.0)
        rest.stop(1.0)
        assert rest.stopping
        assert rest.update(time, gravity + [0.0, 50.0 * share], gravity, speed) is done
        assert rest.stopping is not done and not rest.finished


def test_a_shutdown_is_complete_at_rest_whatever_the_time():
    rest = ComingToRest(np.ones(2), 0.02)
    rest.shutting_down = True
    assert not rest.update(1e9, np.zeros(2), np.zeros(2), 0.03) and not rest.finished
    assert not rest.update(1e9, np.zeros(2), np.zeros(2), 0.01) and rest.finished


@pytest.mark.parametrize("still", [-1, 0, 2])
def test_a_twist_is_given_by_the_smallest_velocity_with_one_joint_at_rest(still):
    arm = ControlledArm(ROBOT, pin.SE3(pin.utils.rotate("z", 0.4), np.array([0.1, 0.2, 0.3])))
    twist = np.array([0.1, -0.2, 0.3, 0.4, -0.5, 0.6])
    found = arm.joint_velocity_for(twist, still)
    np.testing.assert_allclose(arm.jacobian @ found, twist, atol=1e-12)
    if still < 0:
        np.testing.assert_allclose(found, np.linalg.pinv(arm.jacobian) @ twist, atol=1e-12)
        assert np.abs(found).min() > 1e-3
    else:
        assert found[still] == pytest.approx(0.0, abs=1e-12)


def test_restitution_and_friction_are_those_that_are_given():
    task = load_task("hit_and_push")
    task = dataclasses.replace(task, arms=(dataclasses.replace(task.arms[0], load_share=1.0),))

    def expected(**numbers):
        given = dataclasses.replace(task, object=dataclasses.replace(task.object, **numbers))
        return expected_impact(FIELD, ROBOT, task=given)

    plain, elastic = (expected(friction_tool=0.0, restitution=e) for e in (0.0, 0.4))
    # Without friction the impulse grows with 1 + e, and with it every joint's jump.
    np.testing.assert_allclose(elastic.jump, 1.4 * plain.jump, rtol=1e-9)
    assert np.abs(expected(friction_tool=0.5).jump - plain.jump).max() > 1e-6
    assert (plain.energy, plain.normal_speed) == (elastic.energy, elastic.normal_speed)


def test_an_object_gets_at_most_twice_the_speed_of_all_that_hit_it():
    field = make_field(GRAB, PAIR)
    fastest = 2.0 * sum(float(np.linalg.norm(arm.impact_velocity)) for arm in field.arms)
    for share, fine in ((0.99, True), (-0.99, True), (1.01, False), (-1.01, False)):
        velocity = [0.0, 0.0, share * fastest]
        if fine:
            check_prediction(field, velocity)
        else:
            with pytest.raises(InvalidInputError, match=f"at most {fastest:.3g} m/s, twice what hits it"):
                check_prediction(field, velocity)


@pytest.mark.parametrize("joint", [-2, 7])
def test_a_field_that_holds_a_joint_that_there_is_not_is_refused(joint):
    law = ReferenceSpreadingController([ROBOT])
    wrong = dataclasses.replace(FIELD, arms=(dataclasses.replace(FIELD.arms[0], null_space_joint=joint),))
    with pytest.raises(InvalidInputError, match=r"null_space_joint: got .*, expected -1\.\.6"):
        law.set_field(wrong)
    for fine in (-1, 6):
        law.set_field(dataclasses.replace(FIELD, arms=(dataclasses.replace(FIELD.arms[0], null_space_joint=fine),)))


def test_a_program_without_a_solution_leads_to_the_safe_mode(monkeypatch):
    law = ReferenceSpreadingController([ROBOT], field=FIELD)
    law.start(0.0, ROBOT.home, np.zeros(7))
    assert law.update(0.0, ROBOT.home, np.zeros(7)).mode is Mode.ANTE
    failed = QpSolution(np.zeros(7), np.zeros(7), QpStatus.FAILED)
    monkeypatch.setattr(law, "_solver", SimpleNamespace(solve=lambda program: failed, active=0))
    command = law.update(0.001, ROBOT.home, np.zeros(7))
    assert (command.mode, command.reason) == (Mode.SAFE, SafeReason.QP_INFEASIBLE)
    assert command.qp_status is QpStatus.FAILED
    assert command.detail == "the quadratic program has numbers that are not finite"
