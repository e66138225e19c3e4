"""What the offline form marks is what the online form sees: each detector's signal over its bound, sample by sample."""

import numpy as np
import pytest
from sliders import two_sliders

from impact_aware.detection import JointSample, make_detector
from impact_aware.detection.detector import ImpactDetector
from impact_aware.detection.recording import Recording

PERIOD = 1e-3
COUNT = 160
ROBOT = two_sliders()
TIMES = np.arange(COUNT) * PERIOD
POSITIONS = np.stack((0.4 * TIMES + 0.05 * np.sin(9.0 * TIMES), -0.3 * TIMES), axis=1)
VELOCITIES = np.stack((0.4 + 0.45 * np.cos(9.0 * TIMES), np.full(COUNT, -0.3)), axis=1)


def efforts(seed, spread):
    """Friction of 15 and -9 N m, and noise of which some samples in a hundred are over the bounds."""
    return np.random.default_rng(seed).normal([15.0, -9.0], spread, (COUNT, 2))


def levels_of(detector: ImpactDetector, recording):
    """The largest level of every sample, online."""
    found = []
    for index in range(len(recording)):
        assert detector.update(recording.sample(index)) is None
        found.append(detector.level)
    return np.array(found)


NEVER = {"confirmation_samples": COUNT}
ERRORS = {"acceleration_error": (0.11, 0.16)}


@pytest.mark.parametrize("limit", [1.0, 0.9])
@pytest.mark.parametrize(
    ("name", "options", "spread", "signals"),
    [
        ("torque_residual", {**NEVER, "threshold": 4.0}, 1.2, ("efforts",)),
        ("torque_residual", {**NEVER, "threshold": 4.0, "effort_sign": -1.0}, 1.2, ("efforts",)),
        ("torque_residual", {**NEVER, "threshold": 4.0, "effort_sign": -1.0}, 1.2, ("efforts", "references")),
        ("torque_residual", {**NEVER, "threshold": 3.0, "joints": (1,)}, 1.2, ("efforts", "references")),
        ("torque_residual", {**NEVER, "threshold": 23.0, "bias_removal": False}, 1.2, ("efforts", "references")),
        ("torque_residual", {**NEVER, "threshold": 4.0, "baseline_samples": 4, "baseline_gap": 0}, 1.2, ("efforts",)),
        (
            "momentum_observer",
            {**NEVER, "robot": ROBOT, **ERRORS, "threshold": (1.7, 2.2)},
            1.2,
            ("velocities", "efforts"),
        ),
        (
            "momentum_observer",
            {**NEVER, "robot": ROBOT, "acceleration_error": 0.0, "threshold": 1.6, "effort_sign": -1.0, "samples": 2},
            0.8,
            ("velocities", "efforts"),
        ),
        (
            "momentum_observer",
            {**NEVER, "robot": ROBOT, **ERRORS, "threshold": (60.0, 13.0), "samples": 4, "baseline_samples": 0},
            1.2,
            ("velocities", "efforts"),
        ),
        (
            "momentum_observer",
            {**NEVER, "robot": ROBOT, **ERRORS, "threshold": (1.5, 1.9), "effort_kind": "motor"},
            1.2,
            ("velocities", "efforts"),
        ),
    ],
)
def test_exactly_the_samples_over_the_bound_are_marked(name, options, spread, signals, limit):
    given = {
        "velocities": VELOCITIES,
        "efforts": efforts(3, spread),
        "effort_references": np.stack((2.0 + np.sin(70.0 * TIMES), np.cos(50.0 * TIMES)), axis=1),
    }
    if "references" not in signals:
        del given["effort_references"]
    if "velocities" not in signals:
        del given["velocities"]
    recording = Recording(2, TIMES, POSITIONS, **given)
    detector = make_detector(name, 2, encoder_resolution=0.0, **options)
    marked = detector._screen(recording, limit)
    levels = levels_of(make_detector(name, 2, encoder_resolution=0.0, **options), recording)
    begin = 20 if name == "torque_residual" else 25
    assert 0.01 < (levels >= limit)[begin:].mean() < 0.99
    np.testing.assert_array_equal(marked[begin:], (levels >= limit)[begin:])
    # What the detector still waits for is silent online, and no reason to look offline.
    assert marked[0] and not marked[1:begin][levels[1:begin] < limit].any()


@pytest.mark.parametrize("source", ["position", "velocity"])
@pytest.mark.parametrize(("joints", "half_width"), [(None, 2), ((1,), 1), ((0,), 3)])
def test_exactly_the_accelerations_over_the_bound_are_marked(source, joints, half_width):
    # One or the other joint jumps to and fro, so that no acceleration is confirmed.
    rng = np.random.default_rng(4)
    there = 2 * half_width * (np.arange(COUNT) % (4 * half_width + 1) == 0)
    size = 2e-5 * rng.uniform(0.0, 1.0, (COUNT, 2)) * there[:, None]
    recording = Recording(2, TIMES, POSITIONS + size, VELOCITIES + 1e3 * size)
    options = {"source": source, "joints": joints, "half_width": half_width, "confirmation_share": 1.0}
    options |= {"threshold": 9.0, "refractory_time": 0.0, "encoder_resolution": 0.0}
    detector = make_detector("acceleration", 2, **options)
    levels = []
    for index in range(COUNT):
        detector.update(recording.sample(index))
        levels.append(np.max(detector.levels))
    levels = np.array(levels)
    for limit in (1.0, 0.5):
        marked = make_detector("acceleration", 2, **options)._screen(recording, limit)
        begin = 2 * half_width + 1
        assert 0.0 < (levels >= limit)[begin:].mean() < 0.9
        np.testing.assert_array_equal(marked[begin:], (levels >= limit)[begin:])


@pytest.mark.parametrize("name", ["torque_residual", "momentum_observer", "acceleration"])
@pytest.mark.parametrize("signal", ["velocities", "efforts", "effort_references"])
def test_a_sample_without_a_value_that_the_detector_needs_is_marked(name, signal):
    options = {"momentum_observer": {"robot": ROBOT}, "acceleration": {"source": "velocity"}}.get(name, {})
    given = {name: np.full((COUNT, 2), 3.0) for name in ("velocities", "efforts", "effort_references")}
    detector = make_detector(name, 2, **options)
    given["velocities"] = VELOCITIES.copy()
    assert np.flatnonzero(detector._screen(Recording(2, TIMES, POSITIONS, **given), 1.0)).tolist() == [0]
    given[signal][100, 1] = np.nan
    needs = {
        "torque_residual": ("efforts", "effort_references"),
        "momentum_observer": ("velocities", "efforts"),
        "acceleration": ("velocities",),
    }[name]
    marked = detector._screen(Recording(2, TIMES, POSITIONS, **given), 1.0)
    assert marked[100] == (signal in needs) and not marked[1:100].any()


def test_too_few_samples_are_all_looked_at():
    for name, options, enough in (
        ("torque_residual", {}, 16),
        ("momentum_observer", {"robot": ROBOT}, 17),
    ):
        for count in (enough - 1, enough):
            rows = [each[:count] for each in (TIMES, POSITIONS, VELOCITIES, efforts(3, 1e-3))]
            marked = make_detector(name, 2, **options)._screen(Recording(2, *rows), 1.0)
            assert marked.all() == (count < enough)


def test_without_its_signal_a_detector_looks_at_what_is_irregular_only():
    times = TIMES.copy()
    times[80:] += 5e-3
    kinds = {"torque_residual": {}, "momentum_observer": {"robot": ROBOT}, "acceleration": {"source": "velocity"}}
    for name, options in kinds.items():
        marked = make_detector(name, 2, **options)._screen(Recording(2, times, POSITIONS), 1.0)
        assert np.flatnonzero(marked).tolist() == [0, 80]
    # Velocities that have to be fitted are fitted online.
    assert (
        make_detector("momentum_observer", 2, robot=ROBOT)
        ._screen(Recording(2, times, POSITIONS, None, efforts(3, 1e-3)), 1.0)
        .all()
    )


@pytest.mark.parametrize(
    ("change", "marked"),
    [
        (lambda t, q: t.__setitem__(slice(80, None), t[80:] + 1e-3), [80]),
        (lambda t, q: t.__setitem__(80, t[80] + 0.4e-6), [80, 81]),
        (lambda t, q: t.__setitem__(80, t[80] + 0.2e-6), []),
        (lambda t, q: q.__setitem__(80, q[79]), [80]),
        (lambda t, q: q.__setitem__((80, 0), q[79, 0]), []),
        (lambda t, q: q.__setitem__((80, 1), np.nan), [80, 81]),
        (lambda t, q: q.__setitem__((slice(80, None), 1), q[80:, 1] + 3.1), [80]),
        (lambda t, q: q.__setitem__((slice(80, None), 1), q[80:, 1] - 2.9), []),
    ],
)
def test_irregular_are_gaps_repeats_missing_values_and_whole_turns(change, marked):
    times, positions = TIMES.copy(), POSITIONS.copy()
    change(times, positions)
    found = Recording(2, times, positions).irregular(PERIOD, 0.6e-6)
    assert np.flatnonzero(found).tolist() == [0, *marked]


def test_a_sample_of_a_recording_has_its_row_of_every_signal():
    rows = [np.arange(6.0).reshape(3, 2) + 10.0 * k for k in range(4)]
    sample = Recording(2, [1.0, 2.0, 3.0], *rows).sample(1)
    assert isinstance(sample, JointSample) and sample.time == 2.0
    found = (sample.position, sample.velocity, sample.effort, sample.effort_reference)
    assert [row.tolist() for row in found] == [[2.0, 3.0], [12.0, 13.0], [22.0, 23.0], [32.0, 33.0]]
    bare = Recording(2, [1.0], [[5.0, 6.0]]).sample(0)
    assert bare.velocity is bare.effort is bare.effort_reference is None
