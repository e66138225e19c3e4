"""`coulomb_impulse` for many contacts at once: the same path in the same steps, over arrays.

Contacts that have come to the end of a phase leave the arrays. What is rare is handed to the map for one: slip that
comes back from rest, a second compression within restitution, and the last few that take very many steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.arrays import Array
from impact_aware.impact.contact_impulse import MODES
from impact_aware.impact.coulomb import (
    ALLOWED,
    FLOOR,
    LONGEST,
    NEAR,
    SETTLED,
    SNAP,
    STRAIGHT,
    RestitutionLaw,
    coulomb_impulse,
)

# Below this many contacts the map for one is quicker than NumPy's calls.
_FEW = 32
_MAX_ROUNDS = 80
_SLIDE, _STICK, _SEPARATE = (MODES.index(mode) for mode in ("slide", "stick", "separate"))


def coulomb_impulses(
    delassus: Array, velocity: Array, friction: float, restitution: float, law: RestitutionLaw = "energetic"
) -> tuple[Array, NDArray[np.int8]]:
    """Impulses of N contacts under Coulomb's law.

    Args:
        delassus: (3, 3, N) In contact axes, 1/kg.
        velocity: (3, N) Relative velocity before, contact axes, m/s.
        friction: Coulomb's coefficient, >= 0.
        restitution: Coefficient of the chosen law, 0..1.
        law: Which restitution.

    Returns:
        Impulses (3, N) in contact axes, N s, and modes (N,) as indices of `MODES`.
    """
    impulse = np.zeros((3, velocity.shape[1]))
    mode = np.full(velocity.shape[1], _SEPARATE, dtype=np.int8)
    approaching = np.flatnonzero((velocity[0] < 0.0) & (delassus[0, 0] > 0.0))
    w, v = delassus[:, :, approaching], velocity[:, approaching]
    if friction == 0.0:
        impulse[0, approaching] = -(1.0 + restitution) * v[0] / w[0, 0]
        mode[approaching] = _SLIDE
        return impulse, mode
    angle = 0.5 * np.arctan2(2.0 * w[1, 2], w[1, 1] - w[2, 2])
    cos, sin = np.cos(angle), np.sin(angle)
    paths = _Paths.start(w, v, cos, sin, friction)
    with np.errstate(all="ignore"):
        left_over = paths.follow(friction, restitution, law)
    p_n, p_1, p_2 = paths.impulse
    impulse[:, approaching] = p_n, p_1 * cos - p_2 * sin, p_1 * sin + p_2 * cos
    mode[approaching] = np.where(paths.sticks, _STICK, _SLIDE)
    for column in approaching[left_over]:
        one = coulomb_impulse(delassus[:, :, column].tolist(), velocity[:, column].tolist(), friction, restitution, law)
        impulse[:, column], mode[column] = one[:3], MODES.index(one.mode)
    return impulse, mode


# Rows of the constants and of the state that travel together through `_Paths.phase`.
_W, _A1, _A2, _L1, _L2, _VN0, _V10, _V20, _H1, _H2, _CAN, _GOAL = range(12)
_PN, _P1, _P2, _SLIPPED, _STUCK, _INVARIANT, _S1, _S2 = range(12, 20)


@dataclass
class _Paths:
    """Impulses on their way: `rows` (20, N) in the order above."""

    rows: Array

    @classmethod
    def start(cls, w: Array, v: Array, cos: Array, sin: Array, friction: float) -> _Paths:
        rows = np.zeros((20, v.shape[1]))
        rows[_W] = w[0, 0]
        rows[_A1], rows[_A2] = w[0, 1] * cos + w[0, 2] * sin, w[0, 2] * cos - w[0, 1] * sin
        rows[_L1] = w[1, 1] * cos * cos + (2.0 * w[1, 2] * cos + w[2, 2] * sin) * sin
        rows[_L2] = w[1, 1] * sin * sin + (w[2, 2] * cos - 2.0 * w[1, 2] * sin) * cos
        rows[_VN0], rows[_V10], rows[_V20] = v[0], v[1] * cos + v[2] * sin, v[2] * cos - v[1] * sin
        free_1, free_2 = rows[_L1] > 1e-12 * rows[_W], rows[_L2] > 1e-12 * rows[_W]
        np.divide(-rows[_A1], rows[_L1], out=rows[_H1], where=free_1)
        np.divide(-rows[_A2], rows[_L2], out=rows[_H2], where=free_2)
        rows[_CAN] = rows[_H1] ** 2 + rows[_H2] ** 2 <= friction**2
        return cls(rows)

    @property
    def impulse(self) -> Array:
        return self.rows[_PN : _P2 + 1]

    @property
    def sticks(self) -> NDArray[np.bool_]:
        return self.rows[_STUCK] > 0.0

    def follow(self, friction: float, restitution: float, law: RestitutionLaw) -> NDArray[np.bool_]:
        """Run both phases; True for the contacts that the map for one has to answer."""
        left_over = self.phase(friction, None)
        if restitution > 0.0:
            rows = self.rows
            if law == "energetic":
                rows[_GOAL] = (1.0 - restitution**2) * self._work(rows, friction)
            elif law == "poisson":
                rows[_GOAL] = (1.0 + restitution) * rows[_PN]
            else:
                rows[_GOAL] = -restitution * rows[_VN0]
            left_over |= self.phase(friction, law)
        return left_over

    @staticmethod
    def _velocity(rows: Array) -> tuple[Array, Array, Array]:
        p, p_1, p_2 = rows[_PN], rows[_P1], rows[_P2]
        return (
            rows[_VN0] + rows[_W] * p + rows[_A1] * p_1 + rows[_A2] * p_2,
            rows[_V10] + rows[_A1] * p + rows[_L1] * p_1,
            rows[_V20] + rows[_A2] * p + rows[_L2] * p_2,
        )

    def _work(self, rows: Array, friction: float) -> Array:
        """Normal work so far, J: all work but friction's."""
        v_n, v_1, v_2 = self._velocity(rows)
        total = (rows[_VN0] + v_n) * rows[_PN] + (rows[_V10] + v_1) * rows[_P1] + (rows[_V20] + v_2) * rows[_P2]
        return 0.5 * total + friction * rows[_SLIPPED]

    def phase(self, friction: float, law: RestitutionLaw | None) -> NDArray[np.bool_]:
        """Follow compression (`law` None) or restitution to its end; True for contacts that it gave up."""
        left_over = np.zeros(self.rows.shape[1], dtype=bool)
        index = np.arange(self.rows.shape[1])
        rows = self.rows.copy()
        for _ in range(_MAX_ROUNDS):
            if len(index) <= _FEW:
                break
            done, given_up = self._round(rows, friction, law)
            leaving = done | given_up
            if leaving.any():
                self.rows[:, index[done]] = rows[:, done]
                left_over[index[given_up]] = True
                keep = ~leaving
                index, rows = index[keep], rows[:, keep]
        left_over[index] = True
        return left_over

    def _round(
        self, rows: Array, friction: float, law: RestitutionLaw | None
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """One step of every path, in place: which have come to the end of the phase, which can't go on here."""
        w, a_1, a_2, l_1, l_2 = rows[:5]
        v_n, v_1, v_2 = self._velocity(rows)
        speed = np.sqrt(rows[_VN0] ** 2 + rows[_V10] ** 2 + rows[_V20] ** 2)
        stuck, invariant = rows[_STUCK] > 0.0, rows[_INVARIANT] > 0.0
        m_1, m_2 = friction * l_1, friction * l_2
        slip = np.sqrt(v_1 * v_1 + v_2 * v_2)
        at_rest = ~stuck & (slip <= 1e-12 * speed)
        given_up = at_rest & (rows[_CAN] == 0.0)
        stuck |= at_rest & ~given_up
        rows[_STUCK] = stuck
        s_1 = np.where(invariant, rows[_S1], v_1 / slip)
        s_2 = np.where(invariant, rows[_S2], v_2 / slip)
        turning, pull = _turning(s_1, s_2, a_1, a_2, m_2 - m_1)
        loose = ~(stuck | invariant)
        settled = loose & (np.abs(turning) < NEAR * pull)
        settled &= np.abs(turning) * slip * w < SNAP * speed * pull * pull
        if settled.any():
            rows[_S1, settled], rows[_S2, settled] = _settle(
                s_1[settled], s_2[settled], a_1[settled], a_2[settled], (m_2 - m_1)[settled]
            )
            s_1[settled], s_2[settled] = rows[_S1, settled], rows[_S2, settled]
            invariant |= settled
            rows[_INVARIANT] = invariant
            loose &= ~settled
        growth = s_1 * (a_1 - m_1 * s_1) + s_2 * (a_2 - m_2 * s_2)
        turning = np.where(loose, turning, 0.0)
        d_1 = np.where(stuck, rows[_H1], -friction * s_1)
        d_2 = np.where(stuck, rows[_H2], -friction * s_2)
        slope = w + a_1 * d_1 + a_2 * d_2
        left, blocked = self._left(rows, v_n, slope, friction, law)
        given_up |= blocked & ~(loose & np.isinf(left))
        rest = np.where(~stuck & (growth < 0.0), -slip / growth, np.inf)
        can_stick = rows[_CAN] > 0.0
        settles = can_stick & (rest < left) & (slip * slip * np.abs(turning) < SETTLED * speed * speed * -growth)
        steps = loose & ~settles & (np.abs(turning) * np.minimum(np.abs(left), rest) > STRAIGHT * slip)
        arrives = ~stuck & ~steps & (rest <= left)
        ends = ~steps & ~arrives & ~given_up
        given_up |= ends & ~np.isfinite(left)
        ends &= ~given_up
        straight = np.where(arrives, rest, left)
        straight[steps | given_up] = 0.0
        rows[_SLIPPED] += np.where(stuck, 0.0, straight * (slip + 0.5 * growth * straight))
        rows[_PN] += straight
        rows[_P1] += d_1 * straight
        rows[_P2] += d_2 * straight
        if arrives.any():
            _, v_1_rest, v_2_rest = self._velocity(rows)
            rows[_P1] -= np.where(arrives & (l_1 > 1e-12 * w), v_1_rest / l_1, 0.0)
            rows[_P2] -= np.where(arrives & (l_2 > 1e-12 * w), v_2_rest / l_2, 0.0)
            rows[_STUCK] = stuck | (arrives & can_stick)
            rows[_INVARIANT] = invariant & ~arrives
            given_up |= arrives & ~can_stick
        steps &= ~given_up
        if steps.any():
            self._step(rows, steps, friction, speed, slip, growth, turning, left, slope, (v_1, v_2, s_1, s_2))
        return ends, given_up

    def _left(
        self, rows: Array, v_n: Array, slope: Array, friction: float, law: RestitutionLaw | None
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Impulse left in the phase if the direction stayed, infinite if it would never end; and which are special."""
        rising = slope > 0.0
        if law is None:
            return np.where(rising, -v_n / slope, np.inf), ~rising & (rows[_STUCK] > 0.0)
        if law == "energetic":
            owed = rows[_GOAL] - self._work(rows, friction)
            root = v_n * v_n + 2.0 * slope * owed
            left = np.where(root > 0.0, 2.0 * owed / (v_n + np.sqrt(root)), np.where(owed <= 0.0, 0.0, np.inf))
        elif law == "poisson":
            left = rows[_GOAL] - rows[_PN]
        else:
            left = np.where(rising, (rows[_GOAL] - v_n) / slope, np.inf)
        # A falling normal velocity may end restitution before it is over: that is for the map for one.
        return left, ~rising

    def _step(
        self,
        rows: Array,
        steps: NDArray[np.bool_],
        friction: float,
        speed: Array,
        slip: Array,
        growth: Array,
        turning: Array,
        left: Array,
        slope: Array,
        state: tuple[Array, Array, Array, Array],
    ) -> None:
        """A Runge-Kutta step of the paths that `steps` names."""
        everyone = bool(steps.all())
        chosen = slice(None) if everyone else np.flatnonzero(steps)
        _, a_1, a_2, l_1, l_2 = rows[:5, chosen]
        m_1, m_2 = friction * l_1, friction * l_2
        v_1, v_2, s_1, s_2 = (array[chosen] for array in state)
        speed, slip, growth, turning = speed[chosen], slip[chosen], growth[chosen], turning[chosen]
        left, slope = left[chosen], slope[chosen]
        rate = np.sqrt(a_1 * a_1 + a_2 * a_2) + np.maximum(m_1, m_2)
        weight = ALLOWED / max(friction, 0.1) * rate * speed
        time = np.cbrt(np.sqrt(weight / (np.abs(turning) * (slip + FLOOR * speed))))
        time = np.minimum(LONGEST, time) / rate
        ratio = growth * left / slip
        reachable = (ratio > -1.0) & (ratio < np.inf)
        needed = left / slip * np.where(np.abs(ratio) > 1e-9, np.log1p(ratio) / ratio, 1.0)
        bend = friction * (a_1 * s_2 - a_2 * s_1) * turning * left / (slip * slope)
        aimed = needed * np.where((bend > -1.0) & (bend < 1.0), 1.0 - 0.5 * bend, 1.0)
        time = np.where(reachable & (needed < 1.5 * time), np.minimum(time, aimed), time)
        along_1, along_2, pressed, travelled = _slip_steps(v_1, v_2, a_1, a_2, m_1, m_2, time)
        rows[_PN, chosen] += pressed
        rows[_P1, chosen] -= friction * along_1
        rows[_P2, chosen] -= friction * along_2
        rows[_SLIPPED, chosen] += travelled


def _turning(s_1: Array, s_2: Array, a_1: Array, a_2: Array, difference: Array) -> tuple[Array, Array]:
    """How fast a slip direction turns, and how fast such turning dies out near where it ends."""
    turning = s_1 * a_2 - s_2 * a_1 - difference * s_1 * s_2
    return turning, a_1 * s_1 + a_2 * s_2 + difference * (s_1 * s_1 - s_2 * s_2)


def _settle(s_1: Array, s_2: Array, a_1: Array, a_2: Array, difference: Array) -> tuple[Array, Array]:
    """The slip directions near `s` that no longer turn."""
    for _ in range(3):
        turning, pull = _turning(s_1, s_2, a_1, a_2, difference)
        angle = turning / pull
        s_1, s_2 = s_1 - angle * s_2, s_2 + angle * s_1
        length = np.sqrt(s_1 * s_1 + s_2 * s_2)
        s_1, s_2 = s_1 / length, s_2 / length
    return s_1, s_2


def _slip_steps(
    v_1: Array, v_2: Array, a_1: Array, a_2: Array, m_1: Array, m_2: Array, step: Array
) -> tuple[Array, Array, Array, Array]:
    """`slip_step` of the map for one, over arrays."""
    v, a, m = np.stack([v_1, v_2]), np.stack([a_1, a_2]) * step, np.stack([m_1, m_2]) * step

    def slope(x: Array) -> tuple[Array, Array]:
        length = np.sqrt(x[0] * x[0] + x[1] * x[1])
        return a * length - m * x, length

    e, r = slope(v)
    f, _ = slope(v + 0.25 * e)
    third = v + 0.125 * (e + f)
    g, r_3 = slope(third)
    fourth = v + g - 0.5 * f
    h, r_4 = slope(fourth)
    fifth = v + 0.1875 * e + 0.5625 * h
    i, r_5 = slope(fifth)
    last = v + (2.0 * f - 3.0 * e + 12.0 * (g - h) + 8.0 * i) / 7.0
    s = np.sqrt(last[0] * last[0] + last[1] * last[1])
    share = step / 90.0
    along = share * (7.0 * (v + last) + 32.0 * (third + fifth) + 12.0 * fourth)
    pressed = share * (7.0 * (r + s) + 32.0 * (r_3 + r_5) + 12.0 * r_4)
    travelled = share * (7.0 * (r * r + s * s) + 32.0 * (r_3 * r_3 + r_5 * r_5) + 12.0 * r_4 * r_4)
    return along[0], along[1], pressed, travelled
