"""`impact-aware tune-detector` reads a recording and states parameters and the false-alarm rate."""

import json

import numpy as np
import pytest
import yaml
from recorded_bag import bag_of

from impact_aware.detection import make_detector


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("bags") / "quiet"
    times = 100.0 + np.arange(12_000) * 1e-3
    positions = np.stack((0.3 * np.sin(3 * times), 0.2 * np.cos(2 * times)), axis=1)
    noise = 1e-5 * np.random.default_rng(1).standard_normal(positions.shape)
    rows = np.column_stack((np.zeros(len(times)), np.round((positions + noise)[:, ::-1] / 2e-5) * 2e-5))
    return bag_of(path, ("gripper", "b", "a"), zip(times, rows, strict=True), topic="/arm/joint_states")


def test_parameters_come_out_and_make_a_detector(bag, tmp_path, command):
    status, out, _ = command("tune-detector", bag, "--joints", "a", "b", "--json", "--out", tmp_path)
    assert status == 0
    result = json.loads(out)
    parameters = result["parameters"]
    assert result["joints"] == ["a", "b"]
    assert parameters["encoder_resolution"] == pytest.approx([2e-5, 2e-5], rel=1e-3)
    assert parameters["position_noise"] == pytest.approx([1e-5, 1e-5], rel=0.2)
    assert result["expected_false_alarms_per_hour"] <= 0.1 + 1e-9
    assert result["false_alarms_per_hour_excluded_by_recording"] == pytest.approx(900.0, rel=0.01)
    assert result["recording_hours"] == pytest.approx(12.0 / 3600.0, rel=0.01)
    # Both joints in each sample, then both in samples 5 ms apart.
    assert len(result["largest_signal"]) == 4 and len(parameters["soft_variation"]) == 2
    assert yaml.safe_load((tmp_path / "detector.yaml").read_text()) == result
    make_detector(result["detector"], 2, **{k: tuple(v) if isinstance(v, list) else v for k, v in parameters.items()})


def test_begin_and_end_count_from_the_start(bag, command):
    status, out, err = command("tune-detector", bag, "--joints", "a", "b", "--json", "--begin", "1", "--end", "11.5")
    assert status == 0, err
    assert json.loads(out)["recording_hours"] == pytest.approx(10.5 / 3600.0, rel=0.01)


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
def test_bad_input_is_one_line(bag, arguments, word, refused):
    assert word in refused("tune-detector", bag, *arguments)
