"""Control cycle in process, state in to torque out, for one arm and for two: microseconds per cycle of each mode."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import time
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.control import CommandLimiter, ControlParameters, Mode, ReferenceSpreadingController, qp
from impact_aware.control.constraints import LimitBounds
from impact_aware.reference import ReferenceField, load_task, make_field, start_posture
from impact_aware.robot import RobotModel


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long to measure."""
    parser.add_argument("--cycles", type=int, default=2000, help="cycles per figure (default 2000)")
    parser.add_argument(
        "--random-states", type=int, default=0, metavar="N", help="also solve N random states, many far out of limits"
    )
    parser.add_argument("--robot", default="panda", help="robot profile (default panda)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Time the cycles: median and 99th percentile in microseconds, by number of arms and mode."""
    task = load_task("hit_and_push")
    robot = RobotModel.from_profile(args.robot)
    field = make_field(task, [robot])
    posture = start_posture(task.arms[0], robot)
    twice = _two_arms(field)
    turn = pin.SE3(pin.utils.rotate("z", np.pi), np.array([1.2, 0.0, 0.0]))
    result: dict[str, Any] = {"cycles": args.cycles}
    for label, arms, reference, bases in (
        ("one_arm", 1, field, [pin.SE3.Identity()]),
        ("two_arms", 2, twice, [pin.SE3.Identity(), turn]),
    ):
        figures = {}
        for mode in (Mode.ANTE, Mode.INTERIM, Mode.POST):
            # An interim mode without end, so that every cycle measured is of the mode it is counted for.
            parameters = ControlParameters(interim_duration=10.0)
            controller = ReferenceSpreadingController([robot] * arms, parameters, reference, bases)
            figures[mode.name.lower()] = _time_mode(controller, mode, np.tile(posture, arms), args.cycles)
        result[label] = figures
    if args.random_states > 0:
        result["plausible_states"] = solve_random_states(robot, args.random_states, wild=False)
        result["wild_states"] = solve_random_states(robot, args.random_states, wild=True)
    return result


def solve_random_states(robot: RobotModel, count: int, seed: int = 0, *, wild: bool) -> dict[str, Any]:
    """Commands at random states, targets and previous torques: how the QP ends, and whether a torque is ever unsafe.

    Plausible states are within the limits, with a previous torque about that of gravity and Coriolis forces and
    targets up to 100. Wild ones reach a fifth of the range beyond the position limits and several times the velocity
    limits, with any previous torque and targets up to 1e4.
    """
    generator = np.random.default_rng(seed)
    limits, n = robot.limits, robot.n
    solver, bounds = qp.QpSolver(n), LimitBounds([limits], 0.001, 10.0)
    limiter = CommandLimiter(bounds.effort, bounds.effort_step)
    spread = limits.position_upper - limits.position_lower
    ends = dict.fromkeys(qp.QpStatus, 0)
    unsafe, cut = 0, 0.0
    for _ in range(count):
        if wild:
            q = limits.position_lower + spread * generator.uniform(-0.2, 1.2, n)
            dq = limits.velocity * generator.normal(size=n) * generator.choice([0.1, 1.0, 5.0])
        else:
            q = limits.position_lower + spread * generator.uniform(0.0, 1.0, n)
            dq = limits.velocity * generator.uniform(-1.0, 1.0, n) * generator.uniform(0.0, 1.0)
        mass, bias = robot.mass_matrix(q), robot.bias(q, dq)
        previous = limits.effort * generator.uniform(-1.0, 1.0, n)
        if not wild:
            previous = np.clip(bias + 5.0 * generator.normal(size=n), -limits.effort, limits.effort)
        matrix = np.vstack([robot.frame_jacobian(q), np.eye(n)[:1]])
        target = generator.normal(size=7) * 10.0 ** generator.uniform(-2.0, 4.0 if wild else 2.0)
        allowed = bounds.effort_range(previous)
        solution = solver.solve(qp.build(matrix, target, bounds.acceleration(q, dq), mass, bias, allowed, 1e-6))
        ends[solution.status] += 1
        torque = solution.inertia_torque + bias
        cut = max(cut, float(np.max([allowed[0] - torque, torque - allowed[1]])))
        limiter.reset(previous)
        command = limiter.apply(torque)
        step = np.abs(command - previous)
        safe = np.isfinite(command) & (np.abs(command) <= limits.effort) & (step <= bounds.effort_step + 1e-9)
        unsafe += not safe.all()
    return {
        "states": count,
        **{status.name.lower(): number for status, number in ends.items()},
        "largest_overshoot_before_limiter_Nm": cut,
        "unsafe_commands": unsafe,
    }


def _two_arms(field: ReferenceField) -> ReferenceField:
    other = dataclasses.replace(field.arms[0], arm="right")
    return dataclasses.replace(field, arms=(field.arms[0], other))


def _time_mode(controller: ReferenceSpreadingController, mode: Mode, q: np.ndarray, cycles: int) -> dict[str, float]:
    """States near rest at the start place, changed a little each cycle as a moving arm's are."""
    generator = np.random.default_rng(0)
    positions = q + 1e-4 * generator.normal(size=(cycles, q.size))
    velocities = 1e-2 * generator.normal(size=(cycles, q.size))
    controller.start(0.0, q, np.zeros(q.size))
    begin = 0.5
    if mode is not Mode.ANTE:
        controller.notify_impact(begin, begin, [0.0, -0.3, 0.0])
    if mode is Mode.POST:
        begin += controller.parameters.interim_duration
    for index in range(50):
        controller.update(begin, positions[index % cycles], velocities[index % cycles])
    times = np.empty(cycles)
    gc.collect()
    gc.disable()
    try:
        for index in range(cycles):
            before = time.perf_counter()
            command = controller.update(begin, positions[index], velocities[index])
            times[index] = time.perf_counter() - before
    finally:
        gc.enable()
    assert command.mode is mode
    p50, p99 = 1e6 * np.percentile(times, [50, 99])
    return {"p50_us": float(p50), "p99_us": float(p99)}
