import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact, FreeObject, contact_jacobian, contact_point
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.impact import IMPACT_MAPS, predict
from impact_aware.impact.batch import batch_map, predict_batch
from impact_aware.impact.batch_dynamics import BatchDynamics
from impact_aware.impact.contact_impulse import MODES
from impact_aware.impact.fixed_direction import fixed_direction_impulse
from impact_aware.robot import RobotModel

SEED = 5


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


def draw(robot, count):
    generator = np.random.default_rng(SEED)
    q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper, (count, robot.n))
    return q, generator.uniform(-1.0, 1.0, (count, robot.n))


@pytest.mark.parametrize("inertia", ["M", "M+B_theta"])
def test_dynamics_are_pinocchios(robot, inertia):
    q, dq = draw(robot, 10)
    for frame in (robot.tool_frame, robot.model.frames[-2].name):
        contact = Contact(frame, (0.3, -0.2, 1.0), offset=(0.02, 0.01, 0.05), radius=0.03)
        problems = BatchDynamics(robot, contact, inertia)(q, dq)
        for k in range(len(q)):
            jacobian = contact.axes @ contact_jacobian(robot, q[k], contact)
            expected = jacobian @ np.linalg.solve(robot.mass_matrix(q[k], inertia), jacobian.T)
            # Rounding of two orders of the same sums.
            np.testing.assert_allclose(problems.delassus[k], expected[np.triu_indices(3)], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(problems.velocity[k], jacobian @ dq[k], atol=1e-12)
            np.testing.assert_allclose(problems.point[k], contact_point(robot, q[k], contact), atol=1e-12)


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
        one = predict(robot, q[k], dq[k], contact, obstacle=box, method=method)
        assert batch.mode_names()[k] == one.mode, f"{SEED=} {k=}"
        # Both run the same code; the inertia differs by rounding, which changes lengths of steps.
        scale = 1e-6 * (1.0 + np.abs(one.impulse).max())
        np.testing.assert_allclose(batch.impulse[k], one.impulse, atol=scale)
        np.testing.assert_allclose(batch.velocity_after[k], one.velocity_after, atol=10.0 * scale)
        assert batch.effective_mass[k] == pytest.approx(one.effective_mass, rel=1e-9)
        np.testing.assert_allclose(batch.contact_velocity_before[k], one.contact_velocity_before, atol=1e-12)


def test_fixed_direction_takes_every_branch_as_the_map_for_one():
    generator = np.random.default_rng(SEED)
    roots = generator.uniform(-1.0, 1.0, (400, 3, 3))
    delassus = roots @ roots.transpose(0, 2, 1) + 0.02 * np.eye(3)
    delassus[::7] = np.diag([0.5, 0.7, 0.9])
    velocity = generator.normal(size=(400, 3))
    velocity[::3, 1:] = 0.0
    for friction in (0.0, 0.2, 1.5):
        impulses, modes = batch_map("fixed-direction")(delassus[:, *np.triu_indices(3)], velocity, friction, 0.3)
        for k in range(400):
            one = fixed_direction_impulse(delassus[k].tolist(), velocity[k].tolist(), friction, 0.3)
            assert MODES[modes[k]] == one.mode, f"{SEED=} {k=}"
            np.testing.assert_allclose(impulses[k], one[:3], atol=1e-9 * (1.0 + one.normal))


def test_blocks_join_seamlessly():
    robot = RobotModel.from_profile("panda")
    q, dq = draw(robot, 40)
    contact = Contact("tool", (0.3, -0.2, 1.0), friction=0.35, radius=0.03)
    few = predict_batch(robot, q, dq, contact)
    # More states than one block of 2048 holds, with a remainder.
    many = predict_batch(robot, np.tile(q, (420, 1)), np.tile(dq, (420, 1)), contact)
    for part in (
        many.velocity_after[:40],
        many.velocity_after[2040:2080],
        many.velocity_after[16360:16400],
        many.velocity_after[-40:],
    ):
        np.testing.assert_allclose(part, few.velocity_after, atol=1e-6)
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
