"""Which joints of a URDF are the arm's: fingers are left out, several arms are not, and a linkage is one arm."""

import numpy as np
import pytest

from impact_aware.robot import load_robot
from impact_aware.robot.load import arm_joints, arm_of_urdf
from impact_aware.robot.urdf_text import build_model

LIMIT = '<limit lower="-1" upper="2" effort="5" velocity="3"/>'


def arms(joints):
    """Names of the arm's joints where `joints` are (name, parent link, what it mimics); its child has its name."""
    links = "".join(f'<link name="{name}"/>' for name, *_ in joints)
    made = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}"/>{LIMIT}'
        + (f'<mimic joint="{mimics}"/>' if mimics else "")
        + "</joint>"
        for name, parent, mimics in joints
    )
    text = f'<robot name="r"><link name="base"/>{links}{made}</robot>'
    return arm_joints(text, build_model(text))


ARM = [("a", "base", ""), ("b", "a", ""), ("c", "b", "")]


@pytest.mark.parametrize(
    "more",
    [
        [],
        # A joint that mimics, and the last one that it mimics.
        [("left", "c", ""), ("right", "c", "left")],
        [("left", "c", ""), ("right", "c", ""), ("tip", "right", "")],
        [("rod", "a", "b")],
    ],
    ids=["chain", "mimicking fingers", "short branches", "linkage"],
)
def test_fingers_and_what_mimics_are_no_part_of_an_arm(more):
    assert arms([*ARM, *more]) == ("a", "b", "c")


@pytest.mark.parametrize(
    "joints",
    [
        [*ARM, ("d", "base", ""), ("e", "d", ""), ("f", "e", "")],
        [("waist", "base", ""), ("a", "waist", ""), ("b", "a", ""), ("d", "waist", ""), ("e", "d", "")],
        # Branches that are as long as the chain that carries them.
        [("waist", "base", ""), ("a", "waist", ""), ("d", "waist", "")],
    ],
)
def test_two_arms_on_one_base_or_on_a_torso_are_both_kept(joints):
    assert set(arms(joints)) == {name for name, *_ in joints}


def _panda_like(tmp_path):
    body = '<inertial><mass value="1.5"/><inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
    names = ("a", "b", "c", "left", "right")
    parents = ("base", "a", "b", "c", "c")
    kinds = ("revolute",) * 3 + ("prismatic",) * 2
    links = "".join(f'<link name="link_{name}">{body}</link>' for name in names)
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><origin xyz="0.1 0.02 0.3"/><axis xyz="0 1 0"/>'
        f'<parent link="{"base" if parent == "base" else f"link_{parent}"}"/><child link="link_{name}"/>{LIMIT}</joint>'
        for name, parent, kind in zip(names, parents, kinds, strict=True)
    )
    path = tmp_path / "gripping.urdf"
    path.write_text(f'<robot name="r"><link name="base"/>{links}{joints}</robot>', encoding="utf-8")
    return path


def test_a_bare_urdf_is_loaded_without_its_fingers_which_a_note_names(tmp_path):
    robot = load_robot(_panda_like(tmp_path), (0.1, 0.2, 0.3))
    assert robot.joint_names == ("a", "b", "c") and robot.name == "gripping"
    assert any(
        "left, right of gripping.urdf were taken for fingers" in note and "new-robot --joints" in note
        for note in robot.notes
    )
    np.testing.assert_array_equal(robot.apparent_motor_inertia, [0.1, 0.2, 0.3])
    # What they weigh stays.
    assert sum(inertia.mass for inertia in robot.model.inertias) == pytest.approx(5 * 1.5)
    # Who names the joints knows which are left out.
    assert arm_of_urdf(_panda_like(tmp_path), "", joint_names=("a", "b")).notes == ()
