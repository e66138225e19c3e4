"""Impact with Coulomb friction along the ante-impact slip, Rey Arias 2024, eqs. (10)-(17), and Newton's restitution.

The paper fixes the friction's direction before the impact and its size at mu times the normal impulse, which is right
while the contact keeps sliding that way. Where that much friction would drive the contact backwards, it is not friction
any more, so the map then asks, in this order: does an impulse inside the cone stop the contact (`stick`)? If not, how
much friction along the same line brings the slip along it to rest, at most mu either way (`slide`)?
"""

from __future__ import annotations

import math

from impact_aware.impact.contact_impulse import NO_IMPULSE, ContactImpulse, Rows, Triple, stick_impulse

# Slower than any encoder resolves: the slip has no direction.
NO_SLIP = 1e-12


def fixed_direction_impulse(delassus: Rows, velocity: Triple, friction: float, restitution: float) -> ContactImpulse:
    """Impulse of Rey Arias 2024, eq. (16) with (11)-(12), limited so that friction never reverses the slip.

    Args:
        delassus: (3, 3) In contact axes, 1/kg.
        velocity: (3,) Relative velocity before, contact axes, m/s.
        friction: Coulomb's coefficient, >= 0.
        restitution: Newton's coefficient, 0..1.
    """
    normal_velocity, slip_1, slip_2 = velocity
    (w_nn, w_n1, w_n2), (_, w_11, w_12), (_, _, w_22) = delassus
    if normal_velocity >= 0.0 or w_nn <= 0.0:
        return NO_IMPULSE
    wanted = -(1.0 + restitution) * normal_velocity
    slip = math.sqrt(slip_1 * slip_1 + slip_2 * slip_2)
    if slip > NO_SLIP:
        u_1, u_2 = slip_1 / slip, slip_2 / slip
    else:
        coupling = math.sqrt(w_n1 * w_n1 + w_n2 * w_n2)
        if coupling <= 1e-12 * w_nn:
            return ContactImpulse(wanted / w_nn, 0.0, 0.0, "stick" if friction > 0.0 else "slide")
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
            p_n, p_1, p_2 = stick_impulse(delassus, velocity, restitution)
            if p_n > 0.0 and p_1 * p_1 + p_2 * p_2 <= (friction * p_n) ** 2:
                return ContactImpulse(p_n, p_1, p_2, "stick")
            effective = max(stopping, -friction)
    p_n = wanted / (w_nn - effective * along)
    return ContactImpulse(p_n, -effective * u_1 * p_n, -effective * u_2 * p_n, "slide")
