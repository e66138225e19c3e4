"""Hits of arms whose joints ring, put through the watch that the detector node uses, at several rates."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from impact_aware.arrays import Array
from impact_aware.detection import JointSample
from impact_aware.detection.impact_watch import WatchEventKind
from impact_aware.detection.watch_settings import WatchSettings, make_watch
from impact_aware_rigs.bench.lab_draw import CONTROLS
from impact_aware_rigs.bench.lab_hit import SAME_CONTACT, TrueHit, hit_of_seed
from impact_aware_rigs.bench.recordings import counted, touches
from impact_aware_rigs.figures import p50_p95

RATES = (1000, 500, 200)

STEP, NOISE, ALLOWED = 1e-5, 0.3e-5, 0.5e-5
"""Encoder step, noise beside it, and the noise that the watch is given, rad."""

NEAR = 5e-3
"""A reported time belongs to a contact within this time, or three samples, s."""

KNOWN_WITHIN = 0.012
"""Longest delay of a report, beside three samples, s."""


def score_ringing(count: int, seed: int, rates: Sequence[int] = RATES) -> dict[str, Any]:
    """Score the watch per rate on `count` hits of elastic arms.

    `first` are the first contacts of the hits, `second` those that follow and have to be found; `false_contacts` are
    reports without any touch beside them.
    """
    hits = [hit_of_seed((seed, index), CONTROLS[index % len(CONTROLS)]) for index in range(count)]
    return {str(rate): _score(hits, rate, seed) for rate in rates}


def _score(hits: Sequence[TrueHit], rate: int, seed: int) -> dict[str, Any]:
    found, wanted, false_contacts = [0, 0], [0, 0], 0
    delays, errors = [], []
    took: dict[bool, list[float]] = {False: [], True: []}
    for index, hit in enumerate(hits):
        times, positions = sampled(hit, rate, np.random.default_rng((seed, rate, index)))
        events = watch_events(times, positions, rate, took)
        near = max(NEAR, 3.0 / rate)
        # A tip that rattles on what it hit is in one contact.
        spans = [(own.time - near, own.time + max(near, SAME_CONTACT)) for own in touches(hit.contacts)]
        false_contacts += sum(not any(begin <= time <= end for begin, end in spans) for time, _ in events)
        for number, contact in enumerate(counted(hit.contacts, float(times[-1]) - 5.0 / rate)):
            second = int(number > 0)
            wanted[second] += 1
            own = [
                (time, known)
                for time, known in events
                if abs(time - contact.time) <= near and known - contact.time <= KNOWN_WITHIN + 3.0 / rate
            ]
            found[second] += bool(own)
            if own and second:
                delays.append(1e3 * (own[0][1] - contact.time))
                errors.append(1e3 * abs(own[0][0] - contact.time))
    return {
        "impacts": len(hits),
        "first_found": found[0] / max(wanted[0], 1),
        "false_contacts": false_contacts,
        "second_hits": wanted[1],
        "second_found": found[1] / wanted[1] if wanted[1] else None,
        "second_delay_ms": p50_p95(delays),
        "second_time_error_ms": p50_p95(errors),
        "sample_us": {"before": p50_p95(took[False]), "after": p50_p95(took[True])},
    }


def sampled(hit: TrueHit, rate: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Stamps (m,), s, and positions (m, n), rad, of an encoder."""
    period = 1.0 / rate
    stamps = np.arange(hit.times[0] + period * (1.0 + rng.random()), hit.times[-1] - 2.0 * period, period)
    stamps = stamps + 0.02 * period * rng.normal(size=len(stamps))
    positions = CubicHermiteSpline(hit.times, hit.positions, hit.velocities)(stamps)
    return stamps, STEP * np.round((positions + NOISE * rng.normal(size=positions.shape)) / STEP)


def watch_events(times: Array, positions: Array, rate: int, took: dict[bool, list[float]]) -> list[tuple[float, float]]:
    """Times at which impacts were, and at which they were known, s.

    Into `took` goes how long each sample took, us: at False those before an impact, at True those after one.
    """
    settings = WatchSettings(sampling_period=1.0 / rate, encoder_resolution=STEP, position_noise=ALLOWED)
    watch = make_watch(positions.shape[1], settings)
    events: list[tuple[float, float]] = []
    for stamp, position in zip(times, positions, strict=True):
        watched = bool(events)
        begin = perf_counter()
        answers = watch.update(JointSample(float(stamp), position))
        took[watched].append(1e6 * (perf_counter() - begin))
        for answer in answers:
            if answer.kind is WatchEventKind.MADE and answer.event is not None:
                events.append((answer.event.time, answer.event.time_detected))
    return events
