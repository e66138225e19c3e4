"""What did really happen: rigid-body velocity after an impact, its metrics, and parameters identified from impacts."""

from impact_aware.estimation.contact_identification import ForceProfile, identify_contact
from impact_aware.estimation.estimate import AnteImpactSettings, cartesian_positions, estimate
from impact_aware.estimation.identification import (
    Identification,
    identify_friction,
    identify_motor_inertia,
    identify_restitution,
)
from impact_aware.estimation.registry import (
    BOTH_SIDES,
    DEFAULT_ESTIMATOR,
    ESTIMATORS,
    OFFLINE_ESTIMATORS,
    find_estimator,
)
from impact_aware.estimation.result import BranchFit
from impact_aware.estimation.trials import ImpactTrial, trial_from_recording

__all__ = [
    "BOTH_SIDES",
    "DEFAULT_ESTIMATOR",
    "ESTIMATORS",
    "AnteImpactSettings",
    "BranchFit",
    "ForceProfile",
    "Identification",
    "ImpactTrial",
    "OFFLINE_ESTIMATORS",
    "cartesian_positions",
    "estimate",
    "find_estimator",
    "identify_contact",
    "identify_friction",
    "identify_motor_inertia",
    "identify_restitution",
    "trial_from_recording",
]
