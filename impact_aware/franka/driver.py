"""The process that holds libfranka: reads each state, answers it with a law or a hold, and shares both.

libfranka's bindings keep the interpreter's lock while they wait for the arm, so nothing else runs here: no ROS, no
thread. It ends with its parent, after the arm has been brought to rest. An arm that stopped by itself is only read
until a request to recover: then its errors are cleared and it is held where it is.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from impact_aware.child_process import end_with_parent
from impact_aware.control.local_law import LawFollower, LocalLaw
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.franka.channel import (
    BRAKING,
    ENDED,
    FOLLOWING,
    HOLDING,
    STOPPED,
    WATCHING,
    WORKING,
    Channel,
)
from impact_aware.franka.connection import connect, error_names, library, sentence, stop_reason
from impact_aware.task.arms import single_arm

PERIOD = 0.001
"""Between two states, s."""

DRIFT = 1e-4
"""By how much the arm's clock may run slower than this machine's, as a share of time."""

CONTROL, RECOVER, LEAVE = "control", "recover", "leave"
"""Requests: whether the arm is held and follows laws; clear its errors; bring it to rest and end."""


@dataclass(frozen=True)
class DriverSettings:
    """What the process is started with.

    Attributes:
        address: Name or IP address of the arm.
        robot: Its profile.
        prefix: What stands before the names of its joints.
        base: Pose of its base, as `task.arms.single_arm` takes it.
        control: Whether it is held and follows laws; otherwise only its states are read.
        realtime: One of `connection.REALTIME`.
        arm_time: Whether states are stamped by the arm's own clock, as a simulated arm's are.
        priority: Under SCHED_FIFO, where real time is enforced.
    """

    address: str
    robot: str
    prefix: str = ""
    base: tuple[float, ...] = ()
    control: bool = False
    realtime: str = "enforce"
    arm_time: bool = False
    priority: int = 80

    def start(self, channel: Channel) -> subprocess.Popen[bytes]:
        """Start the process on the other end of a channel; Ctrl-C in a terminal does not reach it."""
        command = [sys.executable, "-m", __spec__.name, json.dumps(asdict(self)), str(os.getpid())]
        command += map(str, channel.fds)
        return subprocess.Popen(command, pass_fds=channel.fds, start_new_session=True, stdin=subprocess.DEVNULL)


class StampClock:
    """Stamps of this machine's clock for states with the arm's own time, without the network's jitter.

    The least delayed of all states so far decides the offset, which may grow by `DRIFT`.
    """

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._offset = np.inf
        self._last = 0.0

    def stamp(self, time: float, arrival: float) -> float:
        """The stamp of a state of the arm's `time` that came at `arrival`, both in s."""
        grown = self._offset + DRIFT * max(time - self._last, 0.0)
        if time < self._last or not abs(arrival - time - grown) < 1.0:
            # The arm was started anew, or this machine's clock was set.
            grown = np.inf
        self._offset, self._last = min(grown, arrival - time), time
        return float(time + self._offset)


class Driver:
    """The arm's side of a channel."""

    def __init__(self, settings: DriverSettings, channel: Channel, arm: Any) -> None:
        """Take a connected `pylibfranka.Robot`."""
        self._settings, self._channel, self._arm = settings, channel, arm
        self._franka = library()
        (own,) = single_arm("", settings.robot, settings.base, settings.prefix)
        self._robot = own.robot
        self._clock = None if settings.arm_time else StampClock()
        self._control, self._leaving = settings.control, False
        self._stopped = ""
        self._last = np.nan
        self._lost = self._refused = 0

    def run(self) -> None:
        """Read and move until a request to leave."""
        self._report(WORKING, "reading the arm")
        while not self._leaving:
            if not self._control or self._stopped:
                self._watch()
            else:
                self._move()

    def leave(self, *_signal: object) -> None:
        """Bring the arm to rest, and end."""
        self._leaving = True

    def _watch(self) -> None:
        state = self._arm.read_once()
        mode = self._franka.RobotMode
        self._share(state, WATCHING, self._stamp(state, moves=state.robot_mode == mode.Move))
        if not self._stopped and state.robot_mode in (mode.Reflex, mode.UserStopped, mode.Guiding):
            names = error_names(state.current_errors) or error_names(state.last_motion_errors)
            own = {mode.Reflex: ", ".join(names) or "reflex", mode.UserStopped: "user stop", mode.Guiding: "guided"}
            self._stop(own[state.robot_mode])
        elif self._stopped and not self._control and state.robot_mode == mode.Idle:
            # Who only watches needs no recovery.
            self._stopped = ""
            self._report(WORKING, "reading the arm")
        self._obey()

    def _move(self) -> None:
        """Hold the arm where it is, and follow laws, until it stops or is to be left."""
        franka = self._franka
        try:
            if self._arm.read_once().robot_mode != franka.RobotMode.Idle:
                self._watch()
                return
            motion = self._arm.start_torque_control()
            follower = LawFollower(self._robot, PERIOD)
            self._report(WORKING, "holding the arm, or following laws")
            rests, self._last = 0, np.nan
            while True:
                state, _ = motion.readOnce()
                began = time.thread_time()
                stamp = self._stamp(state, moves=True)
                phase = self._answer(follower, state, stamp)
                torques = franka.Torques(follower.filter.previous.tolist())
                rests = rests + 1 if phase == HOLDING else 0
                leaves = (self._leaving or not self._control) and rests > 0
                torques.motion_finished = leaves
                applied = time.thread_time()
                motion.writeOnce(torques)
                self._share(state, phase, stamp, follower.law, applied - began, time.thread_time() - began)
                if leaves:
                    return
                self._obey()
        except franka.NetworkException:
            raise
        except (franka.FrankaException, RuntimeError) as error:
            after = None
            with contextlib.suppress(franka.FrankaException, RuntimeError):
                after = self._arm.read_once()
            self._stop(stop_reason(error, after))

    def _answer(self, follower: LawFollower, state: Any, stamp: float) -> int:
        """Torques for a state into the follower's filter; returns what they are for."""
        law = None if self._leaving or not self._control else self._channel.take_law(self._robot.joint_names)
        if law is not None:
            try:
                follower.receive(law)
            except InvalidInputError:
                self._refused += 1
        if self._leaving or not self._control:
            follower.law = None
        q, dq = np.array(state.q), np.array(state.dq)
        follower.apply(q, dq, stamp, np.array(state.tau_J_d))
        if not follower.expired:
            return FOLLOWING
        return HOLDING if follower.at_rest else BRAKING

    def _stamp(self, state: Any, *, moves: bool) -> float:
        """The stamp of a state, s; where the arm `moves`, states that are missing before it are counted."""
        now = float(state.time.to_sec())
        if moves and now > self._last + 1.5 * PERIOD:
            self._lost += round((now - self._last) / PERIOD) - 1
        self._last = now
        return now if self._clock is None else self._clock.stamp(now, time.time())

    def _share(
        self, state: Any, phase: int, stamp: float, law: LocalLaw | None = None, applied: float = 0.0, sent: float = 0.0
    ) -> None:
        self._channel.put_state(
            [
                state.time.to_sec(), stamp, float(state.robot_mode.value), phase, state.control_command_success_rate,
                self._lost, self._refused, 0.0 if law is None else law.sequence, applied, sent,
                self._channel.reports,
                *state.q, *state.dq, *state.tau_J, *state.tau_J_d, *state.tau_ext_hat_filtered,
            ]
        )  # fmt: skip

    def _obey(self) -> None:
        request = self._channel.take_request()
        if not request:
            return
        self._control = bool(request.get(CONTROL, self._control))
        self._leaving = self._leaving or bool(request.get(LEAVE))
        if request.get(RECOVER):
            self._recover()

    def _recover(self) -> None:
        """Clear the arm's errors; it is held where it is from then on."""
        if not self._stopped:
            # In a motion an arm refuses it, or ends the motion.
            self._report(WORKING, "no error: nothing to recover from")
            return
        try:
            self._arm.automatic_error_recovery()
        except (self._franka.CommandException, self._franka.ControlException) as error:
            self._report(STOPPED, f"{self._stopped or 'no error'}; recovery refused: {sentence(error)}")
            return
        self._stopped = ""
        self._report(WORKING, "recovered")

    def _stop(self, reason: str) -> None:
        self._stopped = reason
        self._report(STOPPED, reason)

    def _report(self, state: int, detail: str) -> None:
        self._channel.put_report(state, detail)


def main(settings: DriverSettings, channel: Channel) -> int:
    """Connect, and drive until the end; whatever ends it is the last report."""
    try:
        driver = Driver(settings, channel, connect(settings.address, settings.realtime))
        signal.signal(signal.SIGTERM, driver.leave)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if settings.realtime == "enforce":
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(settings.priority))
        gc.collect()
        gc.freeze()
        gc.disable()
        driver.run()
    except ImpactAwareError as error:
        channel.put_report(ENDED, str(error))
        return 2
    except PermissionError:
        channel.put_report(ENDED, "priority: no permission: the user needs rtprio in /etc/security/limits.conf")
        return 2
    except (library().FrankaException, RuntimeError) as error:
        channel.put_report(ENDED, sentence(error))
        return 1
    channel.put_report(ENDED, "")
    return 0


if __name__ == "__main__":
    end_with_parent(signal.SIGTERM, int(sys.argv[2]))
    given = json.loads(sys.argv[1])
    sys.exit(main(DriverSettings(**given), Channel((int(sys.argv[3]), int(sys.argv[4])))))
