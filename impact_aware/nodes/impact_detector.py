"""Node `impact_detector`: joint_states in, impacts out, within the cycle in which they become known."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ImpactEvent as ImpactEventMessage
from impact_aware_msgs.msg import ImpactPrediction
from impact_aware_msgs.msg import Task as TaskMessage
from rclpy.node import Node

from impact_aware.bringup.task_parameters import contact_parameters, own_arm
from impact_aware.detection import DETECTORS, JointSample
from impact_aware.detection.impact_watch import CONTACT_RENEWED, ImpactWatch, WatchEvent, WatchEventKind
from impact_aware.detection.tuning import load_parameters
from impact_aware.detection.watch_settings import WatchSettings, make_watch, noise_of
from impact_aware.errors import ImpactAwareError
from impact_aware.messages.impact_event import (
    CONTACT_MADE,
    MEANINGS,
    completion_to_message,
    event_from_message,
    event_to_message,
    loss_to_message,
)
from impact_aware.messages.impact_prediction import expected_jump, impact_from_message
from impact_aware.messages.task import task_from_message
from impact_aware.nodes.bases import NOT_KNOWN
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.parameters import described
from impact_aware.robot import JointOrder, RobotModel
from impact_aware.ros.diagnostics import OK, WARN, DiagnosticsReporter, Report, refusals
from impact_aware.ros.liveness import HeartbeatSender, TwinWatch
from impact_aware.ros.messages import ROS
from impact_aware.ros.qos import EVENT_QOS, LATCHED_QOS, own_and_common
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.robot_source import provide_robot
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.task.arms import robot_on_base


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    arm: str = described("", "name of the arm, written into every event; empty: the node's namespace")
    joints: list[str] = described([], "joints to watch, in the model's order; empty: those of the first message")
    base_frame: str = described("base", "frame_id of the events")
    detector: str = described("adaptive_window", "which detector", choices=tuple(DETECTORS))
    tuning: str = described("", "file from impact-aware tune-detector with the detector's parameters; empty: defaults")
    robot: str = described("", "robot profile, for the inertia and the detectors that need the arm's model")
    from_description: bool = described(
        False, "joints, base frame and model are those of robot_description; nothing is watched before it is there"
    )
    base_rpy: list[float] = described(
        [], "roll, pitch, yaw of the base in a frame whose z axis points up, rad; empty: it stands upright"
    )
    base_from_task: bool = described(
        False, "the base is that of the task, which reference_field looks up in TF; nothing is watched before"
    )
    normal: list[float] = described([], "normal of the surface to be hit, for bounces and the most sensitive joint")
    follow_task: bool = described(True, "where a normal is given: it is that of the latest task")
    sampling_period: float = described(0.001, "time between two states, s", 1e-5, 0.1)
    encoder_resolution: float = described(1e-5, "step of the positions, rad", 0.0, 0.1)
    position_noise: float = described(0.0, "standard deviation of the positions without the steps, rad", 0.0, 0.1)
    measure_noise: bool = described(
        True, "raise position_noise to what the first 50 states show; they are not watched then"
    )
    refractory_time: float = described(0.04, "time after an impact in which no other is reported, s", 0.0, 10.0)
    expectation: bool = described(True, "compare impacts with predicted_jumps and report their meaning")
    expected_jumps: str = described("predicted_jumps", "topic of the predictions to compare with")
    bounce: bool = described(True, "report when contact is lost; needs robot, and a normal given here or predicted")
    completion: bool = described(True, "report when a sequence of impacts is over")
    expected_contacts: int = described(1, "impacts that make the sequence complete, such as one per arm", 1, 100)
    other_impacts: list[str] = described([], "topics of other arms' impacts that belong to the sequence")
    completion_longest: float = described(0.5, "time after which the sequence is over in any case, s", 0.01, 100.0)
    lockstep: bool = described(False, "answer every state with step_done, for a simulator in lockstep")
    lowest_rate: float = described(200.0, "warn when joint_states arrive more slowly than this, Hz", 1.0, 10000.0)


class ImpactDetectorNode(Node):
    """Watches the contacts of one arm by its joint states."""

    def __init__(self, **ros: Any) -> None:
        """Declare the parameters and subscribe; `ros` goes to rclpy's node."""
        super().__init__("impact_detector", **ros)
        self._settings = load_settings(self, Settings)
        self._arm = self._settings.arm or self.get_namespace().strip("/")
        settings = self._settings
        self._base_rpy: Sequence[float] = settings.base_rpy
        self._robot = robot_on_base(settings.robot, self._base_rpy) if settings.robot else None
        self._waiting, self._noise = settings.base_from_task, 0.0
        self._tuning = load_parameters(settings.tuning, settings.detector) if settings.tuning else {}
        self._noise_samples: list[np.ndarray] | None = [] if settings.measure_noise and not settings.tuning else None
        self.watch: ImpactWatch | None = None
        self._messages: dict[int, ImpactEventMessage] = {}
        self._seen: dict[str, tuple[int, int]] = {}
        self._counts = dict.fromkeys(WatchEventKind, 0)
        self._refused: Counter[str] = Counter()
        self._normal: np.ndarray | None = None
        self._order = JointOrder(())
        self._publisher = self.create_publisher(ImpactEventMessage, "impacts", EVENT_QOS)
        self._lockstep = LockstepReporter(self, settings.lockstep)
        self._ready = False
        # Listened to whether it is used or not, as the graph's connections are checked before a motion.
        self.create_subscription(ImpactPrediction, settings.expected_jumps, self._on_prediction, EVENT_QOS)
        follows = settings.base_from_task or (settings.follow_task and settings.normal)
        for topic in own_and_common(self.get_namespace(), "task") if follows else ():
            self.create_subscription(TaskMessage, topic, self._on_task, LATCHED_QOS)
        for topic in settings.other_impacts:
            self.create_subscription(ImpactEventMessage, topic, partial(self._on_other_impact, topic), EVENT_QOS)
        self._twins = TwinWatch(self)
        self._readiness = Readiness(self)
        self._diagnostics = DiagnosticsReporter(self, self._status)
        if settings.from_description:
            provide_robot(self, "", "", self._take_description)
        else:
            self._listen()

    def _take_description(self, robot: RobotModel) -> None:
        """The arm is that of `robot_description`."""
        self._robot = robot
        self._settings = dataclasses.replace(
            self._settings, joints=list(robot.joint_names), base_frame=robot.base_frame
        )
        self._listen()

    def _listen(self) -> None:
        settings = self._settings
        if settings.joints:
            self.watch = self._make_watch(len(settings.joints))
        self._order = JointOrder(settings.joints)
        self._source = JointStateSource(
            self,
            settings.joints,
            self._on_state,
            reliable=settings.lockstep,
            lowest_rate=settings.lowest_rate,
            gaps=True,
        )
        # What takes long is done: heartbeats without a pause from here on.
        self._heartbeat = HeartbeatSender(self, ["impacts"])
        self._ready = True
        self.get_logger().info(f"watching joint_states with the {settings.detector} detector")

    def _make_watch(self, joint_count: int, noise: float = 0.0) -> ImpactWatch:
        names = {field.name for field in dataclasses.fields(WatchSettings)}
        given: dict[str, Any] = {key: value for key, value in vars(self._settings).items() if key in names}
        given["position_noise"] = max(noise, self._settings.position_noise)
        if self._normal is not None:
            given["normal"] = self._normal.tolist()
        return make_watch(joint_count, WatchSettings(**given), robot=self._robot, tuning=self._tuning)

    def _on_state(self, stamp: Time) -> None:
        source = self._source
        if self._waiting or not source.stamped:
            self._lockstep.report(stamp)
            return
        if self.watch is None:
            self._order = JointOrder(source.joint_names)
            self.watch = self._make_watch(len(source.joint_names))
        velocity = source.velocity if source.velocity_measured else None
        sample = JointSample(source.time, source.position, velocity, source.effort)
        if self._noise_samples is not None:
            self._measure_noise(sample)
        else:
            for known in self.watch.update(sample):
                self._publish(known)
        self._lockstep.report(stamp)

    def _measure_noise(self, sample: JointSample) -> None:
        """Look at the first states only for their noise, and allow for it if it is more than was stated."""
        assert self._noise_samples is not None
        self._noise_samples.append(sample.position.copy())
        noise = noise_of(self._noise_samples, self._settings.encoder_resolution)
        if noise is None:
            return
        self._noise_samples = None
        if noise > self._settings.position_noise:
            self.get_logger().info(f"allowing for a position noise of {noise:.1e} rad besides the encoder's steps")
            self._noise = noise
            self.watch = self._make_watch(len(sample.position), noise)

    def _publish(self, known: WatchEvent) -> None:
        """Publish what became known, and log it."""
        self._counts[known.kind] += 1
        names, log = self._source.joint_names, self.get_logger()
        about: dict[str, Any] = {"sequence": known.sequence, "arm": self._arm, "frame": self._settings.base_frame}
        if known.kind is WatchEventKind.MADE and known.event is not None:
            event = known.event
            message = event_to_message(event, ROS, joint_names=names, cause=known.cause, **about)
            self._messages = {known.sequence: message}
            self._publisher.publish(message)
            name = "contact renewed" if known.cause == CONTACT_RENEWED else "impact"
            log.info(
                f"{name} {known.sequence} at {event.time:.4f} s, known {1e3 * (event.time_detected - event.time):.1f} "
                f"ms later, first on {names[event.joint]}"
            )
        elif known.kind is WatchEventKind.MEANING and known.verdict is not None:
            verdict, published = known.verdict, self._messages.get(known.sequence)
            if published is None:
                return
            published.meaning = MEANINGS[verdict.expected]
            self._publisher.publish(published)
            log.info(
                f"impact {known.sequence} was {'' if verdict.expected else 'not '}the predicted one: "
                f"{100 * verdict.unexplained:.0f} % of its jump is in other directions"
            )
        elif known.loss is not None:
            self._publisher.publish(loss_to_message(known.loss, ROS, joint_names=names, **about))
            log.info(f"contact lost at {known.loss.time:.4f} s ({known.loss.reason})")
        elif known.completion is not None:
            self._publisher.publish(completion_to_message(known.completion, ROS, **about))
            completion = known.completion
            log.info(f"contact complete at {completion.time:.4f} s: {completion.contacts} made, {completion.reason}")

    def _on_prediction(self, message: ImpactPrediction) -> None:
        wanted = (ImpactPrediction.SOURCE_LOOK_AHEAD, ImpactPrediction.SOURCE_AT_IMPACT)
        if self.watch is None or message.source not in wanted or not self._order.joint_names:
            return
        if not self._settings.expectation:
            return
        if message.arm and message.arm != self._arm:
            # Another arm's, on a topic that all of them share.
            return
        expected = expected_jump(impact_from_message(message), self._order)
        if expected is not None:
            self.watch.expect(expected)
        elif message.valid:
            self._refused["prediction not usable"] += 1

    def _on_task(self, message: TaskMessage) -> None:
        """The face that is hit is that of this task from now on, if an arm of it is this one."""
        try:
            task, _ = task_from_message(message)
            arm = own_arm(task, self._arm)
            own = None if arm is None else contact_parameters(task, arm)
            if arm is not None and self._settings.base_from_task:
                self._stand(arm.base_angles)
        except ImpactAwareError as error:
            self._refused["task not usable"] += 1
            self.get_logger().warning(f"refused a task: {error}", throttle_duration_sec=2.0)
            return
        if own is not None and self._settings.follow_task and self._settings.normal:
            self._normal = np.array(own["normal"])
            if self.watch is not None:
                self.watch.face(self._normal)

    def _stand(self, rpy: Sequence[float]) -> None:
        """The task has the base there: gravity in the model is as it stands."""
        self._waiting = False
        if tuple(rpy) == tuple(self._base_rpy):
            return
        self._base_rpy = rpy
        if not self._settings.robot:
            return
        self._robot = robot_on_base(self._settings.robot, rpy)
        if self.watch is not None:
            sequence = self.watch.sequence
            self.watch = self._make_watch(self.watch.detector.joint_count, self._noise)
            self.watch.sequence = sequence

    def _on_other_impact(self, topic: str, message: ImpactEventMessage) -> None:
        # A repeat only adds a meaning to an impact that was counted before.
        seen = (message.sequence, message.stamp_detected.sec * 10**9 + message.stamp_detected.nanosec)
        if message.kind != CONTACT_MADE or self._seen.get(topic) == seen or not self.watch:
            return
        if not self._settings.completion:
            return
        self._seen[topic] = seen
        self.watch.notify_other(event_from_message(message))

    def _status(self) -> Report:
        if not self._ready:
            return WARN, "waiting for robot_description", {}
        source, quality = self._source, self._source.quality
        values: dict[str, object] = {"detector": self._settings.detector, "received": source.received}
        values |= {f"rejected: {reason}": count for reason, count in source.rejected.items()}
        values |= refusals(self._refused)
        values |= {f"events: {kind.value}": count for kind, count in self._counts.items()}
        if self.watch is not None:
            values |= {f"samples: {name}": n for name, n in dataclasses.asdict(self.watch.detector.drops).items()}
            values |= {"samples: second publisher": self.watch.foreign, "withheld: ringing": self.watch.withheld}
        if self._waiting:
            return WARN, NOT_KNOWN, values
        trouble = source.trouble()
        if quality is None or trouble:
            return (WARN, trouble, values) if trouble else (OK, "watching", values)
        for name in ("rate", "fresh_rate", "jitter", "missing_share", "broken_share"):
            values[name] = getattr(quality, name)
        return (OK, "watching", values) if quality.reason is None else (WARN, quality.reason, values)


main = partial(run_node, ImpactDetectorNode)
