"""Takes controllers of ros2_control off an arm through the services of its controller manager.

What the services do was read in controller_manager.cpp of ros2_control 4.46.0 and 6.8.0 (`switch_controller_cb`): a
STRICT switch is refused as a whole, with nothing deactivated, when one of its controllers does not exist or is not
active; a BEST_EFFORT switch deactivates the others all the same. So the second follows a refusal of the first. An
inactive controller writes nothing to its interfaces any more, and what the arm then does is its driver's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from impact_aware.nodes.ros.messages import service_class

LIST_PERIOD = 0.5
"""Wall time between two looks at what controllers there are, s."""

ANSWER_TIMEOUT = 2.0
"""Wall time after which an answer is not waited for any more, s."""

RETRY_PERIOD = 0.1
"""Wall time between two attempts while nobody has confirmed that the controllers are off, s."""

SWITCH_TIMEOUT = 1.0
"""Time that the controller manager has for a switch, s."""

_LOADED = ("inactive", "active")


class Outcome(StrEnum):
    """How far the controllers are off."""

    ON = "on"
    ASKED = "asked"
    OFF = "off"


class ControllerSwitch:
    """The controllers of one controller manager.

    Attributes:
        outcome: Of `deactivate`.
        said: What the controller manager said to it last.
    """

    def __init__(self, node: Node, manager: str, controllers: Sequence[str]) -> None:
        """Begin to look for the controllers.

        Args:
            node: On whose executor the answers come.
            manager: Name of the controller manager's node, relative to the node's namespace.
            controllers: Those that command the arm.

        Raises:
            InvalidInputError: The package of the services is not installed.
        """
        self._node, self._controllers = node, list(controllers)
        self._service = service_class("controller_manager_msgs/srv/SwitchController")
        listing = service_class("controller_manager_msgs/srv/ListControllers")
        self._manager = node.resolve_service_name(manager)
        self._switch = node.create_client(self._service, f"{manager}/switch_controller")
        self._list = node.create_client(listing, f"{manager}/list_controllers")
        self._list_request = listing.Request()
        self._asked_list = self._asked = -ANSWER_TIMEOUT
        self._listing: Future | None = None
        self._switching: Future | None = None
        self._lacks = f"{self._manager} has not answered yet"
        self._strict = True
        self.outcome = Outcome.ON
        self.said = ""

    def lacks(self) -> str:
        """Why the controllers could not be deactivated if they had to be, in one sentence; empty when they could."""
        return self._lacks

    def look(self) -> None:
        """Go on, now and then: with asking what controllers there are, or with deactivating them."""
        now = time.monotonic()
        if self.outcome is Outcome.ASKED:
            self._look_at_switch(now)
        elif now - self._asked_list >= LIST_PERIOD:
            self._look_at_list(now)

    def deactivate(self) -> None:
        """Ask for it now, and with each `look` until it is confirmed."""
        self.outcome, self._strict, self.said = Outcome.ASKED, True, ""
        self._switching, self._asked = None, -ANSWER_TIMEOUT
        self.look()

    def forget(self) -> None:
        """The controllers may be active again."""
        self.outcome, self.said = Outcome.ON, ""

    def _look_at_list(self, now: float) -> None:
        if self._listing is not None and not self._listing.done() and now - self._asked_list < ANSWER_TIMEOUT:
            return
        if self._listing is not None and not self._listing.done():
            self._list.remove_pending_request(self._listing)
            self._lacks = f"{self._manager} does not say what controllers there are"
        self._asked_list, self._listing = now, None
        if not _both_there(self._list, self._switch):
            self._lacks = f"there is no {self._manager}: does the controller manager run?"
            return
        self._listing = self._list.call_async(self._list_request)
        self._listing.add_done_callback(self._on_list)

    def _on_list(self, future: Future) -> None:
        answer = future.result()
        if answer is None or self.outcome is Outcome.ASKED:
            return
        states = {own.name: own.state for own in answer.controller}
        wrong = [f"{name} is {states.get(name, 'not loaded')}" for name in self._controllers]
        wrong = [text for name, text in zip(self._controllers, wrong, strict=True) if states.get(name) not in _LOADED]
        self._lacks = f"{', '.join(wrong)} in {self._manager}" if wrong else ""

    def _look_at_switch(self, now: float) -> None:
        pending = self._switching is not None and not self._switching.done()
        if now - self._asked < (ANSWER_TIMEOUT if pending else RETRY_PERIOD):
            return
        if pending and self._switching is not None:
            self._switch.remove_pending_request(self._switching)
            self.said = f"{self._manager} does not answer"
        self._asked, self._switching = now, None
        if not self._switch.service_is_ready():
            self.said = f"there is no {self._manager}"
            return
        self._switching = self._switch.call_async(self._request())
        self._switching.add_done_callback(self._on_switch)

    def _request(self) -> Any:
        request = self._service.Request(deactivate_controllers=self._controllers, activate_asap=True)
        request.strictness = request.STRICT if self._strict else request.BEST_EFFORT
        request.timeout.sec = int(SWITCH_TIMEOUT)
        return request

    def _on_switch(self, future: Future) -> None:
        answer = future.result()
        if answer is None or self.outcome is not Outcome.ASKED:
            return
        # Humble's answer has no message.
        words = getattr(answer, "message", "").strip()
        if answer.ok:
            self.outcome = Outcome.OFF
            self.said = f"{', '.join(self._controllers)} deactivated" if self._strict else "no controller active"
        elif self._strict:
            # As a whole refused: one of them is not active, say. The others must go all the same, and at once.
            self._strict, self._asked = False, -ANSWER_TIMEOUT
            self.said = words or "a strict switch was refused"
            self._switching = None
            self._look_at_switch(time.monotonic())
        else:
            self.said = words or f"{self._manager} refused"


def _both_there(*clients: Client) -> bool:
    return all(client.service_is_ready() for client in clients)
