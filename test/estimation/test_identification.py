"""Friction, restitution and motor inertia from impacts whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest
from rigid_trials import simulate_rigid_trials

from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.estimation.identification import identify_friction, identify_motor_inertia, identify_restitution
from impact_aware.estimation.trial_predictions import TrialPredictions
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.impact.predictor import predict
from impact_aware.robot import RobotModel, load_robot

NOISE = 2e-3


def trials(robot, seed=0, count=20, noise=NOISE, friction=0.3, restitution=0.0):
    return simulate_rigid_trials(robot, np.random.default_rng(seed), count, noise, friction, restitution)


def test_batched_predictions_are_the_impact_maps(robot):
    """Against `predict`, one by one, with other parameters than the contacts carry."""
    recorded = trials(robot, count=6, friction=0.1, restitution=0.2)
    batch = TrialPredictions(robot, recorded)
    inertia = 1.7 * robot.apparent_motor_inertia
    other = RobotModel.from_profile("panda")
    other.model.armature = inertia
    other.apparent_motor_inertia = inertia
    changed = batch.predict(friction=0.4, restitution=0.5, motor_inertia=inertia)
    for index, trial in enumerate(recorded):
        plain = predict(robot, trial.q, trial.velocity_before, trial.contact)
        # Two ways to solve with the same 7 x 7 matrix.
        np.testing.assert_allclose(batch.predict()[index], plain.velocity_after, atol=1e-10)
        contact = Contact(
            trial.contact.frame, trial.contact.normal, friction=0.4, restitution=0.5, radius=trial.contact.radius
        )
        expected = predict(other, trial.q, trial.velocity_before, contact).velocity_after
        np.testing.assert_allclose(changed[index], expected, atol=1e-10)


def test_free_objects_are_part_of_the_prediction(robot):
    recorded = trials(robot, count=3)
    box = FreeObject(2.2, 0.01 * np.eye(3), robot.placement(recorded[0].q).translation, np.full(6, 0.01))
    hits = [ImpactTrial(t.q, t.velocity_before, t.velocity_after, t.standard_error, t.contact, box) for t in recorded]
    batch = TrialPredictions(robot, hits)
    for index, trial in enumerate(hits):
        expected = predict(robot, trial.q, trial.velocity_before, trial.contact, obstacle=box).velocity_after
        np.testing.assert_allclose(batch.predict()[index], expected, atol=1e-10)


def test_noise_free_impacts_give_the_parameters_back(robot):
    sliding = trials(robot, noise=0.0, count=10)
    bouncing = trials(robot, noise=0.0, count=10, friction=0.1, restitution=0.3)
    # Where the search stops: relative changes of 1e-7 of a cost that is flat there.
    assert identify_friction(robot, sliding).values[0] == pytest.approx(0.3, rel=1e-5)
    assert identify_restitution(robot, bouncing).values[0] == pytest.approx(0.3, rel=1e-5)
    found = identify_motor_inertia(robot, sliding)
    np.testing.assert_allclose(found.values, robot.apparent_motor_inertia, rtol=1e-3)
    assert found.names == robot.joint_names
    assert identify_motor_inertia(robot, sliding, common_ratio=True).values[0] == pytest.approx(1.0, rel=1e-5)


def test_intervals_hold_the_truth_and_are_not_idle(robot):
    found = identify_friction(robot, trials(robot, seed=3))
    assert found.lower[0] < found.values[0] < found.upper[0]
    # Five standard errors of 0.0005, the figure of twenty trials at this noise.
    assert abs(found.values[0] - 0.3) < 0.005
    assert found.upper[0] - found.lower[0] < 0.02
    assert found.determined[0]
    assert found.warnings == ()
    # What is left is the stated noise, once the error of the velocity before is counted in; 140 figures scatter by 6 %.
    assert 0.75 * NOISE < found.error < 1.25 * NOISE


@pytest.mark.slow
def test_intervals_contain_the_truth_about_as_often_as_they_say(robot):
    inside = 0
    for seed in range(30):
        found = identify_restitution(robot, trials(robot, seed=seed, friction=0.1, restitution=0.3))
        inside += bool(found.lower[0] <= 0.3 <= found.upper[0])
    # Binomial with p = 0.95: fewer than 24 of 30 would happen once in 1000.
    assert inside >= 24


@pytest.mark.parametrize("name", ["panda", "kuka_lwr4"])
def test_motors_of_which_nothing_is_known_are_found_as_those_of_which_something_is(name):
    """A profile written by `new-robot` has zeros; wrists' motors are several times their links."""
    arm = RobotModel.from_profile(name)
    recorded = trials(arm, seed=77)
    found = identify_motor_inertia(load_robot(name, (0.0,) * arm.n), recorded)
    wanted = identify_motor_inertia(arm, recorded)
    # Where the search begins is all that differs.
    np.testing.assert_allclose(found.values, wanted.values, rtol=5e-3)
    assert found.determined.all() and found.warnings == ()


def test_fewer_trials_give_wider_intervals(robot):
    few, many = (identify_friction(robot, trials(robot, seed=5, count=count)) for count in (4, 32))
    assert few.upper[0] - few.lower[0] > many.upper[0] - many.lower[0]


def test_impacts_without_slip_can_not_tell_the_friction(robot):
    rng = np.random.default_rng(4)
    normal = np.array([0.0, 0.0, 1.0])
    contact = Contact(robot.tool_frame, normal, radius=robot.tool_radius, friction=5.0)
    q = np.array(robot.home)
    straight = np.linalg.pinv(robot.frame_jacobian(q)) @ np.array([0, 0, -0.2, 0, 0, 0])
    after = predict(robot, q, straight, contact, method="coulomb").velocity_after
    recorded = [
        ImpactTrial(q, straight, after + NOISE * rng.standard_normal(7), np.full(7, NOISE), contact) for _ in range(6)
    ]
    found = identify_friction(robot, recorded, method="coulomb")
    assert not found.determined[0]
    assert any("slid" in line for line in found.warnings)
    assert any("lower bound" in line for line in found.warnings)


def test_a_joint_that_no_impact_moves_is_left_undetermined(robot):
    q = np.array(robot.home)
    contact = Contact(robot.tool_frame, [0.0, 0.0, 1.0], radius=robot.tool_radius)
    velocity = np.array([0.0, 0.1, 0.0, -0.2, 0.0, 0.1, 0.0])
    after = predict(robot, q, velocity, contact).velocity_after
    rng = np.random.default_rng(6)
    recorded = [
        ImpactTrial(q, velocity, after + 1e-3 * rng.standard_normal(7), np.full(7, 1e-3), contact) for _ in range(8)
    ]
    found = identify_motor_inertia(robot, recorded)
    # The motion is in the vertical plane of joints 2, 4 and 6: joint 1 stands across it.
    assert not found.determined[0]
    assert any(line.startswith(robot.joint_names[0]) for line in found.warnings)


def test_restitution_that_falls_with_speed_is_reported(robot):
    rng = np.random.default_rng(7)
    recorded = []
    for trial in trials(robot, noise=0.0, count=20, friction=0.0):
        speed = TrialPredictions(robot, [trial]).approach_speed[0]
        contact = Contact(
            trial.contact.frame, trial.contact.normal, radius=trial.contact.radius, restitution=min(0.9, 0.03 / speed)
        )
        after = predict(robot, trial.q, trial.velocity_before, contact).velocity_after
        noisy = after + 1e-3 * rng.standard_normal(7)
        recorded.append(ImpactTrial(trial.q, trial.velocity_before, noisy, np.full(7, 1e-3), contact))
    found = identify_restitution(robot, recorded)
    assert any("depends on the approach speed" in line for line in found.warnings)


def test_a_wrong_normal_shows_as_unexplained_jumps(robot):
    turned = [
        ImpactTrial(
            t.q, t.velocity_before, t.velocity_after, t.standard_error, Contact("tool", np.roll(t.contact.normal, 1))
        )
        for t in trials(robot)
    ]
    assert any(line.startswith("model") for line in identify_friction(robot, turned).warnings)


def test_bad_input_is_refused(robot):
    good = trials(robot, count=2)
    with pytest.raises(InvalidInputError, match="trials"):
        identify_friction(robot, [])
    with pytest.raises(UnknownNameError):
        identify_friction(robot, good, method="magic")
    with pytest.raises(InvalidInputError, match="confidence"):
        identify_friction(robot, good, confidence=1.0)
    with pytest.raises(InvalidInputError, match="joints"):
        identify_friction(robot, [ImpactTrial(np.zeros(2), np.ones(2), np.ones(2), np.ones(2), good[0].contact)])
    with pytest.raises(InvalidInputError, match="standard_error"):
        ImpactTrial(np.zeros(2), np.ones(2), np.ones(2), np.zeros(2), good[0].contact)


def struck(robot, mass, restitution=0.45, friction=0.2, count=6, noise=1e-3, gain_noise=3e-3, seed=4):
    """Trials whose box was tracked, of an arm that is known, and the rows of the boxes' true gains (k, 3)."""
    rng = np.random.default_rng(seed)
    made, gains = [], []
    for trial in trials(robot, seed=seed, noise=0.0, count=count, friction=friction, restitution=restitution):
        box = FreeObject(mass, 0.02 * mass * np.eye(3), robot.placement(trial.q).translation - [0.02, 0.05, 0.01])
        hit = predict(robot, trial.q, trial.velocity_before, trial.contact, obstacle=box)
        gains.append(hit.object_twist_after[:3])
        made.append(
            ImpactTrial(
                trial.q,
                trial.velocity_before,
                hit.velocity_after + noise * rng.standard_normal(7),
                np.full(7, max(noise, 1e-3)),
                trial.contact,
                box,
                before_error=np.full(7, 1e-3),
                object_gain=gains[-1] + gain_noise * rng.standard_normal(3),
                object_gain_error=np.full(3, max(gain_noise, 1e-3)),
            )
        )
    return made, np.array(gains)


def test_what_a_tracked_object_gains_is_fitted_along(robot):
    made, gains = struck(robot, 1.7, noise=0.0, gain_noise=0.0)
    batch = TrialPredictions(robot, made)
    assert np.abs(gains).min(axis=0).max() > 1e-3 and (batch.figures, batch.tracked) == (60, 6)
    np.testing.assert_allclose(batch.residuals(), 0.0, atol=1e-10)
    wrong = batch.residuals(restitution=0.2)
    expected = [
        predict(
            robot,
            trial.q,
            trial.velocity_before,
            Contact(
                trial.contact.frame, trial.contact.normal, friction=0.2, restitution=0.2, radius=trial.contact.radius
            ),
            obstacle=trial.obstacle,
        ).object_twist_after[:3]
        for trial in made
    ]
    np.testing.assert_allclose(wrong[:, 7:], gains - expected, atol=1e-10)


def test_the_track_tells_the_restitution_where_the_joints_can_not(robot):
    """A light box hardly slows the arm down, whose velocities are known badly here."""
    made, _ = struck(robot, 0.3, noise=0.05)
    found = identify_restitution(robot, made)
    assert found.lower[0] < 0.45 < found.upper[0] and found.upper[0] - found.lower[0] < 0.1
    alone = [replace(trial, object_gain=None, object_gain_error=None) for trial in made]
    assert np.ptp([identify_restitution(robot, alone).lower[0], identify_restitution(robot, alone).upper[0]]) > 0.3
    mixed = identify_restitution(robot, [*made[:4], *alone[4:]])
    assert "object: its track gives its velocity in 4 of 6" in mixed.warnings
    assert mixed.lower[0] < 0.45 < mixed.upper[0]


def test_bad_gains_are_refused(robot):
    trial = struck(robot, 1.0, count=1)[0][0]
    for changed, words in (
        ({"obstacle": None}, "free object"),
        ({"object_gain_error": None}, "standard error"),
        ({"object_gain_error": np.zeros(3)}, "values > 0"),
        ({"object_gain": np.ones(2)}, "object_gain"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            replace(trial, **changed)
