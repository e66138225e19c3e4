"""Nodes end when they are asked to, and one that has died before is named."""

import signal

import pytest

from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.cli.main import main
from impact_aware_rigs.bench.shutdowns import shut_down


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_running_node_ends_by_itself(forked_nodes, number):
    figures = shut_down((NodeSpec("latency_echo", "latency_echo"),), number, 2.0)
    assert figures["had_to_be_killed"] == []
    assert set(figures["seconds"]) == {"latency_echo"}
    assert figures["died_before"] == []


def test_a_node_that_died_is_named(forked_nodes):
    figures = shut_down((NodeSpec("latency_echo", "latency_echo", parameters={"joints": -1}),), signal.SIGTERM, 3.0)
    assert figures["died_before"] == ["latency_echo"]


def test_no_time_is_refused(capsys):
    assert main(["bench", "endings", "--running", "0"]) == 2
    assert "--running" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["--states", "asleep"], "state: got 'asleep', expected one of just_started, watching, ante"),
        (["--signals", "KILL"], "signal: got 'KILL', expected one of INT, TERM"),
        (["--arms", "2", "--robot", "fr3"], "--robot: got fr3, expected none with --arms 2"),
    ],
)
def test_what_it_can_not_measure_is_refused(capsys, words, reported):
    assert main(["bench", "shutdowns", *words]) == 2
    assert reported in capsys.readouterr().err
