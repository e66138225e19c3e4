"""What `set_task` changes; every field of a task and of a request wrong in turn: refused by name, nothing changed."""

import dataclasses
import math

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import Point, Quaternion, Vector3
from impact_aware_msgs.msg import TaskArm
from impact_aware_msgs.msg import TaskObject as ObjectMessage
from impact_aware_msgs.srv import SetTask
from node_harness import upright

from impact_aware.impact.material import Pads
from impact_aware.messages.reference_field import field_from_message
from impact_aware.messages.task import task_to_message
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.ros.messages import ROS
from impact_aware.task import ArmTask, FieldParameters, Task, TaskObject, load_task
from impact_aware.task.task_file import task_yaml

# What changes


@pytest.fixture
def node(harness):
    return harness(ReferenceFieldNode)


def test_the_material_of_the_pads_is_that_of_the_check(harness):
    pads = harness(ReferenceFieldNode, material="any", pad_stiffness_ratio=2.0).node.live._pads
    assert pads == Pads(material="any", stiffness_ratio=2.0)


def field(node):
    return field_from_message(node.sent("reference_field")[-1])


def request(**fields):
    """What is given, with its flags."""
    return SetTask.Request(**fields, **{f"has_{name}": True for name in fields if name not in ("task", "yaml", "arms")})


def ask(node, **fields):
    """A request that is met."""
    answer = node.call("set_task", request(**fields))
    assert answer.success, answer.message
    return answer


def test_the_speed_changes_and_the_direction_stays(node):
    before = field(node).arms[0].impact_velocity
    answer = ask(node, impact_speed=0.3)
    after = field(node).arms[0].impact_velocity
    np.testing.assert_allclose(after, 0.3 * before / np.linalg.norm(before), atol=1e-15)  # rounding
    assert answer.field.arms[0].impact_velocity.y == after[1]


def test_mass_goal_and_place_change(node):
    place, goal = Point(x=0.5, y=0.02, z=0.1), Point(x=0.5, y=-0.25, z=0.1)
    ask(node, object_mass=1.3, object_position=place, goal=goal)
    made = field(node)
    assert made.object_mass == 1.3
    np.testing.assert_array_equal(made.object_position, [0.5, 0.02, 0.1])
    np.testing.assert_array_equal(made.goal, [0.5, -0.25, 0.1])


def test_yaml_changes_anything_else_and_an_empty_request_goes_back(node):
    ask(node, yaml="fields: {alpha: 3.0}")
    assert field(node).alpha == 3.0
    ask(node)
    assert field(node).alpha == 5.0


def test_a_whole_object_and_whole_arms_replace_those_of_the_file(node):
    sent = task_to_message(node.node.live.task, 1, 0.0, ROS)
    tin, (arm,) = sent.object, sent.arms
    tin.name, tin.shape, tin.mass = "tin", tin.OBJECT_CYLINDER, 0.7
    tin.half_extents = Vector3(x=0.05, y=0.05, z=0.1)
    arm.impact_velocity, arm.starts = Vector3(y=-0.2), [Point(x=0.5, y=0.4, z=0.2)]
    answer = node.call("set_task", SetTask.Request(has_object=True, object=tin, arms=[arm]))
    assert answer.success, answer.message
    task = node.node.live.task
    assert (task.object.name, task.object.mass, task.object.radius) == ("tin", 0.7, 0.05)
    assert (task.arms[0].impact_velocity, task.arms[0].starts) == ((0.0, -0.2, 0.0), ((0.5, 0.4, 0.2),))
    assert answer.field.object_shape == answer.field.OBJECT_CYLINDER
    # Single values go over the whole object and over the yaml.
    wanted = SetTask.Request(has_object=True, object=tin, yaml="object: {mass: 9.0}", has_object_mass=True)
    wanted.object_mass = 0.8
    assert node.call("set_task", wanted).success and node.node.live.task.object.mass == 0.8


# What is refused

TASK = load_task("hit_and_push_palm")

WRONG_KIND = {"a": "mapping"}
"""Neither a number nor a text nor a list."""

def fields_of(part: type) -> list[str]:
    return [entry.name for entry in dataclasses.fields(part) if not entry.metadata]


def wrong_values(part: type, name: str, value: object) -> list[object]:
    """Of another kind, no number, and, of several numbers, one too few."""
    wrong: list[object] = [WRONG_KIND]
    if isinstance(value, bool):
        return wrong
    if isinstance(value, float | int):
        wrong += [math.nan, -1e9, "fast"]
    elif isinstance(value, tuple) and name not in ("starts", "arms", "objects"):
        wrong += [[math.nan, *value[1:]], [1e9, *value[1:]], list(value[:-1])] if value else [[math.nan], [1e9]]
    elif isinstance(value, tuple):
        wrong += [7, ["x"]]
    return wrong


def spoilt() -> list[tuple[str, object, dict]]:
    """Path of a field, its wrong value, and the task with it as a mapping."""
    cases = []
    for part, where, own in (
        (Task, "", TASK),
        (TaskObject, "object", TASK.object),
        (ArmTask, "arms", TASK.arms[0]),
        (FieldParameters, "fields", TASK.fields),
    ):
        for name in fields_of(part):
            if where == "" and name in ("object", "arms", "fields"):
                wrong: list[object] = [7, "x"]
            else:
                wrong = wrong_values(part, name, getattr(own, name))
            for value in wrong:
                content = yaml.safe_load(task_yaml(TASK))
                at = content if not where else content.setdefault(where, {})
                (at[0] if where == "arms" else at)[name] = value
                cases.append((f"{where}.{name}".lstrip("."), value, content))
    return cases


CASES = spoilt()


@pytest.fixture(scope="module")
def palm(module_harness):
    return module_harness(ReferenceFieldNode, task="hit_and_push_palm")


def refusal(node, request):
    """What is answered, where nothing changes and nothing is published."""
    sent = len(node.sent("reference_field")), len(node.sent("task"))
    answer = node.call("set_task", request)
    assert not answer.success
    assert (len(node.sent("reference_field")), len(node.sent("task"))) == sent
    assert answer.message.isprintable() and len(answer.message) < 400
    return answer.message


def test_every_field_of_a_task_is_among_them():
    parts = {"": Task, "object": TaskObject, "arms": ArmTask, "fields": FieldParameters}
    expected = {f"{where}.{name}".lstrip(".") for where, part in parts.items() for name in fields_of(part)}
    assert {path for path, _, _ in CASES} == expected and len(CASES) > 140


@pytest.mark.parametrize(("path", "value", "content"), CASES, ids=[f"{path} {value}" for path, value, _ in CASES])
def test_a_wrong_field_is_refused_by_its_name(palm, path, value, content):
    said = refusal(palm, SetTask.Request(yaml=yaml.safe_dump(content)))
    assert path.rpartition(".")[2] in said, said


@pytest.mark.parametrize("where", ["", "object", "arms", "fields", "objects"])
def test_an_entry_that_a_task_does_not_have_is_refused_by_its_name(palm, where):
    content = yaml.safe_load(task_yaml(TASK))
    if where in ("arms", "objects"):
        content[where] = [{**(content.get(where) or [{}])[0], "dance": 1}]
    else:
        (content.setdefault(where, {}) if where else content)["dance"] = 1
    assert "dance" in refusal(palm, SetTask.Request(yaml=yaml.safe_dump(content)))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"task": "dance"}, "task"),
        ({"object_position": Point(x=math.nan)}, "object.position"),
        ({"object_position": Point(x=50.0)}, "object.position"),
        ({"goal": Point(y=math.inf)}, "goal"),
        ({"goal": Point(x=9.0)}, "goal"),
        ({"impact_speed": 0.0}, "impact_speed"),
        ({"impact_speed": 4.5}, "impact_velocity"),
        ({"impact_speed": -0.1}, "impact_speed"),
        ({"impact_speed": math.nan}, "impact_speed"),
        ({"object_mass": 0.0}, "object.mass"),
        ({"object_mass": math.inf}, "object.mass"),
        ({"object_mass": 1e300}, "object.mass"),
        ({"object": ObjectMessage(mass=-1.0, half_extents=Vector3(x=0.1, y=0.1, z=0.1))}, "object.mass"),
        ({"object": ObjectMessage(mass=1.0)}, "object.half_extents"),
        ({"object": ObjectMessage(shape=3)}, "object.shape"),
        ({"object": ObjectMessage(shape=2, vertices=[0.1] * 4)}, "object.vertices"),
        ({"arms": [TaskArm()]}, "impact_velocity"),
        ({"arms": [TaskArm(orientation=Quaternion(w=math.nan))]}, "arms[0] orientation"),
        ({"arms": [TaskArm()] * 3}, "arms: got 3 entries"),
        ({"yaml": "object: 7"}, "object"),
        ({"yaml": "object:"}, "object"),
        ({"yaml": "object:", "object_mass": 1.0}, "object"),
        ({"yaml": "arms:"}, "arms"),
        ({"yaml": "arms: [null]"}, "arms"),
        ({"yaml": "goal: 2001-01-01"}, "goal"),
        ({"yaml": "[" * 3000}, "levels"),
        ({"task": "/etc/passwd.yaml"}, "task"),
        ({"task": "/dev/zero"}, "task"),
        ({"task": "\x1b[2J"}, "task"),
        ({"yaml": "a: ["}, "yaml"),
        ({"yaml": "- 1"}, "yaml"),
        ({"yaml": "x" * 70000}, "yaml: got 70000 characters"),
    ],
)
def test_every_field_of_the_request_is_refused_by_its_name(palm, fields, words):
    assert words in refusal(palm, request(**fields))
    known = {name for name in SetTask.Request.get_fields_and_field_types() if not name.startswith("has_")}
    assert known == {"task", "object", "object_position", "goal", "arms", "impact_speed", "object_mass", "yaml"}


# A wanted result in place of a speed


SLIDE = "result: {slide: [0.004, -0.03]}"


def test_a_wanted_result_is_planned_when_the_object_is_seen(node):
    ask(node, yaml=SLIDE)
    assert "planned when the object's pose is known" in node.node.no_motion()
    node.send("object_pose", upright([0.52, 0.03, 0.1], "panda_link0", 3.0))
    planned = node.node.live.task
    assert planned.result is None and planned.fields.release and planned.object.position[:2] == (0.52, 0.03)
    # Where it stops: 30 mm on, and a little to the side.
    np.testing.assert_allclose(planned.goal, [0.524, 0.0, 0.1], atol=1e-3)
    assert field(node).arms[0].impact_velocity[1] < -0.3
    assert "planned" not in node.node.no_motion()
    # The next request is planned at once, where the object was seen.
    ask(node, yaml="result: {slide: [0.0, -0.02]}")
    np.testing.assert_allclose(node.node.live.task.goal, [0.52, 0.01, 0.1], atol=1e-3)


def test_an_infeasible_result_is_refused_and_the_task_stays(node):
    node.send("object_pose", upright([0.5, 0.0, 0.1], "panda_link0", 3.0))
    before = node.node.live.task
    words = refusal(node, request(yaml="result: {slide: [0.0, -2.0]}"))
    assert "result: got slide, expected one that is feasible" in words
    assert node.node.live.task == before


def test_without_poses_the_result_is_planned_where_the_task_has_the_object(harness):
    node = harness(ReferenceFieldNode, use_object_pose=False)
    ask(node, yaml=SLIDE)
    assert node.node.live.task.fields.release and node.node.live.task.object.position == (0.5, 0.0, 0.1)
