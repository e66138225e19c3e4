"""The robot model: laws of rigid-body algebra with motor inertia, and the door for bad input."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.robot import INERTIA_CHOICES, RobotModel, Tool, load_profile, load_robot
from impact_aware.robot.plausible import check_state, limit_notes
from impact_aware.robot.safety_limits import SafetyLimits

ROBOTS = ("panda", "kuka_lwr4")


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return RobotModel.from_profile(request.param)


@pytest.fixture(scope="module")
def panda():
    return RobotModel.from_profile("panda")


def states(robot, count, seed=7):
    rng = np.random.default_rng(seed)
    limits = robot.limits
    q = rng.uniform(limits.position_lower, limits.position_upper, (count, robot.n))
    return zip(q, rng.uniform(-1.0, 1.0, (count, robot.n)) * limits.velocity, strict=True)


def test_inertia_choices_differ_exactly_on_the_diagonal(robot):
    for q, _ in states(robot, 20):
        plain, apparent, full = (robot.mass_matrix(q, choice) for choice in INERTIA_CHOICES)
        off_diagonal = ~np.eye(robot.n, dtype=bool)
        np.testing.assert_array_equal(plain[off_diagonal], apparent[off_diagonal])
        np.testing.assert_array_equal(full[off_diagonal], apparent[off_diagonal])
        # 1e-14: one rounding of sums below 10 kg m^2.
        np.testing.assert_allclose(np.diag(apparent - plain), robot.apparent_motor_inertia, atol=1e-14)
        np.testing.assert_allclose(np.diag(full - plain), robot.motor_inertia, atol=1e-14)


def test_jacobian_is_the_derivative_of_the_pose(robot):
    step = 1e-6
    for q, dq in states(robot, 10):
        ahead, behind = robot.placement(q + step * dq), robot.placement(q - step * dq)
        linear = (ahead.translation - behind.translation) / (2 * step)
        angular = pin.log3(ahead.rotation @ behind.rotation.T) / (2 * step)
        # Central differences: step^2 times third derivatives of order 10, plus rounding 1e-16 / step.
        np.testing.assert_allclose(robot.frame_jacobian(q) @ dq, np.concatenate([linear, angular]), atol=1e-8)


def test_bias_torques_do_the_work_that_the_mass_matrix_asks_for(robot):
    """dM/dt - 2 C is skew: dq' (C dq) = 1/2 dq' dM/dt dq."""
    step = 1e-6
    for q, dq in states(robot, 5):
        rate = (robot.mass_matrix(q + step * dq) - robot.mass_matrix(q - step * dq)) / (2 * step)
        power = dq @ (robot.bias(q, dq) - robot.gravity(q))
        # Central differences of entries of order 1 kg m^2, times |dq|^2 of order 10.
        assert power == pytest.approx(0.5 * dq @ rate @ dq, abs=1e-6)


def test_locked_joints_are_gone_and_their_mass_stays():
    profile = load_profile("panda")
    whole = pin.buildModelFromUrdf(str(profile.urdf))
    robot = RobotModel.from_profile(profile)
    assert whole.nv > robot.n == 7
    assert robot.joint_names == profile.joint_names
    assert pin.computeTotalMass(robot.model) == pytest.approx(
        pin.computeTotalMass(whole) + profile.tool.mass, rel=1e-12
    )
    data = whole.createData()
    q_whole = pin.neutral(whole)
    q_whole[:7] = robot.home
    bare = RobotModel.from_urdf(profile.urdf, joint_names=profile.joint_names)
    full = pin.crba(whole, data, q_whole)
    np.testing.assert_allclose(bare.mass_matrix(np.array(robot.home)), full[:7, :7], atol=1e-12)


def test_urdf_text_and_urdf_file_are_the_same_robot(robot):
    path = robot.profile.urdf
    joints = robot.joint_names
    from_file = RobotModel.from_urdf(path, joint_names=joints)
    from_text = RobotModel.from_urdf("\n  " + path.read_text(), joint_names=joints)
    assert from_text.joint_names == from_file.joint_names
    for q, dq in states(robot, 3):
        np.testing.assert_array_equal(from_text.mass_matrix(q), from_file.mass_matrix(q))
        np.testing.assert_array_equal(from_text.bias(q, dq), from_file.bias(q, dq))
        np.testing.assert_array_equal(from_text.placement(q).homogeneous, from_file.placement(q).homogeneous)


def test_tool_adds_its_mass_and_its_frame():
    profile = load_profile("kuka_lwr4")
    tool = profile.tool
    with_tool = RobotModel.from_profile(profile)
    without = RobotModel.from_urdf(profile.urdf, joint_names=profile.joint_names)
    q = np.array(with_tool.home)
    tip = without.placement(q, tool.mount_frame)
    np.testing.assert_allclose(with_tool.placement(q).translation, tip.act(np.array(tool.position)), atol=1e-14)
    # A body at its centre of mass: M grows by m J_v' J_v + J_w' I J_w.
    jacobian = with_tool.frame_jacobian(q)
    linear, angular = jacobian[:3], jacobian[3:]
    grown = tool.mass * linear.T @ linear + tool.inertia_diagonal[0] * angular.T @ angular
    np.testing.assert_allclose(with_tool.mass_matrix(q, "M") - without.mass_matrix(q, "M"), grown, atol=1e-12)


def test_constants_are_frozen(robot):
    for array in (robot.apparent_motor_inertia, robot.motor_inertia, robot.home, robot.limits.effort):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_what_is_returned_belongs_to_the_caller(robot):
    q = np.array(robot.home)
    first, jacobian, placement = robot.mass_matrix(q), robot.frame_jacobian(q), robot.placement(q)
    kept = first.copy(), jacobian.copy(), placement.copy()
    other = q + 0.1
    robot.mass_matrix(other), robot.frame_jacobian(other), robot.placement(other)
    np.testing.assert_array_equal(first, kept[0])
    np.testing.assert_array_equal(jacobian, kept[1])
    assert placement == kept[2]
    first[0, 0] = jacobian[0, 0] = -1.0
    assert robot.mass_matrix(q)[0, 0] > 0.0


@settings(max_examples=30)
@given(values=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=9))
def test_configurations_are_checked_at_the_door(values):
    robot = RobotModel.from_urdf(PENDULUM)
    if len(values) == 1 and np.isfinite(values[0]):
        np.testing.assert_array_equal(robot.check_configuration(values), values)
    else:
        with pytest.raises(InvalidInputError):
            robot.check_configuration(values)


PENDULUM = """<robot name="p"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.01"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="3" effort="10" velocity="2"/></joint></robot>"""


def test_a_pendulum_by_hand():
    robot = RobotModel.from_urdf(PENDULUM, apparent_motor_inertia=[0.3], motor_inertia=[1.5])
    q = np.array([0.4])
    assert robot.mass_matrix(q, "M")[0, 0] == pytest.approx(0.1 + 2 * 0.25, rel=1e-14)
    assert robot.mass_matrix(q)[0, 0] == pytest.approx(0.9, rel=1e-14)
    assert robot.mass_matrix(q, "M+B_rho")[0, 0] == pytest.approx(2.1, rel=1e-14)
    assert robot.gravity(q)[0] == pytest.approx(2 * 9.81 * 0.5 * np.sin(0.4), rel=1e-12)
    assert robot.home[0] == 1.0
    assert robot.tool_frame == "rod"


@pytest.mark.parametrize("limit", ['<limit lower="-1" upper="3" effort="10" velocity="2"/>', ""])
def test_a_joint_that_turns_without_end_has_one_angle_and_no_range(limit):
    urdf = PENDULUM.replace('"revolute"', '"continuous"')
    urdf = urdf.replace('<limit lower="-1" upper="3" effort="10" velocity="2"/>', limit)
    robot, bounded = RobotModel.from_urdf(urdf), RobotModel.from_urdf(PENDULUM)
    assert (robot.n, robot.limits.position_lower[0], robot.limits.position_upper[0]) == (1, -np.inf, np.inf)
    assert robot.limits.effort[0] == (10.0 if limit else 0.0)
    assert robot.home[0] == 0.0
    q = np.array([0.4])
    assert robot.mass_matrix(q) == bounded.mass_matrix(q) and robot.gravity(q) == bounded.gravity(q)
    # A whole turn later it hangs alike, and no turn is too many.
    assert robot.gravity(q + 20.0 * np.pi)[0] == pytest.approx(robot.gravity(q)[0], rel=1e-12)
    check_state(robot, q + 20.0 * np.pi, np.zeros(1))
    assert limit_notes(robot, q + 20.0 * np.pi) == ()


def test_the_frame_that_touches_is_one_that_the_last_joint_carries():
    camera = '<link name="camera"/><joint name="post" type="fixed"><parent link="base"/><child link="camera"/></joint>'
    assert RobotModel.from_urdf(PENDULUM.replace("</robot>", camera + "</robot>")).tool_frame == "rod"


def file_of(content):
    with tempfile.NamedTemporaryFile(suffix=".urdf", delete=False) as file:
        file.write(content)
    return Path(file.name)


BAD = {
    "no joint": (lambda: RobotModel.from_urdf('<robot name="x"><link name="base"/></robot>'), "joint"),
    "joint on the plane": (
        lambda: RobotModel.from_urdf(PENDULUM.replace('"revolute"', '"planar"')),
        "one coordinate",
    ),
    "no range": (
        lambda: RobotModel.from_urdf(PENDULUM.replace('lower="-1" upper="3" ', "")),
        "0 to 0 rad for hinge",
    ),
    "a xacro file": (
        lambda: RobotModel.from_urdf('<robot name="x"><link name="base"/><xacro:arm name="a"/></robot>'),
        "xacro FILE",
    ),
    "unknown joint": (lambda: RobotModel.from_urdf(PENDULUM, joint_names=("knee",)), "knee"),
    "unknown frame": (lambda: RobotModel.from_urdf(PENDULUM, tool_frame="toe"), "toe"),
    "inertia count": (
        lambda: RobotModel.from_urdf(PENDULUM, apparent_motor_inertia=[1, 2]),
        "apparent_motor_inertia",
    ),
    "negative inertia": (
        lambda: RobotModel.from_urdf(PENDULUM, apparent_motor_inertia=[-1]),
        "apparent_motor_inertia",
    ),
    "negative B_rho": (lambda: RobotModel.from_urdf(PENDULUM, motor_inertia=[-1]), "motor_inertia"),
    "NaN inertia": (lambda: RobotModel.from_urdf(PENDULUM, motor_inertia=[np.nan]), "motor_inertia"),
    "zero torque rate": (lambda: RobotModel.from_urdf(PENDULUM, effort_rate=[0.0]), "effort_rate"),
    "margin beyond the range": (lambda: RobotModel.from_urdf(PENDULUM, position_margin=3.0), "position_margin"),
    "home count": (lambda: RobotModel.from_urdf(PENDULUM, home=[0.0, 1.0]), "home"),
    "home text": (lambda: RobotModel.from_urdf(PENDULUM, home=["up"]), "home"),
    "unknown inertia": (lambda: RobotModel.from_urdf(PENDULUM).mass_matrix(np.zeros(1), "M+B"), "M+B_theta"),
    "URDF of several lines": (lambda: RobotModel.from_urdf("<robot\n\nname=>"), "a valid URDF"),
    "no text": (lambda: RobotModel.from_urdf(file_of(b"<robot \xff\xfe>")), "text in UTF-8"),
    "B_rho unknown": (lambda: RobotModel.from_urdf(PENDULUM).mass_matrix(np.zeros(1), "M+B_rho"), "M+B_rho"),
}


@pytest.mark.parametrize(("call", "word"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_in_one_line(call, word):
    with pytest.raises(InvalidInputError) as caught:
        call()
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_arm_adds_gravity_where_its_profile_says_so(panda):
    whole = replace(panda.profile, command_includes_gravity=True)
    arms = panda, RobotModel.from_profile(whole), RobotModel.from_urdf(PENDULUM)
    assert [arm.adds_gravity for arm in arms] == [True, False, False]


def test_unknown_frame_lists_the_bodies(panda):
    with pytest.raises(UnknownNameError, match="panda_link7"):
        panda.frame_jacobian(panda.home, "elbow")


def test_limits_are_those_of_the_urdf_less_the_margin():
    robot = RobotModel.from_urdf(PENDULUM, position_margin=0.25, effort_rate=[70.0])
    limits = robot.limits
    assert [float(each[0]) for each in (limits.position_lower, limits.position_upper)] == [-0.75, 2.75]
    assert [float(each[0]) for each in (limits.velocity, limits.effort, limits.effort_rate)] == [2.0, 10.0, 70.0]
    assert RobotModel.from_urdf(PENDULUM).limits.effort_rate[0] == 1000.0


def test_figures_of_the_profile_reach_the_model(robot):
    profile = robot.profile
    for name in ("apparent_motor_inertia", "motor_inertia", "home"):
        np.testing.assert_array_equal(getattr(robot, name), getattr(profile, name), err_msg=name)
    changed = replace(profile, effort_rate=tuple(range(100, 107)), position_margin=0.02, base_frame="stand")
    other = RobotModel.from_profile(changed)
    np.testing.assert_array_equal(other.limits.effort_rate, np.arange(100.0, 107.0))
    np.testing.assert_allclose(other.limits.position_lower, np.array(robot.model.lowerPositionLimit) + 0.02)
    assert (other.base_frame, other.tool_radius) == ("stand", profile.tool.radius)
    apparent = np.arange(0.1, 0.8, 0.1)
    # What was identified counts as known.
    for arm, share in ((robot, 0.12), (load_robot(robot.name, tuple(apparent)), 0.0)):
        np.testing.assert_allclose(arm.motor_inertia_std_for("M+B_theta"), share * arm.apparent_motor_inertia)
        np.testing.assert_array_equal(arm.motor_inertia_std_for("M+B_rho"), np.zeros(7))
    np.testing.assert_array_equal(arm.apparent_motor_inertia, apparent)


def test_a_tool_is_rotated_and_placed_in_the_frame_that_carries_it():
    tool = Tool("rod", "tip", position=(0.1, -0.2, 0.3), rotation_rpy=(0.3, -0.5, 0.9), radius=0.04, mass=2.0,
                center_of_mass=(0.0, 0.5, 0.0), inertia_diagonal=(0.01, 0.02, 0.03))  # fmt: skip
    robot = RobotModel.from_urdf(PENDULUM, tool=tool)
    placement = robot.placement(np.zeros(1))
    np.testing.assert_allclose(placement.translation, tool.position, atol=1e-15)

    def about(axis, angle):
        return pin.AngleAxis(angle, np.array(axis, dtype=float)).matrix()

    # Roll, pitch, yaw about the fixed axes x, y, z, one after the other.
    expected = about([0, 0, 1], 0.9) @ about([0, 1, 0], -0.5) @ about([1, 0, 0], 0.3)
    np.testing.assert_allclose(placement.rotation, expected, atol=1e-15)
    # About the hinge's y axis the tool's own inertia alone counts: its centre lies on that axis.
    grown = robot.mass_matrix(np.zeros(1)) - RobotModel.from_urdf(PENDULUM).mass_matrix(np.zeros(1))
    assert grown[0, 0] == pytest.approx(0.02, abs=1e-14)


def test_safety_limits_take_the_call_before_the_profile():
    profile = replace(load_profile("panda"), safety={"tool_speed": 0.9, "effort": 5.0, "contact_force": 77.0})
    panda = RobotModel.from_profile(profile)
    own, called = SafetyLimits.of(panda), SafetyLimits.of(panda, tool_speed=0.4, workspace_lower=[-1.0, -2.0, -3.0])
    assert (own.tool_speed, own.contact_force) == (0.9, 77.0)
    assert (called.tool_speed, called.contact_force) == (0.4, 77.0)
    np.testing.assert_array_equal(own.effort, np.full(7, 5.0))
    np.testing.assert_array_equal(called.workspace_lower, [-1.0, -2.0, -3.0])
    with pytest.raises(InvalidInputError, match="safety.speed"):
        SafetyLimits.of(panda, speed=1.0)


def test_home_is_the_middle_of_the_range_where_there_is_one(panda):
    model = panda.model.copy()
    lower, upper = np.arange(-3.0, 4.0), np.arange(-2.0, 12.0, 2.0)
    lower[4], upper[4] = -np.inf, np.inf
    upper[5] = np.inf
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    robot = RobotModel(model, name="middle", tool_frame=panda.tool_frame, position_margin=0.1)
    np.testing.assert_allclose(robot.home, [-2.5, -1.0, 0.5, 2.0, 0.0, 0.0, 6.5])
    np.testing.assert_allclose(robot.limits.position_lower, lower + 0.1)
    np.testing.assert_allclose(robot.limits.position_upper, upper - 0.1)
