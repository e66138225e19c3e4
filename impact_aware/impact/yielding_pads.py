"""Contacts that share one impact through pads that yield: the reference for maps of several rigid contacts.

Rigid contacts that act on each other stop together. Pads yield, each by its own force: one corner of a palm is through
with its impact while another one still compresses, and what is left over is a turn. Stiffness, and how a pad takes up
energy, decide on that; masses, points and restitution do not.

Pads are followed through the impact at a fixed posture, contact velocities v' = W f with W the Delassus matrix, without
tension and with Coulomb's friction at the end of each step. Three laws: a dashpot beside the spring (Aouaj thesis,
(2.11)), a dashpot that grows with the depth (Wang 2021, (23)), and a spring that stays compressed and gives back its
energy times the squared restitution (the virtual spring of Wang 2021). Pads are hard: without gaps lengths and times
cancel, so that only ratios of stiffness matter. Nothing is shared with the maps but the Delassus matrix.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.compiled import CONSTANT_MATRIX, CONSTANT_VECTOR, DENSE_VECTOR, INDEX, NUMBER, compiled, part
from impact_aware.contact.force_models import KelvinVoigt, NonlinearViscoelastic

LAWS = ("dashpot", "Hunt-Crossley", "set")
"""Laws of a pad: a dashpot beside the spring, one that grows with the depth, and a spring that stays compressed."""

_DASHPOT, _HUNT_CROSSLEY, _SET = range(3)
# Restitution below which a law's parameter would be endless: dashpots are that strong then, springs stay compressed.
_DEAD, _STAYS = 5e-3, 5e-2
# Steps per radian of the fastest spring and per time constant of the fastest dashpot, and how many are taken at most.
_PER_RADIAN, _PER_DECAY, _MOST_STEPS = 100, 20, 200_000
# Speed of approach that is none, of the fastest one, and force, of what stops the mean contact in one radian.
_STILL, _FAINT = 1e-3, 1e-3
# Accuracy of the slip, of the fastest approach, and sweeps for that.
_FRICTION, _SWEEPS = 1e-7, 30


def pads_impulse(
    delassus: Array,
    velocity: Array,
    friction: Array,
    restitution: ArrayLike,
    stiffness: Array,
    law: str,
    gaps: Array | None = None,
) -> Array:
    """Impulse (3 m,) of m contacts that touch, or come to touch, and yield, N s.

    Args:
        delassus: (3 m, 3 m) W, contact axes (normal, tangent, tangent), 1/kg, positive semidefinite.
        velocity: (3 m,) Just before, m/s; one contact approaches.
        friction: (m,) Coulomb's coefficients.
        restitution: Of each contact (m,) or of all, 0..1, if it were alone at the speed of the fastest.
        stiffness: (m,) Of the pads, relative to each other; N/m where there are gaps.
        law: One of `LAWS`.
        gaps: (m,) What contacts still have to close, m; None when all touch at once.
    """
    speed, mobility, number = -float(velocity[::3].min()), float(np.diag(delassus)[::3].mean()), LAWS.index(law)
    matrix, free = np.ascontiguousarray(delassus / mobility), velocity / speed
    fastest = 3 * int(np.argmin(free[::3]))
    kept = np.broadcast_to(np.asarray(restitution, dtype=float), friction.shape)
    if number == _DASHPOT:
        loss = np.array([_dashpot(each) for each in kept.tolist()]) / math.sqrt(matrix[fastest, fastest])
    elif number == _HUNT_CROSSLEY:
        loss = np.array([hunt_crossley_damping(each) for each in kept.tolist()])
    else:
        loss = np.where(kept >= _STAYS, kept, 0.0)
    unit = 1.0 if gaps is None else float(stiffness.mean())
    stiffness, depth = stiffness / unit, np.zeros(len(stiffness))
    if gaps is not None:
        depth -= gaps * (math.sqrt(mobility * unit) / speed)
    step, found = _time_step(matrix[::3, ::3], stiffness, number, loss), np.empty(len(velocity))
    follow_pads(matrix, free, friction, stiffness, depth, loss, number, step, found)
    return np.asarray(found * (speed / mobility))


@functools.lru_cache
def _dashpot(restitution: float) -> float:
    """Damping over stiffness of a dashpot beside a spring, in time constants of the spring and the mass."""
    return _parameter(lambda x: float(KelvinVoigt(1.0, x).restitution(1.0)), max(restitution, _DEAD))


@functools.lru_cache
def hunt_crossley_damping(restitution: float) -> float:
    """Damping over stiffness, times the speed of approach, of Wang 2021, (23), for a restitution; 0.005 at least."""
    return _parameter(lambda x: float(NonlinearViscoelastic(1.0, x).restitution(1.0)), max(restitution, _DEAD))


def _parameter(restitution: Callable[[float], float], wanted: float) -> float:
    """Find by bisection of its logarithm where a restitution that falls is the wanted one; 0 where none has to."""
    low, high = 1e-6, 1e3
    if wanted >= restitution(low):
        return 0.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        if restitution(middle) > wanted:
            low = middle
        else:
            high = middle
    return high


def _time_step(normal: Array, stiffness: Array, law: int, loss: Array) -> float:
    """Step that follows the fastest motion of the pads, in units of the problem."""
    rate = math.sqrt(max(float(np.linalg.eigvals(normal * stiffness).real.max()), 1e-300))
    step = 1.0 / (_PER_RADIAN * rate)
    if law == _SET:
        return step * float(loss[loss > 0.0].min(initial=1.0))
    damping = loss * (np.sqrt(stiffness) if law == _DASHPOT else stiffness / rate)
    decay = float(np.linalg.eigvals(normal * damping).real.max())
    return min(step, 1.0 / (_PER_DECAY * decay)) if decay > 0.0 else step


@part()
def _force(law: int, stiffness: float, loss: float, depth: float, deepest: float, closing: float) -> float:
    """Force of one pad, which does not pull."""
    if depth <= 0.0:
        return 0.0
    if law == _DASHPOT:
        force = stiffness * depth + math.sqrt(stiffness) * loss * closing
    elif law == _HUNT_CROSSLEY:
        force = stiffness * depth * (1.0 + loss * closing)
    elif loss > 0.0:
        force = stiffness / (loss * loss) * (depth - deepest * (1.0 - loss * loss))
    else:
        force = stiffness * depth if depth >= deepest else 0.0
    return max(force, 0.0)


@part()
def _rub(matrix: Array, friction: Array, push: Array, velocity: Array) -> None:
    """Let tangential impulses of this step, within friction times the normal ones, take the slip (3 m,) away."""
    count = len(velocity)
    for _ in range(_SWEEPS):
        largest = 0.0
        for n in range(0, count, 3):
            limit = friction[n // 3] * push[n]
            if limit <= 0.0:
                continue
            a, b = n + 1, n + 2
            own = max(matrix[a, a], matrix[b, b]) + abs(matrix[a, b])
            first, second = push[a] - velocity[a] / own, push[b] - velocity[b] / own
            size = math.hypot(first, second)
            if size > limit:
                first, second = first * limit / size, second * limit / size
            first, second = first - push[a], second - push[b]
            push[a] += first
            push[b] += second
            for k in range(count):
                velocity[k] += matrix[k, a] * first + matrix[k, b] * second
            largest = max(largest, own * max(abs(first), abs(second)))
        if largest < _FRICTION:
            return


@compiled(
    NUMBER,
    CONSTANT_MATRIX,
    CONSTANT_VECTOR,
    CONSTANT_VECTOR,
    CONSTANT_VECTOR,
    CONSTANT_VECTOR,
    CONSTANT_VECTOR,
    INDEX,
    NUMBER,
    DENSE_VECTOR,
)
def follow_pads(
    matrix: Array,
    before: Array,
    friction: Array,
    stiffness: Array,
    start: Array,
    loss: Array,
    law: int,
    step: float,
    impulse: Array,
) -> float:
    """Follow pads until none pushes and none approaches; put the impulse (3 m,) into `impulse` and return the time.

    `start` (m,) has the depths at the start, less than 0 where a gap has to be closed.
    """
    count = len(before)
    velocity, push = before.copy(), np.zeros(count)
    impulse[:] = 0.0
    depth, deepest = start.copy(), np.zeros(count // 3)
    for number in range(_MOST_STEPS):
        busy = False
        for k in range(count // 3):
            closing = -velocity[3 * k]
            force = _force(law, stiffness[k], loss[k], depth[k], deepest[k], closing)
            push[3 * k] = step * force
            busy = busy or force > _FAINT or closing > _STILL
            if push[3 * k] <= 0.0:
                push[3 * k + 1] = push[3 * k + 2] = 0.0
        if not busy:
            return number * step
        for i in range(count):
            for j in range(count):
                velocity[i] += matrix[i, j] * push[j]
        _rub(matrix, friction, push, velocity)
        for k in range(count // 3):
            depth[k] -= step * velocity[3 * k]
            deepest[k] = max(deepest[k], depth[k])
        for i in range(count):
            impulse[i] += push[i]
    return _MOST_STEPS * step
