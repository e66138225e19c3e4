"""Diagnostics say the same with `diagnostic_updater` and without it."""

import socket

import pytest
from diagnostic_msgs.msg import DiagnosticArray

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
    assert values.pop("listens on") == listening_addresses() != ""
    assert values == {"rate": "30.5", "count": "3"}


def test_addresses_are_those_of_the_own_sockets():
    kind = socket.AF_INET, socket.SOCK_DGRAM
    with socket.socket(*kind) as one, socket.socket(*kind) as all_of_them:
        listening_addresses.cache_clear()
        before = listening_addresses().split(", ")
        one.bind(("127.0.0.77", 0))
        all_of_them.bind(("0.0.0.0", 0))
        listening_addresses.cache_clear()
        assert set(listening_addresses().split(", ")) == {*filter(None, before), "127.0.0.77", "every address"}
    listening_addresses.cache_clear()
    assert "127.0.0.77" not in listening_addresses()


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
