"""What `set_task` changes, and what it refuses."""

import numpy as np
import pytest
from geometry_msgs.msg import Point
from impact_aware_msgs.srv import SetTask

from impact_aware.nodes.reference_field import ReferenceFieldNode


@pytest.fixture
def node(ros_context):
    node = ReferenceFieldNode()
    yield node
    node.destroy_node()


def ask(node, **fields):
    return node._on_set_task(SetTask.Request(**fields), SetTask.Response())


def test_the_speed_changes_and_the_direction_stays(node):
    before = node._live.field.arms[0].impact_velocity
    answer = ask(node, impact_speed=[0.3])
    assert answer.success, answer.message
    after = node._live.field.arms[0].impact_velocity
    np.testing.assert_allclose(after, 0.3 * before / np.linalg.norm(before), atol=1e-15)  # rounding
    assert answer.field.arms[0].impact_velocity.y == after[1]


def test_mass_goal_and_place_change(node):
    place, goal = Point(x=0.5, y=0.02, z=0.1), Point(x=0.5, y=-0.25, z=0.1)
    assert ask(node, object_mass=[1.3], object_position=[place], goal=[goal]).success
    assert node._live.field.object_mass == 1.3
    np.testing.assert_array_equal(node._live.field.object_position, [0.5, 0.02, 0.1])
    np.testing.assert_array_equal(node._live.field.goal, [0.5, -0.25, 0.1])


def test_yaml_changes_anything_else_and_an_empty_request_goes_back(node):
    assert ask(node, yaml="fields: {alpha: 3.0}").success
    assert node._live.field.alpha == 3.0
    assert ask(node).success
    assert node._live.field.alpha == 5.0


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"task": "dance"}, "task"),
        ({"impact_speed": [0.0]}, "impact_speed"),
        ({"impact_speed": [float("nan")]}, "impact_speed"),
        ({"impact_speed": [0.3, 0.4]}, "impact_speed"),
        ({"impact_speed": [4.5]}, "impact_velocity"),
        ({"object_mass": [-1.0]}, "mass"),
        ({"goal": [Point(x=9.0)]}, "goal"),
        ({"yaml": "a: ["}, "yaml"),
        ({"yaml": "- 1"}, "yaml"),
        ({"yaml": "dance: 1"}, "dance"),
    ],
)
def test_a_bad_request_is_refused_by_name_and_changes_nothing(node, fields, word):
    before = node._live.field
    answer = ask(node, **fields)
    assert not answer.success
    assert word in answer.message
    assert node._live.field is before
