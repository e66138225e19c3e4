"""Joints that ring after an impact are no new impact; a second hit with half the jump is, and a small one later."""

import numpy as np
import pytest

from impact_aware.detection import JointSample
from impact_aware.detection.impact_watch import WatchEventKind
from impact_aware.detection.ringing import RingingTest
from impact_aware.detection.watch_settings import WatchSettings, make_watch
from impact_aware.records import ImpactEvent

JUMP = np.array([0.7, -0.45, 0.25])
OMEGA = 2.0 * np.pi * np.array([18.0, 31.0, 46.0])
DAMPING = np.array([0.02, 0.015, 0.05])
STEP = 1e-5


def swinging(time, at, jump):
    """Positions after a hit: velocity jumps, and every joint swings with the jump's velocity."""
    since = np.maximum(time - at, 0.0)[:, None]
    swing = jump / OMEGA * np.exp(-DAMPING * OMEGA * since) * (1.0 - np.cos(OMEGA * since))
    return jump * since + swing


def impacts(rate, hits, *, jitter=0.02, watch=None, scale=1.0, contact_time=0.0, noise=0.0):
    """Impacts that a watch reports, of hits as pairs of time and share of `scale * JUMP`; later ones last a while."""
    rng = np.random.default_rng(3)
    time = 0.3 / rate + np.arange(0.0, 1.2, 1.0 / rate)
    time += jitter / rate * rng.normal(size=len(time))
    position = -0.5 * scale * JUMP * time[:, None] + 0.3
    for at, share in hits:
        begins = at + (np.linspace(0.0, contact_time, 12, endpoint=False) if at > hits[0][0] else np.zeros(1))
        position += np.mean([swinging(time, begin, share * scale * JUMP) for begin in begins], axis=0)
    position += noise * rng.normal(size=position.shape)
    position = STEP * np.round(position / STEP)
    settings = WatchSettings(sampling_period=1.0 / rate, encoder_resolution=STEP, position_noise=1.6 * noise)
    watch = watch or make_watch(3, settings)
    found = [each for t, q in zip(time, position, strict=True) for each in watch.update(JointSample(float(t), q))]
    return [each.event for each in found if each.kind is WatchEventKind.MADE]


@pytest.mark.parametrize("rate", [200, 500, 1000])
def test_ringing_is_no_impact(rate):
    (event,) = impacts(rate, [(0.3, 1.0)])
    assert event.time == pytest.approx(0.3, abs=max(2e-3, 1.0 / rate))


@pytest.mark.parametrize(("rate", "delay"), [(1000, 0.032), (1000, 0.09), (500, 0.047), (500, 0.2), (200, 0.15)])
@pytest.mark.parametrize("share", [0.5, -0.5])
def test_a_second_hit_is_found_once(rate, delay, share):
    events = impacts(rate, [(0.3, 1.0), (0.3 + delay, share)])
    assert len(events) == 2
    # The time is where two parabolas meet, and the swing bends them.
    assert events[1].time == pytest.approx(0.3 + delay, abs=max(4e-3, 2.0 / rate))
    assert events[1].time_detected - 0.3 - delay < 3e-3 + 3.0 / rate


def second_of_two(rate, delay, share, **how):
    first, second = impacts(rate, [(0.3, 1.0), (0.3 + delay, share)], **how)
    assert first.time == pytest.approx(0.3, abs=1.5 / rate)
    return second


@pytest.mark.parametrize(
    ("rate", "scale", "contact_time", "noise", "hits"),
    [
        # What moves its first samples is small enough for an error of each of them, but not for all.
        (1000, 0.3, 1e-3, 3e-6, [(0.06, -0.5), (0.16, 0.35)]),
        # Swings of 0.05 to 0.14 rad/s and steps of the encoder matter alike: more samples are averaged.
        (500, 0.2, 3e-3, 0.0, [(0.062, 0.5), (0.062, -0.5), (0.11, 0.5)]),
        # The third and fourth sample, in which the joint has moved on, show it best.
        (500, 0.2, 3e-3, 0.0, [(0.036, -0.5)]),
        # Not bent by the swing: two parabolas meet 6 ms early.
        (500, 0.4, 1e-3, 0.0, [(0.08, 0.5), (0.08, -0.5)]),
    ],
)
def test_a_weak_hit_is_found_when_it_was(rate, scale, contact_time, noise, hits):
    for delay, share in hits:
        second = second_of_two(rate, delay, share, scale=scale, contact_time=contact_time, noise=noise)
        assert second.time == pytest.approx(0.3 + delay, abs=max(2e-3, contact_time))


@pytest.mark.parametrize(("scale", "delay", "share"), [(0.6, 0.06, 0.35), (1.2, 0.06, -0.5), (1.2, 0.22, 0.35)])
def test_a_hit_is_known_while_its_contact_lasts(scale, delay, share):
    """The change of velocity that can be seen by then is a small part of the jump."""
    second = second_of_two(1000, delay, share, scale=scale, contact_time=2.5e-3, noise=3e-6)
    assert second.detector == "ringing"
    # The force begins to move the arm in a sample of the contact, which lasts 2.5 ms.
    assert second.time == pytest.approx(0.3 + delay, abs=2.5e-3)


def test_a_joint_that_swung_before_a_hit_swings_on():
    time = np.arange(0.301, 0.5, 5e-3)
    test = RingingTest(3, 5e-3, 0.3 * STEP)
    test.begin(impact_at(0.3, JUMP))
    for t, q in zip(time, -0.5 * JUMP * time[:, None] + swinging(time, 0.3, JUMP), strict=True):
        test.update(JointSample(float(t), q))
    test.begin(impact_at(0.5, np.array([0.05, 0.3, -0.02])))
    # The damping ratios leave two thirds of the first swing after 0.2 s, and less of the last joint's.
    assert (test._amplitude()[:2] > [0.4, 0.25]).all()


def test_standard_errors_are_those_of_the_model():
    """Joints of several amplitudes and noises: squares over variances are 1."""
    noise, amplitude = np.array([2e-6, 8e-6, 3e-5]), np.array([0.9, 0.1, 0.03])
    test = RingingTest(3, 1e-3, noise)
    test._amplitude = lambda: amplitude
    factor = np.linalg.cholesky(test._covariance())
    rng = np.random.default_rng(41)
    total, draws = 0.0, 400
    for _ in range(draws):
        for row in factor @ rng.normal(size=(60, 3)) * amplitude + noise * rng.normal(size=(60, 3)):
            test._positions.push(row)
        slopes, variances, _ = test._look()
        total += slopes**2 / variances
    # Five standard errors of a mean of squares of normal numbers.
    assert total / draws == pytest.approx(np.ones_like(total), abs=5.0 * np.sqrt(2.0 / draws))


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
