"""Impacts of arms whose joints ring, with and without a second hit, put through the watch that the node uses."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.events import JointSample
from impact_aware.detection.impact_watch import WatchEventKind
from impact_aware.detection.watch_settings import WatchSettings, make_watch

JOINTS = 7
RATES = (1000, 500, 200)

_FINE = 2e-5
"""Step of the simulated motion, s."""

_BEFORE, _AFTER = 0.2, 0.6
"""How long a trial is before and after its first hit, s."""

_STEP, _NOISE, _ALLOWED = 1e-5, 0.3e-5, 0.5e-5
"""Encoder step, noise beside it, and what the watch is told of that, rad."""


@dataclass(frozen=True, eq=False)
class RingingTrial:
    """One impact, and perhaps a second.

    Attributes:
        times: Stamps (m,), s.
        positions: (m, n) rad.
        hits: Times at which the hits begin, s.
    """

    times: Array
    positions: Array
    hits: tuple[float, ...]


def draw_trial(rng: np.random.Generator, rate: float, second: bool) -> RingingTrial:
    """Draw a trial: each joint rings at 15-50 Hz, damping ratio 0.01-0.1, with up to its jump's velocity.

    The second hit comes 30-250 ms after the first with half its jump, in the same directions, and rings as well.
    """
    time = np.arange(-_BEFORE, _AFTER, _FINE)
    jump = rng.normal(size=JOINTS)
    jump *= rng.uniform(0.3, 1.2) / np.abs(jump).max()
    contact_time = rng.uniform(0.5e-3, 3e-3)
    delay = rng.uniform(0.03, 0.25)
    pull = rng.uniform(-5.0, 5.0, JOINTS)
    position = -0.6 * jump * time[:, None]
    position += 0.05 * np.sin(2.0 * np.pi * 0.5 * time[:, None] + rng.uniform(0.0, 6.0, JOINTS))
    modes = _modes(rng)
    position += _response(time, jump, contact_time, modes, rng)
    since = np.maximum(time, 0.0)[:, None]
    position += pull * 0.05 * (since - 0.05 * (1.0 - np.exp(-since / 0.05)))
    hits: tuple[float, ...] = (0.0,)
    if second:
        position += _response(time - delay, 0.5 * jump, contact_time, modes, rng)
        hits = (0.0, delay)
    period = 1.0 / rate
    stamps = np.arange(-_BEFORE + period * (1.0 + rng.random()), _AFTER - 2.0 * period, period)
    stamps += 0.02 * period * rng.normal(size=len(stamps))
    measured = np.stack([np.interp(stamps, time, column) for column in position.T], axis=1)
    measured += _NOISE * rng.normal(size=measured.shape)
    return RingingTrial(stamps, _STEP * np.round(measured / _STEP), hits)


def score_ringing(count: int, seed: int, rates: tuple[int, ...] = RATES) -> dict[str, Any]:
    """Score the watch per rate.

    Args:
        count: Impacts without a second hit, and as many with one.
        seed: Of everything.
        rates: Samples per second.
    """
    return {str(rate): _score(count, seed, rate) for rate in rates}


def _score(count: int, seed: int, rate: int) -> dict[str, Any]:
    false_contacts, found = 0, [0, 0]
    delays, errors = [], []
    took: dict[bool, list[float]] = {False: [], True: []}
    for index in range(2 * count):
        trial = draw_trial(np.random.default_rng((seed, rate, index)), float(rate), second=index % 2 == 1)
        events = watch_events(trial, rate, took)
        for number, hit in enumerate(trial.hits):
            # Three samples are needed to know of it.
            near = [each for each in events if -2e-3 <= each[1] - hit <= 0.012 + 3.0 / rate]
            near = [each for each in near if abs(each[0] - hit) <= max(5e-3, 3.0 / rate)]
            if not near:
                continue
            events.remove(near[0])
            found[number] += 1
            if number:
                delays.append(1e3 * (near[0][1] - hit))
                errors.append(1e3 * abs(near[0][0] - hit))
        false_contacts += len(events)
    return {
        "impacts": 2 * count,
        "first_found": found[0] / (2 * count),
        "false_contacts": false_contacts,
        "second_hits": count,
        "second_found": found[1] / count,
        "second_delay_ms": _percentiles(delays),
        "second_time_error_ms": _percentiles(errors),
        "sample_us": {"before": _percentiles(took[False]), "after": _percentiles(took[True])},
    }


def _percentiles(values: list[float]) -> dict[str, float]:
    p50, p95 = np.percentile(values, (50, 95)) if values else (np.nan, np.nan)
    return {"p50": float(p50), "p95": float(p95)}


def watch_events(trial: RingingTrial, rate: float, took: dict[bool, list[float]]) -> list[tuple[float, float]]:
    """Times at which impacts were, and at which they were known, s.

    Into `took` goes how long each sample took, us: at False those before an impact, at True those after one.
    """
    settings = WatchSettings(sampling_period=1.0 / rate, encoder_resolution=_STEP, position_noise=_ALLOWED)
    watch = make_watch(JOINTS, settings)
    events: list[tuple[float, float]] = []
    for stamp, position in zip(trial.times, trial.positions, strict=True):
        watched = bool(events)
        begin = perf_counter()
        said = watch.update(JointSample(float(stamp), position))
        took[watched].append(1e6 * (perf_counter() - begin))
        for found in said:
            if found.kind is WatchEventKind.MADE and found.event is not None:
                events.append((found.event.time, found.event.time_detected))
    return events


def _modes(rng: np.random.Generator) -> tuple[Array, Array]:
    """Natural frequencies, rad/s, and damping ratios (n,)."""
    return 2.0 * np.pi * rng.uniform(15.0, 50.0, JOINTS), 10.0 ** rng.uniform(-2.0, -1.0, JOINTS)


def _response(
    since: Array, jump: Array, contact_time: float, modes: tuple[Array, Array], rng: np.random.Generator
) -> Array:
    """What a hit at 0 adds to the positions (m, n), rad, the velocity's step spread over the contact time."""
    omega, damping = modes
    amplitude, phase = rng.uniform(0.1, 1.0, JOINTS) * np.abs(jump), rng.uniform(0.0, 2.0 * np.pi, JOINTS)
    positive = np.maximum(since, 0.0)[:, None]
    swing = np.exp(-damping * omega * positive) * np.sin(omega * positive + phase) - np.sin(phase)
    # The step of the velocity is the jump; the swing begins about the velocity that is left when it has faded.
    step = jump - amplitude * (np.cos(phase) - damping * np.sin(phase))
    shape = step * positive + amplitude / omega * swing
    width = round(contact_time / _FINE)
    summed = np.cumsum(shape, axis=0) / width
    smoothed = summed.copy()
    smoothed[width:] -= summed[:-width]
    return smoothed
