"""The plane from taps: known planes come back, and what makes no plane is refused."""

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.estimation.touched_plane import LEAST_WIDTH, TAP_ERROR, touched_plane

NORMAL = np.array([0.2, -0.3, 1.0]) / np.linalg.norm([0.2, -0.3, 1.0])
POINT = np.array([0.5, 0.1, 0.2])
RADIUS = 0.03
ALONG = np.cross(NORMAL, [1.0, 0.0, 0.0]) / np.linalg.norm(np.cross(NORMAL, [1.0, 0.0, 0.0]))
ACROSS = np.cross(NORMAL, ALONG)
PLACES = np.array([[0.1, 0.02], [-0.05, 0.08], [-0.03, -0.07], [0.06, -0.05]])
APPROACH = -0.05 * NORMAL + 0.02 * ALONG


def taps(count=4, heights=(0.0, 0.0, 0.0, 0.0)):
    """Centres of the tip, which is one radius above the plane, and `heights` more, m."""
    above = (RADIUS + np.asarray(heights[:count]))[:, None] * NORMAL
    return POINT + PLACES[:count, :1] * ALONG + PLACES[:count, 1:] * ACROSS + above


def fit(centres, *, errors=None, approaches=None, radius=RADIUS):
    count = len(centres)
    velocities = [APPROACH] * count if approaches is None else approaches
    return touched_plane(centres, velocities, np.zeros(count) if errors is None else errors, radius)


@pytest.mark.parametrize("count", [3, 4])
def test_a_known_plane_comes_back(count):
    plane = fit(taps(count))
    np.testing.assert_allclose(plane.normal, NORMAL, atol=1e-12)
    assert abs((plane.point - POINT) @ NORMAL) < 1e-12
    np.testing.assert_allclose(plane.distances, 0.0, atol=1e-12)


def test_the_normal_points_to_where_the_taps_came_from():
    """The same tips, tapped from below: the plane lies one radius above them."""
    plane = fit(taps(), approaches=[-APPROACH] * 4)
    np.testing.assert_allclose(plane.normal, -NORMAL, atol=1e-12)
    assert (plane.point - POINT) @ NORMAL == pytest.approx(2.0 * RADIUS)


def test_the_errors_are_those_of_many_trials():
    rng = np.random.default_rng(3)
    errors = np.array([2e-4, 4e-4, 3e-4, 5e-4])
    own = np.hypot(errors, TAP_ERROR)
    planes = [fit(taps(heights=own * rng.normal(size=4)), errors=errors) for _ in range(2000)]
    middle = planes[0].point
    tilts = np.array([np.arccos(np.clip(plane.normal @ NORMAL, -1.0, 1.0)) for plane in planes])
    offsets = np.array([(plane.point - POINT) @ NORMAL for plane in planes])
    stated = fit(taps(), errors=errors)
    # 2000 trials tell a standard deviation to 1.6 %; the scale by the misfit makes single ones wider, not this one.
    assert np.sqrt(np.mean(tilts**2)) == pytest.approx(stated.normal_error, rel=0.1)
    assert np.std(offsets) == pytest.approx(stated.offset_error, rel=0.1)
    assert np.linalg.norm(middle - stated.point) < 2e-3


def test_a_tap_that_is_known_well_counts_more():
    loose = fit(taps(heights=(0.0, 0.0, 0.0, 0.0015)), errors=[1e-4, 1e-4, 1e-4, 5e-3])
    even = fit(taps(heights=(0.0, 0.0, 0.0, 0.0015)), errors=[1e-4] * 4)
    assert np.arccos(loose.normal @ NORMAL) < 0.1 * np.arccos(even.normal @ NORMAL)
    # Of four taps one is spare: what it is off widens the errors, in standard deviations.
    off = np.sqrt(np.sum(even.distances**2)) / np.hypot(1e-4, TAP_ERROR)
    assert even.normal_error == pytest.approx(off * fit(taps(), errors=[1e-4] * 4).normal_error, rel=1e-3)


@pytest.mark.parametrize(
    ("centres", "more", "words"),
    [
        (taps(2), {}, "taps: got 2, expected 3 contacts or more"),
        (taps(3)[[0, 0, 1]], {}, "taps: got taps on a line, scattered by 0.0 mm across it"),
        (
            taps(4, (0.0, 0.0, 0.0, 0.02)),
            {},
            r"tap 4: got [+-]\d+.\d mm off the plane of all",
        ),
        (taps(3), {"approaches": [APPROACH, APPROACH, -APPROACH]}, "tap 3: got an approach 158 degrees off"),
        (taps(3), {"approaches": [APPROACH, 0.3 * ALONG, APPROACH]}, "tap 2: got an approach 90 degrees off"),
        (taps(3) * np.nan, {}, "numbers that are not finite"),
        (taps(3), {"radius": -0.01}, "tool radius"),
    ],
)
def test_what_makes_no_plane_is_refused(centres, more, words):
    with pytest.raises(InvalidInputError, match=words):
        fit(centres, **more)


def test_taps_that_are_nearly_on_a_line_are_refused_by_their_width():
    spread = np.array([[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0], [0.0, 1.0, 0.0]])
    # Of three points the scatter across the line is sqrt(2) / 3 of the height of the triangle.
    for height, wide in (
        (1.01 * LEAST_WIDTH * 3.0 / np.sqrt(2.0), True),
        (0.99 * LEAST_WIDTH * 3.0 / np.sqrt(2.0), False),
    ):
        centres = spread * [1.0, height, 1.0]
        if wide:
            assert fit(centres, approaches=[[0.0, 0.0, -0.1]] * 3).width == pytest.approx(1.01 * LEAST_WIDTH)
        else:
            with pytest.raises(InvalidInputError, match="taps on a line"):
                fit(centres, approaches=[[0.0, 0.0, -0.1]] * 3)
