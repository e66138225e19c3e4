import os

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.reference.rotation import (
    quaternion_from_rotation,
    rotation_error,
    rotation_from_quaternion,
    rotation_from_rpy,
)
from impact_aware_rigs.figures import resident_bytes

SEED = 11
angles = st.floats(-3.1, 3.1)
# Dividing by the quaternion's norm and its largest component leaves a few units of rounding.
ROUNDING = 1e-12


@given(st.tuples(angles, angles, angles), st.tuples(angles, angles, angles))
@settings(max_examples=100)
def test_error_is_the_rotation_that_leads_to_the_desired_orientation(rpy, desired_rpy):
    rotation, desired = rotation_from_rpy(rpy), rotation_from_rpy(desired_rpy)
    error = np.array(rotation_error(rotation, desired))
    assert np.linalg.norm(error) <= np.pi + ROUNDING
    np.testing.assert_allclose(pin.exp3(error) @ rotation, desired, atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 1.0, np.pi - 1e-9, np.pi])
@pytest.mark.parametrize("axis", np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3)) / np.sqrt(3)]))
def test_error_is_exact_from_no_turn_to_half_a_turn(angle, axis):
    error = np.array(rotation_error(np.eye(3), pin.exp3(angle * axis)))
    # At half a turn the axis may come out with either sign; its matrix carries 1e-16, and a square root of it 1e-8.
    distance = min(np.linalg.norm(error - angle * axis), np.linalg.norm(error + angle * axis) + 2 * (np.pi - angle))
    assert distance < 3e-8


def test_quaternion_and_matrix_are_inverse():
    generator = np.random.default_rng(SEED)
    for _ in range(100):
        rotation = pin.exp3(generator.uniform(-3.0, 3.0, 3))
        quaternion = quaternion_from_rotation(rotation)
        assert quaternion[3] >= 0.0
        np.testing.assert_allclose(rotation_from_quaternion(quaternion), rotation, atol=ROUNDING)


@pytest.mark.parametrize("order", ["C", "F"])
def test_nothing_is_kept_of_what_was_converted(order):
    """Pinocchio's bindings keep a copy, 80 bytes, of each matrix whose rows are contiguous."""
    rotation = np.asarray(pin.exp3(np.array([0.3, -0.2, 0.7])), order=order)
    sizes = []
    for _ in range(2):
        for _ in range(50_000):
            quaternion_from_rotation(rotation)
        sizes.append(resident_bytes(os.getpid()))
    assert sizes[1] - sizes[0] < 1_000_000


@pytest.mark.parametrize("quaternion", [[0, 0, 0, 0], [0, 0, 0.6012, 0.8016], [0, 0, 1], [np.nan, 0, 0, 1]])
def test_refuses_what_is_no_unit_quaternion(quaternion):
    with pytest.raises(InvalidInputError, match="quaternion"):
        rotation_from_quaternion(quaternion)
