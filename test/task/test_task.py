import re

import numpy as np
import pytest
import yaml

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.task import load_task, parse_task, task_names
from impact_aware.task.task_file import task_yaml

MINIMAL = {"name": "t", "goal": [0, 0, 0], "object": {}, "arms": [{}]}


def test_every_task_that_comes_with_the_package_loads_and_all_its_objects_stand_on_one_table():
    assert "hit_and_push" in task_names()
    masses = {}
    for name in task_names():
        task = load_task(name)
        assert task.name == name
        for other in (task.object, *task.objects):
            assert masses.setdefault(other.name, other.mass) == other.mass
            assert task.with_object(other.name).table_height == pytest.approx(task.table_height, abs=1e-9), other.name


@pytest.mark.parametrize("name", task_names())
def test_shipped_tasks_hit_as_in_van_steen_2024(name):
    task, lifts = load_task(name), name.startswith("dual_arm_grab")
    fields, thing = task.fields, task.object
    # Table I; ramps, deceleration and the radius sideways are not from there.
    assert (fields.alpha, fields.ante_radius_ratio, fields.ante_rotation_gain) == (5.0, 2.0, 30.0)
    assert (fields.post_gain, fields.post_radius_min, fields.post_radius_max) == (2.0, 0.1, 0.3)
    assert (fields.post_rotation_gain, fields.ante_radius_min, fields.ante_rotation_deceleration) == (30.0, 0.0, 6.0)
    assert (fields.start_ramp, fields.post_sideways_radius) == ((0.4, 0.0) if lifts else (0.5, 0.1))
    assert (thing.friction_table, thing.friction_tool) == (0.3, 0.3 if name == "hit_and_push" else 0.8)
    for arm in task.arms:
        assert np.linalg.norm(arm.impact_velocity) == pytest.approx(np.hypot(0.3, 0.12) if lifts else 0.5, rel=1e-6)
        assert arm.pad_half_sizes == ((0.0, 0.0, 0.0) if name == "hit_and_push" else (0.04, 0.04, 0.03))
        held = (arm.pad_time_constant, arm.load_share, arm.clamping_margin, arm.clamping_floor)
        assert held == ((0.002, 0.5, 4.0, 25.0) if lifts else (0.0, 0.0, 0.0, 0.0))


def test_shipped_cans_have_the_sizes_of_us_cans():
    task, half = load_task("hit_and_push_can"), 0.5 * 0.0254
    cans = {each.name: (each.radius / half, each.half_length / half) for each in (task.object, *task.objects)}
    assert cans["quart_can"] == pytest.approx((4.25, 4.875), abs=0.01)
    assert cans["gallon_can"] == pytest.approx((6.625, 7.6875), abs=0.01)


def test_entries_can_be_changed_without_touching_the_rest():
    task, changed = load_task("hit_and_push"), load_task("hit_and_push", {"object": {"mass": 1.0}})
    assert changed.object.mass == 1.0
    assert changed.object.position == task.object.position
    assert changed.fields == task.fields


def test_another_object_stands_on_the_same_table_and_goes_as_far():
    task = load_task("hit_and_push")
    for name, mass in (("cat_food", 1.30), ("parcel", 0.60), ("juice_pack", 2.20)):
        other = task.with_object(name)
        assert other.object.mass == mass
        way = np.subtract(task.goal, task.object.position)
        np.testing.assert_allclose(np.subtract(other.goal, other.object.position), way, atol=1e-15)
        assert other.with_object("juice_pack").object == task.object
    with pytest.raises(UnknownNameError, match="melon"):
        task.with_object("melon")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"object": {"mass": -1.0}}, "object.mass"),
        ({"object": {"mass": "heavy"}}, "object.mass"),
        ({"object": {"mass": float("nan")}}, "object.mass"),
        ({"object": {"half_extents": [0.1, 0.1]}}, "object.half_extents"),
        ({"object": {"half_extents": [0.1, 0.1, 0.0]}}, "object.half_extents"),
        ({"object": {"friction_table": -0.1}}, "object.friction_table"),
        ({"object": {"restitution": 1.1}}, "object.restitution"),
        ({"object": {"colour": "red"}}, "colour"),
        ({"object": 3}, "object"),
        ({"arms": []}, "arms"),
        ({"arms": "left"}, "arms"),
        ({"arms": [{"impact_velocity": [0, 0, 0]}]}, "impact_velocity"),
        ({"arms": [{"null_space_joint": 0.5}]}, "null_space_joint"),
        ({"arms": [{"clamping_margin": -1.0}]}, "clamping_margin"),
        ({"arms": [{"starts": []}]}, "starts"),
        ({"goal": [0, 0]}, "goal"),
        ({"fields": {"alpha": [1]}}, "alpha"),
        ({"speed": 3}, "speed"),
        ({"object": None}, "object"),
        ({"object": {"mass": 1e300}}, "object.mass"),
        ({"object": {"mass": 10**400}}, "object.mass"),
        ({"object": {"mass": True}}, "object.mass"),
        ({"object": {"name": 5}}, "object.name"),
        ({"object": {"name": "x" * 101}}, "object.name"),
        ({"object": {"position": "123"}}, "object.position"),
        ({"object": {"position": [45.0, 0.0, 0.1]}}, "object.position"),
        ({"object": {"friction_tool": 1e9}}, "object.friction_tool"),
        ({"objects": {"a": 1}}, "objects"),
        ({"objects": [{}] * 65}, "objects"),
        ({"arms": [{}] * 3}, "arms"),
        ({"arms": [{"starts": [[0, 0, 0]] * 65}]}, "starts"),
        ({"arms": [{"starts": [[0, 0, 1e9]]}]}, "starts"),
        ({"arms": [{"posture": [0, -45.0]}]}, "posture"),
        ({"arms": [{"load_share": 1.1}]}, "load_share"),
        ({"arms": [{"pad_half_sizes": [0.04, 0.04, 0.03], "pad_time_constant": 2.0}]}, "pad_time_constant"),
        ({"arms": [{"pad_half_sizes": [0.04, 0.04, 0.03], "pad_time_constant": 0.002}]}, "of an arm that hits alone"),
        ({"arms": [{"impact_velocity": [0, -1e6, 0]}]}, "impact_velocity"),
        ({"arms": [{"orientation_rpy": [180.0, 0.0, 0.0]}]}, "orientation_rpy"),
        ({"arms": [{"null_space_joint": 2**40}]}, "null_space_joint"),
        ({"fields": {"alpha": 1e9}}, "fields.alpha"),
        ({"fields": {"alpha": 0.0}}, "fields.alpha"),
        ({"fields": {"post_gain": -2.0}}, "fields.post_gain"),
        ({"fields": {"start_ramp": 1e6}}, "fields.start_ramp"),
        ({"goal": [0, 0, 50.0]}, "goal"),
        ({"frame": ["base"]}, "frame"),
        ({3: 4}, "3"),
    ],
)
def test_refuses_a_bad_entry_by_its_name(changes, named):
    with pytest.raises(InvalidInputError, match=re.escape(named)):
        parse_task({**MINIMAL, **changes})


@pytest.mark.parametrize("name", task_names())
def test_a_task_as_text_is_the_same_task(name):
    changes = {"object": {"restitution": 0.25, "friction_tool": 0.123456789012}, "goal": [0.51, -0.29, 0.11]}
    task = load_task(name, changes).with_impact_speed(0.37)
    assert parse_task(yaml.safe_load(task_yaml(task))) == task
    assert "load_share: 0.0" not in task_yaml(task)


def test_a_base_that_the_urdf_places_stays_there_as_text(tmp_path):
    file = tmp_path / "cell.yaml"
    arm = {"robot": "panda", "joint_prefix": "left_", "base_in_urdf": True, "starts": [[0.5, 0.4, 0.2]]}
    file.write_text(yaml.safe_dump({**MINIMAL, "arms": [arm]}))
    task = load_task(file)
    assert parse_task(yaml.safe_load(task_yaml(task))) == task


@pytest.mark.parametrize("missing", ["goal", "object", "arms"])
def test_refuses_a_task_without_what_it_needs(missing):
    with pytest.raises(InvalidInputError, match=missing):
        parse_task({key: value for key, value in MINIMAL.items() if key != missing})


def test_refuses_unknown_tasks_and_broken_files(tmp_path):
    with pytest.raises(UnknownNameError, match="juggle"):
        load_task("juggle")
    with pytest.raises(InvalidInputError, match="existing"):
        load_task(tmp_path / "none.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1")
    with pytest.raises(InvalidInputError, match="valid YAML"):
        load_task(broken)
    good = tmp_path / "mine.yaml"
    good.write_text(yaml.safe_dump({key: value for key, value in MINIMAL.items() if key != "name"}))
    assert load_task(good).name == "mine"


def test_the_defaults_of_the_fields_are_those_of_the_paper():
    """Table I of van Steen 2024; the ramp at the start is ours."""
    fields = parse_task(MINIMAL).fields
    assert (fields.alpha, fields.ante_radius_min, fields.ante_radius_ratio, fields.ante_rotation_gain) == (5, 0, 2, 30)
    assert (fields.post_gain, fields.post_radius_min, fields.post_radius_max) == (2, 0.1, 0.3)
    assert (fields.post_rotation_gain, fields.start_ramp) == (30, 0.5)


def test_a_task_lifts_when_a_tool_carries_a_share_of_the_load():
    assert load_task("dual_arm_grab").lifts and not load_task("hit_and_push").lifts
    assert load_task("dual_arm_grab").table_height == pytest.approx(0.40 - 0.10)
    lower = load_task("hit_and_push", {"object": {"half_extents": [0.1, 0.065, 0.09]}})
    assert lower.table_height == pytest.approx(0.01)


def test_another_object_leaves_every_other_one_to_choose():
    task = load_task("hit_and_push").with_object("parcel")
    assert sorted(entry.name for entry in task.objects) == ["cat_food", "juice_pack"]
