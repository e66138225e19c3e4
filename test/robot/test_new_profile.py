"""A minimal profile says what the URDF says: every line of it, for an arm that was made up."""

import pytest
import yaml

from impact_aware.robot.load import load_robot
from impact_aware.robot.new_profile import minimal_profile

INERTIAL = (
    '<inertial><origin xyz="0 0 0.1"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.015"/></inertial>'
)
URDF = f"""<robot name="two"><link name="floor"/><link name="upper">{INERTIAL}</link><link name="fore">{INERTIAL}</link>
<link name="hand"/><link name="camera"/>
<joint name="b" type="revolute"><parent link="floor"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2.5" effort="50" velocity="2"/></joint>
<joint name="a" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
<limit effort="20" velocity="2"/></joint>
<joint name="fixed_hand" type="fixed"><parent link="fore"/><child link="hand"/><origin xyz="0 0 0.3"/></joint>
<joint name="fixed_camera" type="fixed"><parent link="upper"/><child link="camera"/></joint></robot>"""


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("urdf") / "two.urdf"
    path.write_text(
        URDF.replace('type="continuous"', 'type="revolute"').replace("<limit eff", '<limit lower="-9" upper="9" eff')
    )
    return load_robot(path)


def test_every_field_is_the_urdf_s(robot):
    text = minimal_profile(robot, "my: arm", 'odd "path".urdf')
    content = yaml.safe_load(text)
    assert content == {
        "name": "my: arm",
        "urdf": 'odd "path".urdf',
        "joints": ["b", "a"],
        "base_frame": "floor",
        "apparent_motor_inertia": [0.0, 0.0],
        "notes": {
            "urdf": "Where it comes from, which version, whose masses and inertias.",
            "apparent_motor_inertia": "Not known.",
        },
    }
    lines = text.splitlines()
    # Bodies that the last joint carries, and no other; the middle of the ranges.
    assert "# What touches: a spherical tip on one of the frames fore, hand." in lines
    assert f"# Without it the origin of {robot.tool_frame} touches, which is hardly ever right; " in text
    assert "# home: [0.75, 0]" in lines
    assert "# motor_inertia: [0.0, 0.0]" in lines
    assert f"#   mount_frame: {robot.tool_frame}" in lines


def test_what_is_wrong_with_the_urdf_is_said_below_the_notes(robot):
    robot.notes = ("link upper: a mass of -1 kg", "another")
    try:
        assert minimal_profile(robot, "a", "b").endswith("  # link upper: a mass of -1 kg\n  # another\n")
    finally:
        robot.notes = ()
    assert minimal_profile(robot, "a", "b").endswith("apparent_motor_inertia: Not known.\n")
