"""What a controller counts of its own cycles."""

from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.control import ControlSession
from impact_aware.nodes.control_report import JITTER_CYCLES, MOST_MISSED, ControlReport
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field, start_posture


@pytest.fixture(scope="module")
def session():
    task, robot = load_task("hit_and_push"), RobotModel.from_profile("panda")
    made = ControlSession(robot, field=make_field(task, [robot]))
    posture = np.array(start_posture(task.arms[0], robot))
    made.start(0.0, posture, check=False)
    made.cycle(0.001, posture, np.zeros(7))
    return made


def test_period_and_jitter_are_those_of_the_last_thousand_cycles(node, session):
    report = ControlReport(node, session, (), (), 10)
    generator = np.random.default_rng(4)
    # Begins with a pause, which the last thousand periods do not have any more.
    arrivals = np.cumsum(np.concatenate([[5.0, 3.0], 1e-3 + 2e-4 * generator.random(1500)]))
    seen = []
    for arrival in arrivals:
        report.account(session.command, arrival)
        seen.append((report.period, report.jitter))
    assert seen[0] == (-1.0, -1.0) and seen[1] == (pytest.approx(3.0), -1.0)
    for count in (3, 700, len(arrivals)):
        periods = np.diff(arrivals[:count])[-JITTER_CYCLES:]
        # Sums from which a pause of seconds was taken out again: 9 s^2 leave 1e-15 of rounding, of a variance of 3e-9.
        assert seen[count - 1] == (pytest.approx(periods[-1]), pytest.approx(periods.std(), rel=1e-6, abs=1e-8))
    report.begin()
    assert (report.cycles, report.period, report.jitter) == (0, -1.0, -1.0)


@pytest.mark.parametrize(
    ("gaps", "missed"),
    [([1.0, 1.4], 0), ([2.0], 1), ([1.0, 3.1, 1.0, 2.9], 4), ([10.0], 9), ([MOST_MISSED + 1.0], 0), ([-1.0], 0)],
)
def test_periods_without_a_state_between_two_states_are_missed(node, session, gaps, missed):
    report, time = ControlReport(node, session, (), (), 10), 5.0
    for gap in (0.0, *gaps):
        time += gap * session.parameters.period
        report.account(SimpleNamespace(time=time, mode=session.command.mode), arrival=time)
    assert (report.cycles, report.missed) == (1 + len(gaps), missed)
