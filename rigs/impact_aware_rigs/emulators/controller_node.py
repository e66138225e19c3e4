"""The part that emulated controllers' nodes share: a record of commands, updates, a controller manager's services."""

from __future__ import annotations

import array
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.arrays import Array
from impact_aware.ros.diagnostics import DiagnosticsReporter, Report
from impact_aware.ros.messages import message_class, service_class
from impact_aware.ros.qos import COMMAND_QOS
from impact_aware_rigs.emulators.controllers import CommandRecord, ControllerManager

_PACKAGE = "controller_manager_msgs"


class ControllerNode(Node):
    """Writes torques to `hardware_commands` at every update; a subclass gives them, and its state."""

    def begin(self, joints: int, update_rate: float | None) -> None:
        """Begin with updates at a rate, Hz; where it is None the subclass calls `update`."""
        self.record = CommandRecord(joints)
        self.hardware = self.create_publisher(Float64MultiArray, "hardware_commands", COMMAND_QOS)
        if update_rate is not None:
            self.create_timer(1.0 / update_rate, self.update, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.diagnostics = DiagnosticsReporter(self, self._status)

    def update(self) -> None:
        """One update of the controller manager."""
        raise NotImplementedError

    def _status(self) -> Report:
        raise NotImplementedError

    def write(self, torque: Array) -> None:
        """Write torques (n,), N m."""
        self.record.written()
        self.hardware.publish(Float64MultiArray(data=array.array("d", torque.tobytes())))

    def offer_services(self, name: str, manager: ControllerManager) -> None:
        """Offer the services of a controller manager whose node has this name."""
        state = message_class(f"{_PACKAGE}/msg/ControllerState")

        def switch(request: Any, response: Any) -> Any:
            response.ok, response.message = manager.switch_off(request.deactivate_controllers, request.strictness)
            return response

        def list_controllers(_request: Any, response: Any) -> Any:
            response.controller = [state(name=own, state=label) for own, label in manager.states().items()]
            return response

        def set_component(request: Any, response: Any) -> Any:
            response.ok, response.state.label = manager.set_component(request.name, request.target_state.label)
            return response

        for service, kind, answer in (
            ("switch_controller", "SwitchController", switch),
            ("list_controllers", "ListControllers", list_controllers),
            ("set_hardware_component_state", "SetHardwareComponentState", set_component),
        ):
            self.create_service(service_class(f"{_PACKAGE}/srv/{kind}"), f"{name}/{service}", answer)
