"""Random messages through the callbacks of every node: nothing raises, nothing grows, and what is wrong is counted."""

import json
import os

import pytest
from sensor_msgs.msg import JointState

from impact_aware.cli.main import main
from impact_aware.errors import UnknownNameError
from impact_aware_rigs.fuzz import command as faults_fuzz
from impact_aware_rigs.fuzz import fuzz as module
from impact_aware_rigs.fuzz.command import grows
from impact_aware_rigs.fuzz.subjects import SUBJECTS

pytestmark = pytest.mark.slow

COUNT = 450

RESULT = {
    "node": "dance", "messages": 10, "spoilt": 7, "exceptions": 0, "errors": {}, "grown_kib": 5, "grown_late_kib": 1,
    "wall_s": 2.0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_to_read(monkeypatch):
    """run_monitor reads the standard input."""
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield


class Watched(module.Fuzzer):
    """Keeps the names of what its node offers, when it is not needed any more."""

    seen: dict[str, set[str]] = {}

    def close(self) -> None:
        self.seen["topics"] = {own.topic for own in self._subscriptions}
        self.seen["services"] = {own.srv_name for own in self.node.services}
        super().close()


OF_EVERY_NODE = (
    "describe_parameters", "get_parameter_types", "get_parameters", "list_parameters", "set_parameters",
    "set_parameters_atomically", "get_type_description", "change_state", "get_state", "get_available_states",
    "get_available_transitions", "get_transition_graph",
)  # fmt: skip
"""Services that rclpy offers itself."""


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_callback_of_any_node_raises_and_every_topic_and_service_gets_messages(ros_context, monkeypatch, name):
    monkeypatch.setattr(module, "Fuzzer", Watched)
    monkeypatch.setattr(module, "SERVICE_SHARE", 0.1)
    result = module.fuzz(name, COUNT, 5)
    assert result["errors"] == {}, result["tracebacks"]
    assert result["messages"] >= COUNT
    assert 0.2 * COUNT < result["spoilt"] < result["messages"]
    own = {service for service in Watched.seen["services"] if service.rpartition("/")[2] not in OF_EVERY_NODE}
    assert set(result["by_topic"]) == Watched.seen["topics"] | own
    # More than the one message of the beginning.
    assert min(result["by_topic"].values()) >= 3, result["by_topic"]


def test_wrong_messages_are_counted_on_diagnostics(ros_context):
    controller = module.fuzz("rs_controller", 5 * COUNT, 6)
    assert int(controller["diagnostics"]["rejected_states"]) > 0
    assert controller["diagnostics"]["violations"]
    # It is not in the safe mode all the time, or most of it would never be reached.
    assert set(controller["states"]) > {"safe mode"}
    for name in ("reference_field", "jump_predictor"):
        values = module.fuzz(name, 3 * COUNT, 6)["diagnostics"]
        assert sum(int(count) for key, count in values.items() if key.startswith("refused: ")) > 0


def test_messages_come_as_an_executor_gives_them_and_bytes_only_where_asked_for(ros_context, node):
    """Sequences are arrays, as after DDS, where a message that was made in Python may hold lists."""
    received: dict[str, list] = {"read": [], "serialized": []}
    node.create_subscription(JointState, "read", received["read"].append, 1)
    node.create_subscription(JointState, "serialized", received["serialized"].append, 1, raw=True)
    fuzzer = module.Fuzzer("run_monitor", 0)
    for _ in range(300):
        for own in node.subscriptions:
            fuzzer._give(own, spoil=True)
    assert all(type(message.position).__name__ == "array" for message in received["read"])
    assert all(type(message) is bytes for message in received["serialized"])
    # Cut off, or of the other byte order.
    assert min(map(len, received["serialized"])) < 100
    assert any(data[:2] == b"\0\0" for data in received["serialized"])
    fuzzer.close()


def test_an_exception_is_reported_with_its_place(ros_context):
    fuzzer = module.Fuzzer("run_monitor", 0)
    for own in fuzzer._subscriptions:
        own.callback = lambda message: [][1]
    fuzzer.run(20)
    (key,) = fuzzer.errors
    assert key.startswith("IndexError (test_fuzz_nodes.py:")
    assert fuzzer.errors[key] == 20
    assert "list index out of range" in fuzzer.first_tracebacks[key]
    fuzzer.close()


@pytest.mark.parametrize(
    ("changes", "bad"),
    [
        ({}, False),
        ({"grown_kib": faults_fuzz.MOST_GROWTH_KIB, "grown_late_kib": faults_fuzz.MOST_LATE_GROWTH_KIB}, False),
        ({"grown_kib": faults_fuzz.MOST_GROWTH_KIB + 1}, True),
        ({"grown_late_kib": faults_fuzz.MOST_LATE_GROWTH_KIB + 1}, True),
        # What grows at first is no leak, but for very much.
        ({"messages": faults_fuzz.ENOUGH - 1, "grown_late_kib": faults_fuzz.MOST_LATE_GROWTH_KIB + 1}, False),
        ({"messages": 10, "grown_kib": faults_fuzz.MOST_GROWTH_KIB + 1}, True),
    ],
)
def test_growth_is_judged(changes, bad):
    assert grows(RESULT | {"messages": faults_fuzz.ENOUGH} | changes) is bad


def test_an_unknown_node_and_no_messages_are_refused(capsys):
    with pytest.raises(UnknownNameError):
        module.Fuzzer("dance", 0)
    assert main(["faults", "--fuzz", "5", "--node", "dance"]) == 2
    assert main(["faults", "--fuzz", "0"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.dds
def test_the_command_fuzzes_a_node_in_a_process_of_its_own(capsys):
    assert main(["faults", "--fuzz", "50", "--node", "forward_command_controller", "--json"]) == 0
    (own,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (own["node"], own["exceptions"]) == ("forward_command_controller", 0)
