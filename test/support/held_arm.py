"""An arm by its equations of motion, with a load that its controller does not know, in the hands of a holder."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_aware.control import ControlSession, SafeReason
from impact_aware.control.effort_relay import EffortRelay
from impact_aware.control.local_law import LawFollower
from impact_aware.robot import RobotModel

HOLDERS = ("safe mode", "hold mode", "law", "relay")
STEPS = 2
"""Steps of the integration per cycle."""


def holder(kind: str, robot: RobotModel, period: float):
    """What makes the torque beside gravity (n,), N m, of a time, positions and velocities, for an arm at rest."""
    if kind in HOLDERS[:2]:
        session = ControlSession(robot)
        session.activate()
        if kind == "safe mode":
            session.safe_stop(SafeReason.REQUESTED, "wanted")
        else:
            session.hold()
        return lambda time, q, dq: session.cycle(time, q, dq).effort - robot.gravity(q)
    if kind == "law":
        follower = LawFollower(robot, period)
        return lambda time, q, dq: follower.apply(q, dq, time) - robot.gravity(q)
    relay = EffortRelay(robot, 0.02, period)
    relay.receive(np.zeros(robot.n), -1.0)
    return lambda time, q, dq: relay.answer(q, dq, time)


@dataclass(frozen=True)
class Seen:
    """Largest joint speed, rad/s, largest torque beside gravity, N m, lowest height of the tool, m."""

    speed: float
    torque: float
    height: float


class HeldArm:
    """An arm whose torque control comes and goes.

    Attributes:
        q: (n,) rad.
        dq: (n,) rad/s.
    """

    def __init__(self, kind: str, robot: RobotModel, q, load: float = 0.0, period: float = 0.001, late: int = 1):
        """Put it at rest; its torques act `late` cycles after their states."""
        self.robot, self.q, self.dq = robot, np.array(q, dtype=float), np.zeros(robot.n)
        self._model, tool = pin.Model(robot.model), robot.model.frames[robot.tool_frame_id]
        self._frame, self._period, self._late = robot.tool_frame_id, period, late
        if load > 0.0:
            mass = pin.Inertia(load, np.zeros(3), 1e-4 * np.eye(3))
            self._model.appendBodyToJoint(tool.parentJoint, mass, tool.placement)
        self._data, self._time = self._model.createData(), 0.0
        self._hold = holder(kind, robot, period)

    @property
    def height(self) -> float:
        """Of the tool, m."""
        pin.framesForwardKinematics(self._model, self._data, self.q)
        return float(self._data.oMf[self._frame].translation[2])

    def guide(self, moved, seconds: float) -> None:
        """Move it by `moved` (n,), rad, from rest to rest, while the torques are not followed."""
        start, cycles = self.q.copy(), round(seconds / self._period)
        for k in range(1, cycles + 1):
            x = min(k / (0.9 * cycles), 1.0)
            self.q = start + (3.0 * x**2 - 2.0 * x**3) * np.asarray(moved)
            self.dq = 6.0 * (x - x**2) / (0.9 * seconds) * np.asarray(moved)
            self._answer()

    def drive(self, seconds: float) -> Seen:
        """Follow the torques, which are let in at 1000 N m/s."""
        step, sent = 1000.0 * self._period, np.zeros(self.robot.n)
        under_way, speed, torque, height = [sent] * self._late, 0.0, 0.0, self.height
        for _ in range(round(seconds / self._period)):
            sent = np.clip(self._answer(), sent - step, sent + step)
            under_way.append(sent)
            effort = under_way.pop(0) + self.robot.gravity(self.q)
            for _ in range(STEPS):
                self.dq = self.dq + self._period / STEPS * pin.aba(self._model, self._data, self.q, self.dq, effort)
                self.q = self.q + self._period / STEPS * self.dq
            speed = max(speed, float(np.abs(self.dq).max()))
            torque = max(torque, float(np.abs(sent).max()))
            height = min(height, self.height)
        return Seen(speed, torque, height)

    def _answer(self):
        self._time += self._period
        return self._hold(self._time, self.q.copy(), self.dq.copy())
