"""Effect of a hit on an object, from a track of its pose: onset, velocity and rotation.

Two branches that meet in position: straight before the onset, a parabola after it, since something may brake it; an
object that only slides is fitted so (`sliding_motion`), which estimates its velocity better. The onset is
free, because cameras and arms have clocks of their own; velocities carry its error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.sliding_motion import SlidingMotion, sliding_motion

BEFORE = 0.25
"""Length of the track before the impact, s."""

AFTER = (0.09, 0.065, 0.045)
"""Lengths of the track after the onset, s; the first that a parabola fits is used: later contacts spoil longer ones."""

AROUND = 0.03
"""Largest difference of the two clocks that is looked for, s."""

SAME_CLOCK = 0.002
"""Spread of the onset about the impact where both clocks agree, s: the push of a contact lasts some milliseconds."""

_AGREE = 2.5
"""Standard errors within which an onset agrees with the impact's time."""

FITS = 1.3
"""What a fit may leave over the scatter of the track itself."""

_FEWEST = 5
"""Samples on either side."""

_ACROSS = 2.0
"""Acceleration across its motion that an object which slides and turns may show, m/s^2."""

_SETTLED = 0.004
"""After the onset a contact still pushes, s."""


@dataclass(frozen=True, eq=False)
class ObjectTrack:
    """Where an object was, m samples, in the base frame.

    Attributes:
        times: (m,) s, increasing.
        positions: (m, 3) Its centre, m.
        rotations: (m, 3, 3) Its axes, or None.
        source: Where the track comes from, in words.
    """

    times: Array
    positions: Array
    rotations: Array | None = None
    source: str = "track"


@dataclass(frozen=True, eq=False)
class ObjectMotion:
    """How an object moved before and after a hit; base frame.

    Attributes:
        onset: When it began to move otherwise, on the track's clock, s.
        onset_error: Its standard error, s.
        position: (3,) Of the centre at the onset, m.
        velocity_before: (3,) m/s.
        velocity_before_error: (3,) Its standard error.
        velocity_after: (3,) m/s.
        velocity_after_error: (3,) Its standard error.
        turn_before: (3,) Angular velocity, rad/s; NaN without a track of the attitude.
        turn_after: (3,) rad/s.
        turn_error: (3,) Standard error of both, rad/s.
        window: Length of the track that was used after the onset, s.
        samples: Samples used after the onset.
        scatter: Of the positions about the fit, m.
        same_clock: Whether the track's clock agrees with the arm's, so that the time of the impact was made use of.
    """

    onset: float
    onset_error: float
    position: Array
    velocity_before: Array
    velocity_before_error: Array
    velocity_after: Array
    velocity_after_error: Array
    turn_before: Array
    turn_after: Array
    turn_error: Array
    window: float
    samples: int
    scatter: float
    same_clock: bool


def object_motion(
    track: ObjectTrack, impact_time: float, until: float | None = None, *, time_error: float = 0.0
) -> ObjectMotion:
    """Fit the track around an impact.

    The onset is fitted freely; where it then agrees with the time of the impact, both clocks are taken for the same,
    and the time of the impact counts as a measurement of the onset.

    Args:
        track: Of the object.
        impact_time: About when it was hit, s.
        time_error: Its standard error, s.
        until: What happens from then on is no part of this hit, s.

    Raises:
        InvalidInputError: Too few samples on a side.
    """
    since = track.times - impact_time
    end = AFTER[0] if until is None else until - impact_time
    limit = FITS * _scatter(track.positions)
    tried: list[_Branches] = []
    for length in AFTER:
        used = (since >= -BEFORE) & (since <= min(length, end))
        if np.count_nonzero(since[used] > 0.005) < _FEWEST or np.count_nonzero(since[used] < -0.005) < _FEWEST:
            continue
        tried.append(_Branches.best(since[used], track.positions[used], float(np.hypot(SAME_CLOCK, time_error))))
        # One more, shorter fit shows how much depends on the length.
        if len(tried) > 1 and tried[-2].left <= limit:
            break
    if not tried:
        given = f"too few samples around {impact_time:.3f} s"
        raise InvalidInputError("object track", given, f"{_FEWEST} on each side, before anything else happens")
    place = next((index for index, branches in enumerate(tried) if branches.left <= limit), len(tried) - 1)
    chosen, shorter = tried[place], tried[min(place + 1, len(tried) - 1)]
    coefficients, error, noise = chosen.coefficients, chosen.errors(), chosen.noise
    misfit = np.abs(shorter.coefficients[2] - coefficients[2])
    used = (since >= chosen.times[0]) & (since <= chosen.times[-1])
    turn_before, turn_after, turn_error = _turn(track, used, chosen)
    near = (since >= shorter.times[0]) & (since <= shorter.times[-1])
    turn_error = np.hypot(turn_error, np.abs(_turn(track, near, shorter)[1] - turn_after))
    velocity_after, velocity_after_error = coefficients[2], np.hypot(error[6:9], misfit)
    window, samples = float(chosen.times[-1] - chosen.onset), int(np.count_nonzero(chosen.times > chosen.onset))
    slid = _slid(track, since, chosen, error[12], end, float(np.hypot(SAME_CLOCK, time_error)))
    if slid is not None and not _bends(chosen, error):
        velocity_after, velocity_after_error = slid.velocity, slid.error
        window, samples = slid.window, slid.samples
    return ObjectMotion(
        onset=impact_time + chosen.onset,
        onset_error=float(np.hypot(error[12], 0.1 * float(np.median(np.diff(chosen.times))))),
        position=coefficients[0],
        velocity_before=coefficients[1],
        velocity_before_error=error[3:6],
        velocity_after=velocity_after,
        velocity_after_error=velocity_after_error,
        same_clock=chosen.clock is not None,
        turn_before=turn_before,
        turn_after=turn_after,
        turn_error=turn_error,
        window=window,
        samples=samples,
        scatter=noise,
    )


def _bends(chosen: _Branches, error: Array) -> bool:
    """Whether the acceleration after the onset is across the motion, as of an object that falls or swings."""
    after, acceleration = chosen.coefficients[2:4]
    along = after / max(float(np.linalg.norm(after)), 1e-12)
    across = acceleration - float(acceleration @ along) * along
    return bool(np.linalg.norm(across) > _ACROSS + 3.0 * np.linalg.norm(error[9:12]))


def _slid(
    track: ObjectTrack, since: Array, chosen: _Branches, onset_error: float, end: float, clock: float
) -> SlidingMotion | None:
    """Fit an object that only slides: its braking is known better than an acceleration of any direction."""
    # The impact's own time, where both clocks agree; else what the free fit found.
    onset = (0.0, clock) if chosen.clock is not None else (chosen.onset, max(onset_error, 1e-4))
    used = since >= -BEFORE
    return sliding_motion(
        since[used],
        track.positions[used],
        _scatter(track.positions),
        onset,
        velocity=chosen.coefficients[2],
        settled=_SETTLED,
        end=chosen.onset + AFTER[0] if end == AFTER[0] else end,
    )


class _Branches:
    """A fit with a given onset: position there, velocity before, velocity after, and what brakes it.

    After the onset the object is accelerated evenly.

    Attributes:
        times: (k,) s since the impact.
        onset: s since the impact.
        coefficients: (4, 3) Position at the onset, velocities, and the acceleration.
        noise: Root mean square of what is left, m.
        left: The same of the samples after the onset.
        clock: Spread of the onset about the impact, s; None where it is free.
    """

    def __init__(self, times: Array, positions: Array, onset: float, clock: float | None = None) -> None:
        self.times, self.onset, self.clock = times, onset, clock
        self._positions = positions
        # While the contact pushes, the object is on neither branch.
        self.counted = (times < onset) | (times > onset + _SETTLED)
        columns = self.columns(onset)[self.counted]
        self.coefficients: Array = np.asarray(np.linalg.lstsq(columns, positions[self.counted], rcond=None)[0])
        rest = positions[self.counted] - columns @ self.coefficients
        self.cost = float(np.mean(rest**2))
        freedom = max(rest.size - self.coefficients.size - 2, 1)
        self.noise = float(np.sqrt(np.sum(rest**2) / freedom))
        after = rest[times[self.counted] > onset]
        self.left = float(np.sqrt(np.mean(after**2))) if len(after) else 0.0

    @classmethod
    def best(cls, times: Array, positions: Array, clock: float) -> _Branches:
        """The onset that leaves least; `clock` is the spread of an onset by the arm's clock."""
        free = cls._searched(times, positions)
        error = free.errors()[12]
        # While the contact pushes, an object gets under way late; none does before it is hit.
        late, early = _AGREE * np.hypot(clock, error), clock + _AGREE * error
        if not -early <= free.onset <= late:
            return free
        noise, count = max(free.noise, 1e-9), 3.0 * np.count_nonzero(free.counted)

        def cost(branches: _Branches) -> float:
            return branches.cost + (noise * branches.onset / clock) ** 2 / count

        return cls._searched(times, positions, cost, clock)

    @classmethod
    def _searched(
        cls,
        times: Array,
        positions: Array,
        cost: Callable[[_Branches], float] | None = None,
        clock: float | None = None,
    ) -> _Branches:
        step, key = AROUND / 10.0, cost or _cost
        onsets = np.arange(-AROUND, AROUND + 0.5 * step, step)
        best = min((cls(times, positions, onset, clock) for onset in onsets), key=key)
        for _ in range(3):
            step /= 3.0
            near = [best.onset + k * step for k in range(-3, 4)]
            best = min((cls(times, positions, onset, clock) for onset in near), key=key)
        return best

    def columns(self, onset: float) -> Array:
        """What each coefficient does to the positions (k, 4)."""
        since = self.times - onset
        before, after = np.minimum(since, 0.0), np.maximum(since, 0.0)
        return np.stack((np.ones_like(since), before, after, 0.5 * after**2), axis=1)

    def errors(self) -> Array:
        """Standard errors (13,): position at the onset, both velocities, acceleration, onset."""
        linear = np.kron(self.columns(self.onset)[self.counted], np.eye(3))
        ends = [(self.columns(self.onset + step)[self.counted] @ self.coefficients).ravel() for step in (1e-4, -1e-4)]
        jacobian = np.hstack((linear, ((ends[0] - ends[1]) / 2e-4)[:, None]))
        information = jacobian.T @ jacobian
        if self.clock is not None:
            place = linear.shape[1]
            information[place, place] += (max(self.noise, 1e-9) / self.clock) ** 2
        spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information)), 0.0)) * self.noise
        # The search goes no further than this; a uniform place in it has this spread.
        onset = min(float(spread[linear.shape[1]]), AROUND / np.sqrt(3.0))
        return np.concatenate((spread[:12], [onset]))


def _cost(branches: _Branches) -> float:
    return branches.cost


def _turn(track: ObjectTrack, used: Array, chosen: _Branches) -> tuple[Array, Array, Array]:
    """Angular velocities (3,) before and after, and their standard error, rad/s."""
    nothing = np.full(3, np.nan)
    if track.rotations is None:
        return nothing, nothing, nothing
    rotations = track.rotations[used]
    first = rotations[0].T
    angles = np.array([pin.log3(np.ascontiguousarray(rotation @ first)) for rotation in rotations])
    turned = _Branches(chosen.times, angles, chosen.onset)
    error = turned.errors()
    return turned.coefficients[1], turned.coefficients[2], np.hypot(error[3:6], error[6:9])


def _scatter(positions: Array) -> float:
    """Noise of a smooth track, m: of third differences, in which motion hardly counts, their median."""
    third = np.diff(positions, 3, axis=0)
    spread = float(np.median(np.abs(third))) / 0.6745 / np.sqrt(20.0) if len(third) else 0.0
    return max(spread, 1e-6)
