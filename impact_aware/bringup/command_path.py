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


def watchdog_parameters(interface: str, commands: str, controller: str) -> dict[str, Any]:
    """What `command_watchdog` is told of the controller that it takes off an arm.

    Args:
        interface: What the arms are commanded by.
        commands: Topic of an arm's commands; empty for that of the interface.
        controller: The controller's name; empty for the node whose private topic the commands are.

    Raises:
        InvalidInputError: Nobody said which controller it is.
    """
    topic = commands or COMMAND_TOPICS[interface]
    usual = {"linear_feedback": "linear_feedback_controller"}
    owner = topic.rpartition("/")[0].rpartition("/")[2]
    name = controller or owner or usual.get(interface, "")
    if not name:
        expected = f"the name of the controller that takes {topic}, for the watchdog; or watchdog:=false"
        raise InvalidInputError("controller", "nothing", expected)
    return {"controllers": [name]}
