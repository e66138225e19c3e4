"""An episode's plant behind libfranka: each cycle reads one state and answers it with one torque command."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel
from impact_aware.simulation.impact_truth import ImpactTruth
from impact_aware.simulation.plant import PlantState
from impact_aware.simulation.sensors import JointReading
from impact_aware_rigs.franka.arm import SimulatedFranka
from impact_aware_rigs.franka.options import PERIOD

LOOK_EVERY = 10
"""Cycles between two requests for the object's state."""

TORQUE_THRESHOLD, FORCE_THRESHOLD = 100.0, 400.0
"""Above what a hit at 0.5 m/s makes of the arm's estimates of external torque and force, N m and N."""


class FrankaPlant:
    """A simulated Franka that an episode controls as libfranka's client, from `reset` until `close`.

    Attributes:
        slices: The one arm's joints.
        reading: The last state.
        success: Success rate that the last state shows.
    """

    def __init__(self, arm: SimulatedFranka, robot: RobotModel) -> None:
        """Take a running arm; `robot` is what the client knows of it."""
        import pylibfranka

        self._franka, self._arm, self._robot = pylibfranka, arm, robot
        self.slices = {"arm": slice(0, robot.n)}
        self.success, self._start, self._cycle = 0.0, 0.0, 0
        self._motion: Any = None
        self._readings: list[JointReading] = []

    @property
    def impacts(self) -> tuple[ImpactTruth, ...]:
        """None: the arm knows when it touched, not what that did."""
        return ()

    @property
    def start(self) -> float:
        """The arm's time at the begin of the episode, s."""
        return self._start

    def reset(self, posture: ArrayLike | None = None, *, seed: int = 0) -> PlantState:
        """Connect, prepare the arm for the hit, begin the motion. The arm has its posture from its options."""
        franka = self._franka
        self._client = franka.Robot(self._arm.address, franka.RealtimeConfig.kIgnore)
        tool = load_of(self._robot)
        self._client.set_load(tool.mass, tool.lever.tolist(), tool.inertia.ravel().tolist())
        torque, force = [TORQUE_THRESHOLD] * 7, [FORCE_THRESHOLD] * 6
        self._client.set_collision_behavior(torque, torque, force, force)
        self._motion = self._client.start_torque_control()
        # The first command answers whatever state the client met; from the next one on none is passed over.
        self._motion.readOnce()
        self._motion.writeOnce(franka.Torques([0.0] * 7))
        return self._read(begin=True)

    def step(self, effort: ArrayLike) -> PlantState:
        """Command a whole torque (7,), N m, and read the next state.

        Raises:
            pylibfranka.ControlException: The arm has stopped by itself.
        """
        torque = np.asarray(effort) - self._robot.gravity(self.reading.q)
        self._motion.writeOnce(self._franka.Torques(torque.tolist()))
        return self._read()

    def recording(self) -> dict[str, Array]:
        """Times (k,) and states (k, 7) of all cycles: time, q, dq, tau."""
        names = {"time": "time", "q": "q", "dq": "dq", "tau": "effort"}
        return {key: np.array([getattr(own, name) for own in self._readings]) for key, name in names.items()}

    def close(self) -> None:
        """End the motion and the connection."""
        if self._motion is not None:
            command = self._franka.Torques([0.0] * 7)
            command.motion_finished = True
            try:
                self._motion.writeOnce(command)
            except (self._franka.FrankaException, RuntimeError):
                pass
        self._motion = self._client = None

    def _read(self, begin: bool = False) -> PlantState:
        state, _ = self._motion.readOnce()
        now = state.time.to_sec()
        if begin:
            self._start = now
        q, dq, effort = np.array(state.q), np.array(state.dq), np.array(state.tau_J)
        self.success = state.control_command_success_rate
        # Whole cycles: the rounding of the difference would depend on when the motion began.
        time = PERIOD * round((now - self._start) / PERIOD)
        self.reading = JointReading(time=time, q=q, dq=dq, effort=effort)
        self._readings.append(self.reading)
        if begin or self._cycle % LOOK_EVERY == 0:
            truth = self._arm.status()
            self._pose, self._twist = _placement(truth.object_pose), np.array(truth.object_velocity)
        self._cycle += 1
        return PlantState(self.reading.time, q, dq, effort, self._pose, self._twist)


def load_of(robot: RobotModel) -> pin.Inertia:
    """What the profile's tool adds to the hand, in the flange's axes, for `set_load`.

    Raises:
        InvalidInputError: A robot without one.
    """
    tool = None if robot.profile is None else robot.profile.tool
    if tool is None:
        raise InvalidInputError("robot", robot.name, "a profile with a tool")
    reach = np.array(tool.center_of_mass) + [0.0, 0.0, 0.1034]
    return pin.Inertia(tool.mass, reach, np.diag(tool.inertia_diagonal))


def _placement(pose: tuple[float, ...]) -> pin.SE3:
    w, x, y, z = pose[3:]
    return pin.SE3(pin.Quaternion(w, x, y, z).toRotationMatrix(), np.array(pose[:3]))
