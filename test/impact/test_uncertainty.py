from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from sliders import slider

from impact_aware.contact import Contact, FreeObject, contact_point
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.impact import ImpactPredictor, predict
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.robot import RobotModel

SEED = 23


def impact(robot, friction=0.2, restitution=0.1, speed=(0.25, 0.1, -0.4)):
    q = robot.home + 0.1
    dq = np.linalg.pinv(robot.frame_jacobian(q)[:3]) @ np.array(speed)
    return q, dq, Contact("tool", (0.0, 0.0, 1.0), friction=friction, restitution=restitution, radius=0.03)


# What a calibrated arm knows about itself; twice as wide, the second order adds 3 % to a variance.
SPREAD = InputCovariance(
    position=np.full(7, 0.002**2),
    velocity=0.003**2,
    normal=0.002**2,
    point=0.001**2,
    friction=0.003**2,
    restitution=0.005**2,
    motor_inertia=np.full(7, 0.001**2),
    link_inertia=0.02**2,
)


def scaled(inertia, share):
    """An inertia of another density."""
    return pin.Inertia(share * inertia.mass, inertia.lever, share * inertia.inertia)


def other_links(robot, shares):
    """The arm with the density of each link times its share (7,)."""
    model = robot.model.copy()
    for joint, share in enumerate(shares, 1):
        model.inertias[joint] = scaled(model.inertias[joint], share)
    return RobotModel(model, name="drawn", tool_frame="tool", apparent_motor_inertia=robot.apparent_motor_inertia)


def sample(robot, q, dq, contact, count, generator):
    """Velocities after and impulses of `count` draws of `SPREAD`."""
    after, impulses, modes = np.empty((count, 7)), np.empty((count, 3)), set()
    drawn = other_links(robot, np.ones(7))
    for k in range(count):
        posture = q + generator.normal(size=7) * 0.002
        normal = contact.normal + generator.normal(size=3) * 0.002
        for joint, share in enumerate(1.0 + generator.normal(size=7) * 0.02, 1):
            drawn.model.inertias[joint] = scaled(robot.model.inertias[joint], share)
        drawn.model.armature = robot.apparent_motor_inertia + generator.normal(size=7) * 0.001
        place = replace(
            contact,
            normal=normal,
            friction=contact.friction + generator.normal() * 0.003,
            restitution=contact.restitution + generator.normal() * 0.005,
        )
        point = contact_point(drawn, posture, place) + generator.normal(size=3) * 0.001
        result = ImpactPredictor(drawn, replace(place, point=point))(posture, dq + generator.normal(size=7) * 0.003)
        after[k], impulses[k] = result.velocity_after, result.impulse
        modes.add(result.mode)
    return after, impulses, modes


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.1, 1.5])
def test_monte_carlo_agrees_in_the_smooth_regime(robot, friction):
    q, dq, contact = impact(robot, friction)
    first_order = predict_with_covariance(robot, q, dq, contact, SPREAD)
    assert not first_order.mode_may_change
    assert first_order.prediction.mode == ("slide" if friction < 1.0 else "stick")
    after, impulses, modes = sample(robot, q, dq, contact, 10_000, np.random.default_rng(SEED))
    assert modes == {first_order.prediction.mode}
    for drawn, predicted in (
        (after, first_order.velocity_after_covariance),
        (impulses, first_order.impulse_covariance),
    ):
        deviations = np.sqrt(np.diag(predicted))
        scale = np.outer(deviations, deviations) + 1e-18
        # 5 % is asked for; 10^4 draws know a variance to 1.4 %.
        assert np.abs((np.cov(drawn.T) - predicted) / scale).max() < 0.05, f"{SEED=}"


def test_each_input_reaches_the_answer_as_differences_say(robot):
    q, dq, contact = impact(robot)
    step = 1e-4

    def nearby(**changes):
        return predict(robot, q + changes.pop("q", 0.0), dq + changes.pop("dq", 0.0), replace(contact, **changes))

    point = contact_point(robot, q, contact)
    for name, size, change in (
        ("position", 7, lambda unit: {"q": unit}),
        ("velocity", 7, lambda unit: {"dq": unit}),
        ("point", 3, lambda unit: {"point": point + unit}),
        ("friction", 1, lambda unit: {"friction": contact.friction + unit[0]}),
        ("restitution", 1, lambda unit: {"restitution": contact.restitution + unit[0]}),
    ):
        for unit in np.eye(size):
            ahead, behind = nearby(**change(step * unit)), nearby(**change(-step * unit))
            slope = (ahead.velocity_after - behind.velocity_after) / (2.0 * step)
            result = predict_with_covariance(robot, q, dq, contact, InputCovariance(**{name: step**2 * np.diag(unit)}))
            found, expected = result.velocity_after_covariance / step**2, np.outer(slope, slope)
            # The map's integration error, 1e-6, over the step.
            np.testing.assert_allclose(found, expected, atol=0.02 * (1e-3 + np.abs(expected).max()), err_msg=name)


def test_links_reach_the_answer_one_by_one_and_all_together(robot):
    q, dq, contact = impact(robot)
    step, slopes = 1e-3, []
    box = FreeObject(2.2, 0.02 * np.eye(3), contact_point(robot, q, contact) - [0.02, 0.01, 0.1])
    for direction in (*np.eye(7), np.ones(7), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])):
        ahead, behind = (
            predict(other_links(robot, 1.0 + side * step * direction), q, dq, contact, obstacle=box).velocity_after
            for side in (1.0, -1.0)
        )
        slopes.append((ahead - behind) / (2.0 * step))
        known = InputCovariance(link_inertia=step**2 * np.outer(direction, direction))
        found = predict_with_covariance(robot, q, dq, contact, known, obstacle=box).velocity_after_covariance
        expected = np.outer(slopes[-1], slopes[-1])
        # The map's integration error, 1e-6, over the step; the arm's first link only turns about a fixed axis.
        np.testing.assert_allclose(found / step**2, expected, atol=0.02 * (1e-4 + np.abs(expected).max()))
    assert np.sort(np.abs(slopes).max(axis=1))[3:].min() > 0.01


def test_covariance_is_one_and_grows_with_the_inputs(robot):
    q, dq, contact = impact(robot)
    once = predict_with_covariance(robot, q, dq, contact, SPREAD)
    for matrix in (once.velocity_after_covariance, once.impulse_covariance):
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        assert np.linalg.eigvalsh(matrix).min() > -1e-12
    nothing = predict_with_covariance(robot, q, dq, contact, InputCovariance())
    np.testing.assert_array_equal(nothing.velocity_after_covariance, np.zeros((7, 7)))
    assert not nothing.mode_may_change


def test_motion_along_the_normal_is_known_after_an_inelastic_impact(robot):
    q, dq, contact = impact(robot, restitution=0.0)
    result = predict_with_covariance(robot, q, dq, contact, InputCovariance(velocity=0.01**2))
    row = contact.normal @ robot.frame_jacobian(q)[:3]
    lever = np.cross(contact_point(robot, q, contact) - robot.placement(q).translation, contact.normal)
    row = row + lever @ robot.frame_jacobian(q)[3:]
    assert row @ result.velocity_after_covariance @ row < 1e-10


def test_flags_a_mode_at_the_edge(robot):
    q, dq, contact = impact(robot, friction=0.2)
    edge = next(
        mu for mu in np.linspace(0.1, 2.0, 400)
        if predict(robot, q, dq, replace(contact, friction=mu)).mode == "stick"
    )  # fmt: skip
    assert predict_with_covariance(robot, q, dq, replace(contact, friction=edge), SPREAD).mode_may_change


def test_a_spread_comes_where_lapack_does_not_converge(monkeypatch, robot):
    """The mode may change, as nobody knows where it does not, and the spread is that of first order."""
    q, dq, contact = impact(robot)
    usual = predict_with_covariance(robot, q, dq, contact, SPREAD)

    def fails(*args, **kwargs):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    first_order = predict_with_covariance(robot, q, dq, contact, SPREAD)
    assert first_order.mode_may_change and not usual.mode_may_change
    np.testing.assert_array_equal(first_order.velocity_after_covariance, usual.velocity_after_covariance)


def test_object_and_separation(robot):
    q, dq, contact = impact(robot)
    box = FreeObject(2.2, 0.02 * np.eye(3), contact_point(robot, q, contact) - [0.0, 0.0, 0.1])
    free = predict_with_covariance(robot, q, dq, contact, SPREAD, obstacle=box)
    assert np.diag(free.velocity_after_covariance).min() > 0.0
    apart = predict_with_covariance(robot, q, -dq, contact, SPREAD)
    assert apart.prediction.mode == "separate" and not apart.mode_may_change
    np.testing.assert_array_equal(apart.velocity_after_covariance, 0.003**2 * np.eye(7))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("velocity", np.triu(np.ones((7, 7))), "symmetric"),
        ("velocity", -np.eye(7), "semidefinite"),
        ("velocity", np.ones(3), "7 variances"),
        ("normal", np.full(3, np.nan), "finite"),
        ("friction", -0.1, "semidefinite"),
        ("point", "wide", "numbers"),
        ("friction", "1_0", "numbers"),
        ("friction", True, "numbers"),
        ("velocity", 1e300, "1e.12 at most"),
    ],
)
def test_refuses_what_is_no_covariance(robot, field, value, expected):
    q, dq, contact = impact(robot)
    with pytest.raises(InvalidInputError, match=f"covariance of {field}: .*{expected}"):
        predict_with_covariance(robot, q, dq, contact, InputCovariance(**{field: value}))


def test_each_input_alone_on_a_slider_by_hand():
    # A slider of 2 kg with a motor of 3 kg, stopped with restitution 0.25 at -0.4 m/s: v+ = -0.25 v, p = -1.25 m v.
    arm, contact = slider(), Contact("tool", (0.0, 0.0, 1.0), restitution=0.25)

    def spread(**given_):
        found = predict_with_covariance(
            arm, [0.0], [-0.4], contact, InputCovariance(**given_), method="frictionless"
        )
        return found.velocity_after_covariance[0, 0], found.impulse_covariance[2, 2]

    sigma = 0.01
    np.testing.assert_allclose(spread(velocity=sigma**2), [(0.25 * sigma) ** 2, (1.25 * 5.0 * sigma) ** 2], rtol=1e-6)
    np.testing.assert_allclose(spread(restitution=sigma**2), [(0.4 * sigma) ** 2, (5.0 * 0.4 * sigma) ** 2], rtol=1e-6)
    np.testing.assert_allclose(spread(motor_inertia=sigma**2), [0.0, (1.25 * 0.4 * sigma) ** 2], rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(spread(link_inertia=sigma**2), [0.0, sigma**2], rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(spread(position=sigma**2, friction=sigma**2), 0.0, atol=1e-12)


@pytest.mark.parametrize(("deviation", "changes"), [(0.9e-3, False), (1.1e-3, True)])
def test_a_contact_that_leaves_may_approach_within_three_deviations(robot, deviation, changes):
    q = robot.home + 0.1
    contact = Contact("tool", (0.0, 0.0, 1.0))
    row = robot.frame_jacobian(q)[2]
    dq = row / (row @ row) * 3e-3
    # The normal velocity of 3 mm/s has a deviation of |row| times that of the joints.
    spread = InputCovariance(velocity=(deviation / np.linalg.norm(row)) ** 2)
    assert predict_with_covariance(robot, q, dq, contact, spread).mode_may_change is changes


@pytest.mark.parametrize("far", [1e80, 1e150, 1e300])
@pytest.mark.parametrize("method", ["coulomb", "coulomb-newton", "fixed-direction"])
def test_an_object_beyond_every_number_is_answered_with_a_reason(far, method):
    """Positions come from other nodes: what they say may be absurd, and must end nothing."""
    robot = RobotModel.from_profile("panda")
    dq = np.linalg.pinv(robot.frame_jacobian(robot.home)[:3]) @ [0.1, 0.0, -0.4]
    contact = Contact(robot.tool_frame, np.array([0.0, 0.0, 1.0]), friction=0.3, restitution=0.2, radius=0.02)
    box = FreeObject(1.3, 0.01 * np.eye(3), np.array([far, 0.2, far]))
    errors = InputCovariance(velocity=1e-4 * np.eye(7), normal=1e-3 * np.eye(3), friction=1e-2)
    for way in (predict, lambda *of, **how: predict_with_covariance(*of, errors, **how)):
        try:
            way(robot, robot.home, dq, contact, obstacle=box, method=method)
        except NoSolutionError as error:
            assert str(error).isprintable()


@pytest.mark.parametrize(
    "name",
    ["position", "velocity", "normal", "point", "friction", "restitution", "motor_inertia", "link_inertia"],
)
def test_what_is_certain_costs_nothing_and_changes_nothing(name):
    """One uncertain input alone, and the same beside all others with next to no variance."""
    robot = RobotModel.from_profile("panda")
    dq = np.linalg.pinv(robot.frame_jacobian(robot.home)) @ np.array([0.2, 0.1, -0.4, 0.0, 0.0, 0.0])
    contact = Contact("tool", np.array([0.1, 0.0, 1.0]), friction=0.2, restitution=0.3, radius=robot.tool_radius)
    least = dict.fromkeys(InputCovariance.__dataclass_fields__, 1e-30)
    alone, beside = (
        predict_with_covariance(robot, robot.home, dq, contact, InputCovariance(**given))
        for given in ({name: 1e-6}, least | {name: 1e-6})
    )
    assert alone.velocity_after_covariance.max() > 0.0
    np.testing.assert_allclose(alone.velocity_after_covariance, beside.velocity_after_covariance, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(alone.impulse_covariance, beside.impulse_covariance, rtol=1e-9, atol=1e-18)
