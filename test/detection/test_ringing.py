"""Joints that ring after an impact are no new impact; a second hit with half the jump is, and a small one later."""

import numpy as np
import pytest

from impact_aware.detection import ImpactEvent, JointSample, WatchEventKind
from impact_aware.detection.ringing import RingingTest
from impact_aware.detection.watch_settings import WatchSettings, make_watch

JUMP = np.array([0.7, -0.45, 0.25])
OMEGA = 2.0 * np.pi * np.array([18.0, 31.0, 46.0])
DAMPING = np.array([0.02, 0.015, 0.05])
STEP = 1e-5


def swinging(time, at, jump):
    """Positions after a hit: velocity jumps, and every joint swings with the jump's velocity."""
    since = np.maximum(time - at, 0.0)[:, None]
    swing = jump / OMEGA * np.exp(-DAMPING * OMEGA * since) * (1.0 - np.cos(OMEGA * since))
    return jump * since + swing


def impacts(rate, hits, *, ringing=True, jitter=0.02, watch=None):
    """Impacts that a watch reports, of hits as pairs of time and share of the jump."""
    rng = np.random.default_rng(3)
    time = 0.3 / rate + np.arange(0.0, 1.2, 1.0 / rate)
    time += jitter / rate * rng.normal(size=len(time))
    position = -0.5 * JUMP * time[:, None] + 0.3
    for at, share in hits:
        position += swinging(time, at, share * JUMP)
    position = STEP * np.round(position / STEP)
    settings = WatchSettings(sampling_period=1.0 / rate, encoder_resolution=STEP, ringing=ringing)
    watch = watch or make_watch(3, settings)
    found = [each for t, q in zip(time, position, strict=True) for each in watch.update(JointSample(float(t), q))]
    return [each.event for each in found if each.kind is WatchEventKind.MADE]


@pytest.mark.parametrize("rate", [200, 500, 1000])
def test_ringing_is_no_impact(rate):
    (event,) = impacts(rate, [(0.3, 1.0)])
    assert event.time == pytest.approx(0.3, abs=max(2e-3, 1.0 / rate))


@pytest.mark.parametrize("rate", [500, 1000])
def test_without_the_test_it_would_be(rate):
    assert len(impacts(rate, [(0.3, 1.0)], ringing=False)) > 2


@pytest.mark.parametrize(("rate", "delay"), [(1000, 0.032), (1000, 0.09), (500, 0.047), (500, 0.2), (200, 0.15)])
@pytest.mark.parametrize("share", [0.5, -0.5])
def test_a_second_hit_is_found_once(rate, delay, share):
    events = impacts(rate, [(0.3, 1.0), (0.3 + delay, share)])
    assert len(events) == 2
    # The time is where two parabolas meet, and the swing bends them.
    assert events[1].time == pytest.approx(0.3 + delay, abs=max(4e-3, 2.0 / rate))
    assert events[1].time_detected - 0.3 - delay < 3e-3 + 3.0 / rate


def test_a_small_hit_is_found_when_the_ringing_has_faded():
    events = impacts(1000, [(0.1, 1.0), (1.0, 0.12)])
    assert [round(each.time, 2) for each in events] == [0.1, 1.0]


def test_what_is_withheld_is_counted():
    watch = make_watch(3, WatchSettings(encoder_resolution=STEP))
    impacts(1000, [(0.3, 1.0)], watch=watch)
    assert watch.withheld > 2


def test_a_gap_in_the_samples_is_no_hit():
    watch = make_watch(3, WatchSettings(encoder_resolution=STEP))
    time = np.arange(0.0, 0.8, 1e-3)
    position = -0.5 * JUMP * time[:, None] + swinging(time, 0.3003, JUMP)
    kept = (time < 0.36) | (time > 0.372)
    rows = zip(time[kept], position[kept], strict=True)
    found = [each for t, q in rows for each in watch.update(JointSample(float(t), q))]
    assert [each.kind for each in found].count(WatchEventKind.MADE) == 1


@pytest.mark.parametrize("times", [2, 3])
def test_values_that_are_sent_more_than_once_are_no_hits(times):
    watch = make_watch(3, WatchSettings(encoder_resolution=STEP))
    time = np.arange(0.0, 0.9, 1e-3)
    measured = np.repeat(time[::times], times)[: len(time)]
    position = -0.5 * JUMP * measured[:, None] + JUMP * np.maximum(measured - 0.3003, 0.0)[:, None]
    rows = zip(time, position, strict=True)
    found = [each for t, q in rows for each in watch.update(JointSample(float(t), q))]
    assert [each.kind for each in found].count(WatchEventKind.MADE) == 1


def follow(event, times, positions):
    """Hits that the test alone finds after an impact."""
    test = RingingTest(3, 1e-3, 0.3 * STEP)
    test.begin(event)
    rows = zip(times, positions, strict=True)
    return [hit for t, q in rows if (hit := test.update(JointSample(float(t), q))) is not None]


def impact_at(time, jump):
    return ImpactEvent(
        time=time,
        time_detected=time + 1e-3,
        time_std=1e-4,
        detector="fusion",
        joint=0,
        position=np.zeros(3),
        velocity_before=-0.5 * JUMP,
        velocity_after=jump - 0.5 * JUMP,
        residual=np.ones(3),
        confidence=1.0,
    )


def test_one_sample_that_is_wrong_is_no_hit():
    time = np.arange(0.301, 0.5, 1e-3)
    position = -0.5 * JUMP * time[:, None] + swinging(time, 0.3, JUMP)
    position[100] += [0.0, 6e-4, 0.0]
    assert follow(impact_at(0.3, JUMP), time, position) == []
    # As far away, but going on: a hit.
    position[100] -= [0.0, 6e-4, 0.0]
    position[100:] += np.outer(time[100:] - time[99], [0.0, 0.6, 0.0])
    hit, *_ = follow(impact_at(0.3, JUMP), time, position)
    assert hit.joint == 1 and hit.time == pytest.approx(time[99], abs=2e-3)


def test_samples_of_the_impact_itself_are_not_used():
    """The force of a contact lasts some milliseconds, and the joints are faster within than it leaves them."""
    time = np.arange(0.301, 0.4, 1e-3)
    within = np.minimum(time - 0.3, 0.004)[:, None]
    position = 0.5 * JUMP * (time[:, None] - 0.3) - 1.2 * JUMP * within
    assert follow(impact_at(0.3, JUMP), time, position) == []
    assert follow(impact_at(0.296, JUMP), time, position) != []


@pytest.mark.parametrize(("rate", "error"), [(1000, 6e-4), (1000, -0.03), (500, 0.03), (200, -0.03)])
def test_a_wrong_sample_while_it_rings_is_no_impact_and_hides_none(rate, error):
    settings = WatchSettings(sampling_period=1.0 / rate, encoder_resolution=STEP)
    time = 0.3 / rate + np.arange(0.0, 1.2, 1.0 / rate)
    time += 0.02 / rate * np.random.default_rng(3).normal(size=len(time))
    again = 0.65
    position = -0.5 * JUMP * time[:, None] + swinging(time, 0.3, JUMP) + swinging(time, again, -0.5 * JUMP)
    position[np.searchsorted(time, again - 0.04), 1] += error
    position = STEP * np.round(position / STEP)
    watch = make_watch(3, settings)
    found = [each for t, q in zip(time, position, strict=True) for each in watch.update(JointSample(float(t), q))]
    events = [each.event for each in found if each.kind is WatchEventKind.MADE]
    assert [each.time for each in events] == pytest.approx([0.3, again], abs=max(4e-3, 2.0 / rate))
