"""What every node says of itself on /diagnostics."""

import socket

import pytest
from rclpy.node import Node

from impact_aware.bringup.middleware import PEERS, PROFILES, RANGE, RMW, TRANSPORT
from impact_aware.ros import diagnostics
from impact_aware.ros.diagnostics import OK, WARN, DiagnosticsReporter, listening_addresses


def reported(node, collect):
    """What a reporter publishes when asked."""
    return DiagnosticsReporter(node, collect).message().status[-1]


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
    status = reported(node, lambda: (OK, "fine", {}))
    assert (status.level, status.message == "fine") == ((OK, True) if sentence is None else (WARN, False))
    assert sentence is None or sentence in status.message
    # What is worse stays in the sentence.
    assert reported(node, lambda: (WARN, "slow", {})).message == "slow"


def test_a_status_has_the_node_s_full_name_its_namespace_and_named_values(sent):
    node = Node("watcher", namespace="/left")
    DiagnosticsReporter(node, lambda: (WARN, "slow", {"rate": 30.5, "count": 3})).report()
    (status,) = sent(node, "/diagnostics")[-1].status
    node.destroy_node()
    assert (status.name, status.hardware_id) == ("/left/watcher", "left")
    assert (status.level, status.message) == (WARN, "slow")
    values = {value.key: value.value for value in status.values}
    assert values.pop("listens on") == ", ".join(listening_addresses()) != ""
    assert values == {"rate": "30.5", "count": "3"}
