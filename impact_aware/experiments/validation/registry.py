"""The validations by name: a new one is one function in a file of this room and one line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace

from impact_aware.errors import check_name
from impact_aware.experiments.validation.check import KINDS, Check, Kind, ValidationContext


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


def _at(module: str, name: str, summary: str, *kinds: Kind) -> tuple[str, Validation]:
    return name, Validation(f"{module}.{name.replace('-', '_')}", summary, kinds)


VALIDATIONS = dict((
    _at("two_mass_models", "two-mass", "Aouaj 2021 Table I, Fig. 4: models A, B and C", *KINDS),
    _at("two_mass_models", "two-mass-fit", "Aouaj 2021, Fig. 5: the fit finds the jump", "consistency"),
    _at("two_mass_models", "soft-contact", "Aouaj thesis, Fig. 3.15: limits of rigid maps", "aim"),
    _at("printed_tables", "sliding-errors", "Aouaj 2021 Table II: 8 mm/s and 7.3 %", "printed", "consistency"),
    _at("printed_tables", "thesis-errors", "Aouaj thesis, Tables 4.1, 4.2, recomputed", "consistency"),
    _at("sliding_prediction", "sliding-predictions", "Aouaj 2021 Table II, thesis Tables 4.1, 4.2, Fig. 4.10", "aim"),
    _at("printed_tables", "velocity-ratio", "Wang 2021 Table I: the ratios from its own rows", "printed"),
    _at("printed_tables", "prediction-errors", "Rey Arias 2024 Tables II and III: the statements on them", "printed"),
    _at("force_profiles", "viscoelastic", "Wang 2021, (23)-(28): restitution and energy", "aim", "consistency"),
    _at(
        "end_of_compression", "end-of-compression", "Wang 2021, Fig. 9: four inertias in random postures",
        "aim", "consistency",
    ),
    _at("flexible_arms", "flexible-joint", "Rey Arias 2024, Figs. 3-4: M + B_theta wins", "aim"),
    _at("flexible_arms", "flexible-joint-7", "Rey Arias 2024 II-C: the same for the seven-joint arm", "aim"),
    _at("joint_signals", "detection-delay", "Aouaj thesis 4.3: the detector's delay of 4 ms", "aim"),
    _at("joint_signals", "fit-delay", "Aouaj thesis, Fig. 4.7: fits that start late", "aim"),
    _at("joint_signals", "sensitive-joint", "Aouaj thesis (4.12), Figs. 4.15, 4.16: the joint that shows it", "aim"),
    _at(
        "push_mass", "push",
        "van Steen 2024: 0.5 m/s against 2.20 kg gives 0.34 m/s; the shipped task, random postures",
        "aim",
    ),
    _at("mujoco_reference", "mujoco-palms", "a box between two palms in MuJoCo", "aim", "consistency"),
    _at(
        "simultaneous_energy", "simultaneous", "several contacts at once: no energy made, impulses in their cones",
        "aim",
    ),
    _at(
        "engines", "engines",
        "one contact, palms and corners against Drake, where it is installed, and pads that yield",
        "aim", "consistency",
    ),
    _at(
        "velocity_horizon", "velocity-horizon", "van Steen 2024 (29)-(30): torques that the velocity horizon changes",
        "aim",
    ),
    _at("spread", "spread", "share of drawn inputs inside one and two sigma of a prediction", "aim"),
    _at(
        "coulomb_limit", "coulomb", "exact Coulomb map against continuous contact; docs/friction.md",
        "aim", "consistency",
    ),
))


def run_validation(name: str, context: ValidationContext) -> list[Check]:
    """Run one validation.

    Raises:
        UnknownNameError: No such validation.
    """
    check_name("validation", name, VALIDATIONS)
    module, function = VALIDATIONS[name].function.split(".")
    run = getattr(importlib.import_module(f"impact_aware.experiments.validation.{module}"), function)
    context.kinds = VALIDATIONS[name].kinds
    return [replace(check, name=name) for check in run(context)]
