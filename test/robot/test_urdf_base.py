"""Two arms in one URDF: each is seen from its own base, which stands in the cell as the URDF has it."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, load_profile
from impact_aware.task.task_file import parse_task

LINK = (
    '<link name="{name}"><inertial><origin xyz="0.1 0.02 0.3"/><mass value="{mass}"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
HINGE = (
    '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
    '<axis xyz="{axis}"/><limit lower="-2" upper="2" velocity="3" effort="50"/></joint>'
)
# Two-joint arms on one column: the left one is rolled by 0.4 and then yawed by 0.5, the right one pitched by -0.3.
MOUNTS = {"left": ("0.1 0.3 0.9", "0.4 0 0.5"), "right": ("0.2 -0.25 0.8", "0 -0.3 0")}


def cell() -> str:
    parts = ['<robot name="cell"><link name="world"/><link name="column"/>']
    parts.append(
        '<joint name="stand" type="fixed"><parent link="world"/><child link="column"/><origin xyz="1 2 0"/></joint>'
    )
    for side, (xyz, rpy) in MOUNTS.items():
        parts += [
            LINK.format(name=f"{side}_{link}", mass=mass) for link, mass in (("base", 3), ("upper", 2), ("tip", 1))
        ]
        parts.append(
            f'<joint name="{side}_mount" type="fixed"><parent link="column"/><child link="{side}_base"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/></joint>'
        )
        chain = ((1, "base", "upper", "0 0 0.2", "0 0 1"), (2, "upper", "tip", "0.05 0 0.4", "0 1 0"))
        parts += [
            HINGE.format(name=f"{side}_j{k}", parent=f"{side}_{a}", child=f"{side}_{b}", xyz=x, axis=axis)
            for k, a, b, x, axis in chain
        ]
    return "".join([*parts, "</robot>"])


def arm(side: str) -> RobotModel:
    names = (f"{side}_j1", f"{side}_j2")
    return RobotModel.from_urdf(cell(), joint_names=names, tool_frame=f"{side}_tip", base_frame=f"{side}_base")


@pytest.fixture
def profile_file(tmp_path):
    (tmp_path / "cell.urdf").write_text(cell())
    files = {}
    for side in MOUNTS:
        path = files[side] = tmp_path / f"{side}_arm.yaml"
        path.write_text(
            f"urdf: cell.urdf\njoints: [{side}_j1, {side}_j2]\nbase_frame: {side}_base\n"
            "apparent_motor_inertia: [0.1, 0.2]\n"
        )
    return files


def test_the_base_is_where_the_urdf_has_it():
    base = arm("left").base_in_urdf
    np.testing.assert_allclose(base.translation, [1.1, 2.3, 0.9], atol=1e-12)
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(base.rotation[:, 0], [c, s, 0.0], atol=1e-12)
    np.testing.assert_allclose(base.rotation[:, 1], [-s * np.cos(0.4), c * np.cos(0.4), np.sin(0.4)], atol=1e-12)
    np.testing.assert_allclose(arm("right").base_in_urdf.translation, [1.2, 1.75, 0.8], atol=1e-12)


def test_everything_is_seen_from_the_base():
    robot, q = arm("left"), np.array([np.pi / 2, 0.0])
    # By hand: the second hinge is 0.05 m along y after a quarter turn about z, 0.6 m up.
    np.testing.assert_allclose(robot.placement(q).translation, [0.0, 0.05, 0.6], atol=1e-12)
    np.testing.assert_allclose(robot.placement(q, "left_base").homogeneous, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(robot.placement(q, "world").homogeneous, robot.base_in_urdf.inverse(), atol=1e-12)
    root = RobotModel.from_urdf(cell(), joint_names=robot.joint_names, tool_frame="left_tip", base_frame="world")
    assert root.base_in_urdf.isIdentity()
    np.testing.assert_allclose(root.placement(q), robot.base_in_urdf * robot.placement(q), atol=1e-12)
    np.testing.assert_allclose(root.mass_matrix(q), robot.mass_matrix(q), atol=1e-12)


def test_gravity_stays_that_of_the_cell():
    q = np.array([0.7, -0.4])
    for side in MOUNTS:
        robot = arm(side)
        names, tip = robot.joint_names, f"{side}_tip"
        root = RobotModel.from_urdf(cell(), joint_names=names, tool_frame=tip, base_frame="world")
        np.testing.assert_allclose(robot.gravity(q), root.gravity(q), atol=1e-12)
        assert robot.tilted(robot.base_in_urdf.rotation) is robot
        for base in (robot, robot.tilted(pin.utils.rotate("x", 0.3)), robot):
            for inertia in ("M", "M+B_theta"):
                pull = base.variant(inertia)[0].gravity.linear
                np.testing.assert_array_equal(pull, base.model.gravity.linear)
        assert abs(robot.gravity(q)[0]) > 0.5


def test_a_base_that_moves_is_refused():
    with pytest.raises(InvalidInputError, match="base_frame: got left_upper, expected a link that no joint moves"):
        RobotModel.from_urdf(cell(), joint_names=("left_j1", "left_j2"), base_frame="left_upper")


def test_a_task_takes_the_bases_from_the_urdf(profile_file):
    arm = {"base_in_urdf": True, "posture": [0.0, 0.0]}
    arms = [arm | {"name": side, "robot": str(profile_file[side])} for side in MOUNTS]
    content = {"name": "cell", "goal": [0.5, 0.0, 0.1], "object": {}, "arms": arms}
    left, right = parse_task(content).arms
    np.testing.assert_allclose(left.base_position, [1.1, 2.3, 0.9], atol=1e-12)
    np.testing.assert_allclose(left.base_rpy, [0.4, 0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(right.base_rpy, [0.0, -0.3, 0.0], atol=1e-12)
    assert not left.base_in_urdf
    for place in ({"base_yaw": 0.3}, {"base_rpy": [0.0, 0.3, 0.0]}, {"base_position": [0.0, 0.0, 0.1]}):
        with pytest.raises(InvalidInputError, match="base_in_urdf: got True, expected no base_position, base_yaw"):
            parse_task(content | {"arms": [content["arms"][0] | place]})
    content["arms"][0]["base_in_urdf"] = "yes"
    with pytest.raises(InvalidInputError, match=r"arms\[0\].base_in_urdf: got 'yes', expected true or false"):
        parse_task(content)


def test_a_prefix_stands_before_the_names_and_changes_nothing_else():
    robot = RobotModel.from_profile("fr3")
    arm = robot.prefixed("left_")
    assert arm.joint_names[:2] == ("left_fr3_joint1", "left_fr3_joint2")
    assert arm.base_frame == "left_" + load_profile("fr3").base_frame
    assert robot.joint_names[0] == "fr3_joint1" and robot.prefixed("") is robot
    np.testing.assert_array_equal(arm.gravity(arm.home), robot.gravity(robot.home))
    assert arm.tilted(pin.utils.rotate("x", 0.3)).joint_names == arm.joint_names
