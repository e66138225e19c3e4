"""Impact-aware manipulation: detect, predict, generate references for, and control through impacts.

The names of `__all__` are the library's public interface, `import impact_aware as ia`. Each is imported when it is
first used, so that a prediction waits for neither a simulator nor a plotting library. None of them needs ROS.

Everywhere: SI units and radians; arrays of NumPy; joints in the order of `RobotModel.joint_names`, arms one after the
other; vectors of three in the base frame of the arm, twists (6,) with the linear part first; normals point from the
obstacle into the robot. What can't be used is refused with an `ImpactAwareError` whose text is one sentence.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from impact_aware.contact import Contact, FreeObject
    from impact_aware.control import Command, ControlParameters, ControlSession, Mode, warm_up
    from impact_aware.detection import JointSample, make_detector
    from impact_aware.errors import ImpactAwareError, InvalidInputError, NoSolutionError, UnknownNameError
    from impact_aware.experiments.episode import (
        EpisodeResult,
        EpisodeSettings,
        predict_impact,
        run_episode,
        task_plant,
    )
    from impact_aware.impact import ImpactPrediction, ImpactPredictor, predict
    from impact_aware.impact.batch import BatchPrediction, predict_batch
    from impact_aware.impact.bodies import ArmState, BodyContact
    from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
    from impact_aware.impact.uncertainty import InputCovariance, UncertainPrediction, predict_with_covariance
    from impact_aware.planning import HitPlan, HitUncertainty, WantedResult, plan_hit
    from impact_aware.recordings.impact_analysis import analyze
    from impact_aware.recordings.options import AnalysisOptions
    from impact_aware.recordings.results import Analysis, AnalyzedImpact, ArmAnalysis
    from impact_aware.records import ImpactEvent
    from impact_aware.reference import AnteImpactField, PostImpactField, ReferenceField, streamline
    from impact_aware.report.html import write_report
    from impact_aware.robot import RobotModel, load_robot
    from impact_aware.simulation import MujocoPlant
    from impact_aware.task import Task, base_placement, load_task, make_field, start_posture

__version__ = "0.9.0"

_HOME = {
    "impact_aware.contact": ("Contact", "FreeObject"),
    "impact_aware.control": ("Command", "ControlParameters", "ControlSession", "Mode", "warm_up"),
    "impact_aware.detection": ("JointSample", "make_detector"),
    "impact_aware.errors": ("ImpactAwareError", "InvalidInputError", "NoSolutionError", "UnknownNameError"),
    "impact_aware.experiments.episode": (
        "EpisodeResult", "EpisodeSettings", "predict_impact", "run_episode", "task_plant",
    ),
    "impact_aware.impact": ("ImpactPrediction", "ImpactPredictor", "predict"),
    "impact_aware.impact.batch": ("BatchPrediction", "predict_batch"),
    "impact_aware.impact.bodies": ("ArmState", "BodyContact"),
    "impact_aware.impact.simultaneous": ("SimultaneousPrediction", "predict_simultaneous"),
    "impact_aware.impact.uncertainty": ("InputCovariance", "UncertainPrediction", "predict_with_covariance"),
    "impact_aware.planning": ("HitPlan", "HitUncertainty", "WantedResult", "plan_hit"),
    "impact_aware.recordings.impact_analysis": ("analyze",),
    "impact_aware.recordings.options": ("AnalysisOptions",),
    "impact_aware.recordings.results": ("Analysis", "AnalyzedImpact", "ArmAnalysis"),
    "impact_aware.records": ("ImpactEvent",),
    "impact_aware.reference": ("AnteImpactField", "PostImpactField", "ReferenceField", "streamline"),
    "impact_aware.report.html": ("write_report",),
    "impact_aware.robot": ("RobotModel", "load_robot"),
    "impact_aware.simulation": ("MujocoPlant",),
    "impact_aware.task": ("Task", "base_placement", "load_task", "make_field", "start_posture"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [  # noqa: F822 - imported by `__getattr__`
    "Analysis",
    "AnalysisOptions",
    "AnalyzedImpact",
    "AnteImpactField",
    "ArmAnalysis",
    "ArmState",
    "BatchPrediction",
    "BodyContact",
    "Command",
    "Contact",
    "ControlParameters",
    "ControlSession",
    "EpisodeResult",
    "EpisodeSettings",
    "FreeObject",
    "HitPlan",
    "HitUncertainty",
    "ImpactAwareError",
    "ImpactEvent",
    "ImpactPrediction",
    "ImpactPredictor",
    "InputCovariance",
    "InvalidInputError",
    "JointSample",
    "Mode",
    "MujocoPlant",
    "NoSolutionError",
    "PostImpactField",
    "ReferenceField",
    "RobotModel",
    "SimultaneousPrediction",
    "Task",
    "UncertainPrediction",
    "UnknownNameError",
    "WantedResult",
    "__version__",
    "analyze",
    "base_placement",
    "load_robot",
    "load_task",
    "make_detector",
    "make_field",
    "plan_hit",
    "predict",
    "predict_batch",
    "predict_impact",
    "predict_simultaneous",
    "predict_with_covariance",
    "run_episode",
    "start_posture",
    "streamline",
    "task_plant",
    "warm_up",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """A public name, imported from the module that has it."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    except ModuleNotFoundError as error:
        if error.name == "mujoco":
            error.add_note(f"{name} needs the simulator: python3 -m pip install mujoco")
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, imported or not."""
    return sorted({*globals(), *__all__})
