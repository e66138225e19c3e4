"""The accounts of control cycles."""

from types import SimpleNamespace

import pytest

from impact_aware.control import Mode
from impact_aware.control.regime import Regime
from impact_aware.nodes.control_report import MOST_MISSED, ControlReport


@pytest.fixture
def report():
    session = SimpleNamespace(parameters=SimpleNamespace(period=0.001), cycle_time=1e-4, regime=Regime.INACTIVE)
    node = SimpleNamespace(create_publisher=lambda *_: None)
    return ControlReport(node, session, (), (), 1)


@pytest.mark.parametrize(
    ("gaps", "missed"),
    [([1.0, 1.4], 0), ([2.0], 1), ([1.0, 3.1, 1.0, 2.9], 4), ([10.0], 9), ([MOST_MISSED + 1.0], 0), ([-1.0], 0)],
)
def test_periods_without_a_state_between_two_states_are_missed(report, gaps, missed):
    time = 5.0
    for gap in (0.0, *gaps):
        time += 0.001 * gap
        report.account(SimpleNamespace(time=time, mode=Mode.ANTE), arrival=time)
    assert (report.cycles, report.missed, report.late) == (1 + len(gaps), missed, 0)
