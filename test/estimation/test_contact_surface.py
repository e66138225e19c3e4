"""Normal and friction from jumps by the law of the test: recovered where they can be, reported as unknown where not."""

import numpy as np
import pytest
from scipy.optimize import brentq

from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import JointJump
from impact_aware.estimation.contact_surface import FIXED_LAW, FREE_LAW, fit_contact_surface
from impact_aware.impact.predictor import predict

TIP = np.array([0.04, -0.07, 0.11])
NORMAL = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])


def slid(robot, seed, *, friction=0.3, radius=0.0, mass=None, bounce=0.4):
    """A hit by hand, without an impact map: t is such that what friction -mu t does keeps the slip along t.

    Then the impulse is p (n - mu t), the slip stays on t, and the normal velocity goes from v to -e v.
    """
    rng = np.random.default_rng(seed)
    q = robot.home + rng.uniform(-0.3, 0.3, robot.n)
    place = robot.placement(q)
    touched = place.actInv(place.act(TIP) - radius * NORMAL)
    jacobian, step = np.empty((3, robot.n)), 1e-6
    for joint in range(robot.n):
        ahead, behind = q.copy(), q.copy()
        ahead[joint] += step
        behind[joint] -= step
        jacobian[:, joint] = (robot.placement(ahead).act(touched) - robot.placement(behind).act(touched)) / (2.0 * step)
    response = np.linalg.solve(robot.mass_matrix(q, "M+B_theta"), jacobian.T)
    whole = jacobian @ response + (0.0 if mass is None else np.eye(3) / mass)
    first = np.cross(NORMAL, [0.0, 0.6, 0.8])
    first /= np.linalg.norm(first)

    def along(angle):
        return np.cos(angle) * first + np.sin(angle) * np.cross(NORMAL, first)

    def turning(angle):
        return float(along(angle + 0.5 * np.pi) @ whole @ (NORMAL - friction * along(angle)))

    angles = rng.uniform(0.0, 2.0 * np.pi) + np.linspace(0.0, 2.0 * np.pi, 73)
    low = next(k for k in range(72) if turning(angles[k]) * turning(angles[k + 1]) <= 0.0)
    side = along(brentq(turning, angles[low], angles[low + 1], xtol=1e-14))
    impulse = rng.uniform(0.5, 1.5) * (NORMAL - friction * side)
    change = whole @ impulse
    slip = 0.3 + max(0.0, -float(change @ side))
    before = np.linalg.pinv(jacobian) @ (slip * side - float(change @ NORMAL) / (1.0 + bounce) * NORMAL)
    return JointJump(q, response @ impulse, np.full(robot.n, 1e-4), before)


def hit_by_map(robot, seed, mode, *, friction, noise=0.0):
    """A hit of random posture and speed that ends as asked, by the impact map."""
    rng = np.random.default_rng(seed)
    while True:
        q = robot.home + rng.uniform(-0.3, 0.3, robot.n)
        before = rng.uniform(-0.6, 0.6, robot.n)
        bounce = float(rng.uniform(0.1, 0.7))
        contact = Contact(robot.tool_frame, NORMAL, offset=TIP, friction=friction, restitution=bounce)
        found = predict(robot, q, before, contact)
        if found.mode == mode and np.abs(found.velocity_after - before).max() > 0.2:
            break
    seen = before + noise * rng.standard_normal(robot.n)
    after = found.velocity_after + noise * rng.standard_normal(robot.n)
    return JointJump(q, after - seen, np.full(robot.n, max(np.sqrt(2.0) * noise, 1e-5)), seen)


def degrees(one, other):
    return float(np.degrees(np.arccos(np.clip(one @ other, -1.0, 1.0))))


@pytest.mark.parametrize(("radius", "mass"), [(0.0, None), (0.03, 1.7)])
def test_hits_by_hand_tell_normal_friction_and_tip_together(robot, radius, mass):
    hits = [slid(robot, seed, radius=radius, mass=mass) for seed in range(3)]
    fit = fit_contact_surface(robot, hits, radius=radius, object_mass=mass, model_error=1e-4, law_error=0.0)
    assert fit.normal_determined and fit.friction_determined and not fit.rivals and fit.modes == ("slide",) * 3
    assert degrees(fit.normal, NORMAL) < 0.1 and fit.friction == pytest.approx(0.3, abs=2e-3)
    np.testing.assert_allclose(fit.offset, TIP, atol=1e-3)
    # The mass of what gives way decides which normal velocity the impulse belongs to.
    np.testing.assert_allclose(fit.restitution, 0.4, atol=0.01)
    assert fit.unexplained < 1e-3


def test_one_sliding_hit_tells_the_one_when_the_other_is_known(robot):
    hit = slid(robot, 5, friction=0.45, radius=0.03)
    words = {"offset": TIP, "radius": 0.03, "model_error": 1e-4, "law_error": 0.0}
    fit = fit_contact_surface(robot, [hit], friction=0.45, **words)
    assert fit.fitted == ("normal",) and fit.normal_determined and degrees(fit.normal, NORMAL) < 0.1
    assert not fit.friction_determined and fit.friction_error == 0.0
    fit = fit_contact_surface(robot, [hit], normal=2.0 * NORMAL, **words)
    assert fit.fitted == ("friction",) and fit.friction_determined and not fit.normal_determined
    assert fit.friction == pytest.approx(0.45, abs=2e-3) == fit.friction_at_least
    # Both at once: the contact's place on a round tip still tells them; of a bare point, nothing does.
    assert fit_contact_surface(robot, [hit], **words).normal_error < 0.01
    bare = fit_contact_surface(
        robot, [slid(robot, 5, friction=0.45)], offset=TIP, model_error=1e-4, law_error=0.0
    )
    assert not bare.normal_determined and not bare.friction_determined


def test_a_sticking_hit_bounds_the_friction_only(robot):
    hit = hit_by_map(robot, 1, "stick", friction=1.3)
    fit = fit_contact_surface(robot, [hit], normal=NORMAL, offset=TIP, model_error=1e-4)
    assert fit.modes == ("stick",) and not fit.friction_determined
    contact = Contact(robot.tool_frame, NORMAL, offset=TIP, friction=1.3, restitution=float(fit.restitution[0]))
    normal, *along = predict(robot, hit.q, hit.before, contact).contact_impulse[:3]
    assert 0.02 < fit.friction_at_least < 1.3
    assert fit.friction_at_least == pytest.approx(np.hypot(*along) / normal, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("fitted", ["friction", "normal"])
def test_errors_hold_the_truth_in_a_hundred_draws(robot, fitted):
    """Of those determined 95 of 100 are within 1.96 errors, in two directions within 2.45; chance takes 6 from that."""
    given = {"friction": {"normal": NORMAL}, "normal": {"friction": 0.3}}[fitted]
    ratios = []
    for seed in range(100):
        hit = hit_by_map(robot, seed, "slide", friction=0.3, noise=0.005)
        fit = fit_contact_surface(robot, [hit], offset=TIP, model_error=0.0, law_error=0.0, **given)
        if fitted == "friction" and fit.friction_determined:
            ratios.append(abs(fit.friction - 0.3) / fit.friction_error / 1.96)
        if fitted == "normal" and fit.normal_determined:
            ratios.append(np.radians(degrees(fit.normal, NORMAL)) / fit.normal_error / 2.45)
    assert len(ratios) >= 80 and np.mean(np.array(ratios) < 1.0) >= 0.89 and np.mean(ratios) > 0.15


def _off_the_law(robot, seed, friction, share, mass):
    """A hit that slides by hand whose impulse along the surface is off by a share of what friction allows."""
    hit, rng = slid(robot, seed, friction=friction, mass=mass), np.random.default_rng((seed, 9))
    place = robot.placement(hit.q)
    lever = place.act(TIP) - place.translation
    jacobian = robot.frame_jacobian(hit.q)
    columns = jacobian[:3].T + jacobian[3:].T @ np.array(
        [[0.0, -lever[2], lever[1]], [lever[2], 0.0, -lever[0]], [-lever[1], lever[0], 0.0]]
    )
    response = np.linalg.solve(robot.mass_matrix(hit.q, "M+B_theta"), columns)
    impulse = np.linalg.lstsq(response, hit.jump, rcond=None)[0]
    push = float(impulse @ NORMAL)
    off = rng.standard_normal(3)
    off -= float(off @ NORMAL) * NORMAL
    along = impulse - push * NORMAL + share * friction * push * off
    # Nothing leaves the cone.
    along *= min(1.0, friction * push / float(np.linalg.norm(along)))
    jump = response @ (push * NORMAL + along)
    return JointJump(hit.q, jump, np.full(robot.n, 1e-3), hit.before)


@pytest.mark.slow
@pytest.mark.parametrize(("mass", "share"), [(None, FIXED_LAW), (2.3, FREE_LAW)])
def test_errors_hold_where_joints_give_and_one_hit_says_that_it_can_not_tell(robot, mass, share):
    ratios, plain, determined = [], [], 0
    for seed in range(40):
        friction = 0.15 + 0.01 * seed
        hit = _off_the_law(robot, seed, friction, share, mass)
        words = {"friction": friction, "offset": TIP, "object_mass": mass}
        fit = fit_contact_surface(robot, [hit], **words)
        apart = np.radians(degrees(fit.normal, NORMAL))
        ratios.append(apart / fit.normal_error)
        determined += fit.normal_determined
        stiff = fit_contact_surface(robot, [hit], **words, law_error=0.0)
        plain.append(np.radians(degrees(stiff.normal, NORMAL)) / stiff.normal_error)
    # Two errors of the worse of two directions hold 86 to 95 of 100; chance takes 4 of 40 from that.
    assert np.mean(np.array(ratios) <= 2.0) >= 0.8 and np.median(ratios) > 0.1
    assert np.mean(np.array(plain) <= 2.0) < 0.7
    assert determined <= 10


def test_one_hit_bounds_the_friction_only_unless_joints_are_said_to_be_stiff(robot):
    hits = [slid(robot, seed, friction=0.37) for seed in range(3)]
    words = {"normal": NORMAL, "offset": TIP}
    one = fit_contact_surface(robot, hits[:1], **words)
    assert one.modes == ("slide",) and not one.friction_determined
    assert one.friction_at_least == pytest.approx(0.37, abs=0.02)
    assert fit_contact_surface(robot, hits[:1], law_error=0.0, model_error=1e-4, **words).friction_determined
    three = fit_contact_surface(robot, hits, **words)
    assert three.friction == pytest.approx(0.37, abs=0.02) and 0.02 < three.friction_error < 0.3
    with pytest.raises(InvalidInputError, match="law error"):
        fit_contact_surface(robot, hits, law_error=-0.1, **words)


def test_what_can_not_be_fitted_is_refused(robot):
    hit = slid(robot, 2)
    with pytest.raises(InvalidInputError, match="velocity before"):
        fit_contact_surface(robot, [JointJump(hit.q, hit.jump, hit.error)])
    with pytest.raises(InvalidInputError, match="one of them at most"):
        fit_contact_surface(robot, [hit], normal=NORMAL, friction=0.3)
    with pytest.raises(InvalidInputError, match="friction"):
        fit_contact_surface(robot, [hit], friction=-0.1)
    with pytest.raises(InvalidInputError, match="radius"):
        fit_contact_surface(robot, [hit], friction=0.1, radius=-1.0)
