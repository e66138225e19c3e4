import dataclasses

import numpy as np
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


def test_a_heavier_object_leaves_more_slowly(robots):
    task = load_task("dual_arm_grab")
    speeds = []
    for mass in (0.1, 0.6, 2.2, 10.0, 1e6):
        other = dataclasses.replace(task, object=dataclasses.replace(task.object, mass=mass))
        speeds.append(np.linalg.norm(predicted(other, robots)))
    assert np.all(np.diff(speeds) < 0.0)
    # A mountain takes nothing of 20 N s: 1e-5 m/s.
    assert speeds[-1] < 1e-4
