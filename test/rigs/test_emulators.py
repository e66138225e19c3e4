"""Emulated controllers and their manager do what their sources do; beside each test the lines that say so.

Lines are those of controller_manager.cpp of ros2_control 6.8.0 and of lbr_fri_ros2_stack 2.1.2.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray

from impact_aware.errors import InvalidInputError
from impact_aware_rigs.emulators import forward_command_controller as module
from impact_aware_rigs.emulators.controllers import (
    BEST_EFFORT,
    LATE,
    NOTHING_TO_DO,
    STRICT,
    CommandRecord,
    ControllerManager,
    ForwardCommandController,
    LbrTorqueCommand,
    LoadedController,
)

MEASURED = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7])
POSITION = MEASURED + 0.01
TORQUE = np.array([1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0])


@pytest.fixture
def controller():
    made = ForwardCommandController(3)
    made.switch(True)
    return made


def test_nothing_is_written_before_the_first_message(controller):
    assert controller.update() is None
    controller.receive([])
    assert controller.update() is None, "an empty message counts as none"
    assert controller.active


def test_the_last_command_is_written_for_ever(controller):
    controller.receive([1.0, 2.0, 3.0])
    for _ in range(1000):
        np.testing.assert_array_equal(controller.update(), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_message_with_a_value_that_is_not_finite_is_dropped_whole(controller, bad):
    controller.receive([1.0, 2.0, 3.0])
    controller.receive([9.0, bad, 9.0])
    np.testing.assert_array_equal(controller.update(), [1.0, 2.0, 3.0])
    assert controller.dropped == 1


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_command_of_the_wrong_size_is_an_error_that_ends_it_with_the_last_values_left(controller, size):
    controller.receive([1.0, 2.0, 3.0])
    controller.update()
    controller.receive([5.0] * size)
    assert controller.update() is None
    assert (controller.active, controller.errors) == (False, 1)
    controller.receive([1.0, 2.0, 3.0])
    assert controller.update() is None
    np.testing.assert_array_equal(controller.interfaces, [1.0, 2.0, 3.0])


def test_activated_again_it_waits_for_a_new_command(controller):
    controller.receive([1.0, 2.0, 3.0])
    controller.switch(False)
    controller.switch(True)
    assert controller.update() is None
    controller.receive([4.0, 5.0, 6.0])
    np.testing.assert_array_equal(controller.update(), [4.0, 5.0, 6.0])


def test_a_controller_without_joints_is_refused():
    with pytest.raises(InvalidInputError, match="joints"):
        ForwardCommandController(0)


def test_the_node_passes_commands_on_and_says_what_it_dropped(ros_context, monkeypatch):
    monkeypatch.setattr(module, "load_settings", lambda *_: module.Settings(joints=["a", "b"], lockstep=True))
    node = module.ForwardCommandControllerNode()
    sent: list[list[float]] = []
    hardware = 0
    node.hardware = SimpleNamespace(
        publish=lambda message: sent.append(list(message.data)), get_subscription_count=lambda: hardware
    )
    try:
        node.update()
        assert "effort_controller/commands" not in [own.topic_name.strip("/") for own in node.subscriptions]
        assert node._status()[1] == "waiting for the hardware"
        hardware = 1
        node.update()
        assert "effort_controller/commands" in [own.topic_name.strip("/") for own in node.subscriptions]
        for values in ([1.0, 2.0], [math.nan, 0.0], [], [3.0, 4.0]):
            node._on_command(Float64MultiArray(data=values))
            node.update()
        assert sent == [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]
        node._on_command(Float64MultiArray(data=[-5.0, 3.0]))
        values = node._status()[2]
        # Of the four that were accepted: 1 2, 3 4 and -5 3.
        assert (values["largest"], values["largest_change"]) == ("5 4", "8 2")
        assert (values["dropped"], values["errors"], values["active"]) == (1, 0, True)
        assert node._status()[0] == b"\x01"
        node._on_command(Float64MultiArray(data=[1.0]))
        node.update()
        assert node._status()[0] == b"\x02"
    finally:
        node.destroy_node()


class Rig:
    def __init__(self, **active: bool) -> None:
        self.active = dict(active)
        self.manager = ControllerManager(
            {
                name: LoadedController(
                    switch=lambda value, name=name: self.active.update({name: value}),
                    is_active=lambda name=name: self.active[name],
                )
                for name in active
            }
        )


@pytest.fixture
def rig():
    return Rig(effort=True, other=True, idle=False)


@pytest.mark.parametrize("strictness", [0, STRICT, BEST_EFFORT, 3, 4])
def test_active_controllers_are_deactivated(rig, strictness):
    assert rig.manager.switch_off(["effort"], strictness) == (True, "")
    assert rig.active == {"effort": False, "other": True, "idle": False}


# "Aborting, no controller is switched! ('STRICT' switch)", with the message of the one that is not there.
@pytest.mark.parametrize("strictness", [0, STRICT])
@pytest.mark.parametrize("names", [["effort", "none"], ["none", "effort"]])
def test_a_strict_switch_with_an_unknown_name_switches_nothing(rig, strictness, names):
    ok, message = rig.manager.switch_off(names, strictness)
    assert not ok
    assert message == "Could not deactivate controller with name 'none' because no controller with this name exists"
    assert rig.active["effort"]


# "result = request_list.empty() ? ERROR : OK", anew for each name of the list.
@pytest.mark.parametrize(("names", "ok"), [(["none"], False), (["none", "effort"], True), (["effort", "none"], True)])
def test_a_best_effort_switch_goes_on_with_the_names_that_there_are(rig, names, ok):
    assert rig.manager.switch_off(names, BEST_EFFORT)[0] is ok
    assert rig.active["effort"] is not ok


# "Controller with name '{}' can not be deactivated since it is not active."; a strict switch ends with that.
def test_a_strict_switch_with_an_inactive_one_switches_nothing(rig):
    ok, message = rig.manager.switch_off(["effort", "idle"], STRICT)
    assert (ok, message) == (False, "Controller with name 'idle' can not be deactivated since it is not active.")
    assert rig.active["effort"]


# "remove controller that can not be activated from the activation request", likewise for deactivation.
def test_a_best_effort_switch_leaves_an_inactive_one_out(rig):
    assert rig.manager.switch_off(["effort", "idle"], BEST_EFFORT) == (True, "")
    assert not rig.active["effort"]


# "After checking the controllers, no controllers need to be activated or deactivated.", OK.
def test_with_nothing_left_to_switch_all_is_well(rig):
    assert rig.manager.switch_off(["idle"], BEST_EFFORT) == (True, NOTHING_TO_DO)


@pytest.fixture
def lbr():
    return LbrTorqueCommand()


def sent(lbr):
    return lbr.update(MEASURED)


# "if (std::any_of(command_target_.joint_position ... isnan) || any_of(torque ... isnan)) this->init_command(state);"
@pytest.mark.parametrize("place", [None, ("position", 3), ("torque", 5)])
def test_until_all_numbers_are_there_the_arm_gets_its_position_and_no_torque(lbr, place):
    if place is not None:
        arrays = {"position": POSITION.copy(), "torque": TORQUE.copy()}
        arrays[place[0]][place[1]] = np.nan
        lbr.receive(**arrays)
    position, torque = sent(lbr)
    np.testing.assert_array_equal(position, MEASURED)
    np.testing.assert_array_equal(torque, np.zeros(7))


# "rt_lbr_torque_command_ptr_.writeFromNonRT(msg)" and, at each update, "set_value((*lbr_torque_command)->torque[idx])".
def test_the_last_message_is_written_for_ever(lbr):
    lbr.receive(POSITION, TORQUE)
    for _ in range(1000):
        torque = sent(lbr)[1]
    np.testing.assert_array_equal(torque, TORQUE)


# "command_i += pid_controllers_[i].computeCommand(command_target[i] - state[i], dt.count())"
def test_the_position_that_is_sent_stays_behind_while_the_wanted_one_follows_the_arm(lbr):
    way = np.array([0.5, -0.4, 0.3, -0.2, 0.1, 0.6, -0.7])
    sent(lbr)
    before = MEASURED
    for k in range(1, 501):
        now = MEASURED + way * k / 500
        # What the relay heard of is a cycle old.
        lbr.receive(before, TORQUE)
        position, _ = lbr.update(now)
        before = now
    np.testing.assert_allclose(position, MEASURED - 0.1 * way, atol=1e-12)


# on_deactivate: "clear_command_interfaces_()", which forgets where to write and not what; write():
# "buffer_command_target(hw_lbr_command_)", whatever controller is active.
def test_the_arm_goes_on_with_it_when_the_controller_is_off_and_a_new_message_waits(lbr):
    lbr.receive(POSITION, TORQUE)
    sent(lbr)
    lbr.active = False
    lbr.receive(POSITION, 2.0 * TORQUE)
    np.testing.assert_array_equal(sent(lbr)[1], TORQUE)
    lbr.active = True
    np.testing.assert_array_equal(sent(lbr)[1], 2.0 * TORQUE)


# SystemInterface::on_deactivate: "app_ptr_->request_stop(); app_ptr_->close_udp_socket();"
def test_without_its_component_nothing_is_sent(lbr):
    lbr.receive(POSITION, TORQUE)
    lbr.component_active = False
    assert sent(lbr) is None


# set_hardware_component_state_srv_cb of ros2_control 6.8.0: "hardware component with name '%s' does not exist",
# "response->ok = false".
def test_the_manager_sets_a_component_whatever_its_controllers_do(lbr):
    own = LoadedController(lambda value: setattr(lbr, "component_active", value), lambda: lbr.component_active)
    manager = ControllerManager({"torque": LoadedController(lambda value: None, lambda: True)}, {"lbr": own})
    assert manager.set_component("other", "inactive") == (False, "")
    assert manager.set_component("lbr", "inactive") == (True, "inactive") and not lbr.component_active
    assert manager.set_component("lbr", "inactive") == (True, "inactive")
    assert manager.set_component("lbr", "active") == (True, "active") and lbr.component_active
    assert manager.set_component("lbr", "asleep") == (False, "active")


def test_the_largest_torques_and_changes_are_those_of_each_joint():
    record = CommandRecord(2)
    for values in ([1.0, -2.0], [-4.0, 3.0], [-3.0, 2.5]):
        record.note(np.array(values))
    assert record.values()["largest"] == "4 3"
    assert record.values()["largest_change"] == "5 5"


def test_a_late_command_is_told_also_when_others_came_after_it():
    record = CommandRecord(1)
    for updates in (1, 3, LATE + 4, 2):
        record.note(np.array([1.0]))
        for _ in range(updates):
            record.written()
    assert (record.held, record.held_late) == (1, LATE + 3)
    for _ in range(LATE):
        record.written()
    assert record.held_late == record.held == LATE + 1


@pytest.mark.parametrize(("updates", "held_late"), [(5, 0), (6, 5)])
def test_a_command_is_late_from_the_fifth_update_without_a_new_one(updates, held_late):
    record = CommandRecord(1)
    record.note(np.array([1.0]))
    for _ in range(updates):
        record.written()
    assert record.held_late == held_late
