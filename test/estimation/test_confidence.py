"""Intervals of a mean, whose spread is known."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.estimation.confidence import Problem, fit_with_intervals

FIGURES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


def test_intervals_of_a_mean_are_those_of_its_standard_error():
    """Of five figures with a standard deviation of s = 1.58: s / sqrt(5), by Student's t."""
    one = np.ones(1)
    problem = Problem(lambda mean: (FIGURES - mean)[:, None], 0.3 * one, -10.0 * one, 10.0 * one, one)
    fit = fit_with_intervals(problem, 0.6827)
    spread = 1.1416 * np.std(FIGURES, ddof=1) / np.sqrt(5.0)
    assert fit.values[0] == pytest.approx(0.0, abs=1e-6) and fit.residual_rms == pytest.approx(np.sqrt(2.0))
    assert 0.5 * (fit.upper[0] - fit.lower[0]) == pytest.approx(spread, rel=0.03)


def test_residuals_that_are_no_figures_do_not_count():
    """Five figures, each beside a zero that was not measured."""
    one, measured = np.ones(1), np.array([1.0, 0.0])
    problem = Problem(lambda mean: (FIGURES - mean)[:, None] * measured, 0.3 * one, -10.0 * one, 10.0 * one, one)
    assert fit_with_intervals(replace(problem, figures=5), 0.5).residual_rms == pytest.approx(np.sqrt(2.0))


def test_figures_of_a_series_that_repeat_each_other_count_once():
    """200 figures, each five times: intervals are those of 200, not of 1000."""
    figures = np.random.default_rng(3).standard_normal(200)
    one, series = np.ones(1), np.repeat(figures, 5)[None]
    fit = fit_with_intervals(Problem(lambda mean: series - mean, 0.3 * one, -10.0 * one, 10.0 * one, one, series=True))
    assert fit.upper[0] - fit.lower[0] == pytest.approx(2.0 * 1.972 * np.std(figures) / np.sqrt(199.0), rel=0.1)
