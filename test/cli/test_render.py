"""`impact-aware render`: a picture of a recording at one time, and one clear line for what can't be drawn."""

import json
import sys
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from recorded_bag import write_messages
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg

from impact_aware.bags.bag import Bag
from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.cli.main import main
from impact_aware.contact import Contact
from impact_aware.contact.box import homogeneous_box
from impact_aware.impact import predict
from impact_aware.messages.impact_prediction import impact_to_message, predicted_impact
from impact_aware.messages.reference_field import field_to_message
from impact_aware.messages.stamps import write_stamp
from impact_aware.render import movie, read_scene, rerun_file
from impact_aware.render.recorded_robot import recorded_robot
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

MESSAGES = Path(__file__).resolve().parents[2] / "msg" / "msg"
IMPACT, BEGIN, END = 1.5, 1.0, 2.0
HALF = np.array([0.1, 0.065, 0.1])


TYPES, blank = annotation_types(), RECORDED.new
for name in {"ArmReference", "ReferenceField"} - {kind.rpartition("/")[2] for kind in TYPES.types}:
    TYPES.register(get_types_from_msg((MESSAGES / f"{name}.msg").read_text(), f"impact_aware_msgs/msg/{name}"))


def state(time: float, names: Any, position: Any, velocity: Any = ()) -> Any:
    """Joint states as of a recording."""
    message = blank("sensor_msgs/msg/JointState")
    write_stamp(message.header.stamp, time)
    message.name, message.position, message.velocity = list(names), np.array(position), np.array(velocity, dtype=float)
    return message


def write_recording(path: Path, namespaces: tuple[str, ...] = ("",), bases: tuple[str, ...] = ()) -> Path:
    """A Panda that hits a box at 1.5 s and goes on with the predicted velocity, sampled at 1 kHz."""
    panda = RobotModel.from_profile("panda")
    velocity = np.array([0.1, -0.25, -0.9, -0.3, 0.5, 0.15, -1.3])
    contact = Contact(frame=panda.tool_frame, normal=np.array([0.0, 1.0, 0.0]), friction=0.3, radius=0.03)
    tip = panda.placement(panda.home).translation - [0.0, 0.03, 0.0]
    box = homogeneous_box(2.2, HALF, tip - [0.0, HALF[1], 0.0])
    found = predict(panda, panda.home, velocity, contact, obstacle=box)
    about = {"time": IMPACT, "frame": "panda_link0", "joint_names": panda.joint_names, "position": panda.home}
    impact = predicted_impact(found, source="at_impact", object_name="box", **about)
    event = blank("impact_aware_msgs/msg/ImpactEvent")
    write_stamp(event.header.stamp, IMPACT)
    event.sequence = 1
    messages = []
    for number, name in enumerate(bases, start=1):
        transform = blank("geometry_msgs/msg/TransformStamped")
        transform.header.frame_id, transform.child_frame_id = "world", f"{name}/base"
        transform.transform.translation.y, transform.transform.rotation.w = float(number), 1.0
        placed = blank("tf2_msgs/msg/TFMessage")
        placed.transforms = [transform]
        messages.append(("/tf_static", BEGIN, placed))
    for namespace in namespaces:
        for time in BEGIN + 1e-3 * np.arange(round(1000 * (END - BEGIN)) + 1):
            speeds = velocity if time < IMPACT else found.velocity_after
            position = panda.home + (time - IMPACT) * speeds
            messages.append((f"{namespace}/joint_states", time, state(time, panda.joint_names, position, speeds)))
        messages.append((f"{namespace}/impacts", IMPACT + 0.002, event))
        messages.append((f"{namespace}/predicted_jumps", IMPACT + 0.003, impact_to_message(impact, RECORDED)))
    return write_messages(path, messages, TYPES)


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return write_recording(tmp_path_factory.mktemp("hit") / "bag")


@pytest.mark.slow
def test_the_first_impact_is_drawn_when_no_time_is_given(recording, tmp_path, command):
    path = tmp_path / "hit.png"
    status, said, _ = command("render", str(recording), "--out", str(path), "--json")
    assert status == 0
    result = json.loads(said)
    assert result["file"] == str(path)
    assert result["time"] == pytest.approx(IMPACT, abs=1e-9)
    (arm,) = result["arms"]
    assert arm["robot"] == "panda"
    assert arm["impact"]["velocity_after_from"] == "estimate"
    # The recording goes on with the predicted velocity: a parabola through exact positions returns it.
    np.testing.assert_allclose(arm["impact"]["velocity_after"], arm["impact"]["velocity_after_predicted"], atol=1e-6)
    image = np.asarray(Image.open(path).convert("RGB"))
    assert image.shape[:2] == (800, 1300)
    assert path.stat().st_size < 400_000
    # Robot, before, predicted, impulse: each colour of the scene is there in more than a few pixels.
    for color in ((0, 115, 178), (214, 94, 0), (204, 38, 128)):
        assert np.count_nonzero(np.abs(image.astype(int) - color).max(axis=-1) < 40) > 100


def test_the_field_is_the_latest_one_before_the_picture(tmp_path):
    """Stamps decide, not the order of recording."""
    field = make_field(load_task("hit_and_push"), [RobotModel.from_profile("panda")])
    messages = [("/joint_states", time, state(time, ["a"], [time])) for time in (1.0, 2.0)]
    for received, (revision, time) in enumerate([(1, 1.1), (3, 1.5), (2, 1.3), (4, 1.8)]):
        message = field_to_message(replace(field, revision=revision), time, RECORDED)
        messages.append(("/reference_field", 1.0 + 1e-9 * received, message))
    write_messages(tmp_path / "bag", messages, TYPES)
    with Bag(tmp_path / "bag") as bag:
        shown = [read_scene(bag, time=time).arms[0].scene.field for time in (1.05, 1.2, 1.6, 2.0)]
    assert [None if field is None else field.revision for field in shown] == [None, 1, 3, 4]


def test_before_the_impact_nothing_of_it_is_shown(recording):
    with Bag(recording) as bag:
        scene = read_scene(bag, time=1.2)
    assert scene.arms[0].scene.impact is None
    assert scene.impact_times == pytest.approx((IMPACT,))


def test_a_time_may_count_from_the_beginning_of_the_recording(recording):
    with Bag(recording) as bag:
        assert read_scene(bag, time=1.2).time == 1.2
        # The recording began at 1 s, so that it knows no 0.2 s but that since its beginning.
        assert read_scene(bag, time=0.2).time == pytest.approx(BEGIN + 0.2)


def test_a_robot_is_known_by_its_joints_also_beside_a_gripper_s(recording):
    names = RobotModel.from_profile("panda").joint_names
    with Bag(recording) as bag:
        assert recorded_robot(bag, "", [*names, "finger"])[0].name == "panda"
        assert recorded_robot(bag, "", names[:6])[0] is None


def test_the_robot_stands_where_the_states_around_the_time_say(recording):
    with Bag(recording) as bag:
        before, between, after = (read_scene(bag, time=time).arms[0].q for time in (1.2, 1.2004, 1.201))
    np.testing.assert_allclose(between, before + 0.4 * (after - before), atol=1e-9)


def test_a_picture_that_is_there_is_not_replaced_unless_forced(recording, tmp_path, command):
    path = tmp_path / "hit.png"
    path.write_text("mine")
    status, _, error = command("render", str(recording), "--out", str(path))
    assert status == 2 and "--force" in error and error.count("\n") == 1
    assert path.read_text() == "mine"
    assert command("render", str(recording), "--out", str(path), "--force", "--view", "top", "--time", "1.1")[0] == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_gif_shows_the_time_around_the_impact_and_ends_with_the_recording(recording, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(movie, "FRAMES", 3)
    path = tmp_path / "hit.gif"
    assert main(["render", str(recording), "--out", str(path)]) == 0
    with Image.open(path) as animation:
        assert (animation.n_frames, animation.info["loop"], animation.width) == (3, 0, movie.WIDTH)
        frames = []
        for place in range(3):
            animation.seek(place)
            assert animation.info["duration"] == round(1e3 * movie.FRAME_TIME)
            frames.append(np.asarray(animation.convert("RGB"), dtype=float))
    # The arm moves on, and the impact appears.
    assert all(np.abs(later - earlier).mean() > 1.0 for earlier, later in pairwise(frames))
    assert main(["render", str(recording), "--out", str(path)]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["render", str(recording), "--out", str(path), "--force", "--time", str(END)]) == 0


@pytest.mark.slow
def test_a_rerun_file_has_scene_velocities_and_impact_on_one_timeline(recording, tmp_path, command, monkeypatch):
    chunk = pytest.importorskip("rerun.chunk")
    monkeypatch.setattr(rerun_file, "FRAMES", 3)
    path = tmp_path / "hit.rrd"
    status, _, error = command("render", str(recording), "--out", str(path))
    assert status == 0, error
    rows = Counter()
    for part in chunk.RrdReader(path).store().stream():
        rows[part.entity_path] += part.num_rows
    assert rows["/impacts"] == 1 and rows["/scene/robot"] == 3
    assert [name for name in rows if name.endswith("/at_impact/velocity_after/0")], sorted(rows)
    moving = {name: count for name, count in rows.items() if name.startswith("/velocity/joint_states/panda_joint")}
    assert len(moving) == 7 and set(moving.values()) == {round(1000 * (movie.BEFORE + movie.AFTER)) + 1}


def test_a_rerun_file_without_rerun_names_what_to_install(recording, tmp_path, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "rerun", None)
    path = tmp_path / "hit.rrd"
    status, _, error = command("render", str(recording), "--out", str(path))
    assert status == 2 and "pip install 'impact_aware[rerun]'" in error and error.count("\n") == 1
    assert not path.exists()


def test_a_folder_gets_a_picture_with_the_recordings_name(recording, tmp_path, command):
    (tmp_path / "run.2").mkdir()
    other = f"impacts at other times: {IMPACT:.4f} s"
    for folder, time, others in (("new", "1.0", [other]), ("run.2", str(IMPACT), [])):
        status, said, _ = command("render", str(recording), "--out", str(tmp_path / folder), "--time", time)
        assert status == 0
        assert (tmp_path / folder / f"{recording.parent.name}.png").is_file(), said
        assert [line for line in said.splitlines() if "other times" in line] == others


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--time", "9"), "--time: got 9 s, expected a time of the recording, 1.000 to 2.000 s"),
        (("--time", "nan"), "--time: got 'nan'"),
        (("--view", "inside"), "--view: got 'inside', expected one of iso, front"),
        (("--view", "0,90.5"), "--view: got '0,90.5', expected an elevation"),
        (("--robot", "pandaa"), "robot: got 'pandaa', expected one of"),
        (("--robot", "kuka_lwr4"), "--robot: got kuka_lwr4 with joints such as"),
        (("--out", "picture.jpg"), "--out: got picture.jpg, expected a .png, .gif or .rrd file, or a folder"),
    ],
)
def test_what_can_not_be_drawn_is_one_clear_line(recording, tmp_path, monkeypatch, command, words, message):
    monkeypatch.chdir(tmp_path)
    status, _, error = command("render", str(recording), *words)
    assert status == 2
    assert message in error and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_recordings_without_states_or_impacts_say_so(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with Writer(tmp_path / "empty", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.add_connection("/rosout", "std_msgs/msg/String", typestore=TYPES)
    status, _, error = command("render", str(tmp_path / "empty"))
    assert status == 2 and "no joint states in it; there are /rosout" in error
    write_messages(tmp_path / "quiet", [("/joint_states", 1.0, state(1.0, "ab", [0.0, 0.0]))])
    status, _, error = command("render", str(tmp_path / "quiet"))
    assert status == 2 and "no impact is recorded; choose a --time from 1.000 to 1.000 s" in error
    # A robot that nobody knows is left out, and that is said.
    status, said, _ = command("render", str(tmp_path / "quiet"), "--time", "1.0", "--out", str(tmp_path / "q.png"))
    assert status == 0 and "robot    unknown" in said


@pytest.mark.slow
def test_two_arms_are_drawn_side_by_side(tmp_path, command):
    bag = write_recording(tmp_path / "bag", ("/left", "/right"), bases=("left", "right"))
    status, said, _ = command("render", str(bag), "--out", str(tmp_path / "two.png"), "--json")
    assert status == 0
    assert [arm["arm"] for arm in json.loads(said)["arms"]] == ["left", "right"]
    with Bag(bag) as opened:
        assert [arm.base.translation.tolist() for arm in read_scene(opened).arms] == [[0, 1, 0], [0, 2, 0]]
