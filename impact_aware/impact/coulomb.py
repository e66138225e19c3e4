"""Impact with Coulomb's law in 3-D, integrated along the normal impulse (Routh's method, Stronge's energy).

During a rigid impact the normal impulse p grows from zero and every velocity follows it: dv/dp = W (1, dP_t/dp), where
friction opposes the slip of that moment, dP_t/dp = -mu v_t / |v_t|, or holds the contact where it has come to rest,
dP_t/dp = -W_tt^-1 W_tn, if that lies inside the cone. Because an arm couples its directions, the slip turns on the way,
and may stop, stick or come back. Compression ends where the normal velocity vanishes; restitution ends by one of

- `energetic` (Stronge): the normal work given back is e^2 times the normal work taken,
- `poisson`: the normal impulse of restitution is e times that of compression,
- `newton`: the normal velocity is -e times the ante-impact one.

The three agree without friction, or when the slip never turns; otherwise only the energetic one can't create energy,
for any e <= 1, which is why it is the default. At e = 0 the three are the same map.

Slip is stepped in a time tau with dp = |v_t| d(tau), in which its equation has no singularity at rest, by a fifth-order
Runge-Kutta method whose weights are all positive, so the impulse stays in the cone. Stick, and slip that has settled on
a direction, are followed exactly. Momentum, the end conditions and the energy balance hold to rounding whatever the
steps are; only where on the cone the impulse ends carries their error, about 1e-6 of it and seldom above 1e-5.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from impact_aware.errors import NoSolutionError
from impact_aware.impact.contact_impulse import ContactImpulse, Rows, Triple
from impact_aware.impact.frictionless import frictionless_impulse

RestitutionLaw: TypeAlias = Literal["energetic", "poisson", "newton"]

# Longest step in units of the fastest rate of the slip's equation; a little below where the method turns unstable.
LONGEST = 2.5
# Error allowed per step, in units that the sixth power of the step's length and the turn it makes are measured in.
ALLOWED = 3e-3
# A step while slip is this small, relative to the speed at impact, presses too little to matter more than that.
FLOOR = 1e-3
# Relative impulse that a slip still turning onto its settled direction may miss, and its largest angle to it, rad.
SNAP, NEAR = 1e-6, 1e-2
# A turn below this, rad, is none: the step is the exact straight one.
STRAIGHT = 1e-7
# Square of the slip left, over the speed at impact, times the turn left, below which a contact that can stick does.
SETTLED = 1e-8
_MAX_STEPS = 500


def coulomb_impulse(
    delassus: Rows, velocity: Triple, friction: float, restitution: float, law: RestitutionLaw = "energetic"
) -> ContactImpulse:
    """Impulse of one contact under Coulomb's law.

    Args:
        delassus: (3, 3) In contact axes, 1/kg, positive semidefinite.
        velocity: (3,) Relative velocity before, contact axes, m/s.
        friction: Coulomb's coefficient, >= 0.
        restitution: Coefficient of the chosen law, 0..1.
        law: Which restitution.

    Raises:
        NoSolutionError: The Delassus matrix is not positive semidefinite, so the contact never stops approaching.
    """
    if friction == 0.0 or velocity[0] >= 0.0 or delassus[0][0] <= 0.0:
        return frictionless_impulse(delassus, velocity, friction, restitution)
    (w_nn, w_n1, w_n2), (_, w_11, w_12), (_, _, w_22) = delassus
    v_n, v_1, v_2 = velocity
    # Tangents along the eigenvectors of the tangential block: there the two slips are coupled by friction alone.
    angle = 0.5 * math.atan2(2.0 * w_12, w_11 - w_22)
    cos, sin = math.cos(angle), math.sin(angle)
    p_n, p_1, p_2, sticks = _follow(
        w_nn,
        w_n1 * cos + w_n2 * sin,
        w_n2 * cos - w_n1 * sin,
        w_11 * cos * cos + (2.0 * w_12 * cos + w_22 * sin) * sin,
        w_11 * sin * sin + (w_22 * cos - 2.0 * w_12 * sin) * cos,
        (v_n, v_1 * cos + v_2 * sin, v_2 * cos - v_1 * sin),
        friction,
        restitution,
        law,
    )
    return ContactImpulse(p_n, p_1 * cos - p_2 * sin, p_1 * sin + p_2 * cos, "stick" if sticks else "slide")


def _follow(
    w: float,
    a_1: float,
    a_2: float,
    l_1: float,
    l_2: float,
    before: tuple[float, float, float],
    friction: float,
    restitution: float,
    law: RestitutionLaw,
) -> tuple[float, float, float, bool]:
    """Follow the impulse to the end of restitution: its three components, and whether the contact sticks then.

    `w` is the normal entry of the Delassus matrix, `a` its normal-tangent entries, `l` its tangential eigenvalues.
    """
    v_n0, v_10, v_20 = v_n, v_1, v_2 = before
    p = p_1 = p_2 = 0.0
    slipped = 0.0  # integral of the slip speed over p: friction's work is -mu times it
    speed = math.sqrt(v_n * v_n + v_1 * v_1 + v_2 * v_2)
    m_1, m_2 = friction * l_1, friction * l_2
    rate = math.sqrt(a_1 * a_1 + a_2 * a_2) + max(m_1, m_2)
    resting, floor, negligible = 1e-12 * speed, FLOOR * speed, 1e-12 * w
    weight, transient, settled = (
        ALLOWED * rate * speed / max(friction, 0.1),
        SNAP * speed / w,
        SETTLED * speed * speed,
    )
    hold_1 = -a_1 / l_1 if l_1 > negligible else 0.0
    hold_2 = -a_2 / l_2 if l_2 > negligible else 0.0
    can_stick = hold_1 * hold_1 + hold_2 * hold_2 <= friction * friction
    compressing, sticks, invariant = True, False, False
    # Normal work and impulse at the last change of phase; what compression took and restitution gave so far.
    mark_work = mark_p = taken = given = goal = 0.0
    s_1 = s_2 = slip = growth = turning = 0.0
    for _ in range(_MAX_STEPS):
        if sticks:
            d_1, d_2, turning = hold_1, hold_2, 0.0
        else:
            slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
            if not invariant:
                if not slip > resting:
                    if can_stick:
                        sticks = True
                    else:
                        s_1, s_2 = _departure(a_1, a_2, m_1, m_2)
                        invariant = True
                    continue
                s_1, s_2 = v_1 / slip, v_2 / slip
            u_1, u_2 = a_1 - m_1 * s_1, a_2 - m_2 * s_2
            growth = s_1 * u_1 + s_2 * u_2
            turning = 0.0
            if not invariant:
                turning = s_1 * u_2 - s_2 * u_1
                pull = a_1 * s_1 + a_2 * s_2 + (m_2 - m_1) * (s_1 * s_1 - s_2 * s_2)
                if abs(turning) < NEAR * pull and abs(turning) * slip < transient * pull * pull:
                    s_1, s_2 = settled_direction(s_1, s_2, a_1, a_2, m_2 - m_1)
                    invariant = True
                    continue
            d_1, d_2 = -friction * s_1, -friction * s_2
        slope = w + a_1 * d_1 + a_2 * d_2
        if sticks and slope <= negligible:
            return p, p_1, p_2, True  # the normal can't move while the tangents are held, as on a one-joint arm
        # Impulse left in this phase if the direction stayed: slightly negative when the last step went too far.
        ends = True
        if compressing:
            left = -v_n / slope if slope > 0.0 else math.inf
        else:
            left = math.inf
            if law == "energetic":
                work = 0.5 * ((v_n0 + v_n) * p + (v_10 + v_1) * p_1 + (v_20 + v_2) * p_2) + friction * slipped
                owed = goal - work
                root = v_n * v_n + 2.0 * slope * owed
                if root > 0.0:
                    left = 2.0 * owed / (v_n + math.sqrt(root))
                elif owed <= 0.0:
                    left = 0.0
            elif law == "poisson":
                left = goal - p
            elif slope > 0.0:
                left = (goal - v_n) / slope
            if slope < 0.0 and -v_n / slope < left:
                left, ends = -v_n / slope, False  # approaches again before restitution is over
        if not sticks:
            rest = slip / -growth if growth < 0.0 else math.inf
            settles = rest < left and can_stick and slip * slip * abs(turning) < settled * -growth
            if not settles and abs(turning * min(left, rest)) > STRAIGHT * slip:
                time = min(LONGEST, (weight / (abs(turning) * (slip + floor))) ** (1.0 / 6.0)) / rate
                ratio = growth * left / slip
                if -1.0 < ratio < math.inf:
                    needed = left / slip * (math.log1p(ratio) / ratio if abs(ratio) > 1e-9 else 1.0)
                    if needed < 1.5 * time:
                        # The last step of this phase aims better when it knows that the slope turns with the slip.
                        bend = friction * (a_1 * s_2 - a_2 * s_1) * turning * left / (slip * slope)
                        time = min(time, needed * (1.0 - 0.5 * bend if -1.0 < bend < 1.0 else 1.0))
                along_1, along_2, pressed, travelled = slip_step(v_1, v_2, a_1, a_2, m_1, m_2, time)
                slipped += travelled
                p += pressed
                p_1 -= friction * along_1
                p_2 -= friction * along_2
                v_n = v_n0 + w * p + a_1 * p_1 + a_2 * p_2
                v_1 = v_10 + a_1 * p + l_1 * p_1
                v_2 = v_20 + a_2 * p + l_2 * p_2
                continue
            if rest <= left:
                slipped += 0.5 * slip * rest
                p += rest
                p_1, p_2 = p_1 + d_1 * rest, p_2 + d_2 * rest
                # What the straight last step leaves of the slip is rounding or settled: take it out.
                p_1 -= (v_10 + a_1 * p + l_1 * p_1) / l_1 if l_1 > negligible else 0.0
                p_2 -= (v_20 + a_2 * p + l_2 * p_2) / l_2 if l_2 > negligible else 0.0
                v_n, v_1, v_2 = v_n0 + w * p + a_1 * p_1 + a_2 * p_2, 0.0, 0.0
                invariant = False
                continue
            slipped += left * (slip + 0.5 * growth * left)
        if left == math.inf:
            break
        p += left
        p_1, p_2 = p_1 + d_1 * left, p_2 + d_2 * left
        if ends and (restitution == 0.0 or not compressing):
            return p, p_1, p_2, sticks
        v_n = v_n0 + w * p + a_1 * p_1 + a_2 * p_2
        if not sticks:
            v_1, v_2 = v_10 + a_1 * p + l_1 * p_1, v_20 + a_2 * p + l_2 * p_2
        work = 0.5 * ((v_n0 + v_n) * p + (v_10 + v_1) * p_1 + (v_20 + v_2) * p_2) + friction * slipped
        if compressing:
            taken += p - mark_p if law == "poisson" else mark_work - work
            if law == "energetic":
                goal = work + restitution * restitution * taken - given
            elif law == "poisson":
                goal = p + restitution * taken - given
            else:
                goal = -restitution * v_n0
        else:
            given += p - mark_p if law == "poisson" else work - mark_work
        compressing = not compressing
        mark_work, mark_p, v_n = work, p, 0.0
    raise NoSolutionError(
        "the contact never stops approaching: the Delassus matrix is not positive semidefinite",
        problem=(w, a_1, a_2, l_1, l_2, before, friction, restitution, law),
    )


def slip_step(
    v_1: float, v_2: float, a_1: float, a_2: float, m_1: float, m_2: float, step: float
) -> tuple[float, float, float, float]:
    """Integrals of slip (2), its speed and its squared speed over `step` of a time in which dv = (a |v| - m v) d(time).

    Butcher's fifth order with Boole's weights.
    """
    sqrt = math.sqrt
    a_1, a_2, m_1, m_2 = a_1 * step, a_2 * step, m_1 * step, m_2 * step
    r = sqrt(v_1 * v_1 + v_2 * v_2)
    e_1, e_2 = a_1 * r - m_1 * v_1, a_2 * r - m_2 * v_2
    x, y = v_1 + 0.25 * e_1, v_2 + 0.25 * e_2
    s = sqrt(x * x + y * y)
    f_1, f_2 = a_1 * s - m_1 * x, a_2 * s - m_2 * y
    x_3, y_3 = v_1 + 0.125 * (e_1 + f_1), v_2 + 0.125 * (e_2 + f_2)
    r_3 = sqrt(x_3 * x_3 + y_3 * y_3)
    g_1, g_2 = a_1 * r_3 - m_1 * x_3, a_2 * r_3 - m_2 * y_3
    x_4, y_4 = v_1 + g_1 - 0.5 * f_1, v_2 + g_2 - 0.5 * f_2
    r_4 = sqrt(x_4 * x_4 + y_4 * y_4)
    h_1, h_2 = a_1 * r_4 - m_1 * x_4, a_2 * r_4 - m_2 * y_4
    x_5, y_5 = v_1 + 0.1875 * e_1 + 0.5625 * h_1, v_2 + 0.1875 * e_2 + 0.5625 * h_2
    r_5 = sqrt(x_5 * x_5 + y_5 * y_5)
    x = v_1 + (2.0 * f_1 - 3.0 * e_1 + 12.0 * (g_1 - h_1) + 8.0 * (a_1 * r_5 - m_1 * x_5)) / 7.0
    y = v_2 + (2.0 * f_2 - 3.0 * e_2 + 12.0 * (g_2 - h_2) + 8.0 * (a_2 * r_5 - m_2 * y_5)) / 7.0
    s = sqrt(x * x + y * y)
    share = step / 90.0
    return (
        share * (7.0 * (v_1 + x) + 32.0 * (x_3 + x_5) + 12.0 * x_4),
        share * (7.0 * (v_2 + y) + 32.0 * (y_3 + y_5) + 12.0 * y_4),
        share * (7.0 * (r + s) + 32.0 * (r_3 + r_5) + 12.0 * r_4),
        share * (7.0 * (r * r + s * s) + 32.0 * (r_3 * r_3 + r_5 * r_5) + 12.0 * r_4 * r_4),
    )


def settled_direction(s_1: float, s_2: float, a_1: float, a_2: float, difference: float) -> tuple[float, float]:
    """The slip direction (2) near `s` that no longer turns, by Newton's method on the angle."""
    for _ in range(5):
        turning = s_1 * a_2 - s_2 * a_1 - difference * s_1 * s_2
        angle = turning / (a_1 * s_1 + a_2 * s_2 + difference * (s_1 * s_1 - s_2 * s_2))
        s_1, s_2 = s_1 - angle * s_2, s_2 + angle * s_1
        length = math.sqrt(s_1 * s_1 + s_2 * s_2)
        s_1, s_2 = s_1 / length, s_2 / length
        if abs(angle) < 1e-8:
            break
    return s_1, s_2


def _departure(a_1: float, a_2: float, m_1: float, m_2: float) -> tuple[float, float]:
    """Direction (2) in which a contact that can't stick leaves rest: a - m s = growth s with growth > 0, |s| = 1."""
    growth = max(math.sqrt(a_1 * a_1 + a_2 * a_2) - max(m_1, m_2), 1e-12 * (m_1 + m_2))
    s_1, s_2 = a_1 / (m_1 + growth), a_2 / (m_2 + growth)
    for _ in range(50):
        # Newton's method on 1 / |s| = 1, which is concave in the growth: from below it never overshoots.
        squared = s_1 * s_1 + s_2 * s_2
        length = math.sqrt(squared)
        change = (length - 1.0) * squared / (s_1 * s_1 / (m_1 + growth) + s_2 * s_2 / (m_2 + growth))
        growth += change
        s_1, s_2 = a_1 / (m_1 + growth), a_2 / (m_2 + growth)
        if abs(change) <= 1e-15 * growth:
            break
    length = math.sqrt(s_1 * s_1 + s_2 * s_2)
    return s_1 / length, s_2 / length
