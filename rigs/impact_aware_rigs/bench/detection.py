"""Impact detectors: delay, misses, false alarms, cost and accuracy of the refined time, on simulated impacts."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.cli.options import MOST
from impact_aware.cli.output import progress
from impact_aware.contact.geometry import Contact
from impact_aware.detection import ImpactDetector, make_detector
from impact_aware.detection.expectation import ExpectationClassifier, Verdict
from impact_aware.detection.windowed_detector import WindowParameters
from impact_aware.impact import predict
from impact_aware.parameters import Options, described
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.detection_trials import (
    PLANTS,
    DetectionTrial,
    MeasurementNoise,
    free_motion,
    simulate_trial,
)
from impact_aware_rigs.bench.ringing import score_ringing

FOUND_WITHIN = 0.02
"""An event this long after first contact still counts as found, s."""

SPEED_THAT_MATTERS = 0.1
"""Tool speed above which no impact may be missed, m/s."""

TESTED_TWICE = 100
"""Impacts that are tested with their own and with another planned normal."""

Factory = Callable[[DetectionTrial], ImpactDetector]


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """Impacts and motion that are simulated."""

    robot: str = described("panda", "robot profile")
    trials: int = described(300, "simulated impacts", 1, MOST)
    hours: float = described(1.0, "motion without impacts, hours", 1e-4, 999.0)
    seed: int = described(1, "seed of everything", 0, MOST)
    ringing: int = described(150, "hits of arms whose joints ring; 0: none", 0, MOST)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Score every detector; the result's layout is `{"detectors": {NAME: {...}}, ...}`.

    Half of the impacts are simulated with rigid joints in MuJoCo, and half with flexible joints.
    """
    robot, seed, noise = RobotModel.from_profile(options.robot), options.seed, MeasurementNoise()
    factories = detector_factories(robot, noise)
    scores = {name: DetectorScore() for name in factories}
    numbers = progress(iterable=range(options.trials), desc="impacts")
    plants = ("rigid_box", "flexible", "rigid_table", "flexible")
    trials = [simulate_trial(robot, plants[index % 4], seed + index) for index in numbers]
    counts = score_impacts(scores, factories, trials, noise)
    expectation = score_expectation(robot, trials[:TESTED_TWICE], noise, seed)
    chunks = free_motion(robot, 3600.0 * options.hours, seed)
    minutes = progress(iterable=chunks, desc="free motion", unit="min", total=math.ceil(60.0 * options.hours))
    score_free_motion(scores, factories, minutes, noise)
    result = {
        "detectors": {name: score.as_dict() for name, score in scores.items()},
        "expectation": expectation,
        "trials": {"robot": robot.name, "seed": seed, "impacts": counts, "free_hours": options.hours},
        "noise": asdict(noise),
        "published": {"Aouaj thesis, 4.3.1, delay_ms": 4.0, "Wang 2021, VI, delay_ms": [3.0, 5.0]},
    }
    return {**result, "ringing": score_ringing(options.ringing, seed)} if options.ringing else result


@dataclass
class DetectorScore:
    """What one detector did; times in ms.

    Attributes:
        delays: From first contact to the event, for every impact that was found.
        time_errors: Refined minus true time, for the same impacts.
        missed: Tool speeds of the impacts that were not found, m/s.
        early: Events before the first contact in the impact trials.
        false_alarms: Events in free motion.
        free_hours: How much free motion there was.
        microseconds: Processor time for one call of `update`.
    """

    delays: list[float] = field(default_factory=list)
    time_errors: list[float] = field(default_factory=list)
    missed: list[float] = field(default_factory=list)
    early: int = 0
    false_alarms: int = 0
    free_hours: float = 0.0
    microseconds: float = float("nan")

    def take(self, trial: DetectionTrial, detector: ImpactDetector) -> None:
        """Run the detector over an impact trial and note the result."""
        events = detector.detect(trial.times, trial.positions, trial.velocities, trial.efforts, trial.effort_references)
        first = trial.impact_times[0]
        self.early += sum(event.time_detected < first for event in events)
        found = [event for event in events if first <= event.time_detected < first + FOUND_WITHIN]
        if not found:
            self.missed.append(trial.speed)
            return
        self.delays.append(1e3 * (found[0].time_detected - first))
        self.time_errors.append(1e3 * (found[0].time - first))

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for the benchmark's JSON."""
        delays, errors = np.array(self.delays or [np.nan]), np.array(self.time_errors or [np.nan])
        return {
            "delay_ms": {"p50": float(np.percentile(delays, 50)), "p99": float(np.percentile(delays, 99))},
            "missed": len(self.missed),
            "missed_above_0.1_m_s": sum(speed > SPEED_THAT_MATTERS for speed in self.missed),
            "false_positives_per_hour": self.false_alarms / self.free_hours if self.free_hours else None,
            "false_positives_before_impacts": self.early,
            "us_per_sample": self.microseconds,
            "time_error_ms": float(np.median(np.abs(errors))),
            "time_error_p95_ms": float(np.percentile(np.abs(errors), 95)),
            "time_bias_ms": float(np.median(errors)),
        }


def detector_factories(robot: RobotModel, noise: MeasurementNoise) -> dict[str, Factory]:
    """Every detector of the package, and the thesis's own forms of the adaptive window, set up for that noise."""
    source: dict[str, Any] = {"encoder_resolution": noise.encoder_resolution, "position_noise": noise.position}
    single: dict[str, Any] = {"smallest_window": 12, "horizon": 1, "confirmation_samples": 1, "soft_period": None}
    n = robot.n
    upwards = np.array([0.0, 0.0, 1.0])

    def sensitive(trial: DetectionTrial) -> ImpactDetector:
        normal = upwards if trial.normal is None else trial.normal
        return make_detector("sensitive_joint", n, robot=robot, normal=normal, **source)

    return {
        "adaptive_window": lambda _: make_detector("adaptive_window", n, **source),
        "adaptive_window_thesis": lambda _: make_detector("adaptive_window", n, **single, sharp_bound=False, **source),
        "adaptive_window_thesis_fixed": lambda _: make_detector(
            "adaptive_window", n, **single, fixed_bound=0.7e-3, **source
        ),
        "acceleration": lambda _: make_detector("acceleration", n, **source),
        "torque_residual": lambda _: make_detector("torque_residual", n, **source),
        "torque_residual_joints_5_6": lambda _: make_detector(
            "torque_residual", n, joints=(4, 5), threshold=1.8, **source
        ),
        "momentum_observer": lambda _: make_detector("momentum_observer", n, robot=robot, **source),
        "sensitive_joint": sensitive,
        "fusion": lambda _: make_detector("fusion", n, robot=robot, **source),
    }


def score_impacts(
    scores: Mapping[str, DetectorScore],
    factories: Mapping[str, Factory],
    trials: Iterable[DetectionTrial],
    noise: MeasurementNoise,
) -> dict[str, int]:
    """Run every detector over every impact.

    Returns:
        How many trials of each plant had an impact.
    """
    counts = dict.fromkeys(PLANTS, 0)
    for index, trial in enumerate(trials):
        if not trial.impact_times:
            continue
        counts[trial.plant] += 1
        measured = trial.measured(noise, index)
        for name, factory in factories.items():
            scores[name].take(measured, factory(measured))
    return counts


def score_free_motion(
    scores: Mapping[str, DetectorScore],
    factories: Mapping[str, Factory],
    chunks: Iterable[DetectionTrial],
    noise: MeasurementNoise,
) -> None:
    """Count every detector's false alarms in one long recording, given in chunks; and the time for one `update`."""
    detectors: dict[str, ImpactDetector] = {}
    for index, chunk in enumerate(chunks):
        measured = chunk.measured(noise, index)
        if not detectors:
            detectors = {name: factory(chunk) for name, factory in factories.items()}
            for name, factory in factories.items():
                scores[name].microseconds = microseconds_per_sample(factory(chunk), measured)
        hours = len(measured.times) * float(np.median(np.diff(measured.times))) / 3600.0
        for name, detector in detectors.items():
            events = detector.process(
                measured.times, measured.positions, measured.velocities, measured.efforts, measured.effort_references
            )
            scores[name].false_alarms += len(events)
            scores[name].free_hours += hours


def microseconds_per_sample(detector: ImpactDetector, recording: DetectionTrial, block: int = 500) -> float:
    """Median processor time of one online `update`, over blocks of samples."""
    samples = list(islice(recording.samples(), 10 * block))
    spans = []
    for begin in range(0, len(samples), block):
        part = samples[begin : begin + block]
        started = time.thread_time()
        for sample in part:
            detector.update(sample)
        spans.append((time.thread_time() - started) / len(part))
    return 1e6 * float(np.median(spans))


def score_expectation(
    robot: RobotModel, trials: Iterable[DetectionTrial], noise: MeasurementNoise, seed: int
) -> dict[str, Any]:
    """Test whether each impact is the planned one: once with its own normal planned, once with another.

    The other normal is random, at least 53 degrees from the true one, and the tool moves against it. The assumed
    friction coefficient, 0.3, differs from the true one.

    Returns:
        Number of hits, number of right verdicts, and the time from first contact to the verdict.
    """
    rng = np.random.default_rng(seed)
    source: dict[str, Any] = {"encoder_resolution": noise.encoder_resolution, "position_noise": noise.position}
    hits, right, silent = 0, 0, 0
    decision: list[float] = []
    for index, trial in enumerate(trials):
        if not trial.impact_times or trial.normal is None:
            continue
        measured = trial.measured(noise, index)
        for planned in (True, False):
            hits += 1
            verdict = _verdict(robot, measured, planned, source, rng)
            if verdict is None:
                silent += 1
                continue
            right += verdict.expected is planned
            decision.append(1e3 * (verdict.time - trial.impact_times[0]))
    times = np.array(decision or [np.nan])
    return {
        "hits": hits,
        "right": right,
        "without_verdict": silent,
        "decision_ms": {"p50": float(np.median(times)), "max": float(times.max())},
    }


def _verdict(
    robot: RobotModel, trial: DetectionTrial, planned: bool, source: dict[str, Any], rng: np.random.Generator
) -> Verdict | None:
    """Detect the first impact, predict it with the planned normal, and return the verdict."""
    detector = make_detector("fusion", robot.n, robot=robot, **source)
    classifier = ExpectationClassifier(robot.n, WindowParameters(**source))
    begun = False
    for sample in trial.samples():
        verdict = classifier.update(sample)
        if verdict is not None:
            return verdict
        event = detector.update(sample)
        if event is None or begun or event.time_detected < trial.impact_times[0]:
            continue
        begun = True
        assert trial.normal is not None
        velocity = robot.frame_jacobian(event.position)[:3] @ event.velocity_before
        normal = trial.normal if planned else _other_normal(trial.normal, velocity, rng)
        contact = Contact(robot.tool_frame, normal, radius=robot.tool_radius, friction=0.3)
        predicted = predict(robot, event.position, event.velocity_before, contact)
        jump = predicted.velocity_after - event.velocity_before
        if jump.any():
            classifier.begin(event, jump, robot.mass_matrix(event.position))
    return None


def _other_normal(normal: Array, velocity: Array, rng: np.random.Generator) -> Array:
    while True:
        other = rng.standard_normal(3)
        other /= np.linalg.norm(other)
        if abs(other @ normal) < 0.6 and other @ velocity < -0.1 * np.linalg.norm(velocity):
            return np.asarray(other)
