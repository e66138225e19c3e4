"""Where the object goes after the impact."""

import numpy as np
from scipy.spatial.transform import Rotation

from impact_aware.contact.shape_registry import shape_named
from impact_aware.markers.marker import Sheet
from impact_aware.markers.movement import ghosts
from impact_aware.markers.style import MarkerStyle

SHAPE, SHEET, STYLE = shape_named("box", [0.1, 0.05, 0.02]), Sheet("", "base", 0.0), MarkerStyle(ghost_time=0.5)
TURN = Rotation.from_rotvec([0.4, -0.3, 0.9])
TWIST = np.array([0.1, 0.2, 0.3, 0.5, -1.0, 2.0])


def test_ghosts_turn_about_axes_of_the_base_frame() -> None:
    _, after, _ = ghosts(SHEET, [1.0, 2.0, 3.0], TWIST, SHAPE, STYLE, TURN.as_quat())
    turned = Rotation.from_rotvec(0.5 * TWIST[3:]) * TURN
    (still, moved, _) = ghosts(SHEET, np.zeros(3), np.zeros(6), SHAPE, STYLE)
    expected = turned.apply(moved.points) + [1.05, 2.1, 3.15]
    np.testing.assert_allclose(after.points, expected, atol=1e-12)
    np.testing.assert_array_equal(still.points, moved.points)
