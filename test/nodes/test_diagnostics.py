"""Diagnostics say the same with `diagnostic_updater` and without it."""

import pytest
from diagnostic_msgs.msg import DiagnosticArray

from impact_aware.nodes.ros import diagnostics
from impact_aware.nodes.ros.diagnostics import OK, WARN, DiagnosticsReporter, node_of_status


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
    assert {value.key: value.value for value in status.values} == {"rate": "30.5", "count": "3"}


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
