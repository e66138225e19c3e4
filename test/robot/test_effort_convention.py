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
    np.testing.assert_array_equal(EffortConvention([WHOLE]).to_command(effort, HOME), effort)
    np.testing.assert_array_equal(EffortConvention([WHOLE]).to_effort(effort, HOME), effort)


def test_each_arm_has_the_gravity_of_its_own_posture():
    convention = EffortConvention([PANDA, WHOLE, PANDA])
    other = HOME + 0.3
    q, effort = np.concatenate([HOME, HOME, other]), np.linspace(-3.0, 5.0, 21)
    np.testing.assert_array_equal(convention.carried, np.repeat([1.0, 0.0, 1.0], 7))
    expected = effort - np.concatenate([PANDA.gravity(HOME), np.zeros(7), PANDA.gravity(other)])
    np.testing.assert_allclose(convention.to_command(effort, q), expected, atol=1e-12)
    np.testing.assert_allclose(convention.to_effort(expected, q), effort, atol=1e-12)
