"""The emulated nodes around the control session: states, late predictions, a dead detector, the watchdog."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.control import Mode
from impact_aware.records import ImpactEvent
from impact_aware.reference import ArmAfterImpact
from impact_aware_rigs.faults.bench import FaultBench
from impact_aware_rigs.faults.message_faults import DelayLine, EventFaults, StateMessage
from impact_aware_rigs.faults.suite import FALSE_EVENT_AGE, LIVELINESS_LEASE, Suite

AFTER = ArmAfterImpact(np.array([0.3, -0.1, 0.2]), 0.04)


@pytest.fixture(scope="module")
def bench():
    return FaultBench()


class Session:
    """Notes what reaches the session of the controller."""

    def __init__(self, real):
        self.states, self.field, self.mode = real.states, real.field, Mode.ANTE
        self.calls: list[tuple] = []
        self.events = SimpleNamespace(notify_impact=self._notify)
        self.fields, self.after = [], []

    def _notify(self, time, detected, velocity=None, *, arm=0, sequence=None, arms_after=None):
        self.calls.append(("impact", time, detected, velocity, arm))
        self.after.append(arms_after)

    def receive(self, arm):
        self.calls.append(("state", arm))

    def watch(self):
        self.calls.append(("watch",))

    def upstream_lost(self, topic):
        self.calls.append(("lost", topic))

    def set_field(self, field):
        self.fields.append(field)


@pytest.fixture
def make(bench):
    def made(fault="none", seed=0):
        suite = Suite(bench, EventFaults(fault, np.random.default_rng(seed)), lambda command: None)
        suite.session = Session(suite.session)
        return suite

    return made


def message(bench, time: float, *, names=None) -> StateMessage:
    n = bench.robots[0].n
    return StateMessage(time, names or bench.robots[0].joint_names, bench.start.tolist(), [0.0] * n, [0.0] * n)


def detect_at(suite, bench, when: float):
    """A detector that finds an impact with the state of that time, 2 ms before it."""
    before = np.full(7, np.nan)
    jacobian = bench.robots[0].frame_jacobian(bench.start)
    before[:] = np.linalg.pinv(jacobian) @ np.array([0.0, -0.3, 0.0, 0.0, 0.0, 0.0])
    event = dataclasses.replace(_event(bench, before), time=when - 0.002)

    def update(sample):
        return event if sample.time == when else None

    suite._detectors = [SimpleNamespace(update=update)]
    suite._predict = lambda arm, event, q: (np.array([0.1, -0.2, 0.3]), {arm: AFTER})


def test_a_state_reaches_the_session_after_its_impact(make, bench):
    suite = make()
    detect_at(suite, bench, 1.5)
    for time in (1.499, 1.5):
        suite.now = time
        suite.on_state(0, message(bench, time))
    kinds = [call[0] for call in suite.session.calls]
    assert kinds == ["state", "impact", "state"]
    _, time, detected, velocity, arm = suite.session.calls[1]
    assert (time, detected, arm) == (1.498, 1.5, 0)
    np.testing.assert_array_equal(velocity, [0.1, -0.2, 0.3])
    assert suite.session.after == [{0: AFTER}]


def test_an_impact_in_no_motion_and_a_state_that_can_not_be_read_reach_nobody(make, bench):
    suite = make()
    detect_at(suite, bench, 1.5)
    suite.session.mode = Mode.POST
    suite.on_state(0, message(bench, 1.5))
    suite.on_state(0, message(bench, 1.6, names=["a"] * 7))
    assert suite.session.calls == [("state", 0)]


def test_a_late_prediction_changes_the_field_when_it_is_due(make, bench):
    suite = make("prediction_late")
    detect_at(suite, bench, 1.5)
    suite.faults.prediction_delay = lambda: 0.125
    times = [1.5, 1.624, 1.625, 1.626]
    known = []
    for time in times:
        suite.now = time
        suite.on_state(0, message(bench, time))
        known.append(len(suite.session.fields))
    assert known == [0, 0, 1, 1]
    assert suite.session.calls[0][3] is None
    np.testing.assert_array_equal(suite.session.fields[0].object_velocity_after, [0.1, -0.2, 0.3])
    assert suite.session.after == [None]
    np.testing.assert_array_equal(suite.session.fields[0].arms[0].after_impact.angular_velocity, AFTER.angular_velocity)


def test_a_dead_detector_detects_nothing_and_is_missed_after_its_lease(make, bench):
    suite = make()
    detect_at(suite, bench, 1.5)
    suite.faults.dead_detectors, suite.faults.died = (0,), 1.0
    for now in (1.5, 1.0 + LIVELINESS_LEASE - 0.001, 1.0 + LIVELINESS_LEASE + 0.001):
        suite.now = now
        suite.on_state(0, message(bench, now))
    assert suite.session.calls == [("state", 0), ("state", 0), ("lost", "impacts"), ("state", 0)]


def test_a_false_detection_is_of_a_little_before(make, bench):
    suite = make("false_detections")
    suite.faults.acting = True
    for k in range(300):
        suite.now = 1.0 + 0.001 * k
        suite.on_state(0, message(bench, suite.now))
    false = [call for call in suite.session.calls if call[0] == "impact"]
    assert 1 <= len(false) <= 15
    for _, time, detected, velocity, _ in false:
        assert detected - time == pytest.approx(FALSE_EVENT_AGE)
        assert velocity is None


def test_the_predicted_velocity_is_of_the_object_along_the_hit(bench):
    suite = Suite(bench, EventFaults("none", np.random.default_rng(0)), lambda command: None)
    states = suite.session.states
    suite.on_state(0, message(bench, 1.0))
    before = np.linalg.pinv(bench.robots[0].frame_jacobian(bench.start)) @ np.array([0.0, -0.3, 0.0, 0.0, 0.0, 0.0])
    event = _event(bench, before)
    whole, after = suite._prediction(0, event)
    assert whole[1] < -0.05
    assert np.linalg.norm(after[0].angular_velocity) > 0.05
    # Joints whose velocity before is not known count with what was measured last.
    states.readers[0].velocity[:] = before
    unknown = np.where(np.arange(7) % 2 == 0, np.nan, before)
    again, same = suite._prediction(0, _event(bench, unknown))
    np.testing.assert_allclose(again, whole)
    np.testing.assert_allclose(same[0].angular_velocity, after[0].angular_velocity)


def _event(bench, before) -> ImpactEvent:
    fields = {name: None for name in ImpactEvent.__dataclass_fields__}
    return ImpactEvent(**fields | {"time": 1.0, "position": bench.start, "velocity_before": before})


def test_event_faults_are_drawn_from_their_ranges():
    late = EventFaults("prediction_late", np.random.default_rng(1))
    delays = [late.prediction_delay() for _ in range(300)]
    assert 0.05 <= min(delays) < 0.06 and 0.19 < max(delays) <= 0.2
    assert EventFaults("prediction_absurd", np.random.default_rng(1)).prediction_delay() == 0.0
    absurd = EventFaults("prediction_absurd", np.random.default_rng(1))
    spoilt = np.array([absurd.spoil(np.zeros(3)) for _ in range(300)])
    assert np.isnan(spoilt).any() and np.isinf(spoilt).any()
    sizes = np.linalg.norm(spoilt[np.isfinite(spoilt).all(axis=1)], axis=1)
    assert 10.0**0.5 <= sizes.min() < 20.0 and 1e5 < sizes.max() <= 1.0001e6
    np.testing.assert_array_equal(late.spoil(np.ones(3)), np.ones(3))
    quiet = EventFaults("false_detections", np.random.default_rng(1))
    assert not any(quiet.detects_falsely() for _ in range(1000))
    quiet.acting = True
    # Four standard deviations of a binomial count about 200.
    assert 144 < sum(quiet.detects_falsely() for _ in range(10000)) < 256
    assert math.isinf(quiet.died) and quiet.dead_detectors == ()


def test_a_delay_line_gives_what_is_due_in_order_and_once():
    line: DelayLine[str] = DelayLine()
    for item, due in (("c", 3.0), ("a", 1.0), ("b1", 2.0), ("b2", 2.0), ("d", 4.0)):
        line.send(item, due)
    assert line.arrived(0.9) == []
    assert line.arrived(2.0) == ["a", "b1", "b2"]
    assert line.arrived(3.5) == ["c"]
    assert line.arrived(3.5) == []
