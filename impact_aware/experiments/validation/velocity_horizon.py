"""How much the velocity horizon of joint limits changes torques against van Steen 2024, (29)-(30), in random states."""

from __future__ import annotations

import numpy as np

from impact_aware.control.parameters import ControlParameters
from impact_aware.control.qp import AccelerationTask, LimitBounds, ProgramBuilder, QpSolver
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.robot import RobotModel

_STATES, _SPEED, _TASK = 10, 0.9, 20.0  # states per trial; share of the velocity limits; acceleration that is wanted
_CHANGED = 0.1  # N m
_SOURCE = Source(
    "van Steen 2024 (29)-(30)",
    "aim",
    f"Panda in random postures, joints at up to {_SPEED:g} of their velocity limits, accelerations of the tool drawn "
    f"with {_TASK:g} m/s^2 and rad/s^2; largest change of a joint's torque of state by state: motions of tasks are "
    "mostly slower",
)


def velocity_horizon(context: ValidationContext) -> list[Check]:
    """Report how often, and by how much, the shipped horizon changes the torques that one period, (30), leads to."""
    robot, shipped = RobotModel.from_profile("panda"), ControlParameters()
    limits, generator = robot.limits, np.random.default_rng(context.seed)
    period, deceleration = shipped.period, shipped.braking_acceleration
    builder, solver = ProgramBuilder(robot.n, shipped.regularisation), QpSolver([robot.n])
    bounds = [LimitBounds([limits], period, deceleration, horizon) for horizon in (shipped.velocity_horizon, 0.0)]
    changes = []
    for _ in context.count(context.trials):
        for _ in range(_STATES):
            q = generator.uniform(limits.position_lower, limits.position_upper)
            dq = generator.uniform(-_SPEED, _SPEED, robot.n) * limits.velocity
            tool = AccelerationTask(
                robot.frame_jacobian(q).copy(), generator.normal(0.0, _TASK, 6), 1.0, slice(0, robot.n)
            )
            held = AccelerationTask(np.eye(robot.n)[:1], np.zeros(1), 1.0, slice(0, robot.n))
            bias, inertia, torques = robot.bias(q, dq), robot.mass_matrix(q, "M+B_theta"), []
            for bound in bounds:
                program = builder.build([tool, held], bound.limits(q, dq, bias).copy(), inertia)
                torques.append(np.array(solver.solve(program).inertia_torque))
            changes.append(np.abs(torques[0] - torques[1]).max())
    changed = np.array([change for change in changes if change > _CHANGED] or [0.0])
    share = np.mean(np.array(changes) > _CHANGED)
    return [
        _SOURCE.reported(f"states whose torques change by more than {_CHANGED:g} N m, %", 100.0 * share),
        _SOURCE.reported("median change in these, N m", np.median(changed)),
        _SOURCE.reported("largest change, N m", changed.max()),
    ]
