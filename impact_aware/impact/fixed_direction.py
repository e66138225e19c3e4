"""Impact with Coulomb friction along the ante-impact slip, Rey Arias 2024, (10)-(17), and Newton's restitution.

The paper fixes the friction's direction before the impact and its size at mu times the normal impulse, which is right
while the contact keeps sliding that way. Where that much friction would drive the contact backwards, it is not friction
any more. The map then tests first whether an impulse inside the cone stops the contact (`stick`). If not, it computes
the friction along the same line that brings the slip along it to rest, at most mu either way (`slide`).
"""

from __future__ import annotations

import math

from impact_aware.impact.contact_impulse import MODES

_SLIDE, _STICK, _SEPARATE = (MODES.index(mode) for mode in ("slide", "stick", "separate"))
# Slower than any encoder resolves: the slip has no direction.
_NO_SLIP = 1e-12


def solve(
    matrix: tuple[float, float, float, float, float, float],
    velocity: tuple[float, float, float],
    friction: float,
    restitution: float,
) -> tuple[float, float, float, int]:
    """Impulse in contact axes and the index of the mode, from the upper triangle of the Delassus matrix."""
    w_nn, w_n1, w_n2, w_11, w_12, w_22 = matrix
    v_n, v_1, v_2 = velocity
    if v_n >= 0.0 or w_nn <= 0.0:
        return 0.0, 0.0, 0.0, _SEPARATE
    wanted = -(1.0 + restitution) * v_n
    slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
    if slip > _NO_SLIP:
        u_1, u_2 = v_1 / slip, v_2 / slip
    else:
        coupling = math.sqrt(w_n1 * w_n1 + w_n2 * w_n2)
        if coupling <= 1e-12 * w_nn:
            return wanted / w_nn, 0.0, 0.0, _STICK if friction > 0.0 else _SLIDE
        # A contact that starts without slip would first slip where the normal impulse drives it.
        slip, u_1, u_2 = 0.0, w_n1 / coupling, w_n2 / coupling
    along = u_1 * w_n1 + u_2 * w_n2
    resistance = u_1 * (w_11 * u_1 + 2.0 * w_12 * u_2) + w_22 * u_2 * u_2
    effective = friction
    # With friction f along the line, the slip after has the sign of slip * w_nn + wanted * along - f * braking.
    braking = slip * along + wanted * resistance
    if braking > 0.0:
        stopping = (slip * w_nn + wanted * along) / braking
        if stopping < friction:
            p_n, p_1, p_2 = _stick(matrix, velocity, wanted)
            if p_n > 0.0 and p_1 * p_1 + p_2 * p_2 <= (friction * p_n) ** 2:
                return p_n, p_1, p_2, _STICK
            effective = max(stopping, -friction)
    p_n = wanted / (w_nn - effective * along)
    return p_n, -effective * u_1 * p_n, -effective * u_2 * p_n, _SLIDE


def _stick(
    matrix: tuple[float, float, float, float, float, float], velocity: tuple[float, float, float], wanted: float
) -> tuple[float, float, float]:
    """Impulse (3) that stops both tangents and changes the normal velocity by `wanted`."""
    w00, w01, w02, w11, w12, w22 = matrix
    b0, b1, b2 = wanted, -velocity[1], -velocity[2]
    c00, c01, c02 = w11 * w22 - w12 * w12, w02 * w12 - w01 * w22, w01 * w12 - w02 * w11
    c11, c12, c22 = w00 * w22 - w02 * w02, w01 * w02 - w00 * w12, w00 * w11 - w01 * w01
    determinant = w00 * c00 + w01 * c01 + w02 * c02
    if determinant == 0.0:
        return 0.0, 0.0, 0.0
    return (
        (c00 * b0 + c01 * b1 + c02 * b2) / determinant,
        (c01 * b0 + c11 * b1 + c12 * b2) / determinant,
        (c02 * b0 + c12 * b1 + c22 * b2) / determinant,
    )


TRANSLATED = solve, _stick
"""The functions that `compiled_maps` translates."""
