"""Speed of impact prediction beside `pin.impulseDynamics` with its kinematics, on random impacts of the Panda."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.cli.options import MOST
from impact_aware.contact import Contact, contact_jacobian
from impact_aware.impact import ImpactPredictor, predict
from impact_aware.impact.batch import predict_batch
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware_rigs.figures import best_processor_times

BASELINE = "pin_impulse_dynamics"


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """States that are predicted."""

    states: int = described(200, "random impacts", 1, MOST)
    calls: int = described(50, "calls timed together", 1, MOST)
    batch: int = described(1_000_000, "states of the batch", 1, MOST)
    seed: int = described(0, "seed of the impacts", 0, MOST)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Measure: microseconds of processor time per call, and each call's ratio to the baseline at the same state."""
    robot = RobotModel.from_profile("panda")
    model, data, frame, axes = robot.model, robot.data, robot.tool_frame_id, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

    def baseline(q: Array, dq: Array, contact: Contact) -> Callable[[], object]:
        def call() -> object:
            pin.computeAllTerms(model, data, q, dq)
            pin.updateFramePlacements(model, data)
            jacobian = pin.getFrameJacobian(model, data, frame, axes)
            return pin.impulseDynamics(model, data, dq, contact.normal.dot(jacobian[:3])[None], 0.0, 0.0)

        return call

    def prepared(method: str) -> Callable[[Array, Array, Contact], Callable[[], object]]:
        return lambda q, dq, contact: partial(ImpactPredictor(robot, contact, method=method), q, dq)

    contenders: dict[str, Callable[[Array, Array, Contact], Callable[[], object]]] = {
        BASELINE: baseline,
        "fixed_direction": prepared("fixed-direction"),
        "exact_coulomb": prepared("coulomb"),
        "predict_function": lambda q, dq, contact: partial(predict, robot, q, dq, contact),
    }
    states = _impacts(robot, args.states, args.seed)
    times = {name: np.empty(len(states)) for name in contenders}
    for number, state in enumerate(states):
        calls = {name: contender(*state) for name, contender in contenders.items()}
        for name, microseconds in best_processor_times(calls, args.calls).items():
            times[name][number] = microseconds
    each, threads = float(np.median(times[BASELINE])), len(os.sched_getaffinity(0))
    batch = {method: _batched(robot, method, args.batch, args.seed) for method in ("fixed-direction", "coulomb")}
    result: dict[str, object] = {
        "baseline": "pin.computeAllTerms, updateFramePlacements, getFrameJacobian, impulseDynamics",
        "states": len(states),
        "microseconds": {name: float(np.median(values)) for name, values in times.items()},
        "ratio_to_baseline": _ratios(times),
        "batch_states": args.batch,
        "threads": threads,
        "batch": {
            method: figures
            | {
                "ratio_to_baseline": figures["wall_microseconds"] / each,
                # The ratio on an idle machine.
                "ratio_of_processor_time": figures["processor_microseconds"] / threads / each,
            }
            for method, figures in batch.items()
        },
    }
    return result


def _batched(robot: RobotModel, method: str, count: int, seed: int) -> dict[str, float]:
    """Figures of one call with `count` approaching states, best of three.

    Microseconds per state, of wall time and of processor time of all threads, and the largest difference of velocities
    from those of a prediction at a time, over the largest velocity.
    """
    generator = np.random.default_rng(seed)
    contact = Contact("tool", np.array([0.3, 0.2, 1.0]), friction=0.3, radius=0.03)
    q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper, (count, robot.n))
    dq = generator.uniform(-1.0, 1.0, (count, robot.n))
    reached = predict_batch(robot, q, dq, contact, method="frictionless").contact_velocity_before @ contact.normal
    dq[reached > 0.0] *= -1.0
    wall, processor = np.inf, np.inf
    for _ in range(3):
        begin = time.perf_counter(), time.process_time()
        answer = predict_batch(robot, q, dq, contact, method=method)
        wall, processor = min(wall, time.perf_counter() - begin[0]), min(processor, time.process_time() - begin[1])
    one = ImpactPredictor(robot, contact, method=method)
    differences = [
        float(np.abs(one(q[k], dq[k]).velocity_after - answer.velocity_after[k]).max() / np.abs(dq[k]).max())
        for k in range(min(count, 10_000))
    ]
    return {
        "wall_microseconds": 1e6 * wall / count,
        "processor_microseconds": 1e6 * processor / count,
        "difference_from_single": max(differences),
    }


def _ratios(times: dict[str, Array]) -> dict[str, float]:
    """Median over the states of each contender's time over the baseline's at the same state."""
    return {name: float(np.median(own / times[BASELINE])) for name, own in times.items() if name != BASELINE}


def _impacts(robot: RobotModel, count: int, seed: int) -> list[tuple[Array, Array, Contact]]:
    """Random postures, velocities and frictions (0-0.8), approaching at 0-60 degrees from the normal."""
    generator = np.random.default_rng(seed)
    states: list[tuple[Any, ...]] = []
    while len(states) < count:
        q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
        dq = generator.uniform(-1.0, 1.0, robot.n)
        contact = Contact("tool", generator.normal(size=3), friction=generator.uniform(0.0, 0.8), radius=0.03)
        velocity = contact_jacobian(robot, q, contact) @ dq
        if -contact.normal @ velocity > 0.5 * np.linalg.norm(velocity):
            states.append((q, dq, contact))
    return states
