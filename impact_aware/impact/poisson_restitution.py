"""Restitution of simultaneous contacts by Poisson's hypothesis, which here never makes energy.

Newton's hypothesis, prescribed for several contacts at once, can leave more kinetic energy than there was. Poisson's
divides an impact in two: compression, at whose end no contact approaches, and expansion, which gives each contact e
times the normal impulse of its compression (Pfeiffer and Glocker 1996; with friction Anitescu and Potra 1997). In
contact axes, with W the Delassus matrix and v the contact velocities:

1. Compression: the impulse p of the cone complementarity problem at v_before.
2. Expansion: normal impulses s e_k p_n,k; friction, within mu_k times them, takes away as much energy as it can.
3. Whatever approaches again, since its neighbours pushed, is stopped: the same problem as 1.

1 and 3 only lose energy. What 2 adds is at most s^2 E' W E / 2, with E the impulses e_k p_n,k along the normals, as
velocities there do not approach; s, 1 but for cases such as very unlike coefficients, keeps that below what 1 took.
Impulses of all three lie in the contacts' cones, so their sum does.
"""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.impact.cone_complementarity import ConeSolution, solve_cone_complementarity

_RESTING = 1e-12
"""Velocity of approach that is rounding, relative to the largest velocity before."""

_STEPS = 2000
_TOLERANCE = 1e-13
"""Of the friction impulses of the expansion, relative to the largest they may be."""


def solve_poisson(delassus: Array, velocity: Array, friction: Array, restitution: Array) -> ConeSolution:
    """Impulses of m contacts with restitution.

    Args:
        delassus: (3 m, 3 m) W, contact axes (normal, tangent, tangent), 1/kg, positive semidefinite.
        velocity: (3 m,) Just before, m/s.
        friction: (m,) Coulomb's coefficients.
        restitution: (m,) Poisson's coefficients, 0..1.

    Returns:
        The whole impulse; its residual is the larger of those of 1 and 3, its iterations are theirs together.
    """
    compression = solve_cone_complementarity(delassus, velocity, friction)
    bounce = np.zeros_like(velocity)
    bounce[::3] = restitution * compression.impulse[::3]
    if not bounce.any():
        return compression
    bounce *= expansion_share(delassus, velocity, compression.impulse, bounce)
    at_rest = velocity + delassus @ compression.impulse
    bounce += expansion_friction(delassus, at_rest + delassus @ bounce, friction * bounce[::3])
    impulse = compression.impulse + bounce
    left = velocity + delassus @ impulse
    if left[::3].min() >= -_RESTING * np.abs(velocity).max():
        return compression._replace(impulse=impulse)
    rest = solve_cone_complementarity(delassus, left, friction)
    return compression._replace(
        impulse=impulse + rest.impulse,
        residual=max(compression.residual, rest.residual),
        iterations=compression.iterations + rest.iterations,
    )


def expansion_share(delassus: Array, velocity: Array, compression: Array, bounce: Array) -> float:
    """How much of the normal impulses `bounce` (3 m,) adds no more energy than the `compression` (3 m,) took, 0..1."""
    taken = -float(compression @ (velocity + 0.5 * delassus @ compression))
    first = float(bounce @ (velocity + delassus @ compression))
    second = 0.5 * float(bounce @ delassus @ bounce)
    # The larger root of second s^2 + first s = taken; first is zero but for rounding.
    if first + second <= taken:
        return 1.0
    root = math.sqrt(max(first * first + 4.0 * second * max(taken, 0.0), 0.0))
    return min(max((root - first) / (2.0 * second), 0.0), 1.0)


def expansion_friction(delassus: Array, velocity: Array, radius: Array) -> Array:
    """Tangential impulses (3 m,) of at most `radius` (m,), N s, that leave the least energy at these velocities (3 m,).

    Accelerated projected gradient, contacts scaled alike; none is worse than no friction at all.
    """
    count = len(radius)
    tangents = (np.arange(3 * count) % 3 > 0) & np.repeat(radius > 0.0, 3)
    answer = np.zeros(3 * count)
    if not tangents.any():
        return answer
    reach = radius[radius > 0.0]
    matrix = delassus[np.ix_(tangents, tangents)]
    # One factor per contact keeps its disc a disc: y = impulse / factor.
    factor = 1.0 / np.sqrt(np.maximum(np.diag(matrix).reshape(-1, 2).mean(axis=1), 1e-300))
    scale = np.repeat(factor, 2)
    matrix, drive, reach = matrix * np.outer(scale, scale), velocity[tangents] * scale, reach / factor
    step = 1.0 / float(np.linalg.eigvalsh(matrix)[-1])
    point = ahead = np.zeros(len(drive))
    momentum, largest = 1.0, float(reach.max())
    for _ in range(_STEPS):
        moved = ahead - step * (matrix @ ahead + drive)
        length = np.hypot(moved[::2], moved[1::2])
        new = moved * np.repeat(np.minimum(1.0, reach / np.maximum(length, 1e-300)), 2)
        change = new - point
        if change @ (ahead - new) > 0.0:
            momentum = 1.0
        after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead, point = new + (momentum - 1.0) / after * change, new
        momentum = after
        if float(np.abs(change).max()) <= _TOLERANCE * largest:
            break
    if point @ (drive + 0.5 * matrix @ point) < 0.0:
        answer[tangents] = point * scale
    return answer
