"""What torques behind the gears leave of a motion: nothing without a contact, its impulses and forces with one."""

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.estimation.explained_motion import explain_motion, momentum_mixing
from impact_aware.robot import RobotModel

TIMES = 2.0 + 5e-3 * np.arange(21)
TURNS = 2.0 * np.pi * np.array([17.0, 23.0, 21.0, 26.0, 31.0, 29.0, 24.0])
SWINGS = np.array([0.3, -0.2, 0.25, 0.4, -0.5, 0.6, 0.35])
WRENCH = np.array([7.0, -4.0, 12.0, 0.6, 0.3, 0.5])
BEGIN = 2.046
QUIET = np.full(7, 1e-3)


def motion(robot: RobotModel) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (k, n) of joints that move and ring."""
    since = (TIMES - TIMES[0])[:, None]
    slow = np.array([0.4, -0.3, 0.2, 0.5, -0.6, 0.3, 0.7])
    q = robot.home + slow * since + SWINGS * np.sin(TURNS * since) / TURNS
    return q, slow + SWINGS * np.cos(TURNS * since), -SWINGS * TURNS * np.sin(TURNS * since)


def torques(robot: RobotModel, inertia: str = "M") -> Array:
    model, data = robot.variant(inertia)
    return np.array([pin.rnea(model, data, *row).copy() for row in zip(*motion(robot), strict=True)])


def curvature(values: Array) -> Array:
    return np.asarray(np.diff(values, 2, axis=0) / 5e-3**2)


def test_torques_explain_a_motion_whose_joints_ring(robot: RobotModel) -> None:
    q = motion(robot)[0]
    left = explain_motion(robot, TIMES, q, torques(robot), QUIET)[0]
    raw = curvature(q @ momentum_mixing(robot, q).T)
    # Splines through five samples a period know the acceleration to some percent.
    assert np.abs(raw).max(axis=0).min() > 10.0
    assert (np.abs(curvature(left))[3:-3].max(axis=0) < 0.06 * np.abs(raw).max(axis=0)).all()
    # The motors' inertia is none of the links'.
    motors = explain_motion(robot, TIMES, q, torques(robot, "M+B_theta"), QUIET)[0]
    assert np.abs(curvature(motors)).max() > 0.2 * np.abs(raw).max()


def test_what_speed_does_is_explained(robot: RobotModel) -> None:
    """Joints that turn at up to 2 rad/s, without an acceleration: what torques they need for that is h(q, dq)."""
    dq = np.array([1.5, -0.9, 1.2, 1.4, -2.0, 1.1, 1.7])
    q = robot.home + dq * (TIMES - TIMES[0])[:, None]
    model, data = robot.variant("M")
    needed = np.array([pin.rnea(model, data, row, dq, np.zeros(7)).copy() for row in q])
    left = curvature(explain_motion(robot, TIMES, q, needed, QUIET)[0])
    weight = np.array([robot.gravity(row) for row in q])
    assert np.abs(left).max() < 1e-3
    assert np.abs(curvature(explain_motion(robot, TIMES, q, weight, QUIET)[0])).max() > 3.0


def test_a_contact_force_is_left_as_what_it_does_to_each_component(robot: RobotModel) -> None:
    """The arm moves by the force; its torques are those of the same motion without it."""
    q, dq, ddq = motion(robot)
    pushed = TIMES >= BEGIN
    model, data = robot.variant("M")
    wrench = np.array([robot.frame_jacobian(row).T @ WRENCH for row in q]) * pushed[:, None]
    measured = np.array([pin.rnea(model, data, *row).copy() for row in zip(q, dq, ddq, strict=True)]) - wrench
    bent = curvature(explain_motion(robot, TIMES, q, measured, QUIET)[0])
    bent -= curvature(explain_motion(robot, TIMES, q, torques(robot), QUIET)[0])
    inertia = np.diag(robot.mass_matrix(q[10], "M"))
    late = TIMES[1:-1] > BEGIN + 0.012
    early = TIMES[1:-1] < BEGIN - 0.018
    expected = wrench[1:-1] / inertia
    assert np.abs(expected[late]).max() > 20.0
    scale = np.abs(expected[late]).max(axis=0)
    assert (np.abs(bent - expected)[late] < 0.13 * scale + 0.1).all()
    assert (np.abs(bent)[early] < 0.05 * scale + 0.05).all()


def test_gravity_that_is_left_out_of_the_torques_bends_nothing_quickly(robot: RobotModel) -> None:
    """As of drivers that compensate it: what is left is a slow acceleration, without a kink."""
    q = motion(robot)[0]
    weight = np.array([robot.gravity(row) for row in q])
    assert np.abs(weight).max() > 10.0
    with_it = curvature(explain_motion(robot, TIMES, q, torques(robot), QUIET)[0])
    without = curvature(explain_motion(robot, TIMES, q, torques(robot) - weight, QUIET)[0])
    slow = without - with_it
    steps = np.abs(np.diff(slow, axis=0)).max(axis=0)
    assert np.abs(slow).max() > 10.0 and (steps < 0.12 * np.abs(slow).max(axis=0) + 0.3).all()


def test_the_noise_of_a_torque_pushes_its_own_component(robot: RobotModel) -> None:
    q = motion(robot)[0]
    noise = np.array([0.3, 0.2, 0.1, 0.4, 0.05, 0.15, 0.25])
    pushes = explain_motion(robot, TIMES, q, torques(robot), noise)[1]
    inertia = np.diag(robot.mass_matrix(q[10], "M"))
    np.testing.assert_allclose(pushes, 5e-3 * (noise / inertia) ** 2, rtol=1e-9)
    # A velocity of that density's square root after a second, seen in what random torques do in 0.1 s.
    rng = np.random.default_rng(4)
    ends = []
    for _ in range(60):
        random = torques(robot) + noise * rng.standard_normal((len(TIMES), 7))
        off = explain_motion(robot, TIMES, q, random, noise)[0]
        off -= explain_motion(robot, TIMES, q, torques(robot), noise)[0]
        ends.append((off[-1] - off[-2]) / 5e-3)
    # Of 60 draws a standard deviation is good to a tenth.
    np.testing.assert_allclose(np.std(ends, axis=0) / np.sqrt(0.1 * pushes), 1.0, atol=0.35)
