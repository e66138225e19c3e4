"""Where every marker of one contact stands, how long and which colour it has, from numbers written by hand."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.contact.box import Box
from impact_aware.markers import Kind, MarkerStyle, SceneMarkers, style
from impact_aware.markers.contact import contact_orientation
from impact_aware.markers.velocities import contact_velocities
from impact_aware.records import ContactImpulse, Impact, Outcome
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

LOOK = MarkerStyle(
    velocity_scale=0.5, impulse_scale=0.25, joint_scale=0.1, ghost_time=0.2, look_ahead_lifetime=0.7,
    impact_lifetime=3.0, joint_chart=True, chart_position=(1.0, 2.0, 3.0), text_height=0.04, deviations=3.0,
)  # fmt: skip
POINT = np.array([0.3, -0.2, 0.9])

CONTACT = ContactImpulse(
    frame="tool",
    obstacle="box",
    point=POINT,
    normal=np.array([0.0, -1.0, 0.0]),
    impulse=np.array([0.4, -1.6, 0.8]),
    velocity_before=np.array([0.1, 0.6, -0.2]),
    velocity_after=np.array([0.05, 0.0, -0.1]),
    friction=0.75,
    effective_mass=3.14,
    mode="slide",
)

IMPACT = Impact(
    source="at_impact",
    time=7.0,
    frame="left_base",
    joint_names=("a", "b"),
    velocity_before=np.array([0.5, -0.25]),
    velocity_after=np.array([-0.75, 1.5]),
    contacts=(CONTACT,),
    object="box",
    object_position=np.array([0.3, 0.0, 0.85]),
    object_twist_before=np.array([0.0, -0.1, 0.0, 0.0, 0.0, 0.0]),
    # The contact point is (0, -0.2, 0.05) away from the centre: it moves by (0.4, 1, 0) besides.
    object_twist_after=np.array([0.3, 0.5, 0.0, 0.0, 0.0, 2.0]),
)

OUTCOME = Outcome("estimate", 7.005, ("b", "a"), np.array([1.25, -0.5]), np.array([0.1, 0.2]))


def drawn(*impacts, outcome=None, half=(0.1, 0.15, 0.05), arm="left", **more):
    scene = SceneMarkers(LOOK, arm=arm, shape=half and Box(half), **more)
    for impact in impacts:
        scene.add_impact(impact)
    if outcome is not None:
        scene.add_outcome(outcome)
    return {group: {m.namespace: m for m in markers} for group, markers in scene.take_changes().items()}


@pytest.fixture(scope="module")
def scene():
    return {name.removeprefix("left/at_impact/"): marker for name, marker in drawn(IMPACT)["at_impact"].items()}


def arrow(marker):
    assert marker.kind is Kind.ARROW
    start, end = marker.points
    return start, end - start


def test_everything_is_in_the_frame_of_the_arm_at_the_time_of_the_impact():
    for marker in drawn(IMPACT)["at_impact"].values():
        assert marker.namespace.startswith("left/at_impact/")
        assert (marker.frame, marker.time, marker.lifetime) == ("left_base", 7.0, 3.0)


@pytest.mark.parametrize(
    ("item", "foot", "along", "color"),
    [
        ("normal", (-0.04, 0, 0), (0, -0.17, 0), style.NORMAL),
        # 0.25 m per N s.
        ("impulse", (0, 0, 0), (0.1, -0.4, 0.2), style.IMPULSE),
        # Relative velocities with that of the object at the point, 0.5 m per m/s; feet 2 cm apart along z x normal = x.
        ("velocity_before", (-0.02, 0, 0), (0.05, 0.25, -0.1), style.BEFORE),
        ("velocity_after", (0, 0, 0), (0.375, 0.25, -0.05), style.PREDICTED),
    ],
)
def test_arrows(scene, item, foot, along, color):
    start, vector = arrow(scene[item])
    np.testing.assert_allclose(start, POINT + foot, atol=1e-12)
    np.testing.assert_allclose(vector, along, atol=1e-12)
    assert scene[item].color == color


def test_point_surface_cone_and_words(scene):
    np.testing.assert_allclose(scene["contact"].position, POINT)
    np.testing.assert_allclose(scene["contact"].scale, [0.014] * 3)
    surface = scene["surface"]
    # Just behind the surface: away from the robot.
    np.testing.assert_allclose(surface.position, POINT + [0.0, 1e-3, 0.0])
    np.testing.assert_allclose(surface.scale, [0.12, 0.12, 1e-3])
    np.testing.assert_allclose(surface.orientation, contact_orientation(CONTACT.normal))
    corners = scene["friction_cone"].points.reshape(-1, 3, 3)
    np.testing.assert_allclose(corners[:, 0], np.tile(POINT, (24, 1)))
    rim = corners[:, 1] - POINT
    # 0.09 m along the slope of 3 : 4.
    np.testing.assert_allclose(rim[:, 1], -0.072)
    np.testing.assert_allclose(np.hypot(rim[:, 0], rim[:, 2]), 0.054)
    words = scene["mode"]
    assert words.text == "slide\nmu 0.75\n1.83 N s\n3.1 kg"
    # The words begin 0.1 m below the contact, 0.24 m towards the robot, 0.12 m away from its base; each of three lines
    # is 52 mm in front of the one above it and 39 mm below. Of these four, 57.6 mm apart, the middle is said.
    ahead, down = 3 * 0.052 + 0.5 * 1.5 * 0.0576, 3 * 0.039 + 1.5 * 0.0576
    np.testing.assert_allclose(words.position, POINT + [0.12 + ahead, -0.24, -0.1 - down])
    assert words.scale[2] == pytest.approx(0.032)


@pytest.mark.parametrize(("height", "up", "back"), [(0.24, 0.12, 0.32), (0.31, -0.1, 0.24)])
def test_words_of_a_contact_near_the_floor_stand_above_it(height, up, back):
    point = np.array([0.3, -0.2, height])
    markers = drawn(replace(IMPACT, contacts=(replace(CONTACT, point=point),)))["at_impact"]
    first = next(own for name, own in markers.items() if name.endswith("velocity_text"))
    # Of the three lines the dictionary keeps the last, that of the prediction.
    np.testing.assert_allclose(first.position[1:], [-0.2 - back, height + up - 0.039])


def test_a_frictionless_contact_without_a_mass_or_mode_says_less():
    bare = replace(CONTACT, friction=0.0, effective_mass=0.0, mode="")
    markers = drawn(replace(IMPACT, contacts=(bare,), mode_may_change=True))["at_impact"]
    assert markers["left/at_impact/mode"].text == "contact (may change)\n1.83 N s"
    assert "left/at_impact/friction_cone" not in markers


def test_what_is_ahead_says_when_and_is_fainter():
    ahead = replace(IMPACT, source="look_ahead", time_to_impact=0.125)
    markers = drawn(ahead)["look_ahead"]
    assert markers["left/look_ahead/mode"].text.endswith("\nin 125 ms")
    assert markers["left/look_ahead/mode"].color == style.TEXT
    impulse = markers["left/look_ahead/impulse"]
    assert impulse.lifetime == 0.7
    assert impulse.color == (*style.IMPULSE[:3], 0.45)
    assert not [name for name in markers if "joint" in name]


def test_the_frame_of_a_contact_has_its_normal_along_z():
    x, y, z, w = contact_orientation(np.array([0.6, 0.0, 0.8]))
    axis = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    np.testing.assert_allclose(axis, [0.6, 0.0, 0.8], atol=1e-12)


def test_joint_chart():
    markers = drawn(IMPACT, outcome=OUTCOME)["at_impact"]
    chart = {name.removeprefix("left/at_impact/"): marker for name, marker in markers.items()}
    # Bars of 0.1 m per rad/s along z, joints 75 mm apart along x, meanings side by side; the outcome's joints in order.
    rows = {
        "joint_before": (0, [0.05, -0.025], style.BEFORE),
        "joint_predicted": (1, [-0.075, 0.15], style.PREDICTED),
        "joint_estimated": (2, [-0.05, 0.125], style.ESTIMATED),
    }
    for item, (column, heights, color) in rows.items():
        bars = chart[item].points.reshape(2, 2, 3)
        feet = [[1.0 + 0.075 * joint + 0.0161 * column, 2.0, 3.0] for joint in (0, 1)]
        np.testing.assert_allclose(bars[:, 0], feet)
        np.testing.assert_allclose(bars[:, 1] - bars[:, 0], [[0.0, 0.0, height] for height in heights], atol=1e-12)
        assert chart[item].color == color
    scene = SceneMarkers(LOOK)
    scene.add_impact(IMPACT)
    texts = [m for m in scene.take_changes()["at_impact"] if m.namespace.endswith("joint_text")]
    assert [m.text for m in texts] == ["1\n-1.25", "2\n+1.75", "joint velocities, predicted jump in rad/s"]
    np.testing.assert_allclose(texts[0].position, [1.014, 2.0, 3.0 - 0.075 - 0.06])
    np.testing.assert_allclose(texts[2].position, [1.0375, 2.0, 3.0 + 0.15 + 0.06])


def test_ghosts_of_the_object(scene):
    before, after, words = (scene[f"object_{name}"] for name in ("before", "after", "text"))
    low, high = before.points.min(axis=0), before.points.max(axis=0)
    np.testing.assert_allclose(low, [0.2, -0.15, 0.8])
    np.testing.assert_allclose(high, [0.4, 0.15, 0.9])
    # All twelve edges of it, each along one axis.
    edges = np.diff(before.points.reshape(12, 2, 3), axis=1)[:, 0]
    assert sorted(np.abs(edges).sum(axis=1).round(9)) == [0.1] * 4 + [0.2] * 4 + [0.3] * 4
    # After 0.2 s, and rotated by 0.4 rad about z.
    cosine, sine = np.cos(0.4), np.sin(0.4)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    moved = (before.points - [0.3, 0.0, 0.85]) @ turn.T + [0.36, 0.1, 0.85]
    np.testing.assert_allclose(after.points, moved, atol=1e-12)
    assert after.kind is Kind.LINE_LIST
    assert words.text == "+200 ms, 0.58 m/s"
    np.testing.assert_allclose(words.position, [0.36, 0.1, 0.85 + 0.05 + 0.04])
    assert (before.color, after.color) == (style.GHOST_BEFORE, style.GHOST_AFTER)


def test_no_ghosts_without_an_object_or_its_size():
    for impact, half in ((replace(IMPACT, object=""), (0.1, 0.15, 0.05)), (IMPACT, None)):
        assert not [name for name in drawn(impact, half=half)["at_impact"] if "object" in name]


def test_velocities_of_the_contact_point_of_a_known_robot():
    robot = RobotModel.from_profile("kuka_lwr4")
    q = np.array([0.3, -0.4, 0.2, 1.1, -0.3, 0.5, 0.1])
    before, after, found = (np.linspace(*ends, 7) for ends in ((-0.5, 0.9), (0.7, -0.2), (0.1, 0.4)))
    root = np.random.default_rng(3).normal(size=(7, 7))
    impact = replace(
        IMPACT, joint_names=robot.joint_names, position=q, velocity_before=before, velocity_after=after,
        covariance=root @ root.T,
    )  # fmt: skip
    contact = replace(CONTACT, frame=robot.tool_frame, point=robot.placement(q).translation + [0.0, 0.05, 0.02])
    # The velocity of a point beside the tool: that of the tool, and its rotation times the lever.
    full = robot.frame_jacobian(q)
    lever = np.array([0.0, 0.05, 0.02])
    jacobian = full[:3] + np.cross(full[3:], lever[:, None], axis=0)
    outcome = Outcome("plant", 7.0, robot.joint_names[::-1], found[::-1], np.zeros(7))
    velocities = contact_velocities(impact, contact, robot, outcome)
    np.testing.assert_allclose(velocities.before, jacobian @ before, atol=1e-12)
    np.testing.assert_allclose(velocities.after, jacobian @ after, atol=1e-12)
    np.testing.assert_allclose(velocities.estimated, jacobian @ found, atol=1e-12)
    np.testing.assert_allclose(velocities.covariance, jacobian @ root @ root.T @ jacobian.T, atol=1e-10)
    scene = SceneMarkers(LOOK, robot=robot)
    scene.add_impact(replace(impact, contacts=(contact,)))
    scene.add_outcome(outcome)
    markers = {m.namespace: m for m in scene.take_changes()["at_impact"]}
    foot, along = arrow(markers["at_impact/velocity_estimated"])
    np.testing.assert_allclose(foot, contact.point + [0.02, 0.0, 0.0])
    np.testing.assert_allclose(along, 0.5 * jacobian @ found, atol=1e-12)
    assert markers["at_impact/velocity_estimated"].color == style.ESTIMATED
    spread = markers["at_impact/uncertainty"]
    np.testing.assert_allclose(spread.position, contact.point + 0.5 * jacobian @ after, atol=1e-12)
    variances = np.linalg.eigvalsh(velocities.covariance)
    # Three standard deviations to either side, 0.5 m per m/s.
    np.testing.assert_allclose(sorted(spread.scale), 2.0 * 3.0 * 0.5 * np.sqrt(variances))


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


def test_only_frames_of_the_arm_get_its_prefix():
    robot = RobotModel.from_profile("panda")
    scene = SceneMarkers(robot=robot, frame_prefix="left/")
    assert scene.frame_of(robot.base_frame) == f"left/{robot.base_frame}"
    assert scene.frame_of(robot.tool_frame) == f"left/{robot.tool_frame}"
    assert scene.frame_of("world") == "world"
    assert scene.frame_of("left/world") == "left/world"
    assert SceneMarkers(robot=robot).frame_of(robot.base_frame) == robot.base_frame


def test_the_object_is_drawn_where_it_is():
    scene = SceneMarkers(LOOK, shape=Box((0.1, 0.2, 0.3)))
    assert not scene.add_object("world", 1.0, np.array([1.0, np.nan, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    assert not scene.add_object("world", 1.0, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.01]))
    assert scene.add_object("world", 1.5, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.6, 0.0, 0.8]))
    (box,) = scene.take_changes()["object"]
    assert (box.namespace, box.frame, box.time, box.color) == ("object", "world", 1.5, style.OBJECT)
    assert (box.kind, box.points.shape) == (Kind.LINE_LIST, (24, 3))
    # About y by twice the angle whose sine is 0.6.
    turn = np.array([[0.28, 0.0, 0.96], [0.0, 1.0, 0.0], [-0.96, 0.0, 0.28]])
    own = (box.points - [1.0, 2.0, 3.0]) @ turn
    np.testing.assert_allclose(np.abs(own), np.tile([0.1, 0.2, 0.3], (24, 1)))


@pytest.fixture(scope="module")
def field():
    return make_field(load_task("hit_and_push"), [RobotModel.from_profile("panda")])


def of_field(field, arm=""):
    scene = SceneMarkers(LOOK, arm=arm)
    scene.add_field(field, 2.5)
    return {m.namespace: m for m in scene.take_changes()["field"]}


def test_arrows_of_the_field_before_and_after_the_impact(field):
    markers = of_field(field)
    assert "field/post_field" not in markers
    points = markers["field/ante_field"].points.reshape(7, 7, 6, 3)
    own = field.arms[0]
    starts = points[:, :, 0]
    np.testing.assert_allclose(starts[3, 3], own.impact_position, atol=1e-12)
    np.testing.assert_allclose(starts[6, 0], own.impact_position + [0.3, -0.3, 0.0], atol=1e-12)
    start = starts[5, 2]
    along = 0.12 * field.ante_impact(0).velocity(start)
    np.testing.assert_allclose(points[5, 2, 1], start + along, atol=1e-12)
    # Both strokes of the head end at the tip, and begin to either side of the shaft.
    tip, side = start + along, np.array([-along[1], along[0], 0.0])
    np.testing.assert_allclose(points[5, 2, 2:], [
        tip - 0.3 * along + 0.15 * side, tip, tip - 0.3 * along - 0.15 * side, tip,
    ], atol=1e-12)  # fmt: skip
    goal = markers["object_goal"]
    half = np.asarray(field.object_half_extents)
    np.testing.assert_allclose(np.abs(goal.points - field.goal), np.tile(half, (24, 1)))
    later = of_field(replace(field, event_sequence=1, object_velocity_predicted=True))
    assert not {"field/ante_field", "field/ante_streamline"} & set(later)
    middle = later["field/post_field"].points.reshape(7, 7, 6, 3)[3, 3, 0]
    np.testing.assert_allclose(middle, 0.5 * (np.asarray(field.object_position_at_impact) + field.goal), atol=1e-12)
    assert (goal.frame, goal.time) == (field.frame, 2.5)
    assert later["field/post_field"].color == style.POST_FIELD
    assert markers["field/ante_field"].color == style.ANTE_FIELD


def test_streamlines_lead_to_the_impact_and_to_the_goal(field):
    scene = SceneMarkers(LOOK)
    after = np.array([0.05, -0.2, 0.0])
    scene.add_field(replace(field, object_velocity_predicted=True, object_velocity_after=after), 2.5)
    markers = scene.take_changes()["field"]
    ante = [m for m in markers if m.namespace == "field/ante_streamline"]
    own = field.arms[0]
    along = np.asarray(own.impact_velocity) / np.linalg.norm(own.impact_velocity)
    assert [m.id for m in ante] == [0, 1, 2]
    for line in ante:
        # From 0.3 m in front of the impact to its plane.
        assert (line.points[0] - own.impact_position) @ along == pytest.approx(-0.3)
        assert (line.points[-1] - own.impact_position) @ along == pytest.approx(0.0, abs=0.02)
    (post,) = (m for m in markers if m.namespace == "field/post_streamline")
    np.testing.assert_allclose(post.points[0], field.object_position_at_impact)
    assert np.linalg.norm(post.points[-1] - field.goal) < 0.01


def test_each_of_several_arms_draws_its_own_part():
    both = make_field(load_task("dual_arm_grab"), [RobotModel.from_profile("panda") for _ in range(2)])
    names = [arm.arm for arm in both.arms]
    for number, name in enumerate(names):
        markers = of_field(both, arm=name)
        points = markers[f"{name}/field/ante_field"].points.reshape(7, 7, 6, 3)
        np.testing.assert_allclose(points[3, 3, 0], both.arms[number].impact_position, atol=1e-12)
        # The goal belongs to all and is drawn once.
        assert (f"{name}/object_goal" in markers) == (number == 0)
    everybody = of_field(both, arm="nobody")
    assert {f"nobody/field/{name}/ante_field" for name in names} <= set(everybody)


def test_arms_that_hit_together_show_one_object_that_goes_where_all_of_them_send_it():
    """Each arm alone expects to push the box away: that is said of its speed, and no box is drawn there."""
    task = load_task("dual_arm_grab")
    field = make_field(task, [RobotModel.from_profile("panda") for _ in range(2)])
    field = replace(
        field.after_impact([0.5, 0.1, 0.4], [0.4, -0.05, 0.2]), object_half_extents=np.array([0.1, 0.15, 0.05])
    )
    left, right = (field.arms[number].arm for number in range(2))
    for arm in (left, right):
        scene = SceneMarkers(LOOK, arm=arm)
        scene.add_field(field, 7.0)
        scene.add_impact(IMPACT)
        markers = {m.namespace: m for group in scene.take_changes().values() for m in group}
        objects = {name for name in markers if "/object_" in name} - {f"{arm}/object_goal"}
        assert objects == ({f"{left}/object_{item}" for item in ("before", "after", "text")} if arm == left else set())
        if arm == left:
            before, after = (markers[f"{left}/object_{item}"] for item in ("before", "after"))
            np.testing.assert_allclose(before.points.mean(axis=0), [0.5, 0.1, 0.4], atol=1e-12)
            np.testing.assert_allclose(after.points.mean(axis=0), [0.58, 0.09, 0.44], atol=1e-12)
            assert {before.frame, after.frame} == {field.frame}
            assert markers[f"{left}/object_text"].text == "+200 ms, 0.45 m/s"


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
    silent = SceneMarkers(replace(LOOK, legend=False, joint_chart=False))
    silent.add_impact(IMPACT)
    assert silent.legend({"friction_cone"}) == []
    assert not any("joint_" in marker.namespace for group in silent.take_changes().values() for marker in group)


def test_meanings_have_the_colours_that_documents_name():
    blue, vermilion, green = (0.00, 0.45, 0.70, 1.0), (0.84, 0.37, 0.00, 1.0), (0.00, 0.62, 0.45, 1.0)
    assert (style.BEFORE, style.PREDICTED, style.ESTIMATED) == (blue, vermilion, green)
    by_item = {item: color for item, color, _ in style.LEGEND}
    assert (by_item["velocity_before"], by_item["velocity_after"], by_item["velocity_estimated"]) == (
        blue, vermilion, green,
    )  # fmt: skip


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


def test_each_speed_is_said_in_the_colour_of_its_arrow():
    robot = RobotModel.from_profile("kuka_lwr4")
    before, after, found = (np.linspace(*ends, 7) for ends in ((-0.5, 0.9), (0.7, -0.2), (0.1, 0.4)))
    impact = replace(
        IMPACT, joint_names=robot.joint_names, position=np.linspace(0.3, 1.1, 7), velocity_before=before,
        velocity_after=after, contacts=(replace(CONTACT, frame=robot.tool_frame), CONTACT),
    )  # fmt: skip
    scene = SceneMarkers(LOOK, robot=robot)
    scene.add_impact(impact)
    scene.add_outcome(Outcome("plant", 7.0, robot.joint_names, found, np.zeros(7)))
    texts = {m.id: m for m in scene.take_changes()["at_impact"] if m.namespace.endswith("velocity_text")}
    speeds = contact_velocities(impact, impact.contacts[0], robot, scene.outcome)
    lengths = [float(np.linalg.norm(v)) for v in (speeds.before, speeds.after, speeds.estimated)]
    assert sorted(texts) == [0, 1, 2, 3, 4, 5]
    meanings = ("before", "predicted", "measured")
    assert [texts[row].text for row in range(3)] == [
        f"{meaning} {length:.2f} m/s" for meaning, length in zip(meanings, lengths, strict=True)
    ]
    colors = [style.readable(color) for color in (style.BEFORE, style.PREDICTED, style.ESTIMATED)]
    assert [texts[row].color for row in range(3)] == colors
    assert texts[1].position - texts[0].position == pytest.approx([0.052, 0.0, -0.039])
