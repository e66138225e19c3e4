"""Which joints of a URDF are the arm's: fingers are left out, several arms are not, and a linkage is one arm."""

from impact_aware.robot.arm_joints import arm_joints
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


def test_a_chain_is_an_arm():
    assert arms(ARM) == ("a", "b", "c")


def test_a_joint_that_mimics_and_the_last_one_that_it_mimics_are_fingers():
    assert arms([*ARM, ("left", "c", ""), ("right", "c", "left")]) == ("a", "b", "c")


def test_short_branches_at_the_end_are_fingers():
    assert arms([*ARM, ("left", "c", ""), ("right", "c", ""), ("tip", "right", "")]) == ("a", "b", "c")


def test_a_linkage_keeps_the_joint_that_drives_it():
    assert arms([*ARM, ("rod", "a", "b")]) == ("a", "b", "c")


def test_two_arms_on_one_base_or_on_a_torso_are_both_kept():
    other = [("d", "base", ""), ("e", "d", ""), ("f", "e", "")]
    assert len(arms([*ARM, *other])) == 6
    torso = [("waist", "base", ""), ("a", "waist", ""), ("b", "a", ""), ("d", "waist", ""), ("e", "d", "")]
    assert len(arms(torso)) == 5
