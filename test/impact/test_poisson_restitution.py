"""Restitution of simultaneous contacts: Poisson's, by hand, and that no energy is ever made."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.impact.poisson_restitution import expansion_friction, expansion_share, solve_poisson


def test_uncoupled_contacts_by_hand():
    # 2 kg sliding along y with mu 0.25, 8 kg sticking, 0.5 kg without friction that leaves.
    delassus = np.diag([0.5] * 3 + [0.125] * 3 + [2.0] * 3)
    velocity = np.array([-1.0, 3.0, 0.0, -0.5, 0.02, -0.01, 0.3, 0.4, 0.0])
    solution = solve_poisson(delassus, velocity, np.array([0.25, 0.9, 0.0]), np.array([0.5, 0.2, 1.0]))
    # Normal impulses (1 + e) m v; friction all of mu times that where it slides, only the stop where it sticks.
    np.testing.assert_allclose(solution.impulse, [3.0, -0.75, 0.0, 4.8, -0.16, 0.08, 0.0, 0.0, 0.0], atol=1e-9)
    after = velocity + delassus @ solution.impulse
    np.testing.assert_allclose(after, [0.5, 2.625, 0.0, 0.1, 0.0, 0.0, 0.3, 0.4, 0.0], atol=1e-9)


def test_slip_that_friction_stops_within_the_expansion_stays_stopped():
    # In compression friction takes 0.5 * 1 of 0.7 m/s, in expansion the other 0.2, not the 0.25 it could.
    solution = solve_poisson(np.eye(6), np.array([-1.0, 0.7, 0, 1.0, 0, 0]), np.full(2, 0.5), np.full(2, 0.5))
    np.testing.assert_allclose(solution.impulse, [1.5, -0.7, 0.0, 0.0, 0.0, 0.0], atol=1e-9)


def coupled():
    """Two contacts without friction that push each other back: 1 kg each, coupled by -0.9."""
    delassus = np.eye(6)
    delassus[0, 3] = delassus[3, 0] = -0.9
    return delassus, np.array([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0])


def test_what_one_contact_gives_back_is_no_more_than_both_took():
    delassus, velocity = coupled()
    compression = np.array([10.0, 0, 0, 10.0, 0, 0])
    # Both took 10 J; 10 N s at one contact alone would give 50.
    assert expansion_share(delassus, velocity, compression, np.array([10.0, 0, 0, 0, 0, 0])) == pytest.approx(0.2**0.5)
    assert expansion_share(delassus, velocity, compression, 0.3 * compression) == 1.0
    solution = solve_poisson(delassus, velocity, np.zeros(2), np.array([1.0, 0.0]))
    bounce = 10.0 * math.sqrt(0.2)
    # The other contact, pushed at 0.9 times the bounce, is stopped.
    np.testing.assert_allclose(solution.impulse, [10.0 + bounce, 0, 0, 10.0 + 0.9 * bounce, 0, 0], atol=1e-8)
    after = velocity + delassus @ solution.impulse
    np.testing.assert_allclose(after[::3], [(1.0 - 0.81) * bounce, 0.0], atol=1e-8)


def test_equal_coefficients_give_the_approach_back():
    delassus, velocity = coupled()
    velocity[3] = -0.8
    solution = solve_poisson(delassus, velocity, np.zeros(2), np.full(2, 0.6))
    np.testing.assert_allclose((velocity + delassus @ solution.impulse)[::3], [0.6, 0.48], atol=1e-9)


def test_friction_of_the_expansion_is_the_best_within_its_discs():
    generator = np.random.default_rng(4)
    jacobian = generator.normal(size=(12, 8))
    delassus, velocity = jacobian @ jacobian.T, generator.normal(size=12)
    radius = np.array([0.05, 0.0, 0.1, 10.0])
    best = expansion_friction(delassus, velocity, radius)
    assert not best[::3].any() and not best[3:6].any()
    left = velocity + delassus @ best
    for k in (0, 2):
        own, slip = best[3 * k + 1 : 3 * k + 3], left[3 * k + 1 : 3 * k + 3]
        # On the edge, against the slip that is left.
        assert np.hypot(*own) == pytest.approx(radius[k], rel=1e-9)
        np.testing.assert_allclose(own, -radius[k] * slip / np.hypot(*slip), atol=1e-8)
    np.testing.assert_allclose(left[10:], 0.0, atol=1e-8)


@given(st.integers(2, 6), st.integers(0, 10**6), st.booleans(), st.floats(-3.0, 0.0))
@settings(max_examples=150)
def test_no_energy_is_made_impulses_lie_in_their_cones_and_nothing_approaches(count, seed, alike, unlike):
    generator = np.random.default_rng(seed)
    jacobian = generator.uniform(-1.0, 1.0, (3 * count, 7)) * 10.0 ** generator.uniform(unlike, 0.0, (3 * count, 1))
    delassus, velocity = jacobian @ jacobian.T, jacobian @ generator.normal(size=7)
    friction = generator.uniform(0.0, 1.0, count) * (generator.random(count) < 0.7)
    restitution = np.full(count, generator.random()) if alike else generator.random(count)
    solution = solve_poisson(delassus, velocity, friction, restitution)
    p, v = solution.impulse.reshape(-1, 3), (velocity + delassus @ solution.impulse).reshape(-1, 3)
    size = 1e-8 * (1.0 + np.abs(p).max())
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] + size).all()
    if solution.residual < 1e-7:
        assert (v[:, 0] >= -1e-6).all()
    energy = solution.impulse @ (velocity + 0.5 * delassus @ solution.impulse)
    assert energy <= 1e-9 * (1.0 + np.abs(p).max())
