"""Control cycle in process, state in to torque out, for one arm and for two: microseconds of each mode and regime."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.cli.options import MOST
from impact_aware.cli.output import progress
from impact_aware.control import ControlParameters, ControlSession, Mode
from impact_aware.control.local_law import LawFollower, LawSource
from impact_aware.control.qp import Regime
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware_rigs.bench.random_cycles import random_cycles
from impact_aware_rigs.figures import no_garbage_collection, percentiles

TASKS = {"one_arm": "hit_and_push", "two_arms": "dual_arm_grab"}
MODES = (Mode.ANTE, Mode.INTERIM, Mode.POST)

BEYOND = "state beyond a limit"
"""A state that is further than a position or velocity limit, whatever is active then."""

REGIMES = (*(str(entry) for entry in (Regime.INACTIVE, Regime.ONE_ACTIVE, Regime.MANY_ACTIVE)), BEYOND)
REGIMES_ALL = (*REGIMES, str(Regime.EXCLUDING))

RUN = 50
"""Cycles that follow each other before another motion begins."""

SETTLING = 100
"""Cycles of a calm arm until the torque rate has let its torque come to where it is wanted."""

MOST_RUNS = 20
"""Runs for one regime, or three times as many as its cycles would need, whichever is more: some are rare."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Cycles that are timed."""

    cycles: int = described(1000, "cycles of each regime", 1, MOST)
    random_states: int = described(
        2000, "also control N random states of one arm and of two, many far out of limits; 0: none", 0, MOST
    )
    seed: int = described(0, "seed of the random states", 0, MOST)
    robot: str = described("panda", "robot profile")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Time the cycles, by number of arms, mode and regime, and a law that a relay applies."""
    robot = RobotModel.from_profile(args.robot)
    result: dict[str, Any] = {"cycles_of_each_regime": args.cycles}
    for arms in TASKS:
        result[arms] = {}
        for mode in MODES:
            result[arms][mode.name.lower()] = figures(time_regimes(robot, arms, mode, args.cycles, args.seed))
    result["law"] = law_times(robot, args.cycles)
    if args.random_states > 0:
        result["random_states"] = {
            "one_arm": _random(robot, 1, args.random_states, args.seed),
            "two_arms": _random(robot, 2, args.random_states, args.seed),
        }
    return result


def _random(robot: RobotModel, arms: int, count: int, seed: int) -> dict[str, Any]:
    label = f"random states, {arms} arm{'s' if arms > 1 else ''}"
    with progress(total=count, desc=label, unit="cycle") as bar:
        return random_cycles(robot, arms, count, seed, on_batch=bar.update)


def law_times(robot: RobotModel, states: int) -> dict[str, float]:
    """Processor time in which a relay applies the local law to a state, microseconds."""
    session, posture = session_of(robot, "one_arm")
    begin(session, Mode.ANTE, posture, 0.0)
    source, follower, times = LawSource(session), LawFollower(robot), []
    still = np.zeros_like(posture)
    with no_garbage_collection():
        for state in range(1, states + SETTLING + 1):
            stamp = state * session.parameters.period
            session.cycle(stamp, posture, still, effort=held(session, posture))
            for law in source.laws():
                follower.receive(law)
            processor = time.thread_time()
            follower.apply(posture, still, stamp)
            times.append(time.thread_time() - processor)
    return {f"processor_{key}": value for key, value in percentiles(times[SETTLING:]).items()}


class Timed:
    """Cycles of one mode, sorted by what they turned out to be.

    Attributes:
        wall: Wall times of each regime's cycles, s.
        processor: Processor times of the same cycles, s.
        unsafe: Commands that were not finite, or over a torque or torque-rate limit.
        cut: Programs that were out of steps.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.wall: dict[str, list[float]] = {name: [] for name in REGIMES_ALL}
        self.processor: dict[str, list[float]] = {name: [] for name in REGIMES_ALL}
        self.cycles = self.unsafe = self.cut = 0


def session_of(robot: RobotModel, arms: str) -> tuple[ControlSession, Array]:
    """A session with an interim mode that lasts, and the posture (n,) that its motion begins at, rad.

    Args:
        robot: Of every arm.
        arms: Which of `TASKS`.
    """
    task = load_task(TASKS[arms])
    robots = [robot] * len(task.arms)
    bases = [base_placement(arm) for arm in task.arms]
    posture = np.concatenate([start_posture(arm, robot) for arm in task.arms])
    # An interim mode without end, so that every cycle measured is of the mode it is counted for.
    parameters = ControlParameters(interim_duration=10.0)
    return ControlSession(robots, parameters, make_field(task, robots), bases), posture


def held(session: ControlSession, q: Array) -> Array:
    """Torques that hold the arms at q (n,), N m: what an arm that the model fits would measure, in a calm cycle."""
    postures = q.reshape(len(session.robots), -1)
    return np.concatenate([arm.gravity(posture) for arm, posture in zip(session.robots, postures, strict=True)])


def begin(session: ControlSession, mode: Mode, q: Array, stamp: float) -> None:
    """Leave whatever mode there is and start the motion, up to a mode."""
    session.reset()
    session.start(stamp, q, check=False)
    session.cycle(stamp, q, np.zeros_like(q))
    if mode is not Mode.ANTE:
        impact = stamp - (session.parameters.interim_duration if mode is Mode.POST else 0.0)
        for arm in range(len(session.robots)):
            session.events.notify_impact(impact, impact, [0.0, -0.3, 0.0], arm=arm, anywhere=True)


def states_of(
    regime: str, session: ControlSession, posture: Array, generator: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """A run of joint positions, rad, and velocities, rad/s, in which a regime is likely."""
    n, count = posture.size, len(session.robots)
    low, high = (np.tile(getattr(session.robots[0].limits, f"position_{side}"), count) for side in ("lower", "upper"))
    fastest = np.tile(session.robots[0].limits.velocity, count)
    if regime in REGIMES[:3]:
        # On the reference nothing is active; measurement noise alone makes the torque rate so, the more the stronger.
        noise = {REGIMES[0]: 0.0, REGIMES[1]: 10.0 ** generator.uniform(-3.5, -0.5), REGIMES[2]: 0.05}[regime]
        for _ in range(SETTLING + RUN):
            assert session.command is not None
            q, dq = posture, session.joint_reference_velocity(session.command)
            yield q + 1e-2 * noise * generator.normal(size=n), dq + noise * generator.normal(size=n)
        return
    for _ in range(RUN):
        q = low + (high - low) * generator.uniform(0.05, 0.95, n)
        dq = 0.3 * fastest * generator.normal(size=n)
        joint = generator.integers(0, n, 1 + int(generator.integers(0, 3)))
        side = generator.choice([-1.0, 1.0], joint.size)
        if regime == BEYOND:
            q[joint] = np.where(side > 0.0, high[joint], low[joint]) + side * generator.uniform(0.0, 0.05, joint.size)
        else:
            # So fast towards a limit so near that neither torque nor rate can brake it in time.
            gap = generator.uniform(0.0, 0.05, joint.size)
            q[joint] = np.where(side > 0.0, high[joint], low[joint]) - side * gap
            dq[joint] = side * fastest[joint] * generator.uniform(0.5, 1.0, joint.size)
        yield q, dq


def time_regimes(robot: RobotModel, arms: str, mode: Mode, cycles: int, seed: int = 0) -> Timed:
    """Control until every regime of a mode has `cycles` cycles, or is found not to occur.

    Every cycle counts for what it was, whichever regime was sought. After a state that stops the motion it begins anew.
    """
    generator = np.random.default_rng(seed)
    session, posture = session_of(robot, arms)
    limit = np.concatenate([entry.limits.effort for entry in session.robots])
    step = np.concatenate([entry.limits.effort_rate for entry in session.robots]) * session.parameters.period
    found, stamp = Timed(), 0.0
    with no_garbage_collection():
        for regime in REGIMES_ALL:
            runs = max(MOST_RUNS, 3 * cycles // RUN)
            while len(found.wall[regime]) < cycles and runs > 0:
                runs -= 1
                stamp += 1.0
                begin(session, mode, posture, stamp)
                for q, dq in states_of(regime, session, posture, generator):
                    stamp += session.parameters.period
                    if session.mode is not mode:
                        begin(session, mode, posture, stamp)
                        stamp += session.parameters.period
                    if regime not in REGIMES[:3]:
                        session.accept_any_state()
                    effort = held(session, q) if regime == REGIMES[0] else None
                    previous = session.filter.previous.copy()
                    wall, processor = time.perf_counter(), time.thread_time()
                    session.cycle(stamp, q, dq, effort=effort)
                    processor, wall = time.thread_time() - processor, time.perf_counter() - wall
                    _sort(found, session, limit, q, dq, (wall, processor))
                    sent = session.filter.previous
                    safe = np.all(np.abs(sent) <= limit) and np.all(np.abs(sent - previous) <= step * (1.0 + 1e-9))
                    found.unsafe += not safe
    return found


def _sort(found: Timed, session: ControlSession, limit: Array, q: Array, dq: Array, times: tuple[float, float]) -> None:
    regime = session.regime
    found.cycles += 1
    if regime in (Regime.NO_PROGRAM, Regime.NOT_FINITE):
        return
    found.cut += regime is Regime.CUT
    name = str(regime)
    if regime is not Regime.EXCLUDING:
        start = 0
        for robot in session.robots:
            joints, limits = slice(start, start + robot.n), robot.limits
            start += robot.n
            outside = np.any((q[joints] > limits.position_upper) | (q[joints] < limits.position_lower))
            if outside or np.any(np.abs(dq[joints]) > limits.velocity):
                name = BEYOND
    if name in found.wall:
        found.wall[name].append(times[0])
        found.processor[name].append(times[1])


def figures(found: Timed) -> dict[str, Any]:
    """Median, 99th percentile and largest time of each regime, microseconds, of wall time and of the processor's."""
    result: dict[str, Any] = {}
    for name in REGIMES_ALL:
        wall, processor = found.wall[name], found.processor[name]
        if not wall:
            result[name] = {"cycles": 0}
            continue
        result[name] = {"cycles": len(wall)}
        for prefix, times in (("", wall), ("processor_", processor)):
            own = percentiles(times) | {"max_us": 1e6 * float(np.max(times))}
            result[name] |= {f"{prefix}{key}": value for key, value in own.items()}
    return result | {"cycles": found.cycles, "unsafe": found.unsafe, "out_of_steps": found.cut}
