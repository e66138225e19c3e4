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
from impact_aware.contact.geometry import FreeObject
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact.bodies import ArmState, BodyContact, joint_problem
from impact_aware.impact.material import RIGID, Pads, draw_materials
from impact_aware.impact.palm import palm_gaps, table_contacts
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.parameters import Options, described, shared
from impact_aware.ranges import Range
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.grasp import IMPACT_TIME, pad_time, placed_arms, tool_contacts, tool_of
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


@dataclass(frozen=True, eq=False)
class Worlds:
    """Drawn worlds, one row each.

    Attributes:
        mass: (N,) Factor on the object's mass.
        friction: (N, 2) Factors on the coefficients with the table and with a tool.
        inertia: (N,) Deviation of the apparent motor inertia, in standard deviations of it.
        shift: (N, 2) Of the object, horizontal, m.
        yaw: (N,) Of the object about the vertical, rad.
        law: (N, 3) Error of the predicted velocity, in standard deviations of it.
        carry: (N,) Time for which a released object keeps the tool's speed, s.
    """

    mass: Array
    friction: Array
    inertia: Array
    shift: Array
    yaw: Array
    law: Array
    carry: Array

    @classmethod
    def stated(cls, known: HitUncertainty, aside: Array) -> Worlds:
        """Worlds as stated but for the object's place, which is (N, 2) aside, m."""
        count = len(aside)
        even, zeros = np.ones(count), np.zeros(count)
        return cls(even, np.ones((count, 2)), zeros, aside, zeros, np.zeros((count, 3)), known.carry_time * even)

    @classmethod
    def drawn(cls, known: HitUncertainty, count: int) -> Worlds:
        """As many worlds; the first ones are the same for any count."""
        normal = np.random.default_rng(SEED).normal(size=(count, 11))
        return cls(
            np.maximum(1.0 + known.mass * normal[:, 0], LEAST_FACTOR),
            np.maximum(1.0 + known.friction * normal[:, 1:3], LEAST_FACTOR),
            normal[:, 3],
            known.point * normal[:, 4:6],
            known.normal * normal[:, 6],
            normal[:, 7:10],
            np.maximum(known.carry_time + known.carry_spread * normal[:, 10], 0.0),
        )


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

    def predicted(self, known: HitUncertainty, worlds: Worlds, row: int = 0) -> SimultaneousPrediction:
        """What the hit does in one world; arms and object go by their names in the task."""
        contacts, arms, objects, gaps = self._scene(known, worlds, row)
        pads = pad_time(self.task, range(len(self.robots)))
        late: dict[str, Any] = {"gaps": gaps, "time_constant": pads} if pads > 0.0 and self.task.lifts else {}
        return predict_simultaneous(contacts, arms=arms, objects=objects, search=False, **late)

    def jump(self, known: HitUncertainty, worlds: Worlds) -> float:
        """Norm of the jumps of all joints in the first world, rad/s."""
        after = self.predicted(known, worlds).velocity_after
        parts = [after[arm.name] - dq for arm, dq in zip(self.task.arms, self.dq, strict=True)]
        return float(np.linalg.norm(np.concatenate(parts)))

    def velocities(self, known: HitUncertainty, worlds: Worlds) -> Array:
        """Velocity (N, 3) of the object just after the hit in each world, m/s."""
        name, rows = self.task.object.name, range(len(worlds.mass))
        after = np.array([self.predicted(known, worlds, row).velocity_after[name][:3] for row in rows])
        speed = max(float(np.linalg.norm(own.impact_velocity)) for own in self.field.arms)
        after += worlds.law * speed * (known.grasp_law if self.task.lifts else known.law)
        pads = Pads(material=known.material)
        if pads.laws:
            contacts, arms, objects, _ = self._scene(known, worlds, 0)
            law = self.predicted(known, worlds)
            problem = joint_problem(contacts, arms=arms, objects=objects)
            generator, start = np.random.default_rng(SEED), problem.columns[name].start
            drawn = draw_materials(law, problem, generator, pads=pads) @ problem.response[start : start + 3].T
            after += generator.permutation(np.resize(drawn, after.shape))
            after += problem.velocity[start : start + 3] - law.velocity_after[name][:3]
        return after

    def _scene(
        self, known: HitUncertainty, worlds: Worlds, row: int
    ) -> tuple[list[BodyContact], dict[str, ArmState], dict[str, FreeObject], Array]:
        """Contacts of a world, its arms and objects by name, and what each contact has to close at the first one, m."""
        task, field, thing = self.task, self.field, self.task.object
        arms = placed_arms(task, self.robots, self.q, self.dq)
        for own, robot in zip(task.arms, self.robots, strict=True):
            motors, spread = robot.apparent_motor_inertia, robot.motor_inertia_std_for("M+B_theta")
            spread = spread if known.inertia is None else known.inertia * motors
            added = np.diag(np.maximum(spread * worlds.inertia[row], (LEAST_FACTOR - 1.0) * motors))
            arms[own.name] = replace(arms[own.name], added_inertia=added)
        turn = pin.exp3(worlds.yaw[row] * thing.up) @ thing.rotation
        body = PlacedShape(thing.solid, field.object_position + np.append(worlds.shift[row], 0.0), turn)
        table, tool = (worlds.friction[row] * (thing.friction_table, thing.friction_tool)).tolist()
        rubbing = replace(task, object=replace(thing, friction_tool=tool))
        contacts, gaps, twist = [], [], np.zeros(6)
        nearer = [float(reference.normal[:2] @ worlds.shift[row]) for reference in field.arms]
        for own, robot, reference, near in zip(task.arms, self.robots, field.arms, nearer, strict=True):
            tool = tool_of(arms[own.name])
            found = tool_contacts(rubbing, own, robot, tool, reference.normal, body)
            gaps.append(min(max(nearer) - near, LATEST) + palm_gaps(found, tool, own.pad_half_sizes))
            contacts += found
        if task.lifts:
            twist[2] = -STANDARD_GRAVITY * IMPACT_TIME * max(arm.pad_time_constant for arm in task.arms)
        else:
            contacts += table_contacts(thing.name, body, table, thing.up)
        objects = {thing.name: body.free_object(thing.mass * worlds.mass[row], twist)}
        return contacts, arms, objects, np.concatenate(gaps)


def results(task: Task, kind: str, velocities: Array, worlds: Worlds) -> Array:
    """Results (N, k) of velocities (N, 3) just after a hit in each world.

    A slide (N, 2), m, is s = v t + v^2 / (2 mu g): Coulomb's friction takes mu g of the speed per second from when the
    tool no longer keeps it up. Other results are the velocities: (N, 2) on a table, (N, 3) of a lifted object, m/s.
    """
    if kind != SLIDE:
        return velocities if task.lifts else velocities[:, :2]
    flat = velocities[:, :2]
    speed, grip = np.linalg.norm(flat, axis=1), task.object.friction_table * worlds.friction[:, 0] * STANDARD_GRAVITY
    return flat * (worlds.carry + speed / (2.0 * grip))[:, None]


def speed_for_slide(length: float, friction: float, carry: float) -> float:
    """Speed just after a hit, m/s, from which an object slides a length, m: the positive root of `results`' s(v)."""
    grip = friction * STANDARD_GRAVITY
    return grip * (np.sqrt(carry**2 + 2.0 * length / grip) - carry)
