"""Wall time on a machine that stalls: in step with jitter, caught up slowly, given up when it is too much."""

import pytest

from impact_aware.nodes.plant_time import MOST_BEHIND, PATIENCE, WallPace

CYCLE = 0.002


def run(pace, ticks, time=3.0):
    """Cycles made at each of these times of the wall clock, and simulated time in the end."""
    made = []
    for wall in ticks:
        made.append(pace.due(wall, time))
        time += made[-1] * CYCLE
    return made, time


@pytest.fixture
def pace():
    made = WallPace(CYCLE)
    made.begin(100.0, 3.0)
    return made


def test_looks_with_a_jitter_make_every_second_one_a_cycle(pace):
    ticks = [100.0 + CYCLE * (0.5 * index + 0.2 * (-1) ** (index // 2)) for index in range(1, 400)]
    made, time = run(pace, ticks)
    assert made == [0, 1] * 199 + [0]
    assert time == pytest.approx(3.0 + 199 * CYCLE)
    assert pace.given_up == 0.0


def test_a_stall_is_caught_up_by_one_cycle_at_every_look(pace):
    ticks = [100.0 + 0.5 * CYCLE * index for index in (1, 2, 3, *range(10, 30))]
    made, time = run(pace, ticks)
    # At the fourth look, after five cycles, four are due; two more come while they are made, at half a cycle each.
    assert made == [0, 1, 0, *[1] * 7, *[0, 1] * 6, 0]
    assert time == pytest.approx(3.0 + 14 * CYCLE)


def test_a_long_stall_is_given_up_and_the_plant_goes_on_from_where_it_was(pace):
    stall = MOST_BEHIND + 6
    ticks = [100.0 + CYCLE * index for index in (1, 1 + stall, 2 + stall, 3 + stall)]
    made, time = run(pace, ticks)
    assert made == [1, 1, 1, 1]
    assert time == pytest.approx(3.0 + 4 * CYCLE)
    assert pace.given_up == pytest.approx((stall - 1) * CYCLE)


def test_a_torque_is_waited_for_until_patience_ends(pace):
    """Two cycles are answered at once; then none comes, and each cycle takes the time of four."""
    made, time = [], 3.0
    for look in range(2, 40):
        due = pace.due(100.0 + 0.5 * CYCLE * look, time, answered=look < 6)
        made += [look] if due else []
        time += due * CYCLE
    assert made == [2, 4, *range(4 + 2 * PATIENCE, 40, 2 * PATIENCE)]
    assert pace.unanswered == len(made) - 2
    assert pace.given_up == 0.0


def test_what_was_waited_for_is_caught_up_when_torques_come_again(pace):
    time = 3.0
    for look in range(2, 40):
        time += pace.due(100.0 + 0.5 * CYCLE * look, time, answered=not 6 <= look < 20) * CYCLE
    assert time == pytest.approx(3.0 + 19 * CYCLE)
    assert (pace.unanswered, pace.given_up) == (1, 0.0)


def test_looking_too_often_makes_no_more_cycles(pace):
    made, time = run(pace, [100.0 + 0.25 * CYCLE * index for index in range(1, 41)])
    assert set(made) == {0, 1}
    assert time == pytest.approx(3.0 + 10 * CYCLE)
