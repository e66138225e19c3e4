import numpy as np
import pytest

from impact_aware.control import Command, Mode, QpStatus
from impact_aware.control.ending import TaskCompletion, goal_distance

GOAL = np.array([0.5, -0.3, 0.1])


def command(time, distance=0.0, speed=0.0, mode=Mode.POST):
    twist = np.zeros((1, 6))
    twist[0, 1] = speed
    zeros = np.zeros((1, 6))
    return Command(
        time=time,
        mode=mode,
        effort=np.zeros(7),
        tool_position=np.zeros((1, 3)),
        tool_twist=twist,
        reference_twist=zeros,
        target_acceleration=zeros,
        object_position=GOAL + np.array([0.0, distance, 0.5]),
        blend=1.0,
        qp_status=QpStatus.SOLVED,
        reason=None,
        detail="",
    )


def first_done(completion, commands):
    return next((each.time for each in commands if completion.done(each, GOAL)), None)


def test_height_does_not_count():
    assert goal_distance(command(0.0, distance=0.02), GOAL) == pytest.approx(0.02)


def test_only_the_post_impact_mode_counts():
    completion = TaskCompletion()
    waiting = [command(0.01 * k, mode=Mode.ANTE) for k in range(300)]
    assert first_done(completion, waiting) is None
    later = [command(3.0 + 0.01 * k) for k in range(50)]
    assert first_done(completion, later) == pytest.approx(3.1)


def test_it_counts_centimetres_and_centimetres_per_second_unless_told_otherwise():
    def ends(**more):
        return first_done(TaskCompletion(), [command(0.01 * k, **more) for k in range(300)])

    assert ends(distance=0.0099, speed=0.0199) == pytest.approx(0.1)
    assert ends(distance=0.0101, speed=0.0199) == pytest.approx(1.0)
    assert ends(distance=0.0099, speed=0.0201) is None


def test_a_moment_of_motion_starts_both_times_again():
    def ends(moved_at, **more):
        commands = [command(0.01 * k, speed=0.3 if k == moved_at else 0.0, **more) for k in range(300)]
        return first_done(TaskCompletion(), commands)

    assert ends(5) == pytest.approx(0.16)
    assert ends(50, distance=0.1) == pytest.approx(1.51)


def test_every_tool_has_to_be_at_rest_and_its_rotation_does_not_count():
    twist = np.zeros((2, 6))
    twist[:, 3:] = 3.0
    still = [command(0.01 * k)._replace(tool_twist=twist) for k in range(50)]
    assert first_done(TaskCompletion(), still) == pytest.approx(0.1)
    twist = twist.copy()
    twist[1, :3] = [0.0, 0.015, -0.015]
    assert first_done(TaskCompletion(), [each._replace(tool_twist=twist) for each in still]) is None
