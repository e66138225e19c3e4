"""One analysed impact of a two-joint arm whose every number was written by hand, all of them different."""

from pathlib import Path

import numpy as np

from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact
from impact_aware.impact.contact_impulse import LocalImpulse
from impact_aware.impact.contact_space import ContactSpace
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.recordings.ablation import AblationGroup, AblationRow
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.results import (
    Analysis,
    AnalyzedImpact,
    ArmAnalysis,
)
from impact_aware.records import ImpactEvent, VelocityEstimate

TIME = 12.5
INERTIA = np.array([2.0, 5.0])
JACOBIAN = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
"""Joint velocities to the velocity of the contact point, base frame."""


GROUP = AblationGroup(
    label="hard",
    robot="two",
    joint_names=("a", "b"),
    inertia="M",
    friction=0.3,
    count=7,
    joint_error_mean=np.array([0.1, 0.2]),
    joint_error_max=np.array([0.3, 0.4]),
    error_mean=0.5,
    error_max=0.6,
    velocity_before_mean=np.array([-0.7, -0.8]),
    velocity_after_mean=np.array([0.9, 1.1]),
    mean_error=np.array([0.01, 0.02]),
)


def make_prediction():
    """Contact at (0.3, -0.2, 0.9) with the normal along y; the impulse is (0.4, 1.7, -0.6) N s in the base frame."""
    contact = Contact("flange", (0.0, 1.0, 0.0), friction=0.3, restitution=0.25)
    jacobian = contact.axes @ JACOBIAN
    before = np.array([0.11, -0.72])
    answers = np.vstack([jacobian / INERTIA, before])
    space = ContactSpace(jacobian, answers, jacobian @ answers.T, np.array([0.3, -0.2, 0.9]))
    impulse = LocalImpulse(*(contact.axes @ [0.4, 1.7, -0.6]).tolist(), "slide")
    box = homogeneous_box(2.25, (0.1, 0.1, 0.1), (0.3, -0.3, 0.9))
    return ImpactPrediction(before, np.array([0.2, 0.35]), impulse, space, contact, box, "coulomb", "M+B_rho")


def make_window():
    """Joint a goes up by its own square, joint b is a straight line with a kink; velocities 7 times the time."""
    times = TIME + 1e-3 * (np.arange(-100, 150) + 0.5)
    since = times - TIME
    positions = np.column_stack((1.0 + since**2, np.where(since < 0.0, -0.72 * since, -0.05 * since) - 2.0))
    return ArmSamples(times, positions, np.column_stack((7.0 * since, -3.0 * since)))


def make_impact(**changes):
    fields = {
        "arm": "left",
        "index": 3,
        "file": Path("runs/one.mcap"),
        "joint_names": ("a", "b"),
        "event": ImpactEvent(
            time=TIME,
            time_detected=TIME + 0.003,
            time_std=4e-4,
            detector="kink",
            joint=1,
            position=np.array([0.9, -1.9]),
            velocity_before=np.array([0.15, -0.75]),
            velocity_after=None,
            residual=np.array([1.5, 4.5]),
            confidence=0.75,
        ),
        "position": np.array([1.0, -2.0]),
        "window": make_window(),
        "detectors": ("kink", "other"),
        "estimate": VelocityEstimate(
            method="by hand",
            impact_time=TIME,
            velocity_after=np.array([0.5, -0.05]),
            standard_error=np.array([0.01, 0.02]),
            velocity_before=np.array([0.11, -0.72]),
            velocity_before_error=np.array([0.003, 0.004]),
            window=(TIME + 0.002, TIME + 0.102),
            samples=101,
            residual_rms=np.array([6e-6, 8e-6]),
            frequencies=np.array([190.0]),
            decay_rates=np.array([40.0]),
            settled=True,
        ),
        "contact_frame": "flange",
        "prediction": make_prediction(),
        "prediction_std": np.array([0.15, 0.06]),
        "normal_source": "tf",
        "expected": False,
        "label": "hard",
        "ablation": (
            AblationRow("M", 0.3, np.array([0.6, 0.1]), np.array([0.1, 0.15]), 0.18, 0.23),
            AblationRow("M+B_rho", 0.0, np.array([0.53, -0.01]), np.array([0.03, 0.04]), 0.05, 0.0645),
        ),
        "notes": ("first note", "second note"),
    }
    return AnalyzedImpact(**{**fields, **changes})


def make_analysis(*impacts, **changes):
    """An analysis of one arm with these impacts."""
    arm = ArmAnalysis(
        arm="left",
        file=Path("runs/one.mcap"),
        topic="/left/joint_states",
        robot="two",
        joint_names=("a", "b"),
        messages=12_345,
        samples=12_001,
        rate_hz=987.6,
        quality=None,
        first_time=10.0,
        last_time=20.0,
        impacts=impacts,
        base_frame="left_base",
        smallest_jump=0.045,
        notes=("a note of the arm",),
    )
    fields = {
        "files": (Path("runs/one.mcap"),),
        "arms": (arm,),
        "messages": 12_345,
        "seconds_read": 0.25,
        "seconds": 1.75,
        "settings": {"friction": 0.3},
        "versions": {"python": "3.11"},
        "notes": ("a note of all",),
    }
    return Analysis(**{**fields, **changes})
