import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError

UP = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize("half", [[0.1, 0.0, 0.1], [0.1, -0.1, 0.1], [0.1, 0.1], [np.nan, 0.1, 0.1]])
def test_edges_must_be_lengths(half):
    with pytest.raises(InvalidInputError, match="half_extents"):
        homogeneous_box(1.0, half, np.zeros(3))


# No axis of it lies along one of the frame's, and no two columns look alike.
TURNED = pin.rpy.rpyToMatrix(0.3, -0.2, 0.7)
HALF = np.array([0.1, 0.065, 0.12])


def test_the_inertia_of_a_turned_box_is_that_of_many_small_masses():
    mass, cells = 2.2, 30
    ticks = [(np.arange(cells) + 0.5) / cells * 2.0 * size - size for size in HALF]
    places = TURNED @ np.array(np.meshgrid(*ticks, indexing="ij")).reshape(3, -1)
    squares = mass / cells**3 * places @ places.T
    expected = np.trace(squares) * np.eye(3) - squares
    found = homogeneous_box(mass, HALF, np.zeros(3), rotation=TURNED).inertia
    np.testing.assert_allclose(found, expected, atol=1.1 / cells**2 * np.abs(expected).max())


def test_the_plane_touches_a_turned_box():
    centre = np.array([0.5, -0.1, 0.3])
    corners = centre + (HALF * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T) @ TURNED.T
    for normal in ([0.0, 1.0, 0.0], [0.6, 0.0, -0.8], [-0.48, 0.64, 0.6]):
        beyond = (corners - PlacedShape(Box(HALF), centre, TURNED).plane_point(np.array(normal))) @ normal
        assert abs(beyond.max()) < 1e-15  # rounding


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("degrees", [-35.0, 20.0, 44.0])
def test_the_axes_of_a_box_go_by_the_names_that_turn_it_least(first, degrees):
    """However its axes are named, a box that looks the same is turned the same."""
    turn = pin.utils.rotate("z", np.radians(degrees))
    # Axis `first` comes first, and the third one looks the other way round.
    naming = np.roll(np.eye(3), -first, axis=0).T * [1.0, -1.0, -1.0]
    np.testing.assert_allclose(Box(HALF).turn(turn @ naming, UP), turn, atol=1e-12)


def test_the_nearest_axis_of_a_box_may_be_the_opposite_of_one():
    box = PlacedShape(Box(HALF), np.zeros(3), TURNED)
    np.testing.assert_array_equal(box.face(-TURNED[:, 1] + 0.3 * TURNED[:, 2]), -TURNED[:, 1])
    np.testing.assert_array_equal(box.face(0.3 * TURNED[:, 1] + TURNED[:, 2]), TURNED[:, 2])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_half_a_turn_about_an_axis_makes_no_other_box(axis):
    half_turn = pin.exp3(np.pi * TURNED[:, axis]) @ TURNED
    np.testing.assert_allclose(Box(HALF).nearest_equal(half_turn, TURNED), TURNED, atol=1e-12)
    # A quarter makes another one, of which half a turn is no nearer.
    quarter = pin.exp3(0.4 * np.pi * TURNED[:, axis]) @ TURNED
    np.testing.assert_allclose(Box(HALF).nearest_equal(quarter, TURNED), quarter, atol=1e-12)


def test_a_box_that_leans_a_little_is_stood_upright_and_keeps_its_heading():
    heading = pin.utils.rotate("z", 0.5)
    lean = pin.exp3(0.02 * np.array([0.6, -0.8, 0.0]))
    np.testing.assert_allclose(Box(HALF).upright(lean @ heading, UP, 0.03), heading, atol=1e-12)
    np.testing.assert_array_equal(Box(HALF).upright(lean @ heading, UP, 0.01), lean @ heading)
    # The vertical of a frame on its side, and a box whose second axis is its upright one.
    on_its_side = pin.exp3(0.02 * np.array([0.0, 0.6, 0.8])) @ np.roll(np.eye(3), 1, axis=1)
    stood = Box(HALF).upright(on_its_side, np.array([1.0, 0.0, 0.0]), 0.03)
    np.testing.assert_allclose(stood[:, 1], [1.0, 0.0, 0.0], atol=1e-12)
    assert np.linalg.norm(pin.log3(stood.T @ on_its_side)) == pytest.approx(0.02)
