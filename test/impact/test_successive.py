"""Contacts between soft pads that meet one after another."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.impact.cone_complementarity import solve_cone_complementarity
from impact_aware.impact.successive import LONGEST, follow_successive, solve_successive


def problem(seed, count=3, bodies=9):
    rng = np.random.default_rng(seed)
    jacobian = rng.normal(size=(3 * count, bodies))
    inverse = np.diag(rng.uniform(0.2, 3.0, bodies))
    velocity = rng.normal(size=3 * count)
    velocity[::3] = -rng.uniform(0.2, 0.6, count)
    return jacobian @ inverse @ jacobian.T, velocity, rng.uniform(0.1, 0.9, count)


@pytest.mark.parametrize("seed", range(5))
def test_contacts_that_meet_at_once_are_the_simultaneous_impact_whatever_the_pad(seed):
    delassus, velocity, friction = problem(seed)
    expected = solve_cone_complementarity(delassus, velocity, friction).impulse
    for time_constant in (1e-4, 0.03):
        found = solve_successive(delassus, velocity, friction, np.zeros(3), time_constant)
        np.testing.assert_allclose(found.impulse, expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_very_soft_pads_bring_all_into_one_impact_and_hard_ones_make_one_impact_each(seed):
    delassus, velocity, friction = problem(seed, count=2)
    gaps = np.array([0.0, 4e-4])
    at_once = solve_cone_complementarity(delassus, velocity, friction).impulse
    soft = solve_successive(delassus, velocity, friction, gaps, 1.0).impulse
    # The second contact comes some 1 ms into an impact of 1 s.
    np.testing.assert_allclose(soft, at_once, atol=5e-3 * np.abs(at_once).max())
    first = solve_cone_complementarity(delassus[:3, :3], velocity[:3], friction[:1]).impulse
    between = velocity + delassus[:, :3] @ first
    hard = solve_successive(delassus, velocity, friction, gaps, 1e-6)
    if between[3] >= 0.0:
        np.testing.assert_allclose(hard.impulse, [*first, 0.0, 0.0, 0.0], atol=1e-9)
        return
    # It is more than `LONGEST` time constants later, so no part of this impact.
    assert 4e-4 / -between[3] > LONGEST * 1e-6
    np.testing.assert_allclose(hard.impulse, [*first, 0.0, 0.0, 0.0], atol=1e-9)


def test_a_second_contact_meets_what_the_first_has_left_by_then():
    """A board falls on two pads on one side of its centre, the nearer one lower; by hand, the first speed decaying."""
    mass, inertia, tau, speed, gap = 1.3, 0.05, 2e-3, 0.4, 3e-4
    rows = np.array([[1.0, 0.25], [1.0, 0.1]])
    normal = rows @ np.diag([1.0 / mass, 1.0 / inertia]) @ rows.T
    delassus = np.zeros((6, 6))
    delassus[np.ix_([0, 3], [0, 3])] = normal
    delassus[[1, 2, 4, 5], [1, 2, 4, 5]] = 1.0
    velocity = np.array([-speed, 0.0, 0.0, -speed, 0.0, 0.0])
    found = solve_successive(delassus, velocity, np.zeros(2), np.array([0.0, gap]), tau).impulse

    # Alone, the first contact would stop with the impulse p; the other one then moves at `later`.
    p = speed / normal[0, 0]
    later = -speed + normal[1, 0] * p
    times = np.linspace(0.0, 0.01, 2_000_001)
    heights = gap + later * times + (-speed - later) * tau * (1.0 - np.exp(-times / tau))
    touch = times[np.argmax(heights <= 0.0)]
    share = 1.0 - np.exp(-touch / tau)
    assert 0.1 < share < 0.9
    now = np.array([-speed, -speed]) + normal[:, 0] * (share * p)
    rest = np.linalg.solve(normal, -now)
    expected = np.array([share * p, 0.0]) + rest
    if rest.min() < 0.0:
        # Tied together the first one would pull: the second alone is stopped, and the first one leaves.
        assert rest[0] < 0.0
        expected = np.array([share * p, -now[1] / normal[1, 1]])
        assert now[0] + normal[0, 1] * expected[1] > 0.0
    np.testing.assert_allclose(found[[0, 3]], expected, rtol=1e-5)
    # Neither both at once nor one after the other.
    at_once = solve_cone_complementarity(delassus, velocity, np.zeros(2)).impulse
    assert np.abs(found - at_once).max() > 0.02 * np.abs(at_once).max()


@pytest.mark.parametrize("seed", range(20))
def test_no_energy_is_made_and_nothing_approaches_afterwards(seed):
    delassus, velocity, friction = problem(seed, count=4, bodies=14)
    gaps = np.random.default_rng(seed).uniform(0.0, 6e-4, 4)
    gaps[1] = 0.0
    found = solve_successive(delassus, velocity, friction, gaps, 2e-3)
    assert found.residual < 1e-8
    impulse = found.impulse
    assert impulse @ (velocity + 0.5 * delassus @ impulse) <= 1e-12
    pushed = impulse[::3]
    assert pushed.min() >= -1e-12
    assert np.all(np.hypot(impulse[1::3], impulse[2::3]) <= friction * pushed + 1e-9)
    after = velocity + delassus @ impulse
    touched = pushed > 0.0
    assert after[::3][touched].min() > -1e-8


@pytest.mark.parametrize(
    ("gaps", "time_constant", "named"),
    [
        ([1e-3, 2e-3, 1e-3], 2e-3, "gaps"),
        ([0.0, -1e-3, 0.0], 2e-3, "gaps"),
        ([0.0, np.nan, 0.0], 2e-3, "gaps"),
        ([0.0, 0.0], 2e-3, "gaps"),
        ([0.0, 0.0, 0.0], 0.0, "time_constant"),
    ],
)
def test_gaps_and_pads_that_are_none_are_refused(gaps, time_constant, named):
    with pytest.raises(InvalidInputError, match=named):
        solve_successive(*problem(1), np.array(gaps), time_constant)


@pytest.mark.parametrize("seed", range(4))
def test_the_course_is_what_velocities_add_up_to_and_ends_where_the_whole_impact_does(seed):
    delassus, velocity, friction = problem(seed)
    gaps, tau = np.array([0.0, 3e-4, 9e-4]), 2e-3

    def course(until):
        return follow_successive(delassus, velocity, friction, gaps, tau, until=until)

    for time in (4e-4, 1e-3, 2.1e-3, 5.3e-3):
        step = 1e-7
        before, now, after = (course(time + k * step) for k in (-1, 0, 1))
        moving = (after.displacement - before.displacement) / (2.0 * step)
        np.testing.assert_allclose(moving, velocity + delassus @ now.impulse, atol=1e-5)
        # A contact that touches has no gap; one that has not yet is where its velocity has brought it.
        expected = gaps + now.displacement[::3]
        np.testing.assert_allclose(now.gaps[expected > 1e-5], expected[expected > 1e-5], rtol=1e-9)
        assert (now.gaps[expected < -1e-5] < 1e-5).all()
    whole = solve_successive(delassus, velocity, friction, gaps, tau).impulse
    np.testing.assert_allclose(course(40.0 * tau).impulse, whole, atol=2e-2 * np.abs(whole).max())


def test_a_contact_at_an_infinite_distance_takes_no_part_but_tells_how_far_it_has_come():
    delassus, velocity, friction = problem(3)
    gaps = np.array([0.0, np.inf, 2e-4])
    with_it = follow_successive(delassus, velocity, friction, gaps, 2e-3, until=6e-3)
    rows = np.array([0, 1, 2, 6, 7, 8])
    without = follow_successive(
        delassus[np.ix_(rows, rows)], velocity[rows], friction[[0, 2]], gaps[[0, 2]], 2e-3, until=6e-3
    )
    np.testing.assert_allclose(with_it.impulse[rows], without.impulse, atol=1e-12)
    assert not with_it.impulse[3:6].any() and abs(with_it.displacement[3]) > 1e-5
    assert with_it.gaps[1] == np.inf


@pytest.mark.parametrize("until", [0.0, -1e-3, np.nan, np.inf])
def test_a_time_that_is_none_is_refused(until):
    with pytest.raises(InvalidInputError, match="until"):
        follow_successive(*problem(1), np.zeros(3), 2e-3, until=until)


def test_a_contact_that_moves_apart_gets_no_push_until_it_comes_back():
    """It touches and moves apart at 0.1 m/s; the other one's impact drives it back, small steps say when."""
    normal = np.array([[1.0, -0.6], [-0.6, 0.9]])
    delassus = np.zeros((6, 6))
    delassus[np.ix_([0, 3], [0, 3])] = normal
    delassus[[1, 2, 4, 5], [1, 2, 4, 5]] = 1.0
    velocity, tau = np.array([-0.5, 0.0, 0.0, 0.1, 0.0, 0.0]), 2e-3
    now, gaps, pushes, step = velocity[[0, 3]].copy(), np.zeros(2), np.zeros(2), tau / 4000
    back = None
    for k in range(4 * 4000):
        touching = (gaps <= 0.0) & (now <= 0.0)
        if touching[1] and back is None:
            back = k * step
        push = np.zeros(2)
        if touching.all():
            push = np.linalg.solve(normal, -now)
        elif touching.any():
            push[touching] = -now[touching] / np.diag(normal)[touching]
        assert push.min() >= 0.0
        pushes += push * step / tau
        now = now + normal @ push * (step / tau)
        gaps = gaps + step * now
    assert 0.2 * tau < back < 2.0 * tau
    found = follow_successive(delassus, velocity, np.zeros(2), np.zeros(2), tau, until=4.0 * tau)
    np.testing.assert_allclose(found.impulse[[0, 3]], pushes, rtol=3e-3)
    early = follow_successive(delassus, velocity, np.zeros(2), np.zeros(2), tau, until=0.8 * back)
    assert early.impulse[3] == 0.0
