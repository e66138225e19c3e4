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

Slip that turns is a power series in a time tau with dp = |v_t| d(tau), in which it has no singularity at rest
(`slip`): it is followed through the sharpest turn, and a phase ends at a zero within a series. Stick, and slip
that keeps its direction, are followed exactly. In the norm of W_tt^-1 two slips never part under friction, so that an
error made on the way does not grow: the impulse is right to about 1e-10 of it, wherever the slip goes.

`compiled_maps` translates these functions.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from impact_aware.impact.contact_impulse import MODES
from impact_aware.impact.slip import Series, departure, expand, integrals, settled_direction

RestitutionLaw: TypeAlias = Literal["energetic", "poisson", "newton"]
RESTITUTION_LAWS: tuple[RestitutionLaw, ...] = ("energetic", "poisson", "newton")
_ENERGETIC, _POISSON, _NEWTON = range(3)
_SLIDE, _STICK, _SEPARATE = (MODES.index(mode) for mode in ("slide", "stick", "separate"))
FAILED = -1

# Slip, or what it has across a direction that it would keep, that is nothing, over the speed before; so is a turn, rad.
_ALLOWED = 1e-10
# Error allowed in a series relative to slip that is nearly nothing.
_ROUGHEST = 1e-6
# Angle to a direction that slip keeps within which Newton's method finds that one, rad.
_NEAR = 1e-2
# Entries and eigenvalues of the Delassus matrix below this share of the normal entry are zero.
_NEGLIGIBLE = 1e-12
_MAX_STEPS = 500

# The contact in tangents along the eigenvectors of the tangential Delassus block, where the two slips are coupled by
# friction alone: w normal entry, a_1, a_2 normal-tangent entries, l_1, l_2 eigenvalues, then the velocity before
# (normal, tangents) and the coefficients of friction and restitution.
_Contact: TypeAlias = tuple[float, float, float, float, float, float, float, float, float, float]
# Impulse so far (normal, tangents), and the integral of the slip speed over the normal impulse.
_Path: TypeAlias = tuple[float, float, float, float]
_Vector: TypeAlias = tuple[float, float, float]
# A path, the series that goes on from it, and what its integrals are in units of.
_Curve: TypeAlias = tuple[_Path, Series, float]
_Phase: TypeAlias = tuple[float, float, float, float, float]


def solve(
    matrix: tuple[float, float, float, float, float, float],
    velocity: _Vector,
    friction: float,
    restitution: float,
    law: int,
    series: Series,
) -> tuple[float, float, float, int]:
    """Impulse in contact axes and the index of the mode, from the upper triangle of the Delassus matrix."""
    w_nn, w_n1, w_n2, w_11, w_12, w_22 = matrix
    v_n, v_1, v_2 = velocity
    if v_n >= 0.0 or w_nn <= 0.0:
        return 0.0, 0.0, 0.0, _SEPARATE
    if friction == 0.0:
        return -(1.0 + restitution) * v_n / w_nn, 0.0, 0.0, _SLIDE
    cos, sin = _principal(w_11, w_12, w_22)
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
    p_n, p_1, p_2, mode = _follow(contact, law, series)
    return p_n, p_1 * cos - p_2 * sin, p_1 * sin + p_2 * cos, mode


def _principal(w_11: float, w_12: float, w_22: float) -> tuple[float, float]:
    """Cosine and sine of the angle from the first tangent to the eigenvector of the larger eigenvalue."""
    difference = 0.5 * (w_11 - w_22)
    length = math.sqrt(difference * difference + w_12 * w_12)
    if length == 0.0:
        return 1.0, 0.0
    if difference >= 0.0:
        cos = math.sqrt(0.5 * (1.0 + difference / length))
        return cos, 0.5 * w_12 / (length * cos)
    sin = math.copysign(math.sqrt(0.5 * (1.0 - difference / length)), w_12)
    return 0.5 * w_12 / (length * sin), sin


def _follow(contact: _Contact, law: int, series: Series) -> tuple[float, float, float, int]:
    """Follow the impulse to the end of restitution: its three components, and the mode then."""
    w, a_1, a_2, l_1, l_2, v_n0, v_10, v_20, friction, restitution = contact
    speed, hold_1, hold_2, can_stick, m_1, m_2, rate = _constants(contact)
    path, velocity, compressing = (0.0, 0.0, 0.0, 0.0), (v_n0, v_10, v_20), True
    # Normal work and impulse at the last change of phase, what compression took, what restitution gave, and its goal.
    phase = 0.0, 0.0, 0.0, 0.0, 0.0
    keeps_work = law == _ENERGETIC and restitution > 0.0
    for _ in range(_MAX_STEPS):
        v_n, v_1, v_2 = velocity
        slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
        moves, sticks, s_1, s_2, turning, growth = slip > _ALLOWED * speed, False, 0.0, 0.0, 0.0, 0.0
        if moves:
            s_1, s_2, turning = _heading(v_1 / slip, v_2 / slip, a_1, a_2, m_1, m_2, slip / speed)
        elif can_stick:
            sticks = True
        else:
            s_1, s_2 = departure(a_1, a_2, m_1, m_2)
        d_1, d_2 = (hold_1, hold_2) if sticks else (-friction * s_1, -friction * s_2)
        slope = w + a_1 * d_1 + a_2 * d_2
        if sticks and slope <= _NEGLIGIBLE * w:
            return path[0], path[1], path[2], _STICK  # the normal can't move while the tangents are held
        if not sticks:
            growth = s_1 * (a_1 - m_1 * s_1) + s_2 * (a_2 - m_2 * s_2)
        rest = slip / -growth if growth < 0.0 else math.inf
        left, ends = -v_n / slope if slope > 0.0 else math.inf, True
        if not compressing:
            left, ends = _impulse_left(contact, path, velocity, slope, phase[4], law)
        if abs(turning) * min(left, rest) > _ALLOWED * slip:
            held = can_stick and rest < left
            if not (held and slip * slip * abs(turning) * w < _ALLOWED * (speed * growth) ** 2):
                tolerance, weight = min(_ALLOWED * speed / slip, _ROUGHEST), slip / speed if keeps_work else 0.0
                step = expand(
                    slip, s_1, s_2, a_1 / rate, a_2 / rate, m_1 / rate, m_2 / rate, tolerance, weight, series
                )  # fmt: skip
                path, compressing, phase, over = _turn(contact, law, 1.0 / rate, path, compressing, phase, series, step)
                velocity = _velocity(contact, path)
                if over:
                    return path[0], path[1], path[2], _SLIDE
                continue
        if rest <= left:
            p, p_1, p_2 = _stop_slip(contact, path[0] + rest, path[1] + d_1 * rest, path[2] + d_2 * rest)
            path, velocity = (
                (p, p_1, p_2, path[3] + 0.5 * slip * rest),
                (v_n0 + w * p + a_1 * p_1 + a_2 * p_2, 0.0, 0.0),
            )
            continue
        if left == math.inf:
            break
        p, p_1, p_2 = path[0] + left, path[1] + d_1 * left, path[2] + d_2 * left
        if ends and (restitution == 0.0 or not compressing):
            return p, p_1, p_2, _STICK if sticks else _SLIDE
        if not sticks:
            path = p, p_1, p_2, path[3] + left * (slip + 0.5 * growth * left)
            velocity = _velocity(contact, path)
        else:
            path, velocity = (p, p_1, p_2, path[3]), (v_n0 + w * p + a_1 * p_1 + a_2 * p_2, 0.0, 0.0)
        phase = _next_phase(contact, path, velocity, compressing, phase, law)
        compressing, velocity = not compressing, (0.0, velocity[1], velocity[2])
    return path[0], path[1], path[2], FAILED


def _heading(
    s_1: float, s_2: float, a_1: float, a_2: float, m_1: float, m_2: float, slip: float
) -> tuple[float, float, float]:
    """Direction of slip (2) and its turning; a direction that it keeps, where what it has across that is nothing.

    `slip` is its size over the speed before.
    """
    turning = s_1 * (a_2 - m_2 * s_2) - s_2 * (a_1 - m_1 * s_1)
    pull = abs(a_1 * s_1 + a_2 * s_2 + (m_2 - m_1) * (s_1 * s_1 - s_2 * s_2))
    if abs(turning) <= _NEAR * pull and abs(turning) * slip <= _ALLOWED * pull:
        s_1, s_2 = settled_direction(s_1, s_2, a_1, a_2, m_2 - m_1)
        turning = 0.0
    return s_1, s_2, turning


def _turn(
    contact: _Contact,
    law: int,
    scale: float,
    path: _Path,
    compressing: bool,
    phase: _Phase,
    series: Series,
    step: float,
) -> tuple[_Path, bool, _Phase, bool]:
    """Continue from `path` by `step` along the series in units of `scale`; the flag marks the end of the impact."""
    curve = path, series, scale
    end, rises = _along(contact, curve, step), _count(contact, path, _NEWTON)[1] > 0.0
    if (_count(contact, end, _NEWTON)[1] > 0.0) != rises:
        # Not beyond the extreme of the normal velocity, so that a zero of it is the only one.
        low = 0.0
        for _ in range(50):
            middle = 0.5 * (low + step)
            if (_count(contact, _along(contact, curve, middle), _NEWTON)[1] > 0.0) == rises:
                low = middle
            else:
                step = middle
        end = _along(contact, curve, step)
    approaches = _count(contact, end, _NEWTON)[0] < 0.0
    begin, there = 0.0, path
    for _ in range(2):
        found, over = -1.0, False
        if compressing and not approaches:
            found, over = _reached(contact, curve, (begin, step), there, end, 0.0, _NEWTON), contact[9] == 0.0
        elif not compressing:
            stop, before = step, end
            if approaches:
                found = stop = _reached(contact, curve, (begin, step), there, end, 0.0, _NEWTON)
                before = _along(contact, curve, stop)
            if _count(contact, before, law)[0] >= phase[4]:
                found, over = _reached(contact, curve, (begin, stop), there, before, phase[4], law), True
        if found < 0.0:
            break
        there = _along(contact, curve, found)
        if over:
            return there, compressing, phase, True
        phase = _next_phase(contact, there, _velocity(contact, there), compressing, phase, law)
        begin, compressing = found, not compressing
    return end, compressing, phase, False


def _along(contact: _Contact, curve: _Curve, time: float) -> _Path:
    """The path at a time of its curve."""
    (p, p_1, p_2, slipped), series, scale = curve
    pressed, along_1, along_2, squared = integrals(series, time)
    push = scale * contact[8]
    return p + scale * pressed, p_1 - push * along_1, p_2 - push * along_2, slipped + scale * squared


def _velocity(contact: _Contact, path: _Path) -> _Vector:
    w, a_1, a_2, l_1, l_2, v_n, v_1, v_2, _, _ = contact
    p, p_1, p_2, _ = path
    return v_n + w * p + a_1 * p_1 + a_2 * p_2, v_1 + a_1 * p + l_1 * p_1, v_2 + a_2 * p + l_2 * p_2


def _count(contact: _Contact, path: _Path, law: int) -> tuple[float, float]:
    """What the law counts (normal work, impulse or velocity) and its change per time tau of `slip`."""
    velocity = _velocity(contact, path)
    v_n, v_1, v_2 = velocity
    slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
    if law == _ENERGETIC:
        return _normal_work(contact, path, velocity), v_n * slip
    if law == _POISSON:
        return path[0], slip
    return v_n, contact[0] * slip - contact[8] * (contact[1] * v_1 + contact[2] * v_2)


def _reached(
    contact: _Contact, curve: _Curve, span: tuple[float, float], first: _Path, last: _Path, goal: float, law: int
) -> float:
    """The time within `span`, from the path `first` to `last`, at which what the law counts has come to its goal.

    Newton's method, by half where that leaves the span; it starts on the cubic of time over count that fits both ends.
    """
    scale, (low, high) = curve[2], span
    (below, slope_below), (above, slope_above) = _count(contact, first, law), _count(contact, last, law)
    rise, length, rises = above - below, high - low, above > below
    if rise == 0.0:
        return high
    share, secant = (goal - below) / rise, rise / (scale * length)
    time = low + math.sqrt(max(share, 0.0)) * length  # for the work of restitution, which begins without any
    if 3.0 * slope_below * secant > secant * secant and 3.0 * slope_above * secant > secant * secant:
        bend = share * (1.0 - share) * ((1.0 - share) / slope_below - share / slope_above)
        time = low + (share * share * (3.0 - 2.0 * share) + bend * secant) * length
    for _ in range(_MAX_STEPS):
        if not low < time < high:
            time = 0.5 * (low + high)
        counted, slope = _count(contact, _along(contact, curve, time), law)
        if (counted < goal) == rises:
            low = time
        else:
            high = time
        move = (goal - counted) / (scale * slope) if slope != 0.0 else math.inf
        time += move
        if abs(move) <= 1e-7 * high or high - low <= 1e-15 * high:
            break
    return min(max(time, low), high)


def _constants(contact: _Contact) -> tuple[float, float, float, bool, float, float, float]:
    """What does not change on the way.

    The speed before; the tangential impulse (2) per normal impulse that holds the contact, and whether it lies in the
    cone; how friction slows the slip (2); the slip equation's fastest rate.
    """
    w, a_1, a_2, l_1, l_2, v_n, v_1, v_2, friction, _ = contact
    speed = math.sqrt(v_n * v_n + v_1 * v_1 + v_2 * v_2)
    hold_1 = -a_1 / l_1 if l_1 > _NEGLIGIBLE * w else 0.0
    hold_2 = -a_2 / l_2 if l_2 > _NEGLIGIBLE * w else 0.0
    can_stick = hold_1 * hold_1 + hold_2 * hold_2 <= friction * friction
    m_1, m_2 = friction * l_1, friction * l_2
    rate = math.sqrt(a_1 * a_1 + a_2 * a_2) + max(m_1, m_2)
    return speed, hold_1, hold_2, can_stick, m_1, m_2, rate


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


TRANSLATED = (
    solve, _principal, _follow, _heading, _turn, _along, _velocity, _count, _reached, _constants, _next_phase,
    _normal_work, _impulse_left, _stop_slip,
)  # fmt: skip
"""The functions that `compiled_maps` translates."""
