"""Contacts that meet one after another between soft pads: each takes its time, so the next one may come into it.

A damped pad takes the speed out of its contact with a time constant tau, whatever the masses: while contacts touch,
their velocities tend to those that the inelastic simultaneous impact of them all leaves. With q the velocities of all
bodies and P_A that impact's map, for the set A of the contacts that touch,

    q' = (P_A(q) - q) / tau,     gap' = normal velocity,     A = {contacts with closed gaps that don't move apart}.

As long as A stays, P_A(q) does: on the way from q0 to q+ = P_A(q0) the impulse left to do is s Lambda, of the whole one
Lambda, with s = exp(-t / tau). It is in the same cones and leads to the same velocities, so it answers the same cone
complementarity problem. Hence q(t) = q+ + (q0 - q+) exp(-t / tau) is exact, and a new problem is solved only when a gap
closes. All gaps closed at once and nothing moving apart, or closing speed times tau far above the gaps, it is the
simultaneous impact; tau far below, the impacts one after the other.

A palm that is a sixth of a degree askew meets a box with one corner a quarter of a millimetre ahead: with pads of some
milliseconds neither limit holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.impact.cone_complementarity import ConeSolution, solve_cone_complementarity

Numbers = TypeVar("Numbers", float, Array)

LONGEST = 5.0
"""Time constants after the last touch by when an impact is over: what is left is less than a hundredth."""

_TOGETHER = 1e-3
"""Contacts that meet within this share of the time constant meet at once."""

_LEAVING = 1e-6
"""Contacts that move apart by more than this share of the fastest normal speed do not touch, whatever their gap."""

_MOST_TOUCHES = 4
"""Touches of each contact that are followed: more is rattling, whose impulses are nothing."""

_BISECTIONS = 60


def solve_successive(
    delassus: Array, velocity: Array, friction: Array, gaps: Array, time_constant: float, *, search: bool = False
) -> ConeSolution:
    """Impulses of m inelastic contacts that meet one after another, until the last one's impact is over.

    Args:
        delassus: (3 m, 3 m) W, contact axes (normal, tangent, tangent), 1/kg, positive semidefinite.
        velocity: (3 m,) When the first one touches, m/s.
        friction: (m,) Coulomb's coefficients.
        gaps: (m,) Along the normals, then, m; 0 where contact is made, infinite where it never is.
        time_constant: tau, s, > 0.
        search: Whether to search for other solutions of each problem on the way.

    Returns:
        The whole impulse. Rank and degeneracy are those of the last problem, the residual is the largest of all. It is
        unique where the solution of each problem is; other impulses are not followed.

    Raises:
        InvalidInputError: Gaps that are no gaps, none of them closed, or a time constant that is none.
    """
    gaps = checked_gaps(gaps, len(friction), time_constant)
    impulse, residual, iterations, unique = np.zeros_like(velocity), 0.0, 0, True
    for stage in _stages(delassus, velocity, friction, gaps, time_constant, LONGEST * time_constant, search):
        found = stage.solution
        residual, iterations = max(residual, found.residual), iterations + found.iterations
        unique = unique and found.unique
        impulse[stage.rows] += (1.0 - math.exp(-stage.elapsed / time_constant)) * found.impulse
    return found._replace(impulse=impulse, residual=residual, iterations=iterations, unique=unique, others=())


class Course(NamedTuple):
    """Where contacts are at a moment of their impact.

    Attributes:
        impulse: (3 m,) Until then, N s.
        displacement: (3 m,) Integral of their velocities until then, m.
        gaps: (m,) What is open then, m, >= 0.
        residual: The largest of all problems.
    """

    impulse: Array
    displacement: Array
    gaps: Array
    residual: float


def follow_successive(
    delassus: Array,
    velocity: Array,
    friction: Array,
    gaps: Array,
    time_constant: float,
    *,
    until: float,
) -> Course:
    """How far m inelastic contacts that meet one after another have come after a time.

    Args:
        delassus: As in `solve_successive`, like all arguments without a description here.
        velocity: (3 m,) m/s.
        friction: (m,).
        gaps: (m,) m.
        time_constant: s.
        until: The time, s, > 0.

    Raises:
        InvalidInputError: As in `solve_successive`, or a time that is none.
    """
    gaps = checked_gaps(gaps, len(friction), time_constant)
    if not (math.isfinite(until) and until > 0.0):
        raise InvalidInputError("until", until, "a time > 0 s")
    impulse, displacement, residual, time = np.zeros_like(velocity), np.zeros_like(velocity), 0.0, 0.0
    for stage in _stages(delassus, velocity, friction, gaps, time_constant, until):
        elapsed = min(stage.elapsed, until - time)
        share = 1.0 - math.exp(-elapsed / time_constant)
        impulse[stage.rows] += share * stage.solution.impulse
        displacement += stage.left * elapsed + (stage.now - stage.left) * (time_constant * share)
        residual, time = max(residual, stage.solution.residual), time + elapsed
        gaps = _gap(elapsed, stage.gaps, stage.now[::3], stage.left[::3], time_constant)
        if elapsed < stage.elapsed:
            break
    return Course(impulse, displacement, np.maximum(gaps, 0.0), residual)


class _Stage(NamedTuple):
    """What goes on until the next contact touches: from velocities `now` towards `left`, for a time, s."""

    rows: NDArray[np.intp]
    solution: ConeSolution
    gaps: Array
    now: Array
    left: Array
    elapsed: float


def _stages(
    delassus: Array,
    velocity: Array,
    friction: Array,
    gaps: Array,
    time_constant: float,
    longest: float,
    search: bool = False,
) -> Iterator[_Stage]:
    """Stage by stage, none of which is left for a touch after the `longest` time, s; the last one is without end."""
    now, speed = velocity.copy(), float(np.abs(velocity[::3]).max())
    none, leaving = _TOGETHER * time_constant * speed, _LEAVING * speed
    latest = _MOST_TOUCHES * len(gaps) - 1
    for touch in range(latest + 1):
        touching = (gaps <= none) & (now[::3] <= leaving)
        rows = (3 * np.flatnonzero(touching)[:, None] + np.arange(3)).ravel()
        found = _solution(delassus[np.ix_(rows, rows)], now[rows], friction[touching], search)
        left = now + delassus[:, rows] @ found.impulse
        elapsed, closed = _next_touch(np.flatnonzero(~touching), gaps, now[::3], left[::3], time_constant, longest)
        if touch == latest:
            elapsed = math.inf
        yield _Stage(rows, found, gaps, now, left, elapsed)
        if closed < 0 or not math.isfinite(elapsed):
            return
        gaps = _gap(elapsed, gaps, now[::3], left[::3], time_constant)
        gaps[closed] = min(gaps[closed], 0.0)
        now = left + (now - left) * math.exp(-elapsed / time_constant)


def checked_gaps(gaps: Array, count: int, time_constant: float) -> Array:
    """Gaps (count,) of which one is closed, m; `InvalidInputError` for others and for a time constant that is none."""
    gaps = np.array(gaps, dtype=float)
    if gaps.shape != (count,) or not (gaps >= 0.0).all():
        raise InvalidInputError("gaps", gaps.tolist(), f"{count} lengths >= 0 m")
    if gaps.min() > 0.0:
        raise InvalidInputError("gaps", gaps.tolist(), "a contact that touches, with a gap of 0 m")
    if not (math.isfinite(time_constant) and time_constant > 0.0):
        raise InvalidInputError("time_constant", time_constant, "a time > 0 s")
    return gaps


def first_touch(gaps: Array, closing: Array) -> float:
    """When the first contact touches, s, with gaps (m,), m, and normal velocities (m,) until then, m/s, if it does."""
    if (gaps <= 0.0).any():
        return 0.0
    coming = closing < 0.0
    return float((gaps[coming] / -closing[coming]).min()) if coming.any() else math.inf


def _solution(delassus: Array, velocity: Array, friction: Array, search: bool) -> ConeSolution:
    """Solve for the contacts that touch, if any."""
    if not len(friction):
        return ConeSolution(np.zeros(0), 0, False, 0.0, 0)
    return solve_cone_complementarity(delassus, velocity, friction, search=search)


def _next_touch(
    open_ones: NDArray[np.intp], gaps: Array, now: Array, left: Array, time_constant: float, longest: float
) -> tuple[float, int]:
    """When the next contact that does not touch does, s, and which; infinite and -1 when the impact is over before.

    Touching contacts do not close again as long as no other contact does: their velocities converge from one side to
    one that does not approach.
    """
    first, closed = math.inf, -1
    for k in open_ones.tolist():
        time = _closing(float(gaps[k]), float(now[k]), float(left[k]), time_constant, min(first, longest))
        if time < first:
            first, closed = time, k
    return first, closed


def _closing(gap: float, now: float, left: float, time_constant: float, latest: float) -> float:
    """When a gap that is open closes, by `latest`, s; infinite when it does not.

    Its speed is monotonous, so it can close while it approaches only: up to where it turns, or from there on.
    """
    start, end = 0.0, latest
    if now < 0.0 < left:
        end = min(latest, time_constant * math.log((left - now) / left))
    elif now >= 0.0:
        if left >= 0.0:
            return math.inf
        start = time_constant * math.log((left - now) / left)
    if start >= end or _gap(end, gap, now, left, time_constant) > 0.0:
        return math.inf
    for _ in range(_BISECTIONS):
        middle = 0.5 * (start + end)
        if _gap(middle, gap, now, left, time_constant) > 0.0:
            start = middle
        else:
            end = middle
    return end


def _gap(time: float, gap: Numbers, now: Numbers, left: Numbers, time_constant: float) -> Numbers:
    """Gap after a time, s, with normal velocities `now` and those they tend to, m/s."""
    return gap + left * time + (now - left) * (time_constant * (1.0 - math.exp(-time / time_constant)))
