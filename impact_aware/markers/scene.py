"""The scene of one arm: the latest of everything in, the markers that changed out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.shape import Shape
from impact_aware.contact.shape_registry import shape_of
from impact_aware.markers.contact import contact_markers
from impact_aware.markers.field import field_markers, goal_marker
from impact_aware.markers.legend import legend_markers
from impact_aware.markers.marker import UPRIGHT, Marker, Sheet
from impact_aware.markers.movement import ghosts, object_outline
from impact_aware.markers.style import MarkerStyle
from impact_aware.records.impact import COMMON, UNIT_TOLERANCE, Impact, Outcome
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel

SAME_IMPACT = 0.02
"""An outcome whose stamp is this close to the impact's is about that impact, s."""

TRUST = ("first look", "estimate", "plant")
"""Origins of an outcome; a later one replaces an earlier one of the same impact."""

EPISODE = 1.0
"""An impact is not replaced by a weaker one within this time, s: hands that settle after a hit are detected again."""

MOST_OUTCOMES = 20
"""Outcomes that are kept, the latest: weak impacts that follow must not take away that of the strongest."""

LOOK_AHEAD_OPACITY = 0.45


class SceneMarkers:
    """Collects what is known about one arm and turns what changed into markers, group by group."""

    def __init__(
        self,
        style: MarkerStyle | None = None,
        *,
        arm: str = "",
        robot: RobotModel | None = None,
        shape: Shape | None = None,
        frame_prefix: str = "",
    ) -> None:
        """Start with an empty scene.

        Args:
            style: Lengths and times.
            arm: Name of the arm: the first part of its namespaces, and its part of a field of several arms.
            robot: For velocities of the contact point from joint velocities; without it, less is drawn.
            shape: Shape of the object, until a field gives it.
            frame_prefix: Put before the arm's own frames, as `robot_state_publisher` does with its `frame_prefix`.
        """
        self._style = style or MarkerStyle()
        self.arm = arm
        self.robot = robot
        self._prefix = frame_prefix
        self._shape = shape
        self._impacts: dict[str, Impact] = {}
        self._outcomes: list[Outcome] = []
        self._field: ReferenceField | None = None
        self._field_time = 0.0
        self._object: tuple[str, float, Array, Array] | None = None
        self._changed: set[str] = set()

    @property
    def impact(self) -> Impact | None:
        """The latest impact that happened, or else the one that is to come."""
        return self._impacts.get("at_impact") or self._impacts.get("look_ahead")

    @property
    def outcome(self) -> Outcome | None:
        """What was observed after the latest impact, where that is known."""
        return self._outcome_of(self._impacts.get("at_impact"))

    @property
    def field(self) -> ReferenceField | None:
        """The latest reference field."""
        return self._field

    def predicted_alone(self, impact: Impact) -> bool:
        """Whether a prediction knows nothing of other arms that hit the object, too."""
        return self._one_of_several and impact.method != COMMON

    def add_impact(self, impact: Impact) -> None:
        """Take a prediction, an estimate, or a plant's truth."""
        outcome = impact.outcome
        if outcome is not None:
            self.add_outcome(outcome)
        if impact.source == "plant":
            return
        kind = "look_ahead" if impact.source == "look_ahead" else "at_impact"
        latest = self._impacts.get("at_impact")
        if impact.source == "estimate" and latest is not None and impact.time < latest.time - SAME_IMPACT:
            # It takes a while to estimate; meanwhile another impact has happened.
            return
        if kind == "at_impact" and latest is not None and _says_less(impact, latest):
            return
        if kind == "at_impact":
            # What was ahead has happened.
            self._impacts.pop("look_ahead", None)
            self._changed.add("look_ahead")
        self._impacts[kind] = impact
        self._changed.add(kind)

    def add_outcome(self, outcome: Outcome) -> None:
        """Take what was observed after an impact; of the same impact, the better founded one stays."""
        same = [old for old in self._outcomes if abs(outcome.time - old.time) <= SAME_IMPACT]
        if any(TRUST.index(outcome.origin) < TRUST.index(old.origin) for old in same):
            return
        kept = [old for old in self._outcomes if old not in same]
        self._outcomes = [*kept, outcome][-MOST_OUTCOMES:]
        self._changed.add("at_impact")

    def add_field(self, field: ReferenceField, time: float) -> None:
        """Take a reference field made at a time, s.

        Raises:
            InvalidInputError: Its numbers make no field, or no object.
        """
        for number in range(len(field.arms)):
            # Both are checked when they are made.
            field.ante_impact(number)
            field.post_impact(number)
        # One without sizes is not drawn.
        shape = shape_of(field) if np.any(field.object_half_extents) else None
        self._field, self._field_time, self._shape = field, time, shape
        self._changed |= {"field", *self._impacts}

    def add_object(self, frame: str, time: float, position: Array, orientation: Array) -> bool:
        """Take the object's pose (3,), (4,); False for one that is not finite or has no unit quaternion: left out."""
        length = float(np.linalg.norm(orientation))
        if not (np.isfinite(position).all() and abs(length - 1.0) < UNIT_TOLERANCE):
            return False
        self._object = (frame, time, position, orientation)
        self._changed.add("object")
        return True

    def clear(self) -> None:
        """Forget everything but the robot and the shape of the object."""
        self._impacts.clear()
        self._changed.clear()
        self._outcomes.clear()
        self._field = self._object = None

    def take_changes(self) -> dict[str, list[Marker]]:
        """Groups that changed since the last call, each with all its markers."""
        changed, self._changed = self._changed, set()
        return {group: self._group(group) for group in sorted(changed)}

    def legend(self, namespaces: Iterable[str]) -> list[Marker]:
        """The legend for what is shown, in the frame of the impact or of the field."""
        frame = ""
        if self.impact is not None:
            frame = self.frame_of(self.impact.frame)
        elif self._field is not None:
            frame = self._field.frame
        shown = frame and self._style.legend
        return legend_markers(Sheet(self.arm, frame, 0.0), namespaces, self._style) if shown else []

    def frame_of(self, frame: str) -> str:
        """A frame under the name it has in TF: the arm's own ones get the prefix, a common one such as `world` not."""
        if not self._prefix or frame.startswith(self._prefix):
            return frame
        robot = self.robot
        own = robot is None or frame == robot.base_frame or robot.model.existFrame(frame)
        return self._prefix + frame if own else frame

    def _group(self, group: str) -> list[Marker]:
        if group == "field":
            return self._field_markers()
        if group == "object":
            return self._object_markers()
        impact = self._impacts.get(group)
        return [] if impact is None else self._impact_markers(impact, group)

    def _sheet(self, item: str, frame: str, time: float, **more: float) -> Sheet:
        return Sheet("/".join(filter(None, (self.arm, item))), frame, time, **more)

    def _impact_markers(self, impact: Impact, group: str) -> list[Marker]:
        ahead = group == "look_ahead"
        style = self._style
        sheet = self._sheet(
            group,
            self.frame_of(impact.frame),
            impact.time,
            lifetime=style.look_ahead_lifetime if ahead else style.impact_lifetime,
            opacity=LOOK_AHEAD_OPACITY if ahead else 1.0,
        )
        outcome = None if ahead else self._outcome_of(impact)
        alone = self.predicted_alone(impact)
        markers: list[Marker] = []
        for number in range(len(impact.contacts)):
            markers += contact_markers(sheet, number, impact, self.robot, style, outcome, alone=alone)
        if impact.object and impact.source != "plant" and not self._one_of_several:
            where, twist = impact.object_position, impact.object_twist_after
            markers += ghosts(sheet, where, twist, self._shape, style, self._orientation_of_object())
        return markers

    def _field_markers(self) -> list[Marker]:
        field = self._field
        if field is None:
            return []
        own = [number for number, arm in enumerate(field.arms) if arm.arm == self.arm]
        # Where no arm has this name, the field is drawn for all of its arms.
        arms = own or list(range(len(field.arms)))
        markers: list[Marker] = []
        for arm in arms:
            item = "field" if own or len(arms) == 1 else f"field/{field.arms[arm].arm or arm}"
            markers += field_markers(self._sheet(item, field.frame, self._field_time), field, arm, self._style)
        if 0 in arms:
            sheet = self._sheet("", field.frame, self._field_time)
            markers += goal_marker(sheet, field)
            if self._one_of_several and field.object_velocity_predicted:
                # One for all arms: what each of them alone would do to the object will not happen.
                where, twist = (
                    field.object_position_at_impact,
                    np.concatenate([field.object_velocity_after, np.zeros(3)]),
                )
                markers += ghosts(sheet, where, twist, self._shape, self._style, self._orientation_of_object())
        return markers

    def _object_markers(self) -> list[Marker]:
        if self._object is None:
            return []
        frame, time, position, orientation = self._object
        return object_outline(self._sheet("", self.frame_of(frame), time), position, self._shape, orientation)

    @property
    def _one_of_several(self) -> bool:
        """Whether other arms hit the object, too."""
        names = [] if self._field is None else [own.arm for own in self._field.arms]
        return len(names) > 1 and self.arm in names

    def _orientation_of_object(self) -> Array:
        if self._object is not None:
            return self._object[3]
        return np.array(UPRIGHT) if self._field is None else self._field.object_orientation

    def _outcome_of(self, impact: Impact | None) -> Outcome | None:
        if impact is None:
            return None
        near = [known for known in self._outcomes if abs(known.time - impact.time) <= SAME_IMPACT]
        return min(near, key=lambda known: abs(known.time - impact.time), default=None)


def _says_less(impact: Impact, shown: Impact) -> bool:
    """Whether an impact follows the one that is shown and is weaker, or is the same without what the others do."""
    later = impact.time - shown.time
    if abs(later) <= SAME_IMPACT:
        return shown.method == COMMON and impact.method != COMMON
    return 0.0 < later < EPISODE and _strength(impact) < _strength(shown)


def _strength(impact: Impact) -> float:
    """Sum of the impulses' magnitudes, N s."""
    return sum(float(np.linalg.norm(contact.impulse)) for contact in impact.contacts)
