import numpy as np
import pytest

from impact_aware.contact.box import homogeneous_box, near_face_point
from impact_aware.errors import InvalidInputError


def test_the_inertia_is_that_of_many_small_masses():
    mass, half = 2.2, np.array([0.1, 0.065, 0.12])
    cells = 40
    centres = [(np.arange(cells) + 0.5) / cells * 2.0 * size - size for size in half]
    x, y, z = np.meshgrid(*centres, indexing="ij")
    each = mass / cells**3
    expected = [each * (y**2 + z**2).sum(), each * (x**2 + z**2).sum(), each * (x**2 + y**2).sum()]
    # Midpoint sums over n cells miss a square's integral by 1 / n^2 of it, to first order.
    np.testing.assert_allclose(np.diag(homogeneous_box(mass, half, np.zeros(3)).inertia), expected, rtol=1.1 / cells**2)


@pytest.mark.parametrize("half", [[0.1, 0.0, 0.1], [0.1, -0.1, 0.1], [0.1, 0.1], [np.nan, 0.1, 0.1]])
def test_edges_must_be_lengths(half):
    with pytest.raises(InvalidInputError, match="half_extents"):
        homogeneous_box(1.0, half, np.zeros(3))


def test_the_plane_touches_the_box_and_no_corner_is_beyond_it():
    centre, half = np.array([0.5, -0.1, 0.3]), np.array([0.1, 0.065, 0.12])
    corners = centre + half * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    for normal in ([0.0, 1.0, 0.0], [0.6, 0.0, -0.8], [-0.48, 0.64, 0.6]):
        beyond = (corners - near_face_point(centre, half, normal)) @ normal
        assert abs(beyond.max()) < 1e-15  # rounding
