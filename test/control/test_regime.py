import gc
import tracemalloc

import numpy as np
import pytest

from impact_aware.control import ControlParameters, ControlSession, Mode, QpStatus
from impact_aware.control.qp import TIME_BUDGET, Regime, TimeBudget
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field

ROBOT = RobotModel.from_profile("panda")
PERIOD = 0.001


def begun(noise, cycles):
    """A session in ANTE after some cycles of noisy states, and the noise that is left."""
    generator = np.random.default_rng(2)
    session = ControlSession(ROBOT, ControlParameters(), make_field(load_task("hit_and_push"), [ROBOT]))
    session.start(0.0, ROBOT.home, check=False)
    rows = noise * generator.normal(size=(2 * cycles, ROBOT.n))
    for cycle in range(cycles):
        session.cycle(PERIOD * cycle, ROBOT.home, rows[cycle])
    return session, rows[cycles:]


@pytest.mark.parametrize(
    ("status", "active", "regime"),
    [
        (QpStatus.SOLVED, 0, Regime.INACTIVE),
        (QpStatus.SOLVED, 1, Regime.ONE_ACTIVE),
        (QpStatus.SOLVED, 2, Regime.MANY_ACTIVE),
        (QpStatus.SOLVED, 9, Regime.MANY_ACTIVE),
        (QpStatus.SOFTENED, 1, Regime.EXCLUDING),
        (QpStatus.CUT, 0, Regime.CUT),
        (QpStatus.FAILED, 0, Regime.NOT_FINITE),
    ],
)
def test_a_regime_is_what_is_active_at_the_end(status, active, regime):
    assert Regime.of(status, active) is regime


def test_a_cycle_over_its_time_is_counted_with_its_mode_and_regime():
    budget = TimeBudget()
    budget.note(TIME_BUDGET, "POST", Regime.MANY_ACTIVE)
    assert not budget.over
    for regime in (Regime.MANY_ACTIVE, Regime.CUT, Regime.MANY_ACTIVE):
        budget.note(1.01 * TIME_BUDGET, "POST", regime)
    assert budget.over == {"POST, many limits active": 2, "POST, out of steps": 1}


def test_the_session_says_what_its_last_cycle_had_to_solve():
    session, _ = begun(0.0, 200)
    assert session.regime is Regime.INACTIVE
    session, _ = begun(0.1, 20)
    assert session.regime is Regime.MANY_ACTIVE
    session.hold()
    session.cycle(1.0, ROBOT.home, np.zeros(7))
    assert session.regime is Regime.NO_PROGRAM


def test_a_program_out_of_steps_is_said_and_stops_nothing():
    session, rows = begun(0.1, 20)
    session._law._solver._most = 1
    before = session.filter.previous.copy()
    command = session.cycle(0.02, ROBOT.home, rows[0])
    assert (command.qp_status, session.regime) == (QpStatus.CUT, Regime.CUT)
    assert command.mode is session.mode is Mode.ANTE
    change = np.abs(session.filter.previous - before)
    assert np.all(change <= ROBOT.limits.effort_rate * PERIOD * (1.0 + 1e-9)) and change.max() > 0.0
    assert session.filter.interventions == 0


def test_cycles_leave_no_more_memory_behind_however_many_they_are():
    session, rows = begun(0.1, 100)
    stamps = PERIOD * np.arange(100, 200)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for index in range(50):
            session.cycle(stamps[index], ROBOT.home, rows[index])
        before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        for index in range(50, 100):
            session.cycle(stamps[index], ROBOT.home, rows[index])
        kept, new = tracemalloc.get_traced_memory()[0] - before, len(gc.get_objects()) - objects
    finally:
        tracemalloc.stop()
        gc.enable()
    assert session.mode is Mode.ANTE
    # Less than one object, the smallest of which has 16 bytes, of each of these cycles; the list of objects is one.
    assert kept < 16 * 50 and new < 50
