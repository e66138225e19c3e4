"""The watchdog of the commands: when it stops the arms, through which services, and what its heartbeat does."""

from types import SimpleNamespace

import numpy as np
import pytest
from controller_manager_msgs.srv import ListControllers, SwitchController
from impact_aware_msgs.msg import ControllerState, Heartbeat
from node_harness import call, send, status
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from impact_aware.control import Mode
from impact_aware.control.command_watch import LawAge
from impact_aware.control.local_law import LocalLaw
from impact_aware.errors import InvalidInputError
from impact_aware.messages.local_law import law_to_message
from impact_aware.nodes import command_watchdog
from impact_aware.nodes.command_watchdog import CommandWatchdogNode
from impact_aware.robot import RobotModel
from impact_aware.ros import controller_switch
from impact_aware.ros.messages import ROS
from impact_aware_rigs.emulators.controllers import ControllerManager, LoadedController

PANDA = RobotModel.from_profile("panda")
LOOK = command_watchdog.LOOK_PERIOD

# Between two looks, so that rounding decides nothing.
TIMES = {"command_timeout": 0.022, "repeat_timeout": 0.102}


class Cell:
    """A watchdog, the controller managers of its arms in a node of their own, and a clock that a test sets."""

    def __init__(self, monkeypatch, settings: dict, managers: tuple[str, ...], active: dict[str, bool]) -> None:
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        for module in (command_watchdog, controller_switch):
            monkeypatch.setattr(module, "time", clock)
        made = command_watchdog.Settings(**(TIMES | settings))
        monkeypatch.setattr(command_watchdog, "load_settings", lambda node, kind: made)
        self.driver = Node("driver")
        self.active = {f"{manager}/{name}": value for manager in managers for name, value in active.items()}
        self.requests: list[tuple[str, list[str], int]] = []
        for manager in managers:
            self._offer(manager, list(active))
        self.watchdog = CommandWatchdogNode()
        self.watchdog._diagnostics = SimpleNamespace(report=lambda: None)
        self.beats: list[Heartbeat] = []
        self.watchdog._heartbeats._publishers = [SimpleNamespace(publish=self.beats.append)]
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.driver)
        self.executor.add_node(self.watchdog)
        for timer in self.watchdog.timers:
            timer.cancel()
        self.sent = 0

    def _offer(self, manager: str, names: list[str]) -> None:
        loaded = {
            name: LoadedController(
                switch=lambda value, key=f"{manager}/{name}": self.active.update({key: value}),
                is_active=lambda key=f"{manager}/{name}": self.active[key],
            )
            for name in names
        }
        emulator = ControllerManager(loaded)

        def switch(request, response):
            self.requests.append((manager, list(request.deactivate_controllers), request.strictness))
            assert not request.activate_controllers
            response.ok, response.message = emulator.switch_off(request.deactivate_controllers, request.strictness)
            return response

        def listing(_request, response):
            from controller_manager_msgs.msg import ControllerState as Listed

            response.controller = [Listed(name=name, state=state) for name, state in emulator.states().items()]
            return response

        self.driver.create_service(SwitchController, f"{manager}/switch_controller", switch)
        self.driver.create_service(ListControllers, f"{manager}/list_controllers", listing)

    def spin(self) -> None:
        """Pass on what is under way."""
        for _ in range(60):
            self.executor.spin_once(timeout_sec=0.002)

    def look(self, count: int = 1, *, send: bool = False, arm: int = 0) -> None:
        for _ in range(count):
            if send:
                self.command(arm=arm)
            self.now += LOOK
            self.watchdog._look()

    def command(self, values=None, arm: int = 0) -> None:
        """One of the efforts, which differs from the last."""
        self.sent += 1
        values = np.full(PANDA.n, 1.0 + 1e-3 * self.sent) if values is None else values
        self.receive(serialize_message(Float64MultiArray(data=[float(value) for value in values])), arm)

    def receive(self, serialized: bytes, arm: int = 0) -> None:
        watch = self.watchdog.watches[arm]
        self.watchdog._on_command(watch, self.watchdog._reader(PANDA.limits.effort)[1], serialized)

    def ready(self) -> None:
        """Until the controllers are known to be there."""
        for _ in range(100):
            self.now += 1.0
            self.watchdog._look()
            self.spin()
            if not self.watchdog.state()[1]:
                return
        pytest.fail(self.watchdog.state()[1])

    def close(self) -> None:
        self.executor.shutdown()
        self.watchdog.destroy_node()
        self.driver.destroy_node()


@pytest.fixture
def make_cell(ros_context, monkeypatch):
    made = []

    def make(managers=("controller_manager",), active=None, **settings) -> Cell:
        made.append(Cell(monkeypatch, settings, managers, active or {"effort_controller": True, "broadcaster": True}))
        return made[-1]

    yield make
    for cell in made:
        cell.close()


@pytest.fixture
def cell(make_cell):
    made = make_cell()
    made.ready()
    return made


STRICT, BEST_EFFORT = SwitchController.Request.STRICT, SwitchController.Request.BEST_EFFORT


def test_commands_that_stop_take_the_controller_off_the_arm_and_nothing_else(cell):
    cell.look(50, send=True)
    cell.look(11)
    cell.spin()
    assert cell.requests == []
    cell.look(1)
    cell.spin()
    assert cell.requests == [("controller_manager", ["effort_controller"], STRICT)]
    assert cell.active == {"controller_manager/effort_controller": False, "controller_manager/broadcaster": True}
    level, sentence, values = status(cell.watchdog)
    assert level == command_watchdog.ERROR
    assert sentence == "stopped the arms: no command on /effort_controller/commands for 24 ms"
    assert values["controllers"] == "effort_controller deactivated"
    assert cell.beats[-1].state == Heartbeat.STATE_STOPPED
    assert "no command" in cell.beats[-1].detail


def test_it_stays_stopped_when_commands_come_again_until_it_is_reset(cell):
    cell.look(5, send=True)
    cell.look(12)
    cell.spin()
    cell.look(100, send=True)
    assert cell.watchdog.state()[0] == Heartbeat.STATE_STOPPED
    assert len(cell.requests) == 1, "asked once, as it was confirmed"
    answer = call(cell.watchdog, "~/reset", Trigger.Request())
    assert answer.success
    assert cell.watchdog.state()[0] == Heartbeat.STATE_WORKING
    assert status(cell.watchdog)[2]["controllers"] == str(controller_switch.Outcome.ON)
    cell.look(5, send=True)
    cell.look(12)
    cell.spin()
    # The controller was not activated meanwhile, of which only the strict switch complains.
    assert [strictness for _, _, strictness in cell.requests] == [STRICT, STRICT, BEST_EFFORT]


def test_a_controller_that_ends_in_order_is_no_fault(cell):
    cell.look(5, send=True)
    send(cell.watchdog, "controller_state", ControllerState(mode=ControllerState.MODE_HOLD))
    cell.look(4)
    send(cell.watchdog, "controller_state", ControllerState(mode=ControllerState.MODE_IDLE))
    cell.look(100)
    cell.spin()
    assert cell.requests == []
    assert cell.watchdog.state()[0] == Heartbeat.STATE_WORKING


def test_a_command_that_is_none_stops_at_once(cell):
    cell.look(5, send=True)
    cell.command([1.0, 400.0] + [1.0] * 5)
    cell.spin()
    assert not cell.active["controller_manager/effort_controller"]
    assert "400 N m at joint 2, which may have 87" in cell.watchdog.state()[1]


def test_bytes_that_are_no_message_stop_at_once(cell):
    cell.receive(b"\x00\x01\x00\x00\x07")
    assert "can't be decoded" in cell.watchdog.state()[1] or "torques for 7 joints" in cell.watchdog.state()[1]


def test_the_same_torque_for_a_tenth_of_a_second_is_a_controller_that_hangs(cell):
    cell.look(5, send=True)
    for _ in range(53):
        cell.command(np.full(PANDA.n, 0.5))
        cell.look(1)
    assert "the same command on /effort_controller/commands for 104 ms" in cell.watchdog.state()[1]


def test_one_of_the_controllers_is_off_already_and_the_others_go_all_the_same(make_cell):
    cell = make_cell(active={"effort_controller": True, "idle": False}, controllers=["effort_controller", "idle"])
    cell.ready()
    cell.look(5, send=True)
    cell.look(12)
    cell.spin()
    names = ["effort_controller", "idle"]
    assert cell.requests == [("controller_manager", names, STRICT), ("controller_manager", names, BEST_EFFORT)]
    assert not any(cell.active.values())
    assert "confirmed" not in status(cell.watchdog)[1]


def test_it_asks_again_until_somebody_confirms(cell):
    cell.look(5, send=True)
    answers = cell.watchdog.switches[0]
    ready, answers._client = answers._client, SimpleNamespace(service_is_ready=lambda: False)
    cell.look(12)
    cell.spin()
    assert status(cell.watchdog)[1].endswith("but not confirmed")
    assert status(cell.watchdog)[2]["controllers"] == "there is no /controller_manager"
    answers._client = ready
    cell.look(60)
    cell.spin()
    assert not cell.active["controller_manager/effort_controller"]
    assert "confirmed" not in status(cell.watchdog)[1]


def test_a_fault_of_one_arm_stops_both(make_cell):
    cell = make_cell(("left/controller_manager", "right/controller_manager"), arms=["left", "right"])
    cell.ready()
    for _ in range(10):
        cell.command(arm=0)
        cell.command(arm=1)
        cell.look(1)
    cell.look(12, send=True, arm=0)
    cell.spin()
    assert "no command on /right/effort_controller/commands" in cell.watchdog.state()[1]
    assert {name for name, active in cell.active.items() if not active} == {
        "left/controller_manager/effort_controller",
        "right/controller_manager/effort_controller",
    }


@pytest.mark.parametrize(
    ("managers", "settings", "words"),
    [
        ((), {}, "there is no /controller_manager: does the controller manager run?"),
        (("controller_manager",), {"controllers": ["other"]}, "other is not loaded in /controller_manager"),
        (("controller_manager",), {"stop_services": ["halt"]}, "there is no /halt"),
    ],
)
def test_what_it_lacks_is_said_and_is_no_work(make_cell, managers, settings, words):
    cell = make_cell(managers, **settings)
    for _ in range(20):
        cell.now += 1.0
        cell.watchdog._look()
        cell.spin()
    state, detail = cell.watchdog.state()
    assert (state, detail) == (Heartbeat.STATE_WAITING, words)


def test_the_driver_is_stopped_too(make_cell):
    cell = make_cell(stop_services=["halt"])
    asked = []
    cell.driver.create_service(Trigger, "halt", lambda request, response: (asked.append(1), response)[1])
    cell.ready()
    cell.look(5, send=True)
    cell.look(12)
    cell.spin()
    assert asked == [1]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"controller_manager": ""}, "a controller manager or a stop service"),
        ({"arms": ["a", "b", "c"], "robots": ["panda", "fr3"]}, "one profile for all arms, or 3"),
    ],
)
def test_settings_with_which_nothing_could_be_stopped_are_refused(make_cell, settings, words):
    with pytest.raises(InvalidInputError, match=words):
        make_cell(**settings)


def law(stamp: float, **changes) -> bytes:
    values = {"effort": np.ones(7), "effort_rate": np.ones(7), "position_gain": np.eye(7), "velocity_gain": np.eye(7)}
    values |= {"position": np.zeros(7), "velocity": np.zeros(7), "validity": 0.05, "sequence": 1, "mode": Mode.ANTE}
    made = LocalLaw(joint_names=PANDA.joint_names, stamp=stamp, **(values | changes))
    return serialize_message(law_to_message(made, ROS, frame="base"))


def test_laws_are_told_apart_by_their_stamps(make_cell):
    cell = make_cell(command_interface="local_law")
    cell.ready()
    for index in range(120):
        cell.receive(law(5.0 + 0.004 * index))
        cell.look(1)
    assert cell.watchdog.state()[0] == Heartbeat.STATE_WORKING
    for _ in range(53):
        cell.receive(law(5.476, effort=np.full(7, 2.0)))
        cell.look(1)
    assert "the same command on /local_law" in cell.watchdog.state()[1]


def test_a_law_over_the_torques_of_the_arm_is_none(make_cell):
    cell = make_cell(command_interface="local_law")
    cell.ready()
    cell.receive(law(5.0, effort=np.full(7, 200.0)))
    assert "200 N m at joint" in cell.watchdog.state()[1]


def control(stamp: float, feedforward: list[float], gains: list[float]) -> SimpleNamespace:
    """A Control of linear_feedback_controller_msgs, as far as it is looked at."""
    made = SimpleNamespace(
        header=SimpleNamespace(stamp=SimpleNamespace(sec=int(stamp), nanosec=round(stamp % 1 * 1e9)))
    )
    made.feedforward, made.feedback_gain = SimpleNamespace(data=feedforward), SimpleNamespace(data=gains)
    return made


@pytest.mark.parametrize(
    ("feedforward", "gains", "words"),
    [
        ([1.0] * 7, [2.0] * 98, ""),
        ([1.0] * 6, [2.0] * 98, "6 torques for 7 joints"),
        ([1.0] * 7, [2.0] * 49, "49 gains for 7 joints, 0 not finite"),
        ([1.0] * 7, [np.nan] * 2 + [2.0] * 96, "98 gains for 7 joints, 2 not finite"),
    ],
)
def test_laws_for_the_linear_feedback_controller_which_looks_at_nothing(monkeypatch, feedforward, gains, words):
    monkeypatch.setattr(command_watchdog, "decoded", lambda serialized, kind: serialized)
    now = 100.0
    age = LawAge(lambda: now)
    read = lambda stamp: command_watchdog._read_control(  # noqa: E731
        None, PANDA.limits.effort, age, control(stamp, feedforward, gains)
    )
    assert read(99.99) == (pytest.approx(99.99), words)
    assert read(99.0)[1] == (words or "a law of 1000 ms ago")


def test_heartbeats_are_counted_and_tell_starts_apart(cell, make_cell):
    before = len(cell.beats)
    cell.look(50, send=True)
    assert len(cell.beats) == before + 5
    counts = [beat.count for beat in cell.beats]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    other = make_cell()
    other.look(10)
    assert other.beats[0].session != cell.beats[0].session


@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_only_after_the_arms_were_brought_to_rest_or_stopped(cell, stopped):
    cell.look(5, send=True)
    cell.watchdog.prepare_stop()
    cell.look(3)
    assert not cell.watchdog.finished
    if stopped:
        cell.command([400.0] * PANDA.n)
    else:
        send(cell.watchdog, "controller_state", ControllerState(mode=ControllerState.MODE_IDLE))
    cell.look(1)
    assert cell.watchdog.finished
