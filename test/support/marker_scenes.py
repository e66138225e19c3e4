"""Scenes of markers on hand-made data, as they are kept in `test/markers/scenes.txt`; see `looked_at.py`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from impact_aware.contact.box import Box
from impact_aware.markers import Marker, MarkerStyle, SceneMarkers
from impact_aware.records import ContactImpulse, Impact, Outcome
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

KEPT = Path(__file__).resolve().parents[1] / "markers" / "scenes.txt"

LOOK = MarkerStyle(
    velocity_scale=0.5, impulse_scale=0.25, ghost_time=0.2, look_ahead_lifetime=0.7,
    impact_lifetime=3.0, text_height=0.04, deviations=3.0,
    field_count=3,
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


def scene_of(
    *impacts: Impact,
    outcome: Outcome | None = None,
    field: ReferenceField | None = None,
    arm: str = "left",
    robot: RobotModel | None = None,
) -> SceneMarkers:
    """A scene with what was added to it, a box among it."""
    scene = SceneMarkers(LOOK, arm=arm, shape=Box((0.1, 0.15, 0.05)), robot=robot)
    if field is not None:
        scene.add_field(field, 2.5)
    for impact in impacts:
        scene.add_impact(impact)
    if outcome is not None:
        scene.add_outcome(outcome)
    return scene


def contact_at(height: float) -> Impact:
    """The impact with its contact elsewhere."""
    return replace(IMPACT, contacts=(replace(CONTACT, point=np.array([0.3, -0.2, height])),))


def of_known_robot() -> SceneMarkers:
    """A scene whose velocities at the contact are those of a robot's joints, with their spread."""
    robot = RobotModel.from_profile("kuka_lwr4")
    q = np.array([0.3, -0.4, 0.2, 1.1, -0.3, 0.5, 0.1])
    before, after, found = (np.linspace(*ends, 7) for ends in ((-0.5, 0.9), (0.7, -0.2), (0.1, 0.4)))
    root = np.random.default_rng(3).normal(size=(7, 7))
    # Beside the tool, which turns.
    point = robot.placement(q).translation + [0.0, 0.05, 0.02]
    contact = replace(CONTACT, frame=robot.tool_frame, point=point)
    impact = replace(
        IMPACT, joint_names=robot.joint_names, position=q, velocity_before=before, velocity_after=after,
        covariance=root @ root.T, contacts=(contact, CONTACT),
    )  # fmt: skip
    outcome = Outcome("plant", 7.0, robot.joint_names[::-1], found[::-1], np.zeros(7))
    return scene_of(impact, outcome=outcome, robot=robot)


def scenes() -> dict[str, SceneMarkers]:
    """Scenes by name: contacts with all and with little that is known, fields, one arm and two."""
    bare = replace(CONTACT, friction=0.0, effective_mass=0.0, mode="")
    panda = RobotModel.from_profile("panda")
    push = make_field(load_task("hit_and_push"), [panda])
    lift = make_field(load_task("dual_arm_grab"), [panda, panda])
    common = replace(
        lift.after_impact([0.5, 0.1, 0.4], [0.4, -0.05, 0.2]), object_half_extents=np.array([0.1, 0.15, 0.05])
    )
    predicted = {"object_velocity_predicted": True, "object_velocity_after": np.array([0.05, -0.2, 0.0])}
    found = {
        "impact": scene_of(IMPACT),
        "near the floor": scene_of(contact_at(0.24)),
        "less near the floor": scene_of(contact_at(0.31)),
        "impact and outcome": scene_of(IMPACT, outcome=OUTCOME),
        "little known": scene_of(replace(IMPACT, contacts=(bare,), mode_may_change=True)),
        "without object": scene_of(replace(IMPACT, object="")),
        "look-ahead": scene_of(replace(IMPACT, source="look_ahead", time_to_impact=0.125)),
        "known robot": of_known_robot(),
        "field": scene_of(field=push, arm=""),
        "field with a prediction": scene_of(field=replace(push, **predicted), arm=""),
        "field after the impact": scene_of(field=replace(push, event_sequence=1, **predicted), arm=""),
        "field of all arms": scene_of(field=lift, arm="nobody"),
        "common impact, left": scene_of(IMPACT, field=common, arm="left"),
        "common impact, right": scene_of(IMPACT, field=common, arm="right"),
        "object": scene_of(),
    }
    assert found["object"].add_object("world", 1.5, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.6, 0.0, 0.8]))
    return found


def as_text(marker: Marker) -> str:
    """All that a marker has, in one line."""

    def words(values: Iterable[float]) -> str:
        return " ".join(f"{round(float(value), 7) + 0.0:.7g}" for value in np.ravel(values))

    parts = [f"{marker.namespace} {marker.id} {marker.kind.name} {marker.frame} {marker.time:g} {marker.lifetime:g}"]
    parts += [words(values) for values in (marker.color, marker.position, marker.orientation, marker.scale)]
    return " | ".join([*parts, words(marker.points), repr(marker.text)])


def scenes_text() -> str:
    """Markers of all scenes."""
    lines = []
    for name, scene in scenes().items():
        lines += [f"# {name}"]
        lines += [as_text(marker) for group in scene.take_changes().values() for marker in group]
    return "\n".join(lines) + "\n"
