import mujoco
import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, profile_names
from impact_aware.simulation.mujoco_model import add_arm, compile_spec, new_spec

# Both engines run the same algebra in double precision; 1e-9 leaves room for a few hundred roundings of N m figures.
TOLERANCE = 1e-9
SEED = 7


def compile_arm(robot):
    """The arm alone, without anything to touch."""
    spec = new_spec(robot)
    names = add_arm(spec, robot)
    return compile_spec(spec), names


@pytest.fixture(scope="module", params=profile_names())
def arm(request):
    robot = RobotModel.from_profile(request.param)
    if robot.tool_radius == 0.0:
        pytest.skip(f"{robot.name} has no tool")
    model, names = compile_arm(robot)
    return robot, model, names


def random_states(robot):
    generator = np.random.default_rng(SEED)
    for _ in range(20):
        q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
        yield q, generator.uniform(-robot.limits.velocity, robot.limits.velocity)


def test_joint_order_is_the_robots(arm):
    robot, model, names = arm
    assert names.joints == robot.joint_names
    assert [model.joint(name).qposadr[0] for name in names.joints] == list(range(robot.n))


def test_position_limits_are_the_urdfs(arm):
    robot, model, names = arm
    ranges = np.array([model.joint(name).range for name in names.joints])
    np.testing.assert_array_equal(ranges[:, 0], robot.model.lowerPositionLimit)
    np.testing.assert_array_equal(ranges[:, 1], robot.model.upperPositionLimit)


def test_mass_matrix_with_motor_inertia_agrees(arm):
    robot, model, _ = arm
    data = mujoco.MjData(model)
    for q, _ in random_states(robot):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        mass = np.zeros((robot.n, robot.n))
        mujoco.mj_fullM(model, data, mass)
        np.testing.assert_allclose(mass, robot.mass_matrix(q), atol=TOLERANCE)


def test_tool_pose_and_jacobian_agree(arm):
    robot, model, names = arm
    data = mujoco.MjData(model)
    geom = model.geom(names.tool_geom).id
    for q, _ in random_states(robot):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        placement = robot.placement(q)
        np.testing.assert_allclose(data.geom_xpos[geom], placement.translation, atol=TOLERANCE)
        np.testing.assert_allclose(data.geom_xmat[geom].reshape(3, 3), placement.rotation, atol=TOLERANCE)
        jacobian = np.zeros((6, robot.n))
        mujoco.mj_jacGeom(model, data, jacobian[:3], jacobian[3:], geom)
        np.testing.assert_allclose(jacobian, robot.frame_jacobian(q), atol=TOLERANCE)


def test_forward_dynamics_agree(arm):
    robot, model, _ = arm
    data = mujoco.MjData(model)
    generator = np.random.default_rng(SEED)
    for q, dq in random_states(robot):
        torque = generator.uniform(-10.0, 10.0, robot.n)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, dq, torque
        mujoco.mj_forward(model, data)
        # Accelerations are torques over inertias as small as 0.04 kg m^2, hence relative.
        np.testing.assert_allclose(
            data.qacc_smooth, pin.aba(robot.model, robot.data, q, dq, torque), rtol=1e-8, atol=1e-8
        )


def test_two_arms_in_one_spec_keep_their_own_names_and_bases():
    robot = RobotModel.from_profile("panda")
    spec = new_spec(robot)
    bases = {
        "left/": pin.SE3(np.eye(3), np.array([0.0, 0.5, 0.0])),
        "right/": pin.SE3(pin.utils.rotate("z", np.pi), np.array([1.0, 0.0, 0.1])),
    }
    names = {prefix: add_arm(spec, robot, prefix=prefix, base=base) for prefix, base in bases.items()}
    model = compile_spec(spec)
    data = mujoco.MjData(model)
    for prefix in bases:
        for name, value in zip(names[prefix].joints, robot.home, strict=True):
            data.joint(name).qpos[0] = value
    mujoco.mj_forward(model, data)
    for prefix, base in bases.items():
        expected = base.act(robot.placement(robot.home))
        np.testing.assert_allclose(data.geom(names[prefix].tool_geom).xpos, expected.translation, atol=TOLERANCE)


def test_inertia_that_no_body_can_have_is_refused():
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 5.0])), pin.SE3.Identity())
    model.addFrame(pin.Frame("tip", joint, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    robot = RobotModel(model, name="odd", tool_frame="tip", tool_radius=0.01)
    with pytest.raises(InvalidInputError, match="MuJoCo"):
        compile_arm(robot)


def test_tip_without_radius_is_refused():
    robot = RobotModel.from_profile("panda")
    bare = RobotModel(robot.model, name="bare", tool_frame=robot.tool_frame, tool_radius=0.0)
    with pytest.raises(InvalidInputError, match="tool radius"):
        compile_arm(bare)
