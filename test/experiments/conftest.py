"""The arm of Rey Arias 2024, section III, that several files of this folder try."""

import pytest

from impact_aware.experiments.models.flexible_joint import planar_arm


@pytest.fixture(scope="session")
def planar(robot):
    """The Panda with all but three parallel joints held."""
    return planar_arm(robot)
