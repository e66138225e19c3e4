"""Calls and times of the control cycle, in every mode, with one arm and with two, at active limits too."""

import dataclasses

import numpy as np
import pytest

from impact_aware.control import ControlSession, Mode, warm_up
from impact_aware.control.qp import Regime
from impact_aware_rigs.bench.control import MODES, REGIMES, REGIMES_ALL, TASKS, begin, held, session_of, states_of

MOST_CALLS = {"one_arm": 130, "two_arms": 200}
MOST_CALLS_AT_REST = {"one_arm": 85, "two_arms": 110}

MOST_OVER_ANTE = {"one_arm": 1.3, "two_arms": 1.2}
"""Two arms couple their references before the impact only."""


def cycles(session, mode, posture, regime, start):
    """The cycles of a run in which a regime is likely, as functions."""
    stamp = start
    warm_up(session)
    begin(session, mode, posture, stamp)
    for q, dq in states_of(regime, session, posture, np.random.default_rng(1)):
        stamp += session.parameters.period
        if session.mode is not mode:
            begin(session, mode, posture, stamp)
            stamp += session.parameters.period
        if regime not in REGIMES[:3]:
            session.accept_any_state()
        # Thrown from state to state no torques fit the arm, and the motion would end.
        effort = held(session, q) if regime == REGIMES[0] else None
        yield lambda stamp=stamp, q=q, dq=dq, effort=effort: session.cycle(stamp, q, dq, effort=effort)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("arms", TASKS)
def test_calls_of_a_cycle_at_whatever_limits(robot, calls, arms, mode):
    session, posture = session_of(robot, arms)
    most, seen = 0, set()
    for number, regime in enumerate(REGIMES_ALL):
        for cycle in cycles(session, mode, posture, regime, 10.0 * number):
            most = max(most, calls(cycle))
            seen.add(session.regime)
    assert {Regime.INACTIVE, Regime.MANY_ACTIVE, Regime.EXCLUDING} <= seen
    assert most <= MOST_CALLS[arms]


@pytest.mark.parametrize("mode", [Mode.ANTE, Mode.INTERIM], ids=lambda mode: mode.name)
@pytest.mark.parametrize("arms", TASKS)
def test_calls_of_a_cycle_towards_an_object_that_moves(robot, calls, arms, mode):
    still, posture = session_of(robot, arms)
    field = dataclasses.replace(still.field, object_velocity=np.array([0.02, 0.03, 0.0]))
    session = ControlSession(still.robots, still.parameters, field, still.bases)
    # From the start on, the ramp included.
    assert max(map(calls, cycles(session, mode, posture, REGIMES[0], 0.0))) <= MOST_CALLS[arms]
    assert session.field.object_moves


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.HOLD, Mode.SAFE], ids=lambda mode: mode.name)
@pytest.mark.parametrize("arms", TASKS)
def test_calls_of_a_cycle_without_a_motion(robot, calls, arms, mode):
    session, q = session_of(robot, arms)
    warm_up(session)
    session.activate()
    if mode is not Mode.IDLE:
        begin(session, Mode.ANTE, q, 0.0)
        session.hold() if mode is Mode.HOLD else session.safe_stop("requested")
    zeros, torques = np.zeros_like(q), held(session, q)
    counts = [calls(lambda k=k: session.cycle(1e-3 * k, q, zeros, effort=torques)) for k in range(1, 50)]
    assert session.mode is mode and max(counts) <= MOST_CALLS_AT_REST[arms]


@pytest.mark.parametrize("arms", TASKS)
def test_a_cycle_after_the_impact_takes_as_long_as_one_before(robot, least_times, arms):
    works, still = {}, np.zeros(14)
    for mode in MODES:
        session, q = session_of(robot, arms)
        begin(session, mode, q, 0.0)

        def work(session=session, q=q):
            session.cycle(session.command.time + 1e-3, q, still[: len(q)])

        works[mode] = work
    least = least_times(works, repeats=50)
    assert max(least[Mode.INTERIM], least[Mode.POST]) <= MOST_OVER_ANTE[arms] * least[Mode.ANTE]
