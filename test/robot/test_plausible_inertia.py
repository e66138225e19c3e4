"""Links that no body can be are told by name; those of arms that people use are not."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel, load_profile, profile_names
from impact_aware.robot.plausible_inertia import implausible_inertias
from impact_aware.robot.profile import Tool

TEXT = """<robot name="r"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.1 0 0.2"/><mass value="2.5"/>
<inertia ixx="0.03" iyy="0.05" izz="0.04" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
<link name="tip"><inertial><mass value="{mass}"/>
<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="10" velocity="2"/></joint>
<joint name="b" type="fixed"><origin xyz="0.3 0 0"/><parent link="arm"/><child link="tip"/></joint></robot>"""


def urdf(mass=0.5, xx=0.001, yy=0.002, zz=0.0015, xy=0.0):
    return TEXT.format(mass=mass, xx=xx, yy=yy, zz=zz, xy=xy)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mass": 1e-6, "xx": 1.0, "yy": 1.0, "zz": 1.0}, "1 kg m^2 on 1e-06 kg, a radius of gyration of 1e+03 m"),
        ({"zz": 0.0035}, "principal moments 0.001, 0.002, 0.0035 kg m^2, one larger than the other two together"),
        ({"xy": 0.0017}, "one of them negative"),
        ({"zz": -0.5}, "one of them negative"),
        ({"mass": 0.0}, "an inertia of 0.002 kg m^2 without a mass"),
        # 0.45 m of radius: neither the joint nor the centre of mass of this link is far out.
        ({"mass": 0.01, "xx": 0.002, "yy": 0.002, "zz": 0.002}, "a radius of gyration of 0.447 m where 0.3 m fits"),
    ],
)
def test_links_that_no_body_can_be_are_named(given, words):
    (line,) = implausible_inertias(urdf(**given))
    assert line.startswith("link tip: ") and words in line
    assert not implausible_inertias(urdf(**given), links={"arm"})


@pytest.mark.parametrize("given", [{}, {"zz": 0.003}, {"mass": 0.0, "xx": 1e-6, "yy": 1e-6, "zz": 1e-6}])
def test_links_that_may_be_are_not(given):
    assert implausible_inertias(urdf(**given)) == ()


def test_lengths_in_millimetres_are_noted() -> None:
    (line,) = implausible_inertias(urdf().replace('xyz="0.3 0 0"', 'xyz="300 0 0"'))
    assert line == "link arm: a size of 300 m; are its lengths in mm?"


def test_a_tools_inertia_is_compared_with_its_mass() -> None:
    tool = Tool("tip", position=(0.0, 0.0, 0.1), radius=0.03, mass=0.2, inertia_diagonal=(0.5, 0.5, 0.5))
    (line,) = RobotModel.from_urdf(urdf(), tool=tool).notes
    assert line.startswith("tool: 0.5 kg m^2 on 0.2 kg, a radius of gyration of 1.58 m where 0.5 m fits")
    assert RobotModel.from_urdf(urdf(), tool=replace(tool, inertia_diagonal=(2e-4, 2e-4, 2e-4))).notes == ()


def test_profiles_have_none_and_a_model_carries_its_own():
    for name in profile_names():
        assert RobotModel.from_profile(load_profile(name)).notes == (), name
    robot = RobotModel.from_urdf(urdf(mass=1e-6, xx=1.0, yy=1.0, zz=1.0))
    assert len(robot.notes) == 1 and "tip" in robot.notes[0]


def test_an_arm_without_known_motor_inertia_is_never_called_with_it():
    normal = np.array([0.6, 0.0, 0.8])
    for inertia, expected in ((None, "M"), ([0.25], "M+B_theta")):
        robot = RobotModel.from_urdf(urdf(), apparent_motor_inertia=inertia)
        found = predict(robot, np.array([0.3]), np.array([-0.7]), Contact("tip", normal), inertia="M+B_theta")
        assert found.inertia == expected
    assert predict(robot, np.array([0.3]), np.array([-0.7]), Contact("tip", normal), inertia="M").inertia == "M"


def test_prefixes_of_no_namespace_hide_no_inertia() -> None:
    """A prefix that was never declared is no XML with namespaces; the URDF's own parser does not mind."""
    plain = urdf(zz=-0.5)
    text = plain.replace("<robot ", "<robot gazebo:reference='x' ", 1).replace("</robot>", "<old:plugin/></robot>")
    assert implausible_inertias(text) == implausible_inertias(plain) != ()
