"""`impact-aware tune-detector` reads a recording and states parameters and the false-alarm rate."""

import json

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from impact_aware.cli.main import main
from impact_aware.detection import make_detector

STORE = get_typestore(Stores.ROS2_JAZZY)
JOINTS = ["a", "b", "gripper"]


def write_bag(path, times, positions):
    state, header = STORE.types["sensor_msgs/msg/JointState"], STORE.types["std_msgs/msg/Header"]
    stamp = STORE.types["builtin_interfaces/msg/Time"]
    with Writer(path, version=9) as writer:
        connection = writer.add_connection("/arm/joint_states", state.__msgtype__, typestore=STORE)
        for time, row in zip(times, positions, strict=True):
            nanoseconds = round(time * 1e9)
            message = state(
                header=header(stamp=stamp(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9), frame_id=""),
                name=JOINTS[::-1],
                position=np.append(row, 0.0)[::-1].copy(),
                velocity=np.zeros(0),
                effort=np.zeros(0),
            )
            writer.write(connection, nanoseconds, STORE.serialize_cdr(message, state.__msgtype__))


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("bags") / "quiet"
    times = 100.0 + np.arange(12_000) * 1e-3
    positions = np.stack((0.3 * np.sin(3 * times), 0.2 * np.cos(2 * times)), axis=1)
    noise = 1e-5 * np.random.default_rng(1).standard_normal(positions.shape)
    write_bag(path, times, np.round((positions + noise) / 2e-5) * 2e-5)
    return path


def test_parameters_come_out_and_make_a_detector(bag, tmp_path, capsys):
    assert main(["tune-detector", str(bag), "--joints", "a", "b", "--json", "--out", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    parameters = result["parameters"]
    assert result["joints"] == ["a", "b"]
    assert parameters["encoder_resolution"] == pytest.approx([2e-5, 2e-5], rel=1e-3)
    assert parameters["position_noise"] == pytest.approx([1e-5, 1e-5], rel=0.2)
    assert result["expected_false_alarms_per_hour"] <= 0.1 + 1e-9
    assert result["false_alarms_per_hour_excluded_by_recording"] == pytest.approx(900.0, rel=0.01)
    assert (tmp_path / "detector.yaml").is_file()
    make_detector(result["detector"], 2, **{k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--joints", "elbow"], "elbow"),
        (["--begin", "50"], "--begin"),
        (["--end", "3"], "recording"),
        (["--detector", "psychic"], "psychic"),
        (["--detector", "torque_residual"], "signal"),
        (["--topic", "nothing"], "nothing"),
    ],
)
def test_bad_input_is_one_line(bag, arguments, word, capsys):
    assert main(["tune-detector", str(bag), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1 and word in captured.err
