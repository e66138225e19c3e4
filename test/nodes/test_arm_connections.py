"""What a controller finds out about its arms' topics before it moves anything."""

from functools import partial

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from node_harness import introduced, joint_state, send
from patience import until
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.control import ControlSession
from impact_aware.detection import JointSample
from impact_aware.detection.input_monitor import InputMonitor
from impact_aware.nodes.arm_commands import EffortCommands
from impact_aware.nodes.arm_connections import ArmConnections
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.ros.liveness import NameClaim
from impact_aware.ros.qos import state_qos
from impact_aware.ros.readiness import TOPIC, Readiness
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import several_arms

TOPICS = ["left/joint_states", "right/joint_states"]
ARMS = several_arms(["left", "right"], ["panda"], [0.0] * 8)
COMMANDS = [arm.topic("effort_controller/commands") for arm in ARMS]


class Controller:
    """Its topics, and the driver of the left arm in a DDS participant of its own."""

    def __init__(self, *, reliable: bool = False, order_required: bool = False, companion: str = "") -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.driver = Node("driver", context=self.context)
        given = [Parameter("companions", value=[companion])] if companion else []
        self.node = Node("controller", namespace="connections", parameter_overrides=given)
        self.sources = [
            JointStateSource(
                self.node, arm.robot.joint_names, partial(self._on_state, index), topic=topic, reliable=reliable
            )
            for index, (arm, topic) in enumerate(zip(ARMS, TOPICS, strict=True))
        ]
        robots = [arm.robot for arm in ARMS]
        self.session = ControlSession(robots, readers=self.sources, topics=TOPICS, state_timeout=60.0)
        self.commands = EffortCommands(self.node, ARMS)
        self.readiness = Readiness(self.node)
        parts = self.session, self.sources, self.commands, self.readiness
        self.connections = ArmConnections(self.node, ARMS, *parts, order_required=order_required)

    def _on_state(self, arm: int, _stamp) -> None:
        self.session.receive(arm)

    def field(self) -> None:
        self.session.set_field(make_field(load_task("dual_arm_grab"), self.session.robots))

    def receive(self) -> None:
        for arm, source in zip(ARMS, self.sources, strict=True):
            message = joint_state(1.0, arm.robot.joint_names, arm.robot.home, np.zeros(7))
            source.subscription.callback(serialize_message(message))

    def listen(self) -> None:
        """Let the driver take both arms' commands."""
        for arm in ARMS:
            topic = f"/connections/{arm.topic('effort_controller/commands')}"
            self.driver.create_subscription(Float64MultiArray, topic, print, 1)
            introduced(self.node, topic, 1, 1)

    def close(self) -> None:
        """End; the next test's driver, of the same name, must not be taken for this one."""
        self.connections.close()
        self.driver.destroy_node()
        self.context.shutdown()
        topics = [f"/connections/{topic}" for topic in (*TOPICS, *COMMANDS)]
        until(lambda: not any(map(self.heard_of, topics)))
        self.node.destroy_node()

    def heard_of(self, topic: str) -> bool:
        """Whether the controller knows of an end of somebody else."""
        ends = self.node.get_publishers_info_by_topic(topic) + self.node.get_subscriptions_info_by_topic(topic)
        return any(end.node_name != "controller" for end in ends)


@pytest.fixture
def controller(ros_context):
    made = Controller(reliable=True)
    yield made
    made.close()


def test_who_is_not_there_is_named(controller):
    assert controller.connections.refusal().startswith("no left/joint_states yet: no node publishes it in ROS domain ")
    controller.receive()
    assert controller.connections.refusal().startswith("no reference_field yet: no node publishes it in ROS domain ")
    controller.field()
    told = controller.connections.refusal()
    assert told.startswith("no node subscribes to /connections/left/effort_controller/commands in ROS domain ")
    assert told.endswith("is the effort controller loaded?")


def test_with_states_and_somebody_who_takes_commands_nothing_is_in_the_way(controller):
    controller.field()
    controller.receive()
    controller.listen()
    assert controller.connections.refusal() == ""
    # A twin that DDS has not found yet: the name in this domain belongs to who was ready first.
    twin = NameClaim(controller.node)
    assert not twin.held()
    controller.connections.close()
    assert twin.held()
    assert controller.connections.refusal().startswith("another /connections/controller commands on this machine")
    twin.release()
    assert controller.connections.refusal() == ""
    commands = controller.node.create_publisher(Float64MultiArray, COMMANDS[1], 1)
    named = "/connections/right/effort_controller/commands by /connections/controller"
    assert controller.commands.rival_names() == [named]
    controller.node.destroy_publisher(commands)
    other = Node("controller", namespace="elsewhere")
    free = NameClaim(other)
    assert free.held()
    free.release()
    other.destroy_node()


def test_a_controller_with_another_order_of_joints_is_refused_by_both_orders(controller):
    names = list(ARMS[0].robot.joint_names)
    swapped = [names[1], names[0], *names[2:]]
    controller.field()
    controller.receive()
    controller.listen()
    effort = Node("effort_controller", namespace="/connections/left", context=controller.context)
    effort.declare_parameter("joints", swapped)
    executor = SingleThreadedExecutor(context=controller.context)
    executor.add_node(effort)
    own = SingleThreadedExecutor()
    own.add_node(controller.node)

    def serve():
        controller.connections.look()
        executor.spin_once(timeout_sec=0.02)
        own.spin_once(timeout_sec=0.02)
        controller.receive()

    said = "/connections/left/effort_controller has the joints panda_joint2, panda_joint1, panda_joint3"
    assert until(lambda: controller.connections.refusal().startswith(said), serve)
    assert "the order panda_joint1, panda_joint2" in controller.connections.refusal()
    # The other arm's controller is none of ros2_control's: not known, and said so.
    assert controller.connections.values()["joints_unread"] == "/connections/right/effort_controller"
    effort.set_parameters([Parameter("joints", value=names)])
    assert until(lambda: controller.connections.refusal() == "", serve)
    effort.destroy_node()


def test_a_taker_of_commands_without_the_parameter_joints_is_not_waited_for(controller):
    """A relay such as kuka_fri_relay answers that it has none: its order is not known, and it is no reason to wait."""
    controller.field()
    controller.receive()
    controller.listen()
    relay = Node("effort_controller", namespace="/connections/left", context=controller.context)
    executor = SingleThreadedExecutor(context=controller.context)
    executor.add_node(relay)
    own = SingleThreadedExecutor()
    own.add_node(controller.node)
    asked = "/connections/left/effort_controller has not answered yet which joints it has"

    def serve(*executors):
        for one in executors:
            one.spin_once(timeout_sec=0.02)
        controller.receive()

    assert until(lambda: controller.connections.refusal() == asked, lambda: serve(own))
    # Asked anew every ASK_PERIOD: it must not take that for a reason to wait, each time again.
    until(lambda: controller.connections.refusal() != asked, lambda: serve(executor, own))
    assert controller.connections.refusal() == ""
    assert "/connections/left/effort_controller" in controller.connections.values()["joints_unread"]
    relay.destroy_node()


def test_an_order_that_can_not_be_read_is_refused_where_it_is_required(ros_context):
    controller = Controller(reliable=True, order_required=True)
    try:
        controller.field()
        controller.receive()
        controller.listen()
        said = "the order of the joints of /connections/left/effort_controller can't be read"
        assert controller.connections.refusal().startswith(said)
    finally:
        controller.close()


def test_a_node_of_the_graph_that_is_missing_is_a_reason_and_so_is_what_it_objects(ros_context):
    controller = Controller(companion="/reference_field")
    try:
        controller.field()
        controller.receive()
        controller.listen()
        missing = "not everybody is there: /reference_field has not reported to be ready"
        assert controller.connections.refusal() == missing
        report = DiagnosticStatus(name="/reference_field", values=[KeyValue(key="no_motion", value="it moves")])
        send(controller.node, TOPIC, report)
        assert controller.connections.refusal() == "/reference_field reports: it moves"
        send(controller.node, TOPIC, DiagnosticStatus(name="/reference_field"))
        assert controller.connections.refusal() == ""
    finally:
        controller.close()


def test_states_that_can_not_be_received_are_a_reason(controller):
    controller.field()
    controller.driver.create_publisher(JointState, "/connections/left/joint_states", state_qos(reliable=False))
    introduced(controller.node, "/connections/left/joint_states", 1, 1)
    reason = (
        "/driver publishes /connections/left/joint_states, but no message passes: "
        "Best effort publisher and reliable subscription"
    )
    assert controller.connections.refusal() == f"no left/joint_states yet: {reason}"
    # Somebody else was heard before.
    controller.receive()
    assert controller.connections.refusal() == reason


def test_a_driver_that_can_not_hear_commands_is_a_reason(controller):
    controller.field()
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    topic = "/connections/left/effort_controller/commands"
    controller.driver.create_subscription(Float64MultiArray, topic, print, latched)
    introduced(controller.node, topic, 1, 1)
    controller.receive()
    assert controller.connections.refusal().startswith(f"/driver listens to {topic}, but no message passes: Volatile")


def test_a_source_at_another_rate_is_a_reason(controller):
    controller.field()
    monitor = InputMonitor(1)
    for index in range(100):
        monitor.update(JointSample(1.0 + 0.002 * index, [0.0]))
    controller.receive()
    controller.sources[1].quality = monitor.quality()
    assert controller.connections.refusal().startswith("right/joint_states comes at 500 Hz, but parameter period is")
