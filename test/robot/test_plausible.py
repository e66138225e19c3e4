"""Links that no body can be, and states that no arm can be in, are named; those of arms in use are not."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel, load_profile, profile_names
from impact_aware.robot.plausible import (
    check_state,
    implausible_inertias,
    implausible_position,
    implausible_speed,
    limit_notes,
)
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
    place = {"position": (0.0, 0.0, 0.1), "center_of_mass": (0.0, 0.12, 0.0)}
    tool = Tool("tip", **place, radius=0.03, mass=0.2, inertia_diagonal=(0.5, 0.5, 0.5))
    (line,) = RobotModel.from_urdf(urdf(), tool=tool).notes
    assert line.startswith("tool: 0.5 kg m^2 on 0.2 kg, a radius of gyration of 1.58 m where 0.74 m fits")
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


PANDA = RobotModel.from_profile("panda")
LOW, HIGH = PANDA.model.lowerPositionLimit.copy(), PANDA.model.upperPositionLimit.copy()


@pytest.mark.parametrize("joint", [0, 3, 6])
def test_positions_up_to_half_a_radian_past_the_urdf_s_limits_are_plausible(joint):
    for end, outward in ((LOW, -1.0), (HIGH, 1.0)):
        for past, expected in ((0.499, False), (0.501, True)):
            q = PANDA.home.copy()
            q[joint] = end[joint] + outward * past
            assert implausible_position(PANDA, q).tolist() == [expected and other == joint for other in range(7)]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_speeds_up_to_ten_times_the_urdf_s_limit_are_plausible(sign):
    for factor, expected in ((9.99, False), (10.01, True)):
        dq = np.zeros((2, 7))
        dq[1, 4] = sign * factor * PANDA.limits.velocity[4]
        assert implausible_speed(PANDA, dq).tolist() == [[False] * 7, [expected and j == 4 for j in range(7)]]


def test_a_speed_without_a_limit_is_plausible():
    model = PANDA.model.copy()
    limit = model.upperVelocityLimit.copy()
    limit[2] = 0.0
    model.upperVelocityLimit = limit
    robot = RobotModel(model, name="free", tool_frame=PANDA.tool_frame)
    assert not implausible_speed(robot, np.array([0.0, 0.0, 1e6, 0.0, 0.0, 0.0, 0.0])).any()


def test_the_first_implausible_joint_is_named_with_its_row_its_number_and_its_range():
    q, dq = np.tile(PANDA.home, (3, 1)), np.zeros((3, 7))
    check_state(PANDA, q, dq)
    # Degrees: joint 4 of the panda has no positive angle of this size.
    q[1, 3] = 45.0
    q[2, 0] = 90.0
    with pytest.raises(InvalidInputError) as caught:
        check_state(PANDA, q, dq, "; degrees need --degrees")
    assert str(caught.value) == (
        "q: got 45 for panda_joint4 in row 2, expected radians within -3.072 and -0.0698; degrees need --degrees"
    )
    dq[2, 5] = -150.0
    with pytest.raises(InvalidInputError) as caught:
        check_state(PANDA, np.tile(PANDA.home, (3, 1)), dq)
    assert str(caught.value) == "dq: got -150 for panda_joint6 in row 3, expected rad/s, of which the URDF allows 2.61"


def test_of_one_state_no_row_is_named():
    q = PANDA.home.copy()
    q[0] = -170.0
    with pytest.raises(InvalidInputError) as caught:
        check_state(PANDA, q, np.zeros(7))
    assert str(caught.value) == "q: got -170 for panda_joint1, expected radians within -2.897 and 2.897"


def test_a_posture_outside_the_limits_is_told_with_its_worst_joint_and_both_ends():
    q = PANDA.home.copy()
    q[1] = LOW[1]
    assert limit_notes(PANDA, q) == () == limit_notes(PANDA, np.tile(q, (2, 1)))
    q[3] = HIGH[3] + 0.0998
    assert limit_notes(PANDA, q) == (
        "the posture is outside the URDF's joint limits: panda_joint4 at 0.03 rad, limits -3.072 and -0.0698",
    )
    q[5] = LOW[5] - 0.2
    (note,) = limit_notes(PANDA, q)
    assert "panda_joint6 at -0.2175 rad" in note and note.endswith(", and 1 more joint")
    check_state(PANDA, q, np.zeros(7))


def test_of_many_postures_the_number_outside_and_the_farthest_row_are_told():
    rows = np.tile(PANDA.home, (5, 1))
    rows[1, 0], rows[3, 6], rows[4, 2] = HIGH[0] + 0.1, LOW[6] - 0.3, np.nan
    (note,) = limit_notes(PANDA, rows)
    assert note.startswith(
        "2 of 5 postures are outside the URDF's joint limits, farthest in row 4: panda_joint7 at -3.197"
    )
