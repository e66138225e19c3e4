"""A model that does not fit the arm, in process: refused before anything moves, or held without harm.

The arms stand still and hold themselves, the session gets states with measured torques, and is activated to hold them.
A load or link mass that the model lacks, a convention of gravity that is not the arm's, or another order of the joints
in the arm's controller must be refused, or move no joint faster and no tool further than the limits below.
"""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pinocchio as pin

from impact_aware.bringup.hardware import Hardware
from impact_aware.control import ControlSession, Mode
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.nodes.arm_connections import order_mismatch
from impact_aware.robot import RobotModel, RobotProfile
from impact_aware_rigs.faults.bench import FaultBench
from impact_aware_rigs.faults.classes import Trial, TrialResult
from impact_aware_rigs.faults.hardware import HARDWARE
from impact_aware_rigs.faults.trial import START, AnyTrial

FASTEST = 0.3
"""Largest speed of a joint, rad/s."""

FURTHEST = 0.02
"""Largest displacement of a tool, m."""

HELD_FOR = 1.0
"""Time for which the arms are held, s."""

REFUSED_FOR = 0.05
"""Time for which the arms are held after a refusal, where nothing moves them, s."""

PAYLOAD = (0.05, 4.0)
"""Range of the mass at a tool that the model does not have, kg; small and large ones are about equally frequent."""

LINK_MASS = (0.5, 1.5)
"""Range of the factor of one link's mass in the model."""


class ModelTrial(AnyTrial):
    """One trial.

    Attributes:
        severity: Load, kg; factor of a link's mass; 0 for what has no number.
        declared: Whether the driver's description or its controller's parameters give the fault away.
    """

    def __init__(self, bench: FaultBench, trial: Trial) -> None:
        """Draw what does not fit, and which arms have it."""
        super().__init__(bench, trial)
        self.draw_arms()
        generator, payload = self.generator, 0.0
        # Without a declaration a wrong convention shows with the first commands. Laws are turned into torques by a
        # follower at the arm, in its own convention; an order of joints that can't be read is refused.
        undeclared = trial.fault == "wrong_convention" and trial.interface == "effort" and generator.random() < 0.5
        self.declared = not undeclared
        self.believed, self.true = list(bench.robots), list(bench.robots)
        self.orders = [np.arange(robot.n) for robot in bench.robots]
        fault = trial.fault
        if fault == "unknown_load":
            self.severity = payload = float(np.exp(generator.uniform(*np.log(PAYLOAD))))
        link, factor = int(generator.integers(2, bench.robots[0].n)), float(generator.uniform(*LINK_MASS))
        for arm in self.arms:
            robot = bench.robots[arm]
            if fault == "wrong_link_mass":
                self.severity, self.believed[arm] = factor, _with_link_mass(robot, link, factor)
            elif fault == "wrong_convention":
                whole = bool(generator.random() < 0.5)
                self.true[arm], self.believed[arm] = _commanded(robot, whole), _commanded(robot, not whole)
            elif fault == "wrong_joint_order":
                while (self.orders[arm] == np.arange(robot.n)).all():
                    self.orders[arm] = generator.permutation(robot.n)
        self.plant = bench.loaded_plant(self.world, [payload * (arm in self.arms) for arm in range(len(bench.robots))])

    def run(self) -> TrialResult:
        """Activate, hold, and see how fast and how far the arms go."""
        self.plant.reset(self.bench.start, seed=self.trial.seed)
        slices = list(self.plant.slices.values())
        order = np.concatenate([part.start + own for part, own in zip(slices, self.orders, strict=True)])
        truth = copy.copy(self.bench)
        truth.robots = self.true
        hardware = HARDWARE[self.trial.interface](truth, self.check, lambda _arm: False, START)
        session = self.session(lambda sent: hardware.take(session, sent[order]), self.believed, declared=self.declared)
        tools = [self.plant.tool_placement(name).translation.copy() for name in self.plant.robots]
        fastest = furthest = 0.0
        refusal, failures = "", list[str]()
        while self.plant.state.time < (REFUSED_FOR if refusal else HELD_FOR):
            self.now = hardware.now = START + self.plant.state.time
            reading = self.plant.reading
            for arm, (robot, part) in enumerate(zip(self.bench.robots, slices, strict=True)):
                columns = (reading.q[part].tolist(), reading.dq[part].tolist(), reading.effort[part].tolist())
                session.states.readers[arm].take(START + reading.time, robot.joint_names, *columns)
                session.receive(arm)
            if not session.active and not refusal:
                refusal = self._begin(session)
            hardware.follow(session)
            self.plant.step(hardware.torque(self.plant.state.q, reading) if session.active else None)
            fastest = max(fastest, float(np.abs(self.plant.state.dq).max()))
            for name, tool in zip(self.plant.robots, tools, strict=True):
                moved = np.linalg.norm(self.plant.tool_placement(name).translation - tool)
                furthest = max(furthest, float(moved))
        if fastest > FASTEST:
            failures.append(f"a joint reached {fastest:.2f} rad/s, over {FASTEST:g}")
        if furthest > FURTHEST:
            failures.append(f"a tool went {1e3 * furthest:.0f} mm, over {1e3 * FURTHEST:.0f}")
        reason, detail = session.safe_reason if session.mode is Mode.SAFE else (None, refusal)
        return self.result(
            [*failures, *self.check.failures],
            duration=HELD_FOR,
            reason=str(reason or ""),
            detail=detail,
            expected=("", "TORQUES_UNFIT"),
            outcome="refused" if refusal else "held",
        )

    def _begin(self, session: ControlSession) -> str:
        """Activate as the launch file and the controller node do; returns why not, empty when it commands now."""
        try:
            for arm in self.arms if self.declared else ():
                whole = _profile(self.true[arm]).command_includes_gravity
                driver = Hardware("of the trial", command_includes_gravity=whole)
                driver.check_profile(_profile(self.believed[arm]))
                names = self.bench.robots[arm].joint_names
                if wrong := order_mismatch("the controller", [names[i] for i in self.orders[arm]], list(names)):
                    raise InvalidInputError("joints", wrong, "the order of the model")
            session.activate()
        except ImpactAwareError as error:
            return str(error)
        return ""


def _profile(robot: RobotModel) -> RobotProfile:
    assert robot.profile is not None
    return robot.profile


def _commanded(robot: RobotModel, whole: bool) -> RobotModel:
    """The arm with the other convention of its commands, or the same."""
    return RobotModel.from_profile(dataclasses.replace(_profile(robot), command_includes_gravity=whole))


def _with_link_mass(robot: RobotModel, link: int, factor: float) -> RobotModel:
    """The arm's model with one link heavier or lighter by a factor, its shape and density as they are elsewhere."""
    changed = RobotModel.from_profile(_profile(robot))
    old = changed.model.inertias[link]
    changed.model.inertias[link] = pin.Inertia(factor * old.mass, old.lever, factor * old.inertia)
    return changed
