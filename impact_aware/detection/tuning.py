"""Parameters of a detector, learnt from a recording without impacts, and how often it would then be wrong.

Measured are the source (sampling period, encoder step, noise) and the largest signal of each second: for the adaptive
window the variation of the acceleration that each joint needs, for other detectors the level over their default
thresholds. A Gumbel distribution of these maxima gives the rate at which a value is passed. The bounds are the lowest
that both meet the wanted rate and lie a margin above the largest value seen. The rate is that of single samples, so
that a detector that confirms its finds does better.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.detection.adaptive_window import AdaptiveWindowDetector, AdaptiveWindowParameters
from impact_aware.detection.events import Array, Recording, Signal
from impact_aware.detection.momentum_observer import MomentumObserverDetector, threshold_of
from impact_aware.detection.motion_window import GRID_TOLERANCE
from impact_aware.detection.prediction_bound import detection_bound
from impact_aware.detection.registry import PARAMETERS, detector_parameters, make_detector
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.resources import read_mapping
from impact_aware.robot import RobotModel

TUNABLE = ("adaptive_window", "acceleration", "torque_residual", "momentum_observer")
SHORTEST = 10.0
"""Shortest recording from which rates are estimated, s."""
LEAST_VARIATION = 2.0
"""Variation of the acceleration that is always allowed, rad/s^2."""
SCREENED = 256
"""Windows of samples whose errors are computed at a time."""
_UNREACHED = 1e9
_CORNER = 20.0 / 30000.0


@dataclass(frozen=True)
class Tuning:
    """Parameters that were learnt, and what to expect of them.

    Attributes:
        detector: Name of the detector.
        parameters: Fields of its parameter class that were learnt, ready for `make_detector`.
        false_alarms_per_hour: Expected in motion like that of the recording.
        false_alarms_bound: Rate that the recording alone excludes with 95 % confidence, 3 over its length, per hour.
        hours: Length of the recording.
        largest: Largest variation of the acceleration that each joint needed, rad/s^2, then those for soft contacts;
            of the other detectors the largest level over their default thresholds.
    """

    detector: str
    parameters: dict[str, Any]
    false_alarms_per_hour: float
    false_alarms_bound: float
    hours: float
    largest: tuple[float, ...]


def measure_source(times: ArrayLike, positions: ArrayLike) -> WindowParameters:
    """Measure the median period, and every joint's encoder step (0 for none) and noise, of a recording.

    Args:
        times: (m,) s.
        positions: (m, n) rad.

    Raises:
        InvalidInputError: Too few usable samples.
    """
    stamps, rows = np.asarray(times, dtype=np.float64), np.asarray(positions, dtype=np.float64)
    if rows.ndim != 2 or stamps.shape != rows.shape[:1] or len(rows) < 100:
        raise InvalidInputError("positions", f"shape {rows.shape}", "at least 100 rows, one per time")
    intervals = np.diff(stamps)
    intervals = intervals[np.isfinite(intervals) & (intervals > 0.0)]
    if not len(intervals):
        raise InvalidInputError("times", "never increasing", "increasing stamps")
    steps = tuple(_encoder_step(column) for column in rows.T)
    noise = tuple(_noise(column, step) for column, step in zip(rows.T, steps, strict=True))
    return WindowParameters(float(np.median(intervals)), steps, noise)


def tune(
    name: str,
    times: ArrayLike,
    positions: ArrayLike,
    velocities: Signal = None,
    efforts: Signal = None,
    effort_references: Signal = None,
    *,
    false_alarms_per_hour: float = 0.1,
    margin: float = 1.3,
    robot: RobotModel | None = None,
    **fixed: Any,
) -> Tuning:
    """Learn a detector's parameters from a recording without impacts.

    Args:
        name: One of `TUNABLE`.
        times: (m,) s.
        positions: (m, n) rad.
        velocities: As `Recording` takes them, like the two that follow.
        efforts: Joint torques.
        effort_references: Those to be expected.
        false_alarms_per_hour: Wanted rate at most.
        margin: Factor at least between the threshold and the largest signal seen.
        robot: The arm, for the momentum observer.
        **fixed: Parameters that are given and not learnt.

    Raises:
        UnknownNameError: No such detector, or one that is not tuned by itself.
        InvalidInputError: The recording is too short or lacks the detector's signal.
    """
    check_name("detector", name, TUNABLE)
    if not false_alarms_per_hour > 0.0:
        raise InvalidInputError("false_alarms_per_hour", false_alarms_per_hour, "more than 0")
    if not margin >= 1.0:
        raise InvalidInputError("margin", margin, "at least 1")
    quality = measure_source(times, positions)
    recording = Recording(np.shape(positions)[1], times, positions, velocities, efforts, effort_references)
    duration = float(recording.times[-1] - recording.times[0])
    if duration < SHORTEST:
        raise InvalidInputError("recording", f"{duration:.1f} s", f"at least {SHORTEST:.0f} s without impacts")
    learnt: dict[str, Any] = {
        "sampling_period": quality.sampling_period,
        "encoder_resolution": quality.encoder_resolution,
        "position_noise": quality.position_noise,
        **fixed,
    }
    window = name == "adaptive_window"
    if window:
        # Where noise explains every error, slower motion than this is still allowed for.
        maxima = np.maximum(_window_maxima(learnt, recording), LEAST_VARIATION)
    else:
        maxima = _second_maxima(_levels(name, learnt, recording, robot), quality.sampling_period)
    if not len(maxima) or not (maxima > 0.0).any():
        raise InvalidInputError("recording", "no usable signal", f"the signal that {name} looks at")
    share = false_alarms_per_hour / maxima.shape[1]
    bounds, rates = zip(*(_threshold(column, share, margin) for column in maxima.T), strict=True)
    if window:
        joints = recording.positions.shape[1]
        learnt["acceleration_variation"] = bounds[:joints]
        learnt["jerk_bound"] = tuple(value / _CORNER for value in bounds[:joints])
        if len(bounds) > joints:
            learnt["soft_variation"] = bounds[joints:]
    else:
        learnt |= _scaled(name, learnt, bounds[0], robot)
    return Tuning(
        name,
        learnt,
        float(sum(rates)),
        3.0 / (duration / 3600.0),
        duration / 3600.0,
        tuple(float(value) for value in maxima.max(axis=0)),
    )


def load_parameters(path: str | Path, detector: str) -> dict[str, Any]:
    """Parameters for a detector from a file that `impact-aware tune-detector` wrote.

    Args:
        path: The file.
        detector: Name of the detector that they are for.

    Raises:
        InvalidInputError: No such file, not a tuning, the tuning of another detector, or a parameter that it hasn't.
    """
    content = read_mapping("tuning", Path(path))
    if not isinstance(content.get("parameters"), dict):
        raise InvalidInputError("tuning", str(path), "a file of impact-aware tune-detector, with an entry 'parameters'")
    if content.get("detector") != detector:
        raise InvalidInputError("tuning", f"{path}, made for {content.get('detector')}", f"one made for {detector}")
    found = {key: tuple(value) if isinstance(value, list) else value for key, value in content["parameters"].items()}
    if detector in PARAMETERS:
        detector_parameters(detector, found)
    return found


def _window_maxima(learnt: dict[str, Any], recording: Recording) -> Array:
    """Largest variation of every second that each joint needs, rad/s^2, then those for soft contacts (seconds, k)."""
    period = learnt["sampling_period"]
    maxima = _second_maxima(_needed_variation(learnt, recording), period)
    stride = AdaptiveWindowParameters(**learnt).stride
    if stride < 2:
        return maxima
    rows = np.rint(recording.times / period) % stride == 0
    fewer = Recording(recording.positions.shape[1], recording.times[rows], recording.positions[rows])
    soft = learnt | {"sampling_period": stride * period, "soft_period": None}
    longer = _second_maxima(_needed_variation(soft, fewer), stride * period)
    seconds = min(len(maxima), len(longer))
    return np.hstack((maxima[:seconds], longer[:seconds]))


def _needed_variation(learnt: dict[str, Any], recording: Recording) -> Array:
    """Smallest variation of the acceleration, rad/s^2, whose bound contains all errors of a sample (m, n).

    The bound is linear in the variation when the time in which the jerk bound lets it build up is kept.
    """
    joints = recording.positions.shape[1]
    unit = AdaptiveWindowParameters(**{**learnt, "acceleration_variation": 1.0, "jerk_bound": 1.0 / _CORNER})
    detector = AdaptiveWindowDetector(joints, unit)
    scales = np.array(
        [
            detection_bound(window, horizon, unit.sampling_period, 1.0, 1.0 / _CORNER, 0.0, sharp=unit.sharp_bound)
            for horizon in range(1, unit.horizon + 1)
            for window in range(unit.smallest_window, unit.window + 1)
        ]
    )[:, None]
    needed = np.zeros((len(recording), joints))
    used = detector.tests.shape[1]
    windows = np.lib.stride_tricks.sliding_window_view(recording.positions, used, axis=0)  # (m - used + 1, n, used)
    for begin in range(0, len(windows), SCREENED):
        with np.errstate(invalid="ignore"):
            errors = np.abs(np.einsum("tw,bnw->tbn", detector.tests, windows[begin : begin + SCREENED], optimize=True))
        rows = slice(begin + used - 1, begin + used - 1 + errors.shape[1])
        needed[rows] = ((errors - (detector.bounds - scales)[:, None]) / scales[:, None]).max(axis=0)
    irregular = recording.irregular(unit.sampling_period, GRID_TOLERANCE)
    reach = np.convolve(irregular, np.ones(detector.memory), mode="full")[: len(recording)] > 0.5
    needed[reach] = 0.0
    return np.maximum(needed, 0.0)


def _levels(name: str, learnt: dict[str, Any], recording: Recording, robot: RobotModel | None) -> Array:
    """The detector's signal over its default thresholds (m, 1)."""
    raised = learnt | _scaled(name, learnt, _UNREACHED, robot)
    detector: Any = make_detector(name, recording.positions.shape[1], **raised, robot=robot)
    levels = []
    for index in range(len(recording)):
        detector.update(recording.sample(index))
        levels.append(_UNREACHED * detector.level)
    return np.array(levels)[:, None]


def _scaled(name: str, learnt: dict[str, Any], factor: float, robot: RobotModel | None) -> dict[str, Any]:
    """The thresholds of a detector, multiplied."""
    given = PARAMETERS[name](**learnt)
    if name != MomentumObserverDetector.name:
        return {"threshold": _times(factor, given.threshold)}
    if robot is None:
        return {}
    threshold = tuple(threshold_of(robot).tolist()) if given.threshold is None else given.threshold
    return {"threshold": _times(factor, threshold), "acceleration_error": _times(factor, given.acceleration_error)}


def _times(factor: float, values: Any) -> Any:
    return tuple(factor * value for value in values) if isinstance(values, tuple) else factor * values


def _second_maxima(signals: Array, period: float) -> Array:
    """Largest value of every second (seconds, columns)."""
    length = max(round(1.0 / period), 1)
    count = len(signals) // length
    return np.asarray(signals[: count * length].reshape(count, length, -1).max(axis=1))


def _threshold(maxima: Array, rate: float, margin: float) -> tuple[float, float]:
    """Threshold on a signal with these maxima per second, and its expected excesses per hour."""
    largest = float(maxima.max())
    spread = float(maxima.std()) * np.sqrt(6.0) / np.pi
    floor = max(largest, 1e-9) * margin
    if spread < 1e-12 * floor:
        return floor, 0.0
    mode = float(maxima.mean()) - 0.5772156649 * spread
    # P(second's maximum > t) = 1 - exp(-exp(-(t - mode) / spread)).
    wanted = mode - spread * np.log(-np.log1p(-min(rate / 3600.0, 0.5)))
    threshold = max(floor, float(wanted))
    expected = -3600.0 * np.expm1(-np.exp(-(threshold - mode) / spread))
    return threshold, float(expected)


def _encoder_step(column: Array) -> float:
    """Step of which all values are multiples, rad; 0 where there is none."""
    values = np.unique(column[np.isfinite(column)])
    gaps = np.diff(values)
    gaps = gaps[gaps > 1e-9]
    if len(gaps) < 20:
        return 0.0
    # Rounding spreads the smallest gap a little, so the middle of the small ones is taken.
    step = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
    multiples = gaps[gaps < 20.0 * step] / step
    whole = np.abs(multiples - np.round(multiples)) < 0.05
    return step if whole.mean() > 0.95 else 0.0


def measured_noise(positions: ArrayLike, encoder_resolution: float) -> float:
    """Largest standard deviation of a joint's noise besides the encoder's steps, rad.

    Args:
        positions: Some hundred samples of any motion without impacts (m, n), rad.
        encoder_resolution: Step r, rad.
    """
    values = np.asarray(positions, dtype=np.float64)
    return max(
        (_noise(column, encoder_resolution) for column in values.T if np.isfinite(column).sum() > 8), default=0.0
    )


def _noise(column: Array, step: float) -> float:
    """Standard deviation of white noise beside the steps, rad, from third differences."""
    thirds = np.diff(column[np.isfinite(column)], n=3)
    # A robust standard deviation: strong jerk now and then does not count as noise. The squared weights add up to 20.
    deviation = 1.4826 * float(np.median(np.abs(thirds - np.median(thirds)))) / np.sqrt(20.0)
    return float(np.sqrt(max(deviation**2 - step**2 / 12.0, 0.0)))
