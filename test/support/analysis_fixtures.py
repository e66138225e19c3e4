"""An analysis with known impacts of a Panda, made of the project's own predictor and estimator on synthetic samples."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact
from impact_aware.estimation.estimate import estimate
from impact_aware.impact.predictor import predict
from impact_aware.recordings.ablation import ablate, group
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.results import (
    Analysis,
    AnalyzedImpact,
    ArmAnalysis,
)
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

NORMAL = (0.0, 0.0, 1.0)


def _window(q, before, after, time, rng):
    """Samples at 1 kHz: straight before, straight with a decaying oscillation after, encoder noise on top."""
    times = np.arange(-0.150, 0.250, 0.001) + 2e-4
    since = np.maximum(times, 0.0)[:, None]
    jump = after - before
    oscillation = 0.25 * jump * np.exp(-40.0 * since) * np.sin(190.0 * since) / 190.0
    positions = q + np.where(times[:, None] < 0.0, before * times[:, None], after * since - 4.0 * oscillation)
    velocities = np.gradient(positions, times, axis=0) + rng.normal(0.0, 2e-3, positions.shape)
    return ArmSamples(times + time, positions + rng.normal(0.0, 5e-6, positions.shape), velocities)


def make_impact(robot, *, arm, index, file, time, seed):
    rng = np.random.default_rng(seed)
    contact = Contact("tool", np.array(NORMAL), friction=0.3, radius=0.03)
    q = robot.home + rng.uniform(-0.2, 0.2, robot.n)
    jacobian = robot.frame_jacobian(q, "tool")[:3]
    slip = rng.uniform(-0.1, 0.1, 2)
    before = np.linalg.pinv(jacobian) @ np.array([*slip, -rng.uniform(0.1, 0.3)])
    prediction = predict(robot, q, before, contact)
    true_after = prediction.velocity_after + rng.normal(0.0, 0.01, robot.n)
    window = _window(q, before, true_after, time, rng)
    found = estimate(window.times, window.positions, time, method="cubic")
    # As an analysis does: it knows the velocity before only from the samples.
    prediction = predict(robot, q, found.velocity_before, contact)
    known_times = window.times[(window.times > time - 0.1) & (window.times < time + 0.003)]
    impact = AnalyzedImpact(
        arm=arm,
        index=index,
        file=file,
        joint_names=robot.joint_names,
        event=ImpactEvent(
            time=time,
            time_detected=float(known_times[-1]),
            time_std=2e-4,
            detector="kink",
            joint=5,
            position=q,
            velocity_before=before,
            velocity_after=None,
            residual=np.array([0.4, 1.2, 0.1, 2.2, 0.3, 3.2, np.nan]),
            confidence=0.98,
        ),
        position=q,
        window=window,
        detectors=("kink", "acceleration"),
        contact_frame="tool",
        prediction=prediction,
        prediction_std=np.full(robot.n, 1e-3),
        normal_source="option",
        expected=True if index % 2 else None,
        label=f"type {index}",
        estimate=found,
        notes=("The normal was given on the command line.",) if index == 1 else (),
    )
    return replace(impact, ablation=ablate(robot, impact))


@pytest.fixture(scope="session")
def make_analysis():
    """Makes an analysis: `make_analysis({"left": [1.0, 2.0]}, file)` has two impacts of one arm, at those times."""
    robot = RobotModel.from_profile("panda")

    def make(arms, file=Path("recordings/trial.mcap"), topics=None):
        analyses = []
        for number, (arm, times) in enumerate(arms.items()):
            impacts = tuple(
                make_impact(robot, arm=arm, index=index + 1, file=file, time=time, seed=100 * number + index)
                for index, time in enumerate(times)
            )
            analyses.append(
                ArmAnalysis(
                    arm=arm,
                    file=file,
                    topic=(topics or {}).get(arm, f"/{arm}/joint_states" if arm else "/joint_states"),
                    robot="panda",
                    joint_names=robot.joint_names,
                    messages=4000,
                    samples=3998,
                    rate_hz=999.8,
                    quality=None,
                    first_time=0.0,
                    last_time=4.0,
                    impacts=impacts,
                    base_frame="panda_link0",
                )
            )
        return Analysis(
            files=(file,),
            arms=tuple(analyses),
            messages=4000 * len(analyses),
            seconds_read=0.4,
            seconds=1.9,
            settings={"robot": "panda", "friction": 0.3, "normal": [0.0, 0.0, 1.0], "surface": None, "ablation": True},
            versions={"impact_aware": "0.1.0", "python": "3.11.2", "numpy": "2.3.1"},
            ablation_groups=group(analyses),
            notes=(),
        )

    return make
