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

One contact is solved by the interpreter, many by the same functions compiled (`compiled_coulomb`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal, TypeAlias

from impact_aware.arrays import Array
from impact_aware.errors import NoSolutionError
from impact_aware.impact.contact_impulse import MODES, ContactImpulse, ModeIndices, Rows, Triple
from impact_aware.impact.slip_direction import departure, settled_direction

RestitutionLaw: TypeAlias = Literal["energetic", "poisson", "newton"]
RESTITUTION_LAWS: tuple[RestitutionLaw, ...] = ("energetic", "poisson", "newton")
_ENERGETIC, _POISSON, _NEWTON = range(3)
_SLIDE, _STICK, _SEPARATE = (MODES.index(mode) for mode in ("slide", "stick", "separate"))
_FAILED = -1

# Longest step in units of the fastest rate of the slip's equation; a little below where the method turns unstable.
_LONGEST = 2.5
# Error allowed per step, in units that the sixth power of the step's length and the turn it makes are measured in.
_ALLOWED = 3e-3
# A step while slip is this small, relative to the speed at impact, presses too little to matter more than that.
_FLOOR = 1e-3
# Relative impulse that a slip still turning onto its settled direction may miss, and its largest angle to it, rad.
_SNAP, _NEAR = 1e-6, 1e-2
# A turn below this, rad, is none: the step is the exact straight one.
_STRAIGHT = 1e-7
# Square of the slip left, over the speed at impact, times the turn left, below which a contact that can stick does.
_SETTLED = 1e-8
# Entries and eigenvalues of the Delassus matrix below this share of the normal entry are zero.
_NEGLIGIBLE = 1e-12
_MAX_STEPS = 500
# A step may go past its phase's end by this share of approach speed or impulse, unless it is that short.
_PAST, _SHORTEST = 0.01, 1e-4

# The contact in tangents along the eigenvectors of the tangential Delassus block, where the two slips are coupled by
# friction alone: w normal entry, a_1, a_2 normal-tangent entries, l_1, l_2 eigenvalues, then the velocity before
# (normal, tangents) and the coefficients of friction and restitution.
_Contact: TypeAlias = tuple[float, float, float, float, float, float, float, float, float, float]
# Impulse so far (normal, tangents), and the integral of the slip speed over the normal impulse.
_Path: TypeAlias = tuple[float, float, float, float]
_Vector: TypeAlias = tuple[float, float, float]
_Phase: TypeAlias = tuple[float, float, float, float, float]


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
    (w_nn, w_n1, w_n2), (_, w_11, w_12), (_, _, w_22) = delassus
    matrix = w_nn, w_n1, w_n2, w_11, w_12, w_22
    v_n, v_1, v_2 = velocity
    p_n, p_1, p_2, mode = _solve(matrix, (v_n, v_1, v_2), friction, restitution, RESTITUTION_LAWS.index(law))
    if mode == _FAILED:
        raise _not_semidefinite((delassus, velocity, friction, restitution, law))
    return ContactImpulse(p_n, p_1, p_2, MODES[mode])


@functools.cache
def compiled_coulomb(law: RestitutionLaw) -> Callable[[Array, Array, float, float], tuple[Array, ModeIndices]]:
    """The same map for many contacts, compiled; see `BatchMap` of `impact.batch` for its arguments."""
    import numpy as np
    from numba.extending import register_jitable

    from impact_aware.compiled import INDEX, MATRIX, NOTHING, NUMBER, WRITTEN_MATRIX, WRITTEN_VECTOR, compiled

    for part in (_solve, _follow, _stepped, _beyond, _constants, _aimed, _impulse_left, _next_phase, _normal_work,
                 _stop_slip, _slip_step, settled_direction, departure):  # fmt: skip
        register_jitable(part)

    @compiled(NOTHING, MATRIX, MATRIX, NUMBER, NUMBER, INDEX, WRITTEN_MATRIX, WRITTEN_VECTOR)
    def solve_all(
        delassus: Array, velocity: Array, friction: float, restitution: float, law: int, impulse: Array, mode: Array
    ) -> None:
        for k in range(len(velocity)):
            w, v = delassus[k], velocity[k]
            matrix = w[0], w[1], w[2], w[3], w[4], w[5]
            p_n, p_1, p_2, mode[k] = _solve(matrix, (v[0], v[1], v[2]), friction, restitution, law)
            impulse[k, 0], impulse[k, 1], impulse[k, 2] = p_n, p_1, p_2

    index = RESTITUTION_LAWS.index(law)

    def impulses(delassus: Array, velocity: Array, friction: float, restitution: float) -> tuple[Array, ModeIndices]:
        impulse, mode = np.empty((len(velocity), 3)), np.empty(len(velocity))
        solve_all(delassus, velocity, friction, restitution, index, impulse, mode)
        failed = np.flatnonzero(mode == _FAILED)
        if failed.size:
            raise _not_semidefinite((delassus[failed[0]], velocity[failed[0]], friction, restitution, law))
        return impulse, mode.astype(np.int8)

    return impulses


def _not_semidefinite(problem: object) -> NoSolutionError:
    return NoSolutionError(
        "the contact never stops approaching: the Delassus matrix is not positive semidefinite", problem=problem
    )


def _solve(
    matrix: tuple[float, float, float, float, float, float],
    velocity: _Vector,
    friction: float,
    restitution: float,
    law: int,
) -> tuple[float, float, float, int]:
    """Impulse in contact axes and the index of the mode, from the upper triangle of the Delassus matrix."""
    w_nn, w_n1, w_n2, w_11, w_12, w_22 = matrix
    v_n, v_1, v_2 = velocity
    if v_n >= 0.0 or w_nn <= 0.0:
        return 0.0, 0.0, 0.0, _SEPARATE
    if friction == 0.0:
        return -(1.0 + restitution) * v_n / w_nn, 0.0, 0.0, _SLIDE
    angle = 0.5 * math.atan2(2.0 * w_12, w_11 - w_22)
    cos, sin = math.cos(angle), math.sin(angle)
    contact = (
        w_nn,
        w_n1 * cos + w_n2 * sin,
        w_n2 * cos - w_n1 * sin,
        w_11 * cos * cos + (2.0 * w_12 * cos + w_22 * sin) * sin,
        w_11 * sin * sin + (w_22 * cos - 2.0 * w_12 * sin) * cos,
        v_n,
        v_1 * cos + v_2 * sin,
        v_2 * cos - v_1 * sin,
        friction,
        restitution,
    )
    p_n, p_1, p_2, mode = _follow(contact, law)
    return p_n, p_1 * cos - p_2 * sin, p_1 * sin + p_2 * cos, mode


def _follow(contact: _Contact, law: int) -> tuple[float, float, float, int]:
    """Follow the impulse to the end of restitution: its three components, and the mode then."""
    w, a_1, a_2, l_1, l_2, v_n0, v_10, v_20, friction, restitution = contact
    v_n, v_1, v_2 = v_n0, v_10, v_20
    speed, hold_1, hold_2, can_stick, m_1, m_2, rate, weight = _constants(contact)
    negligible, resting, floor = _NEGLIGIBLE * w, 1e-12 * speed, _FLOOR * speed
    p, p_1, p_2, slipped = 0.0, 0.0, 0.0, 0.0
    compressing, sticks, settled = True, False, False
    # Normal work and impulse at the last change of phase, what compression took, what restitution gave, and its goal.
    phase = 0.0, 0.0, 0.0, 0.0, 0.0
    slip, s_1, s_2, growth, turning, rest = 0.0, 0.0, 0.0, 0.0, 0.0, math.inf
    for _ in range(_MAX_STEPS):
        if not sticks:
            slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
            sticks = not settled and can_stick and not slip > resting
        if sticks:
            d_1, d_2 = hold_1, hold_2
        else:
            turning = 0.0
            if not settled:
                if slip > resting:
                    s_1, s_2 = v_1 / slip, v_2 / slip
                    turning = s_1 * (a_2 - m_2 * s_2) - s_2 * (a_1 - m_1 * s_1)
                    pull = a_1 * s_1 + a_2 * s_2 + (m_2 - m_1) * (s_1 * s_1 - s_2 * s_2)
                    settled = abs(turning) < _NEAR * pull and abs(turning) * slip * w < _SNAP * speed * pull * pull
                    if settled:
                        s_1, s_2 = settled_direction(s_1, s_2, a_1, a_2, m_2 - m_1)
                        turning = 0.0
                else:
                    s_1, s_2 = departure(a_1, a_2, m_1, m_2)
                    settled = True
            d_1, d_2 = -friction * s_1, -friction * s_2
            growth = s_1 * (a_1 - m_1 * s_1) + s_2 * (a_2 - m_2 * s_2)
            rest = slip / -growth if growth < 0.0 else math.inf
        slope = w + a_1 * d_1 + a_2 * d_2
        if sticks and slope <= negligible:
            return p, p_1, p_2, _STICK  # the normal can't move while the tangents are held, as on a one-joint arm
        left, ends = -v_n / slope if slope > 0.0 else math.inf, True
        if not compressing:
            left, ends = _impulse_left(contact, (p, p_1, p_2, slipped), (v_n, v_1, v_2), slope, phase[4], law)
        if not sticks:
            settles = rest < left and can_stick and slip * slip * abs(turning) < _SETTLED * speed * speed * -growth
            if not settles and abs(turning * min(left, rest)) > _STRAIGHT * slip:
                time = min(_LONGEST, (weight / (abs(turning) * (slip + floor))) ** (1.0 / 6.0)) / rate
                ratio = growth * left / slip
                if -1.0 < ratio < math.inf:
                    bend = friction * (a_1 * s_2 - a_2 * s_1) * turning * left / (slip * slope) if slope != 0.0 else 1.0
                    time = _aimed(time, left / slip, ratio, bend)
                path, velocity = _stepped(contact, (p, p_1, p_2, slipped), (v_n, v_1, v_2), m_1, m_2, time)
                # The straight way back to a phase's end holds for a short one only.
                while time * rate > _SHORTEST and _beyond(contact, path, velocity, compressing, phase[4], law):
                    time *= 0.5
                    path, velocity = _stepped(contact, (p, p_1, p_2, slipped), (v_n, v_1, v_2), m_1, m_2, time)
                p, p_1, p_2, slipped = path
                v_n, v_1, v_2 = velocity
                continue
            if rest <= left:
                p, p_1, p_2 = _stop_slip(contact, p + rest, p_1 + d_1 * rest, p_2 + d_2 * rest)
                slipped += 0.5 * slip * rest
                v_n, v_1, v_2 = v_n0 + w * p + a_1 * p_1 + a_2 * p_2, 0.0, 0.0
                settled = False
                continue
            slipped += left * (slip + 0.5 * growth * left)
        if left == math.inf:
            break
        p, p_1, p_2 = p + left, p_1 + d_1 * left, p_2 + d_2 * left
        if ends and (restitution == 0.0 or not compressing):
            return p, p_1, p_2, _STICK if sticks else _SLIDE
        if not sticks:
            v_1, v_2 = v_10 + a_1 * p + l_1 * p_1, v_20 + a_2 * p + l_2 * p_2
        v_n = v_n0 + w * p + a_1 * p_1 + a_2 * p_2
        phase = _next_phase(contact, (p, p_1, p_2, slipped), (v_n, v_1, v_2), compressing, phase, law)
        compressing, v_n = not compressing, 0.0
    return p, p_1, p_2, _FAILED


def _stepped(
    contact: _Contact, path: _Path, velocity: _Vector, m_1: float, m_2: float, time: float
) -> tuple[_Path, _Vector]:
    """Path and velocity after one `_slip_step`."""
    w, a_1, a_2, l_1, l_2, v_n, v_1, v_2, friction, _ = contact
    p, p_1, p_2, slipped = path
    along_1, along_2, pressed, travelled = _slip_step(velocity[1], velocity[2], a_1, a_2, m_1, m_2, time)
    p, slipped = p + pressed, slipped + travelled
    p_1, p_2 = p_1 - friction * along_1, p_2 - friction * along_2
    after = v_n + w * p + a_1 * p_1 + a_2 * p_2, v_1 + a_1 * p + l_1 * p_1, v_2 + a_2 * p + l_2 * p_2
    return (p, p_1, p_2, slipped), after


def _beyond(contact: _Contact, path: _Path, velocity: _Vector, compressing: bool, goal: float, law: int) -> bool:
    """Whether a step has gone far past the end of its phase."""
    if compressing:
        return velocity[0] > -_PAST * contact[5]
    return _impulse_left(contact, path, velocity, contact[0], goal, law)[0] < -_PAST * path[0]


def _constants(contact: _Contact) -> tuple[float, float, float, bool, float, float, float, float]:
    """What does not change on the way.

    The speed before; the tangential impulse (2) per normal impulse that holds the contact, and whether it lies in the
    cone; how friction slows the slip (2); the slip equation's fastest rate; the error weight of a step.
    """
    w, a_1, a_2, l_1, l_2, v_n, v_1, v_2, friction, _ = contact
    speed = math.sqrt(v_n * v_n + v_1 * v_1 + v_2 * v_2)
    hold_1 = -a_1 / l_1 if l_1 > _NEGLIGIBLE * w else 0.0
    hold_2 = -a_2 / l_2 if l_2 > _NEGLIGIBLE * w else 0.0
    can_stick = hold_1 * hold_1 + hold_2 * hold_2 <= friction * friction
    m_1, m_2 = friction * l_1, friction * l_2
    rate = math.sqrt(a_1 * a_1 + a_2 * a_2) + max(m_1, m_2)
    return speed, hold_1, hold_2, can_stick, m_1, m_2, rate, _ALLOWED * rate * speed / max(friction, 0.1)


def _aimed(time: float, whole: float, ratio: float, bend: float) -> float:
    """The step `time`, shortened where the phase ends within it, when slip changes by `ratio` until then.

    `whole` is the impulse left over the slip; `bend` how far the slope of the normal velocity turns with the slip.
    """
    needed = whole * (math.log1p(ratio) / ratio if abs(ratio) > 1e-9 else 1.0)
    if needed >= 1.5 * time:
        return time
    return min(time, needed * (1.0 - 0.5 * bend if -1.0 < bend < 1.0 else 1.0))


def _next_phase(
    contact: _Contact, path: _Path, velocity: _Vector, compressing: bool, phase: _Phase, law: int
) -> _Phase:
    """The account of work and impulse at the change from compression to restitution or back."""
    mark_work, mark_p, taken, given, goal = phase
    restitution, p = contact[9], path[0]
    work = _normal_work(contact, path, velocity)
    if not compressing:
        return work, p, taken, given + (p - mark_p if law == _POISSON else work - mark_work), goal
    if law == _NEWTON:
        return work, p, taken, given, -restitution * contact[5]
    if law == _POISSON:
        taken += p - mark_p
        return work, p, taken, given, p + restitution * taken - given
    taken += mark_work - work
    return work, p, taken, given, work + restitution * restitution * taken - given


def _normal_work(contact: _Contact, path: _Path, velocity: _Vector) -> float:
    """Normal work so far, J: all work but friction's, which is -mu times the integral of the slip speed."""
    p, p_1, p_2, slipped = path
    v_n, v_1, v_2 = velocity
    return 0.5 * ((contact[5] + v_n) * p + (contact[6] + v_1) * p_1 + (contact[7] + v_2) * p_2) + contact[8] * slipped


def _impulse_left(
    contact: _Contact, path: _Path, velocity: _Vector, slope: float, goal: float, law: int
) -> tuple[float, bool]:
    """Impulse left in restitution if the direction stayed, slightly negative when the last step went too far.

    The flag is False where the contact approaches again before restitution is over.
    """
    v_n = velocity[0]
    left = math.inf
    if law == _ENERGETIC:
        owed = goal - _normal_work(contact, path, velocity)
        root = v_n * v_n + 2.0 * slope * owed
        if root > 0.0:
            left = 2.0 * owed / (v_n + math.sqrt(root))
        elif owed <= 0.0:
            left = 0.0
    elif law == _POISSON:
        left = goal - path[0]
    elif slope > 0.0:
        left = (goal - v_n) / slope
    if slope < 0.0 and -v_n / slope < left:
        return -v_n / slope, False
    return left, True


def _stop_slip(contact: _Contact, p: float, p_1: float, p_2: float) -> _Vector:
    """Take out what rounding, or the straight last step of a settled slip, leaves of the slip."""
    w, a_1, a_2, l_1, l_2, _, v_1, v_2, _, _ = contact
    p_1 -= (v_1 + a_1 * p + l_1 * p_1) / l_1 if l_1 > _NEGLIGIBLE * w else 0.0
    p_2 -= (v_2 + a_2 * p + l_2 * p_2) / l_2 if l_2 > _NEGLIGIBLE * w else 0.0
    return p, p_1, p_2


def _slip_step(
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
