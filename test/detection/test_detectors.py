"""What holds for every detector: found jumps, silence without them, and offline equal to online on faulty input."""

import dataclasses
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.detection import DETECTORS, JointSample, make_detector
from impact_aware.detection.papers import impact_sensitivity
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

PERIOD = 1e-3
NORMAL = np.array([0.0, 0.0, 1.0])
ROBOT = RobotModel.from_profile("panda")
N = ROBOT.n
CURRENTS = RobotModel.from_profile(replace(ROBOT.profile, effort_kind="current"))
BARE = ROBOT.model.copy()
BARE.armature = np.zeros(N)
DATA = BARE.createData()


def build(name):
    return make_detector(name, N, robot=ROBOT, normal=NORMAL)


def recording(rng, count, impacts=(), approach=0.5):
    """Smooth motion; an impact moves the joints along gamma within 2 ms, and the sensors feel B_theta ddq."""
    times = np.arange(count) * PERIOD
    phases, rates = rng.uniform(0, 6.28, N), 2 * np.pi * rng.uniform(0.3, 1.5, N)
    amplitudes = rng.uniform(2.0, 8.0, N) / rates**2
    accelerations = -amplitudes * rates**2 * np.sin(np.outer(times, rates) + phases)
    positions = ROBOT.home + amplitudes * np.sin(np.outer(times, rates) + phases)
    velocities = amplitudes * rates * np.cos(np.outer(times, rates) + phases)
    jump = impact_sensitivity(ROBOT, ROBOT.home, NORMAL)
    jump *= approach / (NORMAL @ ROBOT.frame_jacobian(ROBOT.home)[:3] @ jump)
    expected = np.array([pin.rnea(BARE, DATA, *row) for row in zip(positions, velocities, accelerations, strict=True)])
    efforts = expected.copy()
    for instant in impacts:
        late = np.clip((times - instant) / 2e-3, 0.0, 1.0)
        velocities = velocities + np.outer(late, jump)
        positions = positions + np.outer(np.maximum(times - instant, 0) - 2e-3 * (late - 0.5 * late**2), jump)
        efforts[(late > 0) & (late < 1)] -= ROBOT.apparent_motor_inertia * jump / 2e-3
    positions = np.round(positions / 1e-5) * 1e-5
    return [times, positions, velocities, efforts, expected]


def run(detector, rows):
    samples = [JointSample(*values) for values in zip(*rows, strict=True)]
    return [event for event in map(detector.update, samples) if event is not None]


def assert_same(events, others):
    assert len(events) == len(others), (events, others)
    np.testing.assert_equal([*map(dataclasses.asdict, events)], [*map(dataclasses.asdict, others)])


@pytest.mark.parametrize("name", DETECTORS)
def test_impact_is_found_once_within_five_milliseconds(name):
    instant = 0.2003
    rows = recording(np.random.default_rng(1), 300, [instant])
    detector = build(name)
    (event,) = detector.detect(*rows)
    assert event.detector == name
    assert instant < event.time_detected < instant + 5e-3
    # The contact takes 2 ms, and the fit does not know that.
    assert event.time == pytest.approx(instant, abs=1e-3)
    assert event.residual.shape == event.position.shape == event.velocity_before.shape == (N,)
    assert event.residual.max() > 0.0


@pytest.mark.parametrize("name", DETECTORS)
def test_smooth_motion_is_silent(name):
    assert build(name).detect(*recording(np.random.default_rng(2), 5000)) == []


@pytest.mark.parametrize("name", DETECTORS)
@settings(max_examples=5)
@given(
    seed=st.integers(0, 1000),
    faults=st.lists(
        st.tuples(
            st.integers(5, 230),
            st.sampled_from(["nan", "held", "gap", "long_gap", "back", "jitter", "no_effort", "no_velocity", "glitch"]),
        ),
        max_size=5,
    ),
    cuts=st.lists(st.integers(0, 240), max_size=3),
)
def test_offline_equals_online(name, seed, faults, cuts):
    rng = np.random.default_rng(seed)
    rows = recording(rng, 240, [0.1003, 0.1803])
    times, positions, velocities, efforts, _ = rows
    for index, kind in faults:
        if kind == "nan":
            positions[index, rng.integers(N)] = np.nan
        elif kind == "held":
            positions[index : index + 3] = positions[index]
        elif kind == "gap":
            times[index:] += 2 * PERIOD
        elif kind == "long_gap":
            times[index:] += 30 * PERIOD
        elif kind == "back":
            times[index:] -= 0.1
        elif kind == "jitter":
            times[index] += 0.2 * PERIOD
        elif kind == "no_effort":
            efforts[index : index + 2] = np.nan
        elif kind == "no_velocity":
            velocities[index, rng.integers(N)] = np.nan
        elif kind == "glitch":
            positions[index, rng.integers(N)] += 0.02
            efforts[index, rng.integers(N)] += 50.0
    online, offline, chunked = build(name), build(name), build(name)
    events = run(online, rows)
    assert_same(events, offline.detect(*rows))
    assert replace(online.drops) == offline.drops
    pieces = []
    for chunk in np.split(np.arange(240), sorted(cuts)):
        pieces += chunked.process(*(row[chunk] for row in rows))
    assert_same(events, pieces)


@pytest.mark.parametrize("name", ["torque_residual", "momentum_observer"])
def test_missing_torques_are_survived_in_silence(name):
    times, positions, velocities, _, _ = recording(np.random.default_rng(4), 300, [0.2003])
    assert build(name).detect(times, positions, velocities) == []
    assert build(name).update(JointSample(0.0, positions[0], velocities[0], "none")) is None


def test_fusion_on_positions_only_is_the_adaptive_window():
    rows = recording(np.random.default_rng(7), 300, [0.2003])
    alone = build("adaptive_window").detect(*rows)
    for robot in (None, CURRENTS):
        found = make_detector("fusion", N, robot=robot).detect(*rows)
        assert [event.time_detected for event in found] == [event.time_detected for event in alone] != []
    # Torques make it quicker, never slower.
    assert build("fusion").detect(*rows)[0].time_detected <= alone[0].time_detected


@pytest.mark.parametrize(
    ("name", "parameters", "field"),
    [
        ("torque_residual", {"baseline_gap": 5}, "'baseline_gap', expected one of"),
        ("momentum_observer", {"robot": CURRENTS}, "effort_kind"),
        ("momentum_observer", {}, "robot"),
        ("sensitive_joint", {"robot": ROBOT, "normal": [0, 0, 0]}, "normal"),
    ],
)
def test_wrong_parameters_are_named(name, parameters, field):
    with pytest.raises(InvalidInputError, match=field):
        make_detector(name, N, **parameters)
