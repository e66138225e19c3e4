"""The KUKA LWR IV+ profile against the DH table it was written from (Aouaj thesis, Table A.1)."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel

D, L, N, R = 0.102 + 0.2085 + 0.020, 0.400, 0.390, 0.078
# theta offset, d, a, alpha per joint.
DH_TABLE = [
    (2 * np.pi / 3, D, 0.0, np.pi / 2),
    (0.0, 0.0, 0.0, -np.pi / 2),
    (0.0, L, 0.0, -np.pi / 2),
    (0.0, 0.0, 0.0, np.pi / 2),
    (0.0, N, 0.0, np.pi / 2),
    (0.0, 0.0, 0.0, -np.pi / 2),
    (0.0, R, 0.0, 0.0),
]


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("kuka_lwr4")


def configurations(robot, count):
    rng = np.random.default_rng(20240211)
    limits = robot.limits
    return rng.uniform(limits.position_lower, limits.position_upper, (count, robot.n))


def dh_transform(theta, d, a, alpha):
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array(
        [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0.0, sa, ca, d], [0.0, 0.0, 0.0, 1.0]]
    )


def test_flange_and_tool_follow_the_dh_table(robot):
    tip_in_flange = np.array([0.025, 0.0, 0.025 + 0.001, 1.0])
    for q in configurations(robot, 50):
        flange = np.eye(4)
        for angle, (offset, d, a, alpha) in zip(q, DH_TABLE, strict=True):
            flange = flange @ dh_transform(angle + offset, d, a, alpha)
        # 1e-12 m and 1e-12 in the rotation: rounding of about 20 products of numbers of order one.
        np.testing.assert_allclose(robot.placement(q, "link_7").homogeneous, flange, atol=1e-12)
        np.testing.assert_allclose(robot.placement(q).translation, (flange @ tip_in_flange)[:3], atol=1e-12)


def test_total_mass_is_the_sum_of_the_published_link_masses_and_the_probe(robot):
    published = [2.30339938771869, 2.30343543179071, 2.30342143971329, 2.30343586527606, 1.60059828363332,
                 1.49302436988808, 0.108688241139613]  # fmt: skip
    probe = robot.profile.tool
    # The base does not move, so Pinocchio lumps it into the universe.
    moving = pin.computeTotalMass(robot.model)
    assert moving == pytest.approx(sum(published) + probe.mass, rel=1e-12)
    assert moving + 1.21032454350876 == pytest.approx(14.14, abs=0.01)


def test_probe_is_a_steel_sphere(robot):
    probe = robot.profile.tool
    # The profile prints three and four digits.
    assert probe.mass == pytest.approx(7850 * 4 / 3 * np.pi * probe.radius**3, rel=1e-3)
    assert probe.inertia_diagonal[0] == pytest.approx(0.4 * probe.mass * probe.radius**2, rel=1e-3)


def test_mirrored_links_have_mirrored_inertia(robot):
    # Links 1 and 3 are the same part turned by pi about z: same moments; the figures agree to three digits.
    first, third = (robot.model.inertias[index] for index in (1, 3))
    turn = np.diag([-1.0, -1.0, 1.0])
    np.testing.assert_allclose(turn @ third.inertia @ turn, first.inertia, atol=1e-5)


def test_apparent_motor_inertia_is_a_fifth_of_the_motor_inertia(robot):
    np.testing.assert_allclose(robot.motor_inertia / robot.apparent_motor_inertia, 5.0, rtol=1e-12)
