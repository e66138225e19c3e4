"""Everything there is to say about one arm's contacts, from its joint samples: made, meant or not, lost, complete."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.detection.bounce import RENEWED_SHARE, BounceDetector, ContactLoss
from impact_aware.detection.completion import CompletionDetector, ContactCompletion
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.events import Array, JointSample
from impact_aware.detection.expectation import ExpectationClassifier, Verdict
from impact_aware.detection.papers import SensitiveJointDetector
from impact_aware.detection.ring import Ring
from impact_aware.detection.ringing import RingingTest
from impact_aware.detection.second_publisher import ArmTrack
from impact_aware.errors import InvalidInputError
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

REARM_TIME = 0.015
"""After contact was lost the next impact may come soon, but not while the arm still rings from the last one, s."""

_REMEMBERED = 16
"""Measured velocities that are kept for joints whose velocity before the impact the detector could not see."""


TIMING_TOLERANCE = 0.1
"""Largest time between an impact and the prediction that is taken for it, s."""

FOLLOWS = 0.3
"""A contact that follows another within this time is a second one, s."""

CONTACT, SECOND_CONTACT, CONTACT_LOST = "contact", "second_contact", "contact_lost"
CONTACT_RENEWED = "contact_renewed"
"""What events come from."""


class WatchEventKind(enum.Enum):
    """What became known."""

    MADE = "made"
    MEANING = "meaning"
    LOST = "lost"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, eq=False)
class WatchEvent:
    """Something that became known with a sample.

    Attributes:
        kind: What it is about.
        sequence: Number of the event, from 1; a meaning has the number of the impact that it is about.
        event: The impact, of MADE and MEANING.
        verdict: Of MEANING.
        loss: Of LOST.
        completion: Of COMPLETE.
        cause: Of MADE and LOST: `CONTACT`, `SECOND_CONTACT`, `CONTACT_RENEWED` or `CONTACT_LOST`.
    """

    kind: WatchEventKind
    sequence: int
    event: ImpactEvent | None = None
    verdict: Verdict | None = None
    loss: ContactLoss | None = None
    completion: ContactCompletion | None = None
    cause: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedJump:
    """A prediction of an impact.

    Attributes:
        time: When it is expected, s.
        jump: Velocity after minus before (n,), rad/s.
        std: Standard deviation of every joint's prediction (n,), rad/s, or None.
        normal: Contact normal from the obstacle into the robot (3,), base frame, or None.
        sequence: Number of the event that it was made for; 0 for one that is still to come.
    """

    time: float
    jump: Array
    std: Array | None = None
    normal: Array | None = None
    sequence: int = 0


class ImpactWatch:
    """Impact detector with the classifiers of its events: expectation, contact loss, completion, ringing.

    Attributes:
        detector: Finds them.
        sequence: Number of the last event.
        normal: Contact normal from the obstacle into the robot (3,), base frame, or None; set by `face`.
    """

    def __init__(
        self,
        detector: ImpactDetector,
        *,
        expectation: ExpectationClassifier | None = None,
        completion: CompletionDetector | None = None,
        bounce: BounceDetector | None = None,
        ringing: RingingTest | None = None,
        robot: RobotModel | None = None,
        normal: ArrayLike | None = None,
        period: float = 0.001,
    ) -> None:
        """Combine the detector and the optional tests of its events; None leaves a test out.

        Args:
            detector: Detects the impacts.
            expectation: Compares them with predictions.
            completion: Detects the end of a sequence of impacts.
            bounce: Detects the loss of contact; it needs a normal, given here or with a prediction.
            ringing: Separates ringing of the joints after an impact from a second impact.
            robot: Gives the inertia in which jumps are compared; the identity without it.
            normal: Contact normal from the obstacle into the robot (3,), base frame, where no prediction has one.
            period: Time between two samples, s.
        """
        self.detector = detector
        self.sequence = 0
        self._track = ArmTrack(detector.joint_count, period)
        self._expectation, self._completion, self._bounce = expectation, completion, bounce
        self._ringing, self._robot = ringing, robot
        self.normal = None if normal is None else np.asarray(normal, dtype=np.float64)
        self._expected: ExpectedJump | None = None
        self._asked: tuple[int, ImpactEvent] | None = None
        self._last_contact = -np.inf
        self._velocities = Ring(_REMEMBERED, detector.joint_count + 1)
        self._row = np.zeros(detector.joint_count + 1)
        self._last_time = -np.inf
        self._last_made = -np.inf
        self._rearm = False

    def face(self, normal: Array) -> None:
        """Another face will be hit, whose normal (3,) points from the obstacle into the robot, base frame."""
        self.normal = normal
        if isinstance(self.detector, SensitiveJointDetector):
            self.detector.normal = normal

    def expect(self, expected: ExpectedJump) -> None:
        """Take note of a prediction; one made at the impact under test replaces an earlier one."""
        self._expected = expected
        if self._asked is not None and expected.sequence == self._asked[0]:
            self._ask(self._asked[1], expected)

    def notify_other(self, event: ImpactEvent) -> None:
        """Take note of another arm's impact in the same task."""
        if self._completion is not None:
            self._completion.notify(event)

    @property
    def foreign(self) -> int:
        """Samples of other publishers, which were left out."""
        return self._track.refused

    @property
    def withheld(self) -> int:
        """Events of the detector that were only joints that rang."""
        return 0 if self._ringing is None else self._ringing.withheld

    def update(self, sample: JointSample) -> list[WatchEvent]:
        """Take the next sample in; what becomes known with it, the impact before what follows from it."""
        found: list[WatchEvent] = []
        before = self._track.taken_over
        if not self._track.continues(sample.time, sample.position):
            return found
        if self._track.taken_over > before:
            self.detector.reset()
            self._velocities.restart()
        if self._rearm and sample.time - self._last_made >= REARM_TIME:
            self._rearm = False
            self.detector.rearm()
        event = self._without_ringing(self.detector.update(sample), sample)
        self._remember(sample)
        if event is not None:
            found.extend(self._made(event.with_velocity(self._velocity_at(event.time))))
        if self._expectation is not None:
            verdict = self._expectation.update(sample)
            if verdict is not None and self._asked is not None:
                sequence, asked = self._asked
                self._asked = None
                found.append(WatchEvent(WatchEventKind.MEANING, sequence, event=asked, verdict=verdict))
        if self._bounce is not None:
            loss = self._bounce.update(sample)
            if loss is not None:
                found.append(self._lost(loss))
                self._rearm = True
        if self._completion is not None:
            completion = self._completion.update(sample)
            if completion is not None:
                self.sequence += 1
                found.append(WatchEvent(WatchEventKind.COMPLETE, self.sequence, completion=completion))
        return found

    def _without_ringing(self, event: ImpactEvent | None, sample: JointSample) -> ImpactEvent | None:
        """The event of the detector or of the ringing test, whichever dates it better; None while the joints ring."""
        if self._ringing is None:
            return event
        hit = self._ringing.update(sample)
        if event is None:
            return hit
        if hit is None and self._ringing.explains(event):
            # The detector's refractory time must not hide a hit that comes at once.
            self.detector.rearm()
            return None
        # Around the hit the swing bends the parabolas of a detector.
        return event if hit is None or abs(hit.time - event.time) <= hit.time_std else hit

    def _made(self, event: ImpactEvent) -> Iterator[WatchEvent]:
        if self._bounce is not None:
            loss = self._bounce.judge(event)
            if loss is not None:
                yield self._lost(loss)
        self.sequence += 1
        self._last_made, self._rearm = event.time_detected, False
        expected = self._expected
        fits = expected is not None and not expected.sequence and abs(expected.time - event.time) <= TIMING_TOLERANCE
        self._asked = (self.sequence, event)
        cause = SECOND_CONTACT if 0.0 <= event.time - self._last_contact < FOLLOWS else CONTACT
        if cause == SECOND_CONTACT and self._bounce is not None and self._bounce.closing_share(event) < RENEWED_SHARE:
            cause = CONTACT_RENEWED
        self._last_contact = event.time
        if self._ringing is not None:
            self._ringing.begin(event)
        if expected is not None and fits:
            self._ask(event, expected)
        if self._completion is not None:
            self._completion.notify(event)
        normal = expected.normal if expected is not None and fits and expected.normal is not None else self.normal
        if self._bounce is not None and normal is not None and not self._bounce.watching:
            self._bounce.begin(event, normal, renewed=cause == CONTACT_RENEWED)
        yield WatchEvent(WatchEventKind.MADE, self.sequence, event=event, cause=cause)

    def _lost(self, loss: ContactLoss) -> WatchEvent:
        self.sequence += 1
        return WatchEvent(WatchEventKind.LOST, self.sequence, loss=loss, cause=CONTACT_LOST)

    def _ask(self, event: ImpactEvent, expected: ExpectedJump) -> None:
        if self._expectation is None:
            return
        inertia = None if self._robot is None else self._robot.mass_matrix(event.position)
        try:
            self._expectation.begin(event, expected.jump, inertia, expected.std)
        except InvalidInputError:
            # A prediction without a jump, such as for a tool that recedes, is no evidence.
            return

    def _remember(self, sample: JointSample) -> None:
        row = self._row
        try:
            row[0] = sample.time
            row[1:] = np.nan if sample.velocity is None else sample.velocity
        except (TypeError, ValueError):
            return
        if row[0] < self._last_time:
            self._velocities.restart()
        self._last_time = float(row[0])
        self._velocities.push(row)

    def _velocity_at(self, time: float) -> Array | None:
        """The last measured velocity before a time, else the oldest that is known (n,)."""
        count = self._velocities.count
        if not count:
            return None
        rows = self._velocities.rows[-count:]
        index = max(int(np.searchsorted(rows[:, 0], time, side="right")) - 1, 0)
        return np.array(rows[index, 1:])
