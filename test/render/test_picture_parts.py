"""Parts of a picture: where bases stand, the chart of the jump, and the words above it, from hand-made numbers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from impact_aware.markers import SceneMarkers, style
from impact_aware.records import ContactImpulse, Impact, Outcome
from impact_aware.render import picture
from impact_aware.render.base_placement import base_placements
from impact_aware.render.camera import Camera
from impact_aware.render.jump_chart import draw_jump
from impact_aware.render.recorded_scene import RecordedArm, RecordedScene
from impact_aware.render.robot_shape import RobotShape
from impact_aware.render.solids import placed

IMPACT = Impact(
    source="at_impact",
    time=7.0,
    frame="base",
    joint_names=("a", "b"),
    velocity_before=np.array([0.5, -0.25]),
    velocity_after=np.array([-0.75, 1.5]),
    contacts=(ContactImpulse(impulse=np.array([0.0, 3.0, 4.0]), effective_mass=2.5, mode="stick", obstacle="box"),),
    object="crate",
    object_twist_before=np.array([0.0, 0.3, 0.4, 9.0, 9.0, 9.0]),
    object_twist_after=np.array([0.6, 0.0, 0.8, 9.0, 9.0, 9.0]),
)
OUTCOME = Outcome("plant", 7.001, ("a", "b"), np.array([-0.5, 1.0]), np.array([0.01, 0.02]))


def transform(parent, child, translation, quaternion):
    return SimpleNamespace(
        header=SimpleNamespace(frame_id=parent),
        child_frame_id=child,
        transform=SimpleNamespace(
            translation=SimpleNamespace(**dict(zip("xyz", translation, strict=True))),
            rotation=SimpleNamespace(**dict(zip("xyzw", quaternion, strict=True))),
        ),
    )


def bag_with(*transforms):
    message = SimpleNamespace(transforms=list(transforms))
    return SimpleNamespace(topics={"/tf_static": "tf2_msgs/msg/TFMessage"}, messages=lambda _: [(0.0, message)])


def test_bases_stand_where_static_transforms_put_them():
    # A yaw of 2 atan(1/2): the cosine is 3/5, the sine 4/5.
    yaw = (0.0, 0.0, 1.0 / 5**0.5, 2.0 / 5**0.5)
    bag = bag_with(
        transform("world", "left/base", (1.0, 2.0, 3.0), yaw),
        transform("left/base", "left_camera", (9.0, 9.0, 9.0), (0.0, 0.0, 0.0, 1.0)),
    )
    found = base_placements(bag, ("left", "right"), None)
    np.testing.assert_allclose(placed(np.array([[1.0, 0.0, 0.0]]), found["left"]), [[1.6, 2.8, 3.0]])
    np.testing.assert_allclose(found["right"].homogeneous, np.eye(4))
    np.testing.assert_allclose(base_placements(bag, ("left",), None)["left"].homogeneous, np.eye(4))


def test_bases_of_the_recorded_field_count_more_than_those_of_transforms_and_tasks():
    quaternion = np.array([0.0, 0.0, 1.0 / 5**0.5, 2.0 / 5**0.5])
    place = np.array([1.0, 2.0, 3.0])
    own = SimpleNamespace(arm="left", base_known=True, base_position=place, base_orientation=quaternion)
    other = SimpleNamespace(arm="right", base_known=False)
    bag = bag_with(transform("world", "left/base", (9.0, 9.0, 9.0), (0.0, 0.0, 0.0, 1.0)))
    found = base_placements(bag, ("left", "right"), SimpleNamespace(task="dual_arm_grab", arms=(own, other)))
    np.testing.assert_allclose(placed(np.array([[1.0, 0.0, 0.0]]), found["left"]), [[1.6, 2.8, 3.0]])
    np.testing.assert_allclose(found["right"].translation, [0.0, -0.35, 0.0])


def test_bases_of_a_known_task_fill_the_gaps():
    nothing = SimpleNamespace(topics={})
    found = base_placements(nothing, ("left", "right"), SimpleNamespace(task="dual_arm_grab", arms=()))
    assert np.linalg.norm(found["left"].translation - found["right"].translation) > 0.1
    unknown = base_placements(nothing, ("left", "right"), SimpleNamespace(task="no such task", arms=()))
    assert all(np.allclose(pose.homogeneous, np.eye(4)) for pose in unknown.values())


def bars_of(axes):
    handles, labels = axes.get_legend_handles_labels()
    return {
        label: ([bar.get_height() for bar in bars], {to_rgb(bar.get_facecolor()) for bar in bars})
        for label, bars in zip(labels, handles, strict=True)
    }


def test_the_chart_of_the_jump():
    axes = Figure().add_subplot()
    draw_jump(axes, IMPACT, OUTCOME, name="left")
    assert bars_of(axes) == {
        "before": ([0.5, -0.25], {style.BEFORE[:3]}),
        "predicted": ([-0.75, 1.5], {style.PREDICTED[:3]}),
        "measured": ([-0.5, 1.0], {style.ESTIMATED[:3]}),
    }
    centres = {bars.get_label(): [bar.get_x() + 0.5 * bar.get_width() for bar in bars] for bars in axes.containers[:3]}
    # Side by side about the joint's number.
    np.testing.assert_allclose(centres["before"], [0.73, 1.73])
    np.testing.assert_allclose(centres["predicted"], [1.0, 2.0])
    np.testing.assert_allclose(centres["measured"], [1.27, 2.27])
    (spans,) = (collection.get_segments() for collection in axes.collections)
    np.testing.assert_allclose(spans, [[[1.27, -0.52], [1.27, -0.48]], [[2.27, 0.96], [2.27, 1.04]]])
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title("left")) == ("joint", "rad/s", "left joint velocities")
    assert axes.get_xticks().tolist() == [1, 2]
    other = Figure().add_subplot()
    draw_jump(other, IMPACT, replace(OUTCOME, joint_names=("b", "a")), legend=False, last=False)
    assert bars_of(other)["measured"][0] == [1.0, -0.5]
    assert not other.collections and other.get_legend() is None and other.get_xlabel() == ""


def scene_of(*impacts, outcome=None, time=7.02):
    arms = []
    for number, impact in enumerate(impacts):
        scene = SceneMarkers()
        scene.add_impact(impact)
        if outcome is not None:
            scene.add_outcome(outcome)
        name = f"arm{number}" if len(impacts) > 1 else ""
        arms.append(RecordedArm(name, scene, None, RobotShape(()), None, pin.SE3.Identity(), "base"))
    return RecordedScene(time, (0.0, 9.0), (7.0,), tuple(arms))


def test_the_words_above_the_picture():
    scene = scene_of(IMPACT, outcome=OUTCOME)
    assert picture._title(scene) == "7.0200 s: impact with crate, 20 ms ago"
    # Off by (0.25, 0.5) of a jump of (-1, 1.25): 34.9 %.
    assert picture._subtitle(scene).replace("\n", " ") == (
        "the contact sticks; impulse 5.00 N s; effective mass 2.5 kg; crate predicted to go from 0.50 to 1.00 m/s; "
        "prediction off by 34.9 % of the jump (measured in the simulator)"
    )
    two = picture._subtitle(scene_of(IMPACT, replace(IMPACT, object="")))
    assert "arm0: the contact sticks" in two and "arm1: the contact sticks" in two and "prediction off" not in two


@pytest.mark.parametrize(
    ("impact", "time", "words"),
    [
        (replace(IMPACT, object=""), 7.0, "7.0000 s: impact with box"),
        (replace(IMPACT, source="look_ahead", time_to_impact=0.25), 7.1, "7.1000 s: impact with crate in 150 ms"),
        (replace(IMPACT, source="look_ahead", time_to_impact=0.05), 7.1, "7.1000 s: impact with crate ahead"),
    ],
)
def test_the_title_says_when(impact, time, words):
    assert picture._title(scene_of(impact, time=time)) == words


def test_a_picture_moves_with_the_base_of_its_arm(monkeypatch, tmp_path):
    """The markers, the near view and the robot stand where the base puts them."""
    looked_at = []

    def camera(target, *others, **named):
        looked_at.append(target)
        return Camera(target, *others, **named)

    monkeypatch.setattr(picture, "Camera", camera)
    shift = np.array([0.4, -0.3, 0.2])
    hit = scene_of(replace(IMPACT, contacts=(replace(IMPACT.contacts[0], normal=np.array([0.0, 1.0, 0.0])),)))
    shape = SimpleNamespace(triangles=lambda robot, q: np.array([[[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.5, 1.5]]]))
    alone = RecordedArm("", SceneMarkers(), SimpleNamespace(), shape, np.zeros(2), pin.SE3.Identity(), "base")
    for arm in (hit.arms[0], alone):
        looked_at.clear()
        for base in (pin.SE3.Identity(), pin.SE3(np.eye(3), shift)):
            scene = SceneMarkers()
            if arm.scene.impact is not None:
                scene.add_impact(arm.scene.impact)
            picture.draw_scene(replace(hit, arms=(replace(arm, scene=scene, base=base),)), tmp_path / "a.png")
        half = len(looked_at) // 2
        assert half == (2 if arm is not alone else 1)
        np.testing.assert_allclose(np.subtract(looked_at[half:], looked_at[:half]), [shift] * half, atol=1e-12)
