"""`impact-aware touch-surface`: a recorded arm taps a tilted plane, and the detector's contacts give it back."""

import json

import numpy as np
import pinocchio as pin
import pytest
import yaml
from scipy.interpolate import BPoly

from impact_aware.cli.main import main
from impact_aware.recordings.surface import load_surface
from impact_aware.robot import RobotModel
from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics

NORMAL = np.array([0.15, -0.2, 1.0]) / np.linalg.norm([0.15, -0.2, 1.0])
POINT = np.array([0.45, 0.0, 0.2])
PLACES = ((0.08, 0.0), (-0.06, 0.09), (-0.05, -0.08), (0.05, 0.07))
SPEED, FIRST, APART, NEAR = 0.05, 1.0, 2.0, 0.35
DOWN = pin.rpy.rpyToMatrix(np.pi, 0.0, 0.0)


def write_taps(path, places):
    """The tip goes to the plane at each place with 5 cm/s, leaves it with 2 cm/s, and moves smoothly to the next."""
    robot = RobotModel.from_profile("panda")
    along = np.cross(NORMAL, [1.0, 0.0, 0.0])
    along /= np.linalg.norm(along)
    across, seed = np.cross(NORMAL, along), robot.home
    times, knots = [], []
    for number, (a, b) in enumerate(places):
        centre = POINT + a * along + b * across + robot.tool_radius * NORMAL
        seed = solve_inverse_kinematics(robot, pin.SE3(DOWN, centre), seed)
        velocity = np.linalg.pinv(robot.frame_jacobian(seed)) @ np.concatenate([-SPEED * NORMAL, np.zeros(3)])
        at = FIRST + number * APART + 0.0003
        times += [at - NEAR, at, at + NEAR]
        knots.append((seed, velocity))
    stamps = np.arange(FIRST - NEAR + 0.001, times[-1], 0.001)
    rows = np.zeros((len(stamps), robot.n))
    for index, (q, velocity) in enumerate(knots):
        start, at, end = times[3 * index : 3 * index + 3]
        before, after = (stamps >= start) & (stamps < at), (stamps >= at) & (stamps < end)
        rows[before] = q + velocity * (stamps[before] - at)[:, None]
        rows[after] = q - 0.4 * velocity * (stamps[after] - at)[:, None]
        if index + 1 < len(knots):
            onward, speed = knots[index + 1]
            ends = [[q - 0.4 * velocity * NEAR, -0.4 * velocity, 0.0 * q], [onward - speed * NEAR, speed, 0.0 * q]]
            between = (stamps >= end) & (stamps < times[3 * index + 3])
            rows[between] = BPoly.from_derivatives([end, times[3 * index + 3]], ends)(stamps[between])
    table = np.column_stack([stamps, np.round(rows / 1e-5) * 1e-5])
    header = ",".join(["time", *(f"{name}_pos" for name in robot.joint_names)])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.7f")
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return write_taps(tmp_path_factory.mktemp("taps") / "taps.csv", PLACES)


COLUMNS = ("--columns", "time=time q=*_pos")


def run(capsys, *words):
    status = main(["touch-surface", *map(str, words), *COLUMNS])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.slow
def test_the_plane_comes_back_and_is_a_surface_file(recording, tmp_path, capsys):
    status, out, err = run(capsys, recording, "--robot", "panda", "--json", "--out", tmp_path / "table")
    assert status == 0, err
    found = json.loads(out)
    assert [tap["index"] for tap in found["taps"]] == [1, 2, 3, 4]
    angle = np.arccos(np.clip(found["normal"] @ NORMAL, -1.0, 1.0))
    assert angle < 3.0 * found["normal_error"] < 0.02
    assert abs((found["point"] - POINT) @ NORMAL) < 3.0 * found["offset_error"] < 0.001
    assert found["frame"] == "panda_link0"
    surface = load_surface(tmp_path / "table" / "surface.yaml")
    np.testing.assert_allclose(surface.normal, found["normal"], atol=2e-6)
    np.testing.assert_allclose(surface.point, found["point"], atol=2e-6)
    assert set(yaml.safe_load((tmp_path / "table" / "surface.yaml").read_text())) == {"normal", "point"}
    status, _, err = run(capsys, recording, "--robot", "panda", "--out", tmp_path / "table")
    assert (status, "earlier results stay" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--taps", "1", "2"), "taps: got 2, expected 3 contacts or more"),
        (("--taps", "1", "2", "9"), "taps: got 9, expected each of 1..4 once at most"),
        (("--taps", "1", "2", "2"), "taps: got 2, expected each of 1..4 once at most"),
    ],
)
def test_taps_that_make_no_plane_are_refused(recording, capsys, words, said):
    status, _, err = run(capsys, recording, "--robot", "panda", *words)
    assert (status, said in err) == (2, True), err


@pytest.mark.slow
def test_a_robot_is_needed(recording, capsys):
    status, _, err = run(capsys, recording)
    assert (status, "robot: got nothing, expected a profile or a URDF" in err) == (2, True), err


@pytest.mark.slow
def test_three_taps_say_that_nothing_tests_them(recording, capsys):
    status, out, _ = run(capsys, recording, "--robot", "panda", "--taps", "1", "2", "3")
    assert status == 0
    assert "three taps fit any plane: a fourth one would test it" in out
    assert "in panda_link0" in out
