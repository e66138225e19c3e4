"""What shall be done: the object, where and how fast it is hit, and where it shall end."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.ranges import Range
from impact_aware.reference.rotation import quaternion_from_rotation, rotation_from_rpy
from impact_aware.task.result import WantedResult
from impact_aware.task.task_object import ANGLE, POSITION, TaskObject, Vector, check_ranges

STANDARD_GRAVITY = 9.81

LONGEST_NAME = 100
"""Characters of the name of a task, an object, a robot or a frame."""

MOST_ARMS = 2
"""Arms of a task."""

MOST_ENTRIES = 64
"""Starts of an arm, joints of a posture, other objects of a task."""

GOAL_RADIUS = 0.02
"""How far from its goal a pushed object may end, m (van Steen 2024 gives no number)."""

LIFTED_GOAL_RADIUS = 0.05
"""How far from its goal a lifted object may be held, m."""

LARGEST_SLIP = 0.01
"""How far a palm may slide on a lifted object, m."""

LIFTED_SHARE = 0.5
"""Share of the wanted height that an object must reach to count as lifted, and keep not to count as dropped."""

DERIVED = {"derived": True}
"""Marks a field of a task that follows from others, so is in no file."""

_LENGTH = Range(0.0, 5.0, "m")
_SPEED = Range(0.0, 5.0, "m/s", open_below=True)
_GAIN = Range(0.0, 1000.0, "1/s", open_below=True)

_ARM_RANGES = {
    "base_position": POSITION,
    "base_yaw": ANGLE,
    "base_rpy": ANGLE,
    "impact_velocity": Range(-5.0, 5.0, "m/s"),
    "impact_offset": Range(-5.0, 5.0, "m"),
    "orientation_rpy": ANGLE,
    "null_space_position": Range(-20.0, 20.0, "rad"),
    "posture": Range(-20.0, 20.0, "rad"),
    "pad_half_sizes": Range(0.0, 1.0, "m"),
    "pad_time_constant": Range(0.0, 1.0, "s"),
    "load_share": Range(0.0, 1.0),
    "clamping_margin": Range(0.0, 100.0),
    "clamping_floor": Range(0.0, 1000.0, "N"),
}
_FIELD_RANGES = {
    # A gain times the control period of 1 ms is the share of a distance that one cycle would undo: 1 at 1000 1/s.
    "alpha": _GAIN,
    "ante_radius_min": _LENGTH,
    "ante_radius_ratio": Range(0.0, 100.0, open_below=True),
    "ante_rotation_gain": _GAIN,
    "ante_rotation_deceleration": Range(0.0, 1000.0, "rad/s^2"),
    "start_ramp": Range(0.0, 60.0, "s"),
    "post_gain": _GAIN,
    "post_radius_min": _LENGTH,
    "post_radius_max": _LENGTH,
    "post_rotation_gain": _GAIN,
    "post_sideways_radius": _LENGTH,
}


@dataclass(frozen=True)
class ArmTask:
    """What one arm does to an object that stands along the axes of the task's frame.

    Towards one that is turned out of them, by `TaskObject.turn`, the tool's orientation at the impact turns by as much,
    and velocity and place as `hit_of` has it; the starts stay.

    Attributes:
        name: Name of the arm, empty when there is only one.
        robot: Robot profile.
        joint_prefix: What stands before the names of its joints, and of its base frame, in messages, such as `left_`.
        base_in_urdf: Whether its base stands where the URDF of its profile has it, whose root link is the task's frame.
        base_in_tf: Name of its base in TF: where that stands in the task's frame is looked up, and held against the
            numbers that are given beside it, or the URDF's. Empty: nothing is looked up.
        base_position: (3,) Where its base stands in the task's base frame, m.
        base_yaw: Rotation of a base that stands upright about the vertical, rad.
        base_rpy: (3,) Roll, pitch, yaw of its base about the axes of the task's frame, whose z axis points up, rad; in
            place of `base_yaw`.
        impact_velocity: (3,) Desired tool velocity at the impact, m/s.
        impact_offset: (3,) Wanted contact position relative to the middle of the face that is hit, m.
        orientation_rpy: (3,) Desired tool orientation, roll, pitch, yaw about base axes, rad.
        null_space_joint: Index of the joint that the null-space task holds, -1 for none.
        null_space_position: Where it is held, rad.
        starts: Tool positions (3,) to start from, m; the first one is the usual one.
        posture: (n,) A posture near which the arm works, rad; the robot's home when empty.
        pad_half_sizes: (3,) Half edges of a flat palm about the tool frame, along its axes, m; zeros for the robot's
            own spherical tip. Along the axis that meets the object it is as thick as the tip's radius.
        pad_time_constant: With which the palm's pad takes the speed out of a contact, s: its corners are predicted to
            meet the object one after another, as far as the palm is askew; 0: all at once. With several arms only.
        load_share: Share of the object's weight that this tool carries after the impact.
        clamping_margin: Force with which the tool presses on the object after the impact, over the least with which
            friction carries its share of the weight.
        clamping_floor: Least such force, N: for objects so light that the arms' own errors weigh more.
        turn_rpy: (3,) Roll, pitch, yaw of `TaskObject.turn` of the task's object, which the task puts here, rad.
    """

    name: str = ""
    robot: str = "panda"
    joint_prefix: str = ""
    base_in_urdf: bool = False
    base_in_tf: str = ""
    base_position: Vector = (0.0, 0.0, 0.0)
    base_yaw: float = 0.0
    base_rpy: Vector = (0.0, 0.0, 0.0)
    impact_velocity: Vector = (0.0, -0.5, 0.0)
    impact_offset: Vector = (0.0, 0.0, 0.0)
    orientation_rpy: Vector = (np.pi, 0.0, 0.0)
    null_space_joint: int = 0
    null_space_position: float = 0.0
    starts: tuple[Vector, ...] = ((0.45, 0.35, 0.15),)
    posture: tuple[float, ...] = ()
    pad_half_sizes: Vector = (0.0, 0.0, 0.0)
    pad_time_constant: float = 0.0
    load_share: float = 0.0
    clamping_margin: float = 0.0
    clamping_floor: float = 0.0
    turn_rpy: Vector = dataclasses.field(default=(0.0, 0.0, 0.0), repr=False, metadata=DERIVED)

    def __post_init__(self) -> None:
        """Refuse a number that makes no task."""
        label = f"arms[{self.name}]" if self.name else "arm"
        check_ranges(self, label, _ARM_RANGES)
        if self.base_yaw and any(self.base_rpy):
            raise InvalidInputError(f"{label}.base_yaw", self.base_yaw, "one of base_yaw and base_rpy, not both")
        if not any(self.impact_velocity):
            raise InvalidInputError(f"{label}.impact_velocity", list(self.impact_velocity), "a speed > 0 m/s")
        if not self.starts:
            raise InvalidInputError(f"{label}.starts", 0, "at least one tool position")
        for start in self.starts:
            POSITION.check(f"{label}.starts", start)

    @property
    def base_is_told(self) -> bool:
        """Whether numbers say where its base stands, rather than TF alone."""
        return not self.base_in_tf or any((*self.base_position, self.base_yaw, *self.base_rpy))

    @property
    def base_angles(self) -> Vector:
        """(3,) Roll, pitch, yaw of its base, however they were given, rad.

        Raises:
            InvalidInputError: Only TF knows.
        """
        if not self.base_is_told:
            label = f"arms[{self.name}].base_in_tf" if self.name else "arm.base_in_tf"
            expected = "base_position, and base_rpy, beside it, as TF is not used here"
            raise InvalidInputError(label, self.base_in_tf, expected)
        return (0.0, 0.0, self.base_yaw) if self.base_yaw else self.base_rpy

    @cached_property
    def turn(self) -> Array:
        """(3, 3) That of the task's object, by which the hit is turned."""
        return rotation_from_rpy(self.turn_rpy)

    @property
    def start_orientation(self) -> Array:
        """(4,) Tool orientation at the starts, which don't turn with the object, as quaternion x, y, z, w."""
        return quaternion_from_rotation(rotation_from_rpy(self.orientation_rpy))

    @property
    def orientation(self) -> Array:
        """(4,) Desired tool orientation at the impact as quaternion x, y, z, w."""
        return quaternion_from_rotation(self.turn @ rotation_from_rpy(self.orientation_rpy))

    @property
    def outward(self) -> Array:
        """(3,) Unit vector against which the tool comes, along the axes of `turn`.

        That out of the face of a palm which is the most against the velocity; of a tip, against the velocity.
        """
        against = -np.array(self.impact_velocity) / np.linalg.norm(self.impact_velocity)
        if not any(self.pad_half_sizes):
            return against
        axes = rotation_from_rpy(self.orientation_rpy)
        axis = int(np.argmax(np.abs(axes.T @ against)))
        return axes[:, axis] * np.sign(axes[:, axis] @ against)


@dataclass(frozen=True)
class FieldParameters:
    """Shape of the reference fields; the defaults are Table I of van Steen 2024.

    Attributes:
        alpha: Shaping of the approach, 1/s.
        ante_radius_min: m; 0 stands for the distance from the object's centre to its corners, or a little more than
            that to the impact position, whichever is larger.
        ante_radius_ratio: ante_radius_max over ante_radius_min.
        ante_rotation_gain: kappa_r^a, 1/s.
        ante_rotation_deceleration: Largest of the rotation during the approach, rad/s^2; 0 for any.
        start_ramp: Time over which the speed grows at the start, s.
        post_gain: kappa_p^p, 1/s.
        post_radius_min: m.
        post_radius_max: m.
        post_rotation_gain: kappa_r^p, 1/s.
        post_sideways_radius: m; from there on the object no longer goes on as the impact sent it across the way to the
            goal; 0 lets it as long as along that way, as the paper does.
        release: Whether the tools stop after the impact, and the object slides on to its goal alone.
    """

    alpha: float = 5.0
    ante_radius_min: float = 0.0
    ante_radius_ratio: float = 2.0
    ante_rotation_gain: float = 30.0
    ante_rotation_deceleration: float = 6.0
    start_ramp: float = 0.5
    post_gain: float = 2.0
    post_radius_min: float = 0.1
    post_radius_max: float = 0.3
    post_rotation_gain: float = 30.0
    post_sideways_radius: float = 0.0
    release: bool = False

    def __post_init__(self) -> None:
        """Refuse a number that shapes no field."""
        check_ranges(self, "fields", _FIELD_RANGES)


@dataclass(frozen=True)
class Task:
    """A manipulation that begins with an intended impact.

    Attributes:
        name: Name of the task.
        goal: (3,) Where the object's centre shall end, m.
        object: The object.
        arms: One or two.
        fields: Shape of the reference fields.
        frame: Frame of all positions.
        objects: Other objects that the task is tried with, by name.
        result: What the hit shall do, from which `reference_field` plans it; None where the arms' entries say it.
    """

    name: str
    goal: Vector
    object: TaskObject
    arms: tuple[ArmTask, ...]
    fields: FieldParameters = field(default_factory=FieldParameters)
    frame: str = "base"
    objects: tuple[TaskObject, ...] = ()
    result: WantedResult | None = None

    def __post_init__(self) -> None:
        """Refuse a task without arms and a goal that is not finite."""
        if not self.arms:
            raise InvalidInputError("arms", 0, "one arm or more")
        if len(self.arms) == 1 and self.arms[0].pad_time_constant:
            raise InvalidInputError("pad_time_constant", self.arms[0].pad_time_constant, "0 of an arm that hits alone")
        POSITION.check("goal", self.goal)
        names = [arm.base_in_tf for arm in self.arms if arm.base_in_tf]
        if len(set(names)) < len(names):
            raise InvalidInputError("arms: base_in_tf", names, "another frame for each arm")
        turned = tuple(dataclasses.replace(arm, turn_rpy=self.object.turn_rpy) for arm in self.arms)
        object.__setattr__(self, "arms", turned)

    @property
    def table_height(self) -> float:
        """Height of what the object stands on, below its centre, m."""
        return float(self.object.position[2] - self.object.height / self.object.up[2])

    @property
    def lifts(self) -> bool:
        """Whether the tools carry the object after the impact, rather than push it."""
        return any(arm.load_share > 0.0 for arm in self.arms)

    @property
    def destination(self) -> Vector:
        """(3,) Where the tools take the object's centre: its goal, or where it stands if they release it, m."""
        return self.object.position if self.fields.release else self.goal

    def with_impact_speed(self, speed: float) -> Task:
        """Return the task with every arm hitting at `speed`, m/s, in its own direction.

        Raises:
            InvalidInputError: A speed that is not a finite number > 0.
        """
        _SPEED.check("impact_speed", speed)
        arms = []
        for arm in self.arms:
            scaled = np.array(arm.impact_velocity) * (speed / np.linalg.norm(arm.impact_velocity))
            arms.append(dataclasses.replace(arm, impact_velocity=tuple(scaled.tolist())))
        return dataclasses.replace(self, arms=tuple(arms))

    def with_object(self, name: str) -> Task:
        """Return the task with another of its objects, which stands on the same table and is pushed as far.

        Raises:
            UnknownNameError: No such object.
        """
        known = {entry.name: entry for entry in (self.object, *self.objects)}
        if name not in known:
            raise UnknownNameError("object", name, tuple(known))
        chosen = known[name]
        goal = tuple(np.add(self.goal, np.subtract(chosen.position, self.object.position)).tolist())
        others = tuple(entry for key, entry in known.items() if key != name)
        return dataclasses.replace(self, object=chosen, goal=goal, objects=others)
