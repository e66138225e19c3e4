import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.impact import IMPACT_MAPS

fixed_direction_impulse = IMPACT_MAPS["fixed-direction"]

# Small numbers that make unlike cases: tilted coupling, all directions of slip, slip from none to fast.
entries = st.lists(st.floats(-1.0, 1.0), min_size=9, max_size=9)
velocities = st.tuples(st.floats(-2.0, -1e-3), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))


def delassus_from(values):
    root = np.array(values).reshape(3, 3)
    return root @ root.T + 0.05 * np.eye(3)


@given(entries, velocities, st.floats(0.0, 1.5), st.floats(0.0, 1.0))
@settings(max_examples=200)
def test_laws(values, velocity, friction, restitution):
    delassus, velocity = delassus_from(values), np.array(velocity)
    impulse = fixed_direction_impulse(delassus.tolist(), velocity.tolist(), friction, restitution)
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


@given(entries, velocities, st.floats(0.0, 1.5), st.floats(0.0, 1.0), st.floats(0.0, 6.3))
@settings(max_examples=100)
def test_turning_the_tangents_turns_the_answer(values, velocity, friction, restitution, angle):
    delassus, velocity = delassus_from(values), np.array(velocity)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    p = fixed_direction_impulse(delassus.tolist(), velocity.tolist(), friction, restitution)
    turned = fixed_direction_impulse(
        (turn @ delassus @ turn.T).tolist(), (turn @ velocity).tolist(), friction, restitution
    )
    if p.mode == turned.mode and np.hypot(*velocity[1:]) > 1e-6:
        # The slip's direction is known to rounding over its speed.
        np.testing.assert_allclose(turned[:3], turn @ p[:3], atol=1e-7 * (1.0 + abs(p.normal)))


def test_paper_000_while_the_slip_keeps_its_way():
    delassus = np.diag([0.5, 0.7, 0.9])
    velocity = np.array([-0.3, 0.4, 0.3])
    friction = 0.3
    p = np.array(fixed_direction_impulse(delassus.tolist(), velocity.tolist(), friction, 0.0)[:3])
    u = velocity[1:] / 0.5
    # Eq. (16): J_N M^-1 J_mu^T is the normal row of the Delassus matrix against (1, -mu u).
    expected = 0.3 / (delassus[0] @ [1.0, *(-friction * u)])
    np.testing.assert_allclose(p, [expected, *(-friction * u * expected)], atol=1e-15)


def test_enough_friction_sticks_and_wild_coupling_never_pulls():
    p = fixed_direction_impulse([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5]], [-1.0, 0.2, 0.1], 0.5, 0.0)
    assert p.mode == "stick"
    # mu W_nt above W_nn: Rey Arias 2024's normal impulse would be negative.
    jam = fixed_direction_impulse([[0.5, 0.65, 0.0], [0.65, 1.0, 0.0], [0.0, 0.0, 1.0]], [-1.0, 1.0, 0.0], 1.0, 0.0)
    assert jam.normal > 0.0


def test_contact_without_slip_follows_where_the_normal_drives_it():
    delassus = [[0.5, 0.3, 0.0], [0.3, 1.0, 0.0], [0.0, 0.0, 1.0]]
    slippery = fixed_direction_impulse(delassus, [-1.0, 0.0, 0.0], 0.1, 0.0)
    assert slippery.mode == "slide"
    assert slippery.tangent_1 == -0.1 * slippery.normal
    assert fixed_direction_impulse(delassus, [-1.0, 0.0, 0.0], 0.5, 0.0).mode == "stick"
