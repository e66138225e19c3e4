"""A task's reference field, kept in agreement with the object, the predicted jump and the impacts of its arms."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.control.safety.impact_check import check_field, check_prediction
from impact_aware.errors import InvalidInputError
from impact_aware.impact.jump_predictor import MEMORY
from impact_aware.impact.material import RIGID_PADS, Pads
from impact_aware.records import Impact, ImpactEvent
from impact_aware.reference import ArmAfterImpact
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import Task, base_placement, make_field
from impact_aware.task.arms import Arm, arm_after_impact
from impact_aware.task.grasp_postures import GraspPostures
from impact_aware.task.last_touch import StateBefore

REACH_TIME = 1.0
"""An object that moves must be in reach for this long, s: as long as an approach takes."""

REFRESH = 0.5
"""The field of an object that moves is made anew after this time, s, even where the object goes on as foreseen."""

SPEED_TOLERANCE = 0.003
"""The field follows an object whose velocity changes by more than this, m/s."""

OBJECT_TOLERANCE, TURN_TOLERANCE = 0.002, 0.01
"""The field follows an object that moved, m, or turned, rad, by more than this."""

VELOCITY_TOLERANCE = 0.01
"""A look-ahead prediction is taken that changes the object's velocity by more than this, m/s."""

_PLACED = ("task", "field", "_postures", "_velocity", "_seen")
"""What changes with the place of the object."""

_MASS_TOLERANCE = 1e-3
"""Share by which the mass in a prediction may differ: it follows from impulse and velocity."""


class LiveField:
    """The field of one arm, or of several whose post-impact part follows from the impact of all at once.

    Methods that may change the field say whether they did: then it has a new revision.

    Attributes:
        task: The task.
        task_number: 1 for the first task, one more for each that came after it.
        field: Its present field.
        elsewhere: Impacts that were left out, as the tool was farther before the object than its `impact_lead`.
    """

    def __init__(
        self, task: Task, arms: Sequence[Arm], *, state_before: StateBefore | None = None, pads: Pads = RIGID_PADS
    ) -> None:
        """Make the field of a task.

        Args:
            task: The task.
            arms: Its arms.
            state_before: With several arms, state of one just before another one touched; None where it is unknown.
            pads: In the check of a task's hit, see `expected_impact`; objects that move are checked as hit by rigid
                ones, since they come too often.

        Raises:
            InvalidInputError: The task can't be done, or is for other arms.
        """
        self._arms = tuple(arms)
        self._robots = [arm.robot for arm in arms]
        self._several = len(self._arms) > 1
        self._leads = [SafetyLimits.of(robot).impact_lead for robot in self._robots]
        self.elsewhere = 0
        self._hit: set[int] = set()
        self._state_before = state_before
        self._impossible: tuple[pin.SE3, InvalidInputError] | None = None
        self._velocity, self._seen = np.zeros(3), 0.0
        self._earlier: deque[tuple[float, dict[str, Any]]] = deque()
        self.task_number, self._pads = 1, pads
        self._set(task, 0, 1)

    @property
    def impact_happened(self) -> bool:
        """Whether any arm has hit."""
        return bool(self._hit)

    def has_hit(self, index: int) -> bool:
        """Whether this arm has hit."""
        return index in self._hit

    def set_task(self, task: Task) -> None:
        """Begin another task for the same arms, with an object at rest.

        Raises:
            InvalidInputError: It can't be done, or is for other arms.
        """
        self._velocity = np.zeros(3)
        self._earlier.clear()
        self._set(task, self.field.revision + 1, self.task_number + 1)
        self._hit.clear()

    def move_object(self, pose: pin.SE3, velocity: Array | None = None, time: float = 0.0) -> bool:
        """The object has this pose in the task's frame; once it was hit, the field stays.

        Args:
            pose: Of its centre and axes.
            velocity: (3,) With which it moves along, m/s; at rest when None.
            time: When, s; matters only where it moves.

        Raises:
            InvalidInputError: The task can't be done there, nor where the object is `REACH_TIME` later.
        """
        thing, field = self.task.object, self.field
        moving = np.zeros(3) if velocity is None else np.asarray(velocity, dtype=float)
        expected = pin.SE3(thing.rotation, field.object_position + field.shift(time))
        if self.impact_happened:
            return False
        change = float(np.linalg.norm(moving - field.object_velocity))
        as_foreseen = change <= SPEED_TOLERANCE and moving.any() == field.object_moves
        fresh = not field.object_moves or time - field.object_time <= REFRESH
        if as_foreseen and fresh and self._is_at(pose, expected):
            return False
        if self._impossible is not None and self._is_at(pose, self._impossible[0]):
            # To find no posture takes several times as long as to find one, and poses come a hundred times a second.
            raise self._impossible[1].with_traceback(None)
        moved = dataclasses.replace(self.task, object=thing.placed(pose))
        before = self._velocity, self._seen
        present = {name: getattr(self, name) for name in _PLACED}
        try:
            if moving.any():
                later = pin.SE3(pose.rotation, pose.translation + REACH_TIME * moving)
                make_field(dataclasses.replace(moved, object=thing.placed(later)), self._robots, whole_motion=False)
            self._velocity, self._seen = moving, float(time)
            self._set(moved, self.field.revision + 1, self.task_number, whole_motion=False)
        except InvalidInputError as error:
            self._impossible = pose.copy(), error
            self._velocity, self._seen = before
            raise
        earlier = self._earlier
        if earlier and time <= earlier[-1][0]:
            earlier.clear()
        earlier.append((float(time), present))
        while earlier[0][0] < time - MEMORY:
            earlier.popleft()
        return True

    def _is_at(self, pose: pin.SE3, other: pin.SE3) -> bool:
        """Whether two poses of the object are the same for the field."""
        moved = np.linalg.norm(pose.translation - other.translation)
        if moved > OBJECT_TOLERANCE:
            return False
        apart = self.task.object.solid.nearest_equal(pose.rotation, other.rotation).T @ other.rotation
        return float(np.linalg.norm(pin.log3(np.asfortranarray(apart)))) <= TURN_TOLERANCE

    def take_impact(
        self, index: int, event: ImpactEvent, joint_names: Sequence[str], sequence: int, arm: str = ""
    ) -> bool:
        """An arm has hit.

        Args:
            index: Of the arm.
            event: What its detector found.
            joint_names: (m,) Order of the event's arrays.
            sequence: Number of the event.
            arm: Name of the arm in the message; empty where it has none.

        Returns:
            Whether it is taken; the first one is not while its tool is farther before the object than `impact_lead`.

        Raises:
            InvalidInputError: It is another arm's, or lacks the position of a joint.
        """
        self._check_arm(index, arm)
        if not self._was_near(index, event.time, joint_names, event.position):
            self.elsewhere += 1
            return False
        if not self._postures.take_impact(index, event, joint_names, sequence):
            raise InvalidInputError("joint_names of the impact", list(joint_names), "every joint, with its position")
        field = self.field.advanced(event.time)
        velocity = self._postures.object_velocity(field) if self._several else None
        self._after_impact(index, velocity, sequence, event.time)
        return True

    def common_impact(self) -> list[Impact]:
        """When all arms have hit at once: what that does to their joints, which no arm's own predictor can know.

        Raises:
            ImpactAwareError: The impact map found no solution.
        """
        return self._postures.common_impact(self.field) if len(self._hit) == len(self._arms) else []

    def take_prediction(self, index: int, impact: Impact) -> bool:
        """Take an arm's prediction of the object's velocity after the impact.

        With several arms, a single one's prediction gives only the posture of its hit.

        Raises:
            InvalidInputError: A velocity of the object that can't be true, another arm's prediction, or one for
                another task or an object of another mass, such as those of the task before.
        """
        ahead = impact.source == "look_ahead"
        if not impact.valid or not impact.object:
            return False
        self._check_arm(index, impact.arm)
        if impact.task_number not in (0, self.task_number):
            present = f"{self.task_number}, the present task's"
            raise InvalidInputError("task_number of the prediction", impact.task_number, present)
        if self._several:
            taken = ahead and self._postures.take(index, impact.joint_names, impact.position)
            field = self.field.advanced(impact.time + impact.time_to_impact)
            return taken and not self.impact_happened and self._expect(self._postures.object_velocity(field))
        mass, expected = impact.object_mass, self.field.object_mass
        if mass is not None and abs(mass - expected) > _MASS_TOLERANCE * expected:
            raise InvalidInputError("object mass of the prediction", f"{mass:.4g} kg", f"the task's {expected:.4g} kg")
        velocity = self._arms[index].base.rotation @ impact.object_twist_after[:3]
        check_prediction(self.field, velocity)
        arms_after = self._arm_after(index, impact)
        if ahead:
            return not self.impact_happened and self._expect(velocity, arms_after)
        own = not self.impact_happened or impact.event_sequence == self.field.event_sequence
        if impact.source != "at_impact" or not own:
            return False
        if not self._was_near(index, impact.time, impact.joint_names, impact.position):
            return False
        if not self._postures.take(index, impact.joint_names, impact.position):
            return False
        self._after_impact(index, velocity, impact.event_sequence, impact.time, arms_after)
        return True

    def _set(self, task: Task, revision: int, number: int, *, whole_motion: bool = True) -> None:
        """Take over a task whose impact no arm is too weak for; the arms may move while the object does."""
        self._check_arms(task)
        field = dataclasses.replace(
            make_field(task, self._robots, revision=revision, whole_motion=whole_motion),
            task_number=number,
            object_velocity=self._velocity,
            object_time=self._seen if self._velocity.any() else 0.0,
        )
        check_field(
            field,
            self._robots,
            bases=[arm.base for arm in self._arms],
            postures=[np.array(own.posture) if own.posture else None for own in task.arms],
            task=task,
            pads=self._pads if whole_motion else RIGID_PADS,
        )
        postures = GraspPostures(task, self._arms, field, self._state_before)
        if self._several:
            # The impact of all at once in their intended postures is known from the task.
            velocity = postures.object_velocity(field)
            field = dataclasses.replace(field, object_velocity_after=velocity, object_velocity_predicted=True)
        self.task, self.task_number, self.field, self._postures = task, number, field, postures
        self._impossible = None

    def _check_arms(self, task: Task) -> None:
        names, mine = [own.name for own in task.arms], [arm.prefix for arm in self._arms]
        if len(names) != len(mine) or (self._several and names != mine):
            expected = f"a task for {', '.join(mine)}" if self._several else "a task for a single arm"
            raise InvalidInputError("task", f"{task.name} for {len(names)} arms", f"{expected}, as this node started")
        if any(not base_placement(own).isApprox(arm.base) for own, arm in zip(task.arms, self._arms, strict=True)):
            raise InvalidInputError("base_position", task.name, "the bases where they were when this node started")

    def _check_arm(self, index: int, name: str) -> None:
        own = self._arms[index].name
        if self._several and name not in ("", own):
            raise InvalidInputError("arm", name, own)

    def _arm_after(self, index: int, impact: Impact) -> dict[int, ArmAfterImpact]:
        """Predicted state of the arm itself after the impact; nothing where the prediction lacks a joint."""
        arm, names = self._arms[index], impact.joint_names
        posture = self._postures.posture(index, names, impact.position)
        after = self._postures.posture(index, names, impact.velocity_after)
        if posture is None or after is None:
            return {}
        joint = self.field.arms[index].null_space_joint
        return {index: arm_after_impact(arm.robot, arm.base, joint, posture, after)}

    def _expect(self, velocity: Array, arms_after: Mapping[int, ArmAfterImpact] | None = None) -> bool:
        """Take the velocity that is expected after the impact to come into the field if it makes a difference."""
        change = np.linalg.norm(velocity - self.field.object_velocity_after)
        if change <= VELOCITY_TOLERANCE and self.field.object_velocity_predicted:
            return False
        self.field = dataclasses.replace(
            self.field.with_arms_after(arms_after or {}),
            object_velocity_after=velocity,
            object_velocity_predicted=True,
            revision=self.field.revision + 1,
        )
        return True

    def _was_near(self, index: int, time: float, joint_names: Sequence[str], position: Array) -> bool:
        """Whether an arm in these positions, rad, was near enough to the object at a time, s, for the first impact.

        Then what was seen of the object after that time is taken back: the impact has moved it.
        """
        posture = None if self.impact_happened else self._postures.posture(index, joint_names, position)
        if posture is None:
            return True
        present, since, revision = {name: getattr(self, name) for name in _PLACED}, [], self.field.revision
        while self._earlier and self._earlier[-1][0] > time:
            since.append(self._earlier.pop())
            vars(self).update(since[-1][1])
        if self.field.distance_ahead(index, self._postures.tool(index, posture), time) > self._leads[index]:
            vars(self).update(present)
            self._earlier.extend(reversed(since))
            return False
        if since:
            self.field = dataclasses.replace(self.field, revision=revision)
        return True

    def _after_impact(
        self,
        index: int,
        velocity: Array | None,
        sequence: int,
        time: float,
        arms_after: Mapping[int, ArmAfterImpact] | None = None,
    ) -> None:
        """The post-impact part applies from now; where several arms hit the object first stays."""
        field = self.field
        keep = self._several and self.impact_happened
        centre = field.object_position_at_impact if keep else self._postures.object_position(field.advanced(time))
        self._hit.add(index)
        self.field = field.after_impact(centre, velocity, event_sequence=sequence, arms_after=arms_after)
