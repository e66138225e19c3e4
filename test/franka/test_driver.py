"""The process with libfranka against the simulated arm, in lockstep: laws, holds, stops by their names, recovery."""

import select
import signal
import time

import numpy as np
import pytest

from impact_aware.control.command import Mode
from impact_aware.control.local_law import LocalLaw
from impact_aware.franka.channel import BRAKING, ENDED, FOLLOWING, HOLDING, STOPPED, WATCHING, WORKING, Channel
from impact_aware.franka.driver import DriverSettings
from impact_aware.robot import RobotModel

FR3 = RobotModel.from_profile("fr3")
PATIENCE = 120.0
"""For what comes within milliseconds of the arm's own time, s of wall time."""


class Driven:
    """A driver, and what it shared."""

    def __init__(self, arm, **settings) -> None:
        self.arm, self.channel, self.states, self.reports = arm, Channel(), [], []
        made = {"control": True, "realtime": "ignore", "arm_time": True, **settings}
        self.process = DriverSettings(made.pop("address", arm.address), "fr3", **made).start(self.channel)
        self.sequence = 0

    def until(self, condition, each=lambda state: None):
        """The first state for which the condition holds, among those still to come; `each` is called with all."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            select.select([self.channel.fds[1]], [], [], 0.05)
            self.channel.drain()
            if report := self.channel.take_report():
                self.reports.append((report["state"], report["detail"]))
            for state in self.channel.take_states():
                self.states.append(state)
                each(state)
                if condition(state):
                    return state
            if self.process.poll() is not None and condition(None):
                return None
        raise AssertionError(f"not within {PATIENCE:g} s; reports {self.reports}")

    def phase(self, wanted):
        return self.until(lambda state: state is not None and state["phase"] == wanted)

    def report(self, wanted):
        self.until(lambda state: any(own[0] == wanted for own in self.reports))
        return [own[1] for own in self.reports if own[0] == wanted][-1]

    def law(self, state, validity=0.03, sequence=None, torque=0.0) -> None:
        """Hold the arm by a law whose last joint gets a torque more."""
        self.sequence = self.sequence + 1 if sequence is None else sequence
        q, more = state["q"].copy(), np.where(np.arange(7) == 6, torque, 0.0)
        none, square = np.zeros(7), np.zeros((7, 7))
        arrays = FR3.gravity(q) + more, none, square, 2.0 * np.eye(7), q, none
        self.channel.put_law(
            LocalLaw(FR3.joint_names, *arrays, float(state["stamp"]), validity, self.sequence, Mode.HOLD)
        )

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def driven(arm):
    arm.user_stop(False)
    arm.reset()
    made = Driven(arm)
    yield made
    made.end()


def test_the_arm_is_held_then_follows_laws_and_brakes_when_they_end(driven):
    held = driven.phase(HOLDING)
    driven.law(held)
    driven.phase(FOLLOWING)
    first = len(driven.states)
    driven.until(
        lambda state: state is not None and state["phase"] == FOLLOWING and state["time"] > held["time"] + 0.2,
        lambda state: driven.law(state, torque=0.5),
    )
    desired = np.array([state["desired"] for state in driven.states[first:]])
    # Without gravity, which is 20 N m at the elbow: what is sent is the law's torque beside it.
    assert desired[:, 6].max() == pytest.approx(0.5, abs=0.1) and np.abs(desired).max() < 5.0
    last = driven.phase(BRAKING) if driven.states[-1]["dq"].any() else None
    end = driven.phase(HOLDING)
    law_time = max(state["time"] for state in driven.states if state["phase"] == FOLLOWING)
    assert (last or end)["time"] - law_time < 0.002
    assert driven.arm.errors == ()


def test_a_law_that_is_not_newer_is_refused_while_the_one_before_is_valid(driven):
    held = driven.phase(HOLDING)
    driven.law(held, validity=0.4, sequence=7)
    state = driven.phase(FOLLOWING)
    driven.law(state, sequence=7, torque=5.0)
    refused = driven.until(lambda own: own is not None and own["refused"] == 1.0)
    assert refused["sequence"] == 7
    # A controller that was started anew counts from 1, which holds once the validity is over.
    rest = driven.phase(HOLDING)
    driven.law(rest, sequence=1)
    assert driven.phase(FOLLOWING)["sequence"] == 1


@pytest.mark.parametrize("name", ["joint_reflex", "power_limit_violation", "tau_j_range_violation"])
def test_a_reflex_is_reported_by_its_name_and_before_any_state_after_it_and_can_be_recovered_from(driven, name):
    driven.phase(HOLDING)
    driven.arm.trip(name)
    stopped = driven.until(lambda state: state is not None and state["mode"] != 2.0)
    assert stopped["report"] > driven.states[-2]["report"], "reported before that state"
    assert driven.report(STOPPED).lower() == name
    driven.reports.clear()
    driven.channel.put_request(recover=True)
    held = driven.phase(HOLDING)
    assert np.abs(held["q"] - stopped["q"]).max() < 0.01
    assert driven.arm.errors == () and driven.arm.mode == "Move"


def test_no_recovery_while_the_user_stop_is_pressed(driven):
    driven.phase(HOLDING)
    driven.arm.user_stop()
    assert driven.report(STOPPED) == "user stop"
    driven.reports.clear()
    driven.channel.put_request(recover=True)
    assert "recovery refused" in driven.report(STOPPED)
    driven.arm.user_stop(False)
    driven.reports.clear()
    driven.channel.put_request(recover=True)
    driven.phase(HOLDING)


def test_a_guided_arm_is_held_where_it_was_left(driven):
    driven.phase(HOLDING)
    aim = np.array(driven.arm.q) + 0.1
    driven.arm.guide(aim, 0.3)
    driven.report(STOPPED)
    driven.until(lambda state: state is not None and state["mode"] == 1.0)
    driven.reports.clear()
    driven.channel.put_request(recover=True)
    left = driven.until(lambda state: state is not None and state["phase"] == HOLDING)
    held = driven.until(lambda state: state is not None and state["time"] > left["time"] + 0.3)
    assert np.abs(held["q"] - left["q"]).max() < 0.02
    assert np.abs(left["q"] - aim).max() < 0.05


def test_who_only_watches_moves_nothing_and_leaves_at_once(arm):
    arm.reset()
    own = Driven(arm, control=False)
    own.phase(WATCHING)
    assert own.report(WORKING) == "reading the arm"
    own.channel.put_request(leave=True)
    assert own.process.wait(PATIENCE) == 0
    assert all(state["phase"] == WATCHING for state in own.states)


def test_a_driver_that_is_ended_brings_the_arm_to_rest_and_finishes_its_motion(driven):
    driven.phase(HOLDING)
    driven.process.send_signal(signal.SIGTERM)
    driven.until(lambda state: state is None)
    assert driven.process.returncode == 0
    assert driven.arm.mode == "Idle" and driven.arm.errors == ()


def test_no_arm_at_the_address_is_one_clear_line(arm):
    own = Driven(arm, address="127.0.0.99")
    detail = own.report(ENDED)
    assert detail.startswith("arm: got 127.0.0.99: ") and "answers on port 1337" in detail and "\n" not in detail
    assert own.process.wait(PATIENCE) == 2
