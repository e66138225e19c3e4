"""Convex hulls: a wedge worked out by hand, a box that must be one, and files of meshes."""

import os

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import hull as module
from impact_aware.contact.box import Box
from impact_aware.contact.hull import MOST_VERTICES, Hull, mesh_vertices
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError

UP = np.array([0.0, 0.0, 1.0])
# A ramp: 0.2 m wide, its section a triangle of 0.09 m along y and 0.12 m up, and one point within.
RAMP = np.array(
    [[x, y, z] for x in (1.0, 1.2) for y, z in ((0.0, 0.0), (0.09, 0.0), (0.0, 0.12))] + [[1.1, 0.02, 0.02]]
)
OUT = np.array([0.0, 0.8, 0.6])
"""Of the slanted face, whose legs are 0.09 and 0.12 m."""
HALF = np.array([0.1, 0.065, 0.12])


@pytest.fixture(scope="module")
def ramp() -> Hull:
    return Hull(RAMP)


@pytest.fixture(scope="module")
def box() -> Hull:
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return Hull(np.array([2.0, -1.0, 0.5]) + signs * HALF)


def test_its_centre_is_that_of_its_mass_and_points_within_do_not_count(ramp):
    np.testing.assert_allclose(ramp.origin, [1.1, 0.03, 0.04], atol=1e-12)
    assert sorted(map(tuple, np.round(ramp.vertices + ramp.origin, 9))) == sorted(map(tuple, RAMP[:6]))
    np.testing.assert_allclose(ramp.half_extents, [0.1, 0.06, 0.08], atol=1e-12)
    assert ramp.reach == pytest.approx(np.linalg.norm([0.1, 0.03, 0.08]))
    assert len(Hull(np.vstack([RAMP, ramp.origin + 1e-3 * ROUND])).vertices) == 6


def test_its_inertia_is_that_of_many_small_masses(ramp):
    ticks = (np.arange(100) + 0.5) / 100.0
    x, y, z = (grid.ravel() for grid in np.meshgrid(0.2 * ticks - 0.1, 0.09 * ticks, 0.12 * ticks))
    points = np.stack([x, y - 0.03, z - 0.04], axis=1)[y / 0.09 + z / 0.12 <= 1.0]
    second = points.T @ points / len(points)
    np.testing.assert_allclose(ramp.inertia(2.3), 2.3 * (np.trace(second) * np.eye(3) - second), rtol=0.02, atol=2e-4)
    assert ramp.inertia(2.3)[1, 2] > 1e-4


def test_a_pyramid_has_its_mass_a_quarter_above_its_base():
    """Of side a and height h: second moments a^2 / 20 along the base and 3 h^2 / 80 up, about its centre."""
    pyramid = Hull([[x, y, 0.5] for x in (0.0, 0.2) for y in (0.0, 0.2)] + [[0.1, 0.1, 0.8]])
    np.testing.assert_allclose(pyramid.origin, [0.1, 0.1, 0.5 + 0.3 / 4.0], atol=1e-12)
    along, up = 0.2**2 / 20.0, 3.0 * 0.3**2 / 80.0
    np.testing.assert_allclose(pyramid.inertia(1.5), 1.5 * np.diag([along + up, along + up, 2.0 * along]), atol=1e-12)


def test_a_box_as_a_hull_is_a_box(box):
    other, generator = Box(HALF), np.random.default_rng(2)
    np.testing.assert_allclose(box.inertia(1.7), other.inertia(1.7), atol=1e-12)
    for _ in range(200):
        point, normal = generator.uniform(-0.2, 0.2, 3), generator.normal(size=3)
        normal /= np.linalg.norm(normal)
        assert box.distance(point) == pytest.approx(other.distance(point), abs=1e-9)
        assert box.depth(normal) == pytest.approx(other.depth(normal), abs=1e-12)
        np.testing.assert_allclose(box.face(normal), other.face(normal), atol=1e-12)
        found, expected = (sorted(shape.footprint(normal).round(9).tolist()) for shape in (box, other))
        np.testing.assert_allclose(found, expected, atol=1e-9)
    lines = [sorted(map(tuple, np.abs(shape.outline()).round(9))) for shape in (box, other)]
    assert lines[0] == lines[1]


def test_faces_look_outwards(ramp):
    np.testing.assert_allclose(ramp.face(np.array([0.0, 0.5, 0.5])), OUT, atol=1e-12)
    np.testing.assert_allclose(ramp.face(np.array([0.1, -1.0, 0.2])), [0.0, -1.0, 0.0], atol=1e-12)
    assert ramp.depth(OUT) == pytest.approx(0.8 * 0.06 - 0.6 * 0.04)
    corners = ramp.footprint(OUT) + ramp.origin
    assert sorted(map(tuple, corners.round(9))) == sorted(
        (x, y, z) for x in (1.0, 1.2) for y, z in ((0.09, 0.0), (0.0, 0.12))
    )
    # Around the face: neighbours share an edge.
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    np.testing.assert_allclose(sorted(sides), [0.15, 0.15, 0.2, 0.2])


def test_a_tool_meets_the_face_that_its_line_through_the_centre_leaves_by(ramp):
    place = ramp.hit(np.array([0.0, 2.0, 0.0]), np.array([0.03, 0.0, 0.015]))
    np.testing.assert_allclose(place.normal, OUT, atol=1e-12)
    # At a height of 0.055 of 0.12 m the ramp is 0.09 (1 - 0.055 / 0.12) m deep.
    np.testing.assert_allclose(place.point + ramp.origin, [1.13, 0.09 * (1.0 - 0.055 / 0.12), 0.055], atol=1e-12)
    # Sideways it leaves by the slanted face, 0.03 m on, before it is at the end, although that looks at it more.
    slant = ramp.hit(np.array([1.0, 0.9, 0.0]), np.zeros(3))
    np.testing.assert_allclose(slant.normal, OUT, atol=1e-12)
    np.testing.assert_allclose(slant.point, np.array([1.0, 0.9, 0.0]) * 0.024 / (0.9 * 0.8), atol=1e-12)
    behind = ramp.hit(np.array([0.0, -1.0, 0.0]), np.array([0.03, 0.0, 0.015]))
    np.testing.assert_allclose(behind.normal, [0.0, -1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(behind.point + ramp.origin, [1.13, 0.0, 0.055], atol=1e-12)
    for offset in ([0.11, 0.0, 0.0], [0.0, 0.0, 0.09]):
        with pytest.raises(InvalidInputError, match="impact_offset: .*on the hull"):
            ramp.hit(np.array([0.0, 1.0, 0.0]), np.array(offset))


def test_a_ball_beside_an_edge_touches_the_edge(ramp):
    edge = np.array([0.02, 0.06, -0.04])  # its lower front one
    np.testing.assert_allclose(
        ramp.normal_at_ball(edge + 0.03 * np.array([0.0, 1.0, 0.0]), OUT), [0.0, 1.0, 0.0], atol=1e-9
    )
    over = np.array([0.02, 0.015, 0.02]) + 0.02 * OUT
    np.testing.assert_allclose(ramp.normal_at_ball(over, OUT), OUT, atol=1e-9)
    # What is behind it is on no face that could be meant.
    behind = np.array([0.0, -0.06, 0.0])
    assert ramp.normal_at_ball(behind, OUT) is OUT
    placed = PlacedShape(ramp, np.array([0.4, -0.1, 0.2]), pin.utils.rotate("z", 0.7))
    assert placed.distance(placed.position + placed.rotation @ (edge + [0.0, 0.03, 0.0])) == pytest.approx(0.03)


def test_one_on_a_face_is_turned_by_its_yaw_alone(ramp):
    yaw = pin.utils.rotate("z", 0.3)
    np.testing.assert_allclose(ramp.turn(yaw, UP), yaw, atol=1e-12)
    # On its slanted face: turned about x until that looks down.
    lies = pin.utils.rotate("x", -np.pi / 2 - np.arctan2(0.6, 0.8))
    np.testing.assert_allclose(lies @ OUT, -UP, atol=1e-12)
    np.testing.assert_allclose(ramp.turn(yaw @ lies, UP), yaw, atol=1e-12)
    lean = pin.utils.rotate("y", 0.1)
    np.testing.assert_allclose(ramp.turn(lean @ yaw @ lies, UP), lean @ yaw, atol=1e-12)
    seen = pin.utils.rotate("y", 0.04) @ yaw @ lies
    np.testing.assert_allclose(ramp.upright(seen, UP, 0.05), yaw @ lies, atol=1e-12)
    assert ramp.nearest_equal(seen, yaw) is seen


ROUND = np.random.default_rng(1).normal(size=(500, 3))
ROUND /= np.linalg.norm(ROUND, axis=1, keepdims=True)

FACETS = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]


def written(path, corners):
    lines = ["solid piece"]
    for facet in FACETS:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += [f"vertex {' '.join(f'{number:g}' for number in corners[index])}" for index in facet]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid piece", ""]))
    return path


def test_a_mesh_is_read_in_its_own_unit(tmp_path):
    corners = np.array([[0.0, 0.0, 0.0], [120.0, 0.0, 0.0], [0.0, 80.0, 0.0], [10.0, 20.0, 60.0]])
    found = mesh_vertices(written(tmp_path / "piece.stl", corners), 1e-3)
    # A file of meshes has single precision.
    assert sorted(map(tuple, found.round(6))) == sorted(map(tuple, 1e-3 * corners))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: mesh_vertices(folder / "none.stl"), "mesh: got .*none.stl, expected a readable mesh file"),
        (
            lambda folder: mesh_vertices(written(folder / "a.stl", 0.0 * RAMP)),
            "mesh: got .*a.stl, expected a mesh that can be read",
        ),
        (lambda folder: mesh_vertices(folder), "expected a readable mesh file .Is a directory"),
        (lambda folder: Hull(RAMP[:3]), "object vertices: got an array of shape .3, 3., expected four points or more"),
        (lambda folder: Hull(RAMP * [1.0, 1.0, 0.0]), "object vertices: got 7 points, expected four points or more"),
        (lambda folder: Hull([*RAMP.tolist(), [np.nan, 0.0, 0.0]]), "finite numbers"),
        (lambda folder: Hull(ROUND), f"a hull of 500 corners, expected a hull of {MOST_VERTICES} at most: simplify"),
    ],
)
def test_what_makes_no_hull_is_refused_in_one_line(tmp_path, make, words):
    with pytest.raises(InvalidInputError, match=words):
        make(tmp_path)


def test_a_mesh_that_ends_its_reader_or_is_a_pipe_is_refused(tmp_path, monkeypatch):
    """A triangle with a corner that the file does not have: Assimp reads on behind the corners."""
    kinds = "".join(f"property float {axis}\n" for axis in "xyz")
    kinds += "element face 1\nproperty list uchar int vertex_index\n"
    corners = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 999999999\n"
    piece = tmp_path / "piece.ply"
    piece.write_text(f"ply\nformat ascii 1.0\nelement vertex 4\n{kinds}end_header\n{corners}")
    with pytest.raises(InvalidInputError, match="expected a mesh that can be read"):
        mesh_vertices(piece)
    os.mkfifo(tmp_path / "pipe.stl")
    with pytest.raises(InvalidInputError, match="expected a mesh file"):
        mesh_vertices(tmp_path / "pipe.stl")
    monkeypatch.setattr(module, "LARGEST_MESH", 100)
    with pytest.raises(InvalidInputError, match="a mesh file of 100 bytes at most"):
        mesh_vertices(piece)


def test_a_file_that_is_no_mesh_is_refused(tmp_path):
    (tmp_path / "words.stl").write_text("no mesh")
    with pytest.raises(InvalidInputError, match="mesh"):
        mesh_vertices(tmp_path / "words.stl")
