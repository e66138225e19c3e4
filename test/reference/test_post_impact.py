import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_aware.errors import InvalidInputError
from impact_aware.reference import PostImpactField, streamline

GOAL = np.array([0.05, -0.35, 0.0])
AFTER = np.array([0.02, -0.33, 0.0])
coordinate = st.floats(-0.5, 0.5)


def make(**changes):
    values = {
        "goal": GOAL,
        "object_position_at_impact": np.zeros(3),
        "object_velocity_after": AFTER,
        "orientation": np.array([0.0, 0.0, 0.0, 1.0]),
    }
    return PostImpactField(**{**values, **changes})


@given(st.tuples(coordinate, coordinate, coordinate), st.booleans(), st.sampled_from([0.0, 0.08, 0.2]))
@settings(max_examples=200)
def test_acceleration_is_the_derivative_along_the_field(place, predicted, sideways):
    field = make(object_velocity_after=AFTER if predicted else None, sideways_radius=sideways)
    place = np.array(place)
    radius = np.linalg.norm(place)
    # The smoothstep's second derivative jumps at all radii, which begin at the impact position itself.
    assume(min(abs(radius - field.r_min), abs(radius - field.r_max), abs(radius - sideways), radius) > 1e-5)
    step, velocity = 1e-6, field.velocity(place)
    difference = (field.velocity(place + step * velocity) - field.velocity(place - step * velocity)) / (2 * step)
    # Rounding 1e-16 / step, and third derivatives of some 1e3 times step^2.
    np.testing.assert_allclose(field.acceleration(place), difference, atol=1e-8, rtol=1e-6)


def test_what_is_across_the_way_to_the_goal_leaves_the_reference_at_its_own_radius():
    """At three eighths of the radius the smoothstep is 0.31640625, at the radius 1; along the way nothing changes."""
    way = GOAL / np.linalg.norm(GOAL)
    own, other = make(sideways_radius=0.08), make()
    for distance, share in ((0.03, 0.31640625), (0.08, 1.0)):
        place = distance * np.array([0.6, -0.8, 0.0])
        to_goal = 2.0 * (GOAL - place)
        across = AFTER + share * (to_goal - AFTER)
        across -= way * (way @ across)
        expected = across + way * (way @ other.velocity(place))
        np.testing.assert_allclose(own.velocity(place), expected, atol=1e-15)
    np.testing.assert_array_equal(own.velocity(np.zeros(3)), AFTER)
    np.testing.assert_array_equal(other.velocity(np.array([0.0, -0.1, 0.0])), AFTER)
    assert (other.velocity(np.array([0.0, -0.101, 0.0])) != AFTER).any()


@given(st.tuples(st.floats(-0.1, 0.1), st.floats(-0.4, -0.1), st.floats(-0.05, 0.05)))
@settings(max_examples=25)
def test_the_object_comes_to_its_goal(after):
    line = streamline(make(object_velocity_after=np.array(after)).velocity, np.zeros(3), duration=8.0, step=0.02)
    # The slowest of these flows needs 0.3 m / 0.1 m/s to leave the prediction, and then loses 2/s of its distance.
    assert np.linalg.norm(line[-1] - GOAL) < 1e-3


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kappa_p": 0.0}, "kappa_p"),
        ({"r_max": 0.1}, "r_max"),
        ({"r_min": -0.1}, "r_max"),
        ({"sideways_radius": -0.1}, "sideways_radius"),
        ({"kappa_r": -1.0}, "kappa_r"),
        ({"goal": np.array([np.nan, 0, 0])}, "finite"),
    ],
)
def test_refuses_numbers_that_make_no_field(changes, named):
    with pytest.raises(InvalidInputError, match=named):
        make(**changes)
