"""The design of an experiment: its information is the fit's own, and planned impacts tell more than random ones."""

import numpy as np
import pytest
from rigid_trials import with_noise

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.experiment import (
    candidate_impacts,
    choose_impacts,
    expected_errors,
    inertia_information,
)
from impact_aware.estimation.identification import identify_motor_inertia

NOISE = 2e-3


@pytest.fixture(scope="module")
def candidates(robot):
    return candidate_impacts(robot, np.random.default_rng(2), 60, friction=0.3, velocity_error=NOISE)


@pytest.fixture(scope="module")
def information(robot, candidates):
    return inertia_information(robot, candidates)


@pytest.mark.slow
def test_expected_errors_are_those_of_repeated_identification(robot, candidates, information):
    chosen = choose_impacts(information, 20)
    expected = expected_errors(information[chosen])
    rng = np.random.default_rng(5)
    known = robot.apparent_motor_inertia
    found = [
        identify_motor_inertia(robot, [with_noise(candidates[index], rng, NOISE) for index in chosen]).values
        for _ in range(12)
    ]
    spread = np.std(np.array(found) / known, axis=0, ddof=1)
    # Twelve repeats know a standard deviation to 21 %; three times that, on seven joints.
    assert np.all(np.abs(spread / expected - 1.0) < 0.65)


def test_planned_impacts_tell_every_joint_better_than_chance(information):
    planned = expected_errors(information[choose_impacts(information, 10)])
    chance = [expected_errors(information[np.random.default_rng(k).choice(60, 10, replace=False)]) for k in range(5)]
    assert np.sum(planned**2) < 0.6 * np.median([np.sum(errors**2) for errors in chance])


def test_more_impacts_never_tell_less(information):
    chosen = choose_impacts(information, 12)
    errors = [expected_errors(information[chosen[:count]]) for count in (1, 4, 8, 12)]
    assert np.all(np.diff(errors, axis=0) <= 1e-12)
    assert len(set(chosen)) == 12


def test_a_given_surface_is_kept(robot):
    for trial in candidate_impacts(robot, np.random.default_rng(0), 5, restitution=0.4, normal=(0.0, 0.0, 2.0)):
        np.testing.assert_array_equal(trial.contact.normal, [0.0, 0.0, 1.0])
        row = robot.frame_jacobian(trial.q)[2]
        assert row @ trial.velocity_before < 0.05
        assert row @ trial.velocity_after == pytest.approx(-0.4 * row @ trial.velocity_before)


def test_numbers_out_of_range_are_refused(robot, information):
    for count in (0, 61):
        with pytest.raises(InvalidInputError, match="count"):
            choose_impacts(information, count)
    with pytest.raises(InvalidInputError, match="velocity_error"):
        candidate_impacts(robot, np.random.default_rng(0), 1, velocity_error=0.0)
