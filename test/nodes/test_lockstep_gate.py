"""A simulator in lockstep learns that a participant is dead, on every middleware, and of nothing else."""

import signal
from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import Heartbeat, StepDone

from impact_aware.nodes import lockstep
from impact_aware.nodes.lockstep import LOOK_PERIOD, SILENCE, LockstepGate, LockstepReporter
from impact_aware.robot import load_profile

PARTICIPANTS = ("left/impact_detector", "rs_controller")
STAMP = Time(sec=7, nanosec=3)


class Gate:
    """A gate with a clock that a test sets."""

    def __init__(self, node, monkeypatch) -> None:
        self.now, self.losses, self.answers, self.count = 50.0, 0, 0, 0
        monkeypatch.setattr(lockstep, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.gate = LockstepGate(node, PARTICIPANTS, on_answer=self._answered, on_loss=self._lost)
        self.gate.expect(STAMP)

    def _answered(self) -> None:
        self.answers += 1

    def _lost(self) -> None:
        self.losses += 1

    def beat(self, *names: str, session: int = 7) -> None:
        self.count += 1
        for name in names:
            self.gate._on_beat(name, Heartbeat(session=session, count=self.count))

    def wait(self, seconds: float, *alive: str) -> None:
        """Time goes by, in which these are heard."""
        for _ in range(round(seconds / LOOK_PERIOD)):
            self.now += LOOK_PERIOD
            self.beat(*alive)
            self.gate._look()


@pytest.fixture
def gate(node, monkeypatch):
    return Gate(node, monkeypatch)


def test_silence_of_who_has_not_answered_is_a_loss_and_of_who_has_is_none(gate):
    gate.beat(*PARTICIPANTS)
    gate.wait(SILENCE, "rs_controller")
    assert gate.losses == 0
    gate.gate._on_step_done(StepDone(node="/left/impact_detector", stamp=STAMP))
    gate.wait(1.0, "rs_controller")
    assert gate.losses == 0, "it has answered: nobody waits for it"
    gate.gate.expect(Time(sec=7, nanosec=4))
    gate.wait(LOOK_PERIOD, "rs_controller")
    assert gate.losses == 1
    gate.beat("left/impact_detector", session=8)
    gate.wait(1.0, *PARTICIPANTS)
    assert gate.losses == 1, "a new life of it is heard"


def test_who_was_never_heard_is_not_lost_and_who_is_repeated_is(gate):
    gate.beat("rs_controller")
    gate.count -= 1
    gate.wait(2.0 * SILENCE)
    assert gate.losses > 0
    assert gate.gate._lost == {"rs_controller"}
    gate.gate._on_beat("rs_controller", Heartbeat(session=7, count=1))
    assert gate.gate._lost == {"rs_controller"}


def test_a_participant_says_that_it_lives_where_the_gate_listens_and_without_lockstep_nothing(node):
    LockstepReporter(node, enabled=False)
    assert not [end for end in node.publishers if "step_done" in end.topic_name]
    LockstepReporter(node, enabled=True)
    assert {end.topic_name for end in node.publishers if "step_done" in end.topic_name} == {
        "/step_done",
        "/test_node/step_done/heartbeat",
    }


@pytest.mark.dds
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_is_killed_or_stopped_is_noticed(suite, monkeypatch, end):
    monkeypatch.setattr(lockstep, "SILENCE", 1.0)
    losses = []
    gate = LockstepGate(suite.node, ["impact_detector"], on_answer=lambda: None, on_loss=lambda: losses.append(1))
    gate.expect(STAMP)
    parameters = {"joints": list(load_profile("panda").joint_names), "lockstep": True}
    detector = suite.start("impact_detector", **parameters)
    suite.until(lambda: gate._beats["impact_detector"].last is not None, "a heartbeat")
    assert not losses
    detector.signal(end)
    suite.until(lambda: bool(losses), "the loss")
    detector.signal(signal.SIGKILL)
    # A new one answers, as the first one would have.
    suite.start("impact_detector", **parameters)
    suite.until(lambda: not gate._lost, "the new one's heartbeat")
