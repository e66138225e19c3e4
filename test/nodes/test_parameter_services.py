"""The parameters of each node through rclpy's services, asked as `ros2 param dump` asks."""

from __future__ import annotations

import importlib
from functools import partialmethod

import pytest
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from impact_aware.nodes.ros.ros_parameters import unknown_parameters
from impact_aware.parameters import parameter_rows

NODES = (
    "impact_detector", "jump_predictor", "reference_field", "rs_controller", "command_watchdog", "kuka_fri_relay",
    "impact_markers", "sim_robot", "bag_recorder",
)  # fmt: skip


def node_class(executable):
    module = importlib.import_module(f"impact_aware.nodes.{executable}")
    name = "".join(word.title() for word in executable.split("_"))
    return getattr(module, f"{name}Node")


def settings_class(executable):
    module = importlib.import_module(f"impact_aware.nodes.{executable}")
    return module.Settings


@pytest.fixture
def make(ros_context, tmp_path, monkeypatch):
    made, begin = [], Node.__init__
    needed = {
        "kuka_fri_relay": {"robot": "kuka_lwr4"},
        "command_watchdog": {"controllers": ["effort_controller"]},
        "bag_recorder": {"bag": str(tmp_path / "bag")},
    }

    def make_node(executable, **parameters):
        given = {**needed.get(executable, {}), **parameters}
        overrides = [Parameter(name, value=value) for name, value in given.items()]
        with monkeypatch.context() as patch:
            # Not all of them pass arguments on to rclpy's node.
            patch.setattr(Node, "__init__", partialmethod(begin, parameter_overrides=overrides))
            made.append(node_class(executable)())
        return made[-1]

    yield make_node
    for node in made:
        node.destroy_node()


def answer(node, name, request, response):
    service = next(own for own in node.services if own.srv_name.endswith(f"/{name}"))
    return service.callback(request, response)


@pytest.mark.parametrize("executable", NODES)
def test_every_parameter_of_every_node_can_be_dumped(make, executable):
    node = make(executable)
    names = list(answer(node, "list_parameters", ListParameters.Request(), ListParameters.Response()).result.names)
    rows = {row.name: row for row in parameter_rows(settings_class(executable))}
    assert set(rows) <= set(names)
    values = answer(node, "get_parameters", GetParameters.Request(names=names), GetParameters.Response()).values
    assert len(values) == len(names)
    found = dict(zip(names, map(parameter_value_to_python, values), strict=True))
    assert None not in found.values()
    for name, row in rows.items():
        if row.default == []:
            assert list(found[name]) == []
    request = DescribeParameters.Request(names=list(rows))
    described = answer(node, "describe_parameters", request, DescribeParameters.Response()).descriptors
    assert [own.read_only for own in described] == [not row.tunable for row in rows.values()]
    assert [own.description for own in described] == [row.text for row in rows.values()]


def test_a_misspelt_parameter_is_named_with_the_nearest_one(make):
    node = make("jump_predictor", look_ahead_peroid=0.1, colour="red")
    assert unknown_parameters(node) == "colour, look_ahead_peroid (is look_ahead_period meant?)"
    assert unknown_parameters(make("jump_predictor", look_ahead_period=0.1)) == ""
