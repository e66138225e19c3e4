"""Hertz stiffness against the theory it is made from."""

import numpy as np
import pytest

from impact_aware.contact.hertz import MATERIALS, Material, hertz_stiffness
from impact_aware.errors import InvalidInputError, UnknownNameError


def test_stiffness_is_hertz_four_thirds_effective_modulus_root_radius():
    first, second = MATERIALS["steel"], MATERIALS["hardwood"]
    effective = 1.0 / (first.compliance + second.compliance)
    assert hertz_stiffness(0.025, first, second) == pytest.approx(4.0 / 3.0 * effective * np.sqrt(0.025))


def test_the_softer_material_dominates():
    with_steel = hertz_stiffness(0.025, "steel", "softwood")
    rigid = hertz_stiffness(0.025, Material(1e18, 0.3), "softwood")
    # Aouaj thesis below (2.13): a partner five hundred times stiffer changes less than one percent.
    assert with_steel == pytest.approx(rigid, rel=0.01)


def test_four_times_the_radius_doubles_the_stiffness():
    assert hertz_stiffness(0.1, "steel", "steel") == pytest.approx(2.0 * hertz_stiffness(0.025, "steel", "steel"))


def test_bad_values_are_refused():
    with pytest.raises(InvalidInputError, match="radius"):
        hertz_stiffness(0.0, "steel", "steel")
    with pytest.raises(InvalidInputError, match="poisson_ratio"):
        Material(1e9, 0.7)
    with pytest.raises(UnknownNameError, match="hardwood"):
        hertz_stiffness(0.02, "steel", "cheese")
