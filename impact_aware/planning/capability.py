"""How fast an arm may hit in one posture and direction, and which limit ends it: every limit of `impact_loads`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control.safety.impact_check import ExpectedImpact, ImpactLoad, impact_loads, worst_joint
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits


class Capability(NamedTuple):
    """What a hit in one posture may be.

    Attributes:
        speed: Largest that keeps every limit, m/s.
        effective_mass: Of the arm along the normal, kg.
        limit: Name of the limit that it reaches, as of `ImpactLoad`, or `tool_speed` and `velocity_before`.
        where: Joint that reaches it, or what else it is about.
        jump: Norm of the joints' jump at 1 m/s, rad/s.
    """

    speed: float
    effective_mass: float
    limit: str
    where: str
    jump: float


def capability(robot: RobotModel, q: Array, normal: Array, object_mass: float, held: int = -1) -> Capability:
    """The fastest hit against a normal, central and without friction, by a tool that does not turn.

    With j = n' J and the reduced mass m_r = 1 / (j M^-1 j' + 1 / m), a hit at v jumps the joints by M^-1 j' m_r v: all
    loads grow with the speed, or its square, so one evaluation at 1 m/s gives each limit's speed.

    Args:
        robot: The arm.
        q: (n,) Posture, rad.
        normal: (3,) Unit vector from the object into the robot, base frame: the tool moves against it.
        object_mass: kg.
        held: Index of a joint that rests before the hit; none below 0.
    """
    limits, jacobian, inertia = SafetyLimits.of(robot), robot.frame_jacobian(q), robot.mass_matrix(q)
    row = normal @ jacobian[:3]
    answer = np.linalg.solve(inertia, row)
    mass = 1.0 / float(row @ answer)
    reduced = 1.0 / (1.0 / mass + 1.0 / object_mass)
    rows = np.vstack([jacobian, np.eye(robot.n)[[held] if held >= 0 else []]])
    before = np.asarray(np.linalg.pinv(rows) @ np.append(-normal, np.zeros(len(rows) - 3)), dtype=np.float64)
    after = before + answer * reduced
    hit = ExpectedImpact("", mass, 1.0, 0.5 * mass, q, before, after, row * reduced, np.zeros(robot.n))
    loads = (*impact_loads(hit, robot, limits), *approach_loads(robot, limits, q, before))
    worst = min(loads, key=lambda load: load.headroom)
    return Capability(worst.headroom, mass, worst.name, worst.where, reduced * float(np.linalg.norm(answer)))


def approach_loads(robot: RobotModel, limits: SafetyLimits, q: Array, dq: Array) -> tuple[ImpactLoad, ImpactLoad]:
    """Limits of the approach just before a hit, in a posture (n,) at joint velocities (n,): a joint's, the tool's."""
    tool, most = float(np.linalg.norm(robot.frame_jacobian(q)[:3] @ dq)), limits.tool_speed
    return (
        worst_joint("velocity_before", robot, dq, robot.limits.velocity),
        ImpactLoad("tool_speed", "tool", tool, most, tool / most, most / tool),
    )
