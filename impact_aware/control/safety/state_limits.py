"""Limits that every state is held against: whether it can be true, and whether the arm may be in it.

All limits of a kind are one vector, and a state is gone through once in compiled code; only a violation costs a
sentence. Values that are not finite fail every comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.control import kernels
from impact_aware.control.arm import ControlledArm
from impact_aware.control.safety.reasons import SafeReason, Violation
from impact_aware.errors import InvalidInputError
from impact_aware.robot.safety_limits import SafetyLimits

STEP_FACTOR = 2.0
"""A displacement over this times the largest possible one between two states can't be true: the state is wrong."""

POSITION_NOISE = 0.005
"""Displacement that measurement noise can add, rad."""

SPEED_FACTOR = 3.0
"""A joint velocity over this times its limit can't be true: the state is wrong."""


class StateLimits:
    """Judges states of all arms against their limits.

    A joint may not be so fast that it could no longer be stopped before its position limit:
    q + dq |dq| / (2 a) <= q_max, and the same towards the lower limit.

    Attributes:
        limits: Of each arm.
    """

    def __init__(
        self,
        arms: Sequence[ControlledArm],
        limits: Sequence[SafetyLimits] | None = None,
        bases: Sequence[pin.SE3] | None = None,
    ) -> None:
        """Lay out the limits.

        Args:
            arms: As the controller refreshes them; only their tools are looked at.
            limits: Of each arm; those of the robots' profiles when None.
            bases: Pose of each arm's base in the common frame; identity when None.

        Raises:
            InvalidInputError: Numbers of arms, limits and bases that differ.
        """
        self.limits = [SafetyLimits.of(arm.robot) for arm in arms] if limits is None else list(limits)
        bases = [pin.SE3.Identity() for _ in arms] if bases is None else list(bases)
        for name, given in (("limits", self.limits), ("bases", bases)):
            if len(given) != len(arms):
                raise InvalidInputError(name, len(given), f"{len(arms)}, one per arm")
        self._arms = list(arms)
        self._to_base = [None if b.isIdentity() else (b.rotation.T.copy(), b.translation.copy()) for b in bases]
        self._names = [name for arm in arms for name in arm.robot.joint_names]

        def joined(name: str) -> Array:
            return np.concatenate([np.asarray(getattr(limit, name)) for limit in self.limits])

        self._half_inverse = 0.5 / joined("braking_deceleration")
        self._velocity = joined("velocity")
        self._lower, self._upper = joined("position_lower"), joined("position_upper")
        self._n = len(self._names)
        self._boxes = [
            np.concatenate([limit.workspace_lower, limit.workspace_upper]).astype(float) for limit in self.limits
        ]

    def implausible(self, q: Array, dq: Array, previous: Array | None, interval: float) -> Violation | None:
        """Whether a state can't be true, from itself and the one before.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            previous: (n,) The last accepted positions, rad, or None.
            interval: Time since then, s.

        Raises:
            InvalidInputError: Not one position and one velocity for each joint.
        """
        if q.shape != (self._n,) or dq.shape != (self._n,):
            raise InvalidInputError("state", f"{q.shape}, {dq.shape}", f"{self._n} positions and velocities")
        before = q if previous is None else previous
        row = kernels.first_implausible(
            q, dq, before, self._velocity, SPEED_FACTOR, STEP_FACTOR * interval, POSITION_NOISE
        )
        if row < 0:
            return None
        if not (np.isfinite(q).all() and np.isfinite(dq).all()):
            return Violation(SafeReason.NON_FINITE, "joint state with a value that is not finite")
        which, joint = divmod(row, self._n)
        if which == 0:
            sentence = f"{self._names[joint]} can't move at {dq[joint]:.4g} rad/s"
        else:
            moved = abs(q[joint] - before[joint])
            sentence = f"{self._names[joint]} can't have moved {moved:.4g} rad in {1e3 * interval:.1f} ms"
        return Violation(SafeReason.STATE_IMPLAUSIBLE, sentence)

    def judge_state(self, q: Array, dq: Array, forces: Sequence[float] | None = None) -> Violation | None:
        """Whether a state that can be true is within the limits; the arms must have been refreshed with it.

        Args:
            q: (n,) rad.
            dq: (n,) rad/s.
            forces: (arms,) Estimated contact force at each tool, N; not judged when None.
        """
        row = kernels.first_limit(q, dq, self._lower, self._upper, self._velocity, self._half_inverse)
        if row >= 0:
            return self._explain(row, q, dq)
        for index, arm in enumerate(self._arms):
            found = self._judge_tool(index, arm)
            if found is not None:
                return found
            if forces is not None and not forces[index] <= self.limits[index].contact_force:
                limit = self.limits[index].contact_force
                sentence = f"{arm.robot.tool_frame} is pressed with {forces[index]:.4g} N, its limit is {limit:.4g}"
                return Violation(SafeReason.CONTACT_FORCE_LIMIT, sentence)
        return None

    def _judge_tool(self, index: int, arm: ControlledArm) -> Violation | None:
        base, limit = self._to_base[index], self.limits[index].tool_speed
        position = arm.position if base is None else base[0] @ (arm.position - base[1])
        left = kernels.tool_limit(position, arm.twist, self._boxes[index], limit)
        if left == 0:
            return None
        if left == 1:
            x, y, z = position.tolist()
            x0, y0, z0, x1, y1, z1 = self._boxes[index].tolist()
            box = f"({x0:.4g}, {y0:.4g}, {z0:.4g}) to ({x1:.4g}, {y1:.4g}, {z1:.4g})"
            sentence = f"{arm.robot.tool_frame} is at ({x:.4g}, {y:.4g}, {z:.4g}) m, the workspace is {box}"
            return Violation(SafeReason.WORKSPACE_LIMIT, sentence)
        speed = float(np.linalg.norm(arm.twist[:3]))
        sentence = f"{arm.robot.tool_frame} moves at {speed:.4g} m/s, its limit is {limit:.4g}"
        return Violation(SafeReason.TOOL_SPEED_LIMIT, sentence)

    def _explain(self, row: int, q: Array, dq: Array) -> Violation:
        which, joint = divmod(row, self._n)
        if which == 2:
            sentence = f"{self._names[joint]} moves at {dq[joint]:.4g} rad/s, its limit is {self._velocity[joint]:.4g}"
            return Violation(SafeReason.VELOCITY_LIMIT, sentence)
        bound = self._lower[joint] if which else self._upper[joint]
        sentence = f"{self._names[joint]} at {q[joint]:.4g} rad and {dq[joint]:.4g} rad/s can't stop before {bound:.4g}"
        return Violation(SafeReason.POSITION_LIMIT, sentence)
