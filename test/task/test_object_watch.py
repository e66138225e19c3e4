"""Which poses of an object are followed, and when a motion may begin by them."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.task.object_watch import ObjectLimits, ObjectWatch

UPRIGHT = np.eye(3)
PLACE = np.array([0.5, -0.1, 0.2])


def watch(**limits: float) -> ObjectWatch:
    return ObjectWatch(dataclasses.replace(ObjectLimits(), **limits))


def show(to: ObjectWatch, count: int, *, speed: float = 0.0, noise: float = 0.0, first: float = 100.0) -> float:
    """So many poses at 50 Hz; returns when the last one came."""
    random = np.random.default_rng(5)
    for step in range(count):
        time = 0.02 * step
        place = PLACE + time * np.array([0.0, 0.6, -0.8]) * speed + noise * random.normal(size=3)
        to.take(first + time, place, UPRIGHT, 1000.0 + time)
    return 1000.0 + 0.02 * (count - 1)


def test_without_any_pose_nothing_is_said():
    assert watch().refusal(5.0) == ""


def test_a_fresh_and_still_object_with_a_camera_s_noise_is_good_enough():
    own = watch()
    now = show(own, 20, noise=5e-4)
    assert own.refusal(now) == ""
    assert own.values(now)["object_pose_rate"] == pytest.approx(50.0)
    assert own.values(now)["object_pose_spread"] == pytest.approx(5e-4 * np.sqrt(3), rel=0.3)


@pytest.mark.parametrize(
    ("given", "late", "words"),
    [
        ({"count": 20}, 0.6, "no new pose of the object for more than 0.5 s"),
        ({"count": 20, "speed": 0.26}, 0.0, "moves, faster than 0.25 m/s"),
        ({"count": 20, "noise": 0.02}, 0.0, "scatter by more than 0.01 m"),
        ({"count": 3}, 0.0, "less than 0.1 s"),
    ],
)
def test_a_bad_one_is_refused_with_the_reason(given, late, words):
    own = watch()
    assert words in own.refusal(show(own, **given) + late)


def test_each_limit_can_be_left_out():
    slow = watch(object_speed_limit=0.0)
    assert slow.refusal(show(slow, 20, speed=0.1)) == ""
    old = watch(object_pose_timeout=0.0)
    assert old.refusal(show(old, 20) + 1e6) == ""
    once = watch(object_pose_timeout=0.0, object_speed_limit=0.0, object_spread_limit=0.0)
    assert once.refusal(show(once, 1) + 1e6) == ""


def test_the_same_stamp_again_is_not_fresh():
    own = watch()
    show(own, 20)
    for step in range(100):
        assert not own.take(100.38, PLACE, UPRIGHT, 1000.4 + 0.02 * step)
    assert "no new pose" in own.refusal(1002.4)


def test_a_jump_is_not_followed_until_others_agree():
    own = watch()
    show(own, 20)
    far = PLACE + np.array([0.0, 0.2, 0.0])
    followed = [own.take(100.4 + 0.02 * step, far, UPRIGHT, 1000.4 + 0.02 * step) for step in range(5)]
    assert followed == [False, False, False, True, True]
    assert own.jumps == 3


def test_a_jump_and_back_is_told_only_while_it_lasts():
    own = watch()
    show(own, 20)
    own.take(100.40, PLACE + 0.3, UPRIGHT, 1000.40)
    assert own.refusal(1000.40) == "the object's pose jumps"
    assert own.take(100.42, PLACE, UPRIGHT, 1000.42)
    assert own.refusal(1000.42) == ""


def test_poses_that_jump_to_and_fro_are_never_followed():
    own = watch()
    show(own, 20)
    places = [PLACE + side * np.array([0.0, 0.4, 0.0]) for side in (1, -1) * 10]
    assert not any(own.take(100.4 + 0.02 * k, place, UPRIGHT, 1000.4) for k, place in enumerate(places))


@pytest.mark.parametrize(("outliers", "refused"), [((3,), False), ((3, 9), True), ((3, 4), True)])
def test_more_than_one_outlier_in_the_last_second_refuses_at_a_low_rate(outliers, refused):
    own = watch()
    for step in range(16):
        off = 0.2 if step in outliers else 0.0
        own.take(100.0 + step / 15.0, PLACE + [off, 0.0, 0.0], UPRIGHT, 1000.0 + step / 15.0)
    assert (own.refusal(1001.0) == "the object's pose jumps") == refused
    for step in range(16, 32):
        own.take(100.0 + step / 15.0, PLACE, UPRIGHT, 1000.0 + step / 15.0)
    assert own.refusal(1002.1) == ""


def test_a_few_outliers_of_many_poses_refuse_nothing():
    own = watch()
    # 5 of 100: no more than a twentieth.
    for step in range(100):
        own.take(100.0 + 0.01 * step, PLACE + [0.15 * (step % 20 == 7), 0.0, 0.0], UPRIGHT, 1000.0 + 0.01 * step)
    assert own.refusal(1001.0) == ""
    own.take(101.0, PLACE + [0.15, 0.0, 0.0], UPRIGHT, 1001.0)
    own.take(101.01, PLACE, UPRIGHT, 1001.01)
    assert own.refusal(1001.01) == "the object's pose jumps"


def test_an_object_that_was_put_elsewhere_is_taken_a_second_later():
    own = watch()
    now = show(own, 20)
    for step in range(1, 60):
        own.take(100.38 + 0.02 * step, PLACE + [0.0, 0.2, 0.0], UPRIGHT, now + 0.02 * step)
        # Three were not followed; the first of them is a second old at the 51st.
        if abs(step - 51) > 1:
            assert bool(own.refusal(now + 0.02 * step)) == (step < 51), step


def test_an_object_that_is_hit_is_followed():
    own = watch()
    show(own, 20)
    assert all(own.take(100.40 + 0.02 * step, PLACE + [0.04 * step, 0.0, 0.0], UPRIGHT, 1000.4) for step in range(20))


def test_a_box_turned_too_far_out_of_the_axes_is_refused():
    def turned(rotation: np.ndarray) -> ObjectWatch:
        own = watch()
        for step in range(20):
            own.take(100.0 + 0.02 * step, PLACE, rotation, 1000.4)
        return own

    assert "turned by 40 deg" in turned(pin.utils.rotate("z", 0.7)).refusal(1000.4)
    assert "turned by 40 deg" in turned(pin.utils.rotate("z", 0.7 + 0.5 * np.pi)).refusal(1000.4)
    kept = turned(pin.utils.rotate("z", -0.5))
    assert kept.refusal(1000.4) == ""
    np.testing.assert_allclose(kept.turn.rotation, pin.utils.rotate("z", -0.5), atol=1e-12)
    assert kept.values(1000.4)["object_turn"] == pytest.approx(0.5)


def test_a_box_that_goes_on_turning_is_refused():
    own = watch()
    for step in range(26):
        own.take(100.0 + 0.02 * step, PLACE, pin.utils.rotate("z", 0.2 + 0.15 * 0.02 * step), 1000.5)
    # 0.15 rad/s between the middles of two halves of 0.25 s.
    assert own.turn.change == pytest.approx(0.15 * 0.25, rel=0.05)
    assert "the object turns, by more than 1.7 deg in 0.25 s" in own.refusal(1000.5)
    slow = watch()
    for step in range(26):
        slow.take(100.0 + 0.02 * step, PLACE, pin.utils.rotate("z", 0.2 + 0.1 * 0.02 * step), 1000.5)
    assert slow.refusal(1000.5) == ""


@pytest.mark.parametrize("noise", [0.0, 5e-4])
def test_an_object_that_moves_steadily_is_good_enough_and_its_velocity_is_known(noise):
    own = watch()
    now = show(own, 26, speed=0.1, noise=noise)
    assert own.refusal(now) == ""
    # 0.5 mm over half a second at 50 Hz: 0.7 mm/s about each axis.
    np.testing.assert_allclose(own.velocity, [0.0, 0.06, -0.08], atol=4.0 * 0.7e-3 * (noise > 0.0) + 1e-12)
    # At the time of the last pose, 0.5 s after the first; on the line, with the noise of the mean.
    np.testing.assert_allclose(own.position, PLACE + 0.5 * own.velocity, atol=1e-3 * (noise > 0.0) + 1e-12)


def test_an_object_at_rest_has_no_velocity_by_its_noise():
    own = watch()
    show(own, 26, noise=2e-3)
    assert not own.velocity.any()
    slow = watch()
    show(slow, 26, speed=0.009)
    assert not slow.velocity.any()


def test_an_object_whose_speed_changes_is_refused():
    """A pendulum near its turning point: 0.3 m/s^2, less two standard deviations by a camera's noise."""
    for acceleration, said in ((0.3, "its speed changes by more than 0.15 m/s^2"), (0.19, "")):
        own, random = watch(), np.random.default_rng(2)
        for step in range(26):
            time = 0.02 * step
            place = PLACE + np.array([0.1 * time + 0.5 * acceleration * time**2, 0.0, 0.0])
            own.take(100.0 + time, place + 5e-4 * random.normal(size=3), UPRIGHT, 1000.0 + time)
        assert said in own.refusal(1000.5) and bool(own.refusal(1000.5)) == bool(said)


def test_a_clock_that_goes_back_begins_anew():
    own = watch()
    show(own, 20)
    assert own.take(3.0, PLACE + 1.0, UPRIGHT, 1001.0)
    assert "less than 0.1 s" in own.refusal(1001.0)
