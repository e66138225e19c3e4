"""A graph started in any order: what its nodes publish and hear is what the graph says, and nothing moves before."""

from __future__ import annotations

import random

import pytest
from diagnostic_msgs.msg import DiagnosticStatus

from impact_aware.bringup.connections import connected, published, subscribed
from impact_aware.bringup.graph import DualArmOptions, dual_arm_graph
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.processes import NodeProcess, quiet_environment
from impact_aware.nodes.ros.qos import READINESS_QOS
from impact_aware.nodes.ros.readiness import TOPIC
from impact_aware.resources import find_resource

pytestmark = [pytest.mark.dds, pytest.mark.slow]

OF_ROS = ("/rosout", "/parameter_events", TOPIC, "/clock")


def test_two_arms_in_random_order(suite, zygote, tmp_path) -> None:
    """The joints of both arms are in each message of one topic, apart by the prefixes of their names."""
    suite.driving = False
    states: dict[str, DiagnosticStatus] = {}
    suite.node.create_subscription(
        DiagnosticStatus, TOPIC, lambda message: states.update({message.name: message}), READINESS_QOS
    )
    recorder = NodeSpec("bag_recorder", "bag_recorder", parameters={"bag": str(tmp_path / "bag")})
    text = find_resource("config", "tasks", "dual_arm_grab.yaml").read_text()
    for side in ("left", "right"):
        text = text.replace(f"  - name: {side}\n", f"  - name: {side}\n    joint_prefix: {side}_\n")
    task = tmp_path / "prefixed.yaml"
    task.write_text(text)
    options = DualArmOptions(lockstep=True, autostart=False, task=str(task), joint_states="/joint_states")
    graph = connected((recorder, NodeSpec("run_monitor", "run_monitor"), *dual_arm_graph(options)))
    order = [spec for spec in graph if spec is not graph[0]]
    random.Random(0).shuffle(order)
    environment = quiet_environment(suite.domain) | {"ROS_LOG_DIR": str(tmp_path)}

    def start(spec: NodeSpec) -> None:
        talks = spec.executable == "run_monitor"
        with zygote.nodes():
            suite.processes.append(NodeProcess(spec, environment, tmp_path, talk=talks))

    for spec in order:
        start(spec)
    plant = next(process for process in suite.processes if process.spec.executable == "sim_robot")
    controller = next(process for process in suite.processes if process.spec.executable == "rs_controller")
    configure(suite)
    words = "/bag_recorder has not reported to be ready"
    suite.until_said(plant, words)
    suite.until(lambda: len(states) == len(graph) - 1, "everybody but the recorder says something")
    lacking = [own for own in states.values() if own.message]
    suite.until(
        lambda: "/bag_recorder does not listen to" in states["/rs_controller"].message, "who is missing, by name"
    )
    assert lacking
    assert suite.diagnosed("sim_robot", "states") == "0"
    start(graph[0])
    suite.until(
        lambda: len(states) == len(graph) and not any(own.message for own in states.values()), "everybody is ready"
    )
    assert set(states) == {f"/{spec.full_name}" for spec in graph}
    for spec in graph:
        check_ends(suite, spec)
    suite.until(lambda: int(suite.diagnosed("sim_robot", "states") or 0) > 3, "states")
    assert " mode " not in controller.log.read_text()


def configure(suite) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
    assert suite.call(ChangeState, "rs_controller/change_state", request).success


def check_ends(suite, spec: NodeSpec) -> None:
    """What DDS has found of a node is what the graph says of it."""
    above = f"/{spec.namespace}" if spec.namespace else "/"
    found = dict(suite.node.get_publisher_names_and_types_by_node(spec.name, above))
    own = {topic: kinds[0] for topic, kinds in found.items() if not ignored(topic)}
    assert own == {end.topic: end.type for end in published(spec)}, spec.full_name
    for end in published(spec):
        for other in suite.node.get_publishers_info_by_topic(end.topic):
            if (other.node_name, other.node_namespace) == (spec.name, above):
                assert (other.qos_profile.durability.name == "TRANSIENT_LOCAL") == end.latched, end
                assert other.qos_profile.reliability.name == "RELIABLE", end
    if spec.executable == "bag_recorder":
        return
    found = dict(suite.node.get_subscriber_names_and_types_by_node(spec.name, above))
    own = {topic: kinds[0] for topic, kinds in found.items() if not ignored(topic)}
    assert own == {end.topic: end.type for end in subscribed(spec)}, spec.full_name


def ignored(topic: str) -> bool:
    return topic in OF_ROS or topic.endswith(("/step_done", "/step_done/heartbeat", "/transition_event"))
