"""Comparison of measured torques with the model: at rest before anything moves, and with the first commands.

At rest link-side torques are the gravity torque g(q), whatever holds the arm. Where they differ, the model does not fit
the arm, and its torques would throw the arm or let it sink. A slip such as a turned sign is a known change of g(q): the
slip that explains all measured torques is the likely cause.

Torques behind the gear lack B_theta ddq, which accelerates the motors. So a torque fits its command as it was measured,
or with B_theta times the acceleration between two states added: exact for stiff joints, but not for joints that ring.

In which convention the arm takes commands shows only once it is commanded: the whole torque tau that is meant arrives
as tau + g(q) at an arm that adds gravity itself without the model's knowledge, and as tau - g(q) at one that does not
add it although the model assumes it. Where only the profile states it, the first commands are in the middle, as to
an arm that adds half of gravity. Either way g(q) / 2 is then in excess until the first states decide, and a wrong
profile costs a quarter of the speed. Other differences mean that the torques arrive at other joints, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.control.arm import ControlledArm
from impact_aware.control.arm_states import ArmStates
from impact_aware.control.braking import Braking
from impact_aware.control.command import Mode, SafeReason, Violation
from impact_aware.control.parameters import ControlParameters
from impact_aware.control.safety.command_filter import CommandFilter
from impact_aware.errors import ImpactAwareError
from impact_aware.robot import RobotModel

OFFSET = 1.0
"""Difference between measured and modelled torque that sensors of any arm may have at rest, N m."""

LIMIT_SHARE = 0.05
"""Further difference, as a share of a joint's torque limit: ranges of sensors and friction grow with it."""

SAG = 0.02
"""Distance by which the tool may give before the spring of a held posture carries the difference, m."""

GRAVITY_TOLERANCE = 0.05
"""Share by which gravity, as a turned base would make it, may differ from 9.81 m/s^2."""

REST_SPEED = 0.05
"""Joint speed up to which an arm is at rest, rad/s: friction and inertia add less than `OFFSET` to gravity there."""

FIRST_STATES = 1000
"""States after activation whose torques are compared with the commands, as long as nothing is hit: swapped joints may
show only when noise has made the hold unstable."""

CONVENTION_LIKENESS = 0.95
"""Cosine between what is measured beside the commands and gravity, over all joints, from which gravity is what is added
or missing: swapped joints reach some 0.8, and elastic joints pass on the torque of several at different times."""

UNFIT_STATES = 3
"""States in a row whose torques do not fit the commands before it counts, among the first `EARLY_STATES`: one may be a
glitch of a sensor."""

EARLY_STATES = 50
"""States after activation among which nothing can have been hit yet."""

UNFIT_LATER = 10
"""States in a row that count after those: until a hit is detected, its torques fit no command."""


class UnfitArmError(ImpactAwareError):
    """An arm whose measured torques are not those of its model."""


class TorqueFit:
    """The measured torques of a session's arms against its models and its commands.

    Attributes:
        unchecked: Why the torques of some arm can't be compared, in one sentence; empty when all are.
        found: Why the arms are not those of their models, in one sentence; kept for good, empty when they are.
        astray: Whether commands drive other joints than they are meant for: no feedback may go into them.
    """

    def __init__(
        self,
        arms: Sequence[ControlledArm],
        commands: CommandFilter,
        parameters: ControlParameters,
        *,
        declared: bool = True,
    ) -> None:
        """Compare nothing yet.

        Args:
            arms: As their controller refreshes them with each state.
            commands: Filters their commands.
            parameters: How a posture is held.
            declared: Whether the arms' driver declares the convention of the profiles too.
        """
        self._parameters = parameters
        self._open = [not declared] * len(arms)
        self._arms, self._filter = list(arms), commands
        self._tolerance = [torque_tolerance(arm.robot) for arm in self._arms]
        self._left, self._unfit = 0, [0] * len(self._arms)
        self._before: tuple[float, Array, Array] | None = None
        self.unchecked, self.found, self.astray = "no states yet", "", False

    def check(self, states: ArmStates | None) -> None:
        """Compare the last states of all arms at rest; nothing but what was found before when None.

        Raises:
            UnfitArmError: Torques that are not those of the model, now or in an earlier activation.
        """
        if self.found:
            raise UnfitArmError(self.found)
        if states is None:
            return
        self._left, self._before, self._unfit = FIRST_STATES, None, [0] * len(self._arms)
        reasons = [] if states.complete else ["no states yet"]
        for index, arm in enumerate(self._arms if states.complete else ()):
            name, q = arm.robot.joint_names[0], states.position[arm.joints]
            kind = arm.effort_kind
            effort = states.effort[arm.joints] + kind.missing_gravity * arm.robot.gravity(q)
            if not kind.is_torque:
                reasons.append(f"the profile of {name} does not declare efforts as torques")
            elif not np.isfinite(effort).all():
                reasons.append(f"the joint_states of {name} have no efforts")
            elif not np.abs(states.velocity[arm.joints]).max() <= REST_SPEED:
                reasons.append(f"{name} and its arm are not at rest")
            elif misfit := torque_misfit(arm.robot, q, effort, self._parameters):
                raise UnfitArmError(misfit)
            elif self._open[index]:
                self._filter.take_as_added(arm.joints, 0.5)
        self.unchecked = "; ".join(reasons)

    def answered(self, time: float, dq: Array, effort: Array | None, mode: Mode) -> Violation | None:
        """Compare the torques measured with a state with the command before; found once per activation.

        An arm that turns out to add gravity, or not to, is commanded so from now on.

        Args:
            time: Stamp of the state, s.
            dq: (n,) Its joint velocities, rad/s.
            effort: (n,) Torques measured with it, N m; None when there are none.
            mode: In which it was answered.
        """
        if not self._left:
            return None
        if mode in (Mode.INTERIM, Mode.POST):
            self._left = 0
            return None
        self._left -= 1
        before, self._before = self._before, (time, dq.copy(), self._filter.effort)
        if before is None or effort is None:
            return None
        since, velocity, sent = before
        acceleration = (dq - velocity) / (time - since) if time > since else np.zeros_like(dq)
        found = []
        early = self._left >= FIRST_STATES - EARLY_STATES
        for index, (arm, tolerance) in enumerate(zip(self._arms, self._tolerance, strict=True)):
            excess = (arm.link_torque(effort) - sent[arm.joints]) / tolerance
            motors = arm.unmeasured_inertia * acceleration[arm.joints] / tolerance
            # Comparisons with NaN are false: an arm without torques has none that do not fit.
            unfit = bool((np.abs(excess) > 1.0).any() and (np.abs(excess + motors) > 1.0).any())
            self._unfit[index] = self._unfit[index] + 1 if unfit else 0
            if self._unfit[index] == (UNFIT_STATES if early else UNFIT_LATER):
                found.append(self._explain(index, arm, excess, tolerance))
            elif self._open[index] and not early:
                # Gravity is too small here to decide it, and to matter.
                self._decide(index, arm, adds=arm.robot.adds_gravity)
        found = [sentence for sentence in found if sentence]
        if not found:
            return None
        self.found = self.found or found[0]
        return Violation(SafeReason.TORQUES_UNFIT, found[0])

    def _decide(self, index: int, arm: ControlledArm, *, adds: bool) -> None:
        self._open[index] = False
        self._filter.take_as_added(arm.joints, float(adds))

    def _explain(self, index: int, arm: ControlledArm, excess: Array, tolerance: Array) -> str:
        """What torques that do not fit mean, in one sentence; empty where they settle an open convention as stated."""
        names, gravity = arm.robot.joint_names, arm.gravity / tolerance
        likeness = float(excess @ gravity) / float(np.linalg.norm(excess) * np.linalg.norm(gravity))
        if abs(likeness) > CONVENTION_LIKENESS:
            adds = likeness > 0.0
            settled = self._open[index] and adds is arm.robot.adds_gravity
            self._decide(index, arm, adds=adds)
            if settled:
                return ""
            slip = "gravity, which the commands contain" if adds else "no gravity, which the commands lack"
            return f"the arm of {names[0]} to {names[-1]} adds {slip}: command_includes_gravity must be {not adds}"
        joint, self.astray = int(np.abs(excess).argmax()), True
        return (
            f"{names[joint]} does not follow its commands: it measures {(excess * tolerance)[joint]:+.3g} N m over "
            "the command; likely cause: another order of the joints in the arm's controller, or another controller"
        )


def torque_tolerance(robot: RobotModel) -> Array:
    """Difference (n,) between measured and modelled joint torques that counts as none, N m."""
    return np.asarray(OFFSET + LIMIT_SHARE * robot.limits.effort)


def torque_misfit(robot: RobotModel, q: Array, effort: Array, parameters: ControlParameters) -> str:
    """Why torques measured at rest are not those of the model, with the likely cause; empty when they are.

    Args:
        robot: The arm, with gravity as its base has it.
        q: (n,) Joint positions, rad.
        effort: (n,) Measured link-side torques with gravity, N m.
        parameters: How a posture is held.
    """
    gravity, tolerance = robot.gravity(q), torque_tolerance(robot)
    excess = effort - gravity
    apart = np.abs(excess) / tolerance
    if apart.max() <= 1.0:
        give = Braking(robot, parameters).deflection(excess, robot.mass_matrix(q))
        sag = math.inf if give is None else float(np.linalg.norm(robot.frame_jacobian(q)[:3] @ give))
        if sag <= SAG:
            return ""
        far = "without end" if give is None else f"by {1e3 * sag:.0f} mm"
        found = f"held with the model's gravity, {robot.tool_frame} would give {far}"
    else:
        joint = int(apart.argmax())
        found = (
            f"{robot.joint_names[joint]} measures {effort[joint]:.3g} N m at rest, where gravity by the model is "
            f"{gravity[joint]:.3g} N m"
        )
    return f"the torques do not fit the arm: {found}; likely cause: {_cause(robot, q, effort, gravity, tolerance)}"


def _cause(robot: RobotModel, q: Array, effort: Array, gravity: Array, tolerance: Array) -> str:
    """The first slip, in the order of how much it takes to explain anything, with which the torques agree."""

    def explained(torque: Array) -> bool:
        return bool((np.abs(effort - torque) <= tolerance).all())

    if explained(np.zeros_like(gravity)):
        return "a wrong gravity convention: the efforts of joint_states contain no gravity"
    if explained(2.0 * gravity):
        return "a wrong gravity convention: gravity is commanded to an arm that adds it itself, or effort_kind is wrong"
    wrong = np.abs(effort - gravity) > tolerance
    if explained(np.where(wrong, -gravity, gravity)):
        names = [name for name, turned in zip(robot.joint_names, wrong, strict=True) if turned]
        return f"a turned sign of {'all joints' if wrong.all() else ', '.join(names)}"
    usual = np.asarray(robot.model.gravity.linear)
    load = -robot.frame_jacobian(q)[:3].T @ usual
    mass = float(load @ (effort - gravity) / (load @ load))
    if explained(gravity + mass * load):
        return f"a wrong payload or mass: as with {mass:+.2g} kg at {robot.tool_frame}"
    columns = _base_columns(robot, q)
    found = np.linalg.lstsq(columns / tolerance[:, None], effort / tolerance, rcond=1e-6)[0]
    size, true = float(np.linalg.norm(found)), float(np.linalg.norm(usual))
    if abs(size - true) <= GRAVITY_TOLERANCE * true and explained(columns @ found):
        angle = np.degrees(np.arccos(np.clip(found @ usual / (size * true), -1.0, 1.0)))
        return f"a wrong orientation of the base: as if it were turned by {angle:.0f} deg"
    return "no wrong gravity convention, turned sign, load or turned base explains it alone"


def _base_columns(robot: RobotModel, q: Array) -> Array:
    """(n, 3) Torques that gravity of 1 m/s^2 along each axis of the base makes, N m per m/s^2."""
    model = robot.model.copy()
    columns = np.empty((robot.n, 3))
    for axis in range(3):
        model.gravity.linear = np.eye(3)[axis]
        columns[:, axis] = pin.computeGeneralizedGravity(model, model.createData(), q)
    return columns
