"""Takes controllers of ros2_control, or a hardware component, off an arm through its controller manager's services.

What the services do was read in controller_manager.cpp of ros2_control 4.46.0 and 6.8.0 (`switch_controller_cb`,
`set_hardware_component_state_srv_cb`): a STRICT switch is refused as a whole, with nothing deactivated, when one of its
controllers does not exist or is not active; a BEST_EFFORT switch deactivates the others all the same. So the second
follows a refusal of the first. An inactive controller writes nothing to its interfaces any more, and what the arm then
does is its driver's. A component is set inactive whatever controllers use it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from impact_aware.ros.messages import service_class

ANSWER_TIMEOUT = 2.0
"""Wall time after which an answer is not waited for any more, s."""

RETRY_PERIOD = 0.1
"""Wall time between two attempts until the deactivation is confirmed, s."""

LIST_PERIOD = 0.5
"""Wall time between two requests for the list of controllers, s."""

SWITCH_TIMEOUT = 1.0
"""Time that the controller manager has for a switch, s."""

INACTIVE = "inactive"

_LOADED = (INACTIVE, "active")


class Outcome(StrEnum):
    """Progress of a deactivation."""

    ON = "on"
    REQUESTED = "requested"
    OFF = "off"


class Deactivation(ABC):
    """Deactivation through a service of a controller manager, called until it is confirmed.

    Attributes:
        outcome: Progress of `deactivate`.
        detail: The controller manager's last answer.
    """

    def __init__(self, node: Node, manager: str, service: Any, name: str) -> None:
        """Send no request yet.

        Args:
            node: On whose executor the answers come.
            manager: Name of the controller manager's node, relative to the node's namespace.
            service: Class of the service that does it.
            name: Of that service, below the manager's.
        """
        self._manager = node.resolve_service_name(manager)
        self._no_manager = f"there is no {self._manager}: does the controller manager run?"
        self._client: Client = node.create_client(service, f"{manager}/{name}")
        self._called = -ANSWER_TIMEOUT
        self._pending: Future | None = None
        self.outcome = Outcome.ON
        self.detail = ""

    @abstractmethod
    def lacks(self) -> str:
        """Why `deactivate` could not succeed now, in one sentence; empty when it could."""

    @abstractmethod
    def _request(self) -> Any:
        """The request to send."""

    @abstractmethod
    def _take(self, answer: Any) -> None:
        """Set `outcome` and `detail` from an answer."""

    def look(self) -> None:
        """Repeat the request where it is due; called periodically."""
        if self.outcome is Outcome.REQUESTED:
            self._call()

    def deactivate(self) -> None:
        """Ask for it now, and with each `look` until it is confirmed."""
        self.outcome, self.detail = Outcome.REQUESTED, ""
        self._call_again()

    def forget(self) -> None:
        """Start anew: the controllers may be active again."""
        self.outcome, self.detail = Outcome.ON, ""

    def _call_again(self) -> None:
        """Send the request now, also while an earlier one has no answer."""
        self._pending, self._called = None, -ANSWER_TIMEOUT
        self._call()

    def _call(self) -> None:
        now = time.monotonic()
        pending = self._pending is not None and not self._pending.done()
        if now - self._called < (ANSWER_TIMEOUT if pending else RETRY_PERIOD):
            return
        if pending and self._pending is not None:
            self._client.remove_pending_request(self._pending)
            self.detail = f"{self._manager} does not answer"
        self._called, self._pending = now, None
        if not self._client.service_is_ready():
            self.detail = f"there is no {self._manager}"
            return
        self._pending = self._client.call_async(self._request())
        self._pending.add_done_callback(self._on_answer)

    def _on_answer(self, future: Future) -> None:
        answer = future.result()
        if answer is not None and self.outcome is Outcome.REQUESTED:
            self._take(answer)


class ControllerSwitch(Deactivation):
    """The controllers of one controller manager."""

    def __init__(self, node: Node, manager: str, controllers: Sequence[str]) -> None:
        """Begin to look for the controllers.

        Args:
            node: On whose executor the answers come.
            manager: Name of the controller manager's node, relative to the node's namespace.
            controllers: Those that command the arm.

        Raises:
            InvalidInputError: The package of the services is not installed.
        """
        self._service = service_class("controller_manager_msgs/srv/SwitchController")
        super().__init__(node, manager, self._service, "switch_controller")
        self._controllers = list(controllers)
        listing = service_class("controller_manager_msgs/srv/ListControllers")
        self._list = node.create_client(listing, f"{manager}/list_controllers")
        self._list_request = listing.Request()
        self._listed = -ANSWER_TIMEOUT
        self._listing: Future | None = None
        self._lacks = f"{self._manager} has not answered yet"
        self._strict = True

    def lacks(self) -> str:
        """Why the controllers could not be deactivated if they had to be, in one sentence; empty when they could."""
        return self._lacks

    def look(self) -> None:
        """Repeat the deactivation, or else request the list of controllers; called periodically."""
        super().look()
        now = time.monotonic()
        if self.outcome is not Outcome.REQUESTED and now - self._listed >= LIST_PERIOD:
            self._look_at_list(now)

    def deactivate(self) -> None:
        """Ask for it now, and with each `look` until it is confirmed."""
        self._strict = True
        super().deactivate()

    def _look_at_list(self, now: float) -> None:
        if self._listing is not None and not self._listing.done() and now - self._listed < ANSWER_TIMEOUT:
            return
        if self._listing is not None and not self._listing.done():
            self._list.remove_pending_request(self._listing)
            self._lacks = f"{self._manager} does not list its controllers"
        self._listed, self._listing = now, None
        if not (self._list.service_is_ready() and self._client.service_is_ready()):
            self._lacks = self._no_manager
            return
        self._listing = self._list.call_async(self._list_request)
        self._listing.add_done_callback(self._on_list)

    def _on_list(self, future: Future) -> None:
        answer = future.result()
        if answer is None or self.outcome is Outcome.REQUESTED:
            return
        states = {own.name: own.state for own in answer.controller}
        wrong = [f"{name} is {states.get(name, 'not loaded')}" for name in self._controllers]
        wrong = [text for name, text in zip(self._controllers, wrong, strict=True) if states.get(name) not in _LOADED]
        self._lacks = f"{', '.join(wrong)} in {self._manager}" if wrong else ""

    def _request(self) -> Any:
        request = self._service.Request(deactivate_controllers=self._controllers, activate_asap=True)
        request.strictness = request.STRICT if self._strict else request.BEST_EFFORT
        request.timeout.sec = int(SWITCH_TIMEOUT)
        return request

    def _take(self, answer: Any) -> None:
        # Humble's answer has no message.
        words = getattr(answer, "message", "").strip()
        if answer.ok:
            self.outcome = Outcome.OFF
            self.detail = f"{', '.join(self._controllers)} deactivated" if self._strict else "no controller active"
        elif self._strict:
            # A strict switch is refused as a whole, such as when one is not active: deactivate the others at once.
            self._strict = False
            self.detail = words or "a strict switch was refused"
            self._call_again()
        else:
            self.detail = words or f"{self._manager} refused"


class ComponentSwitch(Deactivation):
    """A hardware component, for a driver that goes on with what it was commanded when its controllers are off."""

    def __init__(self, node: Node, manager: str, component: str) -> None:
        """Send no request yet; `component` is its name in the URDF's `ros2_control`.

        Raises:
            InvalidInputError: The package of the service is not installed.
        """
        self._service = service_class("controller_manager_msgs/srv/SetHardwareComponentState")
        super().__init__(node, manager, self._service, "set_hardware_component_state")
        self._component = component

    def lacks(self) -> str:
        """Why the component could not be deactivated if it had to be, in one sentence; empty when it could."""
        return "" if self._client.service_is_ready() else self._no_manager

    def _request(self) -> Any:
        request = self._service.Request(name=self._component)
        # Without a number upstream goes by the label.
        request.target_state.label = INACTIVE
        return request

    def _take(self, answer: Any) -> None:
        if answer.ok and answer.state.label == INACTIVE:
            self.outcome, self.detail = Outcome.OFF, f"{self._component} is inactive"
        else:
            # The state is empty for a component that the controller manager does not have.
            self.detail = f"{self._component} is {answer.state.label or 'no hardware component'} in {self._manager}"
