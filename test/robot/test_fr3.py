"""The profiles of the Franka Research 3 against what its manufacturer publishes elsewhere, and against the Panda's."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits

# libfranka 0.21.2, test/fr3.urdf: the arm's own limits, and how its velocity limit falls towards the position limits.
OWN_LOWER = np.array([-2.7501, -1.7918, -2.9065, -3.0481, -2.8101, 0.54092, -3.0196])
OWN_UPPER = np.array([2.7501, 1.7918, 2.9065, -0.1458, 2.8101, 4.5205, 3.0196])
OWN_DECELERATION = np.array([6.0, 2.585, 3.5, 4.0, 17.0, 5.5, 17.0])
OWN_OFFSET = np.array([0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35])
OWN_VELOCITY = np.array([2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26])

# franka_description 1.0.1, inertials.yaml of robots/fr3 and robots/fr3v2: links 1 to 7, kg.
MASSES = {
    "fr3": [2.9274653454, 2.9355370338, 2.2449013699, 2.6155955791, 2.3271207594, 1.8170376524, 0.6271432862],
    "fr3v2": [2.4377, 2.2375, 2.185794, 2.175867, 2.174817, 1.567617, 0.682876],
}

# The same files' centres of mass of link 4, in its own frame, m.
CENTRES = {
    "fr3": [-0.0459100965, 0.0630492960, -0.0085187868],
    "fr3v2": [-0.068745, 0.092947, 0.011195],
}


@pytest.fixture(scope="module", params=["fr3", "fr3v2"])
def robot(request):
    return RobotModel.from_profile(request.param)


def configurations(robot, count):
    rng = np.random.default_rng(20241121)
    return rng.uniform(robot.limits.position_lower, robot.limits.position_upper, (count, robot.n))


def test_joints_have_the_names_that_the_driver_publishes(robot):
    name = robot.profile.name
    assert robot.joint_names == tuple(f"{name}_joint{number}" for number in range(1, 8))
    assert robot.base_frame == f"{name}_link0"


def test_tip_and_flange_are_where_the_pandas_are(robot):
    """The manufacturer gives both arms the same kinematics; the two URDFs have different authors."""
    panda = RobotModel.from_profile("panda")
    for q in configurations(robot, 50):
        for frame in ("link8", "hand_tcp"):
            ours = robot.placement(q, f"{robot.profile.name}_{frame}").homogeneous
            # Rounding of about 20 products of numbers of order one.
            np.testing.assert_allclose(ours, panda.placement(q, f"panda_{frame}").homogeneous, atol=1e-12)
        np.testing.assert_allclose(robot.placement(q).homogeneous, panda.placement(q).homogeneous, atol=1e-12)


def test_moving_mass_is_the_sum_of_the_published_links_hand_and_tool(robot):
    links = MASSES[robot.profile.name]
    hand, finger = 0.6544, 0.0291
    expected = sum(links) + hand + 2 * finger + robot.profile.tool.mass
    assert pin.computeTotalMass(robot.model) == pytest.approx(expected, rel=1e-12)


def test_the_forearm_is_the_published_one(robot):
    own = robot.model.inertias[robot.model.getJointId(f"{robot.profile.name}_joint4")]
    np.testing.assert_allclose(own.lever, CENTRES[robot.profile.name], atol=1e-9)
    if robot.profile.name == "fr3v2":
        np.testing.assert_allclose(np.diag(own.inertia), [0.008878, 0.007628, 0.010295], rtol=1e-12)
        np.testing.assert_allclose(own.inertia[[0, 0, 1], [1, 2, 2]], [-0.003749, 0.001139, -0.00046], rtol=1e-12)


def test_limits_lie_within_those_that_the_arm_itself_keeps(robot):
    limits = SafetyLimits.of(robot)
    assert np.all(limits.position_lower >= OWN_LOWER)
    assert np.all(limits.position_upper <= OWN_UPPER)
    np.testing.assert_array_equal(robot.limits.velocity, OWN_VELOCITY)
    np.testing.assert_array_equal(robot.limits.effort, [87.0] * 4 + [12.0] * 3)
    np.testing.assert_array_equal(robot.limits.effort_rate, 1000.0)


def test_the_envelopes_braking_bound_is_the_arms_own_without_its_offset(robot):
    """The envelope lets no joint be faster than sqrt(2 a d); the arm itself takes an offset from that."""
    limits = SafetyLimits.of(robot)
    np.testing.assert_array_equal(limits.braking_deceleration, OWN_DECELERATION)
    for q in configurations(robot, 200):
        for way, own_way in (
            (limits.position_upper - q, OWN_UPPER - q),
            (q - limits.position_lower, q - OWN_LOWER),
        ):
            ours = np.sqrt(2.0 * limits.braking_deceleration * way)
            own = np.sqrt(2.0 * OWN_DECELERATION * own_way) - OWN_OFFSET
            assert np.all(ours <= own + OWN_OFFSET)
