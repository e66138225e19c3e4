"""Two palms that hit a box at once: laws of the common impact."""

import dataclasses

import numpy as np
import pytest

from impact_aware.contact.box import homogeneous_box
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.grasp import pad_time, predict_grasp, predict_grasp_impact

TASK = load_task("dual_arm_grab")
ROBOTS = [RobotModel.from_profile(arm.robot) for arm in TASK.arms]
FIELD = make_field(TASK, ROBOTS)
POSTURES = [
    start_posture(own, robot, reference.impact_position)
    for own, robot, reference in zip(TASK.arms, ROBOTS, FIELD.arms, strict=True)
]


def velocities(scale=(1.0, 1.0)):
    wanted = []
    for factor, own, robot, q in zip(scale, TASK.arms, ROBOTS, POSTURES, strict=True):
        turn = base_placement(own).rotation.T
        twist = np.concatenate([turn @ (factor * np.array(own.impact_velocity)), np.zeros(3)])
        wanted.append(np.linalg.pinv(robot.frame_jacobian(q)) @ twist)
    return wanted


def test_momentum_goes_from_the_arms_into_the_box_and_energy_does_not_grow():
    before = velocities()
    jump = predict_grasp_impact(TASK, ROBOTS, FIELD, POSTURES, before)
    total = jump.impulse.sum(axis=0)
    # Every impulse acts on an arm; its opposite acts on the box, which was at rest.
    np.testing.assert_allclose(TASK.object.mass * jump.velocity_after[TASK.object.name][:3], -total, atol=1e-9)
    box = homogeneous_box(TASK.object.mass, FIELD.object_half_extents, FIELD.object_position)
    after = jump.velocity_after[TASK.object.name]
    energy, lost = 0.5 * after @ np.linalg.solve(box.inverse_inertia, after), 0.0
    for own, robot, q, old in zip(TASK.arms, ROBOTS, POSTURES, before, strict=True):
        mass, new = robot.mass_matrix(q), jump.velocity_after[own.name]
        energy += 0.5 * new @ mass @ new
        lost += 0.5 * old @ mass @ old
    assert energy < lost
    assert lost - energy == pytest.approx(jump.energy_loss, rel=1e-6)


def test_no_palm_moves_into_the_box_afterwards_and_each_impulse_stays_in_its_cone():
    jump = predict_grasp_impact(TASK, ROBOTS, FIELD, POSTURES, velocities())
    normals = np.repeat([arm.normal for arm in FIELD.arms], 4, axis=0)
    # Four corners per palm.
    assert len(jump.impulse) == 8
    along = np.einsum("ij,ij->i", jump.contact_velocity_after, normals)
    assert along.min() > -1e-7
    pressed = np.einsum("ij,ij->i", jump.impulse, normals)
    assert pressed.min() > -1e-9
    across = np.linalg.norm(jump.impulse - pressed[:, None] * normals, axis=1)
    assert np.all(across <= TASK.object.friction_tool * pressed + 1e-7)


def test_every_arm_changes_by_the_impulses_at_the_corners_of_its_own_palm():
    task = load_task("dual_arm_grab", {"object": {"half_extents": [0.07, 0.065, 0.12], "friction_tool": 0.3}})
    palms = tuple(dataclasses.replace(own, pad_half_sizes=(0.05, 0.02, 0.045)) for own in task.arms)
    task = dataclasses.replace(task, arms=palms)
    before = velocities(scale=(1.3, 0.8))
    jump = predict_grasp_impact(task, ROBOTS, make_field(task, ROBOTS), POSTURES, before)
    for index, (own, robot, q) in enumerate(zip(task.arms, ROBOTS, POSTURES, strict=True)):
        base, tool = base_placement(own).rotation, robot.placement(q).rotation
        normal = FIELD.arms[index].normal
        # Both palms look along their z axis: corners along x and y, as thick as z.
        along, centre = base @ tool[:, 0], -0.045 * normal
        across = np.cross(normal, along)
        signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        levers = np.array([centre + s * 0.05 * along + t * 0.02 * across for s, t in signs])
        given = jump.impulse[4 * index : 4 * index + 4]
        assert np.abs(given).max() > 0.05
        wrench = np.concatenate([base.T @ given.sum(axis=0), base.T @ np.cross(levers, given).sum(axis=0)])
        change = robot.mass_matrix(q) @ (jump.velocity_after[own.name] - before[index])
        np.testing.assert_allclose(robot.frame_jacobian(q).T @ wrench, change, atol=1e-8)


def test_without_friction_the_impulses_are_along_the_normals_and_restitution_adds_to_them():
    def impulses(**entries):
        task = load_task("dual_arm_grab", {"object": entries})
        return predict_grasp_impact(task, ROBOTS, FIELD, POSTURES, velocities())

    normals = np.repeat([arm.normal for arm in FIELD.arms], 4, axis=0)
    smooth = impulses(friction_tool=1e-9).impulse
    np.testing.assert_allclose(smooth - np.einsum("ij,ij->i", smooth, normals)[:, None] * normals, 0.0, atol=1e-7)
    bouncing = impulses(friction_tool=1e-9, restitution=0.5)
    assert np.einsum("ij,ij->", bouncing.impulse, normals) > 1.3 * np.einsum("ij,ij->", smooth, normals)
    # What is touched is the tool, so the coefficient with the table changes nothing.
    np.testing.assert_array_equal(impulses(friction_table=0.9).impulse, impulses(friction_table=0.1).impulse)


def test_round_tips_touch_at_one_point_a_radius_before_them():
    tips = tuple(dataclasses.replace(own, pad_half_sizes=(0.0, 0.0, 0.0)) for own in TASK.arms)
    task = dataclasses.replace(TASK, arms=tips)
    jump = predict_grasp_impact(task, ROBOTS, FIELD, POSTURES, velocities(scale=(1.5, 0.5)))
    assert len(jump.impulse) == 2
    body = homogeneous_box(TASK.object.mass, FIELD.object_half_extents, FIELD.object_position)
    angular = np.zeros(3)
    for index, (own, robot, q) in enumerate(zip(task.arms, ROBOTS, POSTURES, strict=True)):
        tool = base_placement(own).act(robot.placement(q).translation)
        lever = tool - robot.tool_radius * FIELD.arms[index].normal - FIELD.object_position
        angular += np.cross(lever, -jump.impulse[index])
    after = jump.velocity_after[TASK.object.name]
    np.testing.assert_allclose(body.inertia @ after[3:], angular, atol=1e-8)
    np.testing.assert_allclose(TASK.object.mass * after[:3], -jump.impulse.sum(axis=0), atol=1e-8)


def askew(q, angle=-0.003):
    """The posture with its last but one joint turned by 0.17 deg."""
    return np.array([*q[:5], q[5] + angle, q[6]])


def test_hard_palms_do_not_care_how_askew_they_are_and_soft_ones_meet_corner_after_corner():
    postures = [askew(q) for q in POSTURES]

    def object_after(time_constant, q, **more):
        arms = tuple(dataclasses.replace(own, pad_time_constant=time_constant) for own in TASK.arms)
        jump = predict_grasp_impact(dataclasses.replace(TASK, arms=arms), ROBOTS, FIELD, q, velocities(), **more)
        return jump.velocity_after[TASK.object.name][:3]

    hard, flat = object_after(0.0, postures), object_after(0.002, POSTURES)
    np.testing.assert_allclose(flat, object_after(0.0, POSTURES), atol=1e-9)
    # A hard palm's corners are taken to touch at once; the posture itself changes next to nothing.
    assert np.linalg.norm(hard - flat) < 2e-3
    soft = object_after(0.002, postures)
    assert np.linalg.norm(soft - hard) > 0.01
    # The softer the pad, the less it matters which corner comes first.
    assert np.linalg.norm(object_after(1.0, postures) - hard) < 2e-3
    # A palm that comes 3 ms later meets a box that already moves with the other one.
    late = object_after(0.002, POSTURES, times=(4.0, 4.003))
    assert np.linalg.norm(late - flat) > 1e-3


def test_the_softest_pad_that_hits_sets_the_time():
    left, right = TASK.arms
    harder, softer = (dataclasses.replace(left, pad_time_constant=t) for t in (0.001, 0.004))
    task = dataclasses.replace(TASK, arms=(harder, dataclasses.replace(softer, name=right.name)))
    assert [pad_time(task, hitting) for hitting in ([0], [1], [0, 1])] == [0.001, 0.004, 0.004]


def test_restitution_lets_soft_palms_meet_the_object_at_once():
    task = load_task("dual_arm_grab", {"object": {"restitution": 0.2}})
    hard = dataclasses.replace(task, arms=tuple(dataclasses.replace(own, pad_time_constant=0.0) for own in task.arms))
    postures = [askew(q) for q in POSTURES]
    soft, expected = (predict_grasp_impact(one, ROBOTS, FIELD, postures, velocities()) for one in (task, hard))
    for name, velocity in expected.velocity_after.items():
        np.testing.assert_array_equal(soft.velocity_after[name], velocity)


def test_the_weight_pulls_at_an_object_that_is_lifted_as_long_as_the_impact_lasts():
    q = np.concatenate(POSTURES)
    impact, weighed = (predict_grasp(TASK, ROBOTS, FIELD, q, weighing=time) for time in (0.0, 0.006))
    fallen = impact - weighed
    # It shares its weight's impulse with two arms of a few kilograms each.
    assert 0.2 * 9.81 * 0.006 < fallen[2] < 0.8 * 9.81 * 0.006
    assert np.linalg.norm(fallen[:2]) < 0.3 * fallen[2]
