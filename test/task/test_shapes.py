"""Tasks with cylinders and hulls: files, what is refused, and the field that follows, against hand-made figures."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
import yaml

from impact_aware.bringup.task_parameters import contact_parameters
from impact_aware.contact.shape_registry import shape_named, shape_of
from impact_aware.control.live_field import LiveField
from impact_aware.errors import InvalidInputError
from impact_aware.messages.reference_field import field_from_message, field_to_message
from impact_aware.resources import read_named
from impact_aware.ros.messages import ROS
from impact_aware.task import load_task, make_field, parse_task
from impact_aware.task.arms import arms_of_task
from impact_aware.task.hit import hit_of
from impact_aware.task.object_turn import ObjectTurn
from impact_aware.task.task_file import task_yaml
from impact_aware.task.task_object import TaskObject
from impact_aware.yaml_text import read_yaml_mapping

CAN, WEDGE = load_task("hit_and_push_can"), load_task("hit_and_push_wedge")


def content(name: str, **entries) -> dict:
    found, _ = read_named("task", "tasks", name)
    found["object"] = found["object"] | entries
    return found


@pytest.mark.parametrize("task", [CAN, WEDGE, CAN.with_object("lying_can")])
def test_a_task_comes_back_from_its_text(task):
    again = parse_task(read_yaml_mapping("yaml", "test", task_yaml(task)))
    assert again == task
    np.testing.assert_array_equal(again.object.solid.vertices, task.object.solid.vertices)


def test_the_can_is_hit_on_its_side_where_the_palm_faces_it(robot):
    field = make_field(CAN, [robot])
    own = field.arms[0]
    # The side is 54 mm from the axis, and the palm 30 mm thick.
    np.testing.assert_allclose(own.impact_position, [0.45, -0.10 + 0.054 + 0.03, 0.282], atol=1e-9)
    np.testing.assert_allclose(own.normal, [0.0, 1.0, 0.0], atol=1e-12)
    assert shape_of(field) is CAN.object.solid
    assert CAN.table_height == pytest.approx(0.262 - 0.062)
    np.testing.assert_allclose(CAN.object.solid.half_extents, [0.054, 0.054, 0.062])


@pytest.mark.parametrize("yaw", [0.0, 0.4, -2.5])
def test_an_upright_can_has_no_yaw(robot, yaw):
    task = dataclasses.replace(CAN, object=dataclasses.replace(CAN.object, orientation_rpy=(0.0, 0.0, yaw)))
    field, straight = make_field(task, [robot]), make_field(CAN, [robot])
    np.testing.assert_allclose(field.arms[0].impact_position, straight.arms[0].impact_position, atol=1e-12)
    np.testing.assert_allclose(field.arms[0].orientation_before, straight.arms[0].orientation_before, atol=1e-12)


def test_a_lying_can_is_hit_on_its_end_and_turns_the_tool_with_it():
    lying = CAN.with_object("lying_can")
    hit = hit_of(lying.object, lying.arms[0])
    np.testing.assert_allclose(hit.point, [0.45, -0.10 + 0.062, 0.274], atol=1e-12)
    assert lying.table_height == pytest.approx(0.254 - 0.054)
    pose = pin.SE3(pin.utils.rotate("z", 0.2) @ lying.object.rotation @ pin.utils.rotate("z", 1.1), np.zeros(3))
    task = dataclasses.replace(lying, object=lying.object.placed(pose))
    np.testing.assert_allclose(task.object.turn, pin.utils.rotate("z", 0.2), atol=1e-12)
    np.testing.assert_allclose(task.object.up, [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(hit_of(task.object, task.arms[0]).normal, [-np.sin(0.2), np.cos(0.2), 0.0], atol=1e-12)


def test_a_palm_that_looks_aside_meets_the_can_aside_and_an_offset_bends_around_it():
    arm = CAN.arms[0]
    roll, pitch, yaw = arm.orientation_rpy
    aside = dataclasses.replace(arm, orientation_rpy=(roll, pitch, yaw + 0.15))
    out = np.array([-np.sin(0.15), np.cos(0.15), 0.0])
    hit = hit_of(CAN.object, aside)
    np.testing.assert_allclose(hit.normal, out, atol=1e-9)
    np.testing.assert_allclose(hit.point, CAN.object.position + 0.054 * out + [0.0, 0.0, 0.02], atol=1e-9)
    # A tip comes along its velocity, and meets the side where the offset says.
    tip = dataclasses.replace(arm, pad_half_sizes=(0.0, 0.0, 0.0), impact_offset=(0.0324, 0.0, 0.01))
    hit = hit_of(CAN.object, tip)
    np.testing.assert_allclose(hit.normal, [0.6, 0.8, 0.0], atol=1e-12)
    np.testing.assert_allclose(hit.point - CAN.object.position, [0.0324, 0.0432, 0.01], atol=1e-12)


def test_the_wedge_is_hit_square_to_its_slanted_face(robot):
    field = make_field(WEDGE, [robot])
    own, out = field.arms[0], np.array([np.sin(np.radians(20.0)), np.cos(np.radians(20.0)), 0.0])
    np.testing.assert_allclose(own.normal, out, atol=1e-6)
    # By hand: a rectangle of 170 x 90 mm and a triangle of 170 x 61.8749 mm, whose centres give that of the mass.
    rectangle, triangle, rise = 0.17 * 0.09, 0.5 * 0.17 * 0.0618749, 0.0618749
    x = (rectangle * 0.005 + triangle * (-0.08 + 0.17 / 3.0)) / (rectangle + triangle)
    y = (rectangle * -0.015 + triangle * (0.03 + rise / 3.0)) / (rectangle + triangle)
    depth = out @ ([0.09, 0.03, 0.0] - np.array([x, y, 0.0]))
    expected = WEDGE.object.position + (depth + 0.03) * out + [0.0, 0.0, 0.02]
    np.testing.assert_allclose(own.impact_position, expected, atol=1e-6)
    assert WEDGE.table_height == pytest.approx(0.2)
    turned = pin.SE3(pin.utils.rotate("z", -0.3) @ WEDGE.object.rotation, np.array(WEDGE.object.position))
    task = dataclasses.replace(WEDGE, object=WEDGE.object.placed(turned))
    np.testing.assert_allclose(hit_of(task.object, task.arms[0]).normal, pin.utils.rotate("z", -0.3) @ out, atol=1e-6)
    np.testing.assert_allclose(task.arms[0].turn, pin.utils.rotate("z", -0.3), atol=1e-12)


def test_the_table_is_below_the_base_whatever_is_above():
    """A ramp whose upper face leans: 0.09 m along y and 0.12 m up, so that its centre is 0.04 m above its base."""
    corners = tuple((x, y, z) for x in (0.0, 0.2) for y, z in ((0.0, 0.0), (0.09, 0.0), (0.0, 0.12)))
    ramp = TaskObject(shape="hull", vertices=corners, position=(0.45, -0.1, 0.3), orientation_rpy=(0.0, 0.0, 0.3))
    np.testing.assert_allclose(ramp.up, [0.0, 0.0, 1.0], atol=1e-12)
    assert dataclasses.replace(WEDGE, object=ramp).table_height == pytest.approx(0.26)
    lean = pin.utils.rotate("x", 0.2)
    leaning = ramp.placed(pin.SE3(lean @ ramp.rotation, np.array(ramp.position)))
    np.testing.assert_allclose(leaning.up, lean[:, 2], atol=1e-12)
    assert dataclasses.replace(WEDGE, object=leaning).table_height == pytest.approx(0.3 - 0.04 / np.cos(0.2))


@pytest.mark.parametrize("task", [CAN, WEDGE])
def test_field_message_and_parameters_tell_the_shape(robot, task):
    field = make_field(task, [robot])
    back = field_from_message(field_to_message(field, 1.0, ROS))
    told = contact_parameters(task, task.arms[0])
    for shape in (
        shape_of(back),
        shape_named(told["object_shape"], told["object_half_extents"], told.get("object_vertices", ())),
    ):
        assert shape.name == task.object.shape
        np.testing.assert_allclose(shape.inertia(1.3), task.object.solid.inertia(1.3), atol=1e-12)
        np.testing.assert_allclose(shape.half_extents, task.object.solid.half_extents, atol=1e-12)
    np.testing.assert_allclose(told["normal"], field.arms[0].normal, atol=1e-11)
    message = field_to_message(field, 1.0, ROS)
    message.object_shape, message.object_vertices = "hull", [0.1, 0.2, 0.3, 0.4]
    with pytest.raises(InvalidInputError, match="object_vertices: got 4 numbers"):
        field_from_message(message)


@pytest.mark.parametrize(
    ("name", "entries", "words"),
    [
        ("hit_and_push", {"shape": "egg"}, "object.shape: got 'egg', expected one of box, cylinder, hull"),
        ("hit_and_push", {"radius": 0.05}, "object.radius: got 0.05, expected no such entry beside the shape box"),
        (
            "hit_and_push_can",
            {"half_extents": [0.1, 0.1, 0.1]},
            "object.half_extents: .*no such entry beside the shape cyl",
        ),
        ("hit_and_push_can", {"radius": 0.0}, "object.radius: got 0.0, expected a number > 0"),
        ("hit_and_push_can", {"radius": -0.05}, "object.radius: got -0.05, expected a number > 0 and <= 5 m"),
        ("hit_and_push_can", {"half_length": "high"}, "object.half_length: got .*high.*, expected 1 finite number"),
        (
            "hit_and_push_can",
            {"mesh": "a.stl"},
            "object.mesh: got a.stl, expected no such entry beside the shape cylinder",
        ),
        ("hit_and_push_wedge", {"vertices": []}, "object.vertices: got 0.0, expected a number > 0"),
        ("hit_and_push_wedge", {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, "vertices: .*four points or more"),
        ("hit_and_push_wedge", {"vertices": [[0, 0]]}, "object.vertices: got .*expected 3 finite numbers"),
        ("hit_and_push_wedge", {"vertices": [[9.0, 0, 0]] * 4}, "object.vertices: got 9.0, .*<= 5 m"),
        ("hit_and_push_wedge", {"vertices": [[0.1, 0, 0]] * 257}, "object.vertices: got 257 entries, .*256"),
        ("hit_and_push_wedge", {"mesh": "a.stl"}, "object.mesh: .*one of mesh and vertices, not both"),
    ],
)
def test_an_object_that_makes_none_is_refused_by_name(name, entries, words):
    with pytest.raises(InvalidInputError, match=words) as refused:
        parse_task(content(name, **entries))
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("base", "changes", "words"),
    [
        (CAN, {"impact_offset": (0.06, 0.0, 0.0)}, "impact_offset: .*expected a position on the cylinder's side"),
        (WEDGE, {"impact_offset": (0.2, 0.0, 0.0)}, "impact_offset: .*expected a position on the hull"),
        (WEDGE, {"orientation_rpy": (1.5708, 1.5708, 0.15)}, "orientation_rpy: .*not 29 deg out of its face"),
    ],
)
def test_a_tool_that_misses_the_shape_is_refused_by_name(robot, base, changes, words):
    arm = dataclasses.replace(base.arms[0], **changes)
    with pytest.raises(InvalidInputError, match=words):
        make_field(dataclasses.replace(base, arms=(arm,)), [robot])


def test_a_tool_in_the_can_s_corner_is_clear_of_it_and_one_inside_is_not(robot):
    """A box about the can would hold the start that a can lets be."""
    beside = CAN.object.position + np.array([0.065, 0.065, 0.0])
    assert CAN.object.standing.distance(beside) == pytest.approx(np.hypot(0.065, 0.065) - 0.054)
    near = dataclasses.replace(
        CAN.arms[0], starts=(tuple((CAN.object.position + np.array([0.0, 0.08, 0.0])).tolist()),)
    )
    with pytest.raises(InvalidInputError, match="tool 4 mm inside object, too close from the start on"):
        make_field(dataclasses.replace(CAN, arms=(near,)), [robot])


def test_another_shape_in_a_request_leaves_the_sizes_of_the_old_one():
    task = load_task("hit_and_push_palm", {"object": {"shape": "cylinder", "radius": 0.06, "half_length": 0.1}})
    assert task.object.shape == "cylinder" and task.object.solid.half_extents.tolist() == [0.06, 0.06, 0.1]


def test_a_mesh_lies_beside_the_task_s_file(tmp_path):
    lines = ["v 0 0 0", "v 120 0 0", "v 0 80 0", "v 10 20 60", "f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3", ""]
    (tmp_path / "piece.obj").write_text("\n".join(lines))
    entries = content("hit_and_push_wedge", mesh="piece.obj", mesh_scale=0.001)
    del entries["object"]["vertices"]
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(entries))
    task = load_task(tmp_path / "task.yaml")
    np.testing.assert_allclose(sorted(np.array(task.object.vertices).max(axis=0)), [0.06, 0.08, 0.12], atol=1e-7)
    # Whoever gets the task as a message has no file.
    assert "mesh" not in task_yaml(task) and parse_task(read_yaml_mapping("yaml", "test", task_yaml(task))) == task
    entries["object"]["mesh_scale"] = 0.0
    with pytest.raises(InvalidInputError, match="object.mesh_scale: got 0.0"):
        parse_task(entries, tmp_path)
    entries["object"]["mesh"] = "other.obj"
    with pytest.raises(InvalidInputError, match="mesh_scale"):
        parse_task(entries, tmp_path)


def test_a_can_that_spins_stays_as_it_was_for_the_field():
    live = LiveField(CAN, arms_of_task(CAN, "panda"))
    place = np.array(CAN.object.position)
    assert not live.move_object(pin.SE3(pin.utils.rotate("z", 1.2), place))
    assert live.move_object(pin.SE3(pin.utils.rotate("z", 1.2), place + [0.01, 0.0, 0.0]))


def test_a_tracker_may_tell_any_turn_of_a_can_and_no_other_of_a_wedge():
    generator = np.random.default_rng(3)
    lying = pin.utils.rotate("z", 0.3) @ pin.utils.rotate("x", np.pi / 2)
    turn = ObjectTurn()
    turn.shape = CAN.object.solid
    for number in range(40):
        end = (np.eye(3), np.diag([1.0, -1.0, -1.0]))[number % 2]
        seen = pin.exp3(0.005 * generator.normal(size=3)) @ lying @ end
        turn.take(0.01 * number, seen @ pin.utils.rotate("z", float(generator.uniform(-3.0, 3.0))), 0.0)
    axis = turn.rotation[:, 2]
    np.testing.assert_allclose(np.abs(axis), np.abs(lying[:, 2]), atol=3e-3)
    assert turn.angle == pytest.approx(0.3, abs=4e-3) and turn.change < 5e-3
    turn = ObjectTurn()
    turn.shape = WEDGE.object.solid
    for number in range(10):
        turn.take(0.01 * number, pin.utils.rotate("z", 0.2 if number < 5 else 0.2 + np.pi), 0.0)
    assert turn.change == pytest.approx(np.pi)
