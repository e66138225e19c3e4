"""A graph started in any order: nothing moves before all nodes found each other, and its topics are those known."""

import random

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from graph_topics import LATCHED, TOPICS

from impact_aware.bringup.graph import DualArmOptions, dual_arm_graph
from impact_aware.bringup.node_spec import NodeSpec, with_companions
from impact_aware.bringup.processes import NodeProcess, quiet_environment
from impact_aware.resources import find_resource
from impact_aware.ros.qos import READINESS_QOS
from impact_aware.ros.readiness import TOPIC

pytestmark = [pytest.mark.dds, pytest.mark.slow]


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
    graph = with_companions((recorder, NodeSpec("run_monitor", "run_monitor"), *dual_arm_graph(options)))
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
    suite.until_said(plant, "/bag_recorder has not reported to be ready")
    suite.until(lambda: len(states) == len(graph) - 1, "everybody but the recorder reports")
    assert suite.diagnosed("sim_robot", "states") == "0"
    start(graph[0])
    suite.until(lambda: int(suite.diagnosed("sim_robot", "states") or 0) > 0, "the first state")
    wanted = set(TOPICS["dual_arm"]) - {f"/{side}/joint_states" for side in ("left", "right")}

    def recorded() -> set[str]:
        report = states.get("/bag_recorder", DiagnosticStatus())
        return {entry.key.removeprefix("< ") for entry in report.values}

    suite.until(lambda: wanted <= recorded(), "the recorder's report with all topics")
    assert states.keys() == {f"/{spec.full_name}" for spec in graph}
    check_topics(suite)
    suite.until(lambda: int(suite.diagnosed("sim_robot", "states") or 0) > 3, "states")
    assert " mode " not in controller.log.read_text()


def configure(suite) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
    assert suite.call(ChangeState, "rs_controller/change_state", request).success


def check_topics(suite) -> None:
    """The topics of the graph are those that pictures and documents have, and latched ones are kept."""
    wanted = {topic: kind for topic, kind in TOPICS["dual_arm"].items() if not topic.endswith("/joint_states")}
    found = dict(suite.node.get_topic_names_and_types())
    assert wanted == {topic: found.get(topic, [""])[0] for topic in wanted}
    for topic in wanted:
        for end in suite.node.get_publishers_info_by_topic(topic):
            assert (end.qos_profile.durability.name == "TRANSIENT_LOCAL") == topic.endswith(LATCHED), topic
            assert end.qos_profile.reliability.name == "RELIABLE", topic
