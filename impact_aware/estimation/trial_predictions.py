"""The impact map at all trials at once, as a function of the parameters to be identified."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from impact_aware.estimation.trials import ImpactTrial, check_trials
from impact_aware.impact.contact_space import ContactSpaceBuilder
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.robot import RobotModel

Array = NDArray[np.float64]


class TrialPredictions:
    """Everything about the trials that does not depend on the parameters, computed once.

    Attributes:
        trials: The trials.
        link_inertia: (k, n, n) M(q) without motor inertia, kg m^2.
        approach_speed: (k,) Normal speed towards the obstacle before the impact, m/s; negative when moving away.
        slip_speed: (k,) Tangential speed before the impact, m/s.
        own_restitution: (k,) Normal speed after over approach speed, as each trial's own estimate has it.
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
        errors = np.array([trial.standard_error for trial in trials])
        self.typical_error = float(np.sqrt(np.mean(errors**2)))
        self._weights = self.typical_error / errors
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
        added = self._motor_inertia if motor_inertia is None else motor_inertia
        inertia = self.link_inertia + np.diag(added)
        responses = np.linalg.solve(inertia, np.swapaxes(self._jacobians, 1, 2))
        delassus = self._jacobians @ responses + self._obstacles
        after = self._before.copy()
        for index, trial in enumerate(self.trials):
            impulse = self._map(
                delassus[index].tolist(),
                self._velocities[index].tolist(),
                trial.contact.friction if friction is None else friction,
                trial.contact.restitution if restitution is None else restitution,
            )
            after[index] += responses[index] @ impulse[:3]
        return after

    def residuals(
        self, *, friction: float | None = None, restitution: float | None = None, motor_inertia: Array | None = None
    ) -> Array:
        """Estimated minus predicted velocities (k, n), rad/s, in units of each figure's error over `typical_error`."""
        predicted = self.predict(friction=friction, restitution=restitution, motor_inertia=motor_inertia)
        return (self._after - predicted) * self._weights
