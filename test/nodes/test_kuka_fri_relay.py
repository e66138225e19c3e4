"""`kuka_fri_relay` between controller and driver, and how the watchdog stops an arm behind it."""

import dataclasses
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from lbr_fri_idl.msg import LBRTorqueCommand
from node_harness import joint_state, send, status
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

from impact_aware.bringup.hardware import load_hardware
from impact_aware.errors import InvalidInputError
from impact_aware.messages.task import task_to_message
from impact_aware.nodes import command_watchdog, kuka_fri_relay
from impact_aware.nodes.bases import NOT_KNOWN
from impact_aware.nodes.command_watchdog import CommandWatchdogNode
from impact_aware.nodes.kuka_fri_relay import KukaFriRelayNode
from impact_aware.robot import RobotModel
from impact_aware.ros.controller_switch import Outcome
from impact_aware.ros.messages import ROS
from impact_aware.task import load_task
from impact_aware.task.arms import robot_on_base
from impact_aware_rigs.emulators import lbr_torque_command_controller
from impact_aware_rigs.emulators.lbr_torque_command_controller import LbrTorqueCommandControllerNode

PANDA = RobotModel.from_profile("panda")
Q = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.7, 0.6])
DQ = np.array([0.11, -0.23, 0.17, 0.31, -0.29, 0.19, -0.37])
EFFORT = np.array([0.3, -0.7, 0.2, 0.5, -0.7, 0.9, -0.4])
KUKA = load_hardware("kuka_fri")


class Way:
    """A relay whose messages are kept, and whose clock a test sets."""

    def __init__(self, harness, monkeypatch, **settings) -> None:
        self.now, self.time = 100.0, 1.0
        monkeypatch.setattr(kuka_fri_relay, "time", SimpleNamespace(monotonic=lambda: self.now))
        made = harness(KukaFriRelayNode, **settings)
        self.node, self._published = made.node, made.sent("command/torque")

    @property
    def sent(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(np.array(message.joint_position), np.array(message.torque)) for message in self._published]

    def state(self, q=Q, dq=DQ, wait=0.002) -> None:
        self.now += wait
        self.time += wait
        # The driver's order is that of the joints; a broadcaster's is not.
        order = [4, 2, 0, 6, 1, 3, 5]
        names = [PANDA.joint_names[place] for place in order]
        send(self.node, "joint_states", joint_state(self.time, names, np.asarray(q)[order], np.asarray(dq)[order]))

    def effort(self, values=EFFORT) -> None:
        send(self.node, "~/commands", Float64MultiArray(data=[float(value) for value in values]))


@pytest.fixture
def make_way(harness, monkeypatch):
    return partial(Way, harness, monkeypatch)


@pytest.fixture
def way(make_way):
    return make_way()


def test_before_the_first_torque_each_state_is_answered_with_its_position_and_without_torque(way):
    for k in range(3):
        way.state(Q + 1e-4 * k, np.zeros(7))
    assert len(way.sent) == 3
    np.testing.assert_array_equal(way.sent[-1][0], Q + 2e-4)
    assert not np.any([torque for _, torque in way.sent])
    assert status(way.node)[1] == "no torques yet"


def test_a_torque_is_passed_on_at_once_with_the_newest_position_and_once(way):
    for k in range(30):
        way.state(Q + 1e-4 * k)
        way.effort()
    assert len(way.sent) == 31, "the first state had no torque yet"
    position, torque = way.sent[-1]
    np.testing.assert_array_equal(position, Q + 29e-4)
    np.testing.assert_allclose(torque, EFFORT, atol=1e-12)
    # Looking around in ROS' graph takes time that the arm does not have.
    assert way.node._readiness._busy()
    assert status(way.node)[1] == "passing torques on"


def test_the_base_of_the_task_is_compensated_and_nothing_is_passed_on_before_it(make_way):
    way = make_way(base_from_task=True)
    way.state(Q, np.zeros(7))
    way.effort()
    assert len(way.sent) == 1 and not way.sent[0][1].any()
    assert way.node._objection() == NOT_KNOWN
    task = load_task("hit_and_push")
    arm = dataclasses.replace(task.arms[0], base_rpy=(0.4, -0.7, 0.2))
    message = task_to_message(dataclasses.replace(task, arms=(arm,), frame="cell"), 1, 0.0, ROS)
    send(way.node, "task", message)
    expected = robot_on_base("panda", (0.4, -0.7, 0.2)).gravity(Q)
    np.testing.assert_allclose(way.node.relay._robot.gravity(Q), expected, atol=1e-12)
    assert np.abs(expected - PANDA.gravity(Q)).max() > 5.0
    for _ in range(5):
        way.state(Q, np.zeros(7))
        way.effort()
    np.testing.assert_allclose(way.sent[-1][1], EFFORT, atol=1e-12)
    # Not while torques are passed on, nor while the arm is damped after them.
    leading = way.node.relay
    send(way.node, "task", message)
    assert way.node.relay is leading
    way.now += 0.02
    way.state(Q, np.full(7, 0.3))
    assert not leading.leads
    send(way.node, "task", message)
    assert way.node.relay is leading
    # At rest it may change, and goes on from the torque that holds the arm.
    for _ in range(60):
        way.state(Q, np.zeros(7))
    way.state(Q + 0.002, np.zeros(7))
    held = leading.filter.previous
    assert held.any()
    send(way.node, "task", message)
    assert way.node.relay is not leading
    np.testing.assert_array_equal(way.node.relay.filter.previous, held)


@pytest.mark.parametrize("lockstep", [False, True])
def test_in_lockstep_each_state_is_reported_and_else_none(make_way, lockstep):
    way = make_way(lockstep=lockstep)
    assert any(own.topic_name == "/step_done" for own in way.node.publishers) is lockstep
    reported = []
    way.node._lockstep.report = lambda stamp: reported.append(stamp.nanosec)
    way.state()
    way.effort()
    way.state()
    assert reported == [2_000_000, 4_000_000]


def test_when_torques_end_the_states_are_answered_and_the_arm_is_damped(way):
    for _ in range(30):
        way.state()
        way.effort()
    count = len(way.sent)
    for _ in range(4):
        way.state()
    assert len(way.sent) == count, "a torque is still passed on"
    way.now += 0.003
    for _ in range(20):
        way.state()
    assert len(way.sent) == count + 20
    damped = PANDA.bias(Q, DQ) - PANDA.gravity(Q) - 10.0 * PANDA.mass_matrix(Q) @ DQ
    # The hold helps to brake, with 15 N m at most.
    assert 1.0 < np.abs(way.sent[-1][1] - damped).max() < 15.0 + 1e-9
    level, text, _ = status(way.node)
    assert level != command_watchdog.OK and text.startswith("holding the arm: no command for 1")


def test_the_relay_damps_before_the_watchdog_takes_its_silence_for_death():
    relay, watchdog = kuka_fri_relay.Settings(), command_watchdog.Settings()
    assert relay.command_timeout + 3.0 * relay.period < watchdog.command_timeout


def test_no_torque_goes_on_with_a_position_of_long_ago(way):
    way.state()
    way.effort()
    count = len(way.sent)
    way.now += 0.021
    way.effort()
    assert len(way.sent) == count
    assert status(way.node)[1] == "no joint_states for 21 ms: nothing is passed on"


def test_bytes_that_are_no_command_are_left_out(way):
    way.state()
    send(way.node, "~/commands", b"\x00\x01\x02")
    way.effort(EFFORT[:5])
    assert status(way.node)[1] == "holding the arm: a command that is none: 5 torques for 7 joints"


def test_it_ends_when_the_arm_rests_and_leaves_the_driver_without_torque(way):
    for _ in range(30):
        way.state()
        way.effort()
    way.node.prepare_stop()
    assert not way.node.finished
    for _ in range(30):
        way.state()
        way.effort(np.zeros(7))
    assert not way.sent[-1][1].any() and not way.node.finished, "the controller still leads the arm"
    for _ in range(60):
        way.state(dq=np.zeros(7))
    assert way.node.finished
    for _ in range(30):
        way.state()
        way.effort()
    way.node.close()
    assert not way.sent[-1][1].any() and way.sent[-2][1].any()


@pytest.mark.parametrize(
    ("robot", "words"), [("none.yaml", "existing file"), ("grown.yaml", "command_includes_gravity")]
)
def test_an_arm_that_the_driver_can_not_be_is_refused_in_one_line(make, tmp_path, robot, words):
    path = tmp_path / robot
    if robot == "grown.yaml":
        from impact_aware.resources import find_resource

        text = find_resource("config", "robots", "fr3.yaml").read_text()
        path.write_text(text.replace("command_includes_gravity: false", "command_includes_gravity: true"))
        (tmp_path / "fr3.urdf").write_text(find_resource("config", "robots", "fr3.urdf").read_text())
    with pytest.raises(InvalidInputError, match=words) as refusal:
        make(KukaFriRelayNode, robot=str(path))
    assert "\n" not in str(refusal.value)


class Cell:
    """The watchdog behind a relay, and the emulated driver whose component it takes off."""

    def __init__(self, make, monkeypatch, **settings) -> None:
        joints = list(PANDA.joint_names)
        own = lbr_torque_command_controller.Settings(joints=joints, controller_manager="controller_manager")
        monkeypatch.setattr(lbr_torque_command_controller, "load_settings", lambda node, kind: own)
        self.driver = LbrTorqueCommandControllerNode()
        usual = {"hardware_components": [KUKA.component], "command_timeout": 60.0, "repeat_timeout": 0.0}
        usual |= {"command_interface": "lbr_torque", "controllers": [KUKA.controller]}
        self.watchdog = make(CommandWatchdogNode, **usual | settings)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.driver)
        self.executor.add_node(self.watchdog)

    def until(self, condition) -> None:
        for _ in range(3000):
            if condition():
                return
            self.executor.spin_once(timeout_sec=0.005)
        pytest.fail(str(status(self.watchdog)))

    def overlay(self, torque, position=Q) -> None:
        message = LBRTorqueCommand(joint_position=np.asarray(position), torque=np.asarray(torque))
        send(self.watchdog, "command/torque", message)

    def close(self) -> None:
        self.executor.shutdown()
        self.driver.destroy_node()


@pytest.fixture
def make_cell(make, monkeypatch):
    made = []

    def make_one(**settings):
        made.append(Cell(make, monkeypatch, **settings))
        return made[-1]

    yield make_one
    for cell in made:
        cell.close()


def test_the_arm_is_stopped_by_its_controller_and_by_its_component(make_cell):
    cell = make_cell()
    cell.until(lambda: not cell.watchdog.state()[1])
    cell.overlay(EFFORT)
    assert cell.watchdog.watches[0].begun
    cell.overlay(EFFORT, np.where(np.arange(7) == 4, np.nan, Q))
    assert cell.watchdog.state()[1] == "a command that is none: a position that is not finite"
    cell.until(lambda: all(own.outcome is Outcome.OFF for own in cell.watchdog.switches))
    assert not cell.driver.lbr.active and not cell.driver.lbr.component_active
    said = status(cell.watchdog)[2]["controllers"]
    assert said == "lbr_torque_command_controller deactivated; lbr_system_interface is inactive"


def test_after_a_message_without_torque_no_other_is_expected(make_cell):
    cell = make_cell()
    cell.overlay(EFFORT)
    assert cell.watchdog.watches[0].begun
    cell.overlay(np.zeros(7))
    assert not cell.watchdog.watches[0].begun and status(cell.watchdog)[2]["stopped"] == "False"


def test_a_component_that_is_not_there_is_said_and_not_confirmed(make_cell):
    cell = make_cell(hardware_components=["lbr"])
    cell.until(lambda: not cell.watchdog.state()[1])
    cell.overlay(np.full(7, np.nan))
    cell.until(lambda: "no hardware component" in status(cell.watchdog)[2]["controllers"])
    cell.until(lambda: cell.watchdog.switches[0].outcome is Outcome.OFF)
    assert status(cell.watchdog)[1].endswith("but not confirmed")
    assert cell.driver.lbr.component_active
