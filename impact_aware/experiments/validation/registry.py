"""The validations by name: a new one is one function in a file of this room and one line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace

from impact_aware.errors import UnknownNameError
from impact_aware.experiments.validation.check import Check, Kind, ValidationContext


@dataclass(frozen=True)
class Validation:
    """Where a validation is, and what it is about.

    Attributes:
        function: `module.function` in this room; imported only when it runs, since some need MuJoCo.
        summary: One line for the list of names.
        kinds: Kinds of its checks, see `check.KINDS`.
    """

    function: str
    summary: str
    kinds: tuple[Kind, ...]


_ALL: tuple[Kind, ...] = ("printed", "aim", "consistency")

VALIDATIONS: dict[str, Validation] = {
    "two-mass": Validation("two_mass_models.two_mass", "Aouaj 2021 Table I, Fig. 4: models A, B and C", _ALL),
    "two-mass-fit": Validation(
        "two_mass_models.two_mass_fit", "Aouaj 2021, Fig. 5: the fit finds the jump", ("consistency",)
    ),
    "soft-contact": Validation(
        "two_mass_models.soft_contact", "Aouaj thesis, Fig. 3.15: limits of rigid maps", ("aim",)
    ),
    "sliding-errors": Validation(
        "printed_tables.sliding_errors", "Aouaj 2021 Table II: 8 mm/s and 7.3 %", ("printed", "consistency")
    ),
    "thesis-errors": Validation(
        "printed_tables.thesis_errors", "Aouaj thesis, Tables 4.1, 4.2, recomputed", ("consistency",)
    ),
    "sliding-predictions": Validation(
        "sliding_prediction.sliding_predictions", "Aouaj 2021 Table II, thesis Tables 4.1, 4.2, Fig. 4.10", ("aim",)
    ),
    "velocity-ratio": Validation(
        "printed_tables.velocity_ratio", "Wang 2021 Table I: the ratios from its own rows", ("printed",)
    ),
    "prediction-errors": Validation(
        "printed_tables.prediction_errors", "Rey Arias 2024 Tables II and III: the statements on them", ("printed",)
    ),
    "viscoelastic": Validation(
        "force_profiles.viscoelastic", "Wang 2021, (23)-(28): restitution and energy", ("aim", "consistency")
    ),
    "rejected-models": Validation(
        "force_profiles.rejected_models", "Wang 2021 VII-A: virtual spring and Maxwell", ("aim",)
    ),
    "end-of-compression": Validation(
        "end_of_compression.end_of_compression",
        "Wang 2021, Fig. 9: four inertias in random postures",
        ("aim", "consistency"),
    ),
    "flexible-joint": Validation(
        "flexible_arms.flexible_joint", "Rey Arias 2024, Figs. 3-4: M + B_theta wins", ("aim",)
    ),
    "flexible-joint-7": Validation(
        "flexible_arms.flexible_seven_joints", "Rey Arias 2024 II-C: the same for the seven-joint arm", ("aim",)
    ),
    "detection-delay": Validation(
        "joint_signals.detection_delay", "Aouaj thesis 4.3: the detector's delay of 4 ms", ("aim",)
    ),
    "fit-delay": Validation("joint_signals.fit_delay", "Aouaj thesis, Fig. 4.7: fits that start late", ("aim",)),
    "sensitive-joint": Validation(
        "joint_signals.sensitive_joint", "Aouaj thesis (4.12), Figs. 4.15, 4.16: the joint that shows it", ("aim",)
    ),
    "push": Validation(
        "push_mass.push",
        "van Steen 2024: 0.5 m/s against 2.20 kg gives 0.34 m/s; the shipped task, random postures",
        ("aim",),
    ),
    "mujoco-palms": Validation("mujoco_reference.palms", "a box between two palms in MuJoCo", ("aim", "consistency")),
    "simultaneous": Validation(
        "simultaneous_energy.simultaneous",
        "several contacts at once: no energy made, impulses in their cones",
        ("aim",),
    ),
    "engines": Validation(
        "engines.engines",
        "one contact, palms and corners against Drake, where it is installed, and pads that yield",
        ("aim", "consistency"),
    ),
    "velocity-horizon": Validation(
        "velocity_horizon.velocity_horizon",
        "van Steen 2024 (29)-(30): torques that the velocity horizon changes",
        ("aim",),
    ),
    "spread": Validation(
        "spread.spread", "share of drawn inputs inside one and two sigma of a prediction", ("aim",)
    ),
    "coulomb": Validation(
        "coulomb_limit.coulomb",
        "exact Coulomb map against continuous contact; docs/friction.md",
        ("aim", "consistency"),
    ),
}


def run_validation(name: str, context: ValidationContext) -> list[Check]:
    """Run one validation.

    Raises:
        UnknownNameError: No such validation.
    """
    if name not in VALIDATIONS:
        raise UnknownNameError("validation", name, tuple(VALIDATIONS))
    module, function = VALIDATIONS[name].function.split(".")
    run = getattr(importlib.import_module(f"impact_aware.experiments.validation.{module}"), function)
    context.kinds = VALIDATIONS[name].kinds
    return [replace(check, name=name) for check in run(context)]
