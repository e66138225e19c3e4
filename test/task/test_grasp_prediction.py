import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture
from impact_aware.task.grasp import predict_grasp


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


def test_it_solves_the_equations_of_motion_with_the_palms_tied_to_the_object(robots):
    """[M -A'; A 0] [v+; impulse] = [M v-; 0] over both arms and the box, written out for a box without symmetry.

    The tools are not where the task wants them: aside, where the field asks for another velocity, and off the faces.
    """
    task = load_task("dual_arm_grab", {"object": {"half_extents": [0.12, 0.065, 0.05], "position": [0.53, 0.02, 0.41]}})
    left, right = task.arms
    left = dataclasses.replace(left, impact_offset=(0.03, 0.0, 0.02), impact_velocity=(0.04, -0.35, 0.1))
    task = dataclasses.replace(task, arms=(left, dataclasses.replace(right, impact_offset=(-0.02, 0.0, -0.01))))
    field = dataclasses.replace(make_field(task, robots), ante_radius_min=0.102, ante_radius_max=0.13)
    touching = [
        own.impact_position + aside for own, aside in zip(field.arms, ([0.05, 0, 0.02], [-0.04, 0, 0.05]), strict=True)
    ]
    off = ([0.0, 0.012, 0.0], [0.0, -0.02, 0.0])
    q = [start_posture(a, r, t + d) for a, r, t, d in zip(task.arms, robots, touching, off, strict=True)]
    a, b, c = 0.12, 0.065, 0.05
    mass = np.zeros((20, 20))
    mass[14:17, 14:17] = 2.2 * np.eye(3)
    mass[17:, 17:] = 2.2 / 3.0 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    tied, before = np.zeros((12, 20)), np.zeros(20)
    for index, robot in enumerate(robots):
        rows, columns = slice(6 * index, 6 * index + 6), slice(7 * index, 7 * index + 7)
        mass[columns, columns] = robot.mass_matrix(q[index])
        jacobian = robot.frame_jacobian(q[index])
        tied[rows, columns] = jacobian
        tied[rows, 14:] = -np.eye(6)
        tied[rows, 17:][:3] = pin.skew(touching[index] - np.array([0.53, 0.02, 0.41]))
        wanted = field.ante_impact(index).velocity(touching[index])
        assert np.linalg.norm(wanted - field.arms[index].impact_velocity) > 0.01
        before[columns] = np.linalg.pinv(jacobian) @ [*wanted, 0.0, 0.0, 0.0]
    system = np.block([[mass, -tied.T], [tied, np.zeros((12, 12))]])
    after = np.linalg.solve(system, np.concatenate([mass @ before, np.zeros(12)]))
    np.testing.assert_allclose(predict_grasp(task, robots, field, np.concatenate(q)), after[14:17], atol=1e-6)


def test_a_heavier_object_leaves_more_slowly(robots):
    task = load_task("dual_arm_grab")
    speeds = []
    for mass in (0.1, 0.6, 2.2, 10.0, 1e6):
        other = dataclasses.replace(task, object=dataclasses.replace(task.object, mass=mass))
        speeds.append(np.linalg.norm(predicted(other, robots)))
    assert np.all(np.diff(speeds) < 0.0)
    # A mountain takes nothing of 20 N s: 1e-5 m/s.
    assert speeds[-1] < 1e-4
