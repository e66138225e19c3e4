"""Impact events and predictions on their way to the law: each event once, and nothing that can't be of this task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from impact_aware.control.command import Mode
from impact_aware.control.controller import ReferenceSpreadingController
from impact_aware.control.safety.impact_check import check_prediction
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ArmAfterImpact, ReferenceField

MOST_REMEMBERED = 1000
"""Events that are remembered; none comes again after so many others."""


class ImpactEvents:
    """Takes events of all arms.

    A detector may publish an event again, with the same number, once it knows what the event means; only the first one
    counts. What is detected before the impact and farther from the object than an arm's `impact_lead` is not acted
    upon: it is friction, or joints that ring after a start, and the motion after it would miss the object.

    Attributes:
        sequence: Number of the last event that was acted upon; 0 before the first.
        refused_predictions: Predicted object velocities that can't be true.
        elsewhere: Events too far before the object.
    """

    def __init__(self, law: ReferenceSpreadingController, leads: Sequence[float] | None = None) -> None:
        """Begin without events; `leads` are each arm's `SafetyLimits.impact_lead`, m, None for any distance."""
        self._law, self._leads = law, leads
        self.sequence = self.refused_predictions = self.elsewhere = 0
        self.begin()

    def begin(self) -> None:
        """A new motion: a detector that was started anew counts from 1 again."""
        # A dictionary, as it keeps the order in which they came.
        self._taken: dict[tuple[int, bool, int], None] = {}
        self._complete: set[int] = set()

    def check(self, field: ReferenceField) -> None:
        """Refuse a field whose predicted object velocity can't be true, and count it.

        Raises:
            InvalidInputError: No impact of the field's tools can lead to that velocity.
        """
        if field.object_velocity_predicted:
            self._check(field, field.object_velocity_after)

    def notify_impact(
        self,
        time: float,
        time_detected: float,
        object_velocity: ArrayLike | None = None,
        *,
        arm: int = 0,
        sequence: int | None = None,
        anywhere: bool = False,
        arms_after: Mapping[int, ArmAfterImpact] | None = None,
    ) -> bool:
        """An arm has hit the object.

        Args:
            time: When it happened, s.
            time_detected: When that became known, s.
            object_velocity: (3,) Predicted object velocity just after the impact in the common frame, m/s, or None to
                keep the field's. One that can't be true is left out and counted.
            arm: Which arm.
            sequence: Number of the event; one that was taken before is not taken again.
            anywhere: Act upon it wherever the tool is, as when modes are gone through with arms that stay where they
                are.
            arms_after: What else is predicted of arms, by their index; the field's where one is missing.

        Returns:
            Whether the event was acted upon.
        """
        law = self._law
        if not self._is_new(arm, sequence, complete=False):
            return False
        if not (anywhere or self.is_near(arm, time_detected)):
            self.elsewhere += 1
            return False
        if object_velocity is not None and law.field is not None:
            try:
                self._check(law.field, object_velocity)
            except InvalidInputError:
                object_velocity, arms_after = None, None
        taken = law.notify_impact(
            time, time_detected, object_velocity, arm=arm, event_sequence=sequence, arms_after=arms_after
        )
        if taken and sequence is not None:
            self.sequence = sequence
        return taken

    def is_near(self, arm: int, time: float) -> bool:
        """Whether an arm's tool is so near the object at a time, s, that an impact may be the one to come, or came."""
        law = self._law
        if self._leads is None or law.field is None or law.mode is not Mode.ANTE:
            return True
        return law.field.distance_ahead(arm, law.arms[arm].position, time) <= self._leads[arm]

    def notify_contact_complete(self, time_detected: float, *, arm: int = 0, sequence: int | None = None) -> bool:
        """An arm's contact is complete; whether it now is for every arm and ends the interim mode's wait."""
        if not self._is_new(arm, sequence, complete=True):
            return False
        self._complete.add(arm)
        return len(self._complete) == len(self._law.arms) and self._law.notify_contact_complete(time_detected)

    def _check(self, field: ReferenceField, object_velocity: ArrayLike) -> None:
        try:
            check_prediction(field, object_velocity)
        except InvalidInputError:
            self.refused_predictions += 1
            raise

    def _is_new(self, arm: int, sequence: int | None, *, complete: bool) -> bool:
        """Whether an event of an arm was not taken before; one without number always is new."""
        if sequence is None:
            return True
        key = (arm, complete, sequence)
        if key in self._taken:
            return False
        self._taken[key] = None
        if len(self._taken) > MOST_REMEMBERED:
            del self._taken[next(iter(self._taken))]
        return True
