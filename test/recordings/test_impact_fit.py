from dataclasses import replace

import numpy as np

from impact_aware.recordings.impact_fit import curve_after, curve_before


def test_curves_start_with_the_estimates_velocities(make_analysis):
    impact = make_analysis({"": [1.0]}).impacts[0]
    before, after = curve_before(impact), curve_after(impact)
    assert before.times[-1] < 0.0 <= after.times[0] < 1e-3
    # One-sided differences of a cubic over 1 ms: off by half a sample's acceleration, here below 20 rad/s^2.
    assert np.allclose(after.velocities[0], impact.velocity_after_estimated, atol=0.02)
    assert np.allclose(before.velocities[-1], impact.velocity_before, atol=0.01)


def test_curves_are_the_fit_not_the_samples(make_analysis):
    impact = make_analysis({"": [1.0]}).impacts[0]
    after = curve_after(impact)
    # The cubic's third difference is the same all along; noise of 5 microradians would make it jump about.
    third = np.diff(after.positions, n=3, axis=0)
    assert np.ptp(third, axis=0).max() < 1e-9


def test_a_fit_that_is_not_the_estimates_is_not_drawn(make_analysis):
    impact = make_analysis({"": [1.0]}).impacts[0]
    other = replace(impact.estimate, velocity_after=impact.velocity_after_estimated + 0.1)
    assert curve_after(replace(impact, estimate=other)) is None
    assert curve_after(replace(impact, estimate=replace(impact.estimate, method="my own"))) is None
    assert curve_after(replace(impact, estimate=None)) is None


def test_without_samples_before_there_is_no_curve(make_analysis):
    impact = make_analysis({"": [1.0]}).impacts[0]
    window = impact.window
    few = window.times > impact.time
    cut = replace(window, times=window.times[few], positions=window.positions[few], velocities=None)
    assert curve_before(replace(impact, window=cut)) is None
