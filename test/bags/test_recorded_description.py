"""A recorded URDF counts; a profile of the same arm adds what a URDF does not say."""

import re

import numpy as np
import pytest

from impact_aware.bags.recorded_description import Description, robot_of
from impact_aware.contact import Contact
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.robot.urdf_text import build_model

Q = np.array([0.3, -0.6, 0.2, -2.1, 0.4, 1.4, 0.9])
DQ = np.array([0.1, 0.2, -0.3, 0.1, 0.5, -0.2, 0.4])


@pytest.fixture(scope="module")
def panda():
    return RobotModel.from_profile("panda")


@pytest.fixture(scope="module")
def text(panda):
    return panda.profile.urdf.read_text()


def described(text, joints):
    return robot_of(Description("/robot_description", text, build_model(text), ""), joints)


def heavier(text, factor):
    def scaled(match):
        return f"{match[1]}{factor * float(match[2])!r}"

    text = re.sub(r'(<mass value=")([^"]+)', scaled, text)
    return re.sub(r'(\bi(?:xx|xy|xz|yy|yz|zz)=")([^"]+)', scaled, text)


def effective_mass(robot):
    contact = Contact("tool", np.array([0.1, -0.2, 1.0]), radius=robot.tool_radius)
    return predict(robot, Q, DQ, contact).effective_mass


def test_the_same_urdf_gives_what_the_profile_gives(panda, text):
    robot, notes = described(text, panda.joint_names)
    assert effective_mass(robot) == pytest.approx(effective_mass(panda), rel=1e-12)
    assert notes == ("/robot_description is the arm of profile panda, whose tool and motor inertia were taken",)


def test_masses_of_the_recording_count_and_the_difference_is_told(panda, text):
    robot, notes = described(heavier(text, 10.0), panda.joint_names)
    # By hand: the profile's tool and motor inertia on ten times everything else.
    bare = RobotModel.from_urdf(text, joint_names=panda.joint_names)
    tool = panda.mass_matrix(Q, "M") - bare.mass_matrix(Q, "M")
    expected = 10.0 * bare.mass_matrix(Q, "M") + tool + np.diag(panda.apparent_motor_inertia)
    np.testing.assert_allclose(robot.mass_matrix(Q), expected, rtol=1e-9)
    assert effective_mass(robot) > 7.0 * effective_mass(panda)
    assert len(notes) == 2
    assert "counts: masses or inertias, such as 49.71 kg at panda_joint1, the profile has 4.971 kg" in notes[1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('velocity="2.175"', 'velocity="1.5"', "velocity limit, 1.5 at panda_joint1, the profile has 2.175"),
        ('effort="12.0"', 'effort="11"', "effort limit, 11 at panda_joint5, the profile has 12"),
        ('lower="-3.0718"', 'lower="-3"', "lower position limit, -3 at panda_joint4, the profile has -3.072"),
        ('upper="3.7525"', 'upper="3.5"', "upper position limit, 3.5 at panda_joint6, the profile has 3.752"),
    ],
)
def test_limits_of_the_recording_count(panda, text, old, new, words):
    robot, notes = described(text.replace(old, new), panda.joint_names)
    assert robot.limits.velocity[0] == (1.5 if "velocity" in old else 2.175)
    assert [note.partition("counts: ")[2] for note in notes[1:]] == [words]


def test_a_description_without_the_hand_has_no_tool_to_mount(panda, text):
    robot, notes = described(text.replace("panda_hand_tcp", "somewhere"), panda.joint_names)
    assert "its tool was left out, as there is no frame panda_hand_tcp" in notes[0]
    bare = RobotModel.from_urdf(text, joint_names=panda.joint_names)
    np.testing.assert_allclose(robot.mass_matrix(Q, "M"), bare.mass_matrix(Q, "M"), rtol=1e-12)


def test_a_tool_in_the_description_is_not_added_twice(panda, text):
    inertia = '<mass value="0.5"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/>'
    link = f'<link name="tool"><inertial>{inertia}</inertial></link><joint name="tool_joint" type="fixed">'
    link += '<parent link="panda_hand_tcp"/><child link="tool"/><origin xyz="0 0 0.03"/></joint></robot>'
    own = text.replace("</robot>", link)
    robot, notes = described(own, panda.joint_names)
    bare = RobotModel.from_urdf(own, joint_names=panda.joint_names)
    np.testing.assert_allclose(robot.mass_matrix(Q, "M"), bare.mass_matrix(Q, "M"), rtol=1e-12)
    assert robot.tool_radius == panda.tool_radius and "it has a tool itself" in notes[0]
    placed = robot.placement(Q).translation - bare.placement(Q, "panda_hand_tcp").translation
    assert np.linalg.norm(placed) == pytest.approx(0.03)


def test_another_arm_is_taken_as_it_is(panda, text):
    beside = '<link name="wall"/><joint name="stand" type="fixed"><parent link="panda_link0"/>'
    beside += '<child link="wall"/></joint>'
    own = text.replace('xyz="0 0 0.333"', 'xyz="0 0 0.334"').replace("</robot>", beside + "</robot>")
    robot, notes = described(own, panda.joint_names[:6])
    assert robot.profile is None
    # What the arm carries touches, not what stands beside it.
    assert (robot.base_frame, robot.joint_names) == ("panda_link0", panda.joint_names[:6])
    assert robot.model.frames[robot.tool_frame_id].parentJoint == 6
    assert "has no motor inertia" in notes[0]
