"""What a palm of 80 x 60 mm shares with faces, worked out by hand."""

import numpy as np
import pytest

from impact_aware.contact.face_overlap import clipped

HALF = (0.04, 0.03)


@pytest.mark.parametrize(
    ("ring", "shared"),
    [
        # A larger face: the whole palm.
        (
            [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]],
            [(-0.04, -0.03), (-0.04, 0.03), (0.04, -0.03), (0.04, 0.03)],
        ),
        # A smaller one, aside: over one edge of the palm.
        (
            [[0.05, 0.02], [0.01, 0.02], [0.01, -0.01], [0.05, -0.01]],
            [(0.01, -0.01), (0.01, 0.02), (0.04, -0.01), (0.04, 0.02)],
        ),
        # A triangle whose corner comes in over the upper edge.
        ([[0.0, -0.01], [0.08, 0.07], [-0.08, 0.07]], [(-0.04, 0.03), (0.0, -0.01), (0.04, 0.03)]),
        # A line through the palm, and one that ends on it.
        ([[-0.02, -0.1], [-0.02, 0.1]], [(-0.02, -0.03), (-0.02, 0.03)]),
        ([[0.01, 0.0], [0.09, 0.08]], [(0.01, 0.0), (0.04, 0.03)]),
        # A point.
        ([[0.01, -0.02]], [(0.01, -0.02)]),
        # Nothing in common: the nearest point of the palm to the middle of the face.
        ([[0.1, 0.01], [0.2, 0.01]], [(0.04, 0.01)]),
    ],
)
def test_the_corners_of_what_is_shared(ring, shared):
    for way in (ring, ring[::-1]):
        np.testing.assert_allclose(sorted(clipped(way, HALF).round(9).tolist()), shared, atol=1e-12)
