"""Object velocity just after the intended impact by where the tools touch, and the map sampled from it.

van Steen 2024, section III-B1 and appendix A: at each position of the impact plane a tool has the wanted orientation
and the velocity of the ante-impact field, without rotating, and the null-space joint is held. A position is projected
onto the plane, so two coordinates of it count; with two arms the coordinates of both make the impact state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact import Contact, FreeObject
from impact_aware.contact.box import homogeneous_box
from impact_aware.errors import InvalidInputError
from impact_aware.impact import DEFAULT_METHOD, predict
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.reference.field import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task.grasp import predict_grasp
from impact_aware.task.make_field import (
    base_placement,
    joint_velocity_of_tool,
    make_field,
    posture_with_tool_at,
    usual_posture,
)
from impact_aware.task.task import Task

_OUTPUTS = ("object vx [m/s]", "object vy [m/s]", "object vz [m/s]")


class PushPrediction:
    """Object velocity just after an impact of a task's only arm, by position in the impact plane.

    Attributes:
        task: Of one arm.
        field: Its reference field.
        nominal: (3,) The tool position that the task wants at the impact, task frame, m.
        across: Indices of the two axes that span the impact plane.
        method: Name of the impact map.
        inertia: Which inertia is used.
    """

    def __init__(self, task: Task, *, method: str = DEFAULT_METHOD, inertia: str = "M+B_theta") -> None:
        """Prepare what does not change with the position.

        Raises:
            InvalidInputError: A task of several arms, or one that can't be done.
        """
        if len(task.arms) != 1:
            raise InvalidInputError("task", f"{task.name} with {len(task.arms)} arms", "a task of one arm")
        self.task, self.method, self.inertia = task, method, inertia
        self._arm = task.arms[0]
        self._robot = RobotModel.from_profile(self._arm.robot)
        self.field: ReferenceField = make_field(task, [self._robot])
        reference = self.field.arms[0]
        self.nominal = reference.impact_position
        self.across = [axis for axis in range(3) if reference.normal[axis] == 0.0]
        base = base_placement(self._arm)
        self._to_base = base.rotation.T
        box = homogeneous_box(task.object.mass, task.object.half_extents, base.actInv(np.array(task.object.position)))
        self._object: FreeObject = dataclasses.replace(box, inertia=self._to_base @ box.inertia @ base.rotation)
        self._contact = Contact(
            self._robot.tool_frame,
            self._to_base @ reference.normal,
            radius=self._robot.tool_radius,
            friction=task.object.friction_tool,
            restitution=task.object.restitution,
        )
        self._approach = self.field.ante_impact()
        self._seed = posture_with_tool_at(self._arm, self._robot, self.nominal, usual_posture(self._arm, self._robot))

    def __call__(self, across: ArrayLike) -> Array:
        """Object velocity (3,) just after an impact at the position with these two coordinates, task frame, m/s.

        Raises:
            InvalidInputError: The position is out of reach.
        """
        position = self.nominal.copy()
        position[self.across] = across
        q, dq = self.state_at(position)
        after = predict(
            self._robot, q, dq, self._contact, obstacle=self._object, method=self.method, inertia=self.inertia
        ).object_twist_after
        assert after is not None
        return np.asarray(self._to_base.T @ after[:3])

    def state_at(self, position: Array) -> tuple[Array, Array]:
        """Joint positions and velocities (n,) with the tool at `position` (3,) as the ante-impact field wants it.

        Raises:
            InvalidInputError: The position is out of reach.
        """
        q = posture_with_tool_at(self._arm, self._robot, position, self._seed)
        return q, joint_velocity_of_tool(self._arm, self._robot, q, self._approach.velocity(position))


class GraspPrediction:
    """Object velocity just after several palms hit it at once, by their positions in their impact planes.

    Attributes:
        task: Of several arms.
        field: Its reference field.
        nominal: (2 arms,) The positions that the task wants, along the axes of each impact plane, m.
    """

    def __init__(self, task: Task, robots: Sequence[RobotModel]) -> None:
        """Prepare what does not change with the positions.

        Raises:
            InvalidInputError: A task that can't be done.
        """
        self.task, self._robots = task, list(robots)
        self.field: ReferenceField = make_field(task, robots)
        positions = np.array([own.impact_position for own in self.field.arms])
        self.nominal = impact_coordinates(self.field, positions)
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
        return predict_grasp(self.task, self._robots, self.field, self.postures_at(across))

    def postures_at(self, across: ArrayLike) -> Array:
        """Joint positions (n,) of all arms with the tools at positions (2 arms,), rad; each arm's are kept."""
        parts = np.asarray(across, dtype=float).reshape(len(self._robots), 2)
        return np.concatenate([self._posture_at(index, part) for index, part in enumerate(parts)])

    def _posture_at(self, index: int, part: Array) -> Array:
        key = (index, part.tobytes())
        if key not in self._known:
            own, arm = self.field.arms[index], self.task.arms[index]
            position = own.impact_position.copy()
            position[own.normal == 0.0] = part
            self._known[key] = posture_with_tool_at(arm, self._robots[index], position, self._seeds[index])
        return self._known[key]


def impact_coordinates(field: ReferenceField, tool_positions: Array) -> Array:
    """The impact state (2 arms,) of tools at (arms, 3): their coordinates along the axes of their impact planes, m."""
    return np.concatenate([tool[own.normal == 0.0] for own, tool in zip(field.arms, tool_positions, strict=True)])


def sample_impact_map(
    task: Task, robots: Sequence[RobotModel], *, half_width: float = 0.03, method: str = DEFAULT_METHOD
) -> ImpactMap:
    """The map of a task over squares about the intended positions: 5 x 5 of one arm, 3 x 3 of each of two.

    Args:
        task: The task.
        robots: One model per arm.
        half_width: Of the squares, m.
        method: Name of the impact map of one arm; several palms hit without slip and rebound (`predict_grasp`).

    Raises:
        InvalidInputError: A task that can't be done, or a position out of reach.
    """
    several = len(task.arms) > 1
    direct = GraspPrediction(task, robots) if several else PushPrediction(task, method=method)
    nominal = direct.nominal if isinstance(direct, GraspPrediction) else direct.nominal[direct.across]
    names = [f"{arm.name or 'tool'} {axis} [m]" for arm in task.arms for axis in ("first", "second")]
    steps = np.linspace(-half_width, half_width, 3 if several else 5)
    grid = {name: np.round(centre + steps, 9) for name, centre in zip(names, nominal, strict=True)}
    notes = {
        "kind": "object velocity over impact positions",
        "task": task.name,
        "object": task.object.name,
        "mass": task.object.mass,
        "method": method,
    }
    return ImpactMap.sample(direct, grid, _OUTPUTS, notes=notes)
