import dataclasses
import itertools
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.contact import Contact, FreeObject, contact_jacobian
from impact_aware.errors import InvalidInputError, NoSolutionError, UnknownNameError
from impact_aware.experiments.validation.simultaneous_energy import random_impact, random_rotation, turned, violations
from impact_aware.impact import cone_complementarity, cone_kernels
from impact_aware.impact.bodies import ArmState, BodyContact
from impact_aware.impact.cone_complementarity import solve_cone_complementarity
from impact_aware.impact.simultaneous import contact_modes, predict_simultaneous
from impact_aware.robot import RobotModel

SEED = 13
# The solver's accepted residual, relative to velocities of order 1 m/s.
SOLVED = 1e-9
EXACT = 1e-9
BOX_SIZE = np.array([0.3, 0.2, 0.15])


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
        np.testing.assert_allclose(shuffled.velocity_after[name], result.velocity_after[name], atol=EXACT)


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


def in_python(monkeypatch, **constants):
    """The way to rigid contacts with other constants, which compiled functions have within them."""
    for name, value in constants.items():
        monkeypatch.setattr(cone_kernels, name, value)
    monkeypatch.setattr(cone_kernels, "stiffen", cone_kernels.stiffen.py_func)
    monkeypatch.setattr(cone_complementarity, "follow", cone_kernels.follow.py_func)


def test_where_no_solution_is_found_the_answer_pushes_only_takes_energy_and_reports_its_residual(monkeypatch):
    in_python(monkeypatch, _STIFFENING=(1.0,), _MOST_STEPS=1)
    far = 0
    for seed in range(30):
        generator = np.random.default_rng([SEED, seed])
        jacobian = generator.uniform(-1.0, 1.0, (9, 6))
        delassus, free = jacobian @ jacobian.T, jacobian @ generator.normal(size=6)
        friction = generator.uniform(0.0, 1.0, 3)
        found = solve_cone_complementarity(delassus, free, friction)
        p = found.impulse.reshape(-1, 3)
        assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] + 1e-12).all()
        assert found.impulse @ (free + 0.5 * delassus @ found.impulse) <= 1e-12
        assert found.unique == (found.residual < cone_complementarity.SOLVED)
        far += not found.unique
    assert far > 10


def test_an_impulse_outside_its_cone_goes_to_the_nearest_inside():
    # Beyond the edge (2, 4, 0) with mu 0.5 is nearest to n (1, 0.5, 0), n = (2 + 0.5 * 4) / 1.25 = 3.2.
    friction = np.array([0.5, 0.5, 0.5])
    impulse = np.array([2.0, 4.0, 0.0, 2.0, 0.3, -0.4, -3.0, 1.0, 0.0])
    near = cone_complementarity._in_cones(impulse, friction)
    np.testing.assert_allclose(near, [3.2, 1.6, 0.0, 2.0, 0.3, -0.4, 0.0, 0.0, 0.0], atol=1e-12)
    # Energy -520 + 0.5 * 17.05 is lost; -s 0.52 + 0.5 s^2 17.05 of the same impulse is least at s = 0.52 / 17.05. At
    # 5.2 of 17.05 the whole impulse would make energy still.
    for speed, share in ((100.0, 1.0), (0.1, 0.52 / 17.05), (1.0, 5.2 / 17.05)):
        problem = cone_complementarity._Problem(np.eye(9), -speed * np.tile([1.0, 0.0, 0.0], 3), friction)
        np.testing.assert_allclose(cone_complementarity._lossy(problem, near), share * near, atol=1e-12)


@pytest.mark.parametrize("seed", [831, 950])
def test_a_jammed_box_is_followed_past_the_end_of_a_solution(monkeypatch, robot, seed):
    """Ten contacts and more with two arms, whose solution ends while they become rigid."""
    impact = random_impact(robot, np.random.default_rng([9, seed]))

    def residual():
        found = predict_simultaneous(impact.contacts, arms=impact.arms, objects=impact.objects, search=False)
        return found.residual

    assert residual() < cone_complementarity.SOLVED
    in_python(monkeypatch, _SOFTER=1.0)
    assert residual() > 100.0 * cone_complementarity.SOLVED


def planar_problem(generator, count):
    """A planar body of 1 kg that is touched at random: axes normal, tangent in the plane, tangent across it."""
    inverse, rows = np.diag([1.0, 1.0, 1.0, *[1.0 / generator.uniform(0.03, 1.0)] * 3]), []
    for angle in generator.uniform(-np.pi, np.pi, count):
        point = np.array([*generator.uniform(-1.0, 1.0, 2), 0.0])
        axes = np.array([[np.cos(angle), np.sin(angle), 0.0], [-np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
        rows += [np.concatenate((axis, np.cross(point, axis))) for axis in axes]
    twist = np.concatenate((generator.normal(size=2), np.zeros(3), generator.normal(size=1)))
    return np.array(rows) @ inverse @ np.array(rows).T, np.array(rows) @ twist, generator.uniform(0.0, 1.5, count)


def velocities_of_all_modes(delassus, free, friction):
    """All velocities in the plane that obey the laws: contacts that separate, stick, or slide one way or the other."""
    inside, found = np.arange(len(free)) % 3 < 2, []
    w, g = delassus[np.ix_(inside, inside)], free[inside]
    for modes in itertools.product((None, 0.0, 1.0, -1.0), repeat=len(friction)):
        rows, wanted = np.eye(len(g)), np.zeros(len(g))
        for k, mode in enumerate(modes):
            if mode is None:
                continue
            fixed = slice(2 * k, 2 * k + 1 + (mode == 0.0))
            rows[fixed], wanted[fixed] = w[fixed], -g[fixed]
            rows[2 * k + 1, 2 * k] += mode * friction[k]
        impulse = np.linalg.lstsq(rows, wanted, rcond=1e-10)[0]
        after, size = w @ impulse + g, 1e-9 * (1.0 + np.abs(impulse).max())
        slides = np.array([mode or 0.0 for mode in modes])
        holds = np.abs(rows @ impulse - wanted).max() <= size and min(impulse[::2].min(), after[::2].min()) >= -size
        holds &= bool((np.abs(impulse[1::2]) <= friction * impulse[::2] + size).all())
        if holds and (slides * after[1::2]).min() >= -size:
            if all(np.abs(after - other).max() > 1e-6 for other in found):
                found.append(after)
    return found


@pytest.mark.parametrize(("count", "problems"), [(2, 150), (3, 40)])
def test_an_answer_is_unique_where_an_enumeration_of_all_modes_finds_no_other(count, problems):
    generator = np.random.default_rng([SEED, count])
    several = 0
    for number in range(problems):
        delassus, free, friction = planar_problem(generator, count)
        valid = velocities_of_all_modes(delassus, free, friction)
        found = solve_cone_complementarity(delassus, free, friction, search=True)
        after = (delassus @ found.impulse + free)[np.arange(len(free)) % 3 < 2]
        assert min(np.abs(after - each).max() for each in valid) < 1e-8, f"{number=}"
        assert found.unique == (len(valid) == 1), f"{number=}"
        several += len(valid) > 1
    assert several >= 5


def test_boxes_that_are_touched_all_around_keep_the_laws(robot):
    for number in range(200):
        impact = random_impact(robot, np.random.default_rng([9, number]))
        found = predict_simultaneous(**impact._asdict(), search=False)
        assert max(violations(impact, found)) < EXACT, f"{number=}"
    # An answer that breaks them is seen.
    pulled = violations(impact, found._replace(impulse=-found.impulse))
    assert pulled.cone > 0.5 and violations(impact, found._replace(energy_loss=-0.1)).gain > 1e-3
    back = found._replace(contact_velocity_after=found.contact_velocity_before)
    assert violations(impact, back).approach > 0.1


def test_a_turn_of_the_scene_turns_the_answer_or_it_is_not_unique(robot):
    """Boxes with up to 12 contacts, jammed ones among them: more than any task has."""
    unique = 0
    for number in range(25):
        generator = np.random.default_rng([9, number])
        impact = random_impact(robot, generator)
        found = predict_simultaneous(**impact._asdict())
        assert max(violations(impact, found)) < EXACT, f"{number=}"
        rotation = random_rotation(generator)
        other = predict_simultaneous(**turned(impact, rotation)._asdict())
        if found.unique and other.unique:
            unique += 1
            speed = np.abs(found.contact_velocity_before).max()
            after = other.contact_velocity_after @ rotation
            np.testing.assert_allclose(after, found.contact_velocity_after, rtol=0, atol=EXACT * speed)
    assert unique > 10


def test_an_answer_is_unique_in_every_frame_or_in_none(robot):
    """Of these scenes rounding decided whether a contact pushes (126), and axes where a search started (173)."""
    generator = np.random.default_rng(11)
    scenes = [(random_impact(robot, generator), random_rotation(generator)) for _ in range(174)]
    for number, expected in ((7, True), (126, False), (173, False)):
        impact, rotation = scenes[number]
        found = predict_simultaneous(**impact._asdict())
        other = predict_simultaneous(**turned(impact, rotation)._asdict())
        assert found.unique == other.unique == expected, f"{number=}"
        np.testing.assert_allclose(other.other_energy_losses, found.other_energy_losses, rtol=1e-6)
    # One of these belongs to the third step of the restitution alone.
    assert len(found.other_energy_losses) == 2


@pytest.mark.parametrize("turning", [0.0, 2.0])
def test_the_frictionless_method_takes_friction_from_contacts_that_act_on_each_other(turning):
    thrown = {"box": box(twist=(0.8, 0.3, -0.5, 0.0, 0.0, turning))}
    smooth = predict_simultaneous(table_contacts(friction=0.0), objects=thrown)
    found = predict_simultaneous(table_contacts(friction=0.4), objects=thrown, method="frictionless")
    rough = predict_simultaneous(table_contacts(friction=0.4), objects=thrown, method="fixed-direction")
    np.testing.assert_array_equal(found.velocity_after["box"], smooth.velocity_after["box"])
    assert found.modes == smooth.modes == ("slide",) * 4
    assert rough.velocity_after["box"][0] < found.velocity_after["box"][0] - 0.1


def test_a_ball_between_parallel_walls_may_slide_or_be_jammed():
    """It slides on, or a squeeze holds it, wholly or in part. A box elsewhere loses its energy in any case."""
    ball = FreeObject(1.0, np.eye(3), (0, 0, 0), (0.0, 0.0, -1.0, 0.0, 0.0, 0.0))
    walls = [BodyContact("ball", (side, 0.0, 0.0), (-0.1 * side, 0.0, 0.0), friction=0.5) for side in (1.0, -1.0)]
    fallen = box(twist=(0, 0, -0.5, 0, 0, 0))
    found = predict_simultaneous(walls + table_contacts(), objects={"ball": ball, "box": fallen})
    assert not found.unique and found.energy_loss == pytest.approx(0.5 * 2.2 * 0.25)
    assert min(found.other_energy_losses) > found.energy_loss + 1e-6
    assert max(found.other_energy_losses) == pytest.approx(found.energy_loss + 0.5)
    assert predict_simultaneous(walls[:1], objects={"ball": ball}).unique


def test_corners_that_turn_as_they_slide_can_share_their_push_in_many_ways():
    """Each share gives another moment of friction; where they slide straight on, none does."""
    for turning, unique in ((2.0, False), (0.0, True)):
        thrown = {"box": box(twist=(0.8, 0.0, -0.5, 0.0, 0.0, turning))}
        assert predict_simultaneous(table_contacts(friction=0.1), objects=thrown, search=False).unique == unique


def test_an_answer_comes_where_lapack_does_not_converge(monkeypatch, robot):
    """Of the 105 impacts that are drawn, LAPACK's divide and conquer failed at the last, with twelve contacts."""
    generator = np.random.default_rng(5)
    for _ in range(105):
        impact = random_impact(robot, generator)
        random_rotation(generator)
    jammed = predict_simultaneous(**impact._asdict(), search=False)
    assert jammed.residual < SOLVED and not jammed.unique

    def fails(*args, **kwargs):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fails)
    for turning, unique in ((2.0, False), (0.0, True)):
        thrown = {"box": box(twist=(0.8, 0.0, -0.5, 0.0, 0.0, turning))}
        assert predict_simultaneous(table_contacts(friction=0.1), objects=thrown, search=False).unique == unique
    monkeypatch.setattr("scipy.linalg.svd", fails)
    last = predict_simultaneous(table_contacts(friction=0.1), objects=thrown, search=False)
    assert last.residual < SOLVED and not last.unique


def test_a_joint_that_moves_nothing_is_refused_as_by_the_single_contact_map(robot):
    model = robot.model.copy()
    model.inertias[7] = pin.Inertia.Zero()
    light = RobotModel(model, name="light", tool_frame="tool", apparent_motor_inertia=np.full(7, 0.1))
    contact = BodyContact("arm", (0, 0, 1), robot.placement(robot.home).translation, frame="tool")
    arms = {"arm": ArmState(light, robot.home, np.full(7, 0.1))}
    with pytest.raises(NoSolutionError, match="the inertia M is singular"):
        predict_simultaneous([contact], arms=arms, inertia="M")
    assert predict_simultaneous([contact], arms=arms).residual < SOLVED


def test_restitution_of_impulses_that_are_undetermined_is_not_unique(robot):
    """Without restitution all shares leave the same velocities; each gives other impulses back."""
    impact = random_impact(robot, np.random.default_rng([9, 5561]))
    for restitution, unique in ((0.5, False), (0.0, True)):
        contacts = [dataclasses.replace(contact, restitution=restitution) for contact in impact.contacts]
        found = predict_simultaneous(contacts, arms=impact.arms, objects=impact.objects, search=False)
        assert found.unique == unique


def test_refuses_bad_input(robot):
    with pytest.raises(UnknownNameError, match="method: got 'none'"):
        predict_simultaneous(table_contacts(), objects={"box": box()}, method="none")
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
    assert contact_modes(contacts, impulse, after, 0.5) == ("stick", mode)


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
