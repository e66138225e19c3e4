"""A base that TF has: taken when it stands still, where the task's numbers have it; else refused in a sentence."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
import yaml

from impact_aware.errors import InvalidInputError
from impact_aware.task import base_placement, load_task
from impact_aware.task.arms import BASE_TOLERANCE, base_numbers, check_frame, placed_on, without_tf
from impact_aware.task.base_watch import FEWEST, BaseWatch
from impact_aware.task.task import ArmTask
from impact_aware.task.task_file import parse_task, task_yaml

RPY, PLACE = (0.35, -0.25, 0.6), (0.1, -0.4, 0.7)
TOLD = ArmTask(name="left", base_in_tf="left_base", base_position=PLACE, base_rpy=RPY)
UNTOLD = ArmTask(name="left", base_in_tf="left_base")
POSE = base_placement(TOLD)


def watch_of(arm=UNTOLD, tolerance=0.01) -> BaseWatch:
    return BaseWatch(arm, "world", tolerance)


def beside(shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)) -> pin.SE3:
    """The base, moved by so much, m, and turned about its own axes, rad."""
    return pin.SE3(POSE.rotation @ pin.exp3(np.array(turn)), POSE.translation + shift)


def test_a_static_base_is_taken_at_once():
    watch = watch_of()
    assert watch.problem == "the base of arm left is not known yet"
    watch.look(POSE, 0.0)
    assert not watch.problem
    arm = watch.placed(UNTOLD)
    assert (arm.base_in_tf, arm.name) == ("", "left")
    np.testing.assert_allclose(base_numbers(arm), [*PLACE, *RPY], atol=1e-14)


def test_numbers_beside_it_are_held_against_tf():
    watch_of(TOLD).look(beside((0.0, 0.006, -0.007)), 0.0)
    for pose, words in (
        (beside((0.006, -0.006, 0.008)), "11.7 mm and 0.00 deg"),
        (beside(turn=(0.0, 0.011, 0.0)), "0.0 mm and 0.63 deg"),
    ):
        watch = watch_of(TOLD)
        watch.look(pose, 0.0)
        assert watch.base is None
        assert watch.problem.startswith(f"the base of arm left stands {words} from where the task has it: TF has ")
        assert watch.problem.endswith(" in 'world', the task [0.1, -0.4, 0.7, 0.35, -0.25, 0.6]")
        with pytest.raises(InvalidInputError, match="base_in_tf: got left_base, expected a base that stands still"):
            watch.placed(TOLD)
    for pose in (beside((0.006, -0.004, 0.005)), beside(turn=(0.0, 0.009, 0.0))):
        watch = watch_of(TOLD)
        watch.look(pose, 0.0)
        # TF has it more exactly.
        assert base_placement(watch.placed(TOLD)).isApprox(pose, 1e-12)
    wide = watch_of(TOLD, 0.02)
    wide.look(beside((0.006, -0.006, 0.008)), 0.0)
    assert not wide.problem
    # Of another task for the same arm the numbers are its own.
    with pytest.raises(InvalidInputError, match="base_position: got .*0.8.*, expected where TF has it: the base"):
        wide.placed(dataclasses.replace(TOLD, base_position=(0.1, -0.4, 0.8)))


def test_a_base_on_tf_must_have_stood_still_for_a_second():
    watch, generator = watch_of(), np.random.default_rng(4)
    for step in range(20):
        shift, turn = 1e-4 * generator.normal(size=(2, 3))
        watch.look(beside(shift, turn), 50.0 + 0.05 * step)
        assert watch.problem == "the base of arm left is on /tf, and was seen for less than 1 s"
        # The same stamp again is no news.
        watch.look(beside((9.0, 0.0, 0.0)), 50.0 + 0.05 * step)
    watch.look(POSE, 51.0)
    assert not watch.problem
    found = base_placement(watch.placed(UNTOLD))
    # The mean of 21: 1e-4 / sqrt(21), and three times that.
    np.testing.assert_allclose(pin.log6(POSE.actInv(found)).vector, np.zeros(6), atol=7e-5)


def test_few_stamps_or_a_clock_that_goes_back_do_not_do():
    watch = watch_of()
    for step in range(FEWEST - 1):
        watch.look(POSE, 1.0 + 0.5 * step)
    assert "less than 1 s" in watch.problem
    for time in (0.4, 0.6, 0.8, 1.0):
        watch.look(POSE, time)
    assert "less than 1 s" in watch.problem
    for time in (1.2, 1.41):
        watch.look(POSE, time)
    assert not watch.problem


@pytest.mark.parametrize(
    ("drift", "words"),
    [((0.0, 0.004, 0.0, 0.0, 0.0, 0.0), "2.0 mm"), ((0.0, 0.0, 0.0, 0.0, 0.0, 0.01), "0.29 deg")],
)
def test_a_base_that_moves_is_refused_until_it_stands(drift, words):
    watch, rate = watch_of(), np.array(drift)
    for step in range(30):
        time = 0.05 * step
        watch.look(beside(rate[:3] * time, rate[3:] * time), 5.0 + time)
    assert watch.base is None
    assert watch.problem.startswith("the base of arm left moves: TF has it up to ")
    assert words in watch.problem
    still = 1.45 * rate
    for step in range(25):
        watch.look(beside(still[:3], still[3:]), 6.5 + 0.05 * step)
    # From there on the poses of the last second differ by less than the tolerance.
    found = base_placement(watch.placed(UNTOLD))
    assert np.abs(pin.log6(beside(still[:3], still[3:]).actInv(found)).vector).max() < BASE_TOLERANCE


@pytest.mark.parametrize("static", [True, False])
def test_a_base_that_is_moved_afterwards_is_said(static):
    watch = watch_of()
    watch.look(POSE, 0.0)

    def look(pose):
        for step in range(25):
            watch.look(pose, 0.0 if static else watch_time + 0.05 * step)

    watch_time = 7.0
    look(beside((0.0, 0.0, 0.0008)))
    assert not watch.problem
    watch.missing("TF does not connect")
    assert not watch.problem
    watch_time = 9.0
    look(beside((0.0, 0.03, 0.04)))
    assert watch.problem == "the base of arm left stands 50.0 mm and 0.00 deg from where it was when the task began"
    assert base_placement(watch.placed(UNTOLD)).isApprox(POSE, 1e-12)
    watch_time = 11.0
    look(POSE)
    assert not watch.problem


def test_what_tf_does_not_know_or_has_far_away_is_said():
    watch = watch_of(dataclasses.replace(UNTOLD, name=""))
    watch.missing("TF has no frame 'left_base'")
    assert watch.problem == "the base is not known: TF has no frame 'left_base'"
    watch.look(pin.SE3(np.eye(3), np.array([40.0, 0.0, 0.0])), 0.0)
    assert "base_position: got 40" in watch.problem and watch.base is None


# The task


def test_without_numbers_nobody_takes_it_for_zero():
    for use in (base_placement, base_numbers, lambda arm: arm.base_angles):
        with pytest.raises(InvalidInputError, match=r"arms\[left\].base_in_tf: got left_base, expected base_position"):
            use(UNTOLD)
    assert base_placement(TOLD).isApprox(POSE)


def task_with(**own):
    task = load_task("hit_and_push")
    return dataclasses.replace(task, arms=(dataclasses.replace(task.arms[0], **own),), frame="cell")


def test_a_task_keeps_the_name_in_its_file_and_loses_it_when_it_is_placed():
    task = task_with(base_in_tf="column/arm")
    again = parse_task(yaml.safe_load(task_yaml(task)))
    assert again.arms[0].base_in_tf == "column/arm"
    placed = dataclasses.replace(task, arms=(placed_on(task.arms[0], POSE),))
    assert "base_in_tf" not in task_yaml(placed)
    with pytest.raises(InvalidInputError, match="base_in_tf: got column/arm, expected base_position"):
        without_tf(task)
    told = task_with(base_in_tf="column/arm", base_position=PLACE, base_rpy=RPY)
    assert without_tf(told) == task_with(base_position=PLACE, base_rpy=RPY)
    with pytest.raises(InvalidInputError, match="frame: got cell, expected another name than that of the base frame"):
        check_frame(task, "cell")


def test_two_arms_don_t_stand_on_one_frame():
    task = load_task("dual_arm_grab")
    arms = tuple(dataclasses.replace(arm, base_in_tf="mount") for arm in task.arms)
    with pytest.raises(InvalidInputError, match=r"arms: base_in_tf: got .'mount', 'mount'., expected another frame"):
        dataclasses.replace(task, arms=arms)


def test_a_name_with_a_line_break_is_told_in_one_line():
    arm = dataclasses.replace(TOLD, name="a\nb", base_in_tf="c\nd")
    watch = watch_of(arm)
    watch.look(beside((0.0, 0.0, 0.5)), 0.0)
    assert "500.0 mm" in watch.problem and "\n" not in watch.problem


def test_beside_a_base_in_the_urdf_no_numbers_are_given():
    content = {"name": "x", "goal": [0.5, 0.0, 0.1], "object": {}, "arms": [{"base_in_urdf": True, "base_in_tf": "b"}]}
    assert parse_task(content).arms[0].base_in_tf == "b"
