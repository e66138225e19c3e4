"""Impacts whose velocities are known, in classes: swinging freely, controlled, stiff, soft, slow recorders, demos."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import NoSolutionError
from impact_aware.estimation.motion_parts import ramp
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.recordings.bag import Bag
from impact_aware.recordings.recorded_predictions import TRUTH
from impact_aware.robot import RobotModel
from impact_aware.worker_pool import finished
from impact_aware_rigs.bench.flexible_impacts import simulate_flexible_impacts
from impact_aware_rigs.bench.lab_draw import CONTROLS
from impact_aware_rigs.bench.lab_hit import hit_of_seed
from impact_aware_rigs.bench.lab_recording import RATES, record

JOINTS = 7
FLEXIBLE = ("panda", "kuka_lwr4")
NEAR = 0.5
"""Part of a demo's recording before and after the impact that is used, s."""


@dataclass(frozen=True, eq=False)
class KnownImpact:
    """One impact whose velocities are known.

    Attributes:
        times: (k,) s.
        positions: (k, n) rad.
        time: Of the impact, s.
        before: (n,) Velocity before, rad/s.
        after: (n,) Velocity after, rad/s.
        until: Time of the next impact, s, or None.
    """

    times: Array
    positions: Array
    time: float
    before: Array
    after: Array
    until: float | None = None


def impact_classes(count: int, seed: int, demos: Sequence[Path] = (), workers: int = 2) -> dict[str, list[KnownImpact]]:
    """`count` impacts per class; the same seed gives the same ones.

    Classes: one per control of a laboratory's arm at 1 kHz (`CONTROLS`), all of them together at each lower rate, the
    same with stiff joints (`stiff`), arms that are left alone after the impact (`flexible`), contacts of 6 to 16 ms
    (`soft`), strongly decaying oscillations (`decaying`), and bags of the demo (`demo`).
    """
    classes: dict[str, list[KnownImpact]] = {}
    jobs = {
        (control, elastic, index): (seed + index, control, elastic)
        for index in range(count)
        for control in CONTROLS
        for elastic in (True, False)
    }
    found = dict(finished(jobs, lab_impacts, workers)) if workers > 1 else {k: lab_impacts(j) for k, j in jobs.items()}
    for control, elastic, index in jobs:
        for rate, impact in found[control, elastic, index].items():
            name = "stiff" if not elastic else control if rate == max(RATES) else f"{rate} Hz"
            classes.setdefault(name, []).append(impact)
    flexible = [simulate_flexible_impacts(RobotModel.from_profile(name), count, seed) for name in FLEXIBLE]
    classes["flexible"] = [
        KnownImpact(one.time, one.positions, one.impact_time, one.velocity_before, one.velocity_after)
        for impacts in flexible
        for one in impacts
    ]
    classes["soft"] = list(_drawn(count, seed, soft_swing))
    classes["decaying"] = list(_drawn(count, seed, decaying_swing))
    if demos:
        classes["demo"] = [demo_impact(path) for path in demos]
    return classes


def lab_impacts(job: tuple[int, str, bool]) -> dict[int, KnownImpact]:
    """First contact of a laboratory's hit, recorded at each of `RATES`; empty where the drawn hits miss."""
    seed, control, elastic = job
    try:
        hit = hit_of_seed((seed, CONTROLS.index(control)), control, elastic=elastic)
    except NoSolutionError:
        return {}
    first, until = hit.contacts[0], hit.contacts[1].time if len(hit.contacts) > 1 else None
    recordings = {rate: record(hit, rate, seed) for rate in RATES}
    return {
        rate: KnownImpact(
            own.times, own.positions, first.time, first.velocity_before, first.velocity_before + first.jump, until
        )
        for rate, own in recordings.items()
    }


def demo_impact(bag_path: Path) -> KnownImpact:
    """Impact of a demo's bag, whose plant says what came after it."""
    with Bag(bag_path) as bag:
        truth = next(message for _, message in bag.messages(TRUTH))
        states = [message for _, message in bag.messages("joint_states")]
    time, times = stamp_seconds(truth), np.array([stamp_seconds(state) for state in states])
    near = np.abs(times - time) < NEAR
    positions = np.array([state.position for state in states])
    return KnownImpact(
        times[near], positions[near], time, np.array(truth.velocity_before), np.array(truth.velocity_after)
    )


def soft_swing(rng: np.random.Generator) -> KnownImpact:
    """Contact of 6 to 16 ms at 500 Hz, after which joints swing at 15 to 40 Hz with 3 to 10 % of critical damping."""
    lasting = rng.uniform(0.006, 0.016)
    frequency = 2.0 * np.pi * rng.uniform(15.0, 40.0, JOINTS)
    decay = rng.uniform(0.03, 0.1) * frequency
    return _swing(rng, 500.0, (0.1, 0.6), frequency, decay, lasting)


def decaying_swing(rng: np.random.Generator) -> KnownImpact:
    """Short contact at 1 kHz, after which joints swing at 28 to 46 Hz and decay at 22 1/s."""
    frequency = 2.0 * np.pi * rng.uniform(28.0, 46.0, JOINTS)
    return _swing(rng, 1000.0, (0.3, 1.0), frequency, np.full(JOINTS, 22.0), 0.0)


def _swing(
    rng: np.random.Generator, rate: float, share: tuple[float, float], frequency: Array, decay: Array, lasting: float
) -> KnownImpact:
    """Constant acceleration, a jump over a contact of `lasting` s, and oscillations of a share of the jump."""
    times = np.arange(-0.3, 0.35, 1.0 / rate) + rng.uniform(0.0, 1.0) / rate
    before, jump = rng.uniform(-0.6, 0.6, JOINTS), rng.uniform(-0.8, 0.8, JOINTS)
    since = np.maximum(times - 0.5 * lasting, 0.0)[:, None]
    swing = rng.uniform(*share, JOINTS) * jump / frequency * np.exp(-decay * since) * np.sin(frequency * since)
    smooth = before * times[:, None] + 0.5 * rng.uniform(-1.5, 1.5, JOINTS) * times[:, None] ** 2
    kink = jump * ramp(np.maximum(times, 0.0), lasting)[:, None]
    noise = 1e-5 * rng.standard_normal((len(times), JOINTS))
    return KnownImpact(times, smooth + kink + swing + noise, 0.0, before, before + jump)


def _drawn(count: int, seed: int, draw: Callable[[np.random.Generator], KnownImpact]) -> Iterable[KnownImpact]:
    rng = np.random.default_rng(seed)
    return (draw(rng) for _ in range(count))
