"""The cycles that `bench control` times."""

import pytest

from impact_aware.control import Mode
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.regimes import BEYOND, REGIMES_ALL, Timed, figures, time_regimes

ROBOT = RobotModel.from_profile("panda")


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "mode"), [("one_arm", Mode.ANTE), ("one_arm", Mode.POST), ("two_arms", Mode.INTERIM)])
def test_every_regime_occurs_and_no_command_is_unsafe(arms, mode):
    found = time_regimes(ROBOT, arms, mode, 5, seed=1)
    for regime in REGIMES_ALL:
        assert len(found.wall[regime]) == len(found.processor[regime]) >= 5, regime
    assert (found.unsafe, found.cut) == (0, 0)


def test_the_figures_are_those_of_each_regime():
    found = Timed()
    found.cycles, found.wall[BEYOND], found.processor[BEYOND] = 7, [3e-6, 1e-6, 2e-6], [1e-6, 1e-6, 4e-6]
    result = figures(found)
    assert result["cycles"] == 7 and result[REGIMES_ALL[0]] == {"cycles": 0}
    own = result[BEYOND]
    assert (own["cycles"], own["p50_us"], own["max_us"], own["processor_max_us"]) == pytest.approx((3, 2.0, 3.0, 4.0))
    assert own["processor_p50_us"] == pytest.approx(1.0) and 2.9 < own["p99_us"] < 3.0
