"""The command logger keeps each arm's last command, with the state that came before it."""

from __future__ import annotations

import json

import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware_rigs.probes import command_logger as module


@pytest.fixture
def logger(ros_context, monkeypatch):
    monkeypatch.setattr(module, "load_settings", lambda *_: module.Settings(arms=["left", "right"]))
    node = module.CommandLoggerNode()
    yield node
    node.destroy_node()


def test_the_last_command_and_the_state_before_it(logger, capsys):
    for value in (1.0, 2.0):
        logger._on_state("left", JointState(name=["a"], position=[value], velocity=[0.1]))
        logger._on_command("left", Float64MultiArray(data=[10.0 * value]))
    logger._on_state("left", JointState(name=["a"], position=[3.0], velocity=[0.1]))
    logger.close()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {
        "arm": "left", "commands": 2, "command": [20.0], "names": ["a"], "position": [2.0], "velocity": [0.1],
    }  # fmt: skip
    assert lines[1] == {"arm": "right", "commands": 0, "command": [], "names": [], "position": [], "velocity": []}
