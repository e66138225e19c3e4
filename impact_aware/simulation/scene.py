"""A scene: arms on their bases, a table, an object, and how hard they touch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pinocchio as pin

from impact_aware.contact.box import Box
from impact_aware.contact.shape import Shape
from impact_aware.errors import InvalidInputError, check_name
from impact_aware.ranges import NOT_NEGATIVE, POSITIVE
from impact_aware.simulation.mujoco_model import ToolTip

Vector3 = tuple[float, float, float]


@dataclass(frozen=True)
class ArmMount:
    """Where one arm stands in the scene.

    Attributes:
        name: `arm` in single-arm scenes, `left` and `right` with two.
        robot: Robot profile, by name.
        position: (3,) Base frame's origin in the world, m.
        rpy: (3,) Roll, pitch, yaw of the base about the world's axes, rad.
        tip: Shape of the tool tip.
    """

    name: str = "arm"
    robot: str = "panda"
    position: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    tip: ToolTip = field(default_factory=ToolTip)

    @property
    def placement(self) -> pin.SE3:
        """Pose of the base frame in the world."""
        return pin.SE3(pin.rpy.rpyToMatrix(*self.rpy), np.array(self.position))


@dataclass(frozen=True)
class SceneObject:
    """The free object: homogeneous, a box unless its shape is given.

    Attributes:
        name: For reports.
        mass: kg.
        half_sizes: (3,) Half edges of a box along its axes, m.
        shape: Another shape, in place of them.
        position: (3,) Centre at the start, world, m; a third entry of NaN means resting on the table.
        rpy: (3,) Roll, pitch, yaw at the start, rad.
    """

    name: str = "box"
    mass: float = 2.20
    half_sizes: Vector3 = (0.10, 0.065, 0.10)
    position: Vector3 = (0.5, 0.0, math.nan)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    shape: Shape | None = None

    @property
    def solid(self) -> Shape:
        """Its shape with its sizes."""
        return Box(self.half_sizes) if self.shape is None else self.shape


@dataclass(frozen=True)
class ContactSettings:
    """How one pair of surfaces touches.

    While touching at speed v, the surfaces decelerate as exp(-2 t / time_constant), whatever the masses: MuJoCo scales
    its contact by the effective mass. A damping ratio well over 1 makes the contact inelastic.

    Attributes:
        time_constant: Of the normal direction, s.
        damping_ratio: Of the normal direction.
        impedance: Share of the wanted contact acceleration that is enforced, 0..1; what is missing acts as compliance.
        friction: Coulomb coefficient.
        friction_time_constant: Of the tangential direction, s. A stuck contact creeps the less the smaller it is; a
            sliding contact in MuJoCo is lifted off by about 2 mu v time_constant^2 damping_ratio^2 /
            friction_time_constant, the less the larger it is. An impact needs it as short as the normal time constant:
            then its impulse is Coulomb's to some per cent, and only afterwards a tool that still slides at v leaves
            the surface, at up to mu v.
    """

    time_constant: float = 0.001
    damping_ratio: float = 5.0
    impedance: float = 0.99
    friction: float = 0.3
    friction_time_constant: float = 0.001


TABLE_CONTACT = ContactSettings(damping_ratio=1.0, friction_time_constant=0.02)
"""Object on table: settles within milliseconds, slides with mu m g to within 1 % from 0.1 to 1 m/s, creeps at less than
0.1 mm/s under 90 % of that. MuJoCo's relaxed friction makes the sliding object chatter by about a micrometre, which a
tool that pushes it feels as some 0.5 mm/s: a longer friction time constant chatters less and loses friction at low
speed."""


COMPLIANT_PAD = ContactSettings(time_constant=0.004, friction=0.8)
"""A silicone palm on cardboard: compression lasts about 8 ms, friction as of rubber (both assumed)."""


@dataclass(frozen=True)
class Scene:
    """Arms, a table and one object.

    Attributes:
        name: For reports.
        arms: The arms, in the order in which plants concatenate their joints.
        object: The free object.
        travel: (3,) Where the object shall go, from its start, m: the table is there for links to meet.
        table_height: Height of the table top in the world, below the object's centre, m.
        table_rpy: (3,) Roll, pitch, yaw of the table top, rad.
        belt_velocity: (3,) With which the table top moves like a belt, and the object with it, until a tool meets the
            object, world, m/s; along the table.
        tool_object: Contact between every tool and the object.
        object_table: Contact between object and table.
        tool_table: Contact between every tool and the table.
        cycle: Control cycle, s.
        substeps: Physics steps per cycle.
        impact_substeps: Physics steps per cycle while an impact is near or going on. Finer, because a step in which the
            object is knocked along the table lifts it by MuJoCo's relaxed friction, the less the shorter the step.
    """

    name: str = "scene"
    arms: tuple[ArmMount, ...] = (ArmMount(),)
    object: SceneObject = field(default_factory=SceneObject)
    travel: Vector3 = (0.0, 0.0, 0.0)
    table_height: float = 0.0
    table_rpy: Vector3 = (0.0, 0.0, 0.0)
    belt_velocity: Vector3 = (0.0, 0.0, 0.0)
    tool_object: ContactSettings = field(default_factory=ContactSettings)
    object_table: ContactSettings = TABLE_CONTACT
    tool_table: ContactSettings = field(default_factory=ContactSettings)
    cycle: float = 0.001
    substeps: int = 5
    impact_substeps: int = 20

    @property
    def belt_moves(self) -> bool:
        """Whether the table top does."""
        return any(self.belt_velocity)

    def __post_init__(self) -> None:
        """Refuse what can't be simulated; an InvalidInputError names the field."""
        if not self.arms:
            raise InvalidInputError("arms", "none", "at least one arm")
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise InvalidInputError("arms", names, "names that differ")
        for arm in self.arms:
            tip = arm.tip
            check_name(f"arms.{arm.name}.tip.shape", tip.shape, ("sphere", "pad"))
            for size in tip.half_sizes if tip.shape == "pad" else ():
                POSITIVE.check(f"arms.{arm.name}.tip.half_sizes", size)
            if not all(math.isfinite(value) for value in (*arm.position, *arm.rpy)):
                raise InvalidInputError(f"arms.{arm.name}.position", arm.position, "finite figures")
        POSITIVE.check("object.mass", self.object.mass)
        for size in self.object.half_sizes:
            POSITIVE.check("object.half_sizes", size)
        turns = (*self.object.rpy, *self.table_rpy)
        if not all(math.isfinite(value) for value in (*self.object.position[:2], *turns, self.table_height)):
            raise InvalidInputError("object.position", self.object.position, "finite figures")
        if not abs(float(self.table_placement.rotation[:, 2] @ self.belt_velocity)) < 1e-6:
            raise InvalidInputError("belt_velocity", list(self.belt_velocity), "finite, and along the table")
        POSITIVE.check("cycle", self.cycle)
        if self.substeps < 1:
            raise InvalidInputError("substeps", self.substeps, "an integer >= 1")
        if self.impact_substeps < self.substeps:
            raise InvalidInputError("impact_substeps", self.impact_substeps, f"at least substeps ({self.substeps})")
        for pair in ("tool_object", "object_table", "tool_table"):
            _check_contact(pair, getattr(self, pair), self.timestep)

    def at(self, cycle: float) -> Self:
        """This scene with another control cycle, s, and with physics steps that are as long or somewhat shorter.

        Raises:
            InvalidInputError: A cycle that is not positive.
        """
        POSITIVE.check("cycle", cycle)
        longer = cycle / self.cycle - 1e-9
        steps = math.ceil(self.substeps * longer), math.ceil(self.impact_substeps * longer)
        return replace(self, cycle=cycle, substeps=steps[0], impact_substeps=steps[1])

    @property
    def timestep(self) -> float:
        """Physics timestep away from impacts, s."""
        return self.cycle / self.substeps

    @property
    def object_placement(self) -> pin.SE3:
        """Pose of the object in the world at the start."""
        x, y, z = self.object.position
        rotation = pin.rpy.rpyToMatrix(*self.object.rpy)
        if math.isnan(z):
            z = self.table_height + self.object.solid.depth(-rotation[2])
        return pin.SE3(rotation, np.array([x, y, z]))

    @property
    def table_placement(self) -> pin.SE3:
        """Pose of the table top in the world: its z axis points out of it."""
        if not any(self.table_rpy):
            return pin.SE3(np.eye(3), np.array([0.0, 0.0, self.table_height]))
        x, y, _ = self.object.position
        return pin.SE3(pin.rpy.rpyToMatrix(*self.table_rpy), np.array([x, y, self.table_height]))

    def arm(self, name: str) -> ArmMount:
        """The mount of that name.

        Raises:
            UnknownNameError: No such arm.
        """
        arms = {arm.name: arm for arm in self.arms}
        check_name("arm", name, arms)
        return arms[name]


def _check_contact(where: str, contact: ContactSettings, timestep: float) -> None:
    for name in ("time_constant", "friction_time_constant"):
        # MuJoCo silently raises a time constant below two steps; a refusal keeps the file honest.
        if not getattr(contact, name) >= 2.0 * timestep * (1.0 - 1e-9):
            raise InvalidInputError(
                f"{where}.{name}", getattr(contact, name), f">= two timesteps ({2.0 * timestep:g} s)"
            )
    POSITIVE.check(f"{where}.damping_ratio", contact.damping_ratio)
    if not 0.0 < contact.impedance < 1.0:
        raise InvalidInputError(f"{where}.impedance", contact.impedance, "a figure between 0 and 1")
    NOT_NEGATIVE.check(f"{where}.friction", contact.friction)
