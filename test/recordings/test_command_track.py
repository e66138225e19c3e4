"""Recorded commands, and where they step: hand-made courses in tables and bags whose clocks differ."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore

from impact_aware.arrays import Array
from impact_aware.bags.bag import Bag, BagError
from impact_aware.recordings.command_track import CommandTrack, commands_of_bag, commands_of_table
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.tables.joint_table import open_table

STORE = get_typestore(Stores.ROS2_JAZZY)
NAMES = ("shoulder", "elbow", "wrist")
TIMES = 0.002 * np.arange(500) + 3.0
STEP = 3.6231
"""Time of the step, between two commands 2 ms apart."""


def course(times: Array, step: float = -4.5) -> Array:
    """Smooth torques with noise of 0.02 N m, of which the elbow's steps."""
    rng = np.random.default_rng(8)
    smooth = np.array([5.0, -20.0, 1.0]) + np.sin(4.0 * times)[:, None] * [2.0, 6.0, -0.5]
    return np.asarray(smooth + 0.02 * rng.standard_normal((len(times), 3)) + (times > STEP)[:, None] * [0, step, 0])


def test_a_step_is_found_at_its_time_with_joint_and_size() -> None:
    track = CommandTrack(TIMES, course(TIMES), "here")
    step = track.step_near(STEP - 0.01, STEP + 0.01)
    assert step is not None and step.joint == 1
    assert step.time == pytest.approx(STEP, abs=1.1e-3)
    assert step.size == pytest.approx(-4.5, abs=0.15)
    assert track.step_near(STEP + 0.003, STEP + 0.02) is None
    assert track.step_near(STEP - 0.02, STEP - 0.003) is None
    # After the last command the track shows no torques.
    assert track.tells_torques(STEP) and not track.tells_torques(float(TIMES[-1]) + 0.01)


def test_a_smooth_course_a_wrong_value_and_noise_are_no_steps() -> None:
    smooth = course(TIMES, 0.0)
    assert CommandTrack(TIMES, smooth, "here").step_near(3.1, 3.9) is None
    spoilt = smooth.copy()
    spoilt[311, 1] += 30.0
    assert CommandTrack(TIMES, spoilt, "here").step_near(3.1, 3.9) is None
    rough = smooth + np.random.default_rng(1).normal(0.0, 3.0, smooth.shape)
    assert CommandTrack(TIMES, rough, "here").step_near(3.1, 3.9) is None
    assert CommandTrack(TIMES[:8], course(TIMES)[:8], "here").step_near(3.0, 3.1) is None


@pytest.mark.parametrize("rate", [1000.0, 500.0])
def test_a_step_that_a_limit_of_the_rate_spreads_is_one_from_where_it_begins(rate: float) -> None:
    """The elbow's torque falls by 24 N m at 1000 N m/s, as a controller ends."""
    times = np.arange(3.0, 4.0, 1.0 / rate)
    values = course(times, 0.0)
    values[:, 1] -= 1000.0 * np.clip(times - STEP, 0.0, 0.024)
    track = CommandTrack(times, values, "here")
    step = track.step_near(STEP - 0.01, STEP + 0.01)
    assert step is not None and step.joint == 1 and step.time == pytest.approx(STEP, abs=1.01 / rate)
    # The rest of the course moves on meanwhile.
    assert step.size == pytest.approx(-24.0, abs=0.8)
    # Where it goes on nothing begins.
    assert track.step_near(STEP + 0.005, STEP + 0.015) is None
    # A change as large and as quick that begins and ends softly is a motion.
    soft = course(times, 0.0)
    soft[:, 1] -= 24.0 * np.sin(0.5 * np.pi * np.clip((times - STEP) / 0.048, 0.0, 1.0)) ** 2
    assert CommandTrack(times, soft, "here").step_near(STEP - 0.01, STEP + 0.05) is None


@pytest.mark.parametrize(("size", "found"), [(0.2, False), (-3.0, True)])
def test_a_clear_step_that_moves_nothing_is_none(size: float, found: bool) -> None:
    """Without noise, of a joint whose command spans 4 N m there; and of one that spans little beside the others."""
    values = course(TIMES, 0.0) - 0.02 * np.random.default_rng(8).standard_normal((500, 3))
    own = values + (STEP < TIMES)[:, None] * [0.0, size, 0.0]
    assert (CommandTrack(TIMES, own, "here").step_near(STEP - 0.01, STEP + 0.01) is not None) == found
    wrist = np.column_stack((values[:, :2], 0.01 * size * (STEP < TIMES)))
    assert CommandTrack(TIMES, wrist, "here").step_near(STEP - 0.01, STEP + 0.01) is None


@pytest.mark.parametrize("period", [0.002, 0.005])
def test_a_command_that_swings_with_the_joints_has_no_step_but_one_on_top_is_found(period: float) -> None:
    """A hit at 3.52 s starts an oscillation at 45 Hz that the controller feeds back; at 3.6231 s it brakes by 8 N m."""
    times = np.arange(3.0, 4.0, period)
    since = np.maximum(times - 3.52, 0.0)
    swing = np.exp(-0.1 * 283.0 * since) * np.sin(283.0 * since)
    values = 0.02 * course(times, 0.0) + swing[:, None] * [2.0, 6.0, -1.0]
    rung = CommandTrack(times, values, "here")
    assert all(rung.step_near(begin, begin + 0.03) is None for begin in np.arange(3.545, 3.8, 0.01))
    braked = CommandTrack(times, values + (times > STEP)[:, None] * [0.0, 8.0, 0.0], "here")
    step = braked.step_near(STEP - 0.02, STEP + 0.01)
    assert step is not None and step.joint == 1 and abs(step.time - STEP) <= 0.5 * period + 1e-9
    assert step.size == pytest.approx(8.0, abs=1.5)


def test_commands_that_are_held_over_samples_step_when_they_do() -> None:
    """Recorded at 500 Hz, commanded at 50 Hz: each command stands for ten samples, by small steps."""
    held = course(TIMES)[np.arange(500) // 10 * 10]
    step = CommandTrack(TIMES, held, "here").step_near(STEP - 0.02, STEP + 0.02)
    assert step is not None and step.joint == 1 and abs(step.time - STEP) < 0.02


@pytest.mark.parametrize("columns", ["tau_d", "command", "tau_cmd"])
def test_columns_of_commands_are_no_torques(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "t.csv"
    commands, torques = course(TIMES), course(TIMES, 0.0)
    head = [f"q{i}" for i in (1, 2, 3)] + [f"{columns}{i}" for i in (1, 2, 3)] + [f"tau{i}" for i in (1, 2, 3)]
    rows = np.column_stack((1e3 * TIMES, 0.1 * torques, commands, torques))
    path.write_text("\n".join([",".join(["time_ms", *head]), *(",".join(f"{v:.9g}" for v in row) for row in rows)]))
    table = open_table(path)
    (batch,) = table.pieces()
    assert batch.efforts is not None
    np.testing.assert_allclose(batch.efforts, torques, rtol=1e-6)
    track = commands_of_table(table)
    assert track is not None and columns in track.source
    np.testing.assert_allclose(track.values, commands, rtol=1e-6)
    np.testing.assert_allclose(track.times, TIMES, rtol=1e-8)


def test_a_table_without_commands_has_no_track(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", time=TIMES, q=course(TIMES), tau=course(TIMES))
    assert commands_of_table(open_table(tmp_path / "t.npz")) is None


def bag_of(path: Path, topic: str, kind: str, make: Callable[[float, Array], Any], late: float) -> Path:
    """Joint states with stamps, and commands; both recorded `late` seconds after their stamps, as on another clock."""
    types = STORE.types
    header, stamp = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]
    states = "sensor_msgs/msg/JointState"
    with Writer(path, version=9) as writer:
        first = writer.add_connection("/arm/joint_states", states, typestore=STORE)
        second = writer.add_connection(topic, kind, typestore=STORE)
        for time, command in zip(TIMES, course(TIMES), strict=True):
            whole = round(1e9 * time)
            own = header(stamp=stamp(sec=whole // 10**9, nanosec=whole % 10**9), frame_id="")
            nothing = np.zeros(0)
            state = types[states](
                header=own, name=list(NAMES), position=0.1 * command, velocity=nothing, effort=nothing
            )
            received = round(1e9 * (time + late))
            writer.write(first, received, STORE.serialize_cdr(state, states))
            writer.write(second, received, STORE.serialize_cdr(make(time, command), kind))
    return path


def array(_: float, command: Array) -> Any:
    types = STORE.types
    layout = types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
    return types["std_msgs/msg/Float64MultiArray"](layout=layout, data=command)


def state_of(time: float, command: Array) -> Any:
    """In another order of joints, as a broadcaster may have it."""
    types, whole = STORE.types, round(1e9 * time)
    stamp = types["builtin_interfaces/msg/Time"](sec=whole // 10**9, nanosec=whole % 10**9)
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="")
    names, nothing = ["wrist", "shoulder", "elbow"], np.zeros(0)
    values = command[[2, 0, 1]]
    return types["sensor_msgs/msg/JointState"](
        header=header, name=names, position=nothing, velocity=nothing, effort=values
    )


@pytest.mark.parametrize(
    ("topic", "kind", "make", "asked"),
    [
        ("/arm/effort_controller/commands", "std_msgs/msg/Float64MultiArray", array, None),
        ("/arm/desired", "sensor_msgs/msg/JointState", state_of, "desired"),
    ],
)
def test_commands_of_a_bag_are_on_the_clock_of_the_joints(
    tmp_path: Path, topic: str, kind: str, make: Callable[[float, Array], Any], asked: str | None
) -> None:
    with Bag(bag_of(tmp_path / "bag", topic, kind, make, 17.25)) as bag:
        track = commands_of_bag(bag, "/arm/joint_states", NAMES, [3.7, STEP], asked)
        assert track is not None and track.source == topic and track.unit == "N m"
        step = track.step_near(STEP - 0.01, STEP + 0.01)
        assert step is not None and step.joint == 1 and step.time == pytest.approx(STEP, abs=1.1e-3)
        # Only what is about the events is read.
        assert track.times[0] == pytest.approx(STEP - 0.15, abs=3e-3)
        assert track.times[-1] == pytest.approx(3.85, abs=3e-3)
        assert commands_of_bag(bag, "/arm/joint_states", NAMES[:2], [STEP]) is None
        assert commands_of_bag(bag, "/other/joint_states", NAMES, [STEP]) is None if asked is None else True


def test_a_table_with_commands_only_has_no_torques(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    head = ["time", *(f"q{i}" for i in (1, 2, 3)), *(f"tau_cmd_{name}" for name in NAMES)]
    rows = np.column_stack((TIMES, 0.1 * course(TIMES), course(TIMES)))
    path.write_text("\n".join([",".join(head), *(",".join(f"{v:.9g}" for v in row) for row in rows)]))
    table = open_table(path)
    (batch,) = table.pieces()
    assert batch.efforts is None and len(table.columns["command"]) == 3


def test_commands_that_come_as_joint_states_are_no_arm(tmp_path: Path) -> None:
    path = bag_of(tmp_path / "bag", "/arm/desired", "sensor_msgs/msg/JointState", state_of, 0.0)
    with pytest.raises(BagError, match="0 topics are named nothing"):
        analyze([path], AnalysisOptions(command_topic="nothing"))
    analysis = analyze([path], AnalysisOptions(command_topic="desired"))
    assert [arm.topic for arm in analysis.arms] == ["/arm/joint_states"]
