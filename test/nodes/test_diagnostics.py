"""Diagnostics say the same with `diagnostic_updater` and without it."""

import socket

import pytest
from diagnostic_msgs.msg import DiagnosticArray

from impact_aware.bringup.middleware import PEERS, PROFILES, RANGE, RMW, TRANSPORT
from impact_aware.nodes.ros import diagnostics
from impact_aware.nodes.ros.diagnostics import OK, WARN, DiagnosticsReporter, listening_addresses, node_of_status


def reported(node, collect, monkeypatch):
    """What a reporter publishes when asked."""
    kept = []

    class Publisher:
        def publish(self, message):
            kept.append(message)

    monkeypatch.setattr(node, "create_publisher", lambda *_arguments: Publisher())
    DiagnosticsReporter(node, collect).report()
    assert isinstance(kept[-1], DiagnosticArray)
    return kept[-1].status[-1]


def check(status):
    assert node_of_status(status.name) == "/test_node"
    assert status.message == "slow"
    assert status.level == WARN
    values = {value.key: value.value for value in status.values}
    assert values.pop("listens on") == ", ".join(listening_addresses()) != ""
    assert values == {"rate": "30.5", "count": "3"}


def test_addresses_are_those_of_the_own_sockets():
    datagrams, stream = (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_STREAM)
    with socket.socket(*datagrams) as one, socket.socket(*datagrams) as all_of_them, socket.socket(*stream) as server:
        listening_addresses.cache_clear()
        before = listening_addresses()
        one.bind(("127.0.0.77", 0))
        all_of_them.bind(("0.0.0.0", 0))
        server.bind(("::1", 0))
        listening_addresses.cache_clear()
        assert set(listening_addresses()) == {*before, "127.0.0.77", "0.0.0.0"}
        server.listen()
        listening_addresses.cache_clear()
        assert "::1" in listening_addresses()
    listening_addresses.cache_clear()
    assert "127.0.0.77" not in listening_addresses()


@pytest.mark.parametrize(
    ("addresses", "variables", "sentence"),
    [
        (("0.0.0.0", "10.0.0.5"), {PROFILES[0]: "/etc/dds.xml"}, f"every address, 10.0.0.5 although {RANGE}=LOCALHOST"),
        (("::",), {RMW: "rmw_zenoh_cpp"}, f"every address although {RANGE}=LOCALHOST, as rmw_zenoh_cpp has it"),
        (("127.0.0.1", "::1"), {}, None),
        (("0.0.0.0",), {RANGE: "SUBNET"}, None),
    ],
)
def test_addresses_beyond_a_range_of_this_machine_are_warned_of(node, monkeypatch, addresses, variables, sentence):
    for name in (*PROFILES, TRANSPORT, PEERS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {RANGE: "LOCALHOST", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(diagnostics, "listening_addresses", lambda: addresses)
    status = reported(node, lambda: (OK, "fine", {}), monkeypatch)
    assert (status.level, status.message == "fine") == ((OK, True) if sentence is None else (WARN, False))
    assert sentence is None or sentence in status.message
    # What is worse stays in the sentence.
    assert reported(node, lambda: (WARN, "slow", {}), monkeypatch).message == "slow"


def test_without_the_updater(node, monkeypatch):
    monkeypatch.setattr(diagnostics, "diagnostic_updater", None)
    check(reported(node, lambda: (WARN, "slow", {"rate": 30.5, "count": 3}), monkeypatch))


def test_with_the_updater(node, monkeypatch):
    pytest.importorskip("diagnostic_updater", reason="diagnostic_updater is not installed")
    check(reported(node, lambda: (WARN, "slow", {"rate": 30.5, "count": 3}), monkeypatch))


def test_names_of_nodes_in_namespaces(node, monkeypatch):
    assert node_of_status("/left/impact_detector: state") == "/left/impact_detector"
    assert node_of_status("/left/impact_detector") == "/left/impact_detector"
    assert reported(node, lambda: (OK, "fine", {}), monkeypatch).hardware_id in ("", "none")
