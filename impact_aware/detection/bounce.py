"""Has the arm come off again: contact lost after an impact, from positions and the model alone.

What was hit lies, just after the impact, at or behind where the tool stopped going into it. With the contact
normal n, pointing from the obstacle into the robot, the height of the tool, n . x(q), falls while the tool presses on
or pushes. When it rises from the lowest value it has had, by more than a distance in which a flexible joint swings
back, the tool has left. The time of the loss is where the line through the last heights meets the lowest.

That sees an arm that recedes. An object that flies ahead of a slower arm gives nothing to see until the arm catches up:
a second impact along the same normal is the evidence that there was no contact in between, and all that is known about
the time of the loss is that it lies between both impacts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.contact.geometry import unit_vector
from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.ring import Ring
from impact_aware.detection.windowed_detector import finite_row
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

DISTANCE = 1e-4
"""Height above the lowest that is no loss, m: compliance of the surfaces and errors of the model."""

SWING_TIME = 0.001
"""Such a height as a time at the speed of the impact, s: a joint that swings at f goes back 1 / (2 pi f) times it."""

HEIGHTS = 5
"""Heights through which the line is put."""

REPEAT_SHARE = 0.15
"""Share of the first impact's normal velocity jump that makes a later one a second impact."""

RENEWED_SHARE = 0.15
"""Share of the closing speed of a hit below which a later contact is that one renewed: the tool, such as a palm, rocks
on what it hit."""

LONGEST = 1.0
"""Time after the impact for which a loss is looked for, s."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactLoss:
    """A contact that ended.

    Attributes:
        time: When it ended, s.
        time_detected: Stamp of the sample at which it was known, s.
        time_std: Standard error of `time`, s.
        position: Joint positions at `time_detected` (n,), rad.
        speed: Speed at which the tool recedes, m/s; NaN where only a second impact showed it.
        reason: `receding` or `second impact`.
    """

    time: float
    time_detected: float
    time_std: float
    position: Array
    speed: float
    reason: str


class BounceDetector:
    """Watches the height of a frame over the surface that it hit."""

    def __init__(self, robot: RobotModel, frame: str | None = None) -> None:
        """Prepare; `frame` hits, the tool if None, and `robot` can't be shared with another thread."""
        self._robot, self._frame = robot, frame
        self._first: ImpactEvent | None = None
        self._hit = 0.0
        # Time since the impact and height.
        self._rows = Ring(HEIGHTS, 2)

    @property
    def watching(self) -> bool:
        """Whether there is a contact that may be lost."""
        return self._first is not None

    def begin(self, event: ImpactEvent, normal: ArrayLike, *, renewed: bool = False) -> None:
        """Start to watch.

        Args:
            event: The impact.
            normal: From the obstacle into the robot (3,), base frame.
            renewed: Whether it renews the contact of an earlier hit.

        Raises:
            InvalidInputError: A normal without direction.
        """
        self._normal = unit_vector("normal", normal)
        self._first = event
        self._closing, self._jump = self._along_normal(event)
        self._hit = self._hit if renewed else self._closing
        self._lowest = self._height(event.position)
        self._rows.restart()

    def closing_share(self, event: ImpactEvent) -> float:
        """Closing speed of a later contact over that of the hit; NaN where one is not known."""
        known = self._hit > 0.0 and bool(np.isfinite(event.velocity_before).all())
        return self._along_normal(event)[0] / self._hit if known else float("nan")

    def judge(self, event: ImpactEvent) -> ContactLoss | None:
        """Take note of a later impact; returns the loss that must have come before it, if it was the same contact."""
        first = self._first
        if first is None or event.time <= first.time:
            return None
        _, jump = self._along_normal(event)
        if not jump > REPEAT_SHARE * max(self._jump, 0.0):
            return None
        self._first = None
        between = event.time - first.time
        # Uniform between both impacts.
        return ContactLoss(
            time=first.time + 0.5 * between,
            time_detected=event.time_detected,
            time_std=between / np.sqrt(12.0),
            position=event.position,
            speed=float("nan"),
            reason="second impact",
        )

    def update(self, sample: JointSample) -> ContactLoss | None:
        """Take the next sample in, whatever it contains; the loss when it becomes known with it."""
        first = self._first
        if first is None:
            return None
        position = finite_row(sample.position, self._robot.n)
        since = sample.time - first.time
        if position is None or not since >= 0.0 or since > LONGEST:
            if since < -0.1 or since > LONGEST:
                self._first = None
            return None
        height = self._height(position)
        self._lowest = min(self._lowest, height)
        self._rows.push(np.array((since, height)))
        rise = height - self._lowest
        if rise <= DISTANCE + SWING_TIME * self._closing or self._rows.count < HEIGHTS:
            return None
        # Contiguous, since the sums' rounding depends on it.
        times, heights = self._rows.rows.T.copy()
        steps, rises = np.diff(times), np.diff(heights)
        times -= times.mean()
        heights -= heights.mean()
        speed = float(times @ heights) / float(times @ times)
        # Receding at every step, not merely on average.
        if not (rises > 0.0).all():
            return None
        self._first = None
        back = min(rise / speed, since)
        return ContactLoss(
            time=sample.time - back,
            time_detected=sample.time,
            # The speed changes meanwhile, and the lowest position is not exactly where contact ends.
            time_std=0.25 * back + 0.5 * float(np.median(steps)),
            position=position.copy(),
            speed=speed,
            reason="receding",
        )

    def _height(self, position: Array) -> float:
        return float(self._normal @ self._robot.placement(position, self._frame).translation)

    def _along_normal(self, event: ImpactEvent) -> tuple[float, float]:
        """Closing speed before the impact and velocity jump along the normal, m/s; 0 where they are not known."""
        row = self._normal @ self._robot.frame_jacobian(event.position, self._frame)[:3]
        before = float(row @ np.nan_to_num(event.velocity_before))
        if event.velocity_after is None:
            return max(-before, 0.0), 0.0
        return max(-before, 0.0), float(row @ np.nan_to_num(event.velocity_after - event.velocity_before))
