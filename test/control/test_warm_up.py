"""Warming up reaches the modes that solve a quadratic program, for one arm and for two, and gives safe torques."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import ControlSession, Mode, warm_up
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field


@pytest.mark.parametrize("name", ["hit_and_push", "dual_arm_grab"])
def test_it_runs_through_the_impact(name):
    task = load_task(name)
    robots = [RobotModel.from_profile(arm.robot or "panda") for arm in task.arms]
    bases = [base_placement(arm) if len(robots) > 1 else pin.SE3.Identity() for arm in task.arms]
    session = ControlSession(robots, field=make_field(task, robots), bases=bases)
    command = warm_up(session)
    assert session.command is None and session.mode is Mode.IDLE
    assert command.mode is Mode.INTERIM
    limits = np.concatenate([robot.limits.effort for robot in robots])
    assert np.all(np.abs(command.effort) <= limits)
