"""A cylinder of 50 mm radius and 160 mm length, against figures worked out by hand."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact.cylinder import Cylinder
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError

CAN = Cylinder(0.05, 0.08)
UP = np.array([0.0, 0.0, 1.0])
TURNED = pin.rpy.rpyToMatrix(0.3, -0.2, 0.7)


def test_the_inertia_is_that_of_many_small_masses():
    ticks = (np.arange(120) + 0.5) / 60.0 - 1.0
    x, y, z = (half * grid.ravel() for half, grid in zip((0.05, 0.05, 0.08), np.meshgrid(*[ticks] * 3), strict=True))
    points = np.stack([x, y, z], axis=1)[np.hypot(x, y) <= 0.05]
    second = points.T @ points / len(points)
    # Cells at the rim are in or out as a whole.
    np.testing.assert_allclose(CAN.inertia(1.9), 1.9 * (np.trace(second) * np.eye(3) - second), rtol=2e-3, atol=1e-6)
    body = PlacedShape(CAN, np.array([0.4, -0.1, 0.2]), TURNED).free_object(1.9)
    np.testing.assert_allclose(body.inertia, TURNED @ CAN.inertia(1.9) @ TURNED.T, atol=1e-15)
    assert CAN.reach == pytest.approx(np.hypot(0.05, 0.08))


def test_the_outermost_point_and_the_distance_are_those_of_its_surface():
    assert CAN.depth(np.array([0.6, 0.0, 0.8])) == pytest.approx(0.6 * 0.05 + 0.8 * 0.08)
    assert CAN.depth(np.array([-0.36, 0.48, -0.8])) == pytest.approx(0.6 * 0.05 + 0.8 * 0.08)
    placed = PlacedShape(CAN, np.array([0.4, -0.1, 0.2]), TURNED)
    for own, distance in (
        ([0.06, 0.08, 0.03], 0.05),  # beside the side
        ([0.03, 0.0, -0.1], 0.02),  # below an end
        ([0.08, 0.0, 0.12], 0.05),  # off a rim
        ([0.02, 0.0, 0.01], -0.03),  # inside, nearer to the side
        ([0.0, 0.0, 0.07], -0.01),  # inside, nearer to an end
    ):
        assert placed.distance(placed.position + TURNED @ own) == pytest.approx(distance)


def test_a_tool_beside_the_middle_meets_the_side_where_it_has_bent_away():
    place = CAN.hit(np.array([0.1, 0.5, 0.05]) @ pin.utils.rotate("z", np.arctan2(0.1, 0.5)), np.array([0.0, 0.0, 0.0]))
    assert place.normal[2] == 0.0
    place = CAN.hit(np.array([0.0, 1.0, 0.2]), np.array([0.03, 0.5, 0.02]))
    np.testing.assert_allclose(place.normal, [0.6, 0.8, 0.0], atol=1e-15)
    np.testing.assert_allclose(place.point, [0.03, 0.04, 0.02], atol=1e-15)
    end = CAN.hit(np.array([0.1, 0.2, -0.9]), np.array([0.03, -0.01, 0.5]))
    np.testing.assert_allclose(end.normal, [0.0, 0.0, -1.0])
    np.testing.assert_allclose(end.point, [0.03, -0.01, -0.08])
    for outward, offset in (([0.0, 1.0, 0.0], [0.051, 0.0, 0.0]), ([0.0, 1.0, 0.0], [0.0, 0.0, 0.09])):
        with pytest.raises(InvalidInputError, match="impact_offset: .*on the cylinder's side"):
            CAN.hit(np.array(outward), np.array(offset))
    with pytest.raises(InvalidInputError, match="on the cylinder's end"):
        CAN.hit(UP, np.array([0.04, 0.04, 0.0]))


def test_a_plane_lies_on_it_along_a_line_or_on_an_end():
    placed = PlacedShape(CAN, np.array([0.4, -0.1, 0.2]), TURNED)
    side = placed.footprint(TURNED @ [0.6, -0.8, 0.0])
    expected = [placed.position + TURNED @ [0.03, -0.04, z] for z in (-0.08, 0.08)]
    np.testing.assert_allclose(side, expected, atol=1e-15)
    end = CAN.footprint(-UP)
    np.testing.assert_allclose(np.hypot(end[:, 0], end[:, 1]), 0.05)
    np.testing.assert_allclose(end[:, 2], -0.08)
    np.testing.assert_allclose(end.mean(axis=0), [0.0, 0.0, -0.08], atol=1e-15)


def test_the_side_looks_at_the_ball_and_lies_along_the_plane():
    placed = PlacedShape(CAN, np.array([0.4, -0.1, 0.2]), TURNED)
    meant = TURNED @ [0.0, 1.0, 0.0]
    centre = placed.position + TURNED @ [0.03, 0.04, -0.07]
    np.testing.assert_allclose(placed.normal_at_ball(centre, meant), TURNED @ [0.6, 0.8, 0.0], atol=1e-12)
    # A palm that leans by 0.1 rad about the axis, and by some about a line across it.
    leaning = TURNED @ pin.utils.rotate("z", 0.1) @ [0.0, np.cos(0.05), np.sin(0.05)]
    expected = TURNED @ [-np.sin(0.1), np.cos(0.1), 0.0]
    np.testing.assert_allclose(placed.normal_at_plane(leaning, meant), expected, atol=1e-12)
    end = TURNED @ UP
    assert placed.normal_at_ball(centre, end) is end and placed.normal_at_plane(leaning, end) is end


@pytest.mark.parametrize("spin", [0.0, 1.3, -2.9])
@pytest.mark.parametrize("end", [np.eye(3), np.diag([1.0, -1.0, -1.0])])
def test_a_turn_about_its_axis_is_none(spin, end):
    own = pin.utils.rotate("z", spin) @ end
    np.testing.assert_allclose(CAN.turn(own, UP), np.eye(3), atol=1e-12)
    yawed, lying = pin.utils.rotate("z", 0.3), pin.utils.rotate("x", -np.pi / 2)
    np.testing.assert_allclose(CAN.turn(yawed @ lying @ own, UP), yawed, atol=1e-12)
    leaning = pin.utils.rotate("x", 0.2)
    np.testing.assert_allclose(CAN.turn(leaning @ own, UP), leaning, atol=1e-12)


def test_of_all_that_look_the_same_the_nearest_is_found():
    generator = np.random.default_rng(5)
    angles = np.linspace(-np.pi, np.pi, 721)
    for _ in range(20):
        rotation, other = (pin.exp3(generator.normal(size=3)) for _ in range(2))
        found = CAN.nearest_equal(rotation, other)
        assert abs(found[:, 2] @ rotation[:, 2]) == pytest.approx(1.0)
        ways = [rotation @ end @ pin.utils.rotate("z", angle) for end in (np.eye(3), np.diag([1.0, -1.0, -1.0]))
                for angle in angles]  # fmt: skip
        # Half a degree apart: a trace of at most 3 differs by less than 1e-4.
        assert np.trace(found.T @ other) == pytest.approx(max(np.trace(way.T @ other) for way in ways), abs=1e-4)


def test_one_that_nearly_lies_is_laid_flat_and_one_that_leans_more_is_not():
    lying = pin.utils.rotate("z", 0.3) @ pin.utils.rotate("x", np.pi / 2) @ pin.utils.rotate("z", 2.2)
    seen = pin.exp3(0.03 * (lying @ [np.cos(-2.2), np.sin(-2.2), 0.0])) @ lying
    assert abs(seen[2, 2]) > 0.02
    flat = CAN.upright(seen, UP, 0.05)
    assert flat[2, 2] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(CAN.upright(seen, UP, 0.02), seen)


def test_what_is_drawn_is_on_its_surface():
    lines = CAN.outline()
    assert len(lines) % 2 == 0
    np.testing.assert_allclose(np.hypot(lines[:, 0], lines[:, 1]), 0.05)
    np.testing.assert_allclose(np.abs(lines[:, 2]), 0.08)
    lengths = np.linalg.norm(lines[::2] - lines[1::2], axis=1)
    assert np.count_nonzero(np.isclose(lengths, 0.16)) == 4


@pytest.mark.parametrize("sizes", [(0.0, 0.1), (0.1, -0.1), (np.nan, 0.1), (0.1, np.inf)])
def test_sizes_that_make_none_are_refused(sizes):
    with pytest.raises(InvalidInputError, match="object (radius|half_length)"):
        Cylinder(*sizes)
