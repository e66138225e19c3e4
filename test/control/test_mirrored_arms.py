"""Two arms, one the mirror image of the other, in mirrored states: the torques are mirrored in every mode."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from law_loop import LawLoop

from impact_aware.control import Mode
from impact_aware.reference.rotation import quaternion_from_rotation, rotation_from_quaternion
from impact_aware.robot import RobotModel
from impact_aware.task import base_placement, load_task, make_field, start_posture

SEED = 20261121
MIRROR = np.diag([1.0, -1.0, 1.0])


def mirrored_placement(placement):
    return pin.SE3(MIRROR @ placement.rotation @ MIRROR, MIRROR @ placement.translation)


def mirrored_robot(robot):
    """The arm seen in a mirror across y: every joint about its z axis turns the other way."""
    model = pin.Model(robot.model)
    for joint in range(1, model.njoints):
        assert model.joints[joint].shortname() == "JointModelRZ"
        model.jointPlacements[joint] = mirrored_placement(model.jointPlacements[joint])
        body = model.inertias[joint]
        model.inertias[joint] = pin.Inertia(body.mass, MIRROR @ body.lever, MIRROR @ body.inertia @ MIRROR)
    for frame in model.frames:
        frame.placement = mirrored_placement(frame.placement)
    lower, upper = model.lowerPositionLimit.copy(), model.upperPositionLimit.copy()
    model.lowerPositionLimit, model.upperPositionLimit = -upper, -lower
    return RobotModel(
        model,
        name="mirrored",
        tool_frame=robot.tool_frame,
        tool_radius=robot.tool_radius,
        apparent_motor_inertia=robot.apparent_motor_inertia,
        effort_rate=robot.limits.effort_rate,
        position_margin=robot.profile.position_margin,
        home=-robot.home,
    )


def mirrored_arm(own):
    def turned(quaternion):
        return quaternion_from_rotation(MIRROR @ rotation_from_quaternion(quaternion) @ MIRROR)

    return dataclasses.replace(
        own,
        arm="right",
        impact_position=MIRROR @ own.impact_position,
        impact_velocity=MIRROR @ own.impact_velocity,
        normal=MIRROR @ own.normal,
        orientation_before=turned(own.orientation_before),
        orientation_after=turned(own.orientation_after),
        null_space_position=-own.null_space_position,
        # A torque is an axial vector.
        feedforward_wrench=np.concatenate([MIRROR @ own.feedforward_wrench[:3], -MIRROR @ own.feedforward_wrench[3:]]),
    )


@pytest.fixture(scope="module")
def setup():
    robot = RobotModel.from_profile("panda")
    task = load_task("dual_arm_grab", {"goal": [0.55, 0.0, 0.55]})
    field = make_field(task, [robot, robot])
    field = dataclasses.replace(field, arms=(field.arms[0], mirrored_arm(field.arms[0])))
    left = base_placement(task.arms[0])
    controller = LawLoop([robot, mirrored_robot(robot)], field=field, bases=[left, mirrored_placement(left)])
    return controller, start_posture(task.arms[0], robot)


@pytest.mark.parametrize("mode", [Mode.ANTE, Mode.INTERIM, Mode.POST])
def test_mirrored_setups_give_mirrored_torques(setup, mode):
    controller, start = setup
    generator = np.random.default_rng(SEED)
    controller.reset()
    controller.start(0.0, np.concatenate([start, -start]), np.zeros(14))
    # An interim state half way through the blend, and a post-impact state after it.
    now = 1.0
    if mode is not Mode.ANTE:
        controller.notify_impact(now, now, [0.0, 0.0, 0.1])
        now += 0.05 if mode is Mode.INTERIM else 0.15
    apart = []
    for _ in range(20):
        q = start + generator.uniform(-0.05, 0.05, 7)
        dq = generator.uniform(-0.3, 0.3, 7)
        command = controller.update(now, np.concatenate([q, -q]), np.concatenate([dq, -dq]))
        assert command.mode is mode and command.reason is None
        # Two halves of one program, solved to 1e-8; torques of some 10 N m.
        np.testing.assert_allclose(command.effort[7:], -command.effort[:7], atol=1e-5, err_msg=f"seed {SEED}")
        mirrored = np.concatenate(
            [MIRROR @ command.target_acceleration[0, :3], -MIRROR @ command.target_acceleration[0, 3:]]
        )
        np.testing.assert_allclose(command.target_acceleration[1], mirrored, atol=1e-8, err_msg=f"seed {SEED}")
        apart.append(command.object_position - controller.arms[0].position)
    if mode is not Mode.ANTE:
        # The object moves with both tools: along x and z as far as each.
        np.testing.assert_allclose(np.ptp(apart, axis=0)[[0, 2]], 0.0, atol=1e-9)
