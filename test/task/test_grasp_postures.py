"""What several arms' states and impacts make of a grasp, with bases that are rotated differently."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel
from impact_aware.task import grasp_postures, load_task, make_field, start_posture
from impact_aware.task.arms import arms_of_task, check_names, several_arms, single_arm
from impact_aware.task.grasp import predict_grasp, predict_grasp_impact
from impact_aware.task.grasp_postures import COMMON_WINDOW, POSTURE_TOLERANCE, GraspPostures
from impact_aware.task.last_touch import Touch, predict_last_touch
from impact_aware.task.make_field import joint_velocity_of_tool


def rotated(task):
    """Bases with yaw 0.4 and -0.25, first joints held at the opposite."""
    arms = tuple(
        dataclasses.replace(
            arm, base_yaw=yaw, null_space_position=-yaw, posture=(arm.posture[0] - yaw, *arm.posture[1:])
        )
        for arm, yaw in zip(task.arms, (0.4, -0.25), strict=True)
    )
    return dataclasses.replace(task, arms=arms)


TASK = rotated(load_task("dual_arm_grab"))
ARMS = arms_of_task(TASK, "panda")
ROBOTS = [arm.robot for arm in ARMS]
FIELD = make_field(TASK, ROBOTS)
POSTURES = [
    start_posture(own, robot, reference.impact_position + aside)
    for own, robot, reference, aside in zip(
        TASK.arms, ROBOTS, FIELD.arms, ([0.01, 0.005, 0.0], [0.0, -0.003, 0.02]), strict=True
    )
]
VELOCITIES = [
    joint_velocity_of_tool(own, robot, q, own.impact_velocity)
    for own, robot, q in zip(TASK.arms, ROBOTS, POSTURES, strict=True)
]


def event(index, time, order=slice(None)):
    names = ROBOTS[index].joint_names
    made = ImpactEvent(
        detector="test",
        time=time,
        time_detected=time + 0.001,
        time_std=1e-4,
        confidence=1.0,
        joint=0,
        residual=np.zeros(7),
        position=POSTURES[index][order],
        velocity_before=VELOCITIES[index][order],
        velocity_after=None,
    )
    return made, names[order]


def grasp_after(*impacts):
    grasp = GraspPostures(TASK, ARMS, FIELD)
    for index, time, sequence in impacts:
        assert grasp.take_impact(index, *event(index, time), sequence)
    return grasp


def test_it_begins_with_the_intended_postures():
    grasp = GraspPostures(TASK, ARMS, FIELD)
    intended = [
        start_posture(a, r, own.impact_position) for a, r, own in zip(TASK.arms, ROBOTS, FIELD.arms, strict=True)
    ]
    expected = predict_grasp(TASK, ROBOTS, FIELD, np.concatenate(intended))
    np.testing.assert_allclose(grasp.object_velocity(FIELD), expected, atol=1e-12)
    np.testing.assert_allclose(grasp.object_position(FIELD), FIELD.object_position, atol=1e-7)


def test_what_is_foreseen_is_worked_out_anew_where_a_posture_or_the_object_has_changed():
    """Predictions that look ahead come by the dozen while an arm approaches as it was foreseen."""
    grasp, told = GraspPostures(TASK, ARMS, FIELD), None
    # The bend of a joint, in tolerances, from one prediction to the next: what counts is the last one that was used.
    for bend, anew in ((0.0, True), (0.9, False), (-0.9, False), (1.5, True), (0.9, False), (0.0, True)):
        bent = np.array(POSTURES[0])
        bent[3] += bend * POSTURE_TOLERANCE
        assert grasp.take(0, ROBOTS[0].joint_names, bent)
        found = grasp.object_velocity(FIELD)
        expected = predict_grasp(TASK, ROBOTS, FIELD, np.concatenate([bent, grasp._postures[1]]))
        assert (found is not told) is anew
        assert np.linalg.norm(found - expected) < (1e-12 if anew else 0.003)
        told = found
    # An object that a belt carries is elsewhere each time.
    carried = dataclasses.replace(FIELD, object_velocity=np.array([0.03, 0.02, 0.0]))
    moving = grasp.object_velocity(carried)
    expected = predict_grasp(TASK, ROBOTS, carried, np.concatenate(grasp._postures))
    np.testing.assert_allclose(moving, expected, atol=1e-12)
    assert np.linalg.norm(moving - told) > 0.005


def test_an_impact_is_taken_as_it_was_however_near_it_was_foreseen():
    grasp = GraspPostures(TASK, ARMS, FIELD)
    near = np.array(POSTURES[0])
    near[3] += 0.9 * POSTURE_TOLERANCE
    assert grasp.take(0, ROBOTS[0].joint_names, near)
    foreseen = grasp.object_velocity(FIELD)
    assert grasp.take_impact(0, *event(0, 1.0), 1)
    expected = predict_grasp(TASK, ROBOTS, FIELD, np.concatenate([POSTURES[0], grasp._postures[1]]))
    np.testing.assert_allclose(grasp.object_velocity(FIELD), expected, atol=1e-12)
    assert np.abs(expected - foreseen).max() > 1e-5


def test_the_object_is_between_the_tools_of_the_newest_postures():
    """Left is 5 mm before its impact position along y, right 3 mm past its own: (5 - 3) / 2 mm."""
    grasp = grasp_after((0, 1.0, 1), (1, 1.001, 1))
    shift = 0.5 * (0.005 - 0.003)
    np.testing.assert_allclose(grasp.object_position(FIELD), FIELD.object_position + [0.0, shift, 0.0], atol=1e-7)


def touch(index, time):
    return Touch(time, POSTURES[index], VELOCITIES[index])


@pytest.mark.parametrize("late", [0.001, 0.06])
def test_once_all_have_touched_the_last_touch_tells_the_objects_velocity(late):
    """With what the first arm has done since, where somebody knows and it matters; any later event changes nothing."""
    before = Touch(1.0 + late - 1e-3, POSTURES[1] + 0.01, 0.6 * VELOCITIES[1])
    asked = []
    grasp = GraspPostures(TASK, ARMS, FIELD, lambda *what: asked.append(what) or before)
    flat = predict_grasp(TASK, ROBOTS, FIELD, np.concatenate(POSTURES))
    for index, time in ((1, 1.0), (0, 1.0 + late), (1, 1.0 + late + 0.01)):
        assert grasp.take(1 - index, ROBOTS[0].joint_names, POSTURES[1 - index])
        assert grasp.take_impact(index, *event(index, time), 1)
        if len(grasp._events) == 1:
            np.testing.assert_allclose(grasp.object_velocity(FIELD), flat, atol=1e-12)
            continue
        expected = predict_last_touch(TASK, ROBOTS, FIELD, [touch(0, 1.0 + late), touch(1, 1.0)], before)
        np.testing.assert_array_equal(grasp.object_velocity(FIELD), expected.object_velocity)
        assert np.linalg.norm(expected.object_velocity - flat) > 0.01
    assert asked == ([(1, 1.0 + late)] if late > 0.015 else [])


def test_the_common_impact_tells_each_arm_its_own_jump_in_its_own_axes():
    impacts = grasp_after((0, 1.0, 4), (1, 1.003, 9)).common_impact(FIELD)
    expected = predict_grasp_impact(TASK, ROBOTS, FIELD, POSTURES, VELOCITIES, times=(1.0, 1.003))
    twist = expected.velocity_after[TASK.object.name]
    for index, (impact, yaw) in enumerate(zip(impacts, (0.4, -0.25), strict=True)):
        assert (impact.arm, impact.event_sequence, impact.source) == (("left", 4), ("right", 9))[index] + ("at_impact",)
        assert impact.time == (1.0, 1.003)[index]
        np.testing.assert_allclose(impact.position, POSTURES[index])
        np.testing.assert_allclose(impact.velocity_before, VELOCITIES[index])
        np.testing.assert_allclose(impact.velocity_after, expected.velocity_after[impact.arm], atol=1e-9)
        back = pin.exp3(np.array([0.0, 0.0, -yaw]))
        np.testing.assert_allclose(impact.object_twist_after[:3], back @ twist[:3], atol=1e-12)
        np.testing.assert_allclose(impact.object_twist_after[3:], back @ twist[3:], atol=1e-12)
        assert impact.energy_loss == pytest.approx(expected.energy_loss) and impact.unique


def test_a_common_impact_that_is_not_unique_is_published_so(monkeypatch):
    found = predict_grasp_impact(TASK, ROBOTS, FIELD, POSTURES, VELOCITIES, times=(1.0, 1.003))
    monkeypatch.setattr(grasp_postures, "predict_grasp_impact", lambda *_, **__: found._replace(unique=False))
    assert not any(impact.unique for impact in grasp_after((0, 1.0, 4), (1, 1.003, 9)).common_impact(FIELD))


def test_the_common_impact_has_one_contact_per_palm_in_the_axes_of_its_arm():
    impacts = grasp_after((0, 1.0, 4), (1, 1.0, 9)).common_impact(FIELD)
    centre = GraspPostures(TASK, ARMS, FIELD)
    for index in range(2):
        centre.take(index, ROBOTS[index].joint_names, POSTURES[index])
    given = np.zeros(3)
    for impact, arm, own, q, dq in zip(impacts, ARMS, FIELD.arms, POSTURES, VELOCITIES, strict=True):
        (contact,) = impact.contacts
        robot, back = arm.robot, arm.base.rotation
        # A palm is 0.03 m thick along its normal.
        tool = robot.placement(q)
        np.testing.assert_allclose(back @ contact.normal, own.normal, atol=1e-12)
        np.testing.assert_allclose(contact.point, tool.translation - 0.03 * contact.normal, atol=1e-9)
        # The tool does not rotate before, so that each of its points has the tool's velocity.
        np.testing.assert_allclose(contact.velocity_before, robot.frame_jacobian(q)[:3] @ dq, atol=1e-9)
        np.testing.assert_allclose(arm.base.act(impact.object_position), centre.object_position(FIELD), atol=1e-12)
        assert (contact.frame, contact.obstacle, contact.friction) == (robot.tool_frame, TASK.object.name, 0.8)
        assert contact.normal @ contact.impulse > 0.5 and contact.mode in ("stick", "slide")
        given -= back @ contact.impulse
        # The palm's middle may come off as the palm tips onto an edge, and goes into the object nowhere.
        assert -1e-9 < contact.normal @ contact.velocity_after < 0.1 * 0.3
    twist = ARMS[0].base.rotation @ impacts[0].object_twist_after[:3]
    np.testing.assert_allclose(given, TASK.object.mass * twist, atol=1e-6)


@pytest.mark.parametrize(("late", "common"), [(0.9 * COMMON_WINDOW, True), (1.1 * COMMON_WINDOW, False)])
@pytest.mark.parametrize("first", [0, 1])
def test_impacts_are_common_within_five_milliseconds_whoever_comes_first(late, common, first):
    impacts = grasp_after((first, 2.0, 1), (1 - first, 2.0 + late, 1)).common_impact(FIELD)
    assert [impact.arm for impact in impacts] == (["left", "right"] if common else [])
    assert COMMON_WINDOW == 0.005


def test_one_arm_alone_is_no_common_impact():
    assert grasp_after((1, 2.0, 1)).common_impact(FIELD) == []


def test_joints_come_by_name_and_a_state_that_lacks_one_is_refused():
    grasp, (made, names) = GraspPostures(TASK, ARMS, FIELD), event(1, 1.0, slice(None, None, -1))
    assert grasp.take_impact(1, made, names, 1) and grasp.take(0, ROBOTS[0].joint_names, POSTURES[0])
    expected = predict_grasp(TASK, ROBOTS, FIELD, np.concatenate(POSTURES))
    np.testing.assert_allclose(grasp.object_velocity(FIELD), expected, atol=1e-12)
    assert not grasp.take(0, ROBOTS[0].joint_names[1:], POSTURES[0][1:])
    assert not grasp.take(0, ROBOTS[0].joint_names, np.full(7, np.nan))
    np.testing.assert_allclose(grasp.object_velocity(FIELD), expected, atol=1e-12)


def test_arms_have_names_topics_and_bases():
    left, right = several_arms(["left", "right"], ["panda"], [1.0, 2.0, 3.0, 0.5, 0.0, -1.0, 0.1, 0.0])
    np.testing.assert_allclose(left.base.translation, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(left.base.rotation[:, 0], [np.cos(0.5), np.sin(0.5), 0.0], atol=1e-15)
    np.testing.assert_allclose(right.base.translation, [0.0, -1.0, 0.1])
    assert (left.topic("impacts"), single_arm("", "panda")[0].topic("impacts")) == ("left/impacts", "impacts")
    np.testing.assert_allclose(left.twist_in_base(np.array([0.0, 1.0, 0, 0, 2.0, 0]))[:2], [np.sin(0.5), np.cos(0.5)])
    np.testing.assert_allclose(ARMS[1].base.rotation[:, 0], [np.cos(0.25), -np.sin(0.25), 0.0], atol=1e-15)
    assert isinstance(arms_of_task(load_task("hit_and_push"), "panda", "arm")[0].robot, RobotModel)
    check_names((left, right), ["left", "right"])
    check_names((left,), ["whatever"])
    for names in (["right", "left"], ["left"]):
        with pytest.raises(InvalidInputError, match=r"field\.arms"):
            check_names((left, right), names)
    # A single arm follows a reference of any name, but of a field for two it would not know which.
    with pytest.raises(InvalidInputError, match=r"field\.arms: got 2, expected 1"):
        check_names((left,), ["left", "right"])


def test_prefixes_stand_before_the_joints_of_their_arm():
    left, right = several_arms(["left", "right"], ["panda"], [0.0] * 8, ["l_", "r_"])
    assert (left.robot.joint_names[6], right.robot.joint_names[0]) == ("l_panda_joint7", "r_panda_joint1")
    assert (left.robot.base_frame, right.robot.base_frame) == ("l_panda_link0", "r_panda_link0")
    (alone,) = single_arm("", "panda", prefix="x_")
    assert alone.robot.joint_names[0] == "x_panda_joint1"
    task = dataclasses.replace(
        TASK, arms=tuple(dataclasses.replace(arm, joint_prefix=f"{arm.name}-") for arm in TASK.arms)
    )
    assert [arm.robot.joint_names[0] for arm in arms_of_task(task, "panda")] == [
        "left-panda_joint1",
        "right-panda_joint1",
    ]
    with pytest.raises(InvalidInputError, match="parameter joint_prefixes: got .*, expected 2, one per arm, or none"):
        several_arms(["left", "right"], ["panda"], [0.0] * 8, ["l_"])


@pytest.mark.parametrize(
    ("names", "robots", "bases", "field"),
    [
        (["a", "a"], ["panda"], [0.0] * 8, "arms"),
        (["a", ""], ["panda"], [0.0] * 8, "arms"),
        (["a", "b"], ["panda"] * 3, [0.0] * 8, "robots"),
        (["a", "b"], ["panda"], [0.0] * 9, "bases"),
        (["a", "b"], ["panda"], [0.0] * 10, "bases"),
        (["a", "b"], ["panda"], [*[0.0] * 5, 7.0, *[0.0] * 6], "bases"),
        (["a", "b"], ["panda"], [0.0] * 14, "bases"),
        (["a", "b"], ["panda"], [float("nan"), *[0.0] * 7], "bases"),
    ],
)
def test_parameters_of_arms_that_do_not_agree_are_refused(names, robots, bases, field):
    with pytest.raises(InvalidInputError, match=f"parameter {field}"):
        several_arms(names, robots, bases)
