"""Two arms on tilted bases that hit one object at once, recorded: predicted together, each in its own base frame."""

import dataclasses

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg

from impact_aware.bags.bag import Bag
from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.contact import Contact, contact_jacobian
from impact_aware.errors import InvalidInputError
from impact_aware.impact.hit import not_unique
from impact_aware.messages.reference_field import TYPE as FIELD
from impact_aware.messages.reference_field import field_to_message
from impact_aware.messages.stamps import write_stamp
from impact_aware.recordings import common_impacts, surroundings
from impact_aware.recordings.common_impacts import RecordedTask, recorded_bases
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.object_track import track_of_bag
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.report.result_files import impact_to_json
from impact_aware.report.view import impact_view
from impact_aware.resources import find_resource
from impact_aware.task import base_placement, load_task, make_field, start_posture
from impact_aware.task.arms import robots_of_task
from impact_aware.task.grasp import predict_grasp_impact
from impact_aware.task.make_field import joint_velocity_of_tool

STORE = annotation_types()
for _name in ("ArmReference", "ReferenceField"):
    if f"impact_aware_msgs/msg/{_name}" not in STORE.types:
        _path = find_resource("config").parent / "msg" / "msg" / f"{_name}.msg"
        STORE.register(get_types_from_msg(_path.read_text(), f"impact_aware_msgs/msg/{_name}"))
STATE, POSE = "sensor_msgs/msg/JointState", "geometry_msgs/msg/PoseStamped"
TASK = load_task("dual_arm_grab_tilted")
ROBOTS = robots_of_task(TASK)
IMPACT, MASS = 0.6004, 1.9
# The box stands 4 mm off, and is lighter than in the task's file: so the field has it.
FIELD_NOW = dataclasses.replace(
    make_field(TASK, ROBOTS), object_position=np.array([0.553, 0.0, 0.402]), object_mass=MASS
)


def states(task=TASK, robots=ROBOTS, field=FIELD_NOW):
    """Joint positions and velocities of the arms at their impact positions, the tools not quite as the field wants."""
    aside = ([0.06, 0.0, 0.03], [-0.03, 0.02, -0.05])
    q = [start_posture(arm, r, own.impact_position) for arm, r, own in zip(task.arms, robots, field.arms, strict=True)]
    dq = [
        joint_velocity_of_tool(arm, robot, own, np.array(arm.impact_velocity) + change)
        for arm, robot, own, change in zip(task.arms, robots, q, aside, strict=False)
    ]
    return q, dq


def pose_message(time, frame, place):
    message = RECORDED.new(POSE)
    write_stamp(message.header.stamp, time)
    message.header.frame_id = frame
    message.pose.position.x, message.pose.position.y, message.pose.position.z = map(float, place)
    message.pose.orientation.w = 1.0
    return message


def write_bag(path, after, *, lag=0.0, task=TASK.name, poses=(), of=(TASK, ROBOTS, FIELD_NOW)):
    """All arms move evenly, and their velocities jump once, the right one's `lag`, s, after the left one's."""
    scene, robots, now = of
    q, dq = states(*of)
    field = dataclasses.replace(now, task=task)
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:

        def put(connection, time, message, kind):
            writer.write(connection, round(time * 1e9), bytes(STORE.serialize_cdr(message, kind)))

        fields = writer.add_connection("/reference_field", FIELD, typestore=STORE)
        put(fields, 0.1, field_to_message(field, 0.1, RECORDED), FIELD)
        later = dataclasses.replace(field, object_mass=7.0, event_sequence=1)
        put(fields, 0.602, field_to_message(later, 0.602, RECORDED), FIELD)
        for arm, robot, position, before, late in zip(scene.arms, robots, q, dq, (0.0, lag), strict=False):
            name = f"/{arm.name}/joint_states".replace("//", "/")
            topic = writer.add_connection(name, STATE, typestore=STORE)
            for time in np.arange(0.001, 1.2, 0.001):
                since = time - IMPACT - late
                moved = position + before * since + (after[arm.name] - before) * max(since, 0.0)
                message = RECORDED.new(STATE)
                write_stamp(message.header.stamp, float(time))
                message.name, message.position = list(robot.joint_names), np.round(moved / 1e-5) * 1e-5
                put(topic, time, message, STATE)
        for name, frame, place in poses:
            topic = writer.add_connection(name, POSE, typestore=STORE)
            for time in np.arange(0.1, 1.1, 0.01):
                put(topic, time, pose_message(float(time), frame, place), POSE)
    return path


@pytest.fixture(scope="module")
def truth():
    return predict_grasp_impact(TASK, ROBOTS, FIELD_NOW, *states())


@pytest.fixture(scope="module")
def found(truth, tmp_path_factory):
    bag = write_bag(tmp_path_factory.mktemp("bags") / "bag", truth.velocity_after)
    return {arm.arm: arm for arm in analyze([bag], AnalysisOptions(robot="panda")).arms}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "other"), [("left", "right"), ("right", "left")])
def test_both_palms_are_predicted_at_once(found, truth, name, other):
    (impact,) = found[name].impacts
    assert (impact.common.arms, impact.common.task) == ((other,), TASK.name)
    np.testing.assert_allclose(impact.velocity_after_predicted, truth.velocity_after[name], atol=0.01)
    assert impact.verdict.error < 0.03 * impact.reference.jump_size
    assert np.isfinite(impact.prediction_std).all() and 0.0 < impact.prediction_std.max() < 0.02
    index = [arm.name for arm in TASK.arms].index(name)
    to_base = base_placement(TASK.arms[index]).rotation.T
    impulse = truth.impulse[4 * index : 4 * index + 4].sum(axis=0)
    np.testing.assert_allclose(impact.common.contact.impulse, to_base @ impulse, atol=0.02)
    object_after = to_base @ truth.velocity_after[TASK.object.name][:3]
    np.testing.assert_allclose(impact.common.object_velocity_after, object_after, atol=0.01)
    written = impact_to_json(impact)
    assert written["common"]["arms"] == [other]
    np.testing.assert_allclose(written["velocity_after_predicted"], impact.common.velocity_after)


def test_the_ablation_is_that_of_both_arms(found):
    for arm in found.values():
        rows = {(row.inertia, row.friction): row.relative_error for row in arm.impacts[0].ablation}
        assert len(rows) == 6
        best = min(rows, key=rows.get)
        assert best == ("M+B_theta", TASK.object.friction_tool)
        assert all(error > 2.0 * rows[best] for key, error in rows.items() if key != best)


@pytest.mark.slow
def test_a_common_prediction_that_is_not_unique_has_a_note(truth, tmp_path, monkeypatch):
    bag = write_bag(tmp_path / "bag", truth.velocity_after)
    several = {"unique": False, "energy_loss": 0.5, "other_energy_losses": ()}
    monkeypatch.setattr(common_impacts, "predict_grasp_impact", lambda *_, **__: truth._replace(**several))
    for arm in analyze([bag], AnalysisOptions(robot="panda", ablation=False)).arms:
        assert not_unique(0.5, ()) in arm.impacts[0].notes


@pytest.mark.slow
def test_options_count_more_than_the_task(truth, tmp_path):
    bag = write_bag(tmp_path / "bag", truth.velocity_after)
    options = AnalysisOptions(robot="panda", friction=0.1, restitution=0.25, object_mass=3.5, ablation=False)
    for arm in analyze([bag], options).arms:
        common = arm.impacts[0].common
        assert (common.contact.friction, common.contact.restitution) == (0.1, 0.25)
    thing = dataclasses.replace(TASK.object, friction_tool=0.1, restitution=0.25)
    task = dataclasses.replace(TASK, object=thing)
    expected = predict_grasp_impact(task, ROBOTS, dataclasses.replace(FIELD_NOW, object_mass=3.5), *states())
    np.testing.assert_allclose(common.velocity_after, expected.velocity_after["right"], atol=0.01)


@pytest.mark.slow
def test_arms_that_hit_one_after_the_other_are_not_predicted_together(truth, tmp_path):
    bag = write_bag(tmp_path / "bag", truth.velocity_after, lag=0.008)
    assert all(arm.impacts[0].common is None for arm in analyze([bag], AnalysisOptions(robot="panda")).arms)


@pytest.mark.slow
def test_a_task_that_nobody_knows_is_said(truth, tmp_path):
    bag = write_bag(tmp_path / "bag", truth.velocity_after, task="juggling")
    analysis = analyze([bag], AnalysisOptions(robot="panda"))
    assert all(arm.impacts[0].common is None for arm in analysis.arms)
    (note,) = (note for note in analysis.notes if "juggling" in note)
    assert note.startswith("bag: its task juggling is none of dual_arm_grab,")
    assert note.endswith("one by one; --task takes its file")
    own = AnalysisOptions(robot="panda", task=TASK.name, ablation=False)
    for arm in analyze([bag], own).arms:
        np.testing.assert_allclose(arm.impacts[0].velocity_after_predicted, truth.velocity_after[arm.arm], atol=0.01)
    with pytest.raises(InvalidInputError, match="task: got hit_and_push, expected a task for the arms .* left, right"):
        analyze([bag], dataclasses.replace(own, task="hit_and_push"))


@pytest.mark.slow
def test_the_bases_are_those_that_were_recorded(truth, tmp_path):
    """The task of that name has them straight; nothing else differs."""
    bag = write_bag(tmp_path / "bag", truth.velocity_after, task="dual_arm_grab")
    for arm in analyze([bag], AnalysisOptions(robot="panda", ablation=False)).arms:
        assert arm.impacts[0].common.task == "dual_arm_grab"
        np.testing.assert_allclose(arm.impacts[0].velocity_after_predicted, truth.velocity_after[arm.arm], atol=0.01)


def test_bases_of_a_task_that_nobody_knows_are_those_of_its_field(truth, tmp_path):
    bag = write_bag(tmp_path / "bag", truth.velocity_after, task="juggling")
    with Bag(bag) as recording:
        bases = recorded_bases(recording)
    assert [base.frame for base in bases.values()] == ["world", "world"]
    for arm in TASK.arms:
        assert bases[arm.name].pose.isApprox(base_placement(arm), 1e-12)


@pytest.mark.parametrize("namespace", ["", "cell"])
def test_the_object_of_a_single_arm_is_turned_into_its_base_s_frame(tmp_path, monkeypatch, namespace):
    """A tip hits alone, so that nothing is predicted together; its base is the field's all the same."""
    task = load_task("hit_and_push")
    arm = dataclasses.replace(
        task.arms[0], base_position=(0.0, 0.03, -0.05), base_rpy=(0.15, -0.15, 0.1), null_space_joint=-1
    )
    task = dataclasses.replace(task, arms=(arm,), frame="cell")
    robots = robots_of_task(task)
    field = make_field(task, robots)
    recorded = dataclasses.replace(task, arms=(dataclasses.replace(arm, name=namespace),))
    after = {namespace: np.linspace(-0.4, 0.3, 7)}
    bag = write_bag(
        tmp_path / "bag",
        after,
        of=(recorded, robots, field),
        task=task.name,
        poses=[("/object_pose", "cell", task.object.position)],
    )
    seen = []
    original = surroundings.track_of_bag
    monkeypatch.setattr(surroundings, "track_of_bag", lambda *a, **k: seen.append(original(*a, **k)) or seen[-1])
    analyze([bag], AnalysisOptions(robot="panda", ablation=False))
    place = base_placement(arm).actInv(np.array(task.object.position))
    np.testing.assert_allclose(seen[0].positions[0], place, atol=1e-9)


def test_the_field_before_the_impact_counts():
    fields = tuple(
        (stamp, dataclasses.replace(FIELD_NOW, object_mass=mass)) for stamp, mass in ((1.0, 1.5), (2.0, 2.5))
    )
    after = (3.0, dataclasses.replace(FIELD_NOW, object_mass=9.0, event_sequence=1))
    recorded = RecordedTask(TASK, (*fields, after))
    assert [recorded.field_at(time).object_mass for time in (0.5, 1.5, 2.5, 4.0)] == [1.5, 1.5, 2.5, 2.5]


def test_each_arm_s_object_is_the_one_in_its_own_frame_or_turned_into_it(truth, tmp_path):
    place = np.array([0.5, 0.1, 0.4])
    own = write_bag(
        tmp_path / "own",
        truth.velocity_after,
        poses=[("/object_pose", "world", place), ("/left/object_pose", "panda_link0", [0.3, 0.2, 0.1])],
    )
    bases = RecordedTask(TASK, ((0.0, FIELD_NOW),)).bases
    with Bag(own) as bag:
        left = track_of_bag(bag, None, None, "panda_link0", beside="/left", base=bases["left"])
        right = track_of_bag(bag, None, None, "panda_link0", beside="/right", base=bases["right"])
        unplaced = track_of_bag(bag, None, None, "panda_link0", beside="/right")
    np.testing.assert_allclose(left.positions[0], [0.3, 0.2, 0.1])
    np.testing.assert_allclose(right.positions[0], bases["right"].pose.actInv(place), atol=1e-12)
    np.testing.assert_allclose(right.rotations[0], bases["right"].pose.rotation.T, atol=1e-12)
    np.testing.assert_allclose(unplaced.positions[0], place)


def test_a_palm_alone_is_predicted_with_all_its_corners(tmp_path):
    """With one point of contact the tool would turn about it, which the palm does not."""
    task = load_task("hit_and_push_palm")
    of = (task, robots_of_task(task), make_field(task, robots_of_task(task)))
    after = predict_grasp_impact(*of, *states(*of)).velocity_after
    bag = write_bag(tmp_path / "palm", after, task=task.name, of=of)
    (arm,) = analyze([bag], AnalysisOptions(robot="panda")).arms
    (impact,) = arm.impacts
    assert impact.common is not None and impact.common.arms == () and impact.common.task == "hit_and_push_palm"
    np.testing.assert_allclose(impact.common.velocity_after, after[""], atol=2e-3)
    assert impact.verdict.error < 0.02 and impact.contact_check is None
    touch = impact.common.contact
    contact = Contact(touch.frame, touch.normal, point=touch.point)
    towards = touch.normal @ contact_jacobian(arm.model, impact.position, contact)
    mass = 1.0 / (towards @ np.linalg.inv(arm.model.mass_matrix(impact.position)) @ towards)
    assert impact_to_json(impact)["effective_mass"] == pytest.approx(mass)
    assert impact_view(1, impact, {}).mass == f"{mass:.2f}"
    assert "common" in impact_to_json(impact) and impact_to_json(impact)["common"]["arms"] == []
    # A tip's task has nothing to predict together, and a task of another name is not known: each arm by its own map.
    for name in ("hit_and_push", "somebody_else_s"):
        other = write_bag(tmp_path / name, after, task=name, of=of)
        assert analyze([other], AnalysisOptions(robot="panda")).arms[0].impacts[0].common is None


def test_a_task_counts_for_a_table_and_is_refused_where_it_has_no_effect(tmp_path):
    task = load_task("hit_and_push_palm")
    robots = robots_of_task(task)
    of = (task, robots, make_field(task, robots))
    (q,), (before,) = states(*of)
    after = predict_grasp_impact(*of, [q], [before]).velocity_after[""]
    times = np.arange(0.001, 1.2, 0.001)
    since = (times - IMPACT)[:, None]
    positions = q + before * since + (after - before) * np.maximum(since, 0.0)
    path = tmp_path / "hit.npz"
    np.savez(path, time=times, q=np.round(positions / 1e-5) * 1e-5)
    options = AnalysisOptions(robot="panda", ablation=False)
    (impact,) = analyze([path], dataclasses.replace(options, task=task.name)).impacts
    assert impact.common is not None and impact.assumed == () and impact.untested == ""
    np.testing.assert_allclose(impact.velocity_after_predicted, after, atol=5e-3)
    for given, words in (("hit_and_push", "a task with a palm"), (TASK.name, "a task of one arm")):
        with pytest.raises(InvalidInputError, match=words):
            analyze([path], dataclasses.replace(options, task=given))
    with pytest.raises(InvalidInputError, match="--robot along with it"):
        analyze([path], AnalysisOptions(task=task.name))
