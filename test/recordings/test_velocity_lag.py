"""Velocities that were filtered: their lag is found, with its sign and unit, and no lag where there is none."""

import numpy as np
import pytest

from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.velocity_lag import VelocityLag, velocity_lag

RATES = [200.0, 1000.0]


def window(rate, lag, *, first_order=False, start=3.0, noise=2e-5):
    """0.6 s of four joints, one at rest, whose velocities jump in the middle; recorded `lag` late."""
    rng = np.random.default_rng(5)
    fine = np.arange(-0.2, 0.8, 1e-4)
    swing = np.sin(np.outer(fine, [7.0, 11.0, 5.0, 0.0]))
    velocity = np.array([0.5, -0.3, 0.8, 0.0]) * swing + np.outer(fine > 0.25, [0.4, 0.25, -0.3, 0.0])
    position = np.cumsum(velocity, axis=0) * 1e-4
    late = np.zeros_like(velocity)
    if first_order:
        for row in range(1, len(fine)):
            late[row] = late[row - 1] + 1e-4 / lag * (velocity[row] - late[row - 1])
    else:
        late = np.stack([np.interp(fine - lag, fine, column) for column in velocity.T], axis=1)
    times = np.arange(0.0, 0.6, 1.0 / rate) + 0.1 / rate * rng.uniform(-1.0, 1.0, round(0.6 * rate))
    at = [np.stack([np.interp(times, fine, column) for column in table.T], axis=1) for table in (position, late)]
    return ArmSamples(times + start, at[0] + noise * rng.standard_normal(at[0].shape), at[1])


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("lag", [0.003, 0.012, 0.03])
@pytest.mark.parametrize("first_order", [False, True])
def test_a_lag_is_found(rate, lag, first_order):
    found = velocity_lag([window(rate, lag, first_order=first_order)])
    assert found.lag == pytest.approx(lag, abs=max(4e-4, 0.08 * lag))
    assert 0.09 / rate < found.error and abs(found.lag - lag) <= 3.0 * found.error
    note = found.note(1.0 / rate)
    assert note.startswith(f"the recorded velocities lag the positions by {1e3 * found.lag:.1f} ± ")


@pytest.mark.parametrize("rate", RATES)
def test_velocities_that_are_on_time_are_not_talked_about(rate):
    found = velocity_lag([window(rate, 0.0)])
    # Of a jump between two samples the trapezoids know only that it is there.
    assert abs(found.lag) < max(4e-4, 0.2 / rate) and found.note(1.0 / rate) == ""


def test_a_lag_below_three_errors_or_a_third_of_a_period_is_none():
    assert VelocityLag(0.004, 0.0014).note(1e-3) == ""
    assert VelocityLag(0.0016, 1e-4).note(5e-3) == "" != VelocityLag(0.0018, 1e-4).note(5e-3)
    assert "by 4.0 ± 1.3 ms" in VelocityLag(0.004, 0.0013).note(1e-3)


def test_nothing_is_said_without_velocities_or_motion():
    whole = window(200.0, 0.01)
    assert velocity_lag([ArmSamples(whole.times, whole.positions)]) is None
    assert velocity_lag([ArmSamples(whole.times, whole.positions, np.full_like(whole.positions, np.nan))]) is None
    assert velocity_lag([ArmSamples(whole.times, 0.0 * whole.positions, 0.0 * whole.positions)]) is None
    assert velocity_lag([]) is None


def test_analyze_says_it(tmp_path):
    late = window(1000.0, 0.012)
    names = [f"{kind}_{joint}" for kind in ("q", "dq") for joint in range(4)]
    table = np.column_stack((late.times, late.positions, late.velocities))
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.9f")
    (arm,) = analyze([tmp_path / "run.csv"], AnalysisOptions()).arms
    assert len(arm.impacts) == 1 and arm.impacts[0].time == pytest.approx(3.25, abs=2e-3)
    assert any(note.startswith("the recorded velocities lag the positions by 1") for note in arm.notes)


def test_exact_velocities_across_a_jump_do_not_lag():
    """The trapezoid takes a jump just after a sample for one half a period late."""
    times = np.arange(0.0, 0.6, 0.0025)
    after = times > 0.25
    velocities = np.array([0.5, -0.3, 0.8]) + np.outer(after, [0.4, 0.25, -0.3])
    positions = np.outer(times, [0.5, -0.3, 0.8]) + np.outer(np.maximum(times - 0.25, 0.0), [0.4, 0.25, -0.3])
    found = velocity_lag([ArmSamples(times, positions, velocities)])
    assert found is None or found.note(0.0025) == ""
