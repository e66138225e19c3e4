import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.task import base_placement, load_task, make_field, start_posture, tool_placement
from impact_aware.task.arms import robots_of_task
from impact_aware.task.make_field import joint_velocity_of_tool


def arm_changes(**entries):
    content = {"robot": "panda", "impact_velocity": [0.0, -0.5, 0.0], "starts": [[0.5, 0.46, 0.15]]}
    return {"arms": [{**content, **entries}]}


def test_every_start_posture_puts_the_tool_there(robot):
    task = load_task("hit_and_push")
    arm = task.arms[0]
    for index, place in enumerate(arm.starts):
        q = start_posture(arm, robot, index)
        assert q[arm.null_space_joint] == arm.null_space_position
        placement = base_placement(arm).act(robot.placement(q))
        # The tolerance of the inverse kinematics.
        np.testing.assert_allclose(placement.translation, place, atol=1e-7)
        np.testing.assert_allclose(placement.homogeneous, tool_placement(arm, place).homogeneous, atol=1e-7)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"object": {"position": [1.3, 0.0, 0.1]}}, "impact_position"),
        ({"goal": [0.5, -1.5, 0.1]}, "goal"),
        (arm_changes(starts=[[0.5, 1.5, 0.2]]), "starts"),
        (arm_changes(starts=[[0.5, 0.46, 0.15], [0.5, 2.0, 0.2]]), r"starts\[1\]"),
        (arm_changes(impact_velocity=[0.0, -3.0, 0.0]), r"impact_velocity.*at most"),
        (arm_changes(starts=[[0.5, 0.05, 0.1]]), "tool 45 mm inside object, too close from the start on"),
        ({"object": {"half_extents": [0.6, 0.065, 0.25]}}, "object.position.*base inside"),
        ({"fields": {"ante_radius_ratio": 1.0}}, "r_max"),
        ({"fields": {"ante_radius_min": 0.05}}, "r_min"),
        (arm_changes(null_space_joint=7), "null_space_joint"),
        (arm_changes(impact_offset=[0.2, 0.0, 0.0]), "impact_offset"),
    ],
)
def test_refuses_a_task_that_cannot_be_done_by_the_number_that_is_wrong(robot, changes, named):
    with pytest.raises(InvalidInputError, match=named):
        make_field(load_task("hit_and_push", changes), [robot])


def test_refuses_another_number_of_robots(robot):
    with pytest.raises(InvalidInputError, match="robots"):
        make_field(load_task("hit_and_push"), [robot, robot])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_speed_that_is_allowed_is_where_the_first_joint_reaches_its_limit(robot, sign):
    """Hit from either side, since the fastest joint moves forwards in one case and backwards in the other."""
    across = {"orientation_rpy": [np.pi, 0.0, np.pi / 2]}
    changes = arm_changes(impact_velocity=[0.0, -0.5 * sign, 0.0], starts=[[0.5, 0.46 * sign, 0.15]], **across)
    flat = {"object": {"half_extents": [0.1, 0.065, 0.04], "position": [0.5, 0.0, 0.04]}}
    task = load_task("hit_and_push", {**changes, **flat, "goal": [0.5, -0.3 * sign, 0.04]})
    arm = task.arms[0]
    q = start_posture(arm, robot, make_field(task, [robot]).arms[0].impact_position)
    allowed = 0.5 / np.max(np.abs(joint_velocity_of_tool(arm, robot, q, arm.impact_velocity)) / robot.limits.velocity)
    make_field(task.with_impact_speed(0.999 * allowed), [robot])
    with pytest.raises(InvalidInputError, match=rf"impact_velocity.*at most {allowed:.4g} m/s"):
        make_field(task.with_impact_speed(1.001 * allowed), [robot])


def test_a_released_object_is_neither_pushed_nor_followed():
    task = load_task("hit_and_push_palm", {"fields": {"release": True}, "goal": [0.45, -2.0, 0.30]})
    robots = robots_of_task(task)
    # A goal far out of the arm's reach is no matter: the tools stay where they hit.
    made = make_field(task, robots)
    np.testing.assert_array_equal(made.goal, task.object.position)
    assert not made.arms[0].feedforward_wrench.any() and made.push_lever == 0.0
    with pytest.raises(InvalidInputError, match="goal"):
        make_field(load_task("hit_and_push_palm", {"goal": [0.45, -2.0, 0.30]}), robots)
