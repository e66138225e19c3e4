import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.reference import AnteImpactField, streamline

DOWN = np.array([1.0, 0.0, 0.0, 0.0])
SPEED = 0.5
coordinate = st.floats(-0.6, 0.6)


def make(**changes):
    values = {
        "impact_position": np.array([0.02, 0.1, 0.01]),
        "impact_velocity": np.array([0.1, -0.48, 0.05]) * SPEED / np.linalg.norm([0.1, -0.48, 0.05]),
        "object_position": np.array([0.0, 0.0, 0.0]),
        "orientation": DOWN,
        "r_min": 0.15,
        "r_max": 0.30,
    }
    return AnteImpactField(**{**values, **changes})


@given(st.tuples(coordinate, coordinate, coordinate))
@settings(max_examples=200)
def test_inside_the_inner_radius_the_reference_is_the_impact_velocity(place):
    field, place = make(), np.array(place)
    assume(np.linalg.norm(place) <= field.r_min)
    np.testing.assert_array_equal(field.velocity(place), field.impact_velocity)
    np.testing.assert_array_equal(field.acceleration(place), np.zeros(3))


@given(st.tuples(coordinate, coordinate, coordinate))
@settings(max_examples=200)
def test_outside_the_outer_radius_the_speed_is_that_of_the_impact(place):
    field, place = make(), np.array(place)
    assume(np.linalg.norm(place) >= field.r_max)
    assert np.linalg.norm(field.velocity(place)) == pytest.approx(SPEED, rel=1e-12)


@given(st.tuples(coordinate, coordinate, coordinate))
@settings(max_examples=200)
def test_acceleration_is_the_derivative_along_the_field(place):
    field, place = make(), np.array(place)
    radius = np.linalg.norm(place)
    # The smoothstep's second derivative jumps at both radii, and the approach field has a pole behind the impact place.
    assume(min(abs(radius - field.r_min), abs(radius - field.r_max)) > 1e-5)
    behind = -(place - field.impact_position) @ field.impact_velocity / SPEED
    across = np.linalg.norm(place - field.impact_position + behind * field.impact_velocity / SPEED)
    assume(behind > -0.02 or across > 0.02)
    step, velocity = 1e-6, field.velocity(place)
    ahead, before = field.velocity(place + step * velocity), field.velocity(place - step * velocity)
    # Rounding 1e-16 / step, and third derivatives of some 1e3 times step^2.
    np.testing.assert_allclose(field.acceleration(place), (ahead - before) / (2 * step), atol=2e-8, rtol=1e-6)


@given(st.tuples(st.floats(-0.12, 0.12), st.floats(0.5, 0.8), st.floats(-0.12, 0.12)))
@settings(max_examples=25)
def test_the_path_goes_through_the_impact_plane_and_on_without_turning_back(start):
    field = make()
    direction = field.impact_velocity / SPEED

    def beyond(place):
        return (place - field.object_position) @ direction > 0.1

    line = streamline(field.velocity, start, duration=4.0, step=0.02, stop=beyond)
    assert beyond(line[-1])
    # Once it moves towards the impact place it never turns back. Reference steps are 0.01 m long.
    assert np.all(np.diff(line @ direction) > 0.0)
    first = int(np.argmax((line - field.impact_position) @ direction > 0.0))
    assert np.linalg.norm(line[first] - field.object_position) < field.r_min
    np.testing.assert_array_equal(field.velocity(line[first]), field.impact_velocity)


@pytest.mark.parametrize("deceleration", [0.0, 6.0])
def test_angular_acceleration_is_the_derivative_along_the_field(deceleration):
    field = make(rotation_deceleration=deceleration)
    rotation = pin.exp3(np.array([0.4, -0.7, 0.2])) @ field.rotation
    twist, acceleration = field.evaluate(np.zeros(3), rotation)
    step = 1e-6
    ahead, _ = field.evaluate(np.zeros(3), pin.exp3(step * twist[3:]) @ rotation)
    before, _ = field.evaluate(np.zeros(3), pin.exp3(-step * twist[3:]) @ rotation)
    # Values of some 700 rad/s^2 with rounding 1e-14 / step.
    np.testing.assert_allclose(acceleration[3:], (ahead - before)[3:] / (2 * step), rtol=1e-6)


def test_a_rotation_from_far_is_braked_as_hard_as_is_allowed_and_no_harder():
    """sqrt(2 a e - (a / kappa)^2) by hand: a 6 rad/s^2, e 0.5 rad, kappa 30 1/s; below a / kappa^2, as without."""
    own, free = make(rotation_deceleration=6.0), make()
    axis = np.array([0.6, 0.0, -0.8])
    twist, acceleration = own.evaluate(np.zeros(3), pin.exp3(-0.5 * axis) @ own.rotation)
    np.testing.assert_allclose(twist[3:], np.sqrt(2.0 * 6.0 * 0.5 - 0.2**2) * axis, atol=1e-9)
    np.testing.assert_allclose(acceleration[3:], -6.0 * axis, atol=1e-9)
    near = pin.exp3(-0.006 * axis) @ own.rotation
    for found, expected in zip(own.evaluate(np.zeros(3), near), free.evaluate(np.zeros(3), near), strict=True):
        np.testing.assert_array_equal(found, expected)
    # No step between the two.
    for error in (6.0 / 900.0 * (1.0 - 1e-9), 6.0 / 900.0 * (1.0 + 1e-9)):
        twist, acceleration = own.evaluate(np.zeros(3), pin.exp3(-error * axis) @ own.rotation)
        np.testing.assert_allclose(twist[3:], 0.2 * axis, atol=1e-8)
        np.testing.assert_allclose(acceleration[3:], -6.0 * axis, atol=1e-6)


@pytest.mark.parametrize("elapsed", [0.0, 0.1, 0.25, 0.45, 0.5, 1.0])
def test_the_start_ramp_is_consistent_with_its_acceleration(elapsed):
    field = make(start_ramp=0.5)
    place, rotation = np.array([0.1, 0.5, 0.2]), pin.exp3(np.array([0.01, 0.02, 0.0])) @ field.rotation
    twist, acceleration = field.evaluate(place, rotation, elapsed)
    if elapsed == 0.0:
        assert not twist.any() and not acceleration.any()
        return
    step = 1e-6

    def moved(sign):
        turned = pin.exp3(sign * step * twist[3:]) @ rotation
        return field.evaluate(place + sign * step * twist[:3], turned, elapsed + sign * step)[0]

    # At the end of the ramp its second derivative jumps by 24 / s^2, seen over one step.
    np.testing.assert_allclose(acceleration, (moved(1) - moved(-1)) / (2 * step), rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"impact_velocity": np.zeros(3)}, "impact_velocity"),
        ({"impact_velocity": np.array([np.nan, 0, 0])}, "impact_velocity"),
        ({"alpha": 0.0}, "alpha"),
        ({"r_min": 0.05}, "r_min"),
        ({"r_max": 0.15}, "r_max"),
        ({"r_max": 0.1}, "r_max"),
        ({"kappa_r": -1.0}, "kappa_r"),
        ({"start_ramp": -0.1}, "start_ramp"),
        ({"rotation_deceleration": -1.0}, "rotation_deceleration"),
        ({"orientation": np.zeros(4)}, "quaternion"),
    ],
)
def test_refuses_numbers_that_make_no_field(changes, named):
    with pytest.raises(InvalidInputError, match=named):
        make(**changes)
