"""Each fault does to a message what its name says, and the same again for the same seed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from impact_aware.errors import UnknownNameError
from impact_aware.rigs.faults.classes import FAULT_CLASSES
from impact_aware.rigs.faults.state_faults import STATE_FAULTS, StateMessage, make_state_fault

NAMES = ["a", "b", "c"]


def message(time: float = 1.0) -> StateMessage:
    return StateMessage(time, NAMES, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [9.0, 8.0, 7.0])


def stream(name: str, seed: int = 0, count: int = 200) -> list:
    fault = make_state_fault(name, seed)
    return [fault.apply(message(1.0 + 1e-3 * k)) for k in range(count)]


@pytest.mark.parametrize("name", STATE_FAULTS)
def test_the_same_seed_gives_the_same_faults_and_the_message_itself_stays(name):
    given = message()
    make_state_fault(name, 3).apply(given)
    assert given == message()
    assert repr(stream(name, 3)) == repr(stream(name, 3))
    assert name in FAULT_CLASSES


def test_drop_loses_the_share_that_it_drew():
    fault = make_state_fault("drop", 1)
    lost = sum(not fault.apply(message()) for _ in range(4000))
    # Five standard deviations of a binomial count.
    assert abs(lost - 4000 * fault.severity) < 5.0 * math.sqrt(4000 * 0.25)


def test_silence_loses_everything_and_a_slow_source_all_but_30_a_second():
    assert not any(stream("silence"))
    assert sum(len(deliveries) for deliveries in stream("slow_source", count=1000)) == 30


@pytest.mark.parametrize(
    ("name", "low", "high"), [("delay", 1.0, 60.0), ("reorder", 0.0, 5.0), ("duplicate", 0.0, 10.0)]
)
def test_delays_are_within_their_range(name, low, high):
    delays = [delivery.delay for deliveries in stream(name) for delivery in deliveries]
    assert all(0.0 <= delay <= 1e-3 * high for delay in delays)
    assert max(delays) >= 1e-3 * low


@pytest.mark.parametrize(
    ("name", "column", "wrong"),
    [
        ("nan", "position", math.isnan),
        ("inf", "velocity", math.isinf),
        ("huge_position", "position", lambda value: abs(value) == 1e6),
        ("huge_velocity", "velocity", lambda value: abs(value) == 1e6),
    ],
)
def test_corruption_changes_one_value(name, column, wrong):
    for (delivery,) in stream(name, count=20):
        assert sum(wrong(value) for value in getattr(delivery.message, column)) == 1


def test_lengths_names_and_stamps():
    assert {len(d.message.position) for (d,) in stream("wrong_length")} == {2, 4}
    assert all("elbow" in d.message.names and len(d.message.names) == 3 for (d,) in stream("renamed"))
    assert all(len(column) == 2 for (d,) in stream("missing") for column in d.message[1:])
    assert all(d.message.time > 2.9 for (d,) in stream("clock_forward"))
    assert all(d.message.time < 1.2 for (d,) in stream("clock_backward"))
    assert np.ptp([d.message.position[0] for (d,) in stream("position_step")]) == 0.0


def test_an_unknown_fault_is_refused():
    with pytest.raises(UnknownNameError, match="dance"):
        make_state_fault("dance", 0)
