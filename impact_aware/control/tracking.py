"""The target acceleration of each mode and what it is made of (van Steen 2024, 20-38)."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control import tracking_kernels as kernels
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.steering import Steering
from impact_aware.reference import ArmAfterImpact, ReferenceField
from impact_aware.reference.rotation import rotation_error

POSE_STEP = 1e-6
"""Step of the differences of the fields by the tool's pose, m and rad."""

LONGEST_STEP = 0.02
"""Most by which what an impact left goes on from one state to the next, s."""


Motion: TypeAlias = tuple[Array, Array, Array]
"""Motion of a tool: position (3,), m, rotation (3, 3) in base axes, twist (6,), m/s and rad/s."""


class Settling:
    """Displacements x from what is wanted, begun by an impact: x'' = -gamma (2 lambda x' + lambda^2 x).

    Just after an impact a tool turns with its object, and the joint of the null-space task moves: both at rates that
    the impact map predicts, while (17) and (21) of van Steen 2024 want both to stand still at once. Here the reference
    begins where tool and joint are, at the predicted rates, and comes to rest from there; see docs/papers.md. With
    gamma = 0 they go on as the impact left them, as nothing stops the arm then; with gamma = 1 they are critically
    damped. `tracking_kernels.settle` advances them.

    Attributes:
        left: (arms, 3, 4) Of each arm x, x' and x'', rad, rad/s, rad/s^2: of the tool's rotation from its wanted
            orientation, a rotation vector in base axes, then of the null-space task's joint from where it is held.
        rows: (3 arms, 4) View of the same.
    """

    def __init__(self, arms: int) -> None:
        """Start with displacements and rates of zero."""
        self.left, self._expected = np.zeros((arms, 3, 4)), np.full((arms, 4), np.nan)
        self.rows = self.left.reshape(-1, 4)

    def copy(self) -> Settling:
        """An independent one."""
        found = Settling(len(self.left))
        found.left[:], found._expected[:] = self.left, self._expected
        return found

    def expect(self, arm: int, part: slice, velocity: ArrayLike, displacement: ArrayLike) -> None:
        """The velocity just after the impact, rad/s, and the displacement at it, rad, of a part of an arm's four.

        A later prediction for the same impact changes the velocity by what it differs from the one before.
        """
        before = self._expected[arm, part].copy()
        if np.isnan(before).any():
            self.left[arm, 0, part], self.left[arm, 1, part] = displacement, velocity
        else:
            self.left[arm, 1, part] += np.asarray(velocity, dtype=float) - before
        self._expected[arm, part] = velocity


class TrackingReference:
    """Evaluates the fields of all arms and blends them into target accelerations.

    Attributes:
        parameters: Gains; they may be others before a `reset`.
        field: The reference in use.
        hit: (arms,) Which arms have hit the object.
        blend: gamma (35).
        push: Share of the feedforward's force that is part of the target.
        twist: (arms, 6) Reference twist of the field in use, m/s and rad/s.
        target_acceleration: (arms, 6) a_t, m/s^2 and rad/s^2.
        object_position: (3,) Estimated object centre, m.
        settling: What the impact left the arms.
        steering: Of an object that one arm pushes.
        complete_at: When contact was reported complete, s, or None.
    """

    def __init__(self, field: ReferenceField, parameters: ControlParameters) -> None:
        """Prepare the fields of `field`."""
        self._given = field
        self.parameters = parameters
        self.reset()

    def reset(self) -> None:
        """Forget the impact."""
        count = len(self._given.arms)
        self.hit = np.zeros(count, dtype=bool)
        self.blend = self._angular_blend = self.push = 0.0
        self.twist = np.zeros((count, 6))
        self.target_acceleration = np.zeros((count, 6))
        self.complete_at: float | None = None
        self._entered = np.nan
        self._contact_sum = np.zeros(3)
        self._interim_positions = np.full((count, 3), np.nan)
        self._prediction: ArrayLike | None = None
        self._arms_after: dict[int, ArmAfterImpact] = {}
        self.settling, self.steering = Settling(count), Steering(self._given)
        self._settled_at = np.nan
        self._movement, self._gains = np.zeros((3, 3)), np.zeros(5)
        self._use(self._given)
        self.object_position = self.field.object_position
        self._object_at_impact = self.object_position

    def take_prediction(self, field: ReferenceField, arms: Sequence[ControlledArm]) -> None:
        """After the impact: follow what a newer field predicts, from where object and arms were found."""
        if field.object_velocity_predicted:
            self.expect_arms({index: own.after_impact for index, own in enumerate(field.arms)})
            self._follow_impact(arms, field.object_velocity_after, field.event_sequence)

    def expect_arms(self, arms_after: Mapping[int, ArmAfterImpact]) -> None:
        """Keep what else is predicted of arms, by their index, for the next event."""
        self._arms_after |= arms_after

    def remember_prediction(self, object_velocity: ArrayLike | None) -> None:
        """Keep a prediction for when contact is entered."""
        if object_velocity is not None:
            self._prediction = object_velocity

    def enter_contact(
        self, arms: Sequence[ControlledArm], time: float, object_velocity: ArrayLike | None, event_sequence: int | None
    ) -> None:
        """The tools touch the object at their present positions, from which its own position follows.

        Args:
            arms: At the present state.
            time: s.
            object_velocity: (3,) Predicted object velocity, m/s, or None for what is known already.
            event_sequence: Number of the event.
        """
        self.remember_prediction(object_velocity)
        positions = np.array([arm.position for arm in arms])
        self._contact_sum = positions.sum(axis=0)
        shift = self.field.shift(time)
        self._object_at_impact = self.field.object_position_from_tools(positions - shift) + shift
        self._entered = time
        self._interim_positions = positions
        self._settled_at = time
        self.steering.begin(self._object_at_impact, arms[0].position, time)
        self._follow_impact(arms, self._prediction, event_sequence)

    def join_contact(
        self, arms: Sequence[ControlledArm], object_velocity: ArrayLike | None, event_sequence: int | None
    ) -> None:
        """A further arm touches the object too: its prediction is followed, where contact was entered stays."""
        if object_velocity is not None:
            self._follow_impact(arms, object_velocity, event_sequence)

    def _follow_impact(
        self, arms: Sequence[ControlledArm], object_velocity: ArrayLike | None, event_sequence: int | None
    ) -> None:
        after = self._arms_after
        self._use(
            self.field.after_impact(
                self._object_at_impact, object_velocity, event_sequence=event_sequence, arms_after=after
            )
        )
        if not self.parameters.uses_prediction:
            return
        for index, arm in enumerate(arms):
            own = self.field.arms[index]
            left = own.after_impact
            if left.known:
                away = rotation_error(self._post[index].rotation, arm.rotation)
                self.settling.expect(index, slice(0, 3), left.angular_velocity, away)
            if left.known and own.null_space_joint >= 0:
                away = arm.q[own.null_space_joint] - own.null_space_position
                self.settling.expect(index, slice(3, 4), left.null_space_velocity, away)

    def interim_over(self, time: float) -> bool:
        """Whether the interim mode ends now."""
        return self._share(self._contact_since(), time) >= 1.0

    def _contact_since(self) -> float:
        """Since when gamma grows: the first impact (35), or complete contact, which is not waited for endlessly, s."""
        settings = self.parameters
        if settings.interim_end == "time":
            return self._entered
        latest, complete = self._entered + settings.completion_timeout, self.complete_at
        return latest if complete is None or complete > latest else complete

    def _share(self, begin: float, time: float) -> float:
        """How much of a ramp of the interim mode's duration is over, 0..1."""
        duration, since = self.parameters.interim_duration, time - begin
        if since >= duration:
            return 1.0
        return since / duration if since > 0.0 else 0.0

    def advance(self, mode: Mode, time: float, elapsed: float, arms: Sequence[ControlledArm]) -> None:
        """Evaluate twist and target acceleration of every arm for this cycle.

        Args:
            mode: ANTE, INTERIM or POST.
            time: s.
            elapsed: Time since the start, s.
            arms: At the present state.
        """
        settings, twist, target = self.parameters, np.empty((len(arms), 6)), np.empty((len(arms), 6))
        self.twist, self.target_acceleration = twist, target
        if mode is Mode.ANTE:
            self.blend = self.push = 0.0
            if self.field.object_moves:
                self.object_position = self.field.object_position + self.field.shift(time)
                movement(self.field, time, elapsed, self._movement)
            for index, arm in enumerate(arms):
                moving = arm.position, arm.rotation, arm.twist
                self._before_impact(index, moving, elapsed, twist[index], target[index])
            return
        moved = -self._contact_sum
        for arm in arms:
            moved += arm.position
        self.object_position = self._object_at_impact + moved / len(arms)
        self.object_position = self.steering.place(time, self.object_position)
        self.blend = self._angular_blend = 1.0
        if mode is Mode.INTERIM:
            self.blend = self._share(self._contact_since(), time)
            # Where gamma follows the clock, so does that of the angular part.
            clocked = settings.interim_end == "time"
            self._angular_blend = self.blend if clocked else self._share(self._entered, time)
            if self.field.object_moves:
                movement(self.field, time, math.inf, self._movement)
        self._settle(time)
        going_on = settings.period if mode is Mode.INTERIM else 0.0
        self._gains[:] = settings.track_damping, settings.track_stiffness, self.blend, self._angular_blend, going_on
        for index, arm in enumerate(arms):
            moving = arm.position, arm.rotation, arm.twist
            self._after_impact(index, moving, self.object_position, twist[index], target[index])
            if self.push > 0.0 and self._pushes[index]:
                wrench = self.field.arms[index].feedforward_wrench
                kernels.add_wrench_acceleration(arm.jacobian, arm.mass_matrix, wrench, self.push, target[index])
        self._gains[4] = 0.0

    def later(self, mode: Mode, time: float, elapsed: float, arms: Sequence[ControlledArm]) -> TrackingReference:
        """This reference a period after its last `advance`, of which these were the arguments, at the same state."""
        period, found = self.parameters.period, copy.copy(self)
        found._interim_positions, found.settling = self._interim_positions.copy(), self.settling.copy()
        found.steering = self.steering.copy()
        found._movement, found._gains = self._movement.copy(), self._gains.copy()
        found.advance(mode, time + period, elapsed + period, arms)
        return found

    def pushes(self, arm: int) -> bool:
        """Whether the force of an arm's feedforward is part of its target now."""
        return self.push > 0.0 and self._pushes[arm]

    def _settle(self, time: float) -> None:
        """What the impact left the arms, and the share of the feedforward's force, at this time, s."""
        period = min(max(time - self._settled_at, 0.0), LONGEST_STEP)
        self._settled_at = time
        kernels.settle(self.settling.rows, period, self.parameters.settling_rate, self._angular_blend, self.blend)
        self.push, ramp = self.blend, self.parameters.friction_ramp
        if len(self.hit) == 1 and self.blend < 1.0:
            # Friction begins with the sliding; what presses an object between two palms waits for both.
            self.push = min((time - self._entered) / ramp, 1.0) if ramp > 0.0 else 1.0

    def _before_impact(self, index: int, moving: Motion, elapsed: float, twist: Array, target: Array) -> None:
        """(20), written to twist and target (6,)."""
        ante, damping = self._ante[index], self.parameters.track_damping
        kernels.before_impact(*moving, elapsed, self._movement, damping, ante.numbers, ante.rotation, twist, target)

    def _after_impact(self, index: int, moving: Motion, object_position: Array, twist: Array, target: Array) -> None:
        """(38) without its force, and (34) with the blend in the interim mode, written to twist and target (6,)."""
        ante, post = self._ante[index], self._post[index]
        kernels.after_impact(
            *moving, object_position, self.settling.left[index], self._movement, self._gains, post.numbers,
            post.predicted, post.rotation, ante.numbers, ante.rotation, self._interim_positions[index],
            self.steering.numbers, twist, target,
        )  # fmt: skip

    def derivatives(self, mode: Mode, elapsed: float, index: int, arm: ControlledArm) -> tuple[Array, Array]:
        """Derivatives of one arm's target, without its force, by its tool's pose and twist.

        The object's position follows from the tools, of which this arm's moves and the others stay. Derivatives by the
        pose are central differences of the fields, which are compiled closed formulas.

        Args:
            mode: ANTE, INTERIM or POST, of the last `advance`.
            elapsed: Time since the start, s.
            index: Which arm.
            arm: At the state of the last `advance`.

        Returns:
            (6, 6) by the tool's position and by rotations about the base's axes, and (6, 6) by its twist.
        """
        by_pose, share = np.empty((6, 6)), 1.0 / self.hit.size
        for column, axis in enumerate(np.eye(6)):
            ends = []
            for step in (POSE_STEP, -POSE_STEP):
                moved, target = step * axis[:3], np.empty(6)
                moving = arm.position + moved, pin.exp3(step * axis[3:]) @ arm.rotation, arm.twist
                if mode is Mode.ANTE:
                    self._before_impact(index, moving, elapsed, np.empty(6), target)
                else:
                    self._after_impact(index, moving, self.object_position + share * moved, np.empty(6), target)
                ends.append(target)
            by_pose[:, column] = (ends[0] - ends[1]) / (2.0 * POSE_STEP)
        gain = np.full(6, -self.parameters.track_damping)
        if mode is Mode.INTERIM:
            gain[:3] *= self.blend
            gain[3:] *= self._angular_blend
        return by_pose, np.diag(gain)

    def _use(self, field: ReferenceField) -> None:
        self.field = field
        predicted = self.parameters.uses_prediction
        count = range(len(field.arms))
        self._ante = [field.ante_impact(index) for index in count]
        self._post = [field.post_impact(index, use_prediction=predicted) for index in count]
        self._pushes = [bool(own.feedforward_wrench.any()) for own in field.arms]


def movement(field: ReferenceField, time: float, elapsed: float, found: Array | None = None) -> Array:
    """How the ante-impact field moves with its object: displacement, m, velocity, m/s, and acceleration, m/s^2 (3, 3).

    With the field w, the ramp sigma of the start and the object's velocity v, a tool follows sigma (w(p - x) + v). Its
    acceleration is that of the field at rest and sigma' v if x' = sigma v, and the object is met if x is where it is
    once the ramp is over: until then the field is ahead of it, by v T / 2 at the start.

    Args:
        field: With the object's motion.
        time: s.
        elapsed: Time since the start, s.
        found: (3, 3) Written to; a new array when None.
    """
    found = np.empty((3, 3)) if found is None else found
    kernels.object_movement(field.object_velocity, time - field.object_time, elapsed, field.start_ramp, found)
    return found
