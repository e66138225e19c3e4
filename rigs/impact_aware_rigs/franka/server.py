"""The strict arm: libfranka's protocol, one command for one state, and everything that ends a motion.

franky-sim has the wire format and the physics. This layer adds what a real arm refuses: torque steps above 1000 N m/s
counted from `tau_J_d`, twenty lost commands in a row, reflexes by thresholds and limits; and what it reports: torque
sensors with gravity, an estimate of external torques, errors, mode, success rate.

In lockstep the arm waits in every cycle of a motion for the command that carries the number of its last state. A client
answers no state before its motion has begun, and takes one or more until its first command: the arm sends states,
without moving, each after twice the wait of the one before, until that command comes: a client that is held up there
finds no large gap. Commands for states before the last one are superseded, as their states are.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from franky_sim.franka_robot_protocol import (
    MoveStatus,
    RobotCommand,
    RobotMode,
    StateControllerMode,
    StateMotionGeneratorMode,
    UDPCommand,
)
from franky_sim.franka_server import BaseCommand, FrankaServer

from impact_aware.arrays import Array
from impact_aware_rigs.franka.commands import COMMANDS
from impact_aware_rigs.franka.errors import ERRORS, LOST_IN_A_ROW, Measured, Thresholds, reflex, refusal
from impact_aware_rigs.franka.options import PERIOD, ArmOptions
from impact_aware_rigs.franka.scene import ArmScene

PORT, VERSION = 1337, 10
"""TCP port of the arm, and the version of libfranka's protocol that franky-sim speaks."""

RATE_WINDOW = 100
"""Cycles of which the success rate is a mean."""

IDLE_PERIOD = 0.001
"""Between two states that no command answers, s of wall time."""

HAND_STIFFNESS, HAND_DAMPING, HAND_TORQUE = 150.0, 40.0, 25.0
"""With which a hand guides a joint, N m/rad, N m s/rad, and at most N m."""


class StrictServer(FrankaServer):
    """One simulated arm behind its network interface.

    Attributes:
        scene: Its physics.
        thresholds: Of collisions.
        errors: Present errors, by name; those of the last motion until the next one begins.
        mode: Of the arm.
        joint_impedance: What a client has set, N m/rad.
        cycle: Number of the last state; simulated time is `PERIOD` times as long.
        commands: Commands that acted.
        states: States that were sent in motions.
        ahead: States of motions that the client took before its first command, or that were superseded.
        lost: Cycles of motions without a command in time.
        unpaced: Of these, those that `lose` or `late` did not ask for.
    """

    def __init__(self, scene: ArmScene, options: ArmOptions, hostnames: Iterable[str]) -> None:
        """Prepare an arm that holds itself; `init` binds its address."""
        self.scene, self._options = scene, options
        self.thresholds, self.errors, self.mode = Thresholds(), list[str](), RobotMode.kIdle
        self.joint_impedance: tuple[float, ...] = ()
        self.cycle = self.commands = self.states = self.ahead = self.lost = self.unpaced = 0
        self._udp: socket.socket | None = None
        self._torque: Array = np.zeros(7)
        self._external: Array = np.zeros(7)
        self._force: Array = np.zeros(6)
        self._motion, self._answered, self._in_a_row, self._unanswered = 0, False, 0, 0
        self._received: deque[bool] = deque(maxlen=RATE_WINDOW)
        self._to_lose, self._every, self._motion_cycle = 0, 0, 0
        self._desired, self._holding = np.zeros(7), np.array(options.posture)
        self._guided_to: tuple[Array, float] | None = None
        self._pulled = np.zeros(7), 0.0
        self.attention: list[Any] = []
        self._user_stopped = False
        model = scene.model
        assert model is not None
        ranges = np.array([model.joint(f"robot0_fr3_joint{index}").range for index in range(1, 8)])
        self._limits = ranges[:, 0], ranges[:, 1]
        self._shares = [
            1.0 - np.exp(-2.0 * np.pi * bandwidth * PERIOD)
            for bandwidth in (options.sensor_bandwidth, options.external_bandwidth)
        ]
        self._next = time.monotonic()
        super().__init__(hostnames, PORT, COMMANDS, VERSION)
        self.robot = scene.robot
        # One step for the sensors, which is taken back.
        self.robot.torque_control(np.zeros(7))
        scene.step()
        scene.place()
        self._torque = scene.link_torque.copy()

    # What clients ask for

    @property
    def idle(self) -> bool:
        """Whether a motion can begin."""
        return self.mode is RobotMode.kIdle

    @property
    def moving(self) -> bool:
        """Whether a motion is under way."""
        return self._motion > 0

    def begin_motion(self, motion: int) -> None:
        """A client begins to command torques."""
        self._motion, self._answered, self._in_a_row, self._motion_cycle, self._unanswered = motion, False, 0, 0, 0
        self.errors, self.mode = [], RobotMode.kMove
        self._desired = np.zeros(7)
        self._received.clear()
        self._next = time.monotonic()
        # A command that was under way when the last motion ended answers no state of this one.
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while self._udp is not None and self._udp.recv(4096):
                pass

    def end_motion(self, status: MoveStatus, mode: RobotMode = RobotMode.kIdle) -> None:
        """The arm holds itself from now on; the client learns why."""
        motion, self._motion = self._motion, 0
        self.mode = mode
        self._holding = self.scene.q
        if motion and self._tcp_socket is not None:
            BaseCommand.send_response(self._tcp_socket, RobotCommand.kMove, motion, status)

    def recover(self) -> bool:
        """Leave the reflex mode; returns false while the user stop is pressed."""
        if self._user_stopped:
            return False
        self.errors, self.mode = [], RobotMode.kIdle
        return True

    # What tests do to the arm

    def trip(self, name: str) -> None:
        """Raise an error as the arm itself would."""
        ERRORS.index(name)
        self._stop(name)

    def user_stop(self, pressed: bool = True) -> None:
        """Press or release the user stop."""
        self._user_stopped = pressed
        if pressed:
            self.end_motion(MoveStatus.kEmergencyAborted, RobotMode.kUserStopped)
        elif self.mode is RobotMode.kUserStopped:
            self.mode = RobotMode.kIdle

    def guide(self, posture: Iterable[float], duration: float) -> None:
        """Take the arm by its hand to a posture (7,), rad, within some seconds; a motion ends as by the user stop."""
        self.end_motion(MoveStatus.kEmergencyAborted, RobotMode.kGuiding)
        self._guided_to = np.array(list(posture), dtype=float), self.cycle * PERIOD + duration

    def pull(self, torques: Iterable[float], duration: float) -> None:
        """Pull at the arm with torques (7,), N m, for so many seconds, whatever its mode."""
        self._pulled = np.array(list(torques), dtype=float), self.cycle * PERIOD + duration

    def reset(self) -> None:
        """Cut the client off and begin anew, but for time and counts."""
        self.reset_state()
        self.scene.place()
        self.thresholds, self.errors, self.mode = Thresholds(), [], RobotMode.kIdle
        self._user_stopped, self._guided_to, self._pulled = False, None, (np.zeros(7), 0.0)
        self._holding = self.scene.q
        self._torque, self._external = self.scene.link_torque.copy(), np.zeros(7)
        self.lose(0)
        self.late(0)

    def lose(self, count: int) -> None:
        """Lose the next commands on their way."""
        self._to_lose = count

    def late(self, every: int) -> None:
        """Let each command of so many come too late for its cycle; 0 for none."""
        self._every = every

    # Time

    def advance(self) -> None:
        """One cycle: requests, the command of the last state, physics, the next state."""
        self.process_commands()
        if not self.udp_connected and self.scene.still:
            return
        if self._motion:
            self._take_command()
        self._pace()
        self._move()
        self.cycle += 1
        self.send_state()

    def _process_udp_commands(self) -> bool:
        return False

    def _setup_udp_connection(self, network_udp_port: int) -> None:
        super()._setup_udp_connection(network_udp_port)
        assert self._tcp_socket is not None
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.connect((self._tcp_socket.getpeername()[0], network_udp_port))
        self._udp.setblocking(False)

    def _reset_state(self) -> None:
        """A client is gone or new: the arm holds itself; errors and the user stop stay."""
        if self._udp is not None:
            self._udp.close()
        self._udp = None
        self._motion = 0
        if self.mode is RobotMode.kMove:
            self.mode, self._holding = RobotMode.kIdle, self.scene.q

    def _take_command(self) -> None:
        """Wait for the command of the last state, in lockstep; else until the cycle is over."""
        lockstep, found = self._options.lockstep, None
        while self._motion:
            if not lockstep:
                wait = max(self._next - time.monotonic(), 0.0)
            else:
                wait = self._options.patience if self._answered else IDLE_PERIOD * 2.0**self._unanswered
            found = self._read_newest(wait)
            if found is None or not lockstep or found.torque_command_finished or found.message_id >= self.cycle:
                break
            # It answers an earlier state: the client has not seen the last one yet.
            self._answered, self.ahead = True, self.ahead + 1
        if self._motion:
            self._judge(found)

    def _read_newest(self, patience: float) -> UDPCommand | None:
        """The newest command that comes within so many seconds; requests are answered meanwhile."""
        limit = time.monotonic() + patience
        while self._motion and self._udp is not None:
            newest = None
            with contextlib.suppress(BlockingIOError, ConnectionError):
                while len(data := self._udp.recv(4096)) == UDPCommand.STRUCT.size:
                    newest = UDPCommand.from_bytes(data)
            left = limit - time.monotonic()
            if newest is not None or left <= 0.0:
                return newest
            entries = [self._udp, self._tcp_socket, *self.attention]
            ready, _, _ = select.select(entries, [], [], left)
            if self._tcp_socket in ready:
                self.process_commands()
            self.between()
        return None

    def between(self) -> None:
        """Called while the arm waits; the process answers its owner here, whose connection is in `attention`."""

    def _judge(self, command: UDPCommand | None) -> None:
        """Apply a command, or its loss, to the motion."""
        if command is not None and command.torque_command_finished:
            self.end_motion(MoveStatus.kSuccess)
            return
        self._answered |= command is not None
        if not self._answered:
            self._unanswered += 1
            return
        self._motion_cycle += 1
        dropped = self._to_lose > 0 or (self._every > 0 and self._motion_cycle % self._every == 0)
        self._to_lose = max(self._to_lose - 1, 0)
        self._received.append(command is not None and not dropped)
        if command is None or dropped:
            self.lost, self.unpaced, self._in_a_row = self.lost + 1, self.unpaced + (not dropped), self._in_a_row + 1
            if self._in_a_row >= LOST_IN_A_ROW or (self._options.lockstep and command is None):
                self._stop("communication_constraints_violation")
            return
        wanted, self._in_a_row = np.array(command.tau_J_d), 0
        if name := refusal(wanted, self._desired):
            self._stop(name)
            return
        self._desired, self.commands = wanted, self.commands + 1

    def _pace(self) -> None:
        """Hold the arm's time to its rate; without a command to wait for, to that of wall time."""
        rate = self._options.rate
        answered = self._motion > 0 and self._answered and self._options.lockstep
        period = PERIOD / rate if rate > 0.0 else 0.0 if answered else IDLE_PERIOD
        while (left := self._next - time.monotonic()) > 0.0:
            select.select(self.attention, [], [], left)
            self.between()
        # A machine that was held up does not hurry afterwards.
        self._next = max(self._next + period, time.monotonic())

    def _move(self) -> None:
        """Physics of one cycle, and what the arm makes of it."""
        scene, commanded = self.scene, self._motion > 0 and self._answered
        scene.pull = self._hand()
        if commanded:
            self.robot.torque_control(self._desired)
        elif self.mode is RobotMode.kGuiding:
            self.robot.torque_control(np.zeros(7))
        elif self._motion or (scene.still and not scene.pull.any()):
            # At rest nothing moves: how long an arm is idle changes no later result.
            self._sense()
            return
        else:
            self.robot.torque_control(scene.hold_torque(self._holding))
        scene.cycle = self.cycle
        scene.step()
        self._sense()
        if commanded:
            measured = Measured(scene.q, scene.dq, self._torque, self._external, self._force)
            if name := reflex(measured, self.thresholds, self._options, self._limits):
                self._stop(name)

    def _hand(self) -> Array:
        """Torques (7,) that a person's hand puts on the joints."""
        now, scene = self.cycle * PERIOD, self.scene
        if self._guided_to is not None:
            target, until = self._guided_to
            if now < until:
                pull = HAND_STIFFNESS * (target - scene.q) - HAND_DAMPING * scene.dq
                return np.clip(pull, -HAND_TORQUE, HAND_TORQUE)
            self._guided_to, self._holding = None, scene.q
            self.mode = RobotMode.kUserStopped if self._user_stopped else RobotMode.kIdle
        return self._pulled[0] if now < self._pulled[1] else np.zeros(7)

    def _stop(self, name: str) -> None:
        """The arm stops by itself."""
        self.errors = [name]
        self.end_motion(MoveStatus.kReflexAborted, RobotMode.kReflex)

    # What the arm measures and reports

    def _sense(self) -> None:
        torque_share, external_share = self._shares
        self._torque += torque_share * (self.scene.link_torque - self._torque)
        self._external += external_share * (self.scene.external - self._external)
        force = np.linalg.lstsq(self.scene.tool_jacobian().T, self._external, rcond=None)[0]
        self._force = np.asarray(force, dtype=float)

    def send_state(self) -> None:
        """Send the present state; one that can't be sent is as lost as any datagram."""
        if self._udp is None:
            return
        self.states += self._motion > 0
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self._udp.send(struct.pack("<Q", self.cycle) + self._get_state_bytes())

    def _get_state_bytes(self) -> bytes:
        own = self.thresholds
        raised = tuple(name in self.errors for name in ERRORS)
        present = raised if self.mode is RobotMode.kReflex else (False,) * len(ERRORS)
        force = self._force
        rate = sum(self._received) / len(self._received) if self._received else 0.0
        state = self.robot.state.replace(
            tau_J=tuple(self._torque),
            tau_J_d=tuple(self._desired if self._motion else np.zeros(7)),
            tau_ext_hat_filtered=tuple(self._external),
            O_F_ext_hat_K=tuple(force),
            K_F_ext_hat_K=tuple(force),
            joint_contact=tuple((np.abs(self._external) > own.contact_torque).astype(float)),
            joint_collision=tuple((np.abs(self._external) > own.torque).astype(float)),
            cartesian_contact=tuple((np.abs(force) > own.contact_force).astype(float)),
            cartesian_collision=tuple((np.abs(force) > own.force).astype(float)),
            errors=present,
            reflex_reason=raised,
            control_command_success_rate=rate if self._motion else 0.0,
            robot_mode=self.mode,
            controller_mode=StateControllerMode.kExternalController if self._motion else StateControllerMode.kOther,
            motion_generator_mode=StateMotionGeneratorMode.kNone if self._motion else StateMotionGeneratorMode.kIdle,
        )
        return state.pack_state()
