"""The calm cycle beside TSID's: same arms, states, tasks and limits, torques compared."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.control import ControlSession, Mode
from impact_aware.control.regime import Regime
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.regimes import REGIMES, SETTLING, begin, session_of, states_of
from impact_aware_rigs.figures import no_garbage_collection, percentiles

PROGRAM = Path(__file__).with_name("tsid_cycle.py")

LONGEST = 300.0
"""Time after which TSID's process is ended, s."""


def beside_tsid(robot: RobotModel, arms: str, cycles: int, python: str) -> dict[str, Any]:
    """Time calm cycles of the mode before the impact, then TSID on the same states.

    What TSID gets of each cycle is the wanted tool acceleration, which ours computes from the field, and the torques
    that can be sent, which ours computes from the last command. It checks neither states nor commands.

    Args:
        robot: Of every arm; its joints turn about their z axes.
        arms: Which of `regimes.TASKS`.
        cycles: Cycles to time.
        python: Interpreter of an environment with TSID and Pinocchio.

    Returns:
        Figures of both, largest difference of their torques, N m, and TSID's versions; or why there is none of TSID.
    """
    # Two arms without the tasks that couple their references, which TSID would have to be given as tool accelerations.
    session, posture = session_of(robot, arms, sync_weight=0.0)
    run = _states(session, posture, cycles)
    again, _ = session_of(robot, arms, sync_weight=0.0)
    result: dict[str, Any] = {"ours": _timed(again, posture, run)}
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder) / "problem.npz", Path(folder) / "result.npz"
        efforts = run.pop("efforts")
        values: dict[str, Any] = run | _bodies(session)
        np.savez(problem, **values)
        words = [python, str(PROGRAM), str(problem), str(answer)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return result | {"tsid": f"not measured: {error}"}
        if done.returncode:
            return result | {"tsid": f"not measured: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"}
        found = np.load(answer)
        result["tsid"] = _figures(found["wall"][SETTLING:], found["processor"][SETTLING:])
        result["versions"] = ", ".join(found["versions"].tolist())
        result["largest_torque_difference"] = float(np.abs(found["efforts"] - efforts)[SETTLING:].max())
    result["ratio"] = result["ours"]["processor_p50_us"] / result["tsid"]["processor_p50_us"]
    return result


def _figures(wall: Array, processor: Array) -> dict[str, float]:
    named = {f"processor_{name}": value for name, value in percentiles(processor.tolist()).items()}
    return percentiles(wall.tolist()) | named


def _states(session: ControlSession, posture: Array, cycles: int) -> dict[str, Array]:
    """One motion in which no limit is active: its states, and what TSID is to be given of each."""
    generator = np.random.default_rng(0)
    field, settings = session.field, session.parameters
    assert field is not None
    rows: dict[str, list[Array]] = {name: [] for name in ("q", "dq", "wanted", "null", "lowest", "highest", "efforts")}
    gravity = np.empty(posture.size)
    begin(session, Mode.ANTE, posture, 0.0)
    for cycle, (q, dq) in enumerate(states_of(REGIMES[0], session, posture, generator, cycles)):
        null, start = np.zeros(posture.size), 0
        for robot, own in zip(session.robots, field.arms, strict=True):
            joints, joint = slice(start, start + robot.n), start + own.null_space_joint
            start += robot.n
            gravity[joints] = robot.gravity(q[joints])
            stiffness = settings.null_space_stiffness
            null[joint] = stiffness * (own.null_space_position - q[joint]) - 2.0 * stiffness**0.5 * dq[joint]
        lowest, highest = (row.copy() for row in session.filter.range(gravity))
        command = session.cycle((1 + cycle) * settings.period, q, dq)
        values = (q, dq, command.target_acceleration, null, lowest, highest, command.effort)
        for name, value in zip(rows, values, strict=True):
            rows[name].append(np.array(value))
    return {name: np.array(values) for name, values in rows.items()}


def _timed(session: ControlSession, posture: Array, run: dict[str, Array]) -> dict[str, float]:
    """The same motion again, with nothing between its cycles."""
    begin(session, Mode.ANTE, posture, 0.0)
    stamps = session.parameters.period * np.arange(1.0, 1.0 + len(run["q"]))
    wall, processor = np.empty((2, len(stamps)))
    with no_garbage_collection():
        for cycle, (stamp, q, dq) in enumerate(zip(stamps.tolist(), run["q"], run["dq"], strict=True)):
            begun, worked = time.perf_counter(), time.thread_time()
            session.cycle(stamp, q, dq)
            processor[cycle], wall[cycle] = time.thread_time() - worked, time.perf_counter() - begun
            if session.regime is not Regime.INACTIVE and cycle >= SETTLING:
                raise RuntimeError(f"cycle {cycle}: {session.regime}, {session.command}")
    return _figures(wall[SETTLING:], processor[SETTLING:])


def _bodies(session: ControlSession) -> dict[str, Any]:
    """What a model is made of, joint after joint, arm after arm, whatever the version of Pinocchio."""
    names = ("rotations", "translations", "masses", "levers", "inertias", "parents")
    rows: dict[str, list[Any]] = {name: [] for name in names}
    tools: dict[str, list[Any]] = {"tool_joints": [], "tool_rotations": [], "tool_translations": []}
    held, first = [], 0
    assert session.field is not None
    for robot, base, own in zip(session.robots, session.bases, session.field.arms, strict=True):
        model = robot.model
        for joint in range(1, model.njoints):
            placement, body, parent = model.jointPlacements[joint], model.inertias[joint], model.parents[joint]
            placement = base * placement if parent == 0 else placement
            values = (placement.rotation, placement.translation, body.mass, body.lever, body.inertia)
            for name, value in zip(names, (*values, parent + first if parent else 0), strict=True):
                rows[name].append(value)
        tool = model.frames[robot.tool_frame_id]
        tool_values = (tool.parentJoint + first, tool.placement.rotation, tool.placement.translation)
        for name, value in zip(tools, tool_values, strict=True):
            tools[name].append(value)
        held.append(np.arange(robot.n) == own.null_space_joint)
        first += robot.n

    def joined(name: str) -> Array:
        return np.concatenate([getattr(robot.limits, name) for robot in session.robots])

    settings = session.parameters
    return {name: np.array(values) for name, values in (rows | tools).items()} | {
        "held": np.concatenate(held).astype(float),
        "armature": np.concatenate([robot.apparent_motor_inertia for robot in session.robots]),
        "effort": joined("effort"),
        "velocity": joined("velocity"),
        "lower": joined("position_lower"),
        "upper": joined("position_upper"),
        "track_weight": settings.track_weight,
        "null_weight": settings.null_space_weight,
        "horizon": max(settings.velocity_horizon, settings.period),
    }
