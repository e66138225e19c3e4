"""Shared memory between libfranka's process and the node's: whole records only, states in order, and their stamps."""

import threading

import numpy as np
import pytest

from impact_aware.control.command import Mode
from impact_aware.control.local_law import LocalLaw
from impact_aware.franka.channel import KEPT, STATE, STOPPED, Channel, Record
from impact_aware.franka.driver import StampClock
from impact_aware.robot import RobotModel

FR3 = RobotModel.from_profile("fr3")
WIDTH = STATE.itemsize // 8


@pytest.fixture
def ends():
    node = Channel()
    arm = Channel(node.fds)
    yield node, arm
    for record in arm._records:
        record.release()
    node.close()


def law(sequence: int) -> LocalLaw:
    rows, square = np.arange(7.0), np.arange(49.0).reshape(7, 7)
    arrays = rows + 0.5, rows - 7.0, square, square.T + 0.25, 0.1 * rows, -0.2 * rows
    return LocalLaw(FR3.joint_names, *arrays, 3.25, 0.03, sequence, Mode.INTERIM)


def test_a_law_arrives_as_it_was_sent_and_once(ends):
    node, arm = ends
    assert arm.take_law(FR3.joint_names) is None
    node.put_law(law(4))
    node.put_law(law(5))
    found, sent = arm.take_law(FR3.joint_names), law(5)
    for name in ("effort", "effort_rate", "position_gain", "velocity_gain", "position", "velocity"):
        np.testing.assert_array_equal(getattr(found, name), getattr(sent, name))
    assert (found.stamp, found.validity, found.sequence, found.mode) == (3.25, 0.03, 5, Mode.INTERIM)
    assert arm.take_law(FR3.joint_names) is None


def test_states_arrive_in_order_and_once_with_every_field_in_its_place(ends):
    node, arm = ends
    arm.put_state(list(np.arange(WIDTH)))
    arm.put_state(list(100.0 + np.arange(WIDTH)))
    found = node.take_states()
    assert found["time"].tolist() == [0.0, 100.0]
    assert (found["stamp"][0], found["mode"][0], found["phase"][0], found["report"][0]) == (1.0, 2.0, 3.0, 10.0)
    first = 11
    for name in ("q", "dq", "effort", "desired", "external"):
        assert found[name][1].tolist() == list(range(100 + first, 107 + first))
        first += 7
    assert not len(node.take_states())


@pytest.mark.parametrize("late", [KEPT - 1, KEPT + 100, 3 * KEPT + 5])
def test_a_reader_that_was_held_up_goes_on_with_the_oldest_state_that_is_left(ends, late):
    node, arm = ends
    for k in range(late):
        arm.put_state([float(k)] * WIDTH)
    found = node.take_states()["time"]
    assert found[-1] == late - 1 and np.array_equal(np.diff(found), np.ones(len(found) - 1))
    assert len(found) == min(late, KEPT)


def test_no_reader_sees_half_a_record(ends):
    node, arm = ends
    wrong, done = [], threading.Event()

    def read():
        while not done.is_set():
            for state in node.take_states():
                row = state.tobytes()
                if row != row[:8] * WIDTH:
                    wrong.append(row)

    reader = threading.Thread(target=read)
    reader.start()
    for k in range(20000):
        arm.put_state([float(k)] * WIDTH)
    done.set()
    reader.join()
    assert not wrong


def test_what_is_being_written_is_no_record():
    memory = memoryview(bytearray(24))
    record = Record(memory, 16)
    record.write(16 * b"a")
    assert record.read() == (2, 16 * b"a")
    memory[0] = 3
    assert record.read() == (0, b"")


def test_requests_and_reports_are_taken_once(ends):
    node, arm = ends
    node.put_request(recover=True)
    assert arm.take_request() == {"recover": True} and arm.take_request() == {}
    arm.put_report(STOPPED, "joint_reflex")
    assert arm.reports == 1
    assert node.take_report() == {"state": STOPPED, "detail": "joint_reflex"} and node.take_report() == {}


def test_stamps_keep_the_arms_own_steps_whatever_the_network_adds():
    clock, delays = StampClock(), np.random.default_rng(3).exponential(2e-3, 2000)
    times = 50.0 + 0.001 * np.arange(2000)
    stamps = [clock.stamp(t, 1e9 + t + 1e-4 + late) for t, late in zip(times, delays, strict=True)]
    steps = np.diff(stamps[500:])
    # A step is off by what a new least delay takes away, and by the drift that is allowed.
    assert np.abs(steps - 0.001).max() < 1e-4
    assert abs(stamps[-1] - (1e9 + times[-1] + 1e-4)) < 1e-3
    # Where the network is slow from then on, the offset grows by a ten thousandth of the time.
    slow = clock.stamp(times[-1] + 10.0, 1e9 + times[-1] + 10.0 + 0.5)
    assert slow - stamps[-1] == pytest.approx(10.0 + 1e-3, abs=1e-5)
    # An arm that was started anew counts from 0, even where it was for long out of reach.
    again = clock.stamp(0.5, 1e9 + 0.5 + 0.9)
    assert again == pytest.approx(1e9 + 1.4, abs=1e-6) and clock.stamp(0.6, 2e9) == pytest.approx(2e9, abs=1e-3)
