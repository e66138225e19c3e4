"""What a hit does to the object under errors of all its inputs: one prediction per drawn world.

A world has its own mass, friction, apparent inertia, contact point and orientation of the object. Without the short
time of a grasp's weight the impact map is homogeneous: twice the tools' velocities give twice the velocities after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.impact.bodies import joint_problem
from impact_aware.impact.material import RIGID, Pads, draw_materials
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.parameters import Options, described, shared
from impact_aware.ranges import Range
from impact_aware.reference import ReferenceField
from impact_aware.reference.rotation import quaternion_from_rotation
from impact_aware.robot import RobotModel
from impact_aware.task.grasp import IMPACT_TIME, grasp_scene, placed_arms
from impact_aware.task.result import SLIDE
from impact_aware.task.task import STANDARD_GRAVITY, Task

LATEST = 0.004
"""Most by which one palm is taken to touch later than the other, m: from there on the result stays the same."""

SEED = 47
"""Seed of the worlds: plans of equal inputs are equal."""

SHARE = Range(0.0, 1.0)
"""Range of a standard deviation that is a share."""

LEAST_FACTOR = 0.1
"""Least mass or friction of a drawn world over the stated one."""


@dataclass(frozen=True, kw_only=True)
class HitUncertainty(Options):
    """Standard deviations of what a planned hit depends on."""

    mass: float = described(0.02, "of the object's mass, as a share of it", within=SHARE, flag="--mass-std")
    friction: float = described(
        0.05, "of each coefficient of friction, as a share of it", within=SHARE, flag="--friction-std"
    )
    inertia: float | None = described(
        None, "of the apparent motor inertia, as a share of it", within=SHARE, flag="--inertia-std",
        absent="the profile's",
    )  # fmt: skip
    point: float = described(0.002, "of the object's place", within=Range(0.0, 1.0, "m"), flag="--point-std")
    normal: float = described(
        0.0175, "of its orientation about the vertical", within=Range(0.0, 1.0, "rad"), flag="--normal-std"
    )
    law: float = described(
        0.03, "of the predicted velocity, as a share of the tool's speed: found in simulation", within=SHARE,
        flag="--law-std",
    )  # fmt: skip
    grasp_law: float = described(
        0.13, "the same of two palms, which never touch at the same moment", within=SHARE, flag="--grasp-law-std"
    )
    carry_time: float = described(
        0.02, "time for which a released object keeps the tool's speed before it slides alone",
        within=Range(0.0, 1.0, "s"),
    )  # fmt: skip
    carry_spread: float = described(0.005, "of that time", within=Range(0.0, 1.0, "s"), flag="--carry-std")
    material: str = shared(Pads, "material", RIGID)


MASS, TABLE, TOOL, INERTIA, SHIFT, YAW, LAW, CARRY = 0, 1, 2, 3, slice(4, 6), 6, slice(7, 10), 10
"""Columns of worlds (N, 11), by how many standard deviations each input is off: the object's mass, coefficients of
friction, apparent motor inertia, the object's place and yaw, the predicted velocity, and `carry_time`."""


def drawn_worlds(count: int) -> Array:
    """Worlds (N, 11), the same at every call."""
    return np.random.default_rng(SEED).normal(size=(count, CARRY + 1))


@dataclass(frozen=True, eq=False)
class HitState:
    """The tools of a task just before its hit.

    Attributes:
        task: The task.
        robots: One model per arm.
        field: Its reference field.
        q: Joint positions (n,) of each arm, rad.
        dq: Joint velocities (n,) of each arm, rad/s.
    """

    task: Task
    robots: Sequence[RobotModel]
    field: ReferenceField
    q: Sequence[Array]
    dq: Sequence[Array]

    @property
    def stated(self) -> Array:
        """The world as stated, or one for either of two palms that touches first."""
        worlds = np.zeros((2 if self.task.lifts else 1, CARRY + 1))
        if self.task.lifts:
            aside = self.field.arms[0].normal[:2]
            worlds[:, SHIFT] = aside, -aside
        return worlds

    def predicted(self, known: HitUncertainty, world: Array) -> SimultaneousPrediction:
        """What the hit does in a world (11,); arms and object go by their names in the task."""
        return predict_simultaneous(**self._scene(known, world), search=False)

    def jump(self, known: HitUncertainty) -> float:
        """Norm of the jumps of all joints as stated, rad/s."""
        after = self.predicted(known, self.stated[0]).velocity_after
        parts = [after[arm.name] - dq for arm, dq in zip(self.task.arms, self.dq, strict=True)]
        return float(np.linalg.norm(np.concatenate(parts)))

    def velocities(self, known: HitUncertainty, worlds: Array) -> Array:
        """Velocity (N, 3) of the object just after the hit in each world, m/s."""
        name = self.task.object.name
        after = np.array([self.predicted(known, world).velocity_after[name][:3] for world in worlds])
        speed = max(float(np.linalg.norm(own.impact_velocity)) for own in self.field.arms)
        after += worlds[:, LAW] * speed * (known.grasp_law if self.task.lifts else known.law)
        pads = Pads(material=known.material)
        if pads.laws:
            scene, law = self._scene(known, worlds[0]), self.predicted(known, worlds[0])
            problem = joint_problem(scene["contacts"], arms=scene["arms"], objects=scene["objects"])
            generator, start = np.random.default_rng(SEED), problem.columns[name].start
            drawn = draw_materials(law, problem, generator, pads=pads) @ problem.response[start : start + 3].T
            after += generator.permutation(np.resize(drawn, after.shape))
            after += problem.velocity[start : start + 3] - law.velocity_after[name][:3]
        return after

    def _scene(self, known: HitUncertainty, world: Array) -> dict[str, Any]:
        """What `predict_simultaneous` takes of the tools and the object in a world (11,)."""
        thing, arms = self.task.object, placed_arms(self.task, self.robots, self.q, self.dq)
        for own, robot in zip(self.task.arms, self.robots, strict=True):
            motors, spread = robot.apparent_motor_inertia, robot.motor_inertia_std_for("M+B_theta")
            spread = spread if known.inertia is None else known.inertia * motors
            added = np.diag(np.maximum(spread * world[INERTIA], (LEAST_FACTOR - 1.0) * motors))
            arms[own.name] = replace(arms[own.name], added_inertia=added)
        shift = known.point * np.append(world[SHIFT], 0.0)
        table = thing.friction_table * _factor(known.friction * world[TABLE])
        tool = thing.friction_tool * _factor(known.friction * world[TOOL])
        task = replace(self.task, object=replace(thing, friction_table=table, friction_tool=tool))
        mass, turn = thing.mass * _factor(known.mass * world[MASS]), pin.exp3(known.normal * world[YAW] * thing.up)
        orientation = quaternion_from_rotation(turn @ thing.rotation)
        field = replace(self.field, object_mass=mass, object_orientation=orientation)
        nearer = [float(own.normal @ shift) for own in field.arms]
        late = [min(max(nearer) - near, LATEST) for near in nearer]
        times = [gap / -float(own.impact_velocity @ own.normal) for gap, own in zip(late, field.arms, strict=True)]
        weighing = IMPACT_TIME * max(arm.pad_time_constant for arm in task.arms)
        hitting, place = range(len(arms)), field.object_position + shift
        return grasp_scene(task, self.robots, field, arms, place, hitting, times=times, weighing=weighing)


def _factor(deviation: Array) -> float:
    return max(1.0 + float(deviation), LEAST_FACTOR)


def results(task: Task, kind: str, velocities: Array, known: HitUncertainty, worlds: Array) -> Array:
    """Results (N, k) of velocities (N, 3) just after a hit in each world (N, 11).

    A slide (N, 2), m, is s = v t + v^2 / (2 mu g): Coulomb's friction takes mu g of the speed per second from when the
    tool no longer keeps it up. Other results are the velocities: (N, 2) on a table, (N, 3) of a lifted object, m/s.
    """
    if kind != SLIDE:
        return velocities if task.lifts else velocities[:, :2]
    grip = np.maximum(1.0 + known.friction * worlds[:, TABLE], LEAST_FACTOR)
    grip *= task.object.friction_table * STANDARD_GRAVITY
    carry = np.maximum(known.carry_time + known.carry_spread * worlds[:, CARRY], 0.0)
    flat = velocities[:, :2]
    return flat * (carry + np.linalg.norm(flat, axis=1) / (2.0 * grip))[:, None]


def speed_for_slide(length: float, friction: float, carry: float) -> float:
    """Speed just after a hit, m/s, from which an object slides a length, m: the positive root of `results`' s(v)."""
    grip = friction * STANDARD_GRAVITY
    return grip * (np.sqrt(carry**2 + 2.0 * length / grip) - carry)
