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


def solve_poisson(
    delassus: Array, velocity: Array, friction: Array, restitution: Array, *, search: bool = False
) -> ConeSolution:
    """Impulses of m contacts with restitution.

    Args:
        delassus: (3 m, 3 m) W, contact axes (normal, tangent, tangent), 1/kg, positive semidefinite.
        velocity: (3 m,) Just before, m/s.
        friction: (m,) Coulomb's coefficients.
        restitution: (m,) Poisson's coefficients, 0..1.
        search: Whether to search for other solutions of 1, and of 3.

    Returns:
        The whole impulse; its residual is the larger of those of 1 and 3, its iterations are theirs together. It is
        unique where both are; the other impulses are other solutions of 3, or start from other solutions of 1.
    """
    compression = solve_cone_complementarity(delassus, velocity, friction, restitution=restitution, search=search)

    def expanded(start: ConeSolution, search: bool) -> ConeSolution:
        bounce = np.zeros_like(velocity)
        bounce[::3] = restitution * start.impulse[::3]
        if not bounce.any():
            return start
        bounce *= expansion_share(delassus, velocity, start.impulse, bounce)
        at_rest = velocity + delassus @ start.impulse
        bounce += expansion_friction(delassus, at_rest + delassus @ bounce, friction * bounce[::3])
        impulse = start.impulse + bounce
        left = velocity + delassus @ impulse
        if left[::3].min() >= -_RESTING * np.abs(velocity).max():
            return start._replace(impulse=impulse)
        rest = solve_cone_complementarity(delassus, left, friction, search=search)
        return start._replace(
            impulse=impulse + rest.impulse,
            residual=max(start.residual, rest.residual),
            iterations=start.iterations + rest.iterations,
            unique=start.unique and rest.unique,
            others=tuple(impulse + other for other in rest.others),
        )

    others = tuple(expanded(compression._replace(impulse=other), False).impulse for other in compression.others)
    whole = expanded(compression._replace(others=()), search)
    return whole._replace(others=others + whole.others)


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

    They are those of contacts whose normal impulses are fixed: a cone complementarity problem with uncoupled normals.
    """
    largest, normal = float(radius.max()), np.arange(len(velocity)) % 3 == 0
    if largest <= 0.0:
        return np.zeros_like(velocity)
    mobility = np.repeat(np.diag(delassus)[~normal].reshape(-1, 2).mean(axis=1), 3)
    matrix = np.where(normal | normal[:, None], np.diag(np.where(normal, mobility, 0.0)), delassus)
    free = np.where(normal, -largest * mobility, velocity)
    answer = solve_cone_complementarity(matrix, free, radius / largest).impulse
    return np.where(normal, 0.0, answer)
