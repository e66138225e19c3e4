"""Choice of impacts to record that determine the motor inertia of every joint: a greedy A-optimal design.

The errors follow from the information matrix, the sum over the impacts of S' C^-1 S: S is the derivative of the
predicted velocities by the parameters, C the covariance of what is measured. Each time, the candidate is taken that
most lowers the sum of the relative variances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.trial_predictions import TrialPredictions
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel

_LITTLE = 1e-3
"""Information before the first impact, relative to a parameter known to 100 %; it only makes the sum invertible."""

_STEP = 1e-4
"""Relative change of a parameter for its derivative."""


_SPREAD = 0.5
"""Largest deviation of each joint of a candidate from the home posture, rad."""

_SPEED = (0.1, 0.4)
"""Smallest and largest tool speed of a candidate, m/s."""

_TILT = (np.pi / 18.0, np.pi / 3.0)
"""Smallest and largest angle between its motion and the normal, rad."""

_IDLE_MOTION = 0.05
"""Standard deviation of what the joints move besides, as an arm with more joints than its task needs does, rad/s."""


def candidate_impacts(
    robot: RobotModel,
    rng: np.random.Generator,
    count: int,
    *,
    friction: float = 0.0,
    restitution: float = 0.0,
    velocity_error: float = 2e-3,
    normal: ArrayLike | None = None,
) -> list[ImpactTrial]:
    """Impacts of the rigid arm at random postures, without noise.

    Args:
        robot: The arm.
        rng: Source of chance.
        count: How many.
        friction: Coulomb's coefficient.
        restitution: Coefficient of restitution.
        velocity_error: Standard error that the velocities will be measured with, rad/s.
        normal: (3,) Normal of the surface; None for surfaces of any orientation.

    Raises:
        InvalidInputError: Less than one, an error that is not positive, or a normal of zero length.
    """
    if count < 1:
        raise InvalidInputError("count", count, "at least 1")
    if not velocity_error > 0.0:
        raise InvalidInputError("velocity_error", velocity_error, "more than 0 rad/s")
    trials: list[ImpactTrial] = []
    while len(trials) < count:
        q = np.clip(
            robot.home + rng.uniform(-_SPREAD, _SPREAD, robot.n),
            robot.limits.position_lower,
            robot.limits.position_upper,
        )
        drawn, across = rng.standard_normal((2, 3))
        surface = drawn if normal is None else np.asarray(normal, dtype=float)
        contact = Contact(
            robot.tool_frame, surface, friction=friction, restitution=restitution, radius=robot.tool_radius
        )
        across -= (across @ contact.normal) * contact.normal
        tilt = rng.uniform(*_TILT)
        direction = np.sin(tilt) * across / np.linalg.norm(across) - np.cos(tilt) * contact.normal
        velocity = np.linalg.pinv(robot.frame_jacobian(q)[:3]) @ (rng.uniform(*_SPEED) * direction)
        velocity += _IDLE_MOTION * rng.standard_normal(robot.n)
        after = predict(robot, q, velocity, contact)
        if after.mode != "separate":
            errors = np.full(robot.n, velocity_error)
            trials.append(ImpactTrial(q, velocity, after.velocity_after, errors, contact))
    return trials


def inertia_information(robot: RobotModel, trials: list[ImpactTrial]) -> Array:
    """Information (k, n, n) of each impact on the motor inertia, relative to the robot's own B_theta.

    Raises:
        InvalidInputError: A robot whose B_theta is not known for every joint, or trials of another robot.
    """
    known = robot.apparent_motor_inertia
    if not np.all(known > 0.0):
        raise InvalidInputError("apparent_motor_inertia", known.tolist(), "a first guess > 0 kg m^2 for every joint")
    predictions = TrialPredictions(robot, trials)
    predictions.weigh(motor_inertia=known)
    slopes = np.empty((len(trials), robot.n, robot.n))
    for joint in range(robot.n):
        step = np.zeros(robot.n)
        step[joint] = _STEP * known[joint]
        more, less = (predictions.residuals(motor_inertia=known + sign * step) for sign in (1.0, -1.0))
        slopes[:, :, joint] = (more - less) / (2.0 * _STEP * predictions.typical_error)
    return np.einsum("kij,kil->kjl", slopes, slopes)


def expected_errors(information: ArrayLike) -> Array:
    """Relative standard error (n,) of each parameter from the information (k, n, n) of k impacts."""
    total = np.asarray(information, dtype=float).sum(axis=0)
    return np.sqrt(np.diag(np.linalg.inv(total + _LITTLE * np.eye(len(total)))))


def choose_impacts(information: ArrayLike, count: int) -> list[int]:
    """Indices of `count` impacts to record, the most telling first, by each one's `information` (k, n, n).

    Raises:
        InvalidInputError: More than there are, or less than one.
    """
    offered = np.asarray(information, dtype=float)
    if not 1 <= count <= len(offered):
        raise InvalidInputError("count", count, f"1 to {len(offered)}, the number of candidates")
    total = _LITTLE * np.eye(offered.shape[1])
    left = list(range(len(offered)))
    taken: list[int] = []
    for _ in range(count):
        variances = np.trace(np.linalg.inv(total + offered[left]), axis1=1, axis2=2)
        best = left.pop(int(np.argmin(variances)))
        total = total + offered[best]
        taken.append(best)
    return taken
