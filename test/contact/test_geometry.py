import numpy as np
import pytest

from impact_aware.contact import Contact, FreeObject, contact_jacobian, contact_point
from impact_aware.errors import InvalidInputError, UnknownNameError

SEED = 11


@pytest.mark.parametrize("normal", [(0, 0, 2), (1, 0, 0), (-0.3, 0.4, -5.0), (1, 1, 1), (0, -1e-6, 0)])
def test_axes_are_right_handed_and_start_with_the_normal(normal):
    contact = Contact("tool", normal)
    assert np.linalg.norm(contact.normal) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(contact.axes @ contact.axes.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(contact.axes) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(contact.axes[0], contact.normal)
    np.testing.assert_allclose(contact.normal, np.array(normal) / np.linalg.norm(normal), atol=1e-15)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("normal", {"normal": (0.0, 0.0, 0.0)}),
        ("normal", {"normal": (0.0, np.nan, 1.0)}),
        ("normal", {"normal": (0.0, 1.0)}),
        ("normal", {"normal": "up"}),
        ("friction", {"friction": -0.1}),
        ("friction", {"friction": np.nan}),
        ("friction", {"friction": np.inf}),
        ("restitution", {"restitution": 1.01}),
        ("restitution", {"restitution": -0.01}),
        ("offset", {"offset": (0.0, 0.0)}),
        ("point", {"point": (0.0, np.inf, 0.0)}),
        ("radius", {"radius": -0.03}),
        ("contact frame", {"frame": ""}),
    ],
)
def test_refuses_bad_fields_and_names_them(field, arguments):
    with pytest.raises(InvalidInputError) as caught:
        Contact(**{"frame": "tool", "normal": (0, 0, 1), **arguments})
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: got ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("object mass", {"mass": 0.0}),
        ("object mass", {"mass": np.nan}),
        ("object inertia", {"inertia": np.eye(2)}),
        ("object inertia", {"inertia": np.diag([1.0, 1.0, -1.0])}),
        ("object inertia", {"inertia": np.eye(3) + 1e-6 * np.triu(np.ones((3, 3)), 1)}),
        ("object position", {"position": (0.0, 0.0)}),
        ("object twist", {"twist": np.full(6, np.nan)}),
    ],
)
def test_refuses_bad_objects_and_names_the_field(field, arguments):
    with pytest.raises(InvalidInputError) as caught:
        FreeObject(**{"mass": 1.0, "inertia": np.eye(3), "position": np.zeros(3), **arguments})
    assert caught.value.field == field


def test_contacts_can_not_be_changed_behind_the_checks():
    contact = Contact("tool", (0, 0, 1))
    with pytest.raises(ValueError, match="read-only"):
        contact.normal[0] = 3.0


def test_unknown_frame_lists_the_known_ones(robot):
    with pytest.raises(UnknownNameError, match="panda_hand"):
        contact_jacobian(robot, robot.home, Contact("elbow", (0, 0, 1)))


def test_sphere_touches_on_the_side_of_the_obstacle(robot):
    centre = robot.placement(robot.home).translation
    contact = Contact("tool", (0, 0, 1), radius=robot.tool_radius)
    point = contact_point(robot, robot.home, contact)
    np.testing.assert_allclose(point, centre - [0.0, 0.0, robot.tool_radius], atol=1e-15)


def test_contact_jacobian_is_the_derivative_of_the_material_point(robot):
    generator = np.random.default_rng(SEED)
    step = 1e-6
    for _ in range(10):
        q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
        dq = generator.normal(size=robot.n)
        frame = generator.choice(["tool", "panda_hand", "panda_link4"])
        by_offset = Contact(frame, generator.normal(size=3), offset=generator.normal(size=3) * 0.1, radius=0.02)
        point = contact_point(robot, q, by_offset)
        local = robot.placement(q, frame).actInv(point)
        ahead, behind = (robot.placement(q + s * step * dq, frame).act(local) for s in (1.0, -1.0))
        expected = (ahead - behind) / (2.0 * step)
        # Central differences: the error is of the order of step^2 plus rounding over step.
        np.testing.assert_allclose(contact_jacobian(robot, q, by_offset) @ dq, expected, atol=1e-8)
        by_point = Contact(frame, by_offset.normal, point=point)
        np.testing.assert_allclose(contact_jacobian(robot, q, by_point) @ dq, expected, atol=1e-8)


def test_object_point_velocity_and_momentum():
    generator = np.random.default_rng(SEED)
    root = generator.normal(size=(3, 3))
    box = FreeObject(2.2, root @ root.T + np.eye(3), generator.normal(size=3), generator.normal(size=6))
    point, impulse = generator.normal(size=3), generator.normal(size=3)
    lever = point - box.position
    np.testing.assert_allclose(
        box.jacobian(point) @ box.twist, box.twist[:3] + np.cross(box.twist[3:], lever), atol=1e-14
    )
    change = box.twist_after(point, impulse) - box.twist
    np.testing.assert_allclose(box.mass * change[:3], impulse, atol=1e-14)
    np.testing.assert_allclose(box.inertia @ change[3:], np.cross(lever, impulse), atol=1e-13)
