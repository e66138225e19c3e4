"""The parameters of each node through rclpy's services, asked as `ros2 param dump` asks."""

import importlib

import pytest
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import parameter_value_to_python

from impact_aware.parameters import parameter_rows
from impact_aware.ros.ros_parameters import unknown_parameters

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
def make_node(make, tmp_path):
    needed = {
        "kuka_fri_relay": {"robot": "kuka_lwr4"},
        "command_watchdog": {"controllers": ["effort_controller"]},
        "bag_recorder": {"bag": str(tmp_path / "bag")},
    }
    return lambda executable, **given: make(node_class(executable), **needed.get(executable, {}), **given)


def answer(node, name, request, response):
    service = next(own for own in node.services if own.srv_name.endswith(f"/{name}"))
    return service.callback(request, response)


@pytest.mark.parametrize("executable", NODES)
def test_every_parameter_of_every_node_can_be_dumped(make_node, executable):
    node = make_node(executable)
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


def test_a_misspelt_parameter_is_named_with_the_nearest_one(make_node):
    node = make_node("jump_predictor", look_ahead_peroid=0.1, colour="red")
    assert unknown_parameters(node) == "colour, look_ahead_peroid (is look_ahead_period meant?)"
    assert unknown_parameters(make_node("jump_predictor", look_ahead_period=0.1)) == ""
