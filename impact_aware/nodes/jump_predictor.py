"""Node `jump_predictor`: what an impact would do soon, did at the detected state, or would do at a given one."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from impact_aware_msgs.srv import PredictPostImpact
from rclpy.node import Node

from impact_aware.contact import Contact, FreeObject
from impact_aware.contact.box import homogeneous_box, near_face_point
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.estimation.registry import DEFAULT_ESTIMATOR, ESTIMATORS
from impact_aware.impact import DEFAULT_METHOD, IMPACT_MAPS, ImpactPredictor
from impact_aware.impact.look_ahead import look_ahead
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.messages.geometry import array3
from impact_aware.messages.impacts import add_covariance, no_prediction, prediction_to_message
from impact_aware.messages.stamps import seconds
from impact_aware.nodes.estimate_publisher import EstimatePublisher
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.ros.diagnostics import OK, WARN, DiagnosticsReporter, Report, refusals
from impact_aware.nodes.ros.qos import EVENT_QOS
from impact_aware.nodes.ros.robot_source import provide_robot
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.nodes.ros.surroundings import TwinWatch, expect_messages
from impact_aware.parameters import described
from impact_aware.robot import INERTIA_CHOICES, JointOrder, RobotModel

WARN_PERIOD = 2.0
"""Shortest time between two warnings about what is refused, s."""

REQUEST = "request"
"""Reason under which requests are counted that can't be met."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    robot: str = described("panda", "robot profile, by name or file; empty: take robot_description")
    arm: str = described("", "name of the arm, written into every prediction; empty: the node's namespace")
    contact_frame: str = described("", "robot frame that hits; empty: the tool frame")
    tool_radius: float = described(-1.0, "radius of the spherical tip, m; negative: the robot profile's", -1.0, 1.0)
    normal: list[float] = described([0.0, 0.0, 1.0], "unit vector from the obstacle into the robot, base frame")
    friction: float = described(0.0, "Coulomb coefficient between tool and obstacle", 0.0, 10.0)
    restitution: float = described(0.0, "coefficient of restitution", 0.0, 1.0)
    inertia: str = described("M+B_theta", "which inertia the impact sees", choices=INERTIA_CHOICES)
    method: str = described(DEFAULT_METHOD, "impact map", choices=tuple(IMPACT_MAPS))
    object_name: str = described("box", "name of the free object")
    object_mass: float = described(0.0, "mass of the free object, kg; 0: a fixed surface is hit", 0.0, 1000.0)
    object_half_extents: list[float] = described([0.1, 0.1, 0.1], "half edges of the object, m")
    object_position: list[float] = described([0.5, 0.0, 0.1], "centre of the object until object_pose tells it, m")
    surface_point: list[float] = described([0.0, 0.0, 0.0], "a point of the fixed surface, base frame, m")
    look_ahead_period: float = described(0.02, "time between two look-ahead predictions, s", 0.001, 10.0)
    look_ahead_horizon: float = described(0.5, "how far ahead an impact is worth predicting, s", 0.0, 10.0)
    position_std: float = described(0.0, "standard deviation of joint positions, rad", 0.0, 1.0)
    velocity_std: float = described(0.0, "standard deviation of joint velocities before the impact, rad/s", 0.0, 10.0)
    normal_std: float = described(0.0, "standard deviation of the normal's direction, rad", 0.0, 1.0)
    point_std: float = described(0.0, "standard deviation of the contact point along each axis, m", 0.0, 1.0)
    friction_std: float = described(0.0, "standard deviation of the friction coefficient", 0.0, 10.0)
    restitution_std: float = described(0.0, "standard deviation of the coefficient of restitution", 0.0, 1.0)
    motor_inertia_std: float = described(0.0, "standard deviation of every motor inertia, share of it", 0.0, 1.0)
    estimation: bool = described(True, "estimate the velocity after each impact, once there are samples enough")
    estimation_method: str = described(DEFAULT_ESTIMATOR, "estimator of that velocity", choices=tuple(ESTIMATORS))
    estimation_window: float = described(
        0.06, "longest time after the impact that it uses, s; 0: as long as the estimator looks at", 0.0, 10.0
    )
    lockstep: bool = described(False, "answer every state with step_done, for a simulator in lockstep")


class JumpPredictorNode(Node):
    """One robot, one configured contact, three ways to ask; and what the impact really did, afterwards."""

    def __init__(self) -> None:
        """Declare the parameters; the rest follows when the robot is known."""
        super().__init__("jump_predictor")
        self._settings = load_settings(self, Settings)
        self._arm = self._settings.arm or self.get_namespace().strip("/")
        self._object_position = np.array(self._settings.object_position)
        self._box: FreeObject | None = None
        self._last_predictor: ImpactPredictor | None = None
        self._next_look_ahead = -np.inf
        self._ready = False
        self._predicted = self._unpredicted = 0
        self._refused: Counter[str] = Counter()
        self._publisher = self.create_publisher(ImpactPrediction, "predicted_jumps", EVENT_QOS)
        self._lockstep = LockstepReporter(self, self._settings.lockstep)
        self._twins = TwinWatch(self)
        provide_robot(self, self._settings.robot, self._settings.contact_frame, self._start)
        self._diagnostics = DiagnosticsReporter(self, self._status)

    def _start(self, robot: RobotModel) -> None:
        settings = self._settings
        self._robot = robot
        self._contact = Contact(
            frame=settings.contact_frame or robot.tool_frame,
            normal=np.array(settings.normal),
            friction=settings.friction,
            restitution=settings.restitution,
            radius=robot.tool_radius if settings.tool_radius < 0.0 else settings.tool_radius,
        )
        robot.frame_id(self._contact.frame)
        self._request_order = JointOrder(robot.joint_names)
        self._obstacle(settings.object_mass)
        self._spread = self._input_covariance()
        self._last_impact: tuple[int, float] | None = None
        self._estimates: EstimatePublisher | None = None
        if settings.estimation:
            self._estimates = EstimatePublisher(
                self,
                self._publisher,
                robot.n,
                settings.estimation_method,
                settings.estimation_window or None,
            )
        self.create_subscription(ImpactEvent, "impacts", self._on_impact, EVENT_QOS)
        self.create_subscription(PoseStamped, "object_pose", self._on_object, 1)
        self.create_service(PredictPostImpact, "predict_post_impact", self._on_request)
        self._source = JointStateSource(self, robot.joint_names, self._on_state, reliable=settings.lockstep)
        expect_messages(self, "joint_states", lambda: self._source.received > 0, "the robot's driver")
        self._ready = True
        target = f"{settings.object_name} of {settings.object_mass:g} kg" if settings.object_mass else "fixed surface"
        self.get_logger().info(f"predicting impacts of {robot.name} with a {target} by the {settings.method} map")

    def _input_covariance(self) -> InputCovariance | None:
        """Of the configured standard deviations; None when all are zero."""
        settings = self._settings
        names = ("position", "velocity", "normal", "point", "friction", "restitution")
        variances = {name: getattr(settings, f"{name}_std") ** 2 for name in names}
        motor = (settings.motor_inertia_std * self._robot.motor_inertia_for(settings.inertia)) ** 2
        if not any(variances.values()) and not motor.any():
            return None
        return InputCovariance(**variances, motor_inertia=motor)

    def _obstacle(self, mass: float) -> FreeObject | None:
        """The free object where it was seen last; None for a fixed surface."""
        if mass == 0.0:
            return None
        box = self._box
        if box is None or box.mass != mass or not np.array_equal(box.position, self._object_position):
            self._box = box = homogeneous_box(mass, self._settings.object_half_extents, self._object_position)
        return box

    def _plane_point(self) -> np.ndarray:
        """A point of the surface to be hit: the near face of the object, or the configured one."""
        if self._settings.object_mass == 0.0:
            return np.array(self._settings.surface_point)
        return near_face_point(self._object_position, self._settings.object_half_extents, self._contact.normal)

    def _on_object(self, message: PoseStamped) -> None:
        position = array3(message.pose.position)
        if np.isfinite(position).all():
            self._object_position = position
        else:
            self._refuse("object_pose not finite", "an object_pose with a place that is not finite")

    def _on_state(self, stamp: Time) -> None:
        source = self._source
        if source.time >= self._next_look_ahead or source.time < self._next_look_ahead - 1.0:
            self._next_look_ahead = source.time + self._settings.look_ahead_period
            self._look_ahead(source)
        self._lockstep.report(stamp)
        if self._estimates is not None:
            self._estimates.add(source.time, source.position)

    def _look_ahead(self, source: JointStateSource) -> None:
        approach = look_ahead(
            self._robot,
            source.position,
            source.velocity,
            self._contact,
            self._plane_point(),
            self._settings.look_ahead_horizon,
        )
        if approach is not None and approach.distance > 0.0:
            self._publish(
                ImpactPrediction.SOURCE_LOOK_AHEAD,
                source.time,
                approach.position,
                source.velocity.copy(),
                time_to_impact=approach.time_to_impact,
            )

    def _on_impact(self, event: ImpactEvent) -> None:
        # An event that comes again only adds its meaning.
        seen = (event.sequence, seconds(event.stamp_detected))
        if event.kind != ImpactEvent.KIND_CONTACT_MADE or seen == self._last_impact:
            return
        self._last_impact = seen
        position, velocity = np.zeros(self._robot.n), np.zeros(self._robot.n)
        order = JointOrder(self._robot.joint_names)
        known = order.locate(event.joint_names)
        if not (known and order.pick(event.position, position) and order.pick(event.velocity_before, velocity)):
            self._refuse("impact without the joints", "an impact that lacks joints of this robot or their state")
            return
        prediction = self._publish(
            ImpactPrediction.SOURCE_AT_IMPACT,
            seconds(event.header.stamp),
            position,
            velocity,
            time_to_impact=0.0,
            event_sequence=event.sequence,
        )
        if self._estimates is not None:
            self._estimates.begin(prediction, event.time_standard_error)

    def _publish(
        self,
        source: int,
        time: float,
        position: np.ndarray,
        velocity: np.ndarray,
        *,
        time_to_impact: float,
        event_sequence: int = 0,
    ) -> ImpactPrediction:
        settings = self._settings
        try:
            message = self._predict(
                source,
                time,
                position,
                velocity,
                self._contact,
                object_mass=settings.object_mass,
                method=settings.method,
                inertia=settings.inertia,
            )
            self._predicted += 1
        except ImpactAwareError as error:
            self._unpredicted += 1
            message = no_prediction(
                time=time, source=source, arm=self._arm, frame=self._robot.base_frame, reason=str(error)
            )
        message.time_to_impact = time_to_impact
        message.event_sequence = event_sequence
        self._publisher.publish(message)
        return message

    def _predict(
        self,
        source: int,
        time: float,
        position: np.ndarray,
        velocity: np.ndarray,
        contact: Contact,
        *,
        object_mass: float,
        method: str,
        inertia: str,
        message: ImpactPrediction | None = None,
    ) -> ImpactPrediction:
        """The message of one prediction; with its spread, except while looking ahead, which is done often."""
        obstacle, uncertain = self._obstacle(object_mass), None
        if self._spread is None or source == ImpactPrediction.SOURCE_LOOK_AHEAD:
            prediction = self._predictor(contact, obstacle, method, inertia)(position, velocity)
        else:
            state = self._robot, position, velocity, contact
            uncertain = predict_with_covariance(*state, self._spread, obstacle=obstacle, method=method, inertia=inertia)
            prediction = uncertain.prediction
        message = prediction_to_message(
            prediction,
            time=time,
            source=source,
            arm=self._arm,
            frame=self._robot.base_frame,
            joint_names=self._robot.joint_names,
            position=position,
            object_name=self._settings.object_name,
            message=message,
        )
        if uncertain is not None:
            add_covariance(message, uncertain)
        return message

    def _predictor(self, contact: Contact, obstacle: FreeObject | None, method: str, inertia: str) -> ImpactPredictor:
        """The prepared map; mostly that of the last time, as contact and object seldom change."""
        last = self._last_predictor
        same = last is not None and last.contact is contact and last.obstacle is obstacle
        if last is None or not same or (last.method, last.inertia) != (method, inertia):
            self._last_predictor = last = ImpactPredictor(
                self._robot, contact, obstacle=obstacle, method=method, inertia=inertia
            )
        return last

    def _on_request(
        self, request: PredictPostImpact.Request, response: PredictPostImpact.Response
    ) -> PredictPostImpact.Response:
        try:
            self._answer(request, response.prediction)
            response.success = True
        except ImpactAwareError as error:
            self._refused[REQUEST] += 1
            response.success = False
            response.message = str(error)
            response.prediction = no_prediction(
                time=0.0,
                source=ImpactPrediction.SOURCE_SERVICE,
                arm=self._arm,
                frame=self._robot.base_frame,
                reason=str(error),
            )
        return response

    def _answer(self, request: PredictPostImpact.Request, answer: ImpactPrediction) -> None:
        settings = self._settings
        position, velocity = self._requested_state(request)
        self._predict(
            ImpactPrediction.SOURCE_SERVICE,
            self._source.time if np.isfinite(self._source.time) else 0.0,
            position,
            velocity,
            self._requested_contact(request),
            object_mass=settings.object_mass if request.object_mass < 0.0 else request.object_mass,
            method=request.method or settings.method,
            inertia=request.inertia or settings.inertia,
            message=answer,
        )

    def _requested_contact(self, request: PredictPostImpact.Request) -> Contact:
        configured = self._contact
        normal, offset = array3(request.normal), array3(request.offset)
        own = request.friction < 0.0 and request.restitution < 0.0
        asked = (request.contact_frame, normal.any(), offset.any(), not own)
        if request.use_tool_radius and not any(asked):
            return configured
        return Contact(
            frame=request.contact_frame or configured.frame,
            normal=normal if normal.any() else configured.normal,
            offset=offset,
            friction=configured.friction if request.friction < 0.0 else request.friction,
            restitution=configured.restitution if request.restitution < 0.0 else request.restitution,
            radius=configured.radius if request.use_tool_radius else 0.0,
        )

    def _requested_state(self, request: PredictPostImpact.Request) -> tuple[np.ndarray, np.ndarray]:
        if not len(request.position) and not len(request.velocity):
            if not np.isfinite(self._source.time):
                raise InvalidInputError("position", "nothing", "a position, as no joint_states have come yet")
            return self._source.position.copy(), self._source.velocity.copy()
        names = list(request.joint_names or self._robot.joint_names)
        if not self._request_order.locate(names):
            missing = ", ".join(self._request_order.missing)
            raise InvalidInputError("joint_names", names, f"names that include {missing}")
        position, velocity = np.zeros(self._robot.n), np.zeros(self._robot.n)
        for field, values, out in (("position", request.position, position), ("velocity", request.velocity, velocity)):
            if len(values) != len(names) or not self._request_order.pick(values, out):
                raise InvalidInputError(field, list(values), f"{len(names)} finite values")
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
        values |= refusals(self._refused)
        # Whoever asks for what can't be predicted is told in the answer.
        if self._refused.total() > self._refused[REQUEST]:
            return WARN, "refused what can't be used", values
        return OK, "predicting" if source.received else "no joint_states yet", values


def main() -> None:
    """Run the node."""
    sys.exit(run_node(JumpPredictorNode))


if __name__ == "__main__":
    main()
