from dataclasses import dataclass

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.parameters import described, parameter_rows
from impact_aware.ros.ros_parameters import load_settings


@dataclass(frozen=True)
class Settings:
    gain: float = described(2.0, "a gain, 1/s", 0.0, 10.0)
    count: int = described(3, "a count", 1, 5)
    mode: str = described("slow", "a mode", choices=("slow", "fast"))
    names: list[str] = described([], "names")
    numbers: list[float] = described([1.0, 2.0], "numbers")


def load(ros_context, **overrides):
    parameters = [Parameter(name, value=value) for name, value in overrides.items()]
    node = Node("with_settings", parameter_overrides=parameters)
    try:
        return load_settings(node, Settings)
    finally:
        node.destroy_node()


def test_defaults_come_through_unchanged(ros_context):
    assert load(ros_context) == Settings()


def test_overrides_win(ros_context):
    given = {"gain": 4.5, "count": 5, "mode": "fast", "names": ["a", "b"], "numbers": [3.0]}
    assert load(ros_context, **given) == Settings(**given)


def test_a_whole_number_is_taken_for_a_float(ros_context):
    assert load(ros_context, gain=7).gain == 7.0


@pytest.mark.parametrize(
    ("overrides", "error", "word"),
    [
        ({"gain": -1.0}, InvalidInputError, "gain"),
        ({"gain": 10.5}, InvalidInputError, "from 0 to 10"),
        ({"count": 9}, InvalidInputError, "count"),
        ({"gain": "much"}, InvalidInputError, "much"),
        ({"mode": "warp"}, UnknownNameError, "slow, fast"),
    ],
)
def test_wrong_values_are_refused_by_name(ros_context, overrides, error, word):
    with pytest.raises(error, match=word):
        load(ros_context, **overrides)


def test_every_field_has_a_row_with_its_description():
    rows = {row.name: row for row in parameter_rows(Settings)}
    assert rows["gain"].text == "a gain, 1/s"
    assert rows["mode"].choices == ("slow", "fast")


@pytest.mark.dds
@pytest.mark.parametrize(
    ("module", "assignment", "sentence"),
    [
        ("jump_predictor", "robot:=pandas", "robot: got 'pandas', expected one of"),
        ("jump_predictor", "friction:=-1.0", "parameter friction: got -1.0"),
        ("jump_predictor", "normal:=[0.0, 0.0, 0.0]", "normal"),
        ("impact_detector", "detector:=magic", "parameter detector: got 'magic', expected one of"),
        ("reference_field", "task:=dance", "task: got 'dance', expected one of"),
        ("sim_robot", "task:=moon", "task: got 'moon', expected one of"),
        ("bag_recorder", "bag:=/", "expected a folder that does not exist yet"),
    ],
)
def test_a_node_with_a_wrong_parameter_ends_with_one_clear_line(zygote, module, assignment, sentence):
    result = zygote.run(["impact_aware.bringup.start", module, "--ros-args", "-p", assignment])
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
