"""Control cycles at random states, fields and modes, many far beyond every limit: is a torque ever unsafe?"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.control import ControlParameters, ControlSession, Mode, QpStatus
from impact_aware.control.session import IN_MOTION
from impact_aware.errors import InvalidInputError
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

BATCH = 200
"""Cycles with one field and one mode to begin with."""

_TASKS = {1: "hit_and_push", 2: "dual_arm_grab"}
_PERIOD = 0.001
_SPOILT = 0.01
_OFTEN = (Mode.ANTE, Mode.INTERIM, Mode.POST)


def random_cycles(
    robot: RobotModel,
    arms: int,
    count: int,
    seed: int = 0,
    *,
    on_batch: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Run `count` cycles and look at every torque that comes out.

    Each batch has its own field, parameters, mode and torque to begin with. Of the states in it a third are within the
    position limits, a third reach a fifth of the range beyond them, and a third are near singular postures; speeds go
    up to several times the limits, and one state in a hundred is not finite or too old. From one state to the next
    nothing is continuous, which no arm could follow.

    Args:
        robot: Of every arm.
        arms: 1 or 2.
        count: Cycles.
        seed: Of all that is drawn.
        on_batch: Called with the number of cycles just done.

    Returns:
        `cycles`; `not_finite`, `over_limit` and `over_rate`, the numbers of commands that no arm must get; how often
        each mode answered (`modes`), each end of the quadratic program (`qp`), each regime (`regimes`), each reason of
        the safe mode (`safe_reasons`), and how many commands the limiter had to change (`cut`).

    Raises:
        InvalidInputError: Another number of arms, or less than one cycle.
    """
    if arms not in _TASKS:
        raise InvalidInputError("arms", arms, "1 or 2")
    if count < 1:
        raise InvalidInputError("count", count, "a number of cycles >= 1")
    generator = np.random.default_rng(seed)
    base = make_field(load_task(_TASKS[arms]), [robot] * arms)
    limit = np.tile(robot.limits.effort, arms)
    step = np.tile(robot.limits.effort_rate, arms) * _PERIOD * (1.0 + 1e-9)
    bad = dict.fromkeys(("not_finite", "over_limit", "over_rate"), 0)
    modes, ends, reasons, regimes = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    cut = done = 0
    while done < count:
        size = min(BATCH, count - done)
        session = _session(robot, arms, base, generator)
        q, dq = _states(robot, arms, size, generator)
        ages = np.where(generator.random(size) < 0.5 * _SPOILT, 1.0, 0.0)
        previous = session.filter.previous
        for index in range(size):
            time = _PERIOD * index
            before = session.mode
            command = session.cycle(time, q[index], dq[index], age=ages[index])
            effort = session.filter.previous
            # A state that has left a limit is answered first: its command has the reason and a solution.
            tracked = before in IN_MOTION and bool(command.target_acceleration.any())
            bad["not_finite"] += not np.isfinite(effort).all()
            bad["over_limit"] += bool(np.any(np.abs(effort) > limit))
            bad["over_rate"] += bool(np.any(np.abs(effort - previous) > step))
            previous = effort
            modes[(before if tracked else command.mode).name.lower()] += 1
            if tracked:
                ends[command.qp_status.name.lower()] += 1
            regimes[session.regime] += 1
            if command.reason is not None:
                reasons[command.reason.name] += 1
                _begin(session, generator, time)
            # The next state has nothing to do with this one.
            session.accept_any_state()
        cut += session.filter.interventions
        done += size
        if on_batch is not None:
            on_batch(size)
    ordered = {status.name.lower(): ends[status.name.lower()] for status in QpStatus}
    counted = {"modes": dict(modes), "qp": ordered, "regimes": dict(regimes), "safe_reasons": dict(reasons)}
    return {"cycles": done, **bad, **counted, "cut": cut}


def _session(robot: RobotModel, arms: int, base: ReferenceField, generator: np.random.Generator) -> ControlSession:
    """One with a random field, about its task's, and any torque to begin with."""
    turn = pin.SE3(pin.utils.rotate("z", np.pi), np.array([1.0, 0.0, 0.0]))
    own = tuple(_arm(entry, generator) for entry in base.arms)
    field = dataclasses.replace(
        base,
        arms=own,
        alpha=float(10.0 ** generator.uniform(-1.0, 2.0)),
        ante_radius_min=1.0,
        ante_radius_max=float(generator.uniform(1.01, 3.0)),
        ante_rotation_gain=float(generator.uniform(0.0, 100.0)),
        goal=base.goal + generator.normal(size=3),
        post_gain=float(10.0 ** generator.uniform(-1.0, 2.0)),
        post_rotation_gain=float(generator.uniform(0.0, 100.0)),
    )
    parameters = ControlParameters(
        track_damping=float(generator.uniform(0.0, 200.0)),
        interim_duration=float(generator.choice([0.0, 0.1, 10.0])),
        variant=str(generator.choice(["proposed", "no_rs", "no_interim", "no_impact_map"])),
    )
    session = ControlSession([robot] * arms, parameters, field, [pin.SE3.Identity(), turn][:arms])
    # The first command of all begins at the gravity torque; every later one at the last, here at any.
    n = arms * robot.n
    session.filter.restart(np.tile(robot.limits.effort, arms) * generator.uniform(-1.0, 1.0, n))
    _begin(session, generator, 0.0)
    return session


def _arm(own: Any, generator: np.random.Generator) -> Any:
    return dataclasses.replace(
        own,
        impact_position=own.impact_position + generator.uniform(-0.4, 0.4, 3),
        impact_velocity=generator.normal(size=3) * 10.0 ** generator.uniform(-1.0, 1.0),
        null_space_joint=int(generator.integers(-1, 7)),
        feedforward_wrench=generator.normal(size=6) * 10.0 ** generator.uniform(-1.0, 3.0),
    )


def _begin(session: ControlSession, generator: np.random.Generator, time: float) -> None:
    """Leave the safe mode and go to any other one."""
    home = np.concatenate([robot.home for robot in session.robots])
    session.reset()
    mode = Mode(generator.choice([*_OFTEN, Mode.IDLE, Mode.HOLD], p=[0.3, 0.3, 0.3, 0.05, 0.05]))
    if mode is Mode.IDLE:
        return
    session.start(time, home, check=False)
    if mode is Mode.HOLD:
        session.hold()
    elif mode is not Mode.ANTE:
        velocity = generator.normal(size=3) * 10.0 ** generator.uniform(-1.0, 1.0)
        for arm in range(len(session.robots)):
            happened = time - (1.0 if mode is Mode.POST else 0.0)
            session.events.notify_impact(happened, time, velocity, arm=arm, anywhere=True)


def _states(robot: RobotModel, arms: int, size: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Joint positions and velocities (size, n)."""
    n = robot.n * arms
    lower, upper = np.tile(robot.limits.position_lower, arms), np.tile(robot.limits.position_upper, arms)
    kind = generator.integers(0, 3, size)
    beyond = np.where(kind == 1, 0.2, 0.0)[:, None]
    q = lower + (upper - lower) * generator.uniform(-beyond, 1.0 + beyond, (size, n))
    # All joints at multiples of a quarter turn: arms stretched out or folded, axes in line.
    aligned = 0.5 * np.pi * generator.integers(-1, 2, (size, n)) + 10.0 ** generator.uniform(-9.0, -2.0, (size, 1))
    q = np.where((kind == 2)[:, None], aligned, q)
    scale = 10.0 ** generator.uniform(-2.0, 0.8, (size, 1))
    dq = np.tile(robot.limits.velocity, arms) * scale * generator.normal(size=(size, n))
    spoilt = np.flatnonzero(generator.random(size) < 0.5 * _SPOILT)
    dq[spoilt, generator.integers(0, n, spoilt.size)] = generator.choice([np.nan, np.inf, -np.inf])
    return q, dq
