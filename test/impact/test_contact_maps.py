import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from impact_aware.errors import NoSolutionError
from impact_aware.impact import IMPACT_MAPS

SEED = 7
LAWS = ["energetic", "poisson", "newton"]

fixed_direction = IMPACT_MAPS["fixed-direction"]

# Small numbers that make unlike cases: tilted coupling, all directions of slip, slip from none to fast.
entries = st.lists(st.floats(-1.0, 1.0), min_size=9, max_size=9)
velocities = st.tuples(st.floats(-2.0, -1e-3), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))


def delassus_from(values):
    root = np.array(values).reshape(3, 3)
    return root @ root.T + 0.05 * np.eye(3)


def solve(delassus, velocity, friction, restitution=0.0, law="energetic"):
    name = {"energetic": "coulomb", "fixed-direction": law}.get(law, f"coulomb-{law}")
    result = IMPACT_MAPS[name](np.asarray(delassus).tolist(), list(velocity), friction, restitution)
    return np.array(result[:3]), result.mode


def draw(number):
    generator = np.random.default_rng([SEED, number])
    root = generator.normal(size=(3, 3))
    angle, azimuth = generator.uniform(0.0, math.radians(60.0)), generator.uniform(0.0, 2.0 * math.pi)
    tangent = math.sin(angle)
    velocity = np.array([-math.cos(angle), tangent * math.cos(azimuth), tangent * math.sin(azimuth)])
    return root @ root.T + 0.05 * np.eye(3), velocity, generator.uniform(0.05, 0.8)


def followed_by_scipy(delassus, velocity, friction, restitution=0.0, law="energetic"):
    """The same path by scipy, in a time in which slip has no singularity; None where it comes to rest on the way."""

    def state(y):
        return velocity + delassus @ y[:3]

    def slope(_, y):
        v_n, *tangents = state(y)
        slip = math.hypot(*tangents)
        return [slip, -friction * tangents[0], -friction * tangents[1], v_n * slip]

    def at_rest(_, y):
        return math.hypot(*state(y)[1:]) - 1e-8

    def until(start, reached):
        at_rest.terminal = reached.terminal = True
        at_rest.direction, reached.direction = -1.0, 1.0
        path = solve_ivp(slope, [0.0, 1e4], start, "DOP853", rtol=1e-12, atol=1e-14, events=[reached, at_rest])
        return path.y[:, -1] if len(path.t_events[0]) else None

    compressed = until(np.zeros(4), lambda _, y: state(y)[0])
    if compressed is None or restitution == 0.0:
        return None if compressed is None else compressed[:3]
    goal = {
        "energetic": lambda _, y: y[3] - compressed[3] * (1.0 - restitution**2),
        "poisson": lambda _, y: y[0] - compressed[0] * (1.0 + restitution),
        "newton": lambda _, y: state(y)[0] + restitution * velocity[0],
    }[law]
    end = until(compressed, goal)
    return None if end is None else end[:3]


@pytest.mark.parametrize(("law", "restitution"), [("energetic", 0.0), *((law, 0.6) for law in LAWS)])
def test_agrees_with_an_independent_integrator(law, restitution):
    turned = followed = 0
    for number in range(25):
        delassus, velocity, friction = draw(number)
        expected = followed_by_scipy(delassus, velocity, friction, restitution, law)
        if expected is None:
            continue
        impulse, mode = solve(delassus, velocity, friction, restitution, law)
        assert mode == "slide", f"{SEED=} {number=}"
        size = np.linalg.norm(expected)
        np.testing.assert_allclose(impulse, expected, rtol=0.0, atol=1e-9 * size, err_msg=f"{SEED=} {number=}")
        followed += 1
        fixed = fixed_direction(delassus.tolist(), velocity.tolist(), friction, restitution)
        straight = np.array(fixed[:3])
        turned += np.linalg.norm(impulse - straight) > 0.03 * size
    # Otherwise the cases would not tell the exact map from the fixed direction.
    assert followed > 15 and turned > 8


@pytest.mark.parametrize("across", [0.03, 1e-3, -1e-5, 1e-7])
@pytest.mark.parametrize(("law", "restitution"), [("energetic", 0.0), ("energetic", 0.7), ("newton", 0.3)])
def test_slip_that_nearly_stops_and_comes_back_agrees_with_an_independent_integrator(across, law, restitution):
    """It turns by half a circle within a small part of the impulse, about as small as the slip across."""
    delassus = np.array([[1.0, -0.4, 0.1], [-0.4, 1.0, 0.2], [0.1, 0.2, 0.3]])
    # Slip along one eigenvector of the tangents, where the coupling is, and hardly any along the other.
    _, axes = np.linalg.eigh(delassus[1:, 1:])
    delassus[0, 1:] = delassus[1:, 0] = -0.4 * axes[:, 1]
    velocity = np.array([-1.0, *(0.1 * axes[:, 1] + across * axes[:, 0])])
    expected = followed_by_scipy(delassus, velocity, 0.2, restitution, law)
    impulse, mode = solve(delassus, velocity, 0.2, restitution, law)
    assert mode == "slide"
    np.testing.assert_allclose(impulse, expected, rtol=0.0, atol=1e-9 * np.linalg.norm(expected))


@given(entries, velocities, st.floats(0.0, 1.5), st.floats(0.0, 1.0), st.sampled_from(LAWS))
@settings(max_examples=150)
def test_laws(values, velocity, friction, restitution, law):
    delassus, velocity = delassus_from(values), np.array(velocity)
    p, mode = solve(delassus, velocity, friction, restitution, law)
    after = velocity + delassus @ p
    # Rounding, scaled by what the sums cancel.
    scale = 1e-9 * (1.0 + np.abs(velocity).max() + np.abs(delassus @ p).max())
    assert p[0] > 0.0
    assert after[0] > -scale
    assert math.hypot(p[1], p[2]) <= friction * p[0] * (1.0 + 1e-9) + 1e-12
    if mode == "stick":
        assert math.hypot(after[1], after[2]) < scale
    if law == "newton" or restitution == 0.0:
        assert abs(after[0] + restitution * velocity[0]) < scale
    if law == "energetic" or restitution == 0.0:
        gained = 0.5 * p @ (velocity + after)
        assert gained <= 1e-9 * (1.0 + np.abs(p).max() * np.abs(velocity).max())


@pytest.mark.parametrize("law", ["energetic", "fixed-direction"])
@given(entries, velocities, st.floats(0.0, 1.5), st.floats(0.0, 1.0), st.floats(0.0, 6.3))
@settings(max_examples=100)
def test_turning_the_tangents_turns_the_answer(law, values, velocity, friction, restitution, angle):
    delassus, velocity = delassus_from(values), np.array(velocity)
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    p, mode = solve(delassus, velocity, friction, restitution, law)
    turned, turned_mode = solve(turn @ delassus @ turn.T, turn @ velocity, friction, restitution, law)
    # A start without slip has its direction from rounding, and so has the fixed direction's mode at its limit.
    if math.hypot(velocity[1], velocity[2]) > 1e-6 and (mode == turned_mode or law == "energetic"):
        np.testing.assert_allclose(turned, turn @ p, atol=1e-7 * (1.0 + p[0]))


@given(entries, velocities, st.floats(0.0, 1.5), st.floats(0.0, 1.0), st.sampled_from(LAWS), st.floats(1e-3, 1e3))
@settings(max_examples=100)
def test_impulse_grows_with_the_speed(values, velocity, friction, restitution, law, factor):
    delassus, velocity = delassus_from(values), np.array(velocity)
    p, mode = solve(delassus, velocity, friction, restitution, law)
    scaled, scaled_mode = solve(delassus, factor * velocity, friction, restitution, law)
    assert scaled_mode == mode
    np.testing.assert_allclose(scaled, factor * p, rtol=1e-6, atol=1e-7 * factor * p[0])


def test_restitution_laws_agree_without_friction_and_in_a_plane_that_keeps_sliding():
    delassus = np.diag([0.5, 0.7, 0.9])
    for friction, velocity in ((0.0, [-1.0, 0.3, 0.1]), (0.1, [-0.5, 2.0, 0.0])):
        first, *others = (solve(delassus, velocity, friction, 0.6, law)[0] for law in LAWS)
        for other in others:
            np.testing.assert_allclose(other, first, atol=1e-12)


def test_uncoupled_sphere_by_hand():
    # W = diag: the direction never turns; slip 0.4 stops after p_n = 0.4 / (mu w_t), compression lasts 1 / w_n = 2.
    delassus = np.diag([0.5, 2.0, 2.0])
    p, mode = solve(delassus, [-1.0, 0.24, -0.32], 0.3)
    assert mode == "stick"
    np.testing.assert_allclose(p, [2.0, -0.12, 0.16], atol=1e-12)
    p, mode = solve(delassus, [-1.0, 0.24, -0.32], 0.05)
    assert mode == "slide"
    np.testing.assert_allclose(p, [2.0, -0.06, 0.08], atol=1e-12)


def test_planar_slip_stops_and_comes_back():
    # Slip 0.1 ends at p = 0.1 / (0.4 + 0.2); held by |w_tn| / w_tt = 0.4 > mu it restarts backwards at 0.4 - 0.2.
    delassus = np.array([[1.0, -0.4, 0.0], [-0.4, 1.0, 0.0], [0.0, 0.0, 1.0]])
    friction = 0.2
    first = 0.1 / 0.6
    left = 1.0 - first * (1.0 + 0.4 * friction)
    second = left / (1.0 - 0.4 * friction)
    p, mode = solve(delassus, [-1.0, 0.1, 0.0], friction)
    assert mode == "slide"
    np.testing.assert_allclose(p, [first + second, friction * (second - first), 0.0], atol=1e-10)


def test_painleve_like_jam_still_ends():
    # mu w_nt > w_nn: at first pressing makes the approach faster, until the slip has stopped.
    delassus = np.array([[0.5, 0.65, 0.0], [0.65, 1.0, 0.0], [0.0, 0.0, 1.0]])
    for restitution in (0.0, 0.5, 1.0):
        for law in LAWS:
            p, _ = solve(delassus, [-0.1, 1.0, 0.0], 1.0, restitution, law)
            after = np.array([-0.1, 1.0, 0.0]) + delassus @ p
            assert p[0] > 0.0 and after[0] >= -1e-12
    # Newton's definition rebounds at e times a speed that friction has meanwhile raised, so it may also gain energy.


def test_one_joint_that_can_move_one_way_only():
    # Rank one: the contact stops altogether when its normal does.
    direction = np.array([1.0, 0.2, 0.1])
    for friction in (0.0, 0.1, 0.5):
        for law in LAWS:
            for restitution in (0.0, 0.5):
                p, _ = solve(np.outer(direction, direction), -direction, friction, restitution, law)
                after = -direction + direction * (direction @ p)
                assert np.isfinite(p).all() and after[0] >= -1e-12


def test_a_contact_that_leaves_is_left_alone():
    assert solve(np.eye(3), [0.0, 1.0, 0.0], 0.5)[1] == "separate"
    assert solve(np.eye(3), [0.1, 1.0, 0.0], 0.5)[1] == "separate"


def test_indefinite_matrix_is_named():
    with pytest.raises(NoSolutionError, match="semidefinite"):
        IMPACT_MAPS["coulomb"]([[0.1, 1.0, 0.0], [1.0, 0.1, 0.0], [0.0, 0.0, 0.1]], [-1.0, 1.0, 0.0], 5.0, 0.0)


@pytest.mark.parametrize("across", [6e-7, 1e-5, -1e-6])
@pytest.mark.parametrize("law", LAWS)
def test_slip_that_nearly_stops_and_then_sticks_is_followed_through(across, law):
    """Its direction settles only as the third power of the angle goes."""
    delassus = np.array([[2.05, 1.0, 0.0], [1.0, 2.05, 0.0], [0.0, 0.0, 0.05]])
    for restitution in (0.0, 0.5):
        p, mode = solve(delassus, np.array([-2.0, -1.5, across]), 0.5, restitution, law)
        assert math.hypot(p[1], p[2]) <= 0.5 * p[0]
        # Two slips part by no more than what they start with, in the norm of the inverse tangential block.
        stuck, _ = solve(delassus, np.array([-2.0, -1.5, 0.0]), 0.5, restitution, law)
        np.testing.assert_allclose(p, stuck, atol=50.0 * abs(across))
        if restitution == 0.0:
            assert mode == "stick"
            np.testing.assert_allclose(p, -np.linalg.solve(delassus, [-2.0, -1.5, across]), atol=1e-9)


@pytest.mark.parametrize("friction", [0.2, 0.39])
def test_next_to_the_plane_is_nearly_as_in_the_plane(friction):
    """Slip that just misses rest leaves in the direction in which a contact leaves it."""
    delassus = np.array([[1.0, -0.4, 0.0], [-0.4, 1.0, 0.0], [0.0, 0.0, 0.3]])
    plane, _ = solve(delassus, [-1.0, 0.1, 0.0], friction, 0.5)
    for across in (1e-4, 1e-7, 1e-10, 1e-13):
        beside, _ = solve(delassus, [-1.0, 0.1, across], friction, 0.5)
        np.testing.assert_allclose(beside, plane, atol=20.0 * across + 1e-9)


@given(entries, velocities, st.floats(0.0, 1.5), st.floats(0.0, 1.0))
@settings(max_examples=200)
def test_laws_of_the_fixed_direction(values, velocity, friction, restitution):
    delassus, velocity = delassus_from(values), np.array(velocity)
    impulse = fixed_direction(delassus.tolist(), velocity.tolist(), friction, restitution)
    p = np.array(impulse[:3])
    after = velocity + delassus @ p
    # Rounding, scaled by the largest velocity that the sum cancels.
    scale = 1e-9 * (1.0 + np.abs(velocity).max() + np.abs(delassus @ p).max())
    assert p[0] > 0.0
    assert abs(after[0] + restitution * velocity[0]) < scale
    assert np.hypot(p[1], p[2]) <= friction * p[0] * (1 + 1e-12) + 1e-15
    if impulse.mode == "stick":
        assert np.hypot(after[1], after[2]) < scale
    slip = np.hypot(velocity[1], velocity[2])
    full_friction = np.isclose(np.hypot(p[1], p[2]), friction * p[0], rtol=1e-12)
    if impulse.mode == "slide" and slip > 1e-6 and not full_friction:
        # Limited friction has brought the slip along its line to rest.
        assert abs(after[1:] @ velocity[1:]) < scale * slip


def test_paper_000_while_the_slip_keeps_its_way():
    delassus = np.diag([0.5, 0.7, 0.9])
    velocity = np.array([-0.3, 0.4, 0.3])
    friction = 0.3
    p = np.array(fixed_direction(delassus.tolist(), velocity.tolist(), friction, 0.0)[:3])
    u = velocity[1:] / 0.5
    # Eq. (16): J_N M^-1 J_mu^T is the normal row of the Delassus matrix against (1, -mu u).
    expected = 0.3 / (delassus[0] @ [1.0, *(-friction * u)])
    np.testing.assert_allclose(p, [expected, *(-friction * u * expected)], atol=1e-15)


def test_enough_friction_sticks_and_wild_coupling_never_pulls():
    p = fixed_direction([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], [-1.0, 0.2, 0.1], 0.5, 0.0)
    assert p.mode == "stick"
    # mu W_nt above W_nn: Rey Arias 2024's normal impulse would be negative.
    jam = fixed_direction([[0.5, 0.65, 0.0], [0.65, 1.0, 0.0], [0.0, 0.0, 1.0]], [-1.0, 1.0, 0.0], 1.0, 0.0)
    assert jam.normal > 0.0


def test_contact_without_slip_follows_where_the_normal_drives_it():
    delassus = [[0.5, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]]
    slippery = fixed_direction(delassus, [-1.0, 0.0, 0.0], 0.1, 0.0)
    assert slippery.mode == "slide"
    assert slippery.tangent_1 == -0.1 * slippery.normal
    assert fixed_direction(delassus, [-1.0, 0.0, 0.0], 0.5, 0.0).mode == "stick"
