"""Likelihoods under many covariances against the same from dense algebra of NumPy."""

import numpy as np
import pytest

from impact_aware.estimation.marginals import marginals


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def covariances_of(rng, count, samples):
    roots = rng.normal(size=(count, samples, samples))
    return roots @ np.swapaxes(roots, 1, 2) + 0.3 * np.eye(samples)


def log_likelihood(covariance, free, value):
    """Of one series, over an even prior of what nothing is known of, up to the constant of the dimension."""
    inverse = np.linalg.inv(covariance)
    normal = free.T @ inverse @ free
    projection = inverse - inverse @ free @ np.linalg.inv(normal) @ free.T @ inverse
    halves = 0.5 * (np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(normal)[1])
    return -0.5 * value @ projection @ value - halves, projection


@pytest.mark.parametrize("samples", [9, 10, 11, 12, 23])
def test_each_covariance_gives_what_dense_algebra_does(rng, samples):
    covariances = covariances_of(rng, 3, samples)
    free, values = rng.normal(size=(samples, 3)), rng.normal(size=(samples, 2))
    ramps = rng.normal(size=(3, samples, 4))
    base, products, norms = marginals(covariances, free, values, ramps)
    for place in range(3):
        for series in range(2):
            expected, projection = log_likelihood(covariances[place], free, values[:, series])
            assert base[place, series] == pytest.approx(expected, rel=1e-10)
            projected = values[:, series] @ projection @ ramps[place]
            assert products[place, series] == pytest.approx(projected, rel=1e-8, abs=1e-10)
        own = np.einsum("kd,kl,ld->d", ramps[place], projection, ramps[place])
        assert norms[place] == pytest.approx(own, rel=1e-8)


def test_no_ramp_and_broadcast_ramps_are_taken(rng):
    covariances = covariances_of(rng, 2, 8)
    free, values, ramp = rng.normal(size=(8, 3)), rng.normal(size=(8, 1)), rng.normal(size=(8, 1))
    none = marginals(covariances, free, values, np.zeros((2, 8, 0)))
    one = marginals(covariances, free, values, np.broadcast_to(ramp, (2, 8, 1)))
    assert none[0] == pytest.approx(one[0])
    assert none[1].shape == (2, 1, 0)
    assert one[2].shape == (2, 1)


def test_a_covariance_that_is_singular_to_rounding_stays_finite(rng):
    column = rng.normal(size=(8, 1))
    covariances = (column @ column.T + 1e-16 * np.eye(8))[None]
    base, products, norms = marginals(covariances, np.ones((8, 1)), column[:, :1] + 1.0, np.ones((1, 8, 1)))
    assert np.isfinite(base).all()
    assert np.isfinite(products).all()
    assert np.isfinite(norms).all()
