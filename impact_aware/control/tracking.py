"""The target acceleration of each mode and what it is made of (van Steen 2024, 20-38)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.control import kernels
from impact_aware.control.arm import ControlledArm
from impact_aware.control.command import Mode
from impact_aware.control.parameters import ControlParameters
from impact_aware.reference import ReferenceField


class TrackingReference:
    """Evaluates the fields of all arms and blends them into target accelerations.

    Attributes:
        field: The reference in use.
        hit: (arms,) Which arms have hit the object.
        blend: gamma (35).
        twist: (arms, 6) Reference twist of the field in use, m/s and rad/s.
        target_acceleration: (arms, 6) a_t, m/s^2 and rad/s^2.
        object_position: (3,) Estimated object centre, m.
        complete_at: When contact was reported complete, s, or None.
    """

    def __init__(self, field: ReferenceField, parameters: ControlParameters) -> None:
        """Prepare the fields of `field`."""
        self._given = field
        self._parameters = parameters
        self.reset()

    def reset(self) -> None:
        """Forget the impact."""
        count = len(self._given.arms)
        self.hit = np.zeros(count, dtype=bool)
        self.blend = 0.0
        self.twist = np.zeros((count, 6))
        self.target_acceleration = np.zeros((count, 6))
        self.complete_at: float | None = None
        self._entered = np.nan
        self._contact_sum = np.zeros(3)
        self._interim_positions = np.full((count, 3), np.nan)
        self._prediction: ArrayLike | None = None
        self._use(self._given)
        self.object_position = self.field.object_position
        self._object_at_impact = self.object_position

    def take_prediction(self, field: ReferenceField) -> None:
        """After the impact: follow the velocity that a newer field predicts, from where the object was found."""
        if field.object_velocity_predicted:
            velocity, sequence = field.object_velocity_after, field.event_sequence
            self._use(self.field.after_impact(self._object_at_impact, velocity, event_sequence=sequence))

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
        self._object_at_impact = self.field.object_position_from_tools(positions)
        self._entered = time
        self._interim_positions = positions
        self._use(self.field.after_impact(self._object_at_impact, self._prediction, event_sequence=event_sequence))

    def join_contact(self, object_velocity: ArrayLike | None, event_sequence: int | None) -> None:
        """A further arm touches the object too: its prediction is followed, where contact was entered stays."""
        if object_velocity is not None:
            velocity = object_velocity
            self._use(self.field.after_impact(self._object_at_impact, velocity, event_sequence=event_sequence))

    def interim_over(self, time: float) -> bool:
        """Whether the interim mode ends now."""
        return self._share(self._contact_since(), time) >= 1.0

    def _contact_since(self) -> float:
        """Since when gamma grows: the first impact (35), or complete contact, which is not waited for endlessly, s."""
        settings = self._parameters
        if settings.interim_end == "time":
            return self._entered
        latest = self._entered + settings.completion_timeout
        return latest if self.complete_at is None else min(self.complete_at, latest)

    def _share(self, begin: float, time: float) -> float:
        """How much of a ramp of the interim mode's duration is over, 0..1."""
        duration = self._parameters.interim_duration
        return min(max((time - begin) / duration, 0.0), 1.0) if duration > 0.0 else float(time >= begin)

    def advance(
        self,
        mode: Mode,
        time: float,
        elapsed: float,
        arms: Sequence[ControlledArm],
        object_position: Array | None,
    ) -> None:
        """Evaluate twist and target acceleration of every arm for this cycle.

        Args:
            mode: ANTE, INTERIM or POST.
            time: s.
            elapsed: Time since the start, s.
            arms: At the present state.
            object_position: (3,) Measured object centre, m, or None.
        """
        self.twist = np.empty((len(arms), 6))
        self.target_acceleration = np.empty((len(arms), 6))
        if mode is Mode.ANTE:
            self.blend = 0.0
            damping = self._parameters.track_damping
            for index, arm in enumerate(arms):
                twist, target = self.twist[index], self.target_acceleration[index]
                self._ante[index].evaluate_into(arm.position, arm.rotation, elapsed, twist, target)
                kernels.add_damping(twist, arm.twist, damping, target)
            return
        if object_position is not None:
            self.object_position = object_position
        else:
            moved = -self._contact_sum
            for arm in arms:
                moved += arm.position
            self.object_position = self._object_at_impact + moved / len(arms)
        self.blend = angular_blend = 1.0
        if mode is Mode.INTERIM:
            self.blend = self._share(self._contact_since(), time)
            angular_blend = self._share(self._entered, time)
        for index, arm in enumerate(arms):
            self._after_impact(index, arm, angular_blend, interim=mode is Mode.INTERIM)

    def _after_impact(self, index: int, arm: ControlledArm, angular_blend: float, *, interim: bool) -> None:
        """(38), and (34) with the blend in the interim mode.

        `angular_blend` is gamma of the angular part: the same where gamma follows the clock. Where gamma waits for
        complete contact, the clock still blends the angular part: the wanted orientation is the same before and after,
        and an arm that was hit off centre would rotate undamped as long as another one is waited for.
        """
        settings, gamma = self._parameters, self.blend
        twist, target = self.twist[index], self.target_acceleration[index]
        self._post[index].evaluate_into(self.object_position, arm.rotation, twist, target)
        kernels.add_damping(twist, arm.twist, settings.track_damping, target)
        if interim:
            ante, position = self._ante[index], self._interim_positions[index]
            ante_twist, feedback = ante.evaluate(arm.position, arm.rotation)
            feedback[:3] += settings.track_stiffness * (position - arm.position)
            # The angular velocity reference (11) is kappa_r times the orientation error. Its acceleration, -kappa_r^2
            # times that error, belongs to a tool that follows (11): without feedback of velocity it drives it away.
            feedback[3:] = (settings.track_stiffness / ante.kappa_r) * ante_twist[3:] if ante.kappa_r > 0.0 else 0.0
            target[:3] = (1.0 - gamma) * feedback[:3] + gamma * target[:3]
            target[3:] = (1.0 - angular_blend) * feedback[3:] + angular_blend * target[3:]
            position += settings.period * ante.velocity(position)
        if gamma > 0.0 and self._pushes[index]:
            target += gamma * arm.acceleration_from_wrench(self.field.arms[index].feedforward_wrench)

    def _use(self, field: ReferenceField) -> None:
        self.field = field
        predicted = self._parameters.uses_prediction
        count = range(len(field.arms))
        self._ante = [field.ante_impact(index) for index in count]
        self._post = [field.post_impact(index, use_prediction=predicted) for index in count]
        self._pushes = [bool(own.feedforward_wrench.any()) for own in field.arms]
