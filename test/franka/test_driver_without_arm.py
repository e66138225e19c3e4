"""What the process with libfranka makes of states, requests and errors; a script stands in for arm and bindings."""

import enum
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware import control
from impact_aware.control.local_law import LocalLaw
from impact_aware.errors import InvalidInputError
from impact_aware.franka import driver
from impact_aware.franka.channel import BRAKING, ENDED, FOLLOWING, HOLDING, STOPPED, WATCHING, WORKING, Channel
from impact_aware.franka.connection import connect
from impact_aware.franka.prepare import preparation, prepare
from impact_aware.robot import RobotModel

FR3 = RobotModel.from_profile("fr3")
Mode = enum.Enum("Mode", ["Idle", "Move", "Guiding", "Reflex", "UserStopped"])


class FrankaError(Exception):
    pass


class Arm:
    """Answers with one scripted state after the other; the last one ends the driver."""

    def __init__(self, channel, *steps):
        self.channel, self.steps, self.time, self.recovered = channel, list(steps), 0.0, 0
        self.reports, self.finished = [], False

    def read_once(self):
        step = {"mode": Mode.Idle, "dq": np.zeros(7), "after": 0.001, "now": "", "last": ""} | self.steps[0]
        if len(self.steps) > 1:
            del self.steps[0]
        else:
            self.channel.put_request(leave=True)
        if report := self.channel.take_report():
            self.reports.append((report["state"], report["detail"]))
        for put in step.get("put", ()):
            put(self.channel)
        if error := step.get("error"):
            raise error
        self.time += step["after"]
        time, zeros = self.time, np.zeros(7)
        return SimpleNamespace(
            time=SimpleNamespace(to_sec=lambda: time), robot_mode=step["mode"], control_command_success_rate=0.75,
            q=FR3.home, dq=step["dq"], tau_J=zeros + 1.0, tau_J_d=FR3.gravity(FR3.home),
            tau_ext_hat_filtered=zeros + 2.0, current_errors=step["now"], last_motion_errors=step["last"],
            m_load=0.2, F_x_Cload=zeros[:3], I_load=zeros,
        )  # fmt: skip

    def start_torque_control(self):
        return SimpleNamespace(readOnce=lambda: (self.read_once(), 0.001), writeOnce=self.write)

    def write(self, torques):
        self.finished = torques.motion_finished

    def automatic_error_recovery(self):
        self.recovered += 1


@pytest.fixture(autouse=True)
def bindings(monkeypatch):
    """A module pylibfranka whose arm is `made`, or the error that it raises."""
    errors = ("NetworkException", "CommandException", "ControlException")
    module = SimpleNamespace(
        RobotMode=Mode, FrankaException=FrankaError, Torques=lambda values: SimpleNamespace(values=values),
        RealtimeConfig=SimpleNamespace(kIgnore="ignored", kEnforce="enforced"), __version__="0.15",
        **{name: type(name, (FrankaError,), {}) for name in errors}, made=None,
    )  # fmt: skip

    def robot(address, config):
        module.given = (address, config)
        if isinstance(module.made, Exception):
            raise module.made
        return module.made

    module.Robot = robot
    monkeypatch.setitem(sys.modules, "pylibfranka", module)
    return module


def driven(*steps, control=False):
    """The arm and all states after a driver went through the steps."""
    node = Channel()
    own = Channel(node.fds)
    arm = Arm(node, *steps)
    driver.Driver(driver.DriverSettings("arm", "fr3", control=control, arm_time=True), own, arm).run()
    if report := node.take_report():
        arm.reports.append((report["state"], report["detail"]))
    return arm, node.take_states()


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"mode": Mode.Reflex, "now": "[power]", "last": "[joint_reflex]"}, "power"),
        ({"mode": Mode.Reflex, "last": "[joint_reflex]"}, "joint_reflex"),
        ({"mode": Mode.Reflex}, "reflex"),
        ({"mode": Mode.UserStopped}, "user stop"),
        ({"mode": Mode.Guiding}, "guided"),
    ],
)
def test_an_arm_that_stopped_works_again_once_it_is_idle_or_was_recovered(step, why):
    reading, stopped = (WORKING, "reading the arm"), (STOPPED, why)
    watched, _ = driven({}, step, step, {}, {})
    assert watched.reports == [reading, stopped, reading] and not watched.recovered
    held, states = driven({"mode": Mode.Move}, step, {}, {}, {"put": [lambda node: node.put_request(recover=True)]}, {},
                          control=True)  # fmt: skip
    assert held.reports[:2] == [reading, stopped] and (WORKING, "recovered") in held.reports and held.recovered == 1
    assert WORKING not in [state for state, _ in held.reports[2 : held.reports.index((WORKING, "recovered"))]]
    assert set(states["phase"][:4]) == {WATCHING} and held.finished


def test_states_are_shared_with_those_that_were_lost_of_an_arm_that_moves():
    moving = {"mode": Mode.Move}
    _, states = driven({}, {"after": 0.01}, moving, moving | {"after": 0.004}, moving)
    assert states["lost"].tolist() == [0.0, 0.0, 0.0, 3.0, 3.0]
    np.testing.assert_allclose(states["stamp"], [0.001, 0.011, 0.012, 0.016, 0.017])
    for name, value in (("effort", 1.0), ("external", 2.0), ("q", FR3.home), ("desired", FR3.gravity(FR3.home))):
        np.testing.assert_array_equal(states[name], np.tile(value, (5, 7) if np.ndim(value) == 0 else (5, 1)))
    assert states["success_rate"].tolist() == [0.75] * 5


def test_without_a_valid_law_the_arm_brakes_and_is_then_held():
    rest, none = np.zeros(7), np.zeros((7, 7))
    own = LocalLaw(FR3.joint_names, rest, rest, none, none, FR3.home, rest, 0.004, 0.0025, 1, control.Mode.ANTE)
    put = {"put": [lambda node: node.put_law(own)]}
    steps = [{}, {"dq": np.full(7, 0.2)}, {}, put, put, {}, {"dq": np.full(7, 0.2)}]
    _, states = driven(*steps, *[{}] * 4, control=True)
    assert states["phase"].tolist()[:6] == [BRAKING, HOLDING, FOLLOWING, FOLLOWING, FOLLOWING, BRAKING]
    # The same law once more is not newer.
    assert states["refused"].tolist()[2:5] == [0.0, 1.0, 1.0] and states["sequence"].tolist()[1:3] == [0.0, 1.0]
    assert (states["sent_time"] >= states["law_time"]).all() and (states["law_time"] > 0.0).all()


def test_a_reflex_in_motion_is_reported_by_its_name_and_before_any_state_after_it():
    stop = {"error": FrankaError("libfranka: Move command aborted: motion aborted by reflex! [\"joint_reflex\"]")}
    arm, states = driven({}, {}, {}, stop, {"mode": Mode.Reflex}, {"mode": Mode.Reflex}, control=True)
    assert (STOPPED, "joint_reflex") in arm.reports
    assert states["phase"].tolist() == [HOLDING, HOLDING, WATCHING]
    assert np.diff(states["report"]).tolist() == [0.0, 1.0]


def test_recovery_is_nothing_where_nothing_has_stopped_and_a_refused_one_is_reported(bindings, monkeypatch):
    recover = {"put": [lambda node: node.put_request(recover=True)]}
    arm, _ = driven({}, recover, {})
    assert arm.reports[1] == (WORKING, "no error: nothing to recover from") and not arm.recovered

    def refuse(arm):
        raise bindings.CommandException("libfranka: not now.")

    monkeypatch.setattr(Arm, "automatic_error_recovery", refuse)
    arm, _ = driven({"mode": Mode.Reflex}, recover | {"mode": Mode.Reflex}, {})
    assert (STOPPED, "reflex; recovery refused: not now") in arm.reports


@pytest.mark.parametrize(
    ("made", "code", "said"),
    [
        (RuntimeError("libfranka: no route"), 2, "arm: got 10.0.0.9: no route, expected a Franka with FCI active"),
        (RuntimeError("libfranka: Incompatible version"), 2, "an arm that speaks the version of pylibfranka 0.15"),
        ([{"error": FrankaError("libfranka: UDP timed out.")}], 1, "UDP timed out"),
        ([{}], 0, ""),
    ],
)
def test_what_ends_the_process_is_its_last_report(bindings, monkeypatch, made, code, said):
    for owner, name in ((driver.gc, "freeze"), (driver.gc, "disable"), (driver.signal, "signal")):
        monkeypatch.setattr(owner, name, lambda *given: None)
    scheduled = []
    monkeypatch.setattr(driver.os, "sched_setscheduler", lambda _, policy, own: scheduled.append(own.sched_priority))
    node, connects = Channel(), isinstance(made, list)
    bindings.made = Arm(node, *made) if connects else made
    assert driver.main(driver.DriverSettings("10.0.0.9", "fr3"), Channel(node.fds)) == code
    report = node.take_report()
    assert report["state"] == ENDED and (said in report["detail"] if said else not report["detail"])
    assert bindings.given == ("10.0.0.9", "enforced") and scheduled == [80] * connects


def test_real_time_is_enforced_unless_it_is_to_be_ignored(bindings):
    bindings.made = RuntimeError("libfranka: Running kernel does not have realtime capabilities.")
    with pytest.raises(InvalidInputError, match="realtime: got enforce: Running .*, expected a real-time kernel"):
        connect("arm")
    bindings.made = Arm(Channel(), {})
    assert connect("arm", "ignore") is bindings.made and bindings.given == ("arm", "ignored")


def test_a_long_report_fits_into_its_record():
    node = Channel()
    Channel(node.fds).put_report(STOPPED, 2000 * "x")
    assert node.take_report()["detail"] == 300 * "x"


def test_an_arm_is_prepared_with_what_its_task_needs(bindings):
    made, left = (preparation("dual_arm_grab", "fr3", arm, stiffness=2e4) for arm in ("right", "left"))
    stiff = preparation("dual_arm_grab", "fr3", "right")
    assert (made.impact.arm, left.impact.arm) == ("right", "left") and made.load.thresholds != stiff.load.thresholds
    calls = {}
    arm = Arm(Channel(), {})
    for name in ("set_load", "set_collision_behavior", "set_joint_impedance"):
        setattr(arm, name, lambda *given, name=name: calls.update({name: given}))
    bindings.made = arm
    assert prepare(made, "arm")["load_mass"] == 0.2
    torque, force = made.load.thresholds
    assert calls["set_load"] == (made.mass, made.center, made.inertia)
    assert calls["set_collision_behavior"] == (torque, torque, force, force)
    assert calls["set_joint_impedance"] == ([3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0],)
