"""The contact between tip and plane: cone, regularised friction, action and reaction on a free object."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.contact.force_models import HuntCrossley
from impact_aware.contact.geometry import FreeObject
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.models.surface_contact import SurfaceContact, surface_at

MODEL = HuntCrossley(1e8, 1e7)
components = st.floats(-1.0, 1.0)


@given(
    normal=st.tuples(components, components, st.floats(0.2, 1.0)),
    slip=st.tuples(components, components, components),
    friction=st.floats(0.0, 1.5),
    depth=st.floats(-1e-3, 1e-3),
)
@settings(max_examples=60)
def test_force_is_in_the_cone_and_friction_takes_energy(normal, slip, friction, depth):
    contact = SurfaceContact(np.array(normal), np.zeros(3), MODEL, friction=friction)
    force = contact.force(depth, np.array(slip))
    pressure = float(force @ contact.normal)
    tangential = force - pressure * contact.normal
    if depth < 0.0:
        assert not force.any()
    if pressure > 0.0:
        # Splitting the force along the normal again costs a rounding error of its size.
        assert np.linalg.norm(tangential) <= (friction * (1.0 + 1e-9) + 1e-12) * pressure
        assert float(tangential @ np.array(slip)) <= 1e-9 * pressure


def test_friction_tends_to_coulombs_as_the_rounding_shrinks():
    slip = np.array([0.03, 0.04, -0.1])
    for rounding, off in ((1e-2, 0.02), (1e-4, 2e-6)):
        contact = SurfaceContact(np.array([0.0, 0.0, 1.0]), np.zeros(3), MODEL, 0.5, rounding)
        force = contact.force(1e-4, slip)
        # 1 - |v| / sqrt(|v|^2 + eps^2) is (eps / |v|)^2 / 2 for |v| = 0.05 m/s.
        assert np.linalg.norm(force[:2]) / force[2] == pytest.approx(0.5, rel=off)
        np.testing.assert_allclose(force[:2] / np.linalg.norm(force[:2]), [-0.6, -0.8], atol=1e-12)


def test_surface_stands_where_the_tip_will_touch():
    contact = surface_at(np.array([0.3, 0.1, 0.5]), 0.03, [0.0, 0.0, 2.0], 0.002, MODEL)
    assert contact.depth(np.array([0.3, 0.1, 0.47]), np.zeros(6)) == pytest.approx(-0.002)
    assert contact.depth(np.array([0.9, 0.1, 0.468]), np.zeros(6)) == pytest.approx(0.0, abs=1e-12)


def test_object_feels_the_opposite_force_and_its_moment():
    box = FreeObject(2.0, np.diag([0.02, 0.03, 0.04]), np.array([0.0, 0.0, -0.1]))
    contact = SurfaceContact(np.array([0.0, 0.0, 1.0]), np.zeros(3), MODEL, obstacle=box)
    point, force = np.array([0.05, 0.0, 0.0]), np.array([1.0, 2.0, 10.0])
    acceleration = contact.object_acceleration(point, force)
    np.testing.assert_allclose(box.mass * acceleration[:3], -force)
    np.testing.assert_allclose(box.inertia @ acceleration[3:], np.cross(point - box.position, -force))


def test_depth_and_slip_follow_a_moving_object():
    box = FreeObject(2.0, np.eye(3), np.array([0.0, 0.0, -0.1]))
    contact = SurfaceContact(np.array([0.0, 0.0, 1.0]), np.zeros(3), MODEL, obstacle=box)
    point = np.array([0.05, 0.0, -0.001])
    away, turned = np.array([0, 0, -0.001, 0, 0, 0.0]), np.array([0, 0, 0, 0, 0.02, 0.0])
    assert contact.depth(point, away) == pytest.approx(0.0, abs=1e-12)
    # A small turn about y lowers the face at x = 0.05 m by 0.05 * 0.02 m.
    assert contact.depth(point, turned) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(contact.slip(np.zeros(3), point, turned), [-0.02 * 0.099, 0.0, 0.001], atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInputError, match="normal"):
        SurfaceContact(np.zeros(3), np.zeros(3), MODEL)
    with pytest.raises(InvalidInputError, match="friction"):
        SurfaceContact(np.array([0.0, 0.0, 1.0]), np.zeros(3), MODEL, friction=-0.1)


def test_the_normal_force_is_the_models_at_the_approach_speed():
    normal = np.array([0.6, 0.0, 0.8])
    contact = SurfaceContact(normal, np.zeros(3), MODEL, friction=0.4, slip_regularisation=1e-9)
    sideways = np.array([0.8, 0.0, -0.6])
    for speed in (0.2, 0.0, -0.05):
        force = contact.force(1e-4, -speed * normal + 0.3 * sideways)
        pressure = float(MODEL.force(1e-4, speed))
        np.testing.assert_allclose(force, pressure * (normal - 0.4 * sideways), rtol=1e-9)


def test_depth_and_slip_on_an_object_that_moves_and_turns_about_an_oblique_axis():
    box = FreeObject(2.0, np.eye(3), np.array([0.1, -0.2, 0.3]))
    normal = np.array([0.6, 0.0, 0.8])
    contact = SurfaceContact(normal, np.array([0.2, 0.1, 0.4]), MODEL, obstacle=box)
    point, motion = np.array([0.25, -0.1, 0.35]), np.array([0.01, 0.02, -0.03, 0.003, -0.004, 0.005])
    # (0.05, -0.2, -0.05) from the plane's point; the lever (0.15, 0.1, 0.05) turns by (-0.7, 0.6, 0.9) mm.
    shift = np.array([0.01 - 0.0007, 0.02 + 0.0006, -0.03 + 0.0009])
    assert contact.depth(point, motion) == pytest.approx(0.01 + 0.6 * shift[0] + 0.8 * shift[2], abs=1e-12)
    np.testing.assert_allclose(contact.slip(np.array([1.0, 2.0, 3.0]), point, motion), [1, 2, 3] - shift, atol=1e-12)
    fixed = SurfaceContact(normal, np.array([0.2, 0.1, 0.4]), MODEL)
    assert fixed.depth(point, motion) == pytest.approx(0.01)
    np.testing.assert_array_equal(fixed.slip(np.array([1.0, 2.0, 3.0]), point, motion), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fixed.object_acceleration(point, np.ones(3)), np.zeros(6))
