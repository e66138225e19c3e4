"""`impact-aware new-robot`: a profile that loads, says what is not known, and is never written over another."""

import json

from impact_aware.robot import RobotModel, load_profile

URDF = load_profile("kuka_lwr4").urdf


def test_the_profile_loads_from_the_folder_and_from_what_is_printed(command, tmp_path):
    status, out, _ = command("new-robot", URDF, "--name", "mine", "--out", tmp_path / "robots")
    assert status == 0 and "mine.yaml" in out
    robot = RobotModel.from_profile(str(tmp_path / "robots" / "mine.yaml"))
    assert robot.name == "mine" and robot.joint_names == load_profile("kuka_lwr4").joint_names
    assert not robot.apparent_motor_inertia.any() and robot.known_inertia("M+B_theta") == "M"
    text = command("new-robot", URDF)[1]
    for words in ("B_theta", "identify inertia", "not known", "gear ratio squared"):
        assert words in text
    (tmp_path / "printed.yaml").write_text(text)
    assert RobotModel.from_profile(str(tmp_path / "printed.yaml")).n == robot.n
    # Every line that is commented out is right once it stands.
    (tmp_path / "full.yaml").write_text(
        text.replace("# tool:\n#   mount", "tool:\n  mount").replace("\n#   ", "\n  ").replace("# home", "home")
    )
    lines = [
        line for line in (tmp_path / "full.yaml").read_text().splitlines() if not line.startswith("  impact-aware")
    ]
    (tmp_path / "full.yaml").write_text(
        "\n".join(line for line in lines if not line.startswith("  the ") and not line.startswith("  a "))
    )
    assert load_profile(tmp_path / "full.yaml").tool.radius == 0.03


def test_json_and_refusals(command, tmp_path):
    status, out, _ = command("new-robot", URDF, "--json", "--out", tmp_path)
    assert status == 0 and json.loads(out)["written"].endswith(f"{URDF.stem}.yaml")
    assert "earlier results stay" in command("new-robot", URDF, "--out", tmp_path)[2]
    assert "existing URDF file" in command("new-robot", tmp_path / "none.urdf")[2]
    assert "elbow" in command("new-robot", URDF, "--joints", "elbow")[2]
    assert "nowhere" in command("new-robot", URDF, "--tool-frame", "nowhere")[2]
    for name in ("../x", ".x", "a\x1b[2J", "a\nb"):
        assert "without its ending" in command("new-robot", URDF, "--name", name, "--out", tmp_path)[2]
    (tmp_path / "x.urdf").write_text("<html/>")
    status, _, err = command("new-robot", tmp_path / "x.urdf")
    assert status == 2 and "robot" in err


def test_fingers_are_left_out_and_what_is_not_known_is_said(command, tmp_path):
    status, out, _ = command("new-robot", load_profile("panda").urdf, "--out", tmp_path)
    assert status == 0 and "7 joints, panda_hand_tcp touches" in out
    assert "panda_finger_joint1, panda_finger_joint2" in out and "motor inertia of panda is not known" in out
    (written,) = tmp_path.glob("*.yaml")
    assert RobotModel.from_profile(str(written)).n == 7
