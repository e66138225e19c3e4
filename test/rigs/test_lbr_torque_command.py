"""The emulator of lbr_fri_ros2_stack's torque commands does what that one's sources do.

Beside each test: the lines of 2.1.2 that say so.
"""

from __future__ import annotations

import numpy as np
import pytest

from impact_aware_rigs.emulators.controller_manager import ControllerManager, LoadedController
from impact_aware_rigs.emulators.lbr_torque_command import LbrTorqueCommand

MEASURED = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7])
POSITION = MEASURED + 0.01
TORQUE = np.array([1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0])


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
