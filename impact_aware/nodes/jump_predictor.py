"""Node `jump_predictor`: what an impact would do soon, did at the detected state, or would do at a given one."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.msg import Task as TaskMessage
from impact_aware_msgs.srv import PredictPostImpact
from rclpy.node import Node

from impact_aware.arrays import Array
from impact_aware.bringup.task_parameters import contact_parameters, own_arm
from impact_aware.contact import Contact
from impact_aware.contact.box import Box
from impact_aware.contact.geometry import OBJECT_MASS
from impact_aware.contact.shape_registry import shape_named
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.impact.jump_predictor import Prediction
from impact_aware.messages.impact_event import CONTACT_MADE, event_from_message
from impact_aware.messages.impact_prediction import INERTIA_NAMES, impact_to_message, predicted_impact, write_answer
from impact_aware.messages.object_pose import ObjectPose
from impact_aware.messages.stamps import seconds
from impact_aware.messages.task import task_from_message
from impact_aware.nodes.bases import NOT_KNOWN
from impact_aware.nodes.estimate_publisher import EstimatePublisher
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.object_poses import ObjectPoses
from impact_aware.nodes.predictor_settings import Settings, rotation_of_rpy
from impact_aware.ranges import Range
from impact_aware.records import Impact
from impact_aware.robot import JointOrder, RobotModel
from impact_aware.robot.plausible import check_state
from impact_aware.ros.diagnostics import OK, REQUEST, WARN, DiagnosticsReporter, Report, refusals
from impact_aware.ros.liveness import HeartbeatSender, TwinWatch
from impact_aware.ros.messages import ROS
from impact_aware.ros.qos import EVENT_QOS, LATCHED_QOS, own_and_common
from impact_aware.ros.readiness import Readiness
from impact_aware.ros.robot_source import provide_robot
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware.task import base_placement
from impact_aware.task.arms import base_poses

WARN_PERIOD = 2.0
"""Shortest time between two warnings about what is refused, s."""


class JumpPredictorNode(Node):
    """One robot, one configured contact, three ways to ask; and what the impact really did, afterwards."""

    def __init__(self, **ros: Any) -> None:
        """Declare the parameters; the rest follows when the robot is known; `ros` goes to rclpy's node."""
        super().__init__("jump_predictor", **ros)
        self._settings = load_settings(self, Settings)
        self._arm = self._settings.arm or self.get_namespace().strip("/")
        self._next_look_ahead = -np.inf
        self._ready, self._waiting = False, self._settings.base_from_task
        self._predicted = self._unpredicted = 0
        self._last_impact: tuple[int, float] | None = None
        self._refused: Counter[str] = Counter()
        self._task_number, self._object_name = 0, self._settings.object_name
        self._publisher = self.create_publisher(ImpactPrediction, "predicted_jumps", EVENT_QOS)
        self._lockstep = LockstepReporter(self, self._settings.lockstep)
        self._twins = TwinWatch(self)
        self._heartbeat = HeartbeatSender(self, ["predicted_jumps"])
        self._readiness = Readiness(self)
        provide_robot(self, self._settings.robot, self._settings.contact_frame, self._start)
        self._diagnostics = DiagnosticsReporter(self, self._status)

    def _start(self, robot: RobotModel) -> None:
        settings = self._settings
        self._base = base_poses(settings.base, ["the arm"])[0] if settings.base else pin.SE3.Identity()
        self._upright = robot.prefixed(settings.joint_prefix)
        self._robot = robot = self._upright.tilted(self._base.rotation)
        self.predictor = settings.predictor(robot)
        self._names = list(robot.joint_names)
        self._request_order = JointOrder(robot.joint_names)
        self._event_order = JointOrder(robot.joint_names)
        self._estimates: EstimatePublisher | None = None
        if settings.estimation:
            self._estimates = EstimatePublisher(self, self._publisher, robot.n, settings.estimation_window or None)
        self.create_subscription(ImpactEvent, "impacts", self._on_impact, EVENT_QOS)
        up = self._base.rotation[2]
        self.object_poses = ObjectPoses(self, (robot.base_frame,), self._on_object, self._refuse, up)
        self.object_poses.shape = self.predictor.shape
        if settings.task_frame:
            self.object_poses.frames.know(settings.task_frame, robot.base_frame, self._base)
        follows = settings.base_from_task or (settings.follow_task and settings.object_mass)
        for topic in own_and_common(self.get_namespace(), "task") if follows else ():
            self.create_subscription(TaskMessage, topic, self._on_task, LATCHED_QOS)
        self.create_service(PredictPostImpact, "predict_post_impact", self._on_request)
        self._source = JointStateSource(self, robot.joint_names, self._on_state, reliable=settings.lockstep)
        self._ready = True
        target = f"{settings.object_name} of {settings.object_mass:g} kg" if settings.object_mass else "fixed surface"
        self.get_logger().info(f"predicting impacts of {robot.name} with a {target} by the {settings.method} map")

    def _on_object(self, seen: ObjectPose) -> None:
        place, turn = np.array(seen.pose.translation), np.array(seen.pose.rotation)
        self.predictor.see_object(place, seen.covariance, turn, seen.velocity, seen.time)

    def _on_task(self, message: TaskMessage) -> None:
        """Predict for this task from now on, if an arm of it is this one."""
        try:
            task, number = task_from_message(message)
            own = own_arm(task, self._arm)
            if own is None:
                return
            follows = self._settings.follow_task and self._settings.object_mass
            entries = contact_parameters(task, own) if follows else None
            if entries is not None:
                self._take_object(entries, number)
            self._stand(base_placement(own), task.frame)
            self._waiting = False
            if entries is not None and not self.object_poses.watch.seen:
                self.predictor.see_object(np.array(entries["object_position"]))
        except ImpactAwareError as error:
            self._refuse("task not usable", f"a task: {error}")

    def _take_object(self, entries: dict[str, Any], number: int) -> None:
        """What is hit, with what, is that of the task of this number, by its `contact_parameters`."""
        self.predictor.set_object(
            entries["object_mass"],
            shape_named(
                entries.get("object_shape", Box.name),
                entries["object_half_extents"],
                entries.get("object_vertices", ()),
            ),
            entries["normal"],
            rotation=rotation_of_rpy("object_rpy", entries["object_rpy"]),
            friction=entries["friction"],
            restitution=entries["restitution"],
            pad_half_sizes=entries.get("pad_half_sizes", np.zeros(3)),
            table_friction=entries.get("table_friction"),
        )
        self.object_poses.shape = self.predictor.shape
        self._task_number, self._object_name = number, entries["object_name"]

    def _stand(self, base: pin.SE3, frame: str) -> None:
        """The task has the arm's base there in its frame."""
        if base.isApprox(self._base):
            return
        self._base, self._robot = base, self._upright.tilted(base.rotation)
        self.predictor.stand(self._robot)
        self.object_poses.stand(base.rotation[2])
        self.object_poses.frames.know(frame, self._robot.base_frame, base)
        # Adding 0 turns -0 into 0.
        place = ", ".join(f"{number:.4g}" for number in base.translation.round(6) + 0.0)
        self.get_logger().info(f"the task has the base at [{place}] m in {frame}")

    def _on_state(self, stamp: Time) -> None:
        source = self._source
        if self._waiting:
            self._lockstep.report(stamp)
            return
        if source.time >= self._next_look_ahead or source.time < self._next_look_ahead - 1.0:
            self._next_look_ahead = source.time + self._settings.look_ahead_period
            self._look_ahead(source)
        self._lockstep.report(stamp)
        if self._estimates is not None:
            self._estimates.add(source.time, source.position)

    def _look_ahead(self, source: JointStateSource) -> None:
        velocity = source.velocity.copy()
        approach = self.predictor.look_ahead(source.position, velocity, self._settings.look_ahead_horizon, source.time)
        if approach is not None:
            self._publish("look_ahead", source.time, approach.position, velocity, approach.time_to_impact)

    def _on_impact(self, message: ImpactEvent) -> None:
        # An event that comes again only adds its meaning.
        seen = (message.sequence, seconds(message.stamp_detected))
        if message.kind != CONTACT_MADE or seen == self._last_impact:
            return
        if message.arm and message.arm != self._arm:
            self._refuse("impact of another arm", f"an impact of arm '{message.arm}', as this one is '{self._arm}'")
            return
        self._last_impact = seen
        event, order = event_from_message(message), self._event_order
        position, velocity = np.zeros(self._robot.n), np.zeros(self._robot.n)
        known = order.locate(message.joint_names)
        if not (known and order.pick(event.position, position) and order.pick(event.velocity_before, velocity)):
            self._refuse("impact without the joints", "an impact that lacks joints of this robot or their state")
            return
        impact = self._publish("at_impact", event.time, position, velocity, 0.0, message.sequence)
        if self._estimates is not None:
            self._estimates.begin(impact, event.time_std)

    def _publish(
        self, source: str, time: float, position: Array, velocity: Array, time_to_impact: float, sequence: int = 0
    ) -> Impact:
        """Publish a prediction, or why there is none, with a quick spread, but for look-ahead."""
        about: dict[str, Any] = {"source": source, "time": time, "time_to_impact": time_to_impact}
        about["event_sequence"] = sequence
        try:
            self._check_base()
            met = time + time_to_impact
            spread = source != "look_ahead" and self.predictor.spread_is_quick
            prediction = self.predictor.predict(position, velocity, spread=spread, time=met)
            impact = self._impact(prediction, position, **about)
            self._predicted += 1
        except ImpactAwareError as error:
            self._unpredicted += 1
            about |= {"arm": self._arm, "frame": self._robot.base_frame, "task_number": self._task_number}
            impact = Impact(valid=False, reason=str(error), **about)
        self._publisher.publish(impact_to_message(impact, ROS))
        return impact

    def _impact(self, prediction: Prediction, position: Array, **about: Any) -> Impact:
        return predicted_impact(
            prediction.outcome,
            arm=self._arm,
            frame=self._robot.base_frame,
            joint_names=self._robot.joint_names,
            position=position,
            object_name=self._object_name,
            task_number=self._task_number,
            uncertain=prediction.uncertain,
            **about,
        )

    def _on_request(
        self, request: PredictPostImpact.Request, response: PredictPostImpact.Response
    ) -> PredictPostImpact.Response:
        try:
            self._answer(request, response)
        except ImpactAwareError as error:
            self._refused[REQUEST] += 1
            response.message = str(error)
        return response

    def _answer(self, request: PredictPostImpact.Request, response: PredictPostImpact.Response) -> None:
        """Fill in the prediction for a request."""
        self._check_base()
        predictor = self.predictor
        position, velocity = self._requested_state(request)
        prediction = predictor.predict(
            position,
            velocity,
            spread=request.details == request.DETAILS_COVARIANCE,
            search=bool(request.details),
            contact=self._requested_contact(request),
            object_mass=_object_mass(request, predictor.object_mass),
            method=request.method or predictor.method,
            inertia=_inertia(request.inertia) or predictor.inertia,
        )
        if request.details:
            time = self._source.time if np.isfinite(self._source.time) else 0.0
            impact = self._impact(prediction, position, source="service", time=time, time_to_impact=-1.0)
            response.prediction = [impact_to_message(impact, ROS)]
        write_answer(response, prediction.outcome, self._names, ROS)

    def _check_base(self) -> None:
        """Refuse to predict for a base that may stand anywhere."""
        if self._waiting:
            raise InvalidInputError("base", "nothing", f"that of a task: {NOT_KNOWN}")

    def _requested_contact(self, request: PredictPostImpact.Request) -> Contact:
        configured = self.predictor.contact
        own = request.has_friction or request.has_restitution or request.contact_frame
        if not (own or len(request.normal) or len(request.offset)):
            return configured
        return Contact(
            frame=request.contact_frame or configured.frame,
            normal=np.array(request.normal) if len(request.normal) else configured.normal,
            offset=np.array(request.offset) if len(request.offset) else np.zeros(3),
            friction=request.friction if request.has_friction else configured.friction,
            restitution=request.restitution if request.has_restitution else configured.restitution,
            radius=0.0 if len(request.offset) else configured.radius,
        )

    def _requested_state(self, request: PredictPostImpact.Request) -> tuple[Array, Array]:
        if not len(request.position) and not len(request.velocity):
            silence, limit = self._source.silence, self._settings.state_timeout
            if silence > limit:
                last = f"the last joint_states came {silence:.1f} s ago" if np.isfinite(silence) else "none came yet"
                raise InvalidInputError(
                    "position", "nothing", f"a position, or joint_states within state_timeout, {limit:g} s: {last}"
                )
            return self._source.position.copy(), self._source.velocity.copy()
        names = request.joint_names or self._names
        if not self._request_order.locate(names):
            missing = ", ".join(self._request_order.missing)
            raise InvalidInputError("joint_names", names, f"names that include {missing}")
        position, velocity = np.zeros(self._robot.n), np.zeros(self._robot.n)
        for field, values, out in (("position", request.position, position), ("velocity", request.velocity, velocity)):
            if len(values) != len(names) or not self._request_order.pick(values, out):
                raise InvalidInputError(field, list(values), f"{len(names)} finite values")
        check_state(self._robot, position, velocity)
        return position, velocity

    def _refuse(self, reason: str, what: str) -> None:
        self._refused[reason] += 1
        self.get_logger().warning(f"refused {what}", throttle_duration_sec=WARN_PERIOD)

    def _status(self) -> Report:
        if not self._ready:
            return WARN, "waiting for robot_description", {}
        source = self._source
        values: dict[str, object] = {"method": self._settings.method, "received": source.received}
        values |= {f"rejected: {reason}": count for reason, count in source.rejected.items()}
        values |= {"predicted": self._predicted, "unpredicted": self._unpredicted}
        values |= refusals(self._refused) | self.object_poses.values()
        if self._refused.total() > self._refused[REQUEST]:
            return WARN, "refused what can't be used", values
        if self._waiting:
            return WARN, NOT_KNOWN, values
        trouble = source.trouble()
        return (WARN, trouble, values) if trouble else (OK, "predicting", values)


def _inertia(number: int) -> str:
    if number not in INERTIA_NAMES:
        raise InvalidInputError("inertia", number, f"one of {', '.join(map(str, INERTIA_NAMES))}")
    return INERTIA_NAMES[number]


def _object_mass(request: PredictPostImpact.Request, configured: float) -> float:
    """Mass of the requested object, kg; 0 for a fixed surface."""
    known = {request.OBJECT_CONFIGURED: configured, request.OBJECT_FIXED_SURFACE: 0.0}
    if request.object in known:
        return known[request.object]
    Range(request.OBJECT_CONFIGURED, request.OBJECT_FREE).check("object", request.object)
    OBJECT_MASS.check("object_mass", request.object_mass)
    return float(request.object_mass)


main = partial(run_node, JumpPredictorNode, prompt=True)
