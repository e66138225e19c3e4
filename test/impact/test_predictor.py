import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.figure import Figure

from impact_aware.contact import Contact, FreeObject, contact_jacobian, contact_point
from impact_aware.errors import InvalidInputError, NoSolutionError, UnknownNameError
from impact_aware.impact import IMPACT_MAPS, ImpactPredictor, predict
from impact_aware.robot import RobotModel

SEED = 2
CASES = 50
# Double precision through a 7 x 7 inverse whose condition is below 1e4.
EXACT = 1e-9


def draw(robot, number, *, obstacle=False):
    """Approaching random impacts: posture, velocity, contact and, when asked for, a moving object."""
    generator = np.random.default_rng([SEED, number])
    q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
    dq = generator.uniform(-1.0, 1.0, robot.n)
    thing = None
    if obstacle:
        root = generator.normal(size=(3, 3)) * 0.1
        thing = FreeObject(
            generator.uniform(0.3, 5.0),
            root @ root.T + 0.01 * np.eye(3),
            robot.placement(q).translation + generator.normal(size=3) * 0.2,
            generator.normal(size=6) * 0.2,
        )
    values = {
        "offset": generator.normal(size=3) * 0.05,
        "friction": generator.uniform(0.0, 0.8),
        "restitution": generator.uniform(0.0, 1.0),
        "radius": 0.03,
    }
    contact = Contact("tool", generator.normal(size=3), **values)
    point = contact_point(robot, q, contact)
    velocity = contact_jacobian(robot, q, contact) @ dq
    if thing is not None:
        velocity = velocity - thing.jacobian(point) @ thing.twist
    if contact.normal @ velocity > 0.0:
        contact = Contact("tool", -contact.normal, **values)
    return q, dq, contact, thing


def frictionless(contact):
    return Contact(
        contact.frame, contact.normal, contact.offset, restitution=contact.restitution, radius=contact.radius
    )


@pytest.mark.parametrize("method", list(IMPACT_MAPS))
def test_agrees_with_pinocchio_without_friction(robot, method):
    for number in range(CASES):
        q, dq, contact, _ = draw(robot, number)
        contact = frictionless(contact)
        normal_row = (contact.normal @ contact_jacobian(robot, q, contact))[None]
        expected = pin.impulseDynamics(
            robot.model, robot.model.createData(), q, dq, normal_row, contact.restitution, 0.0
        )
        result = predict(robot, q, dq, contact, method=method)
        np.testing.assert_allclose(result.velocity_after, expected, atol=EXACT, err_msg=f"{SEED=} {number=}")


@pytest.mark.parametrize("method", ["fixed-direction", "frictionless"])
@pytest.mark.parametrize("obstacle", [False, True])
def test_normal_velocity_follows_newtons_restitution(robot, method, obstacle):
    for number in range(CASES):
        q, dq, contact, thing = draw(robot, number, obstacle=obstacle)
        result = predict(robot, q, dq, contact, obstacle=thing, method=method)
        normal_row = contact.normal @ contact_jacobian(robot, q, contact)
        before, after = normal_row @ dq, normal_row @ result.velocity_after
        if thing is not None:
            along = contact.normal @ thing.jacobian(result.point)
            before, after = before - along @ result.object_twist_before, after - along @ result.object_twist_after
        assert before < 0.0
        assert after == pytest.approx(-contact.restitution * before, abs=EXACT), f"{SEED=} {number=}"
        assert contact.normal @ result.contact_velocity_before == pytest.approx(before, abs=EXACT)
        assert contact.normal @ result.contact_velocity_after == pytest.approx(after, abs=EXACT)


@pytest.mark.parametrize("method", list(IMPACT_MAPS))
@pytest.mark.parametrize("inertia", ["M", "M+B_theta", "M+B_rho"])
def test_momentum_balance_of_robot_and_object(robot, method, inertia):
    for number in range(CASES):
        q, dq, contact, thing = draw(robot, number, obstacle=True)
        result = predict(robot, q, dq, contact, obstacle=thing, method=method, inertia=inertia)
        momentum = robot.mass_matrix(q, inertia) @ result.jump
        np.testing.assert_allclose(
            momentum, contact_jacobian(robot, q, contact).T @ result.impulse, atol=EXACT, err_msg=f"{SEED=} {number=}"
        )
        change = result.object_twist_after - result.object_twist_before
        np.testing.assert_allclose(thing.mass * change[:3], -result.impulse, atol=EXACT)
        lever = result.point - thing.position
        np.testing.assert_allclose(thing.inertia @ change[3:], np.cross(lever, -result.impulse), atol=EXACT)


@pytest.mark.parametrize("method", list(IMPACT_MAPS))
def test_impulse_pushes_and_stays_in_the_friction_cone(robot, method):
    for number in range(CASES):
        q, dq, contact, thing = draw(robot, number, obstacle=number % 2 == 0)
        result = predict(robot, q, dq, contact, obstacle=thing, method=method)
        normal = contact.normal @ result.impulse
        tangential = np.linalg.norm(result.impulse - normal * contact.normal)
        assert normal > 0.0
        assert tangential <= contact.friction * normal * (1.0 + 1e-12) + 1e-15, f"{SEED=} {number=}"
        if result.mode == "stick":
            slip = result.contact_velocity_after - contact.normal * (contact.normal @ result.contact_velocity_after)
            assert np.linalg.norm(slip) < EXACT


@pytest.mark.parametrize("method", list(IMPACT_MAPS))
def test_energy_loss_is_what_the_kinetic_energies_say(robot, method):
    for number in range(CASES):
        q, dq, contact, thing = draw(robot, number, obstacle=True)
        result = predict(robot, q, dq, contact, obstacle=thing, method=method)
        mass = robot.mass_matrix(q)

        def energy(joints, twist, mass=mass, thing=thing):
            return 0.5 * (
                joints @ mass @ joints + thing.mass * twist[:3] @ twist[:3] + twist[3:] @ thing.inertia @ twist[3:]
            )

        lost = energy(dq, result.object_twist_before) - energy(result.velocity_after, result.object_twist_after)
        assert result.energy_loss == pytest.approx(lost, abs=EXACT), f"{SEED=} {number=}"


def test_a_heavy_object_is_a_fixed_surface_and_a_light_one_changes_nothing(robot):
    for number in range(10):
        q, dq, contact, _ = draw(robot, number)
        place, fixed = robot.placement(q).translation, predict(robot, q, dq, contact).velocity_after
        # 1e12 kg against some kg of arm: the jump differs by their ratio.
        rock = FreeObject(1e12, 1e12 * np.eye(3), place + [0.1, 0.2, 0.3])
        np.testing.assert_allclose(predict(robot, q, dq, contact, obstacle=rock).velocity_after, fixed, atol=1e-9)
        # A nanogram times a few m/s over the smallest joint inertia.
        crumb = FreeObject(1e-9, 1e-9 * np.eye(3), place)
        np.testing.assert_allclose(predict(robot, q, dq, contact, obstacle=crumb).velocity_after, dq, atol=1e-6)


def test_separating_velocity_is_left_alone(robot):
    for number in range(10):
        q, dq, contact, thing = draw(robot, number, obstacle=True)
        away = Contact("tool", -contact.normal, contact.offset, friction=0.5, radius=0.0, restitution=0.3)
        for method in IMPACT_MAPS:
            reached = contact_jacobian(robot, q, away) @ dq
            result = predict(robot, q, dq if away.normal @ reached > 0 else -dq, away, method=method)
            assert result.mode == "separate"
            np.testing.assert_array_equal(result.velocity_after, result.velocity_before)
            np.testing.assert_array_equal(result.impulse, np.zeros(3))
            assert result.energy_loss == 0.0


def test_each_inertia_by_hand_and_none_disturbs_another():
    # A slider of 2 kg with motors of 3 kg (B_theta) and 7 kg (B_rho) catches a ball of 4 kg that comes at 0.6 m/s.
    model = pin.Model()
    slider = model.addJoint(0, pin.JointModelPX(), pin.SE3.Identity(), "slider")
    model.appendBodyToJoint(slider, pin.Inertia(2.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("tool", slider, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    robot = RobotModel(
        model, name="slider", tool_frame="tool", apparent_motor_inertia=[3.0], motor_inertia=[7.0], home=[0.0]
    )
    contact = Contact("tool", (-1.0, 0.0, 0.0))
    ball = FreeObject(4.0, np.eye(3), np.zeros(3), [-0.6, 0.0, 0.0, 0.0, 0.0, 0.0])
    q, dq = np.zeros(1), np.array([0.3])
    masses = {"M": 2.0, "M+B_theta": 5.0, "M+B_rho": 9.0}
    predictors = {
        inertia: ImpactPredictor(robot, contact, obstacle=ball, inertia=inertia, method="frictionless")
        for inertia in masses
    }
    for _ in range(2):
        for inertia, mass in masses.items():
            common = (mass * 0.3 - 4.0 * 0.6) / (mass + 4.0)
            for result in (
                predictors[inertia](q, dq),
                predict(robot, q, dq, contact, obstacle=ball, inertia=inertia, method="frictionless"),
            ):
                assert result.velocity_after[0] == pytest.approx(common, rel=1e-12), inertia
                assert result.effective_mass == pytest.approx(mass, rel=1e-12)
                assert result.object_twist_after[0] == pytest.approx(common, rel=1e-12)
                np.testing.assert_allclose(result.impulse, [mass * (common - 0.3), 0.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(robot.model.armature, [3.0])
    # A second robot made of the same Pinocchio model has its own armature and leaves the first one's alone.
    other = RobotModel(robot.model, name="other", tool_frame="tool", apparent_motor_inertia=[11.0])
    np.testing.assert_array_equal(model.armature, [0.0])
    np.testing.assert_array_equal(robot.model.armature, [3.0])
    assert predict(other, q, dq, contact).effective_mass == pytest.approx(13.0, rel=1e-12)
    assert predict(robot, q, dq, contact).effective_mass == pytest.approx(5.0, rel=1e-12)


def test_threads_may_share_a_robot(robot):
    cases = [draw(robot, number)[:3] for number in range(40)]
    choices = ("M", "M+B_theta", "M+B_rho")
    expected = [[predict(robot, *case, inertia=inertia).velocity_after for inertia in choices] for case in cases]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(
                pool.map(
                    lambda case: [predict(robot, *case, inertia=inertia).velocity_after for inertia in choices],
                    [case for _ in range(5) for case in cases],
                )
            )
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(found, expected * 5)


def test_effective_and_reduced_mass(robot):
    for number in range(10):
        q, dq, contact, _ = draw(robot, number)
        row = contact.normal @ contact_jacobian(robot, q, contact)
        mass = 1.0 / (row @ np.linalg.solve(robot.mass_matrix(q), row))
        point = contact_point(robot, q, contact)
        # The contact pushes through the object's centre, so its mass alone counts.
        ball = FreeObject(2.2, 0.01 * np.eye(3), point - 0.1 * contact.normal)
        result = predict(robot, q, dq, contact, obstacle=ball)
        assert result.effective_mass == pytest.approx(mass, rel=1e-9)
        assert result.reduced_mass == pytest.approx(mass * 2.2 / (mass + 2.2), rel=1e-9)
        assert predict(robot, q, dq, contact).reduced_mass == pytest.approx(mass, rel=1e-9)


def test_predictor_answers_as_predict_does_at_any_state(robot):
    contact = Contact("tool", (0.2, 0.1, 1.0), friction=0.3, radius=robot.tool_radius)
    predictor = ImpactPredictor(robot, contact)
    for number in range(10):
        q, dq, _, _ = draw(robot, number)
        np.testing.assert_array_equal(predictor(q, dq).velocity_after, predict(robot, q, dq, contact).velocity_after)


@pytest.mark.parametrize("method", IMPACT_MAPS)
def test_an_object_so_far_away_that_numbers_overflow_is_refused(robot, method):
    far = FreeObject(1.0, np.eye(3), np.array([1e300, 0.0, 0.5]))
    contact = Contact(robot.tool_frame, np.array([0.0, 1.0, 0.0]), friction=0.3)
    q = np.array(robot.profile.home)
    dq = np.linalg.pinv(robot.frame_jacobian(q)) @ [0.0, -0.3, 0.0, 0.0, 0.0, 0.0]
    with np.errstate(all="ignore"), pytest.raises(NoSolutionError, match="not finite"):
        predict(robot, q, dq, contact, obstacle=far, method=method)


def test_refuses_bad_input(robot):
    contact = Contact("tool", (0, 0, 1))
    with pytest.raises(InvalidInputError, match="q: got 3 values, expected 7"):
        predict(robot, np.zeros(3), np.zeros(7), contact)
    with pytest.raises(InvalidInputError, match="dq: .*finite"):
        predict(robot, robot.home, np.full(7, np.nan), contact)
    with pytest.raises(UnknownNameError, match="frame"):
        predict(robot, robot.home, np.zeros(7), Contact("nose", (0, 0, 1)))
    with pytest.raises(UnknownNameError, match="method"):
        predict(robot, robot.home, np.zeros(7), contact, method="magic")
    with pytest.raises(UnknownNameError, match="inertia"):
        predict(robot, robot.home, np.zeros(7), contact, inertia="B")


def test_the_plot_has_both_velocities_of_every_joint(robot):
    contact = Contact("tool", np.array([0.0, 0.0, 1.0]), friction=0.3)
    jump = predict(robot, robot.home, [0.0, 0.18, 0.0, -0.42, 0.0, 0.6, 0.0], contact)
    before, after = jump.plot(Figure().add_subplot()).containers
    assert [bar.get_height() for bar in before] == list(jump.velocity_before)
    assert [bar.get_height() for bar in after] == list(jump.velocity_after)
    assert [bar.get_x() + 0.5 * bar.get_width() for bar in after] == pytest.approx(np.arange(1, 8) + 0.2)
