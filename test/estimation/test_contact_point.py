"""Contact points from jumps made by hand: recovered where they can be, reported as unknown where not."""

import json

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.contact_point import ContactPointProblem, JointJump
from impact_aware.impact.predictor import predict
from impact_aware.recordings.contact_check import check_contact
from impact_aware.records import VelocityEstimate

POINT = np.array([0.04, -0.07, 0.11])
DIRECTIONS = ([0.3, -0.9, 1.4], [-1.1, 0.2, 0.7], [0.5, 1.2, -0.4])


def jumped(robot, impulse, *, noise=0.0, seed=0, point=POINT, inertia="M+B_theta", turn=0.3):
    """What an impulse at the point does, by the chain of velocities: finite differences of where the point is."""
    q = robot.home + turn * np.array([0.5, -0.3, 0.7, 0.2, -0.9, 0.4, 0.6]) * (1.0 + seed)
    jacobian, step = np.empty((3, robot.n)), 1e-6
    for joint in range(robot.n):
        ahead, behind = q.copy(), q.copy()
        ahead[joint] += step
        behind[joint] -= step
        jacobian[:, joint] = (robot.placement(ahead).act(point) - robot.placement(behind).act(point)) / (2.0 * step)
    jump = np.linalg.solve(robot.mass_matrix(q, inertia), jacobian.T @ np.array(impulse))
    jump = jump + noise * np.random.default_rng(seed).standard_normal(robot.n)
    return JointJump(q, jump, np.full(robot.n, max(noise, 1e-5)))


def test_three_hits_tell_the_point_and_their_impulses(robot):
    hits = [jumped(robot, impulse, seed=seed) for seed, impulse in enumerate(DIRECTIONS)]
    fit = ContactPointProblem(robot, hits, model_error=1e-4).fit()
    assert fit.determined and fit.determined_along
    np.testing.assert_allclose(fit.point, POINT, atol=1e-5)
    np.testing.assert_allclose(fit.impulses, DIRECTIONS, atol=1e-4)
    assert fit.unexplained < 1e-5 and fit.freedom == 21 - 12
    # The links alone would be jumped otherwise.
    other = ContactPointProblem(robot, hits, model_error=1e-4, inertia="M").fit()
    assert other.unexplained > 0.02


def test_one_hit_tells_the_line_of_its_impulse_and_not_where_on_it(robot):
    hit = jumped(robot, DIRECTIONS[0])
    fit = ContactPointProblem(robot, [hit], model_error=1e-5).fit()
    assert fit.determined and not fit.determined_along
    line = robot.placement(hit.q).rotation.T @ np.array(DIRECTIONS[0])
    assert abs(fit.along @ line) / np.linalg.norm(line) == pytest.approx(1.0, abs=1e-6)
    # Nearest to the frame, across the line; the distance of every point of the line is nothing.
    assert fit.point @ line == pytest.approx(0.0, abs=1e-6)
    assert fit.distance(POINT) < 1e-5 and fit.distance(POINT + 0.3 * line) < 1e-5
    across = np.cross(line, [1.0, 0.0, 0.0])
    assert fit.distance(POINT + 0.05 * across / np.linalg.norm(across)) == pytest.approx(0.05, abs=1e-4)


def test_errors_hold_the_truth_and_show_what_is_not_determined(robot):
    ratios, determined = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        hits = [jumped(robot, rng.standard_normal(3), noise=0.01, seed=4 * seed + k, turn=0.01) for k in range(3)]
        fit = ContactPointProblem(robot, hits, model_error=0.0).fit()
        determined += fit.determined
        apart = fit.point - POINT
        if fit.determined_along:
            ratios.append(float(apart @ np.linalg.solve(fit.covariance, apart)))
    # Three squares of unit spread: 7.8 holds 95 of 100, here with 40 draws at most.
    assert len(ratios) >= 20 and 0.85 <= np.mean(np.array(ratios) < 7.815)
    weak = ContactPointProblem(robot, [jumped(robot, [0.02, 0.0, 0.03], noise=0.05)]).fit()
    assert not weak.determined and weak.error_across > 0.02


def test_what_is_left_at_another_point(robot):
    hits = [jumped(robot, impulse, seed=seed) for seed, impulse in enumerate(DIRECTIONS)]
    assert ContactPointProblem(robot, hits).explained_at(POINT)[1] < 1e-6
    assert ContactPointProblem(robot, hits).explained_at(np.zeros(3))[1] > 0.1
    # A share of the jump, and a sum over its errors.
    loose = [JointJump(hit.q, hit.jump, 10.0 * hit.error) for hit in hits]
    tight = ContactPointProblem(robot, hits, model_error=0.0).explained_at(np.zeros(3))
    wide = ContactPointProblem(robot, loose, model_error=0.0).explained_at(np.zeros(3))
    assert tight[0] == pytest.approx(100.0 * wide[0]) and tight[1] == pytest.approx(wide[1])


@pytest.mark.parametrize(("offset", "verdict"), [(POINT, "agrees"), ([0.0, 0.0, 0.0], "another_point")])
def test_the_check_says_when_another_point_explains_the_jump_far_better(robot, offset, verdict):
    hit = jumped(robot, DIRECTIONS[0])
    before = -hit.jump
    estimate = VelocityEstimate(
        "cubic", 0.0, before + hit.jump, np.full(7, 1e-3), before, np.full(7, 1e-3), (0.0, 0.1), 20, np.zeros(7),
        np.zeros(0), np.zeros(0), True,
    )  # fmt: skip
    contact = Contact(robot.tool_frame, np.array([0.1, -0.5, 0.85]), offset=np.array(offset))
    check = check_contact(robot, hit.q, estimate, predict(robot, hit.q, before, contact))
    assert check.verdict in (verdict, "cannot_tell" if verdict == "agrees" else verdict)
    np.testing.assert_allclose(check.assumed, offset, atol=1e-9)
    if verdict == "another_point":
        assert "another point explains the jump far better" in check.note and "tool" in check.note
        assert check.distance > 0.05 and check.unexplained > 5.0 * check.fit.unexplained
    assert check_contact(robot, hit.q, None, predict(robot, hit.q, before, contact)) is None


def test_both_velocities_of_a_table_err(robot, tmp_path, capsys):
    hit, error = jumped(robot, DIRECTIONS[0]), np.full(robot.n, 0.05)
    before, after = -hit.jump, np.zeros(robot.n)
    np.savez(tmp_path / "hit.npz", q=[hit.q], before=[before], after=[after], error=[error])
    words = ("contact-point", str(tmp_path / "hit.npz"), "--contact-frame", "panda_hand", "--json")
    assert main(["identify", *words]) == 0
    found = json.loads(capsys.readouterr().out)["fits"][0]["impulse_errors"]
    whole = JointJump(hit.q, hit.jump, np.sqrt(2.0) * error)
    np.testing.assert_allclose(found, ContactPointProblem(robot, [whole], "panda_hand").fit().impulse_errors, rtol=1e-6)


def test_refusals(robot):
    with pytest.raises(InvalidInputError, match="at least one jump"):
        ContactPointProblem(robot, []).fit()
    with pytest.raises(InvalidInputError, match="values > 0"):
        JointJump(robot.home, robot.home, np.zeros(7))
    with pytest.raises(InvalidInputError, match="not zero"):
        JointJump(robot.home, np.zeros(7), np.ones(7))
    with pytest.raises(InvalidInputError, match="2 joints"):
        ContactPointProblem(robot, [JointJump(np.zeros(2), np.ones(2), np.ones(2))]).fit()
