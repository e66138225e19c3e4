"""Arms that are moved while they are held without torque control, which then returns; in process.

The arms carry a load that no model has. A random part of the joints is moved by a random amount, the states continue or
stop meanwhile, and torque control returns from the model's gravity torques at 1000 N m/s.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.control import SafeReason
from impact_aware.simulation.sensors import JointReading
from impact_aware_rigs.faults.bench import AWAY, FaultBench
from impact_aware_rigs.faults.checks import CYCLE
from impact_aware_rigs.faults.classes import Trial, TrialResult
from impact_aware_rigs.faults.hardware import HARDWARE
from impact_aware_rigs.faults.trial import START, AnyTrial

FASTEST = 0.3
"""Largest speed of a joint after torque control has returned, rad/s."""

STRONGEST = 15.0
"""Largest torque besides gravity, N m, without Coriolis torques and the effect of motion within a cycle."""

ROUNDING = 0.3
"""Allowance for those two, N m."""

DEEPEST = 0.02
"""Distance by which a tool may sink below where it was held and where torque control returned, m."""

PAYLOAD = 1.0
"""Largest load, kg."""

AMOUNT = (0.003, 0.6)
"""Range of a joint's displacement, rad; small and large ones are about equally frequent."""

CLEARANCE = 0.005
"""Distance by which a tool may be lower than at the start, where it is clear of the table, m."""

APART = 0.2
"""Least distance of two tools, m."""

HELD_FOR, GUIDED_FOR, DRIVEN_FOR = 0.3, 0.3, 0.6
"""Durations before the arms are moved, of that motion, and after torque control has returned, s."""

RETURN_STEP = 1.0
"""Change of a torque per cycle with which torque control returns, N m."""


SIDES = ("lower", "upper")
"""Sides of a joint's range."""


class HeldTrial(AnyTrial):
    """One trial; `severity` is the largest amount by which a joint is moved, rad."""

    def __init__(self, bench: FaultBench, trial: Trial) -> None:
        """Draw load, joints, amounts, and whether the states stop meanwhile."""
        super().__init__(bench, trial)
        generator, n = self.generator, bench.start.size
        self.plant = bench.loaded_plant(self.world, generator.uniform(0.0, PAYLOAD, len(bench.robots)).tolist())
        least, most = np.log(AMOUNT)
        amounts = np.exp(generator.uniform(least, most, n)) * generator.choice([-1.0, 1.0], n)
        self.moved = amounts * (generator.random(n) < generator.choice([0.15, 0.5, 1.0]))
        low, high = (np.concatenate([getattr(r.model, f"{side}PositionLimit") for r in bench.robots]) for side in SIDES)
        self.moved = np.clip(bench.start + self.moved, low + 0.05, high - 0.05) - bench.start
        while not self._is_free(bench.start + self.moved):
            self.moved *= 0.8
        self.severity, self.silent = float(np.abs(self.moved).max()), bool(generator.random() < 0.5)
        self._sent = np.zeros(n)
        self.hardware = HARDWARE[trial.interface](bench, self.check, lambda _arm: False, START)
        self.control = self.session(lambda sent: self.hardware.take(self.control, sent))

    def _is_free(self, q: Array) -> bool:
        """Whether nothing touches anything, and could not either if the tools sank a little."""
        self.plant.reset(self.bench.start)
        lowest = self._heights() - CLEARANCE
        self.plant.reset(q)
        self.plant.place_object(AWAY)
        self.plant.step(None)
        tools = [self.plant.tool_placement(name).translation for name in self.plant.robots]
        apart = math.inf if len(tools) == 1 else float(np.linalg.norm(tools[0] - tools[1]))
        high = bool(np.all(self._heights() > lowest))
        return high and apart > APART and not (self.plant.touching or self.plant.link_touches)

    def run(self) -> TrialResult:
        """Hold, move, let torque control return, and see how fast and how far the arms go."""
        plant, session = self.plant, self.control
        plant.reset(self.bench.start, seed=self.trial.seed)
        plant.place_object(AWAY)
        session.activate()
        if self.trial.mode == "safe":
            session.safe_stop(SafeReason.REQUESTED, "requested by the trial")
        else:
            session.hold()
        self._drive(HELD_FOR)
        held, start = self._heights(), plant.state.q.copy()
        for k in range(round(GUIDED_FOR / CYCLE)):
            share = min((k + 1) * CYCLE / (0.8 * GUIDED_FOR), 1.0)
            speed = 6.0 * (share - share**2) / (0.8 * GUIDED_FOR)
            q, dq = start + (3.0 * share**2 - 2.0 * share**3) * self.moved, speed * self.moved
            self.now += CYCLE
            if not self.silent:
                self._answer(JointReading(self.now, q, dq, np.zeros(q.size)), q)
        plant.reset(start + self.moved, seed=self.trial.seed + 1)
        plant.place_object(AWAY)
        self._sent = np.zeros(start.size)
        limit = np.minimum(held, self._heights()) - DEEPEST
        fastest, strongest, sunk = self._drive(DRIVEN_FOR, limit)
        failures = list(self.check.failures)
        if fastest > FASTEST:
            failures.append(f"a joint reached {fastest:.2f} rad/s, over {FASTEST:g}")
        if strongest > STRONGEST + ROUNDING:
            failures.append(f"a joint had {strongest:.1f} N m beside gravity, over {STRONGEST:g}")
        if sunk > 0.0:
            failures.append(f"a tool sank {1e3 * (sunk + DEEPEST):.0f} mm, over {1e3 * DEEPEST:.0f}")
        reason, detail = session.safe_reason
        return self.result(failures, duration=GUIDED_FOR, reason=str(reason or ""), detail=detail, outcome="held")

    def _drive(self, seconds: float, limit: Array | None = None) -> tuple[float, float, float]:
        """Follow the torques; largest speed, torque beside gravity, and how far a tool came below its limit, m."""
        plant, fastest, strongest, sunk = self.plant, 0.0, 0.0, -math.inf
        for _ in range(round(seconds / CYCLE)):
            self.now += CYCLE
            whole = self._answer(plant.reading, plant.state.q)
            gravity = self._gravity(plant.state.q)
            self._sent = np.clip(whole - gravity, self._sent - RETURN_STEP, self._sent + RETURN_STEP)
            plant.step(gravity + self._sent)
            fastest = max(fastest, float(np.abs(plant.state.dq).max()))
            strongest = max(strongest, float(np.abs(self._sent).max()))
            if limit is not None:
                sunk = max(sunk, float((limit - self._heights()).max()))
        return fastest, strongest, sunk

    def _answer(self, reading: JointReading, q: Array) -> Array:
        """Whole torques (n,) that the arms would get, N m."""
        self.hardware.now = self.now
        self.control.cycle(self.now, reading.q, reading.dq)
        self.hardware.follow(self.control)
        torque = self.hardware.torque(q, reading)
        return self._gravity(q) if torque is None else torque

    def _gravity(self, q: Array) -> Array:
        parts = zip(self.bench.robots, self.plant.slices.values(), strict=True)
        return np.concatenate([pin.computeGeneralizedGravity(r.model, r.data, q[part]) for r, part in parts])

    def _heights(self) -> Array:
        return np.array([self.plant.tool_placement(name).translation[2] for name in self.plant.robots])
