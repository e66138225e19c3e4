"""The impact map at all trials at once, as a function of the parameters to be identified.

A trial has the joints' velocities after the impact and, where the object was tracked, the change of its
velocity: -A' p / m for an impulse p along the contact's axes A. Both are fitted together.
"""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.trials import ImpactTrial, check_trials
from impact_aware.impact.contact_space import ContactSpaceBuilder
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.robot import RobotModel


class TrialPredictions:
    """Everything about the trials that does not depend on the parameters, computed once.

    Attributes:
        trials: The trials.
        link_inertia: (k, n, n) M(q) without motor inertia, kg m^2.
        approach_speed: (k,) Normal speed towards the obstacle before the impact, m/s; negative when moving away.
        slip_speed: (k,) Tangential speed before the impact, m/s.
        own_restitution: (k,) Normal speed after over approach speed, as each trial's own estimate has it.
        tracked: Number of trials whose object was tracked.
        figures: Number of measured velocities, of joints and of those objects.
        typical_error: Standard error that stands for weight one, rad/s.
        typical_jump: Root mean square of the estimated jumps, rad/s.
    """

    def __init__(self, robot: RobotModel, trials: list[ImpactTrial], method: str = DEFAULT_METHOD) -> None:
        """Prepare.

        Raises:
            InvalidInputError: No trial, or trials of another robot.
            UnknownNameError: Unknown map or frame.
        """
        check_trials(robot, trials)
        self._map = impact_map(method)
        self.trials = trials
        self._motor_inertia = robot.apparent_motor_inertia
        self.link_inertia = np.array([robot.mass_matrix(trial.q, "M") for trial in trials])
        self._jacobians = np.empty((len(trials), 3, robot.n))
        self._obstacles = np.zeros((len(trials), 3, 3))
        self._before = np.array([trial.velocity_before for trial in trials])
        self._after = np.array([trial.velocity_after for trial in trials])
        after_errors = np.array([trial.standard_error for trial in trials])
        self._before_errors = np.array([trial.before_error for trial in trials])
        self.typical_error = float(np.sqrt(np.mean(after_errors**2)))
        # What an impulse does to each object's centre; nothing where it was not tracked.
        self._gains, self._gain_answers = np.zeros((len(trials), 3)), np.zeros((len(trials), 3, 3))
        gain_errors = np.ones((len(trials), 3))
        self.tracked = 0
        for index, trial in enumerate(trials):
            if trial.object_gain is not None and trial.obstacle is not None:
                self.tracked += 1
                self._gains[index], gain_errors[index] = trial.object_gain, trial.object_gain_error
                self._gain_answers[index] = -trial.contact.axes.T / trial.obstacle.mass
        self.figures = self._after.size + 3 * self.tracked
        self._errors = np.hstack((after_errors, gain_errors)) if self.tracked else after_errors
        self._whitening = self.typical_error / self._errors[:, :, None] * np.eye(self._errors.shape[1])
        self.typical_jump = float(np.sqrt(np.mean((self._after - self._before) ** 2)))
        velocities = np.empty((len(trials), 3))
        for index, trial in enumerate(trials):
            space = ContactSpaceBuilder(robot, trial.contact, trial.obstacle, "M")(trial.q, trial.velocity_before)
            self._jacobians[index] = space.jacobian
            velocities[index] = space.velocity
            self._obstacles[index] = space.delassus - space.jacobian @ space.response
        self._velocities = velocities
        self.approach_speed = -velocities[:, 0]
        self.slip_speed = np.hypot(velocities[:, 1], velocities[:, 2])
        obstacle_motion = np.einsum("kij,kj->ki", self._jacobians, self._before) - velocities
        after = np.einsum("kij,kj->ki", self._jacobians, self._after) - obstacle_motion
        self.own_restitution = after[:, 0] / np.where(self.approach_speed > 0.0, self.approach_speed, np.nan)

    def predict(
        self, *, friction: float | None = None, restitution: float | None = None, motor_inertia: Array | None = None
    ) -> Array:
        """Velocities after (k, n), rad/s; a parameter that is None has each trial's, or the robot's, known value."""
        return self._predicted(friction, restitution, motor_inertia)[0]

    def weigh(
        self, *, friction: float | None = None, restitution: float | None = None, motor_inertia: Array | None = None
    ) -> None:
        """Weigh the residuals by their covariance, the errors of the velocities before included.

        An error of the velocity before reaches the prediction through the derivative P of the impact map, so that the
        residuals of one trial have the covariance S_after + P S_before P', taken at the given parameters. Without it an
        error along the jump would count as little as one across it, and the intervals would be too narrow.
        """
        responses, delassus = self._contact_spaces(motor_inertia)
        for index in range(len(self.trials)):
            velocity = self._velocities[index]
            # Small against any impact's speed, large against rounding.
            step = 1e-5 * max(float(np.linalg.norm(velocity)), 1e-6)
            ends = [
                [self._impulse(index, delassus[index], velocity + away, friction, restitution) for away in sides]
                for sides in (step * np.eye(3), -step * np.eye(3))
            ]
            slopes = (np.array(ends[0]) - np.array(ends[1])).T / (2.0 * step)
            answers = np.vstack((responses[index], self._gain_answers[index]))[: self._errors.shape[1]]
            derivative = answers @ slopes @ self._jacobians[index]
            derivative[: self._before.shape[1]] += np.eye(self._before.shape[1])
            spread = derivative * self._before_errors[index]
            covariance = np.diag(self._errors[index] ** 2) + spread @ spread.T
            self._whitening[index] = self.typical_error * np.linalg.inv(np.linalg.cholesky(covariance))

    def residuals(
        self, *, friction: float | None = None, restitution: float | None = None, motor_inertia: Array | None = None
    ) -> Array:
        """Estimated minus predicted velocities, whitened with the weights of `weigh`, times `typical_error`.

        Those of the joints (k, n), and behind them (k, n + 3) of the objects where one was tracked, else zero there.
        """
        after, gains = self._predicted(friction, restitution, motor_inertia)
        left = np.hstack((self._after - after, self._gains - gains))[:, : self._errors.shape[1]]
        return np.einsum("kij,kj->ki", self._whitening, left)

    def _predicted(
        self, friction: float | None, restitution: float | None, motor_inertia: Array | None
    ) -> tuple[Array, Array]:
        """Joint velocities after (k, n), rad/s, and what tracked objects gained (k, 3), m/s."""
        responses, delassus = self._contact_spaces(motor_inertia)
        after, gains = self._before.copy(), np.zeros_like(self._gains)
        for index in range(len(self.trials)):
            impulse = self._impulse(index, delassus[index], self._velocities[index], friction, restitution)
            after[index] += responses[index] @ impulse
            gains[index] = self._gain_answers[index] @ impulse
        return after, gains

    def _contact_spaces(self, motor_inertia: Array | None) -> tuple[Array, Array]:
        """Response (k, n, 3) and Delassus matrix (k, 3, 3) of every trial."""
        added = self._motor_inertia if motor_inertia is None else motor_inertia
        inertia = self.link_inertia + np.diag(added)
        responses = np.linalg.solve(inertia, np.swapaxes(self._jacobians, 1, 2))
        return responses, self._jacobians @ responses + self._obstacles

    def _impulse(
        self, index: int, delassus: Array, velocity: Array, friction: float | None, restitution: float | None
    ) -> Array:
        contact = self.trials[index].contact
        impulse = self._map(
            delassus.tolist(),
            velocity.tolist(),
            contact.friction if friction is None else friction,
            contact.restitution if restitution is None else restitution,
        )
        return np.array(impulse[:3])
