"""One fault in one mode of the controller, in process: plant, detector, prediction and controller in a closed loop.

Everything between the plant's sensors and its torques is what the nodes run, without ROS: names are picked by the same
reader, the controller stands in the same guard, commands go through a double of ros2_control's forward controller. The
watchdog of the node is played in simulated time.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections import deque
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_aware.control import Command, Mode, ReferenceSpreadingController, SafeReason
from impact_aware.control.completion import TaskCompletion
from impact_aware.control.guard import GuardedController
from impact_aware.detection import ImpactEvent, JointSample, make_detector
from impact_aware.faults.classes import FAULT_CLASSES, FaultClass, draw_duration, fault_class
from impact_aware.faults.state_faults import STATE_FAULTS, Delivery, StateFault, StateMessage
from impact_aware.faults.trial_result import MODES, Trial, TrialResult
from impact_aware.impact import ImpactPrediction
from impact_aware.reference import load_task, make_field, start_posture
from impact_aware.robot import RobotModel
from impact_aware.robot.effort_convention import EffortConvention
from impact_aware.robot.joint_reader import JointReader
from impact_aware.simulation import MujocoPlant
from impact_aware.simulation.episode import predict_impact, task_scene
from impact_aware.simulation.forward_controller import ForwardCommandController

Array = NDArray[np.float64]

CYCLE = 0.001
STATE_TIMEOUT = 0.1  # of rs_controller, s
WATCHDOG_PERIOD = 0.01  # of rs_controller, s
COMMAND_TIMEOUT = 0.1  # of sim_robot: without commands the robot brakes, s
QUEUE_DEPTH = 10  # of the subscription to joint states
LIVELINESS_LEASE = 2.0  # after which the death of the detector is known, s
REST_SPEED = 0.02  # rad/s
REST_WITHIN = 1.0  # from the begin of the safe mode on, s
DWELL = 0.05  # at rest, s
LONGEST = 4.5  # s
START = 1.0  # stamp of the first state, s


class _Later(NamedTuple):
    """Something due, in the order of its time and then of its number."""

    due: float
    number: int
    message: StateMessage


class FaultBench:
    """What all trials of a process share: a Panda before a box that it is to push by 0.12 m."""

    def __init__(self) -> None:
        """Build task, field and plant."""
        task = load_task("hit_and_push", {"goal": [0.5, -0.12, 0.1], "fields": {"start_ramp": 0.1}})
        arm = dataclasses.replace(task.arms[0], starts=((0.5, 0.16, 0.14),))
        self.task = dataclasses.replace(task, arms=(arm,))
        self.robot = RobotModel.from_profile(arm.robot)
        self.field = make_field(self.task, [self.robot])
        self.plant = MujocoPlant(task_scene(self.task), self.robot)
        self.start = np.asarray(start_posture(arm, self.robot))

    def run(self, trial: Trial) -> TrialResult:
        """Do one trial; never raises for what happens in it.

        Raises:
            UnknownNameError: No fault or mode of that name.
        """
        return _Run(self, trial).run()


class _Run:
    """The state of one trial."""

    def __init__(self, bench: FaultBench, trial: Trial) -> None:
        self.bench, self.trial = bench, trial
        self.fault_class: FaultClass = fault_class(trial.fault)
        number = tuple(FAULT_CLASSES).index(trial.fault)
        self.generator = np.random.default_rng([trial.seed, number, MODES.index(trial.mode)])
        self.duration = draw_duration(self.fault_class, self.generator)
        self.state_fault: StateFault | None = None
        self.severity = 0.0
        if self.fault_class.kind == "state":
            self.state_fault = STATE_FAULTS[trial.fault](self.generator)
            self.severity = self.state_fault.severity
        elif trial.fault == "command_drop":
            self.severity = float(self.generator.uniform(0.05, 0.5))
        elif trial.fault == "cpu_starved":
            # Stalls in ms; what the queue holds after one is caught up with.
            self.severity = float(self.generator.uniform(2.0, 60.0))
        self.patience = {
            "ante": self.generator.uniform(0.04, 0.12),
            "interim": self.generator.uniform(0.002, 0.06),
            "post": self.generator.uniform(0.002, 0.15),
            "safe": 0.005,
        }[trial.mode]
        robot = bench.robot
        self.limits = robot.limits
        self.step_limit = robot.limits.effort_rate * CYCLE
        self.hardware = ForwardCommandController(robot.n)
        self.hardware.activate()
        self.convention = EffortConvention([robot])
        self.plant_convention = EffortConvention([robot])
        self.failures: list[str] = []
        self.peaks = [0.0, 0.0]
        self.last_effort: Array | None = None
        self.last_command_time = -math.inf
        self.later: list[_Later] = []
        self.number = 0
        self.queue: deque[StateMessage] = deque(maxlen=QUEUE_DEPTH)
        self.predictions: list[tuple[float, Array]] = []
        self.restarted = False
        self._make_controller()

    def _make_controller(self) -> None:
        bench = self.bench
        self.controller = ReferenceSpreadingController(bench.robot, field=bench.field)
        self.guard = GuardedController(self.controller)
        self.reader = JointReader(bench.robot.joint_names)
        self.completion = TaskCompletion(goal_tolerance=0.02)
        self.detector = make_detector("adaptive_window", bench.robot.n)
        self.last_receipt = -math.inf
        self.next_watch = 0.0
        self.active = True
        self.command: Command | None = None

    # The course of a trial

    def run(self) -> TrialResult:
        plant = self.bench.plant
        plant.reset(self.bench.start, seed=self.trial.seed)
        self.controller.start(START, self.bench.start, np.zeros(self.bench.robot.n))
        self.fault_begin, self.mode_since = math.inf, math.nan
        self.safe_since, self.rest_since = math.nan, math.nan
        self.down_until = -math.inf
        outcome = "neither"
        try:
            while plant.state.time < LONGEST:
                self.now = START + plant.state.time
                self._maybe_begin()
                self._cycle()
                found = self._judge()
                if found:
                    outcome = found
                    break
        except Exception as error:  # noqa: BLE001 - an exception is what the trial looks for
            self.failures.append(f"{type(error).__name__}: {error}")
        rest_time = self.rest_since - self.safe_since if outcome == "safe" else math.nan
        reason = "" if self.command is None or self.command.reason is None else str(self.command.reason)
        detail = "" if self.command is None else self.command.detail
        expected = self._expected()
        self._check_outcome(outcome, reason, expected, rest_time)
        recovered = not self.failures and self._recover(outcome)
        if not recovered and not self.failures:
            self.failures.append("could not be started again")
        return TrialResult(
            trial=self.trial,
            severity=self.severity,
            duration=self.duration,
            reason=reason,
            detail=detail,
            expected=tuple(sorted(str(wanted or "") for wanted in expected)),
            outcome=outcome,
            rest_time=rest_time,
            recovered=recovered,
            peak_effort_share=self.peaks[0],
            peak_rate_share=self.peaks[1],
            failures=tuple(self.failures),
        )

    def _expected(self) -> frozenset[SafeReason | None]:
        if self.trial.mode == "safe":
            return frozenset({SafeReason.REQUESTED})
        expected = self.fault_class.outcomes(self.severity, self.duration)
        if self.trial.mode == "ante" and self.fault_class.kind in ("state", "process") and self._hid_the_impact():
            # The detector can't see an impact in states that it does not get: the arm stops behind the place.
            expected |= {SafeReason.IMPACT_MISSED}
        return expected

    def _hid_the_impact(self) -> bool:
        """Whether the fault was acting when the tool hit the object, or so shortly before that it still mattered."""
        times = [START + impact.time for impact in self.bench.plant.impacts if impact.partner == "object"]
        return bool(times) and self.fault_begin <= times[0] <= self.fault_begin + self.duration + 0.05

    def _check_outcome(
        self, outcome: str, reason: str, expected: frozenset[SafeReason | None], rest_time: float
    ) -> None:
        if outcome == "neither":
            self.failures.append(f"neither at rest nor done after {LONGEST:g} s (mode {self.controller.mode.name})")
        if outcome == "restarted":
            return
        if outcome != "neither" and reason not in {str(wanted or "") for wanted in expected}:
            self.failures.append(f"reason {reason or 'none'}, expected {sorted(str(e or 'none') for e in expected)}")
        if outcome == "safe" and not rest_time <= REST_WITHIN:
            self.failures.append(f"at rest only {rest_time:.2f} s after the safe mode began")

    def _maybe_begin(self) -> None:
        """The fault begins a while after its mode."""
        if math.isfinite(self.fault_begin):
            return
        mode, wanted = self.controller.mode, self.trial.mode
        moving = self.now - START
        if wanted == "safe":
            if moving > 0.08 and mode is not Mode.SAFE:
                self.controller.safe_stop(SafeReason.REQUESTED, "asked for by the trial")
            reached = mode is Mode.SAFE
        else:
            reached = mode is Mode[wanted.upper()]
        if reached and math.isnan(self.mode_since):
            self.mode_since = self.now
        if self.now - self.mode_since >= self.patience:
            self.fault_begin = self.now
            if self.trial.fault == "object_gone":
                self.bench.plant.place_object(pin.SE3(np.eye(3), np.array([5.0, 5.0, 0.1])))

    @property
    def faulty(self) -> bool:
        """Whether the fault acts now."""
        return self.fault_begin <= self.now < self.fault_begin + self.duration

    def _cycle(self) -> None:
        reading = self.bench.plant.reading
        names = self.bench.robot.joint_names
        message = StateMessage(
            START + reading.time, names, reading.q.tolist(), reading.dq.tolist(), reading.effort.tolist()
        )
        self._deliver(message)
        if self._controller_runs():
            while self.queue:
                self._on_state(self.queue.popleft())
            self._watch()
        self._step()

    def _deliver(self, message: StateMessage) -> None:
        """Pass a state through the fault, and put what is due into the queue."""
        deliveries = [Delivery(0.0, message)]
        if self.state_fault is not None and self.faulty:
            deliveries = self.state_fault.apply(message)
        for delivery in deliveries:
            self.number += 1
            heapq.heappush(self.later, _Later(self.now + delivery.delay, self.number, delivery.message))
        while self.later and self.later[0].due <= self.now:
            self.queue.append(heapq.heappop(self.later).message)

    def _controller_runs(self) -> bool:
        """Whether the controller's process gets its turn in this cycle."""
        if self.trial.fault == "controller_restarted" and math.isfinite(self.fault_begin):
            if not self.restarted:
                self.restarted = True
                self.down_until = self.now + self.duration
                self.active = False
            if self.now < self.down_until:
                self.queue.clear()
                return False
            if math.isfinite(self.down_until):
                self.down_until = -math.inf
                self._make_controller()
                self.active = False
                self.last_effort = None
        if self.trial.fault == "cpu_starved" and self.faulty:
            if self.now >= self.down_until + 0.02:
                self.down_until = self.now + 1e-3 * self.severity
            return self.now >= self.down_until
        return True

    # What the nodes do

    def _on_state(self, message: StateMessage) -> None:
        reader = self.reader
        if reader.take(*message):
            return
        self.last_receipt = self.now
        self._detect(reader)
        self._take_late_predictions()
        if not self.active:
            return
        age = self.now - message.time
        # Clocks that differ by more than this don't compare, says the node.
        age = max(age, 0.0) if abs(age) < 1000.0 else 0.0
        effort = reader.effort if np.isfinite(reader.effort).all() else None
        command = self.guard.update(reader.time, reader.position, reader.velocity, effort=effort, age=age)
        self._send(command, self.guard.position)
        if self.completion.done(command, self.bench.field.goal):
            self.controller.hold()

    def _detect(self, reader: JointReader) -> None:
        dead = self.trial.fault == "detector_killed" and math.isfinite(self.fault_begin)
        if dead:
            moving = self.controller.mode in (Mode.ANTE, Mode.INTERIM, Mode.POST)
            if moving and self.now > self.fault_begin + LIVELINESS_LEASE:
                self.controller.safe_stop(SafeReason.UPSTREAM_LOST, "the node that publishes impacts is gone")
            return
        velocity = reader.velocity if reader.velocity_measured else None
        event = self.detector.update(JointSample(reader.time, reader.position, velocity, reader.effort))
        if self.trial.fault == "false_detections" and self.faulty and self.generator.random() < 0.02:
            self.guard.notify_impact(reader.time - 0.003, reader.time)
        if event is not None and self.controller.mode in (Mode.ANTE, Mode.INTERIM):
            self._on_impact(event, reader)

    def _on_impact(self, event: ImpactEvent, reader: JointReader) -> None:
        known = np.isfinite(event.velocity_before)
        event = dataclasses.replace(event, velocity_before=np.where(known, event.velocity_before, reader.velocity))
        prediction: ImpactPrediction = predict_impact(self.bench.task, 0, self.bench.robot, self.bench.field, event)
        twist = prediction.object_twist_after
        velocity = None if twist is None else twist[:3]
        if self.trial.fault == "prediction_absurd":
            velocity = self._absurd_velocity()
        if self.trial.fault == "prediction_late" and velocity is not None:
            self.predictions.append((self.now + float(self.generator.uniform(0.05, 0.2)), velocity))
            velocity = None
        self.guard.notify_impact(event.time, reader.time, velocity)

    def _absurd_velocity(self) -> Array:
        direction = self.generator.standard_normal(3)
        size = 10.0 ** self.generator.uniform(0.5, 6.0)
        kinds = (direction * np.nan, direction * np.inf, direction / np.linalg.norm(direction) * size)
        return np.asarray(kinds[int(self.generator.integers(3))])

    def _take_late_predictions(self) -> None:
        for due, velocity in list(self.predictions):
            if self.now >= due and self.controller.field is not None:
                field = self.controller.field
                self.guard.set_field(field.after_impact(field.object_position_at_impact, velocity))
                self.predictions.remove((due, velocity))

    def _watch(self) -> None:
        if self.now < self.next_watch or not self.active:
            return
        self.next_watch = self.now + WATCHDOG_PERIOD
        if self.now - self.last_receipt <= STATE_TIMEOUT or math.isinf(self.last_receipt):
            return
        missing = ", ".join(self.reader.missing)
        if missing:
            self.controller.safe_stop(SafeReason.JOINT_MISSING, f"joint_states lack {missing}")
        else:
            self.controller.safe_stop(SafeReason.STATE_STALE, f"no usable joint_states for {STATE_TIMEOUT:g} s")
        self._send(self.guard.command_without_state(self.now), self.guard.position)

    # The way to the robot

    def _send(self, command: Command, q: Array) -> None:
        self.command = command
        effort = command.effort
        self._check_command(effort)
        self.last_command_time = self.now
        sent = self.convention.to_command(effort, q)
        dropped = self.trial.fault == "command_drop" and self.faulty and self.generator.random() < self.severity
        if not dropped:
            self.hardware.receive(sent.tolist())

    def _check_command(self, effort: Array) -> None:
        """No command outside the envelope, ever; judged here by nothing but the robot's own limits."""
        if not np.isfinite(effort).all():
            self.failures.append(f"a command that is not finite at {self.now - START:.3f} s")
            return
        self.peaks[0] = max(self.peaks[0], float((np.abs(effort) / self.limits.effort).max()))
        if self.last_effort is not None:
            change = np.abs(effort - self.last_effort) / self.step_limit
            self.peaks[1] = max(self.peaks[1], float(change.max()))
        # Rounding of a command at its limit.
        if max(self.peaks) > 1.0 + 1e-6 and not any("limit" in failure for failure in self.failures):
            self.failures.append(f"a command over its limit at {self.now - START:.3f} s")
        self.last_effort = effort.copy()

    def _step(self) -> None:
        written = self.hardware.update()
        silent = self.now - self.last_command_time > COMMAND_TIMEOUT
        if written is None or silent:
            self.bench.plant.step(None)
        else:
            self.bench.plant.step(self.plant_convention.to_effort(written, self.bench.plant.state.q))

    # Judgement

    def _judge(self) -> str:
        """The outcome, once it is known."""
        at_rest = float(np.abs(self.bench.plant.state.dq).max()) < REST_SPEED
        mode = self.controller.mode
        if mode is Mode.SAFE and math.isnan(self.safe_since):
            self.safe_since = self.now
        quiet = at_rest and (mode in (Mode.SAFE, Mode.HOLD, Mode.IDLE) or not self.active)
        if not quiet:
            self.rest_since = math.nan
            return ""
        if math.isnan(self.rest_since):
            self.rest_since = self.now
        if not math.isfinite(self.fault_begin) or self.now - self.rest_since < DWELL:
            return ""
        if self.now < self.fault_begin + min(self.duration, 0.5):
            return ""
        if self.restarted:
            return "restarted" if self.now > self.down_until + DWELL and math.isinf(self.down_until) else ""
        return "safe" if mode is Mode.SAFE else "done"

    def _recover(self, outcome: str) -> bool:
        """Without the fault: reset, hold, start, and all is as before."""
        self.fault_begin = math.inf
        trial, self.trial = self.trial, dataclasses.replace(self.trial, fault="none")
        self.state_fault = None
        self.later.clear()
        self.queue.clear()
        try:
            self.guard.reset()
            self._set_up_again()
            self.active = True
            if not self._goes_on(40, (Mode.IDLE,)):
                return False
            self.controller.start(self.reader.time, self.reader.position, self.reader.velocity)
            return self._goes_on(40, (Mode.ANTE, Mode.INTERIM, Mode.POST))
        except Exception as error:  # noqa: BLE001 - an exception is what the trial looks for
            self.failures.append(f"{type(error).__name__}: {error}")
            return False
        finally:
            self.trial = trial

    def _set_up_again(self) -> None:
        """The object 5 cm before the tool, and a field for that place, as a new look at the scene would give."""
        bench, box = self.bench, self.bench.task.object
        tool = bench.plant.tool_placement().translation
        place = np.array([tool[0], tool[1] - box.half_extents[1] - bench.robot.tool_radius - 0.05, box.position[2]])
        bench.plant.place_object(pin.SE3(np.eye(3), place))
        moved = dataclasses.replace(box, position=tuple(place.tolist()))
        goal = (float(place[0]), float(place[1]) - 0.1, float(place[2]))
        arm = dataclasses.replace(bench.task.arms[0], starts=(tuple(tool.tolist()),))
        task = dataclasses.replace(bench.task, object=moved, goal=goal, arms=(arm,))
        self.guard.set_field(make_field(task, [bench.robot]))

    def _goes_on(self, cycles: int, modes: tuple[Mode, ...]) -> bool:
        for _ in range(cycles):
            self.now = START + self.bench.plant.state.time
            self._cycle()
            if self.controller.mode not in modes:
                assert self.command is not None
                self.failures.append(f"{self.controller.mode.name} after a new start: {self.command.detail}")
                return False
        return not self.failures
