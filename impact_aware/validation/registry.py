"""The validations by name: a new one is one function in a file of this room and one line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from impact_aware.errors import UnknownNameError
from impact_aware.validation.check import Check
from impact_aware.validation.context import ValidationContext


@dataclass(frozen=True)
class Validation:
    """Where a validation is, and what it is about.

    Attributes:
        function: `module.function` in this room; imported only when asked for, since some need MuJoCo.
        summary: One line for the list of names.
    """

    function: str
    summary: str


VALIDATIONS: dict[str, Validation] = {
    "two-mass": Validation("two_mass_models.two_mass", "003 Table I, Fig. 4: models A, B and C"),
    "two-mass-fit": Validation("two_mass_models.two_mass_fit", "003 Fig. 5: the oscillation fit finds the rigid jump"),
    "soft-contact": Validation("two_mass_models.soft_contact", "004 Fig. 3.15: where rigid-body maps stop to hold"),
    "sliding-errors": Validation("printed_tables.sliding_errors", "003 Table II: 8 mm/s and 7.3 %"),
    "thesis-errors": Validation("printed_tables.thesis_errors", "004 Tables 4.1 and 4.2 from their own columns"),
    "velocity-ratio": Validation("printed_tables.velocity_ratio", "001 Table I: the ratios from its own rows"),
    "prediction-errors": Validation(
        "printed_tables.prediction_errors", "000 Tables II and III: the statements on them"
    ),
    "viscoelastic": Validation("force_profiles.viscoelastic", "001 (23)-(28), Figs. 5, 7, 8: restitution and energy"),
    "rejected-models": Validation("force_profiles.rejected_models", "001 VII-A: virtual spring and Maxwell"),
    "end-of-compression": Validation("end_of_compression.end_of_compression", "001 Fig. 9: the four inertia options"),
    "flexible-joint": Validation("flexible_planar_arm.flexible_joint", "000 III, Figs. 3-4: M + B_theta is best"),
    "flexible-joint-7": Validation(
        "flexible_seven_joints.flexible_seven_joints", "000 II-C: the same for the seven-joint arm"
    ),
    "detection-delay": Validation("detection_delay.detection_delay", "004 4.3: the detector's delay of 4 ms"),
    "push": Validation("push_mass.push", "002: 0.5 m/s against 2.20 kg gives 0.34 m/s"),
    "mujoco-surface": Validation("mujoco_surface.mujoco_surface", "Panda on a fixed surface in MuJoCo, below 3.55 %"),
    "mujoco-palms": Validation("mujoco_palms.mujoco_palms", "a box between two palms in MuJoCo, below 3.55 %"),
    "coulomb": Validation("coulomb_limit.coulomb", "exact Coulomb map against continuous contact; docs/friction.md"),
}


def run_validation(name: str, context: ValidationContext) -> list[Check]:
    """Run one validation.

    Raises:
        UnknownNameError: No such validation.
    """
    if name not in VALIDATIONS:
        raise UnknownNameError("validation", name, tuple(VALIDATIONS))
    module, function = VALIDATIONS[name].function.split(".")
    checks = getattr(importlib.import_module(f"impact_aware.validation.{module}"), function)(name, context)
    return list(checks)
