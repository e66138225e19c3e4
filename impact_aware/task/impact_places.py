"""Object velocity just after the intended impact by where the tools touch, and the map sampled from it.

van Steen 2024, section III-B1 and appendix A: at each place of the impact plane a tool has the wanted orientation and
the velocity of the ante-impact field, without turning, and the null-space joint is held. A place is projected onto the
plane, so that only two coordinates of it count; with two arms the coordinates of both together make the impact state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

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
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.task.grasp_prediction import predict_grasp
from impact_aware.task.make_field import base_placement, make_field, tool_placement
from impact_aware.task.task import ArmTask, Task

_OUTPUTS = ("object vx [m/s]", "object vy [m/s]", "object vz [m/s]")


class PlacePrediction:
    """Object velocity just after an impact of a task's arm, by place in the impact plane.

    Attributes:
        task: Of one arm.
        field: Its reference field.
        nominal: (3,) The tool position that the task wants at the impact, task frame, m.
        across: Indices of the two axes that span the impact plane.
        method: Name of the impact map.
        inertia: Which inertia is used.
    """

    def __init__(self, task: Task, *, method: str = DEFAULT_METHOD, inertia: str = "M+B_theta") -> None:
        """Prepare what does not change with the place.

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
        turn = base.rotation.T
        box = homogeneous_box(task.object.mass, task.object.half_extents, base.actInv(np.array(task.object.position)))
        self._turn = turn
        self._object: FreeObject = dataclasses.replace(box, inertia=turn @ box.inertia @ base.rotation)
        self._contact = Contact(
            self._robot.tool_frame,
            turn @ reference.normal,
            radius=self._robot.tool_radius,
            friction=task.object.friction_tool,
            restitution=task.object.restitution,
        )
        self._approach = self.field.ante_impact()
        self._seed = self._posture(self.nominal, np.array(self._arm.posture) if self._arm.posture else None)

    def __call__(self, across: ArrayLike) -> Array:
        """Object velocity (3,) just after an impact at the place with these two coordinates, task frame, m/s.

        Raises:
            InvalidInputError: The place is out of reach.
        """
        place = self.nominal.copy()
        place[self.across] = across
        q = self._posture(place, self._seed)
        dq = self._velocity(q, self._approach.velocity(place))
        after = predict(
            self._robot, q, dq, self._contact, obstacle=self._object, method=self.method, inertia=self.inertia
        ).object_twist_after
        assert after is not None
        return np.asarray(self._turn.T @ after[:3])

    def _posture(self, place: Array, seed: Array | None) -> Array:
        return _posture(self._arm, self._robot, place, seed)

    def _velocity(self, q: Array, velocity: Array) -> Array:
        """Joint velocities (n,) with which the tool moves so and does not turn, the null-space joint at rest."""
        jacobian = self._robot.frame_jacobian(q)
        wanted = np.concatenate([self._turn @ velocity, np.zeros(3)])
        if self._arm.null_space_joint >= 0:
            jacobian = np.vstack([jacobian, np.eye(self._robot.n)[self._arm.null_space_joint]])
            wanted = np.append(wanted, 0.0)
        return np.asarray(np.linalg.lstsq(jacobian, wanted, rcond=None)[0])


class GraspPlacePrediction:
    """Object velocity just after several palms hit it at once, by the places of all of them in their impact planes.

    Attributes:
        task: Of several arms.
        field: Its reference field.
        nominal: (2 arms,) The places that the task wants, along the axes of each impact plane, m.
    """

    def __init__(self, task: Task, robots: Sequence[RobotModel]) -> None:
        """Prepare what does not change with the places.

        Raises:
            InvalidInputError: A task that can't be done.
        """
        self.task, self._robots = task, list(robots)
        self.field: ReferenceField = make_field(task, robots)
        places = np.array([own.impact_position for own in self.field.arms])
        self.nominal = touching_places(self.field, places)
        self._known: dict[tuple[int, bytes], Array] = {}
        self._seeds = [
            _posture(arm, robot, place, np.array(arm.posture) if arm.posture else None)
            for arm, robot, place in zip(task.arms, self._robots, places, strict=True)
        ]

    def __call__(self, across: ArrayLike) -> Array:
        """Object velocity (3,) for places (2 arms,) as `nominal` has them, task frame, m/s.

        Raises:
            InvalidInputError: A place out of reach.
        """
        parts = np.asarray(across, dtype=float).reshape(len(self._robots), 2)
        postures = [self._posture_at(index, part) for index, part in enumerate(parts)]
        return predict_grasp(self.task, self._robots, self.field, np.concatenate(postures))

    def _posture_at(self, index: int, part: Array) -> Array:
        key = (index, part.tobytes())
        if key not in self._known:
            own = self.field.arms[index]
            place = own.impact_position.copy()
            place[own.normal == 0.0] = part
            self._known[key] = _posture(self.task.arms[index], self._robots[index], place, self._seeds[index])
        return self._known[key]


def touching_places(field: ReferenceField, tool_positions: Array) -> Array:
    """The impact state (2 arms,) of tools at (arms, 3): their coordinates along the axes of their impact planes, m."""
    return np.concatenate([place[own.normal == 0.0] for own, place in zip(field.arms, tool_positions, strict=True)])


def sample_impact_map(
    task: Task, robots: Sequence[RobotModel], *, half_width: float = 0.03, method: str = DEFAULT_METHOD
) -> ImpactMap:
    """The map of a task over squares about the intended places: 5 x 5 places of one arm, 3 x 3 of each of two.

    Args:
        task: The task.
        robots: One model per arm.
        half_width: Of the squares, m.
        method: Name of the impact map of one arm; several palms hit without slip and rebound (`predict_grasp`).

    Raises:
        InvalidInputError: A task that can't be done, or a place out of reach.
    """
    several = len(task.arms) > 1
    direct = GraspPlacePrediction(task, robots) if several else PlacePrediction(task, method=method)
    nominal = direct.nominal if isinstance(direct, GraspPlacePrediction) else direct.nominal[direct.across]
    names = [f"{arm.name or 'tool'} {'first' if axis == 0 else 'second'} [m]" for arm in task.arms for axis in (0, 1)]
    steps = np.linspace(-half_width, half_width, 3 if several else 5)
    grid = {name: np.round(centre + steps, 9) for name, centre in zip(names, nominal, strict=True)}
    notes: dict[str, Any] = {
        "kind": "object velocity over impact places",
        "task": task.name,
        "object": task.object.name,
    }
    notes |= {"mass": task.object.mass, "method": method}
    return ImpactMap.sample(direct, grid, _OUTPUTS, notes=notes)


def _posture(arm: ArmTask, robot: RobotModel, place: Array, seed: Array | None) -> Array:
    fixed = {arm.null_space_joint: arm.null_space_position} if arm.null_space_joint >= 0 else None
    return solve_inverse_kinematics(robot, tool_placement(arm, place), seed, fixed=fixed)
