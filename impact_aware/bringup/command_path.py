"""Where an arm's commands go, and which of ros2_control's controllers takes them there."""

from __future__ import annotations

from typing import Any

from impact_aware.errors import InvalidInputError

COMMAND_TOPICS = {
    "effort": "effort_controller/commands",
    "local_law": "local_law",
    "linear_feedback": "control",
}
"""Topic of an arm's commands, by their interface."""

OVERLAY = "lbr_torque"
"""What `command_watchdog` watches where `kuka_fri_relay` stands between the controller and the driver."""

OVERLAY_TOPIC, OVERLAY_TYPE = "command/torque", "lbr_fri_idl/msg/LBRTorqueCommand"
"""Where lbr_torque_command_controller of lbr_fri_ros2_stack 2.1.2 takes torques, below the arm's namespace."""

RELAYS = {"kuka_fri_relay": OVERLAY}
"""Executables that pass efforts on to a driver in another form, and what is watched behind them."""

DRIVERS = ("franka_fci_relay",)
"""Executables that are an arm's driver themselves: they publish its states and apply laws."""

WATCHED_TOPICS = {**COMMAND_TOPICS, OVERLAY: OVERLAY_TOPIC}
"""Command topics, including those behind relays, by interface."""


def watchdog_parameters(
    interface: str, commands: str, controller: str, relay: str = "", component: str = ""
) -> dict[str, Any]:
    """Return the parameters by which `command_watchdog` knows the controller that it deactivates.

    Args:
        interface: What the arms are commanded by.
        commands: Topic of an arm's commands; empty for that of the interface.
        controller: The controller's name; empty for the node whose private topic the commands are.
        relay: Executable between the commands and that controller; empty for none.
        component: Hardware component that is taken off too; empty for none.

    Raises:
        InvalidInputError: The name of the controller is not given.
    """
    topic = commands or COMMAND_TOPICS[interface]
    usual = {"linear_feedback": "linear_feedback_controller"}
    owner = topic.rpartition("/")[0].rpartition("/")[2]
    name = controller or owner or usual.get(interface, "")
    if not name:
        expected = f"the name of the controller that takes {topic}, for the watchdog; or watchdog:=false"
        raise InvalidInputError("controller", "nothing", expected)
    more: dict[str, Any] = {"hardware_components": [component]} if component else {}
    return {"controllers": [name], **more, **({"command_interface": RELAYS[relay]} if relay else {})}
