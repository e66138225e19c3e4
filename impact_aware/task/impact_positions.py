"""Object velocity just after the intended impact by where the tools touch, and the map sampled from it.

van Steen 2024, section III-B1 and appendix A: at each position of the impact plane a tool has the wanted orientation
and the velocity of the ante-impact field, without rotating, and the null-space joint is held. A position is projected
onto the plane, so two coordinates of it count; with two arms the coordinates of both make the impact state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact import Contact
from impact_aware.contact.shape import PlacedShape
from impact_aware.impact import DEFAULT_METHOD, predict
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.impact.table_support import TableSupport
from impact_aware.reference.field import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.arms import robots_of_task
from impact_aware.task.grasp import predict_grasp
from impact_aware.task.make_field import (
    base_placement,
    hit_normal,
    joint_velocity_of_tool,
    make_field,
    posture_with_tool_at,
    usual_posture,
)
from impact_aware.task.task import Task

MAP_KIND = "object velocity over contact places"
"""Kind of a saved map; written into files, so it stays."""

_OUTPUTS = ("object vx [m/s]", "object vy [m/s]", "object vz [m/s]")


class IntendedImpact:
    """Object velocity just after the intended impact of all tools, by their positions in their impact planes.

    A round tip hits at one point of an object that nothing holds; palms hit with their corners (`predict_grasp`).

    Attributes:
        task: The task.
        field: Its reference field.
        nominal: (2 arms,) The positions that the task wants, along the axes of each impact plane, m.
        planes: Per arm the indices of the two axes that span its impact plane.
        method: Name of the impact map of one arm.
        inertia: Which inertia it uses.
    """

    def __init__(
        self,
        task: Task,
        robots: Sequence[RobotModel] | None = None,
        *,
        method: str = DEFAULT_METHOD,
        inertia: str = "M+B_theta",
    ) -> None:
        """Prepare what does not change with the positions; `robots` are those of the task's profiles when None.

        Raises:
            InvalidInputError: A task that can't be done.
        """
        self.task, self.method, self.inertia = task, method, inertia
        self._robots = robots_of_task(task) if robots is None else list(robots)
        self.field: ReferenceField = make_field(task, self._robots)
        positions = np.array([own.impact_position for own in self.field.arms])
        self.nominal = impact_coordinates(task, positions)
        self._turn = task.object.turn
        self.planes = impact_planes(task)
        self._approach = [self.field.ante_impact(index) for index in range(len(task.arms))]
        self._known: dict[tuple[int, bytes], Array] = {}
        self._seeds = [
            posture_with_tool_at(arm, robot, position, usual_posture(arm, robot))
            for arm, robot, position in zip(task.arms, self._robots, positions, strict=True)
        ]

    def __call__(self, across: ArrayLike) -> Array:
        """Object velocity (3,) for positions (2 arms,) as `nominal` has them, task frame, m/s.

        Raises:
            InvalidInputError: A position out of reach.
        """
        tools = self.tool_positions(across)
        postures = [self._posture(index, tool) for index, tool in enumerate(tools)]
        if any(any(arm.pad_half_sizes) for arm in self.task.arms):
            return predict_grasp(self.task, self._robots, self.field, np.concatenate(postures))
        return self._push(postures[0], tools[0])

    def tool_positions(self, across: ArrayLike) -> Array:
        """Tool positions (arms, 3) in their impact planes with these coordinates (2 arms,), task frame, m."""
        tools = np.array([self._turn.T @ own.impact_position for own in self.field.arms])
        parts = np.reshape(across, (len(tools), 2))
        for own, tool, plane, part in zip(self.field.arms, tools, self.planes, parts, strict=True):
            normal, beyond = self._turn.T @ own.normal, 3 - sum(plane)
            tool[beyond] -= normal[plane] @ (part - tool[plane]) / normal[beyond]
            tool[plane] = part
        return np.asarray(tools @ self._turn.T)

    def state(self, index: int, tool: Array) -> tuple[Array, Array]:
        """Joint positions and velocities (n,) of an arm with its tool at (3,) as the ante-impact field wants it.

        Raises:
            InvalidInputError: The position is out of reach.
        """
        q = self._posture(index, tool)
        velocity = self._approach[index].velocity(tool)
        return q, joint_velocity_of_tool(self.task.arms[index], self._robots[index], q, velocity)

    def _posture(self, index: int, tool: Array) -> Array:
        key = (index, tool.tobytes())
        if key not in self._known:
            arm, robot = self.task.arms[index], self._robots[index]
            self._known[key] = posture_with_tool_at(arm, robot, tool, self._seeds[index])
        return self._known[key]

    def _push(self, q: Array, tool: Array) -> Array:
        thing, robot = self.task.object, self._robots[0]
        base = base_placement(self.task.arms[0])
        to_base = base.rotation.T
        place = base.actInv(np.array(thing.position))
        body = PlacedShape(thing.solid, place, to_base @ thing.rotation)
        contact = Contact(
            robot.tool_frame,
            body.normal_at_ball(base.actInv(tool), to_base @ self.field.arms[0].normal),
            radius=robot.tool_radius,
            friction=thing.friction_tool,
            restitution=thing.restitution,
        )
        obstacle, (_, dq) = body.free_object(thing.mass), self.state(0, tool)
        how: dict[str, Any] = {"method": self.method, "inertia": self.inertia}
        if self.method == DEFAULT_METHOD and not self.task.lifts:
            how["table"] = TableSupport(body, obstacle, thing.friction_table, to_base @ thing.up)
        prediction = predict(robot, q, dq, contact, obstacle=obstacle, **how)
        assert prediction.object_twist_after is not None
        return np.asarray(base.rotation @ prediction.object_twist_after[:3])


def impact_planes(task: Task) -> list[list[int]]:
    """Per arm the indices of the two axes of the turned object along which positions in its impact plane are counted.

    The plane need not lie along them: the third is the one that is nearest to its normal.
    """
    normals = [task.object.turn.T @ hit_normal(task, arm) for arm in task.arms]
    return [[axis for axis in range(3) if axis != int(np.argmax(np.abs(normal)))] for normal in normals]


def impact_coordinates(task: Task, tool_positions: Array) -> Array:
    """The impact state (2 arms,) of tools at (arms, 3): their coordinates along the axes of their impact planes, m.

    The axes are those of the object, through the origin of the task's frame.
    """
    along = np.asarray(tool_positions) @ task.object.turn
    return np.concatenate([tool[plane] for plane, tool in zip(impact_planes(task), along, strict=True)])


def sample_impact_map(
    direct: IntendedImpact, *, half_width: float = 0.03, count: int | None = None, shape: float = 0.5
) -> ImpactMap:
    """The map of a task over squares of `half_width`, m, about the intended positions.

    `count` positions per side are 5 of one arm and 3 of each of several when None; `shape` of the basis functions is
    per grid spacing.

    Raises:
        InvalidInputError: A position out of reach.
        NoSolutionError: Too many positions for this shape.
    """
    task = direct.task
    names = [
        f"{arm.name} {'xyz'[axis]} [m]".lstrip()
        for arm, plane in zip(task.arms, direct.planes, strict=True)
        for axis in plane
    ]
    steps = np.linspace(-half_width, half_width, count or (5 if len(task.arms) == 1 else 3))
    # Rounded to the nanometre, so that the border of the map is the number that people write.
    grid = {name: np.round(centre + steps, 9) for name, centre in zip(names, direct.nominal, strict=True)}
    notes = {
        "kind": MAP_KIND,
        "task": task.name,
        "object": task.object.name,
        "mass": task.object.mass,
        "frame": task.frame,
        "axes": [axis for plane in direct.planes for axis in plane],
        "nominal": np.concatenate([own.impact_position for own in direct.field.arms]).tolist(),
        "method": direct.method,
        "inertia": direct.inertia,
    }
    return ImpactMap.sample(direct, grid, _OUTPUTS, shape=shape, notes=notes)
