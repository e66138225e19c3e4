import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.simulation.mujoco_model import ToolTip
from impact_aware.simulation.scene import (
    ArmMount,
    ContactSettings,
    HitAndPushScene,
    Scene,
    SceneObject,
    load_scene,
    parse_scene,
    scene_names,
)


@pytest.mark.parametrize("name", scene_names())
def test_every_scene_that_comes_along_loads(name):
    scene = load_scene(name)
    assert scene.name == name
    assert scene.object.mass > 0.0


def test_hit_and_push_is_the_papers_heaviest_object():
    scene = load_scene("hit_and_push")
    assert isinstance(scene, HitAndPushScene)
    assert scene.object.mass == 2.20


def test_object_rests_on_the_table_when_no_height_is_given():
    scene = parse_scene({"table_height": 0.4, "object": {"position": [0.6, 0.1], "half_sizes": [0.1, 0.2, 0.3]}})
    np.testing.assert_allclose(scene.object_placement.translation, [0.6, 0.1, 0.7])


def test_left_out_fields_keep_their_defaults():
    scene = parse_scene({"object": {"mass": 1.3}, "object_table": {"friction": 0.2}})
    assert scene.object == replace(SceneObject(), mass=1.3, position=scene.object.position)
    assert scene.object_table == replace(HitAndPushScene().object_table, friction=0.2)


def test_yaml_round_trip(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"kind": "hit_and_push", "arms": [{"yaw": 0.5, "position": [1, 2, 3]}]}))
    scene = load_scene(path)
    assert scene.name == "mine"
    assert scene.arms[0] == ArmMount(position=(1.0, 2.0, 3.0), yaw=0.5)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"object": {"mass": 0.0}}, "object.mass"),
        ({"object": {"mass": "heavy"}}, "object.mass"),
        ({"object": {"half_sizes": [0.1, -0.1, 0.1]}}, "object.half_sizes"),
        ({"object": {"half_sizes": [0.1, 0.1]}}, "object.half_sizes"),
        ({"object": {"position": [math.nan, 0.0]}}, "object.position"),
        ({"object": 3}, "object"),
        ({"tool_object": {"friction": -0.1}}, "tool_object.friction"),
        ({"tool_object": {"time_constant": 1e-4}}, "tool_object.time_constant"),
        ({"tool_object": {"impedance": 1.0}}, "tool_object.impedance"),
        ({"tool_object": {"damping_ratio": 0.0}}, "tool_object.damping_ratio"),
        ({"substeps": 0}, "substeps"),
        ({"impact_substeps": 2}, "impact_substeps"),
        ({"cycle": 0.0}, "cycle"),
        ({"table_height": math.inf}, "object.position"),
        ({"arms": []}, "arms"),
        ({"arms": {"name": "arm"}}, "arms"),
        ({"arms": [{"tip": {"shape": "pad"}}]}, "half_sizes"),
        ({"arms": [{"yaw": math.nan}]}, "arms.arm"),
        ({"arms": [{}, {"name": "other"}]}, "arms"),
    ],
)
def test_malformed_values_are_refused_by_name(content, field):
    with pytest.raises(InvalidInputError, match=field):
        parse_scene(content)


@pytest.mark.parametrize(
    "content",
    [{"kind": "catch"}, {"tabel_height": 0.1}, {"object": {"weight": 1.0}}, {"arms": [{"tip": {"shape": "cone"}}]}],
)
def test_unknown_names_are_refused_with_the_known_ones(content):
    with pytest.raises(UnknownNameError, match="one of"):
        parse_scene(content)


def test_unknown_scene_and_missing_file_are_refused(tmp_path):
    with pytest.raises(UnknownNameError, match="hit_and_push"):
        load_scene("nowhere")
    with pytest.raises(InvalidInputError, match="existing"):
        load_scene(tmp_path / "gone.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    with pytest.raises(InvalidInputError, match="valid YAML"):
        load_scene(broken)


def test_arms_of_one_name_are_refused():
    with pytest.raises(InvalidInputError, match="differ"):
        Scene(arms=(ArmMount(), ArmMount()))


def test_arm_is_found_by_name():
    scene = Scene(arms=(ArmMount(name="left"), ArmMount(name="right", tip=ToolTip("pad", (0.05, 0.05, 0.01)))))
    assert scene.arm("right").tip.shape == "pad"
    with pytest.raises(UnknownNameError, match="left, right"):
        scene.arm("middle")


@pytest.mark.parametrize(("cycle", "substeps", "impact_substeps"), [(0.002, 10, 40), (0.0005, 3, 10), (0.003, 15, 60)])
def test_another_cycle_leaves_the_physics_steps_about_as_long(cycle, substeps, impact_substeps):
    scene = load_scene("hit_and_push")
    other = scene.at(cycle)
    assert (other.cycle, other.substeps, other.impact_substeps) == (cycle, substeps, impact_substeps)
    assert 0.8 * scene.timestep < other.timestep <= scene.timestep * (1.0 + 1e-9)
    assert replace(other, cycle=scene.cycle, substeps=5, impact_substeps=20) == scene


def test_a_cycle_has_to_take_time():
    with pytest.raises(InvalidInputError, match="cycle"):
        Scene().at(0.0)


def test_contact_settings_are_values():
    assert ContactSettings() == ContactSettings()
