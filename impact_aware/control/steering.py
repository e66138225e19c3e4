"""How an arm that pushes an object with a tip steers it across the way to its goal.

An object that slides slowly is unstable in front of a point that pushes it: it turns out of the way. With the forces of
friction in the ellipsoid of Lynch, Maekawa and Tanie (1992), a contact that sticks, and small angles, the object's
centre, off the way by e and off the tip by d (both across), changes with the way s of the tip and its slope u as

    e' = (c^2 u + b d) / D,   d' = (-b^2 u + b d) / D,   D = b^2 + c^2,

where b is the distance of the centre ahead of the contact. For half edges x, y of its base c^2 is (x^2 + y^2) / 3 where
it presses evenly and x^2 + y^2 where it stands on its corners: their geometric mean is taken. If the tip goes straight
on, e is z = e + (exp(b s / D) - 1) d when the way s that is left is over, and a slope u at s changes that by h(s) u ds
with h = 1 - b^2 / D exp(b s / D): far from the goal the tip has to move to the other side first, so that the object
turns. The least effort, the integral of u^2, that is worth its share of z^2 is then

    u = -h(s) z / (r + H(s)),   H(s) = integral of h^2 from 0 to s.

A palm keeps the object from turning (b = 0, h = 1), and an object that is not tracked is taken to do so. The tip
follows the path that u makes, as friction in the joints would take it off the way. See docs/perception.md.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.compiled import NUMBER, compiled
from impact_aware.reference import ReferenceField

EFFORT, STEEPEST = 0.025, 0.3
"""r, m: by it a miss of 10 mm at the goal is worth a slope of about `STEEPEST`, which no slope exceeds."""

EVENNESS = 1.0 / math.sqrt(3.0)
"""c^2 over x^2 + y^2."""

PATH_GAIN = 10.0
"""Gain of the tip's position across the way, 1/s."""

SETTLING = 0.05
"""Time constant with which the object's place follows its poses, s."""

OLDEST, FARTHEST = 0.3, 0.1
"""A pose that is older, s, or farther from where the tip has the object, m, is not used."""

AHEAD = 0.02
"""By how much a pose's stamp may be after that of the last state, s."""

SHORTEST = 1e-3
"""A way that is shorter is none, m."""

LONGEST_STEP = 0.02
"""Most by which the path goes on from one state to the next, s."""

NUMBERS = 11
"""Length of `Steering.numbers`."""


@compiled(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def slope(miss: float, ahead: float, left: float, lever: float, gyration: float) -> float:
    """The slope u of the tip's path.

    Args:
        miss: e, m.
        ahead: d, m.
        left: s, m.
        lever: b, m.
        gyration: c^2, m^2.
    """
    whole = lever * lever + gyration
    rate, share = lever / whole, lever * lever / whole
    way = max(left, 0.0)
    grown = math.exp(rate * way)
    act, effect = 1.0 - share * grown, way
    if rate > 0.0:
        effect += (0.5 * share * (grown * grown - 1.0) - 2.0 * (grown - 1.0)) * share / rate
    wanted = -act * (miss + (grown - 1.0) * ahead) / (EFFORT + effect)
    return min(max(wanted, -STEEPEST), STEEPEST)


class Steering:
    """Where the pushed object is, and the path of the tip that pushes it.

    Attributes:
        numbers: (11,) As `tracking_kernels.steer` reads them: unit vectors across the way and along it, b, c^2, path of
            the tip across the way, m, whether it steers, and the path's speed, m/s, which `steer` writes.
        offset: (3,) Of the object from where the tip has it, m.
    """

    def __init__(self, field: ReferenceField | None = None) -> None:
        """Nothing is pushed yet; without a field of a single arm whose push lets go sideways, nothing ever is."""
        self.numbers, self.offset = np.zeros(NUMBERS), np.zeros(3)
        self._places: deque[tuple[float, Array]] = deque(maxlen=512)
        self._seen, self._aim, self._at = -math.inf, np.zeros(3), math.nan
        self._field = field if field is not None and len(field.arms) == 1 and field.post_sideways_radius else None
        self._lever = 0.0 if self._field is None else self._field.push_lever

    def copy(self) -> Steering:
        """An independent one, which sees nothing more."""
        found = Steering()
        vars(found).update(vars(self) | {"numbers": self.numbers.copy(), "offset": self.offset.copy()})
        found._places = deque(maxlen=1)
        return found

    def begin(self, centre: Array, tip: Array, time: float) -> None:
        """The tip, at (3,), touches the object whose centre it has at (3,), m."""
        field = self._field
        way = np.zeros(3) if field is None else (field.goal - centre) * (1.0, 1.0, 0.0)
        length = float(np.linalg.norm(way))
        if field is None or length < SHORTEST:
            return
        along = way / length
        across = np.array([-along[1], along[0], 0.0])
        edges = (field.object_rotation * field.object_half_extents) ** 2
        self.numbers[:3], self.numbers[3:6] = across, along
        self.numbers[7], self.numbers[8], self.numbers[9] = EVENNESS * float(edges[:2].sum()), across @ tip, 1.0
        self._at = time

    def see(self, time: float, position: ArrayLike) -> bool:
        """The object's centre was seen at (3,), m, at a time, s; returns whether that is used."""
        place = next((place for then, place in reversed(self._places) if then <= time), None)
        if place is None or not self._seen < time <= self._places[-1][0] + AHEAD:
            return False
        away = (np.asarray(position, dtype=float) - place) * (1.0, 1.0, 0.0)
        if not float(np.linalg.norm(away)) <= FARTHEST:
            return False
        self._seen, self._aim = time, away
        return True

    def place(self, time: float, centre: Array) -> Array:
        """Where the object's centre (3,) is that the tip has at (3,), m; the tip's path goes on till now."""
        numbers = self.numbers
        if not numbers[9]:
            return centre
        # Comparisons, as each call counts a thousand times a second.
        period, self._at = time - self._at, time
        period = 0.0 if period < 0.0 else LONGEST_STEP if period > LONGEST_STEP else period
        fresh = time - self._seen <= OLDEST
        numbers[6] = self._lever if fresh else 0.0
        if fresh:
            self.offset = self.offset + period / SETTLING * (self._aim - self.offset)
        self._places.append((time, centre))
        numbers[8] += numbers[10] * period
        found: Array = centre + self.offset
        return found
