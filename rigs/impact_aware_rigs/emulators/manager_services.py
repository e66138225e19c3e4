"""The services of an emulated controller manager, on a node."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from impact_aware.nodes.ros.messages import message_class, service_class
from impact_aware_rigs.emulators.controller_manager import ControllerManager

_PACKAGE = "controller_manager_msgs"


class ManagerServices:
    """Offers them until the node is destroyed."""

    def __init__(self, node: Node, name: str, manager: ControllerManager) -> None:
        """Begin; `name` is that of the controller manager's node."""
        self._manager = manager
        self._state = message_class(f"{_PACKAGE}/msg/ControllerState")
        for service, answer in (
            ("SwitchController", self._on_switch),
            ("ListControllers", self._on_list),
            ("SetHardwareComponentState", self._on_set),
        ):
            kind = service_class(f"{_PACKAGE}/srv/{service}")
            snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in service).lstrip("_")
            node.create_service(kind, f"{name}/{snake}", answer)

    def _on_switch(self, request: Any, response: Any) -> Any:
        lists = request.activate_controllers, request.deactivate_controllers
        response.ok, response.message = self._manager.switch(*lists, request.strictness)
        return response

    def _on_list(self, _request: Any, response: Any) -> Any:
        states = self._manager.states().items()
        response.controller = [self._state(name=name, state=state) for name, state in states]
        return response

    def _on_set(self, request: Any, response: Any) -> Any:
        response.ok, response.state.label = self._manager.set_component(request.name, request.target_state.label)
        return response
