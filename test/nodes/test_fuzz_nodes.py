"""Random messages through the callbacks of every node: nothing raises, and what is wrong is counted."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ReferenceField
from sensor_msgs.msg import JointState

from impact_aware.cli import faults_fuzz
from impact_aware.cli.main import main
from impact_aware.errors import UnknownNameError
from impact_aware.faults.random_messages import RandomMessages
from impact_aware.nodes import fuzz as module

COUNT = 300


def source(seed: int) -> RandomMessages:
    return RandomMessages(seed, module._empty)


@pytest.mark.parametrize("kind", [JointState, ImpactEvent, ReferenceField])
def test_messages_are_random_and_the_same_for_the_same_seed(kind):
    name = module._type_name(kind)
    assert repr(source(1).value(name)) == repr(source(1).value(name))
    assert repr(source(1).value(name)) != repr(source(2).value(name))


def test_spoiling_changes_fields_and_keeps_their_types():
    random = source(0)
    changed = 0
    for _ in range(200):
        message = random.spoil(JointState(name=["a", "b"], position=[1.0, 2.0]), 1)
        changed += message != JointState(name=["a", "b"], position=[1.0, 2.0])
        assert all(isinstance(value, float) for value in message.position)
        assert all(isinstance(value, str) for value in message.name)
    assert changed > 100
    floats = [random.value("double") for _ in range(500)]
    assert any(map(math.isnan, floats))
    assert any(map(math.isinf, floats))
    assert np.isfinite(floats).sum() > 250


@pytest.mark.parametrize("name", module.NODES)
def test_no_callback_of_any_node_raises(ros_context, monkeypatch, capsys, name):
    loader = __import__(f"impact_aware.nodes.{name}", fromlist=["load_settings"])
    if hasattr(loader, "load_settings"):
        # The fuzzer puts its own in place; this puts the node's back afterwards.
        monkeypatch.setattr(loader, "load_settings", loader.load_settings)
    with open(os.devnull) as nothing:
        # run_monitor reads the standard input.
        monkeypatch.setattr("sys.stdin", nothing)
        result = module.fuzz(name, COUNT, 5)
    assert result["errors"] == {}, result["tracebacks"]
    assert result["messages"] >= 0.9 * COUNT


def test_wrong_messages_are_counted_on_diagnostics(ros_context):
    controller = module.fuzz("rs_controller", COUNT, 6)["diagnostics"]
    assert int(controller["rejected_states"]) > 0
    assert controller["violations"]
    assert int(module.fuzz("reference_field", 3 * COUNT, 6)["diagnostics"]["refused"]) > 0


def test_the_two_lists_of_nodes_agree():
    assert tuple(module.NODES) == faults_fuzz.NODES


def test_an_unknown_node_and_no_messages_are_refused(capsys):
    with pytest.raises(UnknownNameError):
        module.Fuzzer("dance", 0)
    assert main(["faults", "--fuzz", "5", "--node", "dance"]) == 2
    assert main(["faults", "--fuzz", "0"]) == 2
    assert main(["faults", "--fuzz", "5", "--dds"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


@pytest.mark.dds
def test_the_command_fuzzes_a_node_in_a_process_of_its_own(capsys):
    assert main(["faults", "--fuzz", "50", "--node", "forward_command_controller", "--json"]) == 0
    (own,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (own["node"], own["exceptions"]) == ("forward_command_controller", 0)
