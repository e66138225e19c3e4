"""Each fault does to a message what its name says, and the same again for the same seed."""

import math

import numpy as np
import pytest

from impact_aware_rigs.faults.classes import FAULT_CLASSES
from impact_aware_rigs.faults.message_faults import (
    QUEUE_DEPTH,
    STATE_FAULTS,
    Delivery,
    StateChannel,
    StateFault,
    StateMessage,
)

NAMES = ["a", "b", "c"]


def make_state_fault(name: str, seed: int) -> StateFault:
    return StateFault(name, np.random.default_rng(seed))


def message(time: float = 1.0) -> StateMessage:
    return StateMessage(time, NAMES, [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [9.0, 8.0, 7.0])


def stream(name: str, seed: int = 0, count: int = 200) -> list:
    fault = make_state_fault(name, seed)
    return [fault.apply(message(1.0 + 1e-3 * k)) for k in range(count)]


@pytest.mark.parametrize("name", STATE_FAULTS)
def test_a_fault_is_repeated_by_its_seed_and_changes_neither_the_message_nor_one_without_values(name):
    given = message()
    make_state_fault(name, 3).apply(given)
    assert given == message()
    assert repr(stream(name, 3)) == repr(stream(name, 3))
    assert name in FAULT_CLASSES
    for delivery in make_state_fault(name, 0).apply(StateMessage(1.0, [], [], [], [])):
        assert list(delivery.message.names) == []


def test_drop_loses_the_share_that_it_drew():
    fault = make_state_fault("drop", 1)
    lost = sum(not fault.apply(message()) for _ in range(4000))
    # Five standard deviations of a binomial count.
    assert abs(lost - 4000 * fault.severity) < 5.0 * math.sqrt(4000 * 0.25)


def test_silence_loses_everything_and_a_slow_source_all_but_30_a_second():
    assert not any(stream("silence"))
    assert sum(len(deliveries) for deliveries in stream("slow_source", count=1000)) == 30


@pytest.mark.parametrize("name", ["delay", "reorder", "duplicate"])
def test_delays_are_milliseconds_of_the_severity(name):
    fault = make_state_fault(name, 2)
    delays = np.array([[delivery.delay for delivery in fault.apply(message())] for _ in range(500)])
    late = 1e-3 * fault.severity
    if name == "delay":
        assert np.all(delays == late)
        return
    if name == "duplicate":
        assert delays.shape == (500, 2)
        assert not delays[:, 0].any()
    last = delays[:, -1]
    assert last.min() < 0.05 * late and 0.95 * late < last.max() <= late
    assert last.mean() == pytest.approx(0.5 * late, rel=0.15)


def test_a_step_adds_to_the_first_position_and_a_clock_fault_to_the_stamp():
    step, forward, backward = (
        make_state_fault(name, 4) for name in ("position_step", "clock_forward", "clock_backward")
    )
    assert step.apply(message()) == [Delivery(0.0, message()._replace(position=[0.1 + step.severity, 0.2, 0.3]))]
    assert forward.apply(message(50.0)) == [Delivery(0.0, message(50.0 + forward.severity))]
    assert backward.apply(message(50.0)) == [Delivery(0.0, message(50.0 - backward.severity))]


@pytest.mark.parametrize(
    ("name", "column", "wrong"),
    [
        ("nan", "position", {math.nan}),
        ("inf", "velocity", {math.inf, -math.inf}),
        ("huge_position", "position", {1e6, -1e6}),
        ("huge_velocity", "velocity", {1e6, -1e6}),
    ],
)
def test_corruption_takes_one_value_of_any_joint_with_either_sign_and_leaves_the_rest(name, column, wrong):
    assert make_state_fault(name, 1).severity == 0.0
    changed, written = set(), set()
    for (delivery,) in stream(name, count=60):
        before, after = message(delivery.message.time), delivery.message
        values = list(getattr(before, column))
        (index,) = [k for k in range(3) if getattr(after, column)[k] != values[k]]
        changed.add(index)
        values[index] = getattr(after, column)[index]
        written.add(repr(values[index]))
        assert repr(after) == repr(before._replace(**{column: values}))
    assert changed == {0, 1, 2}
    assert written == set(map(repr, wrong))


def test_a_renamed_joint_keeps_its_values():
    for (delivery,) in stream("renamed"):
        assert "elbow" in delivery.message.names and len(delivery.message.names) == 3
        assert delivery.message[2:] == message()[2:]


def test_a_joint_is_missing_with_all_that_belongs_to_it():
    left = {tuple(delivery.message.names): delivery.message for (delivery,) in stream("missing")}
    assert set(left) == {("b", "c"), ("a", "c"), ("a", "b")}
    kept = left["a", "c"]
    assert (kept.position, kept.velocity, kept.effort) == ([0.1, 0.3], [1.0, 3.0], [9.0, 7.0])


def test_wrong_lengths_cut_the_end_or_append_a_zero_and_keep_the_rest():
    short, long = (
        next(d.message for (d,) in stream("wrong_length") if len(d.message.position) == size) for size in (2, 4)
    )
    assert (short.position, short.velocity) == ([0.1, 0.2], [1.0, 2.0])
    assert (long.position, long.velocity) == ([0.1, 0.2, 0.3, 0.0], [1.0, 2.0, 3.0, 0.0])
    assert list(short.names) == list(long.names) == NAMES


def test_a_slow_source_goes_on_at_once_when_the_clock_jumps_back():
    fault = make_state_fault("slow_source", 0)
    passed = [bool(fault.apply(message(time))) for time in (1.0, 1.02, 1.0333, 1.034, 1.05, 0.5, 0.51)]
    assert passed == [True, False, False, True, False, True, False]


def test_a_name_that_is_no_fault_changes_nothing():
    assert StateFault("none", np.random.default_rng(0)).apply(message()) == [Delivery(0.0, message())]


def test_a_channel_delays_only_while_its_fault_acts_and_loses_the_oldest():
    channel = StateChannel(make_state_fault("delay", 3))
    late = 1e-3 * channel.fault.severity
    channel.send(message(1.0), 1.0, faulty=True)
    assert not channel.queue
    channel.send(message(1.0 + late), 1.0 + late, faulty=False)
    assert [own.time for own in channel.queue] == [1.0, 1.0 + late][-QUEUE_DEPTH:]
    for k in range(2 * QUEUE_DEPTH):
        channel.send(message(2.0 + 0.001 * k), 2.0 + 0.001 * k, faulty=False)
    assert len(channel.queue) == QUEUE_DEPTH
