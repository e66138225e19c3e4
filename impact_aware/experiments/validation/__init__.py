"""The papers' numbers and figures, recomputed: each check one function, registered by name."""

from impact_aware.experiments.validation.check import Check
from impact_aware.experiments.validation.registry import VALIDATIONS, Validation, run_validation

__all__ = ["VALIDATIONS", "Check", "Validation", "run_validation"]
