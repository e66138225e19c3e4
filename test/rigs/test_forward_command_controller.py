"""The emulator of ros2_control's forward command controller does what that one's source does."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray

from impact_aware.errors import InvalidInputError
from impact_aware_rigs.emulators.forward_controller import ForwardCommandController


@pytest.fixture
def controller():
    made = ForwardCommandController(3)
    made.activate()
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
    controller.deactivate()
    controller.activate()
    assert controller.update() is None
    controller.receive([4.0, 5.0, 6.0])
    np.testing.assert_array_equal(controller.update(), [4.0, 5.0, 6.0])


def test_a_controller_without_joints_is_refused():
    with pytest.raises(InvalidInputError, match="joints"):
        ForwardCommandController(0)


def test_the_node_passes_commands_on_and_says_what_it_dropped(ros_context, monkeypatch):
    from impact_aware_rigs.emulators import forward_command_controller as module

    monkeypatch.setattr(module, "load_settings", lambda *_: module.Settings(joints=["a", "b"], lockstep=True))
    node = module.ForwardCommandControllerNode()
    sent: list[list[float]] = []
    hardware = 0
    node._publisher = SimpleNamespace(
        publish=lambda message: sent.append(list(message.data)), get_subscription_count=lambda: hardware
    )
    try:
        node._update()
        assert "effort_controller/commands" not in [own.topic_name.strip("/") for own in node.subscriptions]
        assert node._status()[1] == "waiting for the hardware"
        hardware = 1
        node._update()
        assert "effort_controller/commands" in [own.topic_name.strip("/") for own in node.subscriptions]
        for values in ([1.0, 2.0], [math.nan, 0.0], [], [3.0, 4.0]):
            node._on_command(Float64MultiArray(data=values))
            node._update()
        assert sent == [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]
        node._on_command(Float64MultiArray(data=[-5.0, 3.0]))
        values = node._status()[2]
        # Of the four that were accepted: 1 2, 3 4 and -5 3.
        assert (values["largest"], values["largest_change"]) == ("5 4", "8 2")
        assert (values["dropped"], values["errors"], values["active"]) == (1, 0, True)
        assert node._status()[0] == b"\x01"
        node._on_command(Float64MultiArray(data=[1.0]))
        node._update()
        assert node._status()[0] == b"\x02"
    finally:
        node.destroy_node()
