"""Missing, held, slow and scattered samples of hard motion raise no alarm, and impacts are found all the same."""

import dataclasses

import numpy as np
import pytest

from impact_aware.detection import JointSample, make_detector, windowed_detector
from impact_aware.detection.motion_window import MotionWindow
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.detection_trials import MeasurementNoise, free_motion, simulate_trial

ROBOT = RobotModel.from_profile("panda")
NOISE = MeasurementNoise()
PERIOD = 1e-3
# Impacts of 0.31, 0.5, 0.24, 0.43 and 0.31 m/s.
SEEDS = {500: "rigid_box", 501: "flexible", 503: "flexible", 508: "rigid_box", 510: "rigid_table"}


@pytest.fixture(scope="module")
def free():
    (chunk,) = [chunk.measured(NOISE, 1) for chunk in free_motion(ROBOT, 8.0, 5)]
    return chunk


@pytest.fixture(scope="module")
def trials():
    return [simulate_trial(ROBOT, plant, seed).measured(NOISE, seed) for seed, plant in SEEDS.items()]


def dropped(trial, share, rng):
    kept = rng.random(len(trial.times)) >= share
    return trial.times[kept], trial.positions[kept]


def bursts(trial, share, rng):
    kept = np.ones(len(trial.times), dtype=bool)
    for begin in np.flatnonzero(rng.random(len(kept)) < share):
        kept[begin : begin + rng.integers(1, 8)] = False
    return trial.times[kept], trial.positions[kept]


def wrong_stamps(trial, share, rng):
    return trial.times + PERIOD * rng.uniform(-share, share, len(trial.times)), trial.positions


def uneven_sampling(trial, share, rng):
    shift = PERIOD * rng.uniform(-share, share, len(trial.times))
    return trial.times + shift, trial.positions + shift[:, None] * trial.velocities


def late(times, share, rng):
    """Single stamps are late, by a period on average; those after them wait."""
    delay = PERIOD * rng.exponential(1.0, len(times)) * (rng.random(len(times)) < share)
    return np.maximum.accumulate(times + delay + 1e-9 * np.arange(len(times)))


def stalled(times, periods, rng):
    """A sender that stops for up to so many periods, and then sends what has waited at once."""
    stamps = times.copy()
    for begin in np.cumsum(rng.integers(20, 120, len(times) // 20)):
        since = (times - times[0]) / PERIOD - begin
        waited = (since >= 0.0) & (since < rng.uniform(0.3, periods))
        if waited.any():
            stamps[waited] = times[waited][-1] + PERIOD * rng.uniform(0.05, 1.0) + 2e-5 * np.arange(waited.sum())
    return stamps


def late_samples(trial, share, rng):
    return late(trial.times, share, rng), trial.positions


def stalls(trial, periods, rng):
    return stalled(trial.times, periods, rng), trial.positions


def held(trial, count, rng):
    return trial.times, trial.positions[np.arange(len(trial.times)) // count * count]


def slow(trial, count, rng):
    return trial.times[::count], trial.positions[::count]


# (fault, its size, longest median delay in ms, how many of the impacts may be missed)
FAULTS = [
    (dropped, 0.2, 4.0, 0),
    # Of 40 %, one in forty gaps is longer than what is bridged; an impact in the samples after such a gap gets lost.
    (dropped, 0.4, 5.0, 2),
    (bursts, 0.02, 4.0, 1),
    (wrong_stamps, 0.3, 4.0, 1),
    (uneven_sampling, 0.3, 5.0, 1),
    (late_samples, 0.03, 4.0, 0),
    (stalls, 8.0, 4.0, 1),
    (held, 2, 5.0, 0),
    (held, 4, 11.0, 0),
    (slow, 4, 11.0, 0),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "size", "delay", "missing"), FAULTS, ids=lambda value: getattr(value, "__name__", None)
)
def test_faults_of_a_source_fake_no_impact_and_hide_none(free, trials, fault, size, delay, missing):
    rng = np.random.default_rng(17)
    source = {"encoder_resolution": NOISE.encoder_resolution, "position_noise": NOISE.position}
    assert make_detector("adaptive_window", ROBOT.n, **source).detect(*fault(free, size, rng)) == []
    delays = []
    for trial in trials:
        first = trial.impact_times[0]
        events = make_detector("adaptive_window", ROBOT.n, **source).detect(*fault(trial, size, rng))
        assert all(event.time_detected >= first for event in events)
        delays += [1e3 * (event.time_detected - first) for event in events[:1] if event.time_detected < first + 0.02]
    assert len(delays) >= len(trials) - missing
    assert np.median(delays) < delay


@pytest.mark.slow
@pytest.mark.parametrize("rate", [200, 500, 1000])
@pytest.mark.parametrize(("fault", "size"), [(late, 0.03), (stalled, 6.0), (stalled, 20.0)])
def test_late_stamps_are_no_impact_at_any_rate(rate, fault, size):
    """Twelve motions of 2.5 s; the stamps are scaled to the rate, as the faults are in periods of 1 ms."""
    for seed in range(12):
        rng = np.random.default_rng(1000 + seed)
        times = np.arange(int(2.5 * rate)) / rate
        speeds, phases, sizes = rng.uniform(0.4, 3.0, 7), rng.uniform(0.0, 6.0, 7), rng.uniform(0.05, 0.6, 7)
        positions = sizes * np.sin(speeds * times[:, None] + phases) + 3e-6 * rng.standard_normal((len(times), 7))
        stamps = fault(times * rate * PERIOD, size, np.random.default_rng(seed)) / (rate * PERIOD)
        source = {"sampling_period": 1.0 / rate, "position_noise": 3e-6}
        found = make_detector("adaptive_window", 7, **source).detect(stamps, np.round(positions / 1e-5) * 1e-5)
        assert found == [], (seed, found[0].time)


@pytest.mark.slow
def test_missing_samples_are_within_the_wider_bound():
    """Random motion with the largest allowed variation of the acceleration, seen through random gaps."""
    rng = np.random.default_rng(8)
    detector = make_detector("adaptive_window", 1, encoder_resolution=1e-6, refractory_time=0.0)
    fine = 10
    for _ in range(6):
        steps = np.repeat(rng.choice([-10.0, 10.0], 150), rng.integers(2, 60, 150))
        slope = np.diff(steps, prepend=steps[0])
        # Steps of the acceleration of 20 rad/s^2, the whole of what is allowed.
        assert np.abs(slope).max() <= 20.0
        acceleration = np.repeat(steps, fine)
        velocity = np.cumsum(acceleration) * PERIOD / fine
        position = np.round(np.cumsum(velocity)[::fine] * PERIOD / fine / 1e-6) * 1e-6
        kept = rng.random(len(position)) > rng.uniform(0.0, 0.6)
        times = np.flatnonzero(kept) * PERIOD
        assert detector.detect(times, position[kept, None]) == [], dataclasses.asdict(detector.drops)


@pytest.mark.parametrize("seed", range(2))
def test_an_old_value_in_place_of_a_lost_one_is_no_impact(seed):
    """One sample in fifty is lost and one in fifty repeats its predecessor, which may be a lost one."""
    rng = np.random.default_rng(seed)
    times = np.arange(0.0, 6.0, 1e-3)
    phases, speeds, sizes = rng.uniform(0, 6, 7), rng.uniform(0.3, 1.0, 7), rng.uniform(0.15, 0.5, 7)
    positions = sizes * np.sin(2.0 * np.pi * speeds * times[:, None] + phases)
    positions = 1e-5 * np.round(positions / 1e-5)
    held = np.flatnonzero(rng.random(len(times) - 1) < 0.02) + 1
    sent = positions.copy()
    sent[held] = positions[held - 1]
    arrived = rng.random(len(times)) >= 0.02
    # Every tenth repeat is of a sample that nobody got.
    arrived[held[::10] - 1], arrived[held[::10]] = False, True
    detector = make_detector("adaptive_window", 7)
    assert detector.detect(times[arrived], sent[arrived]) == []


def test_an_impact_whose_time_can_not_be_fitted_is_told_at_its_sample(trials, monkeypatch):
    fit = windowed_detector.fit_kink
    monkeypatch.setattr(
        windowed_detector, "fit_kink", lambda *arguments: dataclasses.replace(fit(*arguments), time=np.nan)
    )
    detector = make_detector("adaptive_window", ROBOT.n)
    trial = trials[0]
    events = [detector.update(JointSample(*row)) for row in zip(trial.times, trial.positions, strict=True)]
    first = next(event for event in events if event is not None)
    assert first.time == first.time_detected
    assert np.isfinite(first.position).all()
    assert np.isnan(first.velocity_before).all()


def test_mixture_gives_the_rows_from_the_real_samples():
    rng = np.random.default_rng(6)
    window = MotionWindow(2, 30, PERIOD, np.zeros(2))
    kept = [index for index in range(400) if rng.random() > 0.35]
    real = {}
    for index in kept:
        position = 0.1 * rng.standard_normal(2)
        if not window.accept(JointSample(index * PERIOD, position)):
            continue
        real[index] = position
        trusted = int(window.counts.min())
        mixture = window.mixture
        if mixture is None or trusted < 12:
            continue
        columns = np.array([real.get(index - age, np.full(2, np.nan)) for age in range(29, -1, -1)])
        used = np.abs(mixture).sum(axis=0) > 0.0
        for row in range(30 - trusted + 8, 30):
            weights = mixture[row]
            assert not np.isnan(columns[weights != 0.0]).any()
            np.testing.assert_allclose(weights[used] @ np.nan_to_num(columns[used]), window.positions[row], atol=1e-9)
            # Parabolas are bridged exactly.
            grid = np.arange(-29.0, 1.0)
            np.testing.assert_allclose(weights @ np.stack((grid**0, grid, grid**2), axis=1), grid[row] ** np.arange(3))
