import math
from dataclasses import replace

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.simulation.mujoco_model import ToolTip
from impact_aware.simulation.scene import ArmMount, ContactSettings, Scene, SceneObject


def test_object_rests_on_the_table_when_no_height_is_given():
    scene = Scene(table_height=0.4, object=SceneObject(position=(0.6, 0.1, math.nan), half_sizes=(0.1, 0.2, 0.3)))
    np.testing.assert_allclose(scene.object_placement.translation, [0.6, 0.1, 0.7])


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"object": SceneObject(mass=0.0)}, "object.mass"),
        ({"object": SceneObject(half_sizes=(0.1, -0.1, 0.1))}, "object.half_sizes"),
        ({"object": SceneObject(position=(math.nan, 0.0, 0.0))}, "object.position"),
        ({"tool_object": ContactSettings(friction=-0.1)}, "tool_object.friction"),
        ({"tool_object": ContactSettings(time_constant=3.9e-4)}, "tool_object.time_constant"),
        ({"tool_object": ContactSettings(impedance=1.0)}, "tool_object.impedance"),
        ({"tool_object": ContactSettings(damping_ratio=0.0)}, "tool_object.damping_ratio"),
        ({"substeps": 0}, "substeps"),
        ({"impact_substeps": 2}, "impact_substeps"),
        ({"cycle": 0.0}, "cycle"),
        ({"table_height": math.inf}, "object.position"),
        ({"arms": ()}, "arms"),
        ({"arms": (ArmMount(), ArmMount())}, "names that differ"),
        ({"arms": (ArmMount(tip=ToolTip("pad")),)}, "half_sizes"),
        ({"arms": (ArmMount(rpy=(0.0, 0.0, math.nan)),)}, "arms.arm"),
    ],
)
def test_malformed_values_are_refused_by_name(content, field):
    with pytest.raises(InvalidInputError, match=field):
        Scene(**content)


def test_an_unknown_tip_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="one of sphere, pad"):
        Scene(arms=(ArmMount(tip=ToolTip("cone")),))


def test_arm_is_found_by_name():
    scene = Scene(arms=(ArmMount(name="left"), ArmMount(name="right", tip=ToolTip("pad", (0.05, 0.05, 0.01)))))
    assert scene.arm("right").tip.shape == "pad"
    with pytest.raises(UnknownNameError, match="left, right"):
        scene.arm("middle")


@pytest.mark.parametrize(("cycle", "substeps", "impact_substeps"), [(0.002, 10, 40), (0.0005, 3, 10), (0.003, 15, 60)])
def test_another_cycle_leaves_the_physics_steps_about_as_long(cycle, substeps, impact_substeps):
    scene = Scene()
    other = scene.at(cycle)
    assert (other.cycle, other.substeps, other.impact_substeps) == (cycle, substeps, impact_substeps)
    assert 0.8 * scene.timestep < other.timestep <= scene.timestep * (1.0 + 1e-9)
    assert replace(other, cycle=scene.cycle, substeps=5, impact_substeps=20) == scene
    with pytest.raises(InvalidInputError, match="cycle"):
        scene.at(0.0)
