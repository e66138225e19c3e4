"""Standard errors of sums of correlated residuals."""

import numpy as np
import pytest

from impact_aware.estimation.standard_error import autocovariance, variance_of_sum


def correlated(rng, count, memory):
    noise = rng.standard_normal(count + 200)
    for index in range(1, noise.size):
        noise[index] += memory * noise[index - 1]
    return noise[200:]


def test_correlated_residuals_give_the_variance_of_repeated_sums():
    rng = np.random.default_rng(1)
    weights = np.ones(300) / 300
    sums, stated, white = [], [], []
    for _ in range(150):
        residuals = correlated(rng, 300, 0.9)
        sums.append(weights @ residuals)
        covariance = autocovariance(residuals[:, None], 0)[:, 0]
        stated.append(variance_of_sum(weights, covariance))
        white.append(weights @ weights * covariance[0])
    # The taper loses some of the correlation; a variance of 150 sums scatters by 12 %.
    assert 0.6 < np.mean(stated) / np.var(sums) < 1.3
    assert np.mean(white) / np.var(sums) < 0.1


def test_variance_is_the_quadratic_form_with_the_tapered_toeplitz_matrix():
    rng = np.random.default_rng(2)
    residuals = correlated(rng, 60, 0.8)
    weights = rng.standard_normal(60)
    covariance = autocovariance(residuals[:, None], 3)[:, 0]
    column = np.concatenate([covariance, np.zeros(60 - covariance.size)])
    matrix = column[np.abs(np.subtract.outer(np.arange(60), np.arange(60)))]
    expected = max(weights @ matrix @ weights, covariance[0] * weights @ weights)
    assert variance_of_sum(weights, covariance) == pytest.approx(expected, rel=1e-10)
    # Bartlett's taper keeps the matrix positive semi-definite, up to rounding.
    assert np.linalg.eigvalsh(matrix)[0] > -1e-12 * covariance[0]


def test_lost_degrees_of_freedom_are_given_back():
    residuals = np.random.default_rng(3).standard_normal((50, 1))
    assert autocovariance(residuals, 10)[0, 0] == pytest.approx(autocovariance(residuals, 0)[0, 0] * 50 / 40)
