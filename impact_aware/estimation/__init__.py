"""What did really happen: rigid-body velocity after an impact, its metrics, and parameters identified from impacts."""

from impact_aware.estimation.estimate import estimate

__all__ = ["estimate"]
