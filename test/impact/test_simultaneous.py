from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.contact import Contact, FreeObject, contact_jacobian
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments.validation.simultaneous_energy import random_impact
from impact_aware.impact import cone_complementarity
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.cone_complementarity import solve_cone_complementarity
from impact_aware.impact.simultaneous import _modes, predict_simultaneous
from impact_aware.robot import RobotModel

SEED = 13
# The solver's accepted residual, relative to velocities of order 1 m/s.
SOLVED = 1e-6
EXACT = 1e-9
BOX_SIZE = np.array([0.3, 0.2, 0.15])


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("panda")


def box(position=(0.0, 0.0, 0.0), twist=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), mass=2.2):
    x, y, z = BOX_SIZE
    return FreeObject(mass, mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]), position, twist)


def table_contacts(friction=0.4, restitution=0.0):
    """The four lower corners of a box at the origin."""
    corner = BodyContact("box", (0, 0, 1), (0, 0, -BOX_SIZE[2] / 2), friction=friction, restitution=restitution)
    return corner.patch((1, 0, 0), BOX_SIZE[0] / 2, BOX_SIZE[1] / 2)


def two_palms(robot, number, friction=0.5):
    """Two arms with random postures closing on a box from both sides, four points per palm."""
    generator = np.random.default_rng([SEED, number])
    arms, contacts = {}, []
    for name, side in (("left", 1.0), ("right", -1.0)):
        q = robot.home + generator.uniform(-0.4, 0.4, robot.n)
        # Turn the base about z, then move it, so that the tool stands at the box's face.
        angle = generator.uniform(-np.pi, np.pi)
        rotation = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
        face = np.array([0.0, side * BOX_SIZE[1] / 2, generator.uniform(-0.02, 0.02)])
        position = face - rotation @ robot.placement(q).translation
        jacobian = rotation @ robot.frame_jacobian(q)[:3]
        closing = np.array([generator.uniform(-0.1, 0.1), -side * 0.4, generator.uniform(-0.1, 0.1)])
        dq = np.linalg.pinv(jacobian) @ closing
        arms[name] = ArmState(robot, q, dq, rotation, position)
        centre = BodyContact(name, (0, side, 0), face, other="box", friction=friction)
        contacts += centre.patch((1, 0, 0), 0.03, 0.02)
    return arms, contacts


def check_laws(prediction, contacts, arms, objects):
    before, after = prediction.contact_velocity_before, prediction.contact_velocity_after
    momenta = {name: np.zeros(3) for name in objects}
    for k, contact in enumerate(contacts):
        normal = contact.normal @ prediction.impulse[k]
        tangential = np.linalg.norm(prediction.impulse[k] - normal * contact.normal)
        size = 1.0 + np.abs(prediction.impulse).max()
        assert normal >= -SOLVED * size
        assert tangential <= contact.friction * normal + SOLVED * size
        assert contact.normal @ after[k] >= -contact.restitution * min(contact.normal @ before[k], 0.0) - 1e-5
        if prediction.modes[k] == "stick":
            slip = after[k] - contact.normal * (contact.normal @ after[k])
            assert np.linalg.norm(slip) < 1e-5
        for name, sign in ((contact.body, 1.0), (contact.other, -1.0)):
            if name in momenta:
                momenta[name] += sign * prediction.impulse[k]
    for name, momentum in momenta.items():
        change = prediction.velocity_after[name] - prediction.velocity_before[name]
        np.testing.assert_allclose(objects[name].mass * change[:3], momentum, atol=EXACT)
    for name, arm in arms.items():
        change = prediction.velocity_after[name] - prediction.velocity_before[name]
        torque = np.zeros(arm.robot.n)
        for k, contact in enumerate(contacts):
            sign = (contact.body == name) - float(contact.other == name)
            point = arm.rotation.T @ (contact.point - arm.position)
            local = Contact(arm.robot.tool_frame, contact.normal, point=point)
            torque += sign * contact_jacobian(arm.robot, arm.q, local).T @ (arm.rotation.T @ prediction.impulse[k])
        np.testing.assert_allclose(arm.robot.mass_matrix(arm.q) @ change, torque, atol=1e-8)


def test_box_dropped_flat_on_a_table_stops():
    falling = {"box": box(twist=(0, 0, -0.5, 0, 0, 0))}
    contacts = table_contacts()
    result = predict_simultaneous(contacts, objects=falling)
    np.testing.assert_allclose(result.velocity_after["box"], 0.0, atol=SOLVED)
    # Four corners carry twelve impulses for six velocities: the least norm shares the weight evenly.
    assert result.degenerate and result.rank == 6
    np.testing.assert_allclose(result.impulse, np.tile([0.0, 0.0, 2.2 * 0.5 / 4], (4, 1)), atol=SOLVED)
    assert set(result.modes) == {"stick"}
    assert result.energy_loss == pytest.approx(0.5 * 2.2 * 0.25, rel=1e-6)


def test_restitution_throws_it_back():
    result = predict_simultaneous(table_contacts(restitution=0.5), objects={"box": box(twist=(0, 0, -0.5, 0, 0, 0))})
    np.testing.assert_allclose(result.velocity_after["box"], [0, 0, 0.25, 0, 0, 0], atol=SOLVED)


def test_two_palms_on_a_box_obey_the_laws(robot):
    stuck = 0
    for number in range(8):
        arms, contacts = two_palms(robot, number, friction=0.2 + 0.1 * number)
        objects = {"box": box(twist=(0.0, 0.05, 0.0, 0.0, 0.0, 0.3))}
        result = predict_simultaneous(contacts, arms=arms, objects=objects)
        check_laws(result, contacts, arms, objects)
        assert result.energy_loss > 0.0
        stuck += result.modes.count("stick")
    assert stuck > 0


def test_palms_and_table_together(robot):
    arms, contacts = two_palms(robot, 3)
    contacts = contacts + table_contacts(friction=0.3)
    objects = {"box": box(twist=(0.0, 0.0, -0.1, 0.0, 0.0, 0.0))}
    check_laws(predict_simultaneous(contacts, arms=arms, objects=objects), contacts, arms, objects)


def test_order_and_names_change_nothing(robot):
    arms, contacts = two_palms(robot, 1)
    objects = {"box": box()}
    result = predict_simultaneous(contacts, arms=arms, objects=objects)
    order = np.random.default_rng(SEED).permutation(len(contacts))
    shuffled = predict_simultaneous([contacts[k] for k in order], arms=dict(reversed(arms.items())), objects=objects)
    for name in result.velocity_after:
        np.testing.assert_allclose(shuffled.velocity_after[name], result.velocity_after[name], atol=1e-5)


def test_only_what_approaches_gets_an_impulse():
    rising = predict_simultaneous(table_contacts(), objects={"box": box(twist=(0, 0, 0.2, 0, 0, 0))})
    assert set(rising.modes) == {"separate"}
    np.testing.assert_allclose(rising.velocity_after["box"], rising.velocity_before["box"], atol=EXACT)


# Many zeros, and sizes from 0.001 to 1: contacts hardly coupled, or nearly one and the same, mobilities 1 to 1e-6.
magnitudes = st.floats(-1.0, 1.0).map(lambda value: round(value, 3))


def check_solution(delassus, free, friction):
    """Signorini's and Coulomb's laws, relative to the impulses and velocities that there are."""
    solution = solve_cone_complementarity(delassus, free, friction)
    after = delassus @ solution.impulse + free
    p, v = solution.impulse.reshape(-1, 3), after.reshape(-1, 3)
    size = 1e-5 * (1.0 + np.abs(p).max()) * (1.0 + np.abs(free).max())
    assert (p[:, 0] >= -size).all() and (v[:, 0] >= -size).all()
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] + size).all()
    assert np.abs(p[:, 0] * v[:, 0]).max() <= size
    # Coulomb: friction opposes what slip is left, with full strength.
    slip = np.hypot(v[:, 1], v[:, 2])
    assert np.abs((p[:, 1:] * v[:, 1:]).sum(axis=1) + friction * p[:, 0] * slip).max() <= size
    assert solution.impulse @ (free + 0.5 * delassus @ solution.impulse) <= size
    return solution


@given(
    st.integers(2, 5),
    st.lists(magnitudes, min_size=90, max_size=90),
    st.lists(st.one_of(st.just(0.0), st.floats(0.0, 1.0)), min_size=5, max_size=5),
)
@settings(max_examples=80)
def test_solution_satisfies_the_problem(count, values, friction):
    # Six degrees of freedom under up to fifteen rows: singular from three contacts on.
    jacobian = np.array(values).reshape(15, 6)[: 3 * count] + np.eye(15, 6)[: 3 * count]
    free = jacobian @ np.array([-1.0, 0.5, 0.3, -0.2, 0.1, -0.4])
    check_solution(jacobian @ jacobian.T, free, np.array(friction[:count]))


@pytest.mark.parametrize("seed", range(40))
def test_contacts_of_very_unlike_mobility(seed):
    generator = np.random.default_rng([SEED, seed])
    jacobian = generator.uniform(-1.0, 1.0, (15, 6)) * (generator.random((15, 6)) < 0.3) + np.eye(15, 6)
    jacobian *= 10.0 ** generator.uniform(-3.0, 0.0, (15, 1))
    friction = generator.uniform(0.0, 1.0, 5) * (generator.random(5) < 0.7)
    free = jacobian @ np.array([-1.0, 0.5, 0.3, -0.2, 0.1, -0.4])
    check_solution(jacobian @ jacobian.T, free, friction)


def test_uncoupled_contacts_by_hand():
    # Masses 2, 8 and 0.5 kg: one sticks, one slides along -y with mu = 0.25, one has no friction.
    delassus = np.diag([0.5, 0.5, 0.5, 0.125, 0.125, 0.125, 2.0, 2.0, 2.0])
    delassus[6, 7] = delassus[7, 6] = 1.0
    free = np.array([-1.0, 0.3, -0.2, -0.5, 0.0, 0.7, -0.4, 0.9, 0.0])
    solution = check_solution(delassus, free, np.array([0.9, 0.25, 0.0]))
    np.testing.assert_allclose(solution.impulse, [2.0, -0.6, 0.4, 4.0, 0.0, -1.0, 0.2, 0.0, 0.0], atol=1e-9)
    assert (solution.rank, solution.degenerate) == (9, False)


def test_where_no_solution_is_found_the_answer_pushes_only_takes_energy_and_tells_its_residual(monkeypatch):
    monkeypatch.setattr(cone_complementarity, "_ADMM_ITERATIONS", (1,))
    monkeypatch.setattr(cone_complementarity, "_NEWTON_ITERATIONS", 0)
    monkeypatch.setattr(cone_complementarity, "_from_compliant", lambda *problem: iter(()))
    told = 0
    for seed in range(30):
        generator = np.random.default_rng([SEED, seed])
        jacobian = generator.uniform(-1.0, 1.0, (9, 6))
        delassus, free = jacobian @ jacobian.T, jacobian @ generator.normal(size=6)
        friction = generator.uniform(0.0, 1.0, 3)
        found = solve_cone_complementarity(delassus, free, friction)
        p = found.impulse.reshape(-1, 3)
        assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] + 1e-12).all()
        assert found.impulse @ (free + 0.5 * delassus @ found.impulse) <= 1e-12
        told += found.residual > cone_complementarity.SOLVED
    assert told > 10


def test_an_impulse_outside_its_cone_goes_to_the_nearest_inside():
    # Normals last. Beyond the edge (4, 0, 2) with mu 0.5 is nearest to n (0.5, 0, 1), n = (2 + 0.5 * 4) / 1.25 = 3.2.
    friction = np.array([0.5, 0.5, 0.5])
    impulse = np.array([4.0, 0.0, 2.0, 0.3, -0.4, 2.0, 1.0, 0.0, -3.0])
    mobility, free = np.eye(9), -100.0 * np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    near = cone_complementarity._in_cones(impulse, friction)
    np.testing.assert_allclose(near, [1.6, 0.0, 3.2, 0.3, -0.4, 2.0, 0.0, 0.0, 0.0], atol=1e-12)
    # Energy -520 + 0.5 * 17.05 is lost; -s 0.52 + 0.5 s^2 17.05 of the same impulse is least at s = 0.52 / 17.05.
    np.testing.assert_array_equal(cone_complementarity._lossy(mobility, free, near), near)
    np.testing.assert_allclose(
        cone_complementarity._lossy(mobility, 1e-3 * free, near), near * 0.52 / 17.05, atol=1e-12
    )
    # At 5.2 of 17.05 the whole impulse would make energy still.
    np.testing.assert_allclose(cone_complementarity._lossy(mobility, 1e-2 * free, near), near * 5.2 / 17.05, atol=1e-12)


@pytest.mark.parametrize("seed", [831, 1036])
def test_a_jammed_box_is_followed_from_compliant_contacts_to_rigid_ones(monkeypatch, seed):
    """Ten contacts and more with two arms, which ADMM and Newton's method from its answer alone do not solve."""
    impact = random_impact(RobotModel.from_profile("panda"), np.random.default_rng([9, seed]))

    def residual():
        return predict_simultaneous(impact.contacts, arms=impact.arms, objects=impact.objects).residual

    assert residual() < cone_complementarity.SOLVED
    monkeypatch.setattr(cone_complementarity, "_from_compliant", lambda *problem: iter(()))
    # How far it comes without is the machine's: 1e-5 to 1e-3 were seen.
    assert residual() > 100.0 * cone_complementarity.SOLVED


def test_refuses_bad_input(robot):
    with pytest.raises(InvalidInputError, match="contacts: got an empty list"):
        predict_simultaneous([])
    with pytest.raises(UnknownNameError, match="contact body: got 'ghost'"):
        predict_simultaneous([BodyContact("ghost", (0, 0, 1), (0, 0, 0))], objects={"box": box()})
    with pytest.raises(UnknownNameError, match="frame"):
        predict_simultaneous(
            [BodyContact("arm", (0, 0, 1), (0, 0, 0), frame="nose")],
            arms={"arm": ArmState(robot, robot.home, np.zeros(7))},
        )
    with pytest.raises(InvalidInputError, match="normal"):
        BodyContact("box", (0, 0, 0), (0, 0, 0))
    with pytest.raises(InvalidInputError, match="other"):
        BodyContact("box", (0, 0, 1), (0, 0, 0), other="box")
    with pytest.raises(InvalidInputError, match="base rotation"):
        ArmState(robot, robot.home, np.zeros(7), rotation=np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(InvalidInputError, match="along"):
        BodyContact("box", (0, 0, 1), (0, 0, 0)).patch((0, 0, 2), 0.1, 0.1)


@pytest.mark.parametrize(
    ("pressed", "slip", "friction", "mode"),
    [
        # What is left of a solver's accuracy beside the largest impulse, 2 N s, or the approach, 0.5 m/s, is nothing.
        (1.9e-6, 0.3, 0.4, "separate"),
        (2.1e-6, 0.3, 0.4, "slide"),
        (2.1e-6, 4.9e-7, 0.4, "stick"),
        (2.1e-6, 5.1e-7, 0.4, "slide"),
        (2.1e-6, 0.0, 0.0, "slide"),
    ],
)
def test_modes_are_told_from_impulse_and_slip_of_some_size(pressed, slip, friction, mode):
    contacts = [SimpleNamespace(friction=0.3), SimpleNamespace(friction=friction)]
    impulse = np.array([1.0, -2.0, 0.1, pressed, 0.0, 0.0])
    after = np.array([0.0, 0.0, 0.0, 0.0, 0.6 * slip, -0.8 * slip])
    assert _modes(contacts, impulse, after, 0.5) == ("stick", mode)


def test_a_contact_elsewhere_is_the_same_but_for_its_point():
    contact = BodyContact("arm", (0.0, 0.6, 0.8), (0.1, 0.2, 0.3), "box", 0.4, 0.3, "nose", "lid")
    place = np.array([-0.5, 0.25, 0.7])
    moved = contact.at(place)
    place[:] = 9.0
    assert moved.point.tolist() == [-0.5, 0.25, 0.7] and contact.point.tolist() == [0.1, 0.2, 0.3]
    for name in ("body", "other", "friction", "restitution", "frame", "other_frame"):
        assert getattr(moved, name) == getattr(contact, name)
    np.testing.assert_array_equal(moved.normal, contact.normal)
    with pytest.raises(ValueError, match="read-only"):
        moved.point[0] = 1.0
    with pytest.raises(InvalidInputError, match="point"):
        contact.at((0.0, np.nan, 0.0))
