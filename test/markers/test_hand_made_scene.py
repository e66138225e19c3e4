"""Where every marker of hand-made scenes stands, how long and in which colour, and what stays in a scene."""

from dataclasses import replace

import numpy as np
import pytest
from kept_texts import assert_same
from marker_scenes import CONTACT, IMPACT, KEPT, LOOK, OUTCOME, scenes_text

from impact_aware.contact.box import Box
from impact_aware.markers import SceneMarkers, style
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field


def test_every_marker_is_as_it_was_when_somebody_last_looked_at_it():
    assert_same(scenes_text(), KEPT)


def test_the_better_founded_outcome_of_the_same_impact_stays():
    def kept(*outcomes):
        scene = SceneMarkers(LOOK)
        scene.add_impact(IMPACT)
        for outcome in outcomes:
            scene.add_outcome(outcome)
        return scene.outcome

    first = replace(OUTCOME, origin="first look")
    assert kept(first, OUTCOME) is OUTCOME
    assert kept(OUTCOME, first) is OUTCOME
    plant = replace(OUTCOME, origin="plant")
    assert kept(OUTCOME, plant, first) is plant
    # One of another impact, 30 ms later, is not that of this one, and does not take it away.
    assert kept(replace(first, time=7.035)) is None
    assert kept(OUTCOME, replace(first, time=7.035)) is OUTCOME
    assert kept(replace(OUTCOME, time=6.9)) is None
    # An estimate that was made anew replaces the first one; of two impacts' outcomes the nearer one counts.
    again = replace(OUTCOME, velocity=2.0 * OUTCOME.velocity)
    assert kept(OUTCOME, again) is again
    near, far = replace(OUTCOME, time=IMPACT.time + 0.003), replace(OUTCOME, time=IMPACT.time - 0.018)
    assert kept(near, far) is near and kept(far, near) is near
    # Weak impacts that follow do not take it away, until twenty have.
    later = [replace(first, time=7.1 + 0.03 * number) for number in range(20)]
    assert kept(OUTCOME, *later[:19]) is OUTCOME and kept(OUTCOME, *later) is None


def test_only_frames_of_the_arm_get_its_prefix():
    robot = RobotModel.from_profile("panda")
    scene = SceneMarkers(robot=robot, frame_prefix="left/")
    assert scene.frame_of(robot.base_frame) == f"left/{robot.base_frame}"
    assert scene.frame_of(robot.tool_frame) == f"left/{robot.tool_frame}"
    assert scene.frame_of("world") == "world"
    assert scene.frame_of("left/world") == "left/world"
    assert SceneMarkers(robot=robot).frame_of(robot.base_frame) == robot.base_frame


def test_an_object_without_a_pose_is_not_drawn():
    scene = SceneMarkers(LOOK, shape=Box((0.1, 0.2, 0.3)))
    assert not scene.add_object("world", 1.0, np.array([1.0, np.nan, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    assert not scene.add_object("world", 1.0, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.01]))


def test_the_impact_of_all_arms_replaces_what_each_alone_predicts():
    task = load_task("dual_arm_grab")
    field = make_field(task, [RobotModel.from_profile("panda") for _ in range(2)])
    own = replace(IMPACT, method="coulomb")
    common = replace(own, method="simultaneous", contacts=(replace(CONTACT, impulse=0.1 * CONTACT.impulse),))

    def words(*impacts, arm="left"):
        scene = SceneMarkers(LOOK, arm=arm)
        scene.add_field(field, 6.0)
        for impact in impacts:
            scene.add_impact(impact)
        shown = {m.namespace: m.text for m in scene.take_changes()["at_impact"] if m.id == 1 and m.text}
        return scene.impact, shown[f"{arm}/at_impact/velocity_text"].split(" 0")[0]

    assert words(own) == (own, "predicted alone")
    assert words(own, common) == (common, "predicted")
    # The estimate repeats what the arm's own predictor had said.
    assert words(own, common, replace(own, source="estimate", estimated=np.zeros(2))) == (common, "predicted")
    later = replace(own, time=8.5)
    assert words(own, common, later) == (later, "predicted alone")
    # An arm that the field does not know hits on its own.
    assert words(own, arm="other")[1] == "predicted"


def test_the_legend_has_the_colours_of_what_is_shown():
    scene = SceneMarkers(LOOK)
    scene.add_impact(IMPACT)
    lines = scene.legend({"left/at_impact/impulse", "friction_cone", "unknown"})
    assert [(line.text, line.color) for line in lines] == [
        ("impulse on the robot", style.readable(style.IMPULSE)),
        ("friction cone", style.readable(style.CONE)),
    ]
    assert lines[1].position - lines[0].position == pytest.approx([1.4 * 0.04, 0.0, -0.75 * 1.4 * 0.04])
    assert {line.frame for line in lines} == {"left_base"}
    silent = SceneMarkers(replace(LOOK, legend=False))
    assert silent.legend({"friction_cone"}) == []


def test_a_weaker_impact_within_a_second_does_not_replace_the_shown_one():
    """Hands that settle after a hit are detected again and again; 1.83 N s happened, 0.02 N s is noise."""
    weak = replace(CONTACT, impulse=CONTACT.impulse / 90.0)

    def shown(*followers):
        scene = SceneMarkers(LOOK)
        for impact in (IMPACT, *followers):
            scene.add_impact(impact)
        scene.add_outcome(OUTCOME)
        return scene.impact

    later = replace(IMPACT, time=7.053, contacts=(weak,))
    assert shown(later) is IMPACT
    assert shown(later, replace(later, time=7.99)) is IMPACT
    # A second later the next episode has begun, and a stronger one is always shown.
    last = replace(later, time=8.01)
    assert shown(later, last) is last
    strong = replace(IMPACT, time=7.053, contacts=(replace(CONTACT, impulse=2.0 * CONTACT.impulse),))
    assert shown(strong) is strong
    # The better answer about the same impact may have a smaller impulse.
    better = replace(IMPACT, time=7.001, contacts=(weak,), source="estimate")
    assert shown(better) is better
