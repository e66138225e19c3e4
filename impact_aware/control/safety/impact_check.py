"""Before the hit: would the intended impact be too much for the arm, by its energy or by the jump of its joints?

The arm hits with the mass that it shows along the normal, m_eff = 1 / (n' J (M + B_theta)^-1 J' n) (Wang 2021, eqs.
7-8, with the apparent inertia of Rey Arias 2024, eqs. 8-9), so with the energy E = m_eff v_n^2 / 2. Its joints jump
to what the prediction of `jump_predictor` for the same tool, object and table is: `predict_hit`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.contact.shape import PlacedShape
from impact_aware.contact.shape_registry import shape_of
from impact_aware.control.safety.reflexes import allowed_speed, check_reflexes, hit_load
from impact_aware.errors import InvalidInputError
from impact_aware.impact.hit import predict_hit
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.material import RIGID_PADS, Pads
from impact_aware.impact.uncertainty import InputCovariance
from impact_aware.reference import ReferenceField
from impact_aware.reference.rotation import rotation_from_quaternion
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task.grasp import predict_grasp_impact
from impact_aware.task.task import Task


@dataclass(frozen=True)
class ExpectedImpact:
    """What the intended impact does to one arm.

    Attributes:
        arm: Name of the arm.
        effective_mass: Of the arm along the normal, kg.
        normal_speed: With which the tool closes in along the normal, m/s.
        energy: m_eff v_n^2 / 2, J.
        posture: (n,) At the impact, rad.
        velocity_before: (n,) rad/s.
        velocity_after: (n,) Predicted, rad/s.
        joint_impulse: (n,) What the contact does to the joints at most, J' p = (M + B_theta) times the jump, N m s.
        half_width: (n,) How far `velocity_after` may be off by the material of the pads, rad/s; zeros by one law.
    """

    arm: str
    effective_mass: float
    normal_speed: float
    energy: float
    posture: Array
    velocity_before: Array
    velocity_after: Array
    joint_impulse: Array
    half_width: Array

    @property
    def jump(self) -> Array:
        """Velocity after minus before (n,), rad/s."""
        return self.velocity_after - self.velocity_before


@dataclass(frozen=True)
class ImpactLoad:
    """One limit of a hit and how near an expected impact comes to it.

    Attributes:
        name: Of the limit: an entry of `safety`, `velocity` of a joint after the hit, or a reflex of the arm.
        where: Joint that comes nearest to it, or what else it is about.
        value: Predicted there: J, rad/s, or the reflex's unit.
        limit: Of the same.
        share: Predicted over limit; above 1 the hit is refused.
        headroom: Factor on the speed of the hit that uses up the limit.
    """

    name: str
    where: str
    value: float
    limit: float
    share: float
    headroom: float


def expected_impact(
    field: ReferenceField,
    robot: RobotModel,
    index: int = 0,
    *,
    base: pin.SE3 | None = None,
    posture: Array | None = None,
    task: Task | None = None,
    pads: Pads = RIGID_PADS,
) -> ExpectedImpact:
    """The impact of one arm alone that a field leads to: at its impact position and velocity, against its object.

    Args:
        field: The reference.
        robot: The arm.
        index: Which arm of the field.
        base: Pose of the arm's base in the field's frame; identity when None.
        posture: (n,) From which the posture at the impact is looked for before the robot's home, rad.
        task: That the field was made of, which knows palm, friction, restitution and whether a table holds the object;
            None where only the field is known: a round tip without friction on an object that nothing else holds.
        pads: What is known of them; for pads that yield it takes a second.

    Raises:
        InvalidInputError: The impact position is out of reach.
    """
    own = field.arms[index]
    base = pin.SE3.Identity() if base is None else base
    wanted = base.actInv(pin.SE3(rotation_from_quaternion(own.orientation_before), own.impact_position))
    joint = own.null_space_joint
    fixed = {joint: own.null_space_position} if joint >= 0 else None
    try:
        q = solve_inverse_kinematics(robot, wanted, robot.home if posture is None else posture, fixed=fixed)
    except InvalidInputError:
        if posture is None:
            raise
        # A bad posture to look from does not mean that there is nothing to be found.
        q = solve_inverse_kinematics(robot, wanted, robot.home, fixed=fixed)
    rows, twist = robot.frame_jacobian(q), np.zeros(6)
    moving = base.rotation.T @ field.object_velocity
    twist[:3] = base.rotation.T @ own.impact_velocity + moving
    if joint >= 0:
        rows, twist = np.vstack([rows, np.eye(robot.n)[joint]]), np.append(twist, 0.0)
    velocity = np.asarray(np.linalg.lstsq(rows, twist, rcond=None)[0], dtype=np.float64)
    normal = base.rotation.T @ own.normal
    contact, how = Contact(robot.tool_frame, normal, radius=robot.tool_radius), dict[str, Any](half_sizes=np.zeros(3))
    if task is not None:
        thing = task.object
        contact = dataclasses.replace(contact, friction=thing.friction_tool, restitution=thing.restitution)
        how["half_sizes"] = task.arms[index].pad_half_sizes
        how["table_friction"] = None if task.lifts else thing.friction_table
    turn, place = base.rotation.T @ field.object_rotation, base.actInv(field.object_position)
    shape = PlacedShape(shape_of(field), place, turn)
    body = shape.free_object(field.object_mass, [*moving, 0.0, 0.0, 0.0])
    how |= {"obstacle": body, "shape": shape}
    inertia, half_width, impulse_width = robot.mass_matrix(q), np.zeros(robot.n), np.zeros(robot.n)
    if not pads.laws:
        prediction = predict_hit(robot, q, velocity, contact, **how)
    else:
        how |= {"covariance": InputCovariance(), "pads": pads}
        prediction, spread, *_ = predict_hit_with_covariance(robot, q, velocity, contact, **how)
        half_width, impulse_width = (2.0 * np.sqrt(np.diag(each)) for each in (spread, inertia @ spread @ inertia))
    speed = max(0.0, -float(prediction.contact_velocity_before @ normal))
    mass = prediction.effective_mass
    impulse, after = _farther(inertia @ prediction.jump, impulse_width), prediction.velocity_after
    return ExpectedImpact(own.arm, mass, speed, 0.5 * mass * speed**2, q, velocity, after, impulse, half_width)


def _farther(values: Array, half_width: Array) -> Array:
    """The ends of intervals that are farther from zero."""
    return np.asarray(values + np.copysign(half_width, values))


def worst_joint(name: str, robot: RobotModel, values: Array, bound: Array) -> ImpactLoad:
    """The joint that uses the largest share of a limit (n,) that its value (n,), proportional to the speed, has."""
    share = np.abs(values) / bound
    joint = int(np.argmax(share))
    largest = float(share[joint])
    headroom = 1.0 / max(largest, 1e-12)
    return ImpactLoad(name, robot.joint_names[joint], float(values[joint]), float(bound[joint]), largest, headroom)


def impact_loads(impact: ExpectedImpact, robot: RobotModel, limits: SafetyLimits) -> tuple[ImpactLoad, ...]:
    """Limits of a hit, each joint at the worst end of its interval: energy, jump, velocity after, perhaps a reflex."""
    energy = impact.energy / limits.impact_energy
    jump, after = (_farther(each, impact.half_width) for each in (impact.jump, impact.velocity_after))
    loads = (
        ImpactLoad("impact_energy", "", impact.energy, limits.impact_energy, energy, max(energy, 1e-12) ** -0.5),
        worst_joint("velocity_jump", robot, jump, limits.velocity_jump),
        worst_joint("velocity", robot, after, robot.limits.velocity),
    )
    if not (np.isfinite(limits.sensor_torque).all() and impact.normal_speed > 0.0):
        return loads
    worst_end = dataclasses.replace(impact, velocity_after=impact.velocity_before + jump)
    load = hit_load(worst_end, robot, limits.sensor_torque)
    trip, slower = load.trips[0], allowed_speed(worst_end, robot, load, limits.sensor_torque)
    return (*loads, ImpactLoad(trip.name, trip.where, trip.value, trip.limit, trip.share, slower / impact.normal_speed))


def check_impact(impact: ExpectedImpact, robot: RobotModel, limits: SafetyLimits | None = None) -> None:
    """Refuse an impact that exceeds a limit, with each joint at the worst end of its interval.

    Args:
        impact: What is expected.
        robot: The arm.
        limits: Of the arm; those of its profile when None.

    Raises:
        InvalidInputError: Energy, jump or velocity after is over its limit, or a reflex of the arm trips; the message
            names the impact speed that keeps the limit.
    """
    limits = SafetyLimits.of(robot) if limits is None else limits
    label = f"arms[{impact.arm}].impact_velocity" if impact.arm else "impact_velocity"
    speed = impact.normal_speed
    energy, *joints = impact_loads(impact, robot, limits)
    if not energy.share <= 1.0:
        raise InvalidInputError(
            label,
            f"{speed:.3g} m/s, an impact of {energy.value:.3g} J with {impact.effective_mass:.3g} kg",
            f"at most {energy.limit:.3g} J (safety.impact_energy), that is {speed * energy.headroom:.3g} m/s",
        )
    words = ("jump", "safety.velocity_jump"), ("be thrown to", "its velocity limit")
    for load, (verb, what) in zip(joints[:2], words, strict=True):
        if not load.share <= 1.0:
            does = f"{load.where} would {verb} {load.value:+.3g} rad/s"
            expected = f"at most {load.limit:.3g} rad/s ({what}), that is {speed * load.headroom:.3g} m/s"
            raise InvalidInputError(label, f"{speed:.3g} m/s, where {does}", expected)
    if np.isfinite(limits.sensor_torque).all():
        jump = _farther(impact.jump, impact.half_width)
        worst_end = dataclasses.replace(impact, velocity_after=impact.velocity_before + jump)
        check_reflexes(worst_end, robot, limits.sensor_torque)


def check_field(
    field: ReferenceField,
    robots: Sequence[RobotModel],
    *,
    bases: Sequence[pin.SE3] | None = None,
    limits: Sequence[SafetyLimits] | None = None,
    postures: Sequence[Array | None] | None = None,
    task: Task | None = None,
    pads: Pads = RIGID_PADS,
) -> tuple[ExpectedImpact, ...]:
    """Work out every arm's intended impact and refuse the field if one exceeds a limit.

    Arms that hit together are checked one by one, each as if it were alone with the object, and where the task is known
    all at once too, then as rigid contacts whatever the pads.

    Args:
        field: The reference.
        robots: One model per arm.
        bases: Pose of each arm's base in the field's frame; identity when None.
        limits: Of each arm; those of the profiles when None.
        postures: (n,) each; see `expected_impact`.
        task: See `expected_impact`.
        pads: See `expected_impact`.

    Returns:
        The impact of each arm alone.

    Raises:
        InvalidInputError: As `expected_impact` and `check_impact`.
    """
    found = []
    for index, robot in enumerate(robots):
        impact = expected_impact(
            field,
            robot,
            index,
            base=None if bases is None else bases[index],
            posture=None if postures is None else postures[index],
            task=task,
            pads=pads,
        )
        check_impact(impact, robot, None if limits is None else limits[index])
        found.append(impact)
    if task is not None and len(robots) > 1:
        q, dq = [impact.posture for impact in found], [impact.velocity_before for impact in found]
        common = predict_grasp_impact(task, robots, field, q, dq)
        for index, (impact, robot) in enumerate(zip(found, robots, strict=True)):
            after = common.velocity_after[task.arms[index].name]
            joint_impulse = robot.mass_matrix(impact.posture, "M+B_theta") @ (after - impact.velocity_before)
            together = dataclasses.replace(impact, velocity_after=after, joint_impulse=joint_impulse)
            together = dataclasses.replace(together, half_width=np.zeros(robot.n))
            check_impact(together, robot, None if limits is None else limits[index])
    return tuple(found)


def check_prediction(field: ReferenceField, object_velocity: ArrayLike) -> None:
    """Refuse a predicted object velocity that no impact of the field's tools can lead to.

    Args:
        field: The reference.
        object_velocity: (3,) Just after the impact, m/s.

    Raises:
        InvalidInputError: It is faster, or not finite.
    """
    velocity = np.asarray(object_velocity, dtype=float)
    fastest = field.fastest_after
    if not float(np.abs(velocity).max()) <= fastest:
        shown = [float(f"{value:.4g}") for value in velocity]
        raise InvalidInputError("object_velocity_after", shown, f"at most {fastest:.3g} m/s, twice what hits it")
