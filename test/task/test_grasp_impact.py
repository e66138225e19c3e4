"""Two palms that hit a box at once: laws of the common impact."""

import numpy as np
import pytest

from impact_aware.contact.box import homogeneous_box
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.grasp import predict_grasp_impact

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
    energy = (
        0.5
        * jump.velocity_after[TASK.object.name]
        @ np.linalg.solve(
            homogeneous_box(TASK.object.mass, FIELD.object_half_extents, FIELD.object_position).inverse_inertia,
            jump.velocity_after[TASK.object.name],
        )
    )
    lost = 0.0
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


def test_mirrored_arms_leave_the_box_in_the_middle():
    """The arms are mirror images but for the last joint's angle, which changes little."""
    jump = predict_grasp_impact(TASK, ROBOTS, FIELD, POSTURES, velocities())
    box = jump.velocity_after[TASK.object.name]
    assert abs(box[1]) < 0.1 * box[2]


def test_a_faster_arm_drives_the_box_towards_the_slower_one():
    jump = predict_grasp_impact(TASK, ROBOTS, FIELD, POSTURES, velocities(scale=(1.5, 0.5)))
    # The left arm comes along -y.
    assert jump.velocity_after[TASK.object.name][1] < -0.02
