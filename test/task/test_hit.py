"""The hit of a box that stands askew, against figures worked out by hand."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control.safety.impact_check import expected_impact
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture, tool_placement
from impact_aware.task.grasp import predict_grasp_impact
from impact_aware.task.hit import OBLIQUE, hit_of
from impact_aware.task.make_field import base_placement, posture_with_tool_at, usual_posture
from impact_aware.task.task import ArmTask, Task, TaskObject
from impact_aware.task.task_file import parse_task, task_yaml
from impact_aware.yaml_text import read_yaml_mapping

HALF, CENTRE = (0.10, 0.065, 0.08), np.array([0.45, -0.10, 0.30])
ARM = ArmTask(impact_velocity=(0.0, -0.5, 0.0))
PUSH = load_task("hit_and_push_palm")


def box(rpy=(0.0, 0.0, 0.0), **more) -> TaskObject:
    return TaskObject(half_extents=HALF, position=tuple(CENTRE), orientation_rpy=rpy, friction_tool=0.8, **more)


def turned(task: Task, *rpy: float) -> Task:
    return dataclasses.replace(task, object=dataclasses.replace(task.object, orientation_rpy=rpy))


def test_a_box_along_the_axes_is_hit_as_the_task_says():
    hit = hit_of(box(), dataclasses.replace(ARM, impact_offset=(0.01, 0.0, -0.02)))
    np.testing.assert_array_equal(hit.normal, [0.0, 1.0, 0.0])
    np.testing.assert_allclose(hit.point, CENTRE + [0.01, 0.065, -0.02], atol=1e-15)
    np.testing.assert_array_equal(hit.velocity, [0.0, -0.5, 0.0])
    np.testing.assert_array_equal(hit.outward, [0.0, 1.0, 0.0])


def test_a_tool_that_would_move_along_the_face_is_refused():
    """A palm so turned that its face looks at a face of the box along which the tool moves."""
    palm = dataclasses.replace(
        ARM, impact_velocity=(0.0, -0.17, -0.23), pad_half_sizes=(0.04, 0.03, 0.02), orientation_rpy=(-0.3, 1.0, 0.2)
    )
    expected = r"impact_velocity: got \[0.0, -0.17, -0.23\], expected one into the face .* normal is \[1.0, 0.0, 0.0\]"
    with pytest.raises(InvalidInputError, match=expected):
        hit_of(box(), palm)
    into = hit_of(box(), dataclasses.replace(palm, impact_velocity=(-0.002, -0.17, -0.23)))
    np.testing.assert_array_equal(into.normal, [1.0, 0.0, 0.0])


def test_as_long_as_friction_holds_the_tool_keeps_its_velocity_and_hits_towards_the_centre():
    angle = 0.3  # of the 0.7 times 0.675 rad that friction allows
    thing = box((0.0, 0.0, angle))
    hit = hit_of(thing, dataclasses.replace(ARM, turn_rpy=thing.turn_rpy))
    np.testing.assert_allclose(hit.normal, [-np.sin(angle), np.cos(angle), 0.0], atol=1e-15)
    np.testing.assert_allclose(hit.velocity, [0.0, -0.5, 0.0], atol=1e-15)
    # On the face, and on the line through the centre along the velocity.
    np.testing.assert_allclose(hit.point - CENTRE, [0.0, 0.065 / np.cos(angle), 0.0], atol=1e-15)
    np.testing.assert_allclose(hit.outward, [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("angle", [0.4, -0.4])
def test_beyond_the_velocity_turns_with_the_box_by_what_is_too_much(angle):
    thing = dataclasses.replace(box((0.0, 0.0, angle)), friction_tool=0.3)
    hit = hit_of(thing, dataclasses.replace(ARM, turn_rpy=thing.turn_rpy))
    kept = np.sign(angle) * (abs(angle) - OBLIQUE * np.arctan(0.3))
    np.testing.assert_allclose(hit.velocity, 0.5 * np.array([np.sin(kept), -np.cos(kept), 0.0]), atol=1e-12)
    # Without friction it is square to the face, which is hit in its middle.
    slippery = dataclasses.replace(thing, friction_tool=0.0)
    hit = hit_of(slippery, dataclasses.replace(ARM, turn_rpy=thing.turn_rpy))
    np.testing.assert_allclose(hit.velocity, -0.5 * hit.normal, atol=1e-12)
    np.testing.assert_allclose(hit.point, CENTRE + 0.065 * hit.normal, atol=1e-12)


def test_the_face_is_the_one_that_the_task_means_whatever_the_axes_are_called():
    # Turned by 100 deg: it is another one's face that looks along y, turned by 10 deg.
    thing = box((0.0, 0.0, np.radians(100.0)))
    hit = hit_of(thing, dataclasses.replace(ARM, turn_rpy=thing.turn_rpy))
    ten = np.radians(10.0)
    np.testing.assert_allclose(hit.normal, [-np.sin(ten), np.cos(ten), 0.0], atol=1e-12)
    assert (hit.point - CENTRE) @ hit.normal == pytest.approx(0.10)


def test_on_a_table_that_leans_the_tool_moves_along_it():
    thing = box((np.radians(15.0), 0.0, 0.0))
    hit = hit_of(thing, dataclasses.replace(ARM, turn_rpy=thing.turn_rpy))
    c, s = np.cos(np.radians(15.0)), np.sin(np.radians(15.0))
    np.testing.assert_allclose(hit.normal, [0.0, c, s], atol=1e-12)
    np.testing.assert_allclose(hit.velocity, [0.0, -0.5 * c, -0.5 * s], atol=1e-12)
    np.testing.assert_allclose(hit.point, CENTRE + 0.065 * hit.normal, atol=1e-12)


def test_what_pushes_a_box_on_a_table_that_leans_carries_the_weight_too():
    robot = RobotModel.from_profile("panda")
    angle = np.radians(6.0)
    c, s = np.cos(angle), np.sin(angle)
    # The goal is as far along the table as before.
    task = turned(PUSH, angle, 0.0, 0.0)
    task = dataclasses.replace(task, goal=tuple(np.add(task.object.position, [0.0, -0.3 * c, -0.3 * s])))
    weight = task.object.mass * 9.81
    force = make_field(task, [robot]).arms[0].feedforward_wrench[:3]
    # Down the table: friction against it, the weight with it.
    along = task.object.friction_table * weight * c - weight * s
    np.testing.assert_allclose(force, [0.0, -c * along, -s * along], atol=1e-9)


def test_palms_press_on_a_turned_box_without_turning_it():
    task = turned(load_task("dual_arm_grab"), 0.0, 0.0, 0.35)
    field = make_field(task, [RobotModel.from_profile("panda")] * 2)
    torque = np.zeros(3)
    for own in field.arms:
        level = [1.0, 1.0, 0.0]
        lever = (own.impact_position - own.normal * 0.03 - task.object.position) * level
        torque += np.cross(lever, own.feedforward_wrench[:3] * level)
    assert np.abs(torque).max() < 1e-9
    assert min(-own.normal @ own.feedforward_wrench[:3] for own in field.arms) > 10.0


def test_the_tool_turns_with_the_box_and_the_starts_do_not():
    robot, task = RobotModel.from_profile("panda"), turned(PUSH, 0.0, 0.0, 0.3)
    arm = task.arms[0]
    plain = PUSH.arms[0]
    np.testing.assert_array_equal(start_posture(arm, robot), start_posture(plain, robot))
    place = make_field(task, [robot]).arms[0].impact_position
    own, usual = tool_placement(arm, place), tool_placement(plain, place)
    np.testing.assert_allclose(own.rotation, pin.utils.rotate("z", 0.3) @ usual.rotation, atol=1e-12)
    reached = posture_with_tool_at(arm, robot, place, usual_posture(arm, robot))
    there = base_placement(arm).act(robot.placement(reached))
    np.testing.assert_allclose(there.rotation, own.rotation, atol=1e-5)


def test_a_turned_task_comes_back_from_its_text_and_stays_turned_once():
    task = turned(PUSH, 0.1, -0.05, 0.3)
    text = task_yaml(task)
    assert "turn_rpy" not in text
    again = parse_task(read_yaml_mapping("yaml", "test", text))
    assert again == task
    assert again.arms[0].turn_rpy == pytest.approx((0.1, -0.05, 0.3))
    assert dataclasses.replace(again, goal=task.goal).arms == task.arms


def test_the_table_is_below_the_centre_where_it_meets_the_plumb_line():
    assert turned(PUSH, 0.0, 0.0, 0.3).table_height == pytest.approx(0.2)
    assert turned(PUSH, 0.2, 0.0, 0.0).table_height == pytest.approx(0.3 - 0.1 / np.cos(0.2))


def test_the_edges_go_with_the_axes_where_each_has_another_s_name():
    naming = np.roll(np.eye(3), 1, axis=0)  # x is called y, y z, and z x
    rpy = pin.rpy.matrixToRpy(np.asfortranarray(pin.utils.rotate("z", 0.3) @ naming))
    # Edges by those names of a box that is 0.10, 0.065 and 0.08 m along the turned axes.
    thing = TaskObject(half_extents=tuple((np.abs(naming).T @ HALF).tolist()), orientation_rpy=tuple(rpy.tolist()))
    edges = [thing.standing.shape.depth(thing.rotation.T @ thing.turn[:, axis]) for axis in range(3)]
    np.testing.assert_allclose(edges, HALF, atol=1e-12)
    np.testing.assert_allclose(thing.turn, pin.utils.rotate("z", 0.3), atol=1e-12)


@pytest.fixture(scope="module")
def about_the_first_joint():
    """The push, and the same with everything turned by 0.35 rad about the first joint's axis: box, goal and arm.

    It is hit off its centre, and without friction, so that the velocity turns, too.
    """
    turn, angle = pin.utils.rotate("z", 0.35), 0.35
    arm = dataclasses.replace(PUSH.arms[0], impact_offset=(0.03, 0.0, 0.02), starts=((0.45, 0.23, 0.30),))
    thing = dataclasses.replace(PUSH.object, friction_tool=0.0)
    here = dataclasses.replace(PUSH, object=thing, arms=(arm,))
    there = dataclasses.replace(
        here,
        goal=tuple(turn @ here.goal),
        object=dataclasses.replace(
            thing, position=tuple((turn @ thing.position).tolist()), orientation_rpy=(0.0, 0.0, angle)
        ),
        arms=(dataclasses.replace(arm, null_space_position=arm.null_space_position + angle),),
    )
    return here, there, turn, angle


def test_a_palm_does_to_a_turned_box_what_it_does_to_a_straight_one(about_the_first_joint):
    here, there, turn, angle = about_the_first_joint
    robot = RobotModel.from_profile("panda")
    q = posture_with_tool_at(here.arms[0], robot, make_field(here, [robot]).arms[0].impact_position, robot.home)
    dq = np.linalg.pinv(robot.frame_jacobian(q)) @ [0.05, -0.5, 0.02, 0.1, 0.2, -0.1]
    turned_q = q + angle * np.eye(7)[0]
    found = []
    for task, posture in ((here, q), (there, turned_q)):
        found.append(predict_grasp_impact(task, [robot], make_field(task, [robot]), [posture], [dq]))
    np.testing.assert_allclose(found[1].velocity_after[""], found[0].velocity_after[""], atol=1e-7)
    straight, askew = (own.velocity_after["juice_pack"] for own in found)
    np.testing.assert_allclose(askew, np.concatenate((turn @ straight[:3], turn @ straight[3:])), atol=1e-7)


def test_the_check_of_the_impact_knows_that_the_box_is_turned(about_the_first_joint):
    here, there, _, angle = about_the_first_joint
    robot = RobotModel.from_profile("panda")
    straight, askew = (
        expected_impact(make_field(task, [robot]), robot, posture=task.arms[0].posture + more * np.eye(7)[0])
        for task, more in ((here, 0.0), (there, angle))
    )
    np.testing.assert_allclose(askew.posture, straight.posture + angle * np.eye(7)[0], atol=1e-5)
    np.testing.assert_allclose(askew.velocity_after, straight.velocity_after, atol=1e-5)
    assert np.abs(straight.velocity_after - straight.velocity_before).max() > 0.05
