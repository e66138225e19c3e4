"""Arms that add gravity themselves get what is left, and make the whole torque of it again."""

from __future__ import annotations

import dataclasses

import numpy as np

from impact_aware.robot import RobotModel, load_profile
from impact_aware.robot.effort_convention import EffortConvention

PANDA = RobotModel.from_profile("panda")
WHOLE = RobotModel.from_profile(dataclasses.replace(load_profile("panda"), command_includes_gravity=True))
HOME = PANDA.home


def test_an_arm_that_carries_itself_is_told_nothing_to_hold_still():
    command = EffortConvention([PANDA]).to_command(PANDA.gravity(HOME), HOME)
    np.testing.assert_allclose(command, 0.0, atol=1e-12)  # rounding of 30 N m


def test_only_the_arm_whose_profile_says_so_is_converted_and_back_again():
    convention = EffortConvention([WHOLE, PANDA])
    effort, q = np.arange(14.0), np.concatenate([HOME, HOME])
    command = convention.to_command(effort, q)
    np.testing.assert_array_equal(command[:7], effort[:7])
    np.testing.assert_allclose(command[7:], effort[7:] - PANDA.gravity(HOME))
    np.testing.assert_allclose(convention.to_effort(command, q), effort)


def test_a_whole_torque_passes_as_it_is():
    effort = np.arange(7.0)
    assert EffortConvention([WHOLE]).to_command(effort, HOME) is effort


def test_what_is_sent_keeps_to_the_torque_rate_while_gravity_changes():
    convention = EffortConvention([PANDA])
    effort, q = PANDA.gravity(HOME), HOME.copy()
    step = PANDA.limits.effort_rate * 0.001
    before = convention.to_command(effort, q)
    for _ in range(20):
        effort = effort + step
        q = q + 0.05
        command = convention.to_command(effort, q)
        assert np.all(np.abs(command - before) <= step + 1e-12)
        before = command
    convention.reset()
    np.testing.assert_allclose(convention.to_command(effort, q), effort - PANDA.gravity(q))
