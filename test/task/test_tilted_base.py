"""A base that is tilted: gravity pulls otherwise, and everybody who needs it knows.

Angles have no symmetry, so that a sign, an order of rotations or a transposed matrix shows.
"""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import ControlSession, Mode
from impact_aware.control.arm import ControlledArm
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.episode import EpisodeSettings, run_episode
from impact_aware.robot import RobotModel
from impact_aware.simulation import MujocoPlant
from impact_aware.simulation.scene import ArmMount, Scene
from impact_aware.simulation.task_scene import task_scene
from impact_aware.task import base_placement, load_task
from impact_aware.task.arms import arms_of_task, base_numbers, base_poses, frame_names, robot_on_base, single_arm
from impact_aware.task.task import ArmTask
from impact_aware.task.task_file import parse_task

G = 9.81
RPY = (0.35, -0.25, 0.6)
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.4, 0.6])


def tilted_task(rpy=(0.2, -0.25, 0.1), position=(0.0, 0.12, -0.1)):
    """The hit with one start, on a base from where all of it can be reached."""
    task = load_task("hit_and_push")
    own = task.arms[0]
    arm = dataclasses.replace(own, base_rpy=rpy, base_position=position, null_space_joint=-1, starts=own.starts[:1])
    return dataclasses.replace(task, arms=(arm,), frame="world")


# The pose


def test_angles_are_roll_pitch_yaw_about_fixed_axes():
    """A quarter turn about x takes the base's y axis up, one about z then takes its x axis to y."""
    base = base_placement(ArmTask(base_position=(1.0, 2.0, 3.0), base_rpy=(np.pi / 2, 0.0, np.pi / 2)))
    np.testing.assert_allclose(base.act(np.array([0.0, 0.7, 0.0])), [1.0, 2.0, 3.7], atol=1e-15)
    np.testing.assert_allclose(base.act(np.array([0.5, 0.0, 0.0])), [1.0, 2.5, 3.0], atol=1e-15)
    np.testing.assert_allclose(base.act(np.array([0.0, 0.0, 0.2])), [1.2, 2.0, 3.0], atol=1e-15)


def test_a_yaw_is_the_same_as_those_angles_with_a_yaw_only():
    one, other = ArmTask(base_yaw=0.4), ArmTask(base_rpy=(0.0, 0.0, 0.4))
    assert base_placement(one) == base_placement(other)
    assert base_numbers(one) == base_numbers(other) == [0.0, 0.0, 0.0, 0.0, 0.0, 0.4]


def test_both_a_yaw_and_angles_are_refused():
    with pytest.raises(InvalidInputError, match=r"base_yaw: got 0.4, expected one of base_yaw and base_rpy, not both"):
        ArmTask(base_yaw=0.4, base_rpy=(0.1, 0.0, 0.0))
    content = {
        "name": "both",
        "goal": [0.5, -0.3, 0.1],
        "object": {},
        "arms": [{"base_yaw": 0.0, "base_rpy": [0.0, 0.0, 0.3]}],
    }
    with pytest.raises(InvalidInputError, match=r"arms\[0\].base_yaw: got 0.0, expected one of"):
        parse_task(content)


def test_four_six_and_seven_numbers_place_a_base():
    names = ["l", "r"]
    (left, right) = base_poses([1.0, 2.0, 3.0, *RPY, 0.1, 0.2, 0.3, 0.0, 0.0, -0.7], names)
    roll, pitch, yaw = np.diag(RPY)
    expected = pin.exp3(yaw) @ pin.exp3(pitch) @ pin.exp3(roll)
    np.testing.assert_allclose(left.rotation, expected, atol=1e-14)
    np.testing.assert_allclose(left.translation, [1.0, 2.0, 3.0])
    numbers = [x for pose in (left, right) for x in pin.SE3ToXYZQUAT(pose)]
    for again, pose in zip(base_poses(numbers, names), (left, right), strict=True):
        assert again.isApprox(pose, 1e-12)
    yawed = base_poses([1.0, 2.0, 3.0, 0.5, 0.1, 0.2, 0.3, -0.7], names)
    assert yawed[1].isApprox(right, 1e-12)
    np.testing.assert_allclose(yawed[0].rotation[:, 0], [np.cos(0.5), np.sin(0.5), 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0.0] * 5, "4 numbers: x, y, z and yaw, or 6 numbers: x, y, z, roll, pitch and yaw, or 7 numbers"),
        ([0.0, 0.0, 11.0, 0.0], "parameter bases: the arm: got .*, expected base_position of"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], "unit quaternion"),
        ([0.0, 0.0, 0.0, 9.0, 0.0, 0.0], "parameter bases: the arm: got .*, expected base_rpy of"),
    ],
)
def test_numbers_that_place_no_base_are_refused(numbers, words):
    with pytest.raises(InvalidInputError, match=words):
        single_arm("", "panda", numbers)


def test_the_frame_of_a_base_elsewhere_is_not_that_of_the_task():
    task = tilted_task()
    arms = arms_of_task(task, "panda")
    assert frame_names(task, arms) == ("world",)
    with pytest.raises(InvalidInputError, match="frame: got panda_link0, expected another name than that of the base"):
        frame_names(dataclasses.replace(task, frame="panda_link0"), arms)
    straight = load_task("hit_and_push")
    assert frame_names(straight, arms_of_task(straight, "panda")) == ("panda_link0", straight.frame)


# Gravity


def test_on_its_side_the_first_joint_carries_the_arm(robot):
    """Rolled by a quarter turn, the first axis is level: it carries the weight by the lever of the centre of mass."""
    arm = robot.tilted(base_placement(ArmTask(base_rpy=(np.pi / 2, 0.0, 0.0))).rotation)
    np.testing.assert_allclose(arm.model.gravity.linear, [0.0, -G, 0.0], atol=1e-14)
    masses = np.array([inertia.mass for inertia in list(robot.model.inertias)[1:]])
    pin.centerOfMass(robot.model, robot.data, Q)
    lever = np.array(robot.data.com[0])
    np.testing.assert_allclose(arm.gravity(Q)[0], masses.sum() * G * lever[0], rtol=1e-12)
    assert abs(robot.gravity(Q)[0]) < 1e-12 < abs(arm.gravity(Q)[0])


def test_upside_down_every_gravity_torque_is_reversed(robot):
    hanging = robot.tilted(base_placement(ArmTask(base_rpy=(np.pi, 0.0, 0.3))).rotation)
    np.testing.assert_allclose(hanging.gravity(Q), -robot.gravity(Q), atol=1e-12)
    np.testing.assert_allclose(hanging.mass_matrix(Q), robot.mass_matrix(Q), atol=0.0)
    np.testing.assert_allclose(hanging.tilted(np.eye(3)).gravity(Q), robot.gravity(Q), atol=1e-12)


def test_about_the_vertical_nothing_changes(robot):
    assert robot.tilted(base_placement(ArmTask(base_yaw=0.8)).rotation) is robot
    arm = robot.tilted(base_placement(ArmTask(base_rpy=RPY)).rotation)
    assert arm.tilted(base_placement(ArmTask(base_rpy=RPY)).rotation) is arm
    assert robot.model.gravity.linear[2] == -G
    for inertia in ("M", "M+B_theta"):
        np.testing.assert_array_equal(arm.variant(inertia)[0].gravity.linear, arm.model.gravity.linear)
        assert robot.variant(inertia)[0].gravity.linear[2] == -G


def test_angles_of_the_detector_give_the_same_gravity(robot):
    wanted = robot.tilted(base_placement(ArmTask(base_rpy=RPY)).rotation).gravity(Q)
    np.testing.assert_allclose(robot_on_base("panda", RPY).gravity(Q), wanted, atol=1e-12)
    np.testing.assert_allclose(robot_on_base("panda", []).gravity(Q), robot.gravity(Q), atol=1e-12)
    with pytest.raises(InvalidInputError, match="parameter base_rpy: got .0.1., expected roll, pitch and yaw"):
        robot_on_base("panda", [0.1])


def test_both_engines_agree_about_the_bias_of_a_tilted_arm(robot):
    base = ArmTask(base_rpy=RPY, base_position=(0.1, -0.2, 0.4))
    scene = Scene(arms=(ArmMount(rpy=RPY, position=base.base_position),))
    plant = MujocoPlant(scene, robot)
    dq = np.array([0.5, -0.4, 0.3, 0.2, -0.6, 0.7, 0.1])
    plant.reset(Q, dq0=dq)
    arm = robot.tilted(base_placement(base).rotation)
    assert np.abs(arm.gravity(Q) - robot.gravity(Q)).max() > 5.0
    np.testing.assert_allclose(plant._bias, arm.bias(Q, dq), atol=1e-6)
    tool = base_placement(base).act(robot.placement(Q))
    assert plant.tool_placement("arm").isApprox(tool, 1e-9)


def test_joint_space_stays_what_it_is_when_all_is_seen_from_the_base(robot):
    """The controller's arm in the common frame, and the same arm in base axes with gravity turned into them."""
    base = base_placement(ArmTask(base_rpy=RPY, base_position=(0.3, -0.2, 0.5)))
    own = robot.tilted(base.rotation)
    dq = np.linspace(-0.6, 0.7, 7)
    there, here = ControlledArm(own, base), ControlledArm(own)
    for arm in (there, here):
        arm.update(Q, dq)
    for name in ("mass_matrix", "bias", "gravity"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), atol=1e-10, err_msg=name)
    turn = np.kron(np.eye(2), base.rotation)
    for name in ("jacobian", "drift", "twist"):
        np.testing.assert_allclose(getattr(there, name), turn @ getattr(here, name), atol=1e-10, err_msg=name)


# In a loop


@pytest.mark.parametrize("added_by_the_arm", [False, True])
def test_a_tilted_arm_that_is_held_holds_still(added_by_the_arm):
    """In the plant, under the whole torque, or under what is sent to an arm that adds the gravity torque itself."""
    task = tilted_task(rpy=RPY, position=(0.1, -0.1, 0.4))
    (arm,) = arms_of_task(task, "panda")
    plant = MujocoPlant(task_scene(task), arm.robot)
    plant.reset(Q, object_placement=pin.SE3(np.eye(3), np.array([5.0, 0.0, 0.1])))
    sent = []
    session = ControlSession(
        RobotModel.from_profile("panda"), bases=[arm.base], send=lambda command: sent.append(command.copy())
    )
    session.activate()
    session.hold()
    for _ in range(200):
        reading = plant.reading
        command = session.cycle(reading.time, reading.q, reading.dq)
        plant.step(sent[-1] + arm.robot.gravity(reading.q) if added_by_the_arm else command.effort)
    assert command.mode is Mode.HOLD
    assert np.abs(command.effort - RobotModel.from_profile("panda").gravity(Q)).max() > 5.0
    assert np.abs(plant.state.q - Q).max() < 1e-5
    assert np.abs(plant.state.dq).max() < 1e-5


def test_a_hit_from_a_tilted_base_is_predicted_and_pushed_to_the_goal():
    """With the detector that needs to know gravity: what it does not know would look like a contact."""
    task = tilted_task()
    result = run_episode(task, EpisodeSettings(detector="momentum_observer"))
    assert result.safe_reason is None
    (truth,), ((_, event),) = result.impacts, result.events
    assert abs(event.time - truth.time) < 1e-3
    jump = np.linalg.norm(truth.velocity_after - truth.velocity_before)
    assert np.linalg.norm(result.predictions[0][1] - truth.velocity_after) < 0.05 * jump
    assert np.linalg.norm(result.object_position[-1] - task.goal) < 0.01
