"""Validations fail where the physics that they recompute is wrong: each from one deliberate error."""

import dataclasses
import importlib

import numpy as np
import pytest

from impact_aware.experiments.validation import run_validation
from impact_aware.experiments.validation.check import ValidationContext


def swapped_columns(table, first, second):
    def change(monkeypatch, module):
        printed = getattr(module, table)
        monkeypatch.setattr(module, table, printed | {first: printed[second], second: printed[first]})

    return change


def larger_errors_with_b_rho(monkeypatch, module):
    monkeypatch.setitem(module.REY_ARIAS, "with_b_rho", 1.5 * module.REY_ARIAS["with_b_rho"])


def scaled(name, factor):
    def change(monkeypatch, module):
        monkeypatch.setattr(module, name, factor * getattr(module, name))

    return change


def other_parameters(**values):
    """The two-mass models with other values than the paper's."""

    def change(monkeypatch, module):
        simulate = module.simulate

        def wrong(model, parameters=None, **options):
            parameters = dataclasses.replace(parameters or module.TwoMassParameters(), **values)
            return simulate(model, parameters, **options)

        monkeypatch.setattr(module, "simulate", wrong)

    return change


def faster(monkeypatch, module):
    """Central impacts at a tenth more than the speed asked for."""
    impact = module.central_impact
    monkeypatch.setattr(
        module, "central_impact", lambda model, mass, speed, **options: impact(model, mass, 1.1 * speed, **options)
    )


def stiffening_joints(monkeypatch, module):
    """Joints whose flexibility takes mobility away instead of adding it."""
    flexibility = module.flexibility_inverse_inertia
    monkeypatch.setattr(module, "flexibility_inverse_inertia", lambda *arguments: -0.5 * flexibility(*arguments))


def half_the_equivalent_mass(monkeypatch, module):
    equivalent = module.equivalent_mass_matrix
    monkeypatch.setattr(module, "equivalent_mass_matrix", lambda *arguments: 0.5 * equivalent(*arguments))


def other_rows(monkeypatch, module):
    """Ante-impact velocities one row off."""
    rows = {name: np.roll(module.SLIDING[name], 1) for name in ("before", "before_normal")}
    monkeypatch.setattr(module, "SLIDING", module.SLIDING | rows)


def other_inertia(monkeypatch, module):
    monkeypatch.setattr(module, "INERTIA_CHOICES", ("M+B_theta", "M", "M+B_rho"))
    coupling = module._coupling_at
    exchange = {"M": "M+B_theta", "M+B_theta": "M"}
    monkeypatch.setattr(module, "_coupling_at", lambda robot, q, inertia: coupling(robot, q, exchange[inertia]))


def the_next_joint(monkeypatch, module):
    """(4.12) counted from the wrong joint."""
    sensitivity = module.impact_sensitivity
    monkeypatch.setattr(module, "impact_sensitivity", lambda *arguments: np.roll(sensitivity(*arguments), 1))


ERRORS = [
    ("sliding-errors", "printed_tables", swapped_columns("SLIDING", "predicted", "error")),
    ("thesis-errors", "printed_tables", swapped_columns("THESIS", "relative_error", "absolute_error")),
    ("prediction-errors", "printed_tables", larger_errors_with_b_rho),
    ("push", "push_mass", scaled("_MASS", 1.2)),
    ("push", "push_mass", scaled("_SPEED", 0.9)),
    ("two-mass", "two_mass_models", other_parameters(object_mass=4.0)),
    ("two-mass", "two_mass_models", other_parameters(drive_force=110.0)),
    ("two-mass", "two_mass_models", other_parameters(joint_damping=8.0)),
    ("viscoelastic", "force_profiles", faster),
    ("end-of-compression", "end_of_compression", stiffening_joints),
    ("end-of-compression", "end_of_compression", half_the_equivalent_mass),
    ("sliding-predictions", "sliding_prediction", other_rows),
    ("sliding-predictions", "sliding_prediction", other_inertia),
    ("sensitive-joint", "joint_signals", the_next_joint),
]


@pytest.mark.parametrize(("name", "module", "change"), ERRORS, ids=[f"{k}-{e[0]}" for k, e in enumerate(ERRORS)])
def test_a_wrong_number_fails_the_check(monkeypatch, name, module, change):
    change(monkeypatch, importlib.import_module(f"impact_aware.experiments.validation.{module}"))
    assert [check for check in run_validation(name, ValidationContext(trials=8)) if not check.ok]
