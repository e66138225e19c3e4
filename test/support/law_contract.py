"""What every consumer of laws must do (docs/interfaces.md), as tests of a class that a test file derives
from, beside its fixture `consumer`.

A consumer has `robot`, `receive(law)`, and `torque(q, dq, now)`: the whole torque (n,) that drives the arm in the cycle
with these sensor values, N m. Its cycle is 1 ms long.
"""

import numpy as np
import pytest

from impact_aware.control.command import Mode
from impact_aware.control.local_law import LocalLaw

BEGIN, VALIDITY = 5.0, 0.03
STILL = np.zeros(7)


def made(robot, **changes):
    """A law about the home posture, with 0.5 N m more on the last joint than gravity needs."""
    own = {
        "joint_names": robot.joint_names,
        "effort": robot.gravity(robot.home) + np.eye(7)[6] * 0.5,
        "effort_rate": np.eye(7)[6] * 2.0,
        "position_gain": 20.0 * np.eye(7) + 1.0,
        "velocity_gain": 2.0 * np.eye(7) + 0.1,
        "position": robot.home,
        "velocity": STILL,
        "stamp": BEGIN,
        "validity": VALIDITY,
        "sequence": 10,
        "mode": Mode.ANTE,
    }
    return LocalLaw(**(own | changes))


def run(consumer, cycles, first=1, q=None, dq=STILL):
    """Torques (k, n) of so many cycles at the same state, from `first` ms after `BEGIN` on."""
    q = consumer.robot.home if q is None else q
    return np.array([consumer.torque(q, dq, BEGIN + 1e-3 * (first + k)).copy() for k in range(cycles)])


class LawContract:
    """Laws in, torques out."""

    @pytest.fixture
    def robot(self, consumer):
        return consumer.robot

    def test_a_law_is_applied_to_the_state_of_each_cycle_in_torque_gains_and_time(self, consumer, robot):
        law, q, dq = made(robot), robot.home + 0.01 * np.arange(7), 0.02 * np.arange(7)
        consumer.receive(law)
        applied = run(consumer, 25, q=q, dq=dq)[-1]
        np.testing.assert_allclose(applied, law.torque(q, dq, BEGIN + 0.025), atol=1e-9)

    def test_without_a_law_and_past_its_validity_the_arm_brakes_and_is_held(self, consumer, robot):
        moving = np.linspace(0.3, -0.2, 7)
        consumer.receive(made(robot, effort=robot.gravity(robot.home) + 5.0))
        valid = run(consumer, 30, dq=moving)[-1]
        after = run(consumer, 60, 31, dq=moving)[-1] - robot.bias(robot.home, moving)
        assert (valid - robot.bias(robot.home, moving)) @ moving > after @ moving
        assert after @ moving < 0.0
        # At rest it holds the posture where it came to rest.
        run(consumer, 60, 91)
        away = run(consumer, 60, 151, q=robot.home + 0.002)[-1] - robot.gravity(robot.home + 0.002)
        assert away.max() < 0.0

    @pytest.mark.parametrize("late", [-1.0, 1.0], ids=["a state long after it", "a state long before it"])
    def test_a_law_whose_stamp_is_far_from_the_state_is_not_applied(self, consumer, robot, late):
        consumer.receive(made(robot, effort=robot.gravity(robot.home) + 5.0, stamp=BEGIN - late))
        np.testing.assert_allclose(run(consumer, 20)[-1], robot.gravity(robot.home), atol=1e-6)

    def test_torque_and_torque_rate_keep_to_the_limits_also_where_laws_end(self, consumer, robot):
        run(consumer, 2)
        consumer.receive(made(robot, effort=np.full(7, 500.0)))
        torque = run(consumer, 60, 3)
        assert np.all(torque <= robot.limits.effort + 1e-9) and torque[26, 6] == pytest.approx(robot.limits.effort[6])
        assert np.abs(np.diff(torque, axis=0)).max() <= 1e-3 * robot.limits.effort_rate.max() + 1e-9
        assert torque[-1, 6] < torque[26, 6] - 5.0, "the law has ended"

    def test_a_law_that_is_not_newer_is_dropped_and_one_that_skips_numbers_is_followed(self, consumer, robot):
        heavy = robot.gravity(robot.home) + 5.0
        consumer.receive(made(robot))
        before = run(consumer, 5)[-1]
        for sequence in (10, 9, 0):
            consumer.receive(made(robot, effort=heavy, sequence=sequence))
        np.testing.assert_allclose(run(consumer, 10, 6)[-1], before, atol=0.05)
        consumer.receive(made(robot, effort=heavy, sequence=4000))
        assert run(consumer, 10, 16)[-1][6] > before[6] + 4.0

    def test_a_controller_that_was_started_anew_counts_anew_once_the_validity_is_over(self, consumer, robot):
        consumer.receive(made(robot, sequence=4000))
        run(consumer, 40)
        consumer.receive(made(robot, effort=robot.gravity(robot.home) + 5.0, sequence=1, stamp=BEGIN + 0.04))
        assert run(consumer, 10, 41)[-1][6] > robot.gravity(robot.home)[6] + 4.0

    @pytest.mark.parametrize("mode", Mode)
    def test_a_law_is_followed_whatever_its_mode_and_a_change_keeps_the_torque_rate(self, consumer, robot, mode):
        consumer.receive(made(robot))
        first = run(consumer, 5)
        consumer.receive(made(robot, effort=robot.gravity(robot.home) - 3.0, sequence=11, mode=mode))
        then = run(consumer, 10, 6)
        assert np.abs(np.diff(np.vstack((first, then)), axis=0)).max() <= 1e-3 * robot.limits.effort_rate.max() + 1e-9
        assert then[-1][6] == pytest.approx(robot.gravity(robot.home)[6] - 3.0, abs=0.05)
