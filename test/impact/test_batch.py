from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact, FreeObject, contact_jacobian, contact_point
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact import IMPACT_MAPS, ImpactPrediction, ImpactPredictor
from impact_aware.impact.batch import predict_batch
from impact_aware.impact.contact_space import ContactSpaceBuilder
from impact_aware.robot import RobotModel, profile_names

SEED = 5
INERTIA = np.array([[0.02, 0.003, -0.002], [0.003, 0.03, 0.001], [-0.002, 0.001, 0.01]])


def _placement(generator):
    return pin.exp6(generator.normal(size=6))


@pytest.fixture(scope="module", params=["panda", "kuka_lwr4", "mixed"])
def robot(request):
    if request.param != "mixed":
        return RobotModel.from_profile(request.param)
    # Joints about and along unlike axes, among them one that slides.
    model = pin.Model()
    joints = [pin.JointModelRevoluteUnaligned(1.0, 2.0, 3.0), pin.JointModelPY(), pin.JointModelRX()]
    generator = np.random.default_rng(SEED)
    for number, joint in enumerate(joints):
        index = model.addJoint(number, joint, _placement(generator), f"joint{number}")
        model.appendBodyToJoint(
            index,
            pin.Inertia(1.0 + number, generator.normal(size=3) * 0.1, np.diag([3.0, 4.0, 5.0])),
            pin.SE3.Identity(),
        )
    model.addFrame(pin.Frame("tool", 3, 0, _placement(generator), pin.FrameType.OP_FRAME))
    model.lowerPositionLimit, model.upperPositionLimit = np.full(3, -1.0), np.full(3, 1.0)
    return RobotModel(model, name="mixed", tool_frame="tool", apparent_motor_inertia=[0.1, 0.2, 0.3])


def by_pinocchio(robot, contact, obstacle=None, method="coulomb", inertia="M+B_theta"):
    """A predictor by Pinocchio's kinematics and dynamics, and the map alone."""
    build = ContactSpaceBuilder(robot, contact, obstacle, inertia)

    def predicted(q, dq):
        space = build(q, dq)
        problem = space.delassus.tolist(), space.velocity.tolist(), contact.friction, contact.restitution
        impulse = IMPACT_MAPS[method](*problem)
        after = dq + space.response @ np.array(impulse[:3])
        return ImpactPrediction(dq, after, impulse, space, contact, obstacle, method, inertia)

    return predicted


def draw(robot, count):
    generator = np.random.default_rng(SEED)
    q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper, (count, robot.n))
    return q, generator.uniform(-1.0, 1.0, (count, robot.n))


@pytest.mark.parametrize("inertia", ["M", "M+B_theta"])
@pytest.mark.parametrize("touched", ["wall", "object", "given point"])
def test_the_contact_problem_is_pinocchios(robot, inertia, touched):
    q, dq = draw(robot, 10)
    for frame in (robot.tool_frame, robot.model.frames[-2].name):
        contact = Contact(frame, (0.3, -0.2, 1.0), offset=(0.02, 0.01, 0.05), friction=0.3, radius=0.03)
        box = (
            FreeObject(2.2, INERTIA, (0.3, 0.5, -0.2), [0.1, 0.0, 0.2, 0.0, -0.3, 0.1]) if touched == "object" else None
        )
        if touched == "given point":
            contact = replace(contact, point=(0.3, -0.4, 0.5))
        fast = ImpactPredictor(robot, contact, obstacle=box, inertia=inertia)
        slow = by_pinocchio(robot, contact, box, inertia=inertia)
        for k in range(len(q)):
            got, expected = fast(q[k], dq[k]), slow(q[k], dq[k])
            # Rounding of two orders of the same sums.
            for name, tolerance in (("jacobian", 1e-12), ("answers", 1e-10), ("problem", 1e-10), ("point", 1e-12)):
                one, other = getattr(got.space, name), getattr(expected.space, name)
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=name)
            assert got.mode == expected.mode
            scale = np.abs(dq[k]).max()
            np.testing.assert_allclose(got.velocity_after, expected.velocity_after, atol=1e-9 * scale)
            np.testing.assert_allclose(got.impulse, expected.impulse, atol=1e-9 * np.abs(expected.impulse).max())


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_is_predicted_by_compiled_code_as_by_pinocchio(name):
    robot = RobotModel.from_profile(name)
    q, dq = draw(robot, 20)
    contact = Contact(robot.tool_frame, (0.3, -0.2, 1.0), friction=0.3, restitution=0.2, radius=robot.tool_radius)
    batch = predict_batch(robot, q, dq, contact)
    for k in range(len(q)):
        expected = by_pinocchio(robot, contact)(q[k], dq[k])
        scale = 1e-9 * np.abs(dq[k]).max()
        np.testing.assert_allclose(
            batch.velocity_after[k], expected.velocity_after, atol=scale, err_msg=f"{SEED=} {k=}"
        )


def other_robot(kind):
    """An arm whose second joint is a screw, or whose last link hangs on the first beside the second."""
    model = pin.Model()
    screw = pin.JointModelHelicalUnaligned(np.array([0.0, 0.6, 0.8]), 0.05) if kind == "screw" else pin.JointModelRY()
    for number, (parent, joint) in enumerate(
        ((0, pin.JointModelRX()), (1, screw), (1 if kind == "branch" else 2, pin.JointModelRZ()))
    ):
        index = model.addJoint(parent, joint, _placement(np.random.default_rng(number)), f"joint{number}")
        model.appendBodyToJoint(
            index, pin.Inertia(1.5, np.array([0.1, 0.2, -0.1]), np.diag([3.0, 4.0, 5.0])), pin.SE3.Identity()
        )
    model.addFrame(pin.Frame("tool", 3, 0, _placement(np.random.default_rng(9)), pin.FrameType.OP_FRAME))
    model.lowerPositionLimit, model.upperPositionLimit = np.full(3, -1.0), np.full(3, 1.0)
    return RobotModel(model, name=kind, tool_frame="tool")


@pytest.mark.parametrize("kind", ["screw", "branch"])
def test_what_is_no_serial_arm_of_simple_joints_is_left_to_pinocchio(kind):
    robot = other_robot(kind)
    q, dq = np.array([0.3, -0.4, 0.5]), np.array([0.2, 0.7, -0.6])
    contact = Contact("tool", (0.3, -0.2, 1.0), friction=0.3)
    jacobian = contact.axes @ contact_jacobian(robot, q, contact)
    space = ImpactPredictor(robot, contact)(q, dq).space
    expected = jacobian @ np.linalg.solve(robot.mass_matrix(q), jacobian.T)
    np.testing.assert_allclose(space.delassus, expected, rtol=1e-10)
    with pytest.raises(InvalidInputError, match="revolute or prismatic|serial"):
        predict_batch(robot, q[None], dq[None], contact)


@pytest.mark.parametrize("method", list(IMPACT_MAPS))
@pytest.mark.parametrize(("restitution", "free"), [(0.0, False), (0.4, True)])
def test_agrees_with_predict_at_every_state(robot, method, restitution, free):
    q, dq = draw(robot, 60)
    contact = Contact(robot.tool_frame, (0.3, -0.2, 1.0), friction=0.35, restitution=restitution, radius=0.03)
    box = None
    if free:
        position = contact_point(robot, q[0], contact) - 0.1 * contact.normal
        box = FreeObject(2.2, np.diag([0.02, 0.03, 0.01]), position, [0.1, 0.0, 0.2, 0.0, -0.3, 0.1])
    batch = predict_batch(robot, q, dq, contact, obstacle=box, method=method)
    for k in range(len(q)):
        one = by_pinocchio(robot, contact, box, method)(q[k], dq[k])
        assert batch.mode_names()[k] == one.mode, f"{SEED=} {k=}"
        np.testing.assert_allclose(batch.impulse[k], one.impulse, atol=1e-9 * np.abs(one.impulse).max())
        np.testing.assert_allclose(batch.velocity_after[k], one.velocity_after, atol=1e-9 * np.abs(dq[k]).max())
        assert batch.effective_mass[k] == pytest.approx(one.effective_mass, rel=1e-9)
        np.testing.assert_allclose(batch.contact_velocity_before[k], one.contact_velocity_before, atol=1e-12)


def test_a_map_that_is_not_compiled_is_asked_state_by_state(monkeypatch):
    robot = RobotModel.from_profile("panda")
    q, dq = draw(robot, 3)
    monkeypatch.setitem(IMPACT_MAPS, "new", IMPACT_MAPS["coulomb-poisson"])
    contact = Contact("tool", (0.3, -0.2, 1.0), friction=0.35, restitution=0.4, radius=0.03)
    got, expected = (predict_batch(robot, q, dq, contact, method=name) for name in ("new", "coulomb-poisson"))
    assert got.mode_names() == expected.mode_names()
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_blocks_join_seamlessly():
    robot = RobotModel.from_profile("panda")
    q, dq = draw(robot, 40)
    contact = Contact("tool", (0.3, -0.2, 1.0), friction=0.35, radius=0.03)
    few = predict_batch(robot, q, dq, contact)
    # More states than one block of 16384 holds, with a remainder.
    many = predict_batch(robot, np.tile(q, (420, 1)), np.tile(dq, (420, 1)), contact)
    for part in (
        many.velocity_after[:40],
        many.velocity_after[2040:2080],
        many.velocity_after[16360:16400],
        many.velocity_after[-40:],
    ):
        np.testing.assert_allclose(part, few.velocity_after, atol=1e-12)
    assert predict_batch(robot, np.empty((0, 7)), np.empty((0, 7)), contact).velocity_after.shape == (0, 7)


def test_refuses_bad_input():
    robot = RobotModel.from_profile("panda")
    contact = Contact("tool", (0, 0, 1))
    with pytest.raises(InvalidInputError, match=r"q: got shape \(7,\), expected \(N, 7\)"):
        predict_batch(robot, robot.home, robot.home, contact)
    with pytest.raises(InvalidInputError, match="dq: got 2 rows"):
        predict_batch(robot, robot.home[None], np.zeros((2, 7)), contact)
    with pytest.raises(InvalidInputError, match="dq: .*finite"):
        predict_batch(robot, robot.home[None], np.full((1, 7), np.nan), contact)
    with pytest.raises(InvalidInputError, match="contact point"):
        predict_batch(robot, robot.home[None], np.zeros((1, 7)), Contact("tool", (0, 0, 1), point=(0, 0, 0)))
    with pytest.raises(UnknownNameError, match="method"):
        predict_batch(robot, robot.home[None], np.zeros((1, 7)), contact, method="magic")
