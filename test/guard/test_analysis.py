"""Work of an analysis: covariances per estimate, tests per candidate; and its false contacts in free motion."""

import numpy as np
import pytest

from impact_aware.estimation import branch_model
from impact_aware.estimation.both_sides import fit_both_sides
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.kink_finder import KinkFinder
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.recordings import free_motions

MOST_FACTORS = 28
"""Covariances of an estimate: 14 motions at two levels of the noise; instants and other hypotheses share them."""

MOST_CALLS = 24_000
"""Python calls of that estimate."""

MOST_TESTS_PER_KNOCK = 5
"""Tests by likelihoods per knock: some of the oscillation after it are tested as well, again where a window changes."""

MOST_COVARIANCES_PER_KNOCK = 28_000
"""Covariances that are factorised per knock where torques are measured: likelihoods of joints and of the momentum."""

MOST_FALSE_CONTACTS = 2
"""In 7.5 min of free motion at 100 Hz, 5 min of it as robots stream: 1, and 3 where counts of periods are certain."""


@pytest.fixture(scope="module")
def knocks():
    """Times (k,) and positions (k, 7) of 8 s at 200 Hz with 16 knocks, after which joints swing."""
    rng = np.random.default_rng(3)
    times = np.arange(0.0, 8.0, 0.005)
    positions = 0.1 * np.sin(np.outer(times, np.linspace(0.8, 1.6, 7)))
    for at in np.linspace(0.4, 7.4, 16):
        since = np.maximum(times - at, 0.0)[:, None]
        jump, turn = rng.uniform(-0.6, 0.6, 7), 2.0 * np.pi * rng.uniform(18.0, 40.0, 7)
        positions += jump * (1.0 - np.exp(-12.0 * since)) / 12.0 * np.exp(-2.0 * since)
        positions += 0.5 * jump / turn * np.exp(-0.05 * turn * since) * np.sin(turn * since)
    return times, positions + 1e-5 * rng.standard_normal(positions.shape)


def test_an_estimate_factorises_each_covariance_once(knocks, calls, monkeypatch):
    times, positions = knocks
    near = np.abs(times - 0.4) < 0.2
    count = 0
    cholesky = np.linalg.cholesky

    def counted(matrix):
        nonlocal count
        count += 1 if matrix.ndim == 2 else len(matrix)
        return cholesky(matrix)

    monkeypatch.setattr(np.linalg, "cholesky", counted)
    # With so small an error of the time, one search finds the instant.
    spent = calls(lambda: fit_both_sides(times[near] - 0.4, positions[near], 1e-6))
    assert 0 < count <= MOST_FACTORS
    assert spent <= MOST_CALLS


def test_tests_per_knock(knocks):
    times, positions = knocks
    finder = KinkFinder(0.005)
    finder.feed(ArmSamples(times, positions))
    finder.finish()
    assert sum(candidate.is_jump for candidate in finder.candidates) >= 14
    assert finder.tests <= MOST_TESTS_PER_KNOCK * 16


def test_covariances_per_knock_of_an_arm_with_torques(knocks, monkeypatch):
    times, positions = knocks
    robot = RobotModel.from_profile("panda")
    positions = positions + robot.home
    torques = np.array([robot.gravity(posture) for posture in positions])
    torques += 0.1 * np.random.default_rng(5).standard_normal(torques.shape)
    count = 0
    likelihoods = branch_model.marginals

    def counted(covariances, *others):
        nonlocal count
        count += len(covariances)
        return likelihoods(covariances, *others)

    monkeypatch.setattr(branch_model, "marginals", counted)
    finder = KinkFinder(0.005, robot)
    finder.feed(ArmSamples(times, positions, efforts=torques))
    finder.finish()
    assert sum(candidate.is_jump for candidate in finder.candidates) >= 14
    assert count <= MOST_COVARIANCES_PER_KNOCK * 16


def test_false_contacts_in_free_motion():
    jobs = {place: (77400 + 4 * place, 100) for place in range(15)}
    found = free_motions(jobs, workers=2)
    assert sum(own["false_contacts"] for own in found.values()) <= MOST_FALSE_CONTACTS
