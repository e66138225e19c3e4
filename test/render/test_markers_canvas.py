"""The software renderer behind the pictures: what is nearer is in front, and what is drawn has its true place."""

import numpy as np
import pytest

from impact_aware.markers.marker import Sheet
from impact_aware.render.camera import VIEWS, Camera, view_direction
from impact_aware.render.canvas import Canvas
from impact_aware.render.robot_shape import RobotShape, robot_shape
from impact_aware.render.solids import ball, box, marker_triangles
from impact_aware.robot import RobotModel, load_profile

RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)
FRONT = Camera(np.zeros(3), 1.0, 0.0, 0.0)


def volume(triangles: np.ndarray) -> float:
    """Of a closed body, whichever way its faces turn: |sum of a . (b x c)| / 6 about an inner point."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    return float(np.abs(np.einsum("ij,ij->i", a, np.cross(b, c))).sum() / 6.0)


def middle(canvas: Canvas) -> np.ndarray:
    image = canvas.image()
    return image[image.shape[0] // 2, image.shape[1] // 2]


@pytest.mark.parametrize("red_first", [True, False])
def test_the_nearer_body_hides_the_other_in_whatever_order(red_first: bool) -> None:
    canvas = Canvas(FRONT, 60, 40)
    near, far = box([0.1] * 3) + [0.5, 0.0, 0.0], box([0.1] * 3) - [0.5, 0.0, 0.0]
    bodies = [(near, RED), (far, BLUE)]
    for body, color in bodies if red_first else bodies[::-1]:
        canvas.add(body, color, lit=False)
    np.testing.assert_allclose(middle(canvas), RED[:3])


def test_glass_lets_through_what_is_behind_it() -> None:
    canvas = Canvas(FRONT, 60, 40)
    plate = np.array([[[0.5, -1.0, -1.0], [0.5, 1.0, -1.0], [0.5, 0.0, 2.0]]])
    canvas.add(plate, (1.0, 0.0, 0.0, 0.25), lit=False)
    canvas.add(plate - [1.0, 0.0, 0.0], BLUE, lit=False)
    np.testing.assert_allclose(middle(canvas), [0.25, 0.0, 0.75])
    # Between the two, whenever it is added: seen through the nearer one.
    canvas.add(plate - [0.5, 0.0, 0.0], (0.0, 1.0, 0.0, 0.5), lit=False)
    np.testing.assert_allclose(middle(canvas), [0.25, 0.375, 0.375])


def test_what_must_be_seen_shines_through_what_hides_it() -> None:
    canvas = Canvas(FRONT, 60, 40)
    plate = np.array([[[0.5, -1.0, -1.0], [0.5, 1.0, -1.0], [0.5, 0.0, 2.0]]])
    canvas.add(plate, BLUE, lit=False)
    canvas.add(plate - [1.0, 0.0, 0.0], RED, lit=False, seen_through=True)
    assert 0.2 < middle(canvas)[0] < 0.4
    # Glass hides none of it.
    clear = Canvas(FRONT, 60, 40)
    clear.add(plate, (0.0, 0.0, 1.0, 0.25), lit=False)
    clear.add(plate - [1.0, 0.0, 0.0], RED, lit=False, seen_through=True)
    np.testing.assert_allclose(middle(clear), RED[:3])


@pytest.mark.parametrize("view", VIEWS)
def test_a_fitted_camera_shows_everything_and_fills_the_picture(view: str) -> None:
    points = np.random.default_rng(3).uniform(-0.5, 0.5, (200, 3)) * [1.0, 0.4, 0.8] + [0.4, 0.0, 0.3]
    width, height = 300, 200
    camera = Camera(np.zeros(3), 1.0, *view_direction(view)).fitted(points, width, height)
    pixels = camera.project(points, width, height)[:, :2]
    size = (pixels.max(axis=0) - pixels.min(axis=0)) / [width, height]
    # Asked to fill 94 %, approached step by step.
    assert size.max() == pytest.approx(0.94, abs=0.01)
    assert (pixels >= 0.0).all() and (pixels <= [width, height]).all()


def test_equal_lengths_are_equal_on_the_picture() -> None:
    camera = Camera(np.zeros(3), 1.0, 0.0, 0.0)
    ends = camera.project(np.array([[0.0, -0.1, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, -0.1], [0.0, 0.0, 0.1]]), 300, 200)
    across, upright = np.linalg.norm(ends[1, :2] - ends[0, :2]), np.linalg.norm(ends[3, :2] - ends[2, :2])
    # Across the shorter side the ball that fits is seen under 28 degrees.
    assert across == pytest.approx(upright) == pytest.approx(0.1 * 200 * np.cos(np.radians(14.0)))
    # From the side the arm points to the left: the eye is on its left.
    left = Camera(np.zeros(3), 1.0, *VIEWS["side"]).project(np.array([0.1, 0.0, 0.0]), 300, 200)
    assert left[0] < 150.0


def test_bodies_have_the_size_that_is_asked_for() -> None:
    assert volume(box([0.1, 0.2, 0.3])) == pytest.approx(8.0 * 0.1 * 0.2 * 0.3)
    # Two triangles cover each face, which is symmetric: the middle of their middles is the face's.
    middles = box([0.1, 0.2, 0.3]).mean(axis=1).reshape(6, 2, 3).mean(axis=1)
    np.testing.assert_allclose(sorted(np.abs(middles).sum(axis=1)), [0.1, 0.1, 0.2, 0.2, 0.3, 0.3])
    # A ball of 20 sides and 10 rings lies inside the round one, by 5 % of its volume.
    assert volume(ball([0.2, 0.4, 0.6])) == pytest.approx(np.pi / 6.0 * 0.2 * 0.4 * 0.6, rel=0.06)


def test_an_arrow_reaches_from_its_start_to_its_tip() -> None:
    start, along = np.array([0.1, 0.2, 0.3]), np.array([0.0, -0.2, 0.1])
    body = marker_triangles(Sheet("", "base", 0.0).arrow("a", 0, start, along, RED), np.ones(3)).reshape(-1, 3)
    direction = along / np.linalg.norm(along)
    reach = (body - start) @ direction
    assert reach.min() == pytest.approx(0.0, abs=1e-12)
    assert reach.max() == pytest.approx(np.linalg.norm(along))
    assert len(marker_triangles(Sheet("", "base", 0.0).arrow("a", 0, start, np.zeros(3), RED), np.ones(3))) == 0


def test_the_links_have_their_shapes_where_these_are_known_and_are_rods_otherwise() -> None:
    panda = RobotModel.from_profile("panda")
    shape = robot_shape(load_profile("panda").urdf.read_text())
    frames = {frame for frame, _ in shape.bodies}
    assert {f"panda_link{number}" for number in range(8)} <= frames
    for known in (shape, RobotShape(())):
        points = known.triangles(panda, panda.home).reshape(-1, 3)
        tip = panda.placement(panda.home).translation
        # The tip's ball is there, and nothing is farther from the base than the arm is long.
        assert np.min(np.linalg.norm(points - tip, axis=1)) <= panda.tool_radius + 1e-9
        assert np.linalg.norm(points, axis=1).max() < 1.3
    mesh = '<mesh filename="package://nowhere/link0.stl"/>'
    urdf = load_profile("panda").urdf.read_text()
    assert robot_shape(urdf.replace('<box size="0.064 0.205 0.092"/>', mesh)).bodies == ()


def test_a_link_is_drawn_at_its_own_frame_where_a_joint_has_its_name():
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        '<origin xyz="0 0 1"/><axis xyz="0 0 1"/><limit effort="1" velocity="1" lower="-1" upper="1"/></joint>'
        for name, parent, child in (("shoulder", "base", "arm"), ("arm", "arm", "hand"))
    )
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    body = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
    links = f'<link name="base"/><link name="arm">{inertial}{body}</link><link name="hand">{inertial}</link>'
    urdf = f'<robot name="two">{links}{joints}</robot>'
    robot = RobotModel.from_urdf(urdf)
    drawn = robot_shape(urdf).triangles(robot, robot.home)
    assert drawn[..., 2].min() == pytest.approx(0.95) and drawn[..., 2].max() == pytest.approx(1.05)
