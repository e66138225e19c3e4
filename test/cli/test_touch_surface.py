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


def write_taps(path, places, apart=APART, near=NEAR):
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
        at = FIRST + number * apart + 0.0003
        times += [at - near, at, at + near]
        knots.append((seed, velocity))
    stamps = np.arange(FIRST - near + 0.001, times[-1], 0.001)
    rows = np.zeros((len(stamps), robot.n))
    for index, (q, velocity) in enumerate(knots):
        start, at, end = times[3 * index : 3 * index + 3]
        before, after = (stamps >= start) & (stamps < at), (stamps >= at) & (stamps < end)
        rows[before] = q + velocity * (stamps[before] - at)[:, None]
        rows[after] = q - 0.4 * velocity * (stamps[after] - at)[:, None]
        if index + 1 < len(knots):
            onward, speed = knots[index + 1]
            ends = [[q - 0.4 * velocity * near, -0.4 * velocity, 0.0 * q], [onward - speed * near, speed, 0.0 * q]]
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
pytestmark = pytest.mark.slow


def run(capsys, *words):
    status = main(["touch-surface", *map(str, words), *COLUMNS])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--taps", "1", "2"), "taps: got 2, expected 3 contacts or more"),
        (("--taps", "1", "2", "9"), "taps: got 9, expected each of 1..4 once at most"),
        (("--taps", "1", "2", "2"), "taps: got 2, expected each of 1..4 once at most"),
        (None, "robot: got nothing, expected a profile or a URDF"),
    ],
)
def test_without_a_robot_or_taps_that_make_a_plane_it_is_refused(recording, capsys, words, said):
    status, _, err = run(capsys, recording, *(() if words is None else ("--robot", "panda", *words)))
    assert (status, said in err) == (2, True), err


def test_three_taps_say_that_nothing_tests_them(recording, capsys):
    status, out, _ = run(capsys, recording, "--robot", "panda", "--taps", "1", "2", "3")
    assert status == 0
    assert "three taps fit any plane: a fourth one would test it" in out
    assert "in panda_link0" in out


def test_a_bounce_soon_after_a_tap_is_no_tap(tmp_path, capsys):
    status, _, err = run(capsys, write_taps(tmp_path / "t.csv", PLACES[:1] * 2, 0.29, 0.1), "--robot", "panda")
    assert (status, "taps: got 1, expected 3 contacts or more" in err) == (2, True), err


def test_a_frame_that_is_no_tip_touches_where_it_is(recording, capsys):
    """20 mm before the centre of the tip along the tool, which points down."""
    found = json.loads(run(capsys, recording, "--robot", "panda", "--contact-frame", "panda_hand_tcp", "--json")[1])
    assert (found["point"] - POINT) @ NORMAL == pytest.approx(0.03 + 0.02 * NORMAL[2], abs=1e-3)
