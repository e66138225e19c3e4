import dataclasses

import numpy as np
import pytest

from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture
from impact_aware.task.grasp import predict_grasp, predict_grasp_impact
from impact_aware.task.make_field import joint_velocity_of_tool, posture_with_tool_at, usual_posture


@pytest.fixture(scope="module")
def robots():
    return [RobotModel.from_profile("panda")] * 2


def predicted(task, robots):
    field = make_field(task, robots)
    both = zip(task.arms, robots, field.arms, strict=True)
    at_impact = [start_posture(arm, robot, tuple(own.impact_position)) for arm, robot, own in both]
    return predict_grasp(task, robots, field, np.concatenate(at_impact))


def test_closing_velocities_cancel_and_the_common_one_is_shared(robots):
    task = load_task("dual_arm_grab")
    velocity = predicted(task, robots)
    common = task.arms[0].impact_velocity[2]
    # The Panda's inertias are symmetric to a few per cent only.
    assert abs(velocity[1]) < 0.02 * abs(task.arms[0].impact_velocity[1])
    assert 0.0 < velocity[2] < common


def test_it_is_the_common_impact_of_arms_at_the_faces_that_move_as_the_field_wants(robots):
    """The tools are beside where the task wants them, where the field asks for another velocity, and off the faces."""
    task = load_task("dual_arm_grab", {"object": {"half_extents": [0.12, 0.065, 0.09], "position": [0.53, 0.02, 0.41]}})
    left, right = task.arms
    left = dataclasses.replace(left, impact_offset=(0.03, 0.0, 0.02), impact_velocity=(0.04, -0.35, 0.1))
    task = dataclasses.replace(task, arms=(left, dataclasses.replace(right, impact_offset=(-0.02, 0.0, -0.01))))
    field = dataclasses.replace(make_field(task, robots), ante_radius_min=0.102, ante_radius_max=0.13)
    touching = [own.impact_position for own in field.arms] + np.array([[0.05, 0.0, 0.02], [-0.04, 0.0, 0.05]])
    off = np.array([[0.0, 0.012, 0.0], [0.0, -0.02, 0.0]])
    q = [start_posture(a, r, t + d) for a, r, t, d in zip(task.arms, robots, touching, off, strict=True)]
    dq = []
    for index, robot in enumerate(robots):
        wanted = field.ante_impact(index).velocity(touching[index])
        assert np.linalg.norm(wanted - field.arms[index].impact_velocity) > 0.01
        # Seven joints: the twist of the tool, and the null-space joint at rest.
        rows = np.vstack([robot.frame_jacobian(q[index]), np.eye(7)[0]])
        dq.append(np.linalg.solve(rows, [*wanted, 0.0, 0.0, 0.0, 0.0]))
    # Arms that stand so much farther have their tools at the faces in the same postures.
    nearer = tuple(
        dataclasses.replace(arm, base_position=tuple(np.array(arm.base_position) - d))
        for arm, d in zip(task.arms, off, strict=True)
    )
    jump = predict_grasp_impact(dataclasses.replace(task, arms=nearer), robots, field, q, dq)
    expected = jump.velocity_after[task.object.name][:3]
    found = predict_grasp(task, robots, field, np.concatenate(q))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # Neither where the tools really are, nor a velocity of theirs that nobody wants, gives the same.
    where_they_are = predict_grasp_impact(task, robots, field, q, dq).velocity_after[task.object.name][:3]
    assert np.abs(found - where_they_are).max() > 1e-4


def test_a_palm_pushes_a_box_on_its_table_which_neither_sinks_nor_turns(robots):
    task = load_task("hit_and_push_palm")
    robot, (own,) = robots[0], task.arms
    field = make_field(task, [robot])
    q = start_posture(own, robot, tuple(field.arms[0].impact_position))
    dq = joint_velocity_of_tool(own, robot, q, own.impact_velocity)
    jump = predict_grasp_impact(task, [robot], field, [q], [dq])
    box = jump.velocity_after["juice_pack"]
    # van Steen 2024: 0.5 m/s against 2.20 kg leave 0.34 m/s, an effective mass of 4 to 5 kg or a little more.
    assert -0.38 < box[1] < -0.32
    assert abs(box[2]) < 0.01 and np.abs(box[3:]).max() < 0.25
    np.testing.assert_allclose(predict_grasp(task, [robot], field, q), box[:3], atol=1e-6)
    # Every corner of palm and base pushes or leaves; none pulls and none goes in.
    normals = np.array([field.arms[0].normal * -1.0] * 4 + [[0.0, 0.0, 1.0]] * 4)
    into_box = np.vstack([-jump.impulse[:4], jump.impulse[4:]])
    assert np.einsum("ij,ij->i", normals, into_box).min() >= -1e-9
    assert jump.impulse[4:, 2].max() > 0.0


def test_an_arm_that_does_not_hit_yet_feels_nothing_and_tells_nothing_of_the_object(robots):
    task = load_task("dual_arm_grab")
    field = make_field(task, robots)
    places = np.array([own.impact_position for own in field.arms]) + [[0.0, -0.01, 0.0], [0.0, -0.06, 0.0]]
    q = [start_posture(a, r, tuple(p)) for a, r, p in zip(task.arms, robots, places, strict=True)]
    dq = [joint_velocity_of_tool(a, r, own, a.impact_velocity) for a, r, own in zip(task.arms, robots, q, strict=True)]
    alone = predict_grasp_impact(task, robots, field, q, dq, hitting=[0])
    np.testing.assert_array_equal(alone.velocity_after["right"], dq[1])
    assert alone.velocity_after["juice_pack"][1] < -0.15
    elsewhere = predict_grasp_impact(task, robots, field, [q[0], q[1] + 0.1], dq, hitting=[0])
    np.testing.assert_array_equal(elsewhere.velocity_after["left"], alone.velocity_after["left"])
    # The object is where the left tool has it, as if it had been seen there, 10 mm aside.
    arms = dataclasses.replace(field.arms[0], impact_position=places[0]), field.arms[1]
    seen = dataclasses.replace(field, object_position=field.object_position - [0.0, 0.01, 0.0], arms=arms)
    expected = predict_grasp_impact(task, robots, seen, q, dq, hitting=[0]).velocity_after["juice_pack"]
    np.testing.assert_allclose(alone.velocity_after["juice_pack"], expected, atol=1e-6)


def test_a_heavier_object_leaves_more_slowly(robots):
    task = load_task("dual_arm_grab")
    speeds = []
    for mass in (0.1, 0.6, 2.2, 10.0, 1e6):
        other = dataclasses.replace(task, object=dataclasses.replace(task.object, mass=mass))
        speeds.append(np.linalg.norm(predicted(other, robots)))
    assert np.all(np.diff(speeds) < 0.0)
    # A mountain takes nothing of 20 N s: 1e-5 m/s.
    assert speeds[-1] < 1e-4


@pytest.mark.parametrize("name", ["hit_and_push_palm", "dual_arm_grab"])
def test_an_object_that_is_carried_goes_on_with_its_velocity_on_top(name):
    """Tools that meet it as fast relative to it, and a belt that goes along, make the same impact."""
    task = load_task(name)
    robots = [RobotModel.from_profile("panda")] * len(task.arms)
    field, velocity = make_field(task, robots), np.array([0.11, -0.06, 0.0])
    both = zip(task.arms, robots, field.arms, strict=True)
    q = np.concatenate([posture_with_tool_at(a, r, own.impact_position, usual_posture(a, r)) for a, r, own in both])
    still = predict_grasp(task, robots, field, q)
    carried = predict_grasp(task, robots, dataclasses.replace(field, object_velocity=velocity), q)
    np.testing.assert_allclose(carried, still + velocity, atol=1e-6)
