"""Poses between frames over time: hand-made trees with known answers, and what is refused."""

import math

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.transform_buffer import (
    HISTORY,
    MOST_FRAMES,
    MOST_SAMPLES,
    FrameError,
    FutureError,
    TransformBuffer,
    checked_pose,
)


def about_z(angle: float, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> pin.SE3:
    return pin.SE3(pin.utils.rotate("z", angle), np.array([x, y, z]))


@pytest.fixture
def lab() -> TransformBuffer:
    """A base 0.3 m from the world's origin, turned by 90 deg; a tilted camera; a conveyor that turns and moves."""
    buffer = TransformBuffer()
    buffer.add("world", "base", 0.0, about_z(math.pi / 2, x=0.3), static=True)
    buffer.add(
        "/world", "/camera", 0.0, pin.SE3(pin.utils.rotate("x", math.pi), np.array([1.0, 0.5, 2.0])), static=True
    )
    buffer.add("world", "belt", 10.0, about_z(0.4, x=1.0), static=False)
    buffer.add("world", "belt", 10.5, about_z(0.8, x=2.0), static=False)
    return buffer


def test_a_point_of_a_camera_that_looks_down_is_seen_from_a_turned_base(lab):
    # Camera (0.2, 0.1, 1.5): world (1.2, 0.4, 0.5); from the base, 0.3 m on and turned by 90 deg: (0.4, -0.9, 0.5).
    found = lab.pose("base", "camera", 12.0).act(np.array([0.2, 0.1, 1.5]))
    np.testing.assert_allclose(found, [0.4, -0.9, 0.5], atol=1e-15)  # rounding
    back = lab.pose("camera", "base", None) * lab.pose("base", "camera", None)
    np.testing.assert_allclose(back.homogeneous, np.eye(4), atol=1e-15)


def test_between_samples_it_is_interpolated(lab):
    quarter = lab.pose("world", "belt", 10.125)
    np.testing.assert_allclose(quarter.translation, [1.25, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(pin.log3(quarter.rotation), [0.0, 0.0, 0.5], atol=1e-12)
    assert lab.pose("world", "belt", 10.0).isApprox(about_z(0.4, x=1.0), 1e-12)


def test_the_shorter_way_round_is_taken():
    buffer = TransformBuffer()
    for time, angle in ((0.0, 3.0), (1.0, -3.0)):
        buffer.add("a", "b", time, about_z(angle), static=False)
    turned = pin.log3(buffer.pose("a", "b", 0.25).rotation)[2]
    assert turned == pytest.approx(3.0 + 0.25 * (2 * math.pi - 6.0))


def test_the_latest_time_is_that_which_all_moving_frames_know(lab):
    lab.add("belt", "box", 10.25, about_z(0.0, y=0.1), static=False)
    pose, time = lab.latest("world", "box")
    assert time == 10.25
    np.testing.assert_allclose(pose.translation, [1.5 - 0.1 * math.sin(0.6), 0.1 * math.cos(0.6), 0.0], atol=1e-12)
    assert lab.latest("base", "camera")[1] == 0.0


@pytest.mark.parametrize(
    ("base", "frame", "time", "kind", "words"),
    [
        ("world", "moon", 10.0, FrameError, "TF has no frame 'moon'"),
        ("moon", "world", 10.0, FrameError, "TF has no frame 'moon'"),
        ("base", "island", 10.0, FrameError, "TF does not connect 'base' and 'island'"),
        ("base", "belt", 9.9, FrameError, "'belt' is known only from 0.1 s after"),
        ("base", "belt", 10.7, FutureError, "'belt' is known only until 0.2 s before"),
        ("base", "loop1", 10.0, FrameError, "stands on itself"),
    ],
)
def test_what_can_t_be_known_is_refused_by_name(lab, base, frame, time, kind, words):
    lab.add("sea", "island", 0.0, pin.SE3.Identity(), static=True)
    lab.add("loop1", "loop2", 0.0, pin.SE3.Identity(), static=True)
    lab.add("loop2", "loop1", 0.0, pin.SE3.Identity(), static=True)
    with pytest.raises(kind, match=words):
        lab.pose(base, frame, time)


def test_a_frames_name_writes_no_line_of_its_own(lab):
    """It comes from the network, and goes to a log, a terminal and diagnostics."""
    name = "a\x1b[2J\n[ERROR] \u202ex"
    lab.add("base", name, 50.0, pin.SE3.Identity(), static=False)
    lab.add(name, "tag", 10.0, pin.SE3.Identity(), static=False)
    with pytest.raises(FrameError) as caught:
        lab.pose("base", "tag", 10.0)
    assert str(caught.value).isprintable() and "a\\x1b[2J [ERROR] \\u202ex" in str(caught.value)


def test_a_frame_below_which_both_are_is_not_asked_for_its_time(lab):
    """Two things on the belt: how the belt moved does not matter, nor that it is not known at that time."""
    for name, y in (("left", 0.2), ("right", -0.3)):
        lab.add("belt", name, 0.0, about_z(0.0, y=y), static=True)
    np.testing.assert_allclose(lab.pose("right", "left", 99.0).translation, [0.0, 0.5, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("parent", "child", "time"),
    [("a", "a", 0.0), ("a", "/a", 0.0), ("", "a", 0.0), ("a", "", 0.0), ("a", "b", math.nan)],
)
def test_transforms_that_can_t_be_are_refused_and_change_nothing(parent, child, time):
    buffer = TransformBuffer()
    with pytest.raises(InvalidInputError, match="transform"):
        buffer.add(parent, child, time, pin.SE3.Identity(), static=False)
    with pytest.raises(FrameError, match="TF has no frame"):
        buffer.pose("a", "b", None)


@pytest.mark.parametrize(
    ("position", "turn"),
    [
        ([math.nan, 0, 0], [0, 0, 0, 1]),
        ([0, 0, 2e6], [0, 0, 0, 1]),
        ([0, 0, 0], [0, 0, 0, 0]),
        ([0, 0, 0], [0, 0, 0, 1.1]),
        ([0, 0, 0], [0, 0, math.inf, 1]),
    ],
)
def test_a_pose_that_is_none_is_refused(position, turn):
    with pytest.raises(InvalidInputError, match="box"):
        checked_pose(position, turn, "box")


def test_a_quaternion_is_x_y_z_w_and_normalised():
    half = 1.005 * math.sin(0.35), 1.005 * math.cos(0.35)
    pose = checked_pose([1, 2, 3], [half[0], 0.0, 0.0, half[1]], "box")
    np.testing.assert_allclose(pin.log3(pose.rotation), [0.7, 0.0, 0.0], atol=1e-12)


def test_memory_is_bounded_and_the_latest_stays():
    buffer = TransformBuffer()
    for step in range(3 * MOST_SAMPLES):
        buffer.add("a", "b", 1e-3 * step, about_z(0.0, x=step), static=False)
    assert len(buffer._moving["b"].samples) <= MOST_SAMPLES + 1
    assert buffer.latest("a", "b")[0].translation[0] == 3 * MOST_SAMPLES - 1
    for number in range(MOST_FRAMES - 1):
        buffer.add("a", f"frame{number}", 0.0, pin.SE3.Identity(), static=True)
    with pytest.raises(InvalidInputError, match="frames at most"):
        buffer.add("a", "one more", 0.0, pin.SE3.Identity(), static=True)
    for parent, child in (("a" * 257, "b"), ("a", "b" * 257)):
        with pytest.raises(InvalidInputError, match="256 characters at most"):
            buffer.add(parent, child, 0.0, pin.SE3.Identity(), static=True)


def test_late_samples_are_put_in_order_and_a_clock_that_went_back_begins_anew():
    buffer = TransformBuffer()
    for time in (100.0, 102.0, 101.0):
        buffer.add("a", "b", time, about_z(0.0, x=time), static=False)
    assert buffer.pose("a", "b", 101.5).translation[0] == pytest.approx(101.5)
    buffer.add("a", "b", 102.0 - HISTORY - 1.0, about_z(0.0, x=-1.0), static=False)
    assert buffer.latest("a", "b")[0].translation[0] == -1.0


def test_a_frame_that_is_put_onto_another_one_was_not_between_both(lab):
    lab.add("base", "belt", 11.0, about_z(0.0, x=7.0), static=False)
    with pytest.raises(FrameError, match="known only from"):
        lab.pose("base", "belt", 10.75)
