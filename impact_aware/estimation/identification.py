"""Friction, restitution and apparent motor inertia from recorded impacts, by making the impact map fit them.

Rey Arias 2024, section IV-C, tunes the friction coefficient by minimising the prediction error; the same principle
gives the other parameters of the map. Every result carries an interval, and a warning where the
recordings do not determine it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.confidence import Fit, Problem, fit_with_intervals, solve
from impact_aware.estimation.trial_predictions import TrialPredictions
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.impact.registry import DEFAULT_METHOD
from impact_aware.robot import RobotModel

# An interval wider than this share of its value, to one side, leaves the parameter undetermined.
UNDETERMINED = 0.5

# Share of the jump that a right model leaves unexplained at most; real arms leave some ten per cent.
UNEXPLAINED = 0.3

# An interval of a coefficient that is narrower than this to either side determines it, however small the value.
COEFFICIENT = 0.05

LARGEST_FRICTION = 2.0


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters found from recorded impacts.

    Attributes:
        quantity: `friction`, `restitution`, `inertia`, `material` or `contact`.
        names: (p,) What each value belongs to.
        unit: Unit of the values; of a contact model one after the other.
        values: (p,) Best values.
        lower: (p,) Lower end of each interval.
        upper: (p,) Upper end of each interval.
        confidence: Probability that an interval should contain the truth.
        determined: (p,) Whether the recordings determine the value, see `warnings`.
        error: Root mean square of what the fit leaves, rad/s (N for `contact`).
        trials: Number of impacts used.
        warnings: What the recordings can't tell, one line each.
    """

    quantity: str
    names: tuple[str, ...]
    unit: str
    values: Array
    lower: Array
    upper: Array
    confidence: float
    determined: NDArray[np.bool_]
    error: float
    trials: int
    warnings: tuple[str, ...]


def identify_friction(
    robot: RobotModel,
    trials: Sequence[ImpactTrial],
    *,
    method: str = DEFAULT_METHOD,
    confidence: float = 0.95,
) -> Identification:
    """Coulomb's coefficient that minimises the prediction error (Rey Arias 2024, IV-C).

    Restitution is taken from each trial's contact, motor inertia from the robot.

    Args:
        robot: The arm.
        trials: Recorded impacts; those that did not approach the surface are no evidence.
        method: Impact map.
        confidence: Of the interval.

    Raises:
        InvalidInputError: No trial, or trials of another robot.
        UnknownNameError: Unknown map.
    """
    predictions = TrialPredictions(robot, list(trials), method)
    problem = _scalar_problem(
        lambda value: predictions.residuals(friction=value), LARGEST_FRICTION, 0.3, predictions.figures
    )
    fit = _fit(problem, lambda values: predictions.weigh(friction=float(values[0])), confidence)
    warnings = _undetermined(fit, ("friction",), COEFFICIENT)
    slipping = predictions.slip_speed > 0.05 * predictions.approach_speed
    if not np.any(slipping):
        warnings.insert(0, "friction: no impact slid along the surface, so friction had no direction to act in")
    if fit.open_above[0] and not fit.open_below[0]:
        warnings.append("friction: only a lower bound: the contacts stick, and more friction changes nothing")
    return _result("friction", ("friction",), "1", fit, predictions, confidence, warnings)


def identify_restitution(
    robot: RobotModel,
    trials: Sequence[ImpactTrial],
    *,
    method: str = DEFAULT_METHOD,
    confidence: float = 0.95,
) -> Identification:
    """Newton's coefficient of restitution that minimises the prediction error.

    Friction is taken from each trial's contact, motor inertia from the robot. A restitution that depends on the
    approach speed, as Wang 2021 (25) predicts, is reported as a warning: then one number is not the whole truth.
    Arguments and errors are those of `identify_friction`.
    """
    predictions = TrialPredictions(robot, list(trials), method)
    problem = _scalar_problem(lambda value: predictions.residuals(restitution=value), 1.0, 0.3, predictions.figures)
    fit = _fit(problem, lambda values: predictions.weigh(restitution=float(values[0])), confidence)
    warnings = _undetermined(fit, ("restitution",), COEFFICIENT) + _speed_trend(predictions)
    return _result("restitution", ("restitution",), "1", fit, predictions, confidence, warnings)


def identify_motor_inertia(
    robot: RobotModel,
    trials: Sequence[ImpactTrial],
    *,
    common_ratio: bool = False,
    method: str = DEFAULT_METHOD,
    confidence: float = 0.95,
) -> Identification:
    """Apparent motor inertia B_theta that minimises the prediction error, kg m^2 per joint.

    Friction and restitution are taken from each trial's contact. A joint that the impacts hardly move is left
    undetermined, with a warning; more and other postures help. `common_ratio` has fewer unknowns and surer results.

    Args, beside those of `identify_friction`:
        robot: The arm; its B_theta is the first guess.
        common_ratio: Identify one factor on the robot's B_theta (one torque-loop gain for all joints) instead.

    Raises:
        InvalidInputError: Beside what `identify_friction` refuses, a common ratio for a robot without B_theta.
    """
    predictions = TrialPredictions(robot, list(trials), method)
    known = robot.apparent_motor_inertia
    if common_ratio:
        if not np.any(known > 0.0):
            raise InvalidInputError("apparent_motor_inertia", known.tolist(), "values > 0 to scale")
        problem = _scalar_problem(
            lambda ratio: predictions.residuals(motor_inertia=ratio * known), 20.0, 1.0, predictions.figures
        )
        names: tuple[str, ...] = ("ratio to the profile's B_theta",)
        unit = "1"
    else:
        links = np.mean([np.diag(matrix) for matrix in predictions.link_inertia], axis=0)
        # Motors of wrists are alike to the others where the links beyond them are not: the whole arm gives the scale.
        typical = np.where(known > 0.0, np.maximum(known, 0.02 * links), np.maximum(0.02 * links, 0.05 * links.mean()))
        problem = Problem(
            lambda values: predictions.residuals(motor_inertia=values),
            typical,
            np.zeros(robot.n),
            50 * typical,
            typical,
            figures=predictions.figures,
        )
        names, unit = robot.joint_names, "kg m^2"
    fit = _fit(
        problem,
        lambda values: predictions.weigh(motor_inertia=values * known if common_ratio else values),
        confidence,
    )
    warnings = _undetermined(fit, names, 0.0)
    return _result("inertia", names, unit, fit, predictions, confidence, warnings)


def _fit(problem: Problem, weigh: Callable[[Array], None], confidence: float) -> Fit:
    """Fit with weights that depend on the parameters: weighed at the first solution, then kept."""
    weigh(problem.start)
    weigh(solve(problem))
    return fit_with_intervals(problem, confidence)


def _scalar_problem(residuals: Callable[[float], Array], upper: float, scale: float, figures: int) -> Problem:
    """A problem of one parameter between 0 and `upper`, of the typical size `scale`."""
    typical = np.array([scale])
    return Problem(
        lambda values: residuals(float(values[0])), typical, np.zeros(1), np.array([upper]), typical, figures=figures
    )


def _undetermined(fit: Fit, names: Sequence[str], absolute: float) -> list[str]:
    """One line per parameter whose interval is wide for its value, unless it is narrow in absolute terms."""
    lines = []
    for index in (int(found) for found in np.flatnonzero(~_determined(fit, absolute))):
        low, high = fit.lower[index], fit.upper[index]
        lines.append(
            f"{names[index]}: not determined by the recordings: anything from {low:.3g} to {high:.3g} explains them;"
            " record impacts that move it more, in other postures and directions"
        )
    return lines


def _determined(fit: Fit, absolute: float) -> NDArray[np.bool_]:
    reach = np.maximum(fit.values - fit.lower, fit.upper - fit.values)
    return (reach <= np.maximum(UNDETERMINED * np.abs(fit.values), absolute)) & ~fit.open_above


def _speed_trend(predictions: TrialPredictions) -> list[str]:
    """One line when the trials' own restitutions rise or fall with the approach speed beyond their scatter."""
    speed, own = predictions.approach_speed, predictions.own_restitution
    use = speed > 0.0
    if np.count_nonzero(use) < 5 or np.ptp(speed[use]) < 0.2 * np.mean(speed[use]):
        return []
    # A velocity error reaches the ratio divided by the speed, so slow trials weigh less.
    coefficients, covariance = np.polyfit(speed[use], own[use], 1, w=speed[use], cov=True)
    if abs(coefficients[0]) < 4.0 * np.sqrt(covariance[0, 0]):
        return []
    ends = np.polyval(coefficients, [speed[use].min(), speed[use].max()])
    return [
        f"restitution: it depends on the approach speed, {ends[0]:.2f} at {speed[use].min():.3f} m/s and {ends[1]:.2f}"
        f" at {speed[use].max():.3f} m/s; one number is a mean"
    ]


def _result(
    quantity: str,
    names: tuple[str, ...],
    unit: str,
    fit: Fit,
    predictions: TrialPredictions,
    confidence: float,
    warnings: list[str],
) -> Identification:
    if 0 < predictions.tracked < len(predictions.trials):
        warnings.append(f"object: its track gives its velocity in {predictions.tracked} of {len(predictions.trials)}")
    if fit.residual_rms > UNEXPLAINED * predictions.typical_jump:
        warnings.append(
            f"model: {fit.residual_rms:.2g} rad/s of jumps of {predictions.typical_jump:.2g} rad/s stay unexplained;"
            " check contact frame, normal, obstacle and impact times"
        )
    return Identification(
        quantity=quantity,
        names=names,
        unit=unit,
        values=fit.values,
        lower=fit.lower,
        upper=fit.upper,
        confidence=confidence,
        determined=_determined(fit, 0.0 if quantity == "inertia" else COEFFICIENT),
        error=fit.residual_rms,
        trials=len(predictions.trials),
        warnings=tuple(warnings),
    )
