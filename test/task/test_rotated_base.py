"""A base that stands elsewhere and is rotated about the vertical changes nothing but the numbers that must change.

The first joint of the Panda rotates about the vertical through its base. So a base rotated by psi does the same task
with its first joint at -psi and every other joint as before; the base's yaw, ignored anywhere, breaks that.
"""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.task import base_placement, load_task, make_field, start_posture, tool_placement
from impact_aware.task.grasp import predict_grasp, predict_grasp_impact
from impact_aware.task.impact_positions import IntendedImpact
from impact_aware.task.make_field import joint_velocity_of_tool

YAWS = (0.4, -0.25)
SHIFT = np.array([0.3, -0.7, 0.05])
# Twice the tolerance of the inverse kinematics, 1e-8, through joint angles to velocities of some rad/s.
CLOSE = 2e-7


def moved(task):
    """The same task with every base rotated by its yaw, and everything displaced by SHIFT."""

    def shifted(position):
        return tuple((np.array(position) + SHIFT).tolist())

    arms = tuple(
        dataclasses.replace(
            arm,
            base_position=shifted(arm.base_position),
            base_yaw=yaw,
            null_space_position=arm.null_space_position - yaw,
            posture=(arm.posture[0] - yaw, *arm.posture[1:]) if arm.posture else (),
            starts=tuple(map(shifted, arm.starts)),
        )
        for arm, yaw in zip(task.arms, YAWS, strict=False)
    )
    thing = dataclasses.replace(task.object, position=shifted(task.object.position))
    return dataclasses.replace(task, arms=arms, object=thing, goal=shifted(task.goal))


@pytest.fixture(scope="module", params=["hit_and_push", "dual_arm_grab"])
def pair(request, robot):
    """A task whose numbers have no symmetry, and the same with other bases."""
    task = load_task(
        request.param, {"object": {"half_extents": [0.07, 0.065, 0.09], "friction_tool": 0.25, "restitution": 0.3}}
    )
    arms = tuple(
        dataclasses.replace(arm, impact_offset=(0.015, 0.0, 0.02 + 0.01 * i)) for i, arm in enumerate(task.arms)
    )
    task = dataclasses.replace(task, arms=arms)
    return task, moved(task), [robot] * len(arms)


def postures(task, robots, positions):
    return [start_posture(arm, robot, p) for arm, robot, p in zip(task.arms, robots, positions, strict=True)]


def impact_positions(task, robots):
    return [own.impact_position for own in make_field(task, robots).arms]


def test_a_base_stands_where_the_task_says():
    arm = dataclasses.replace(load_task("hit_and_push").arms[0], base_position=(1.0, 2.0, 3.0), base_yaw=0.5)
    point = base_placement(arm).act(np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(point, [1.0 + np.cos(0.5), 2.0 + np.sin(0.5), 3.0], atol=1e-15)


def test_the_tool_pose_is_asked_for_in_the_frame_of_the_base():
    arm = dataclasses.replace(
        load_task("hit_and_push").arms[0],
        base_position=(1.0, 2.0, 3.0),
        base_yaw=np.pi / 2,
        orientation_rpy=(0.0, 0.3, 0.0),
    )
    wanted = tool_placement(arm, [1.2, 2.7, 3.4])
    # Seen from a base that looks along y: 0.7 m ahead, 0.2 m to the right.
    np.testing.assert_allclose(wanted.translation, [0.7, -0.2, 0.4], atol=1e-15)
    tool_x = [0.0, -np.cos(0.3), -np.sin(0.3)]
    np.testing.assert_allclose(wanted.rotation[:, 0], tool_x, atol=1e-15)


def test_the_field_is_displaced_but_not_rotated(pair):
    task, other, robots = pair
    field, displaced = make_field(task, robots), make_field(other, robots)
    for before, after in zip(field.arms, displaced.arms, strict=True):
        np.testing.assert_allclose(after.impact_position, before.impact_position + SHIFT, atol=1e-12)
        for name in ("impact_velocity", "normal", "orientation_before", "orientation_after", "feedforward_wrench"):
            np.testing.assert_allclose(getattr(after, name), getattr(before, name), atol=1e-12, err_msg=name)
    np.testing.assert_allclose(displaced.goal, field.goal + SHIFT, atol=1e-12)


def test_start_postures_differ_in_the_first_joint_by_the_yaw(pair):
    task, other, robots = pair
    for index, (arm, arm_moved, yaw) in enumerate(zip(task.arms, other.arms, YAWS, strict=False)):
        q, q_moved = start_posture(arm, robots[index]), start_posture(arm_moved, robots[index])
        np.testing.assert_allclose(q_moved - q, [-yaw, 0, 0, 0, 0, 0, 0], atol=CLOSE)
        turn = pin.exp3(np.array([0.0, 0.0, yaw]))
        tool = turn @ robots[index].placement(q_moved).translation + np.array(arm_moved.base_position)
        np.testing.assert_allclose(tool, arm_moved.starts[0], atol=CLOSE)


def test_joint_velocities_move_the_tool_along_the_axes_of_the_task(robot):
    arm = dataclasses.replace(load_task("hit_and_push").arms[0], base_yaw=0.4)
    velocity, q = np.array([0.1, -0.4, 0.2]), robot.home
    twist = robot.frame_jacobian(q) @ joint_velocity_of_tool(arm, robot, q, velocity)
    c, s = np.cos(0.4), np.sin(0.4)
    seen = [c * velocity[0] + s * velocity[1], -s * velocity[0] + c * velocity[1], velocity[2], 0.0, 0.0, 0.0]
    np.testing.assert_allclose(twist, seen, atol=1e-12)
    held = dataclasses.replace(arm, null_space_joint=2)
    assert joint_velocity_of_tool(held, robot, q, velocity)[2] == pytest.approx(0.0, abs=1e-12)
    free = dataclasses.replace(arm, null_space_joint=-1)
    assert abs(joint_velocity_of_tool(free, robot, q, velocity)[0]) > 1e-3


def test_the_intended_impact_gives_the_object_the_same_velocity(pair):
    task, other, robots = pair
    direct, direct_moved = IntendedImpact(task, robots), IntendedImpact(other, robots)
    coordinates = np.concatenate([SHIFT[plane] for plane in direct.planes])
    np.testing.assert_allclose(direct_moved.nominal, direct.nominal + coordinates, atol=1e-12)
    aside = np.linspace(0.01, 0.02, len(coordinates))
    velocity = direct(direct.nominal + aside)
    assert abs(velocity[1]) > 1e-3
    np.testing.assert_allclose(direct_moved(direct_moved.nominal + aside), velocity, atol=CLOSE)


def test_both_predictions_of_a_grasp_are_the_same(robot):
    task = load_task("dual_arm_grab", {"object": {"half_extents": [0.07, 0.065, 0.09], "friction_tool": 0.25}})
    other, robots = moved(task), [robot, robot]
    q = postures(task, robots, impact_positions(task, robots))
    q_moved = postures(other, robots, impact_positions(other, robots))
    field, field_moved = make_field(task, robots), make_field(other, robots)
    expected = predict_grasp(task, robots, field, np.concatenate(q))
    np.testing.assert_allclose(predict_grasp(other, robots, field_moved, np.concatenate(q_moved)), expected, atol=CLOSE)
    aside = ([0.1, 0.0, 0.05], [-0.05, 0.1, 0.0])
    dq = [
        joint_velocity_of_tool(arm, robot, posture, np.array(arm.impact_velocity) + change)
        for arm, posture, change in zip(task.arms, q, aside, strict=True)
    ]
    common = predict_grasp_impact(task, robots, field, q, dq)
    common_moved = predict_grasp_impact(other, robots, field_moved, q_moved, dq)
    assert np.abs(common.impulse).sum(axis=1).max() > 0.05
    for name in ("left", "right", task.object.name):
        # The contact solver stops at 1e-9 of the impulses; velocities follow to some 1e-6.
        np.testing.assert_allclose(common_moved.velocity_after[name], common.velocity_after[name], atol=1e-5)
    np.testing.assert_allclose(common_moved.impulse, common.impulse, atol=1e-4)


def test_the_box_must_not_contain_the_base_where_that_stands(robot):
    """The base stands 0.58 m from the box in x: the box with half edges of 0.6 m contains it, one of 0.3 m does not."""
    task = moved(load_task("hit_and_push"))
    arm = dataclasses.replace(task.arms[0], base_position=(0.22, -0.7, 0.05), starts=((0.72, -0.24, 0.2),))
    task = dataclasses.replace(task, arms=(arm,))
    small = dataclasses.replace(task.object, half_extents=(0.3, 0.065, 0.1))
    make_field(dataclasses.replace(task, object=small), [robot])
    large = dataclasses.replace(task.object, half_extents=(0.6, 0.065, 0.16))
    with pytest.raises(InvalidInputError, match=r"object.position.*without the base inside"):
        make_field(dataclasses.replace(task, object=large), [robot])


def test_the_box_must_not_meet_a_link_at_its_goal(robot):
    """A box so wide that it reaches the base, when it has been pushed in front of it."""
    task = load_task("hit_and_push", {"object": {"position": [0.45, 0.2, 0.1]}})
    arm = dataclasses.replace(task.arms[0], starts=((0.45, 0.5, 0.2),))
    wide = dataclasses.replace(task.object, half_extents=(0.375, 0.065, 0.1))
    task = dataclasses.replace(task, arms=(arm,), object=wide)
    make_field(dataclasses.replace(task, goal=(0.45, 0.12, 0.1)), [robot])
    with pytest.raises(InvalidInputError, match=r"panda_link1 \d+ mm inside object, too close from the impact on"):
        make_field(dataclasses.replace(task, goal=(0.45, 0.0, 0.1)), [robot])
