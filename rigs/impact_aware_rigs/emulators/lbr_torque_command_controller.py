"""Node `lbr_torque_command_controller`: an emulator of lbr_fri_ros2_stack's, between `kuka_fri_relay` and `sim_robot`.

It listens to `command/torque` and passes the torques on to `hardware_commands` at the update rate, while its hardware
component is active; it is the controller manager of both, too. docs/hardware.md says what it is good for.
"""

from __future__ import annotations

import array
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from impact_aware.bringup.command_path import OVERLAY_TOPIC, OVERLAY_TYPE
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.ros.diagnostics import OK, DiagnosticsReporter, Report
from impact_aware.nodes.ros.messages import message_class
from impact_aware.nodes.ros.qos import COMMAND_QOS
from impact_aware.nodes.ros.ros_parameters import load_settings
from impact_aware.nodes.ros.runtime import run_node
from impact_aware.parameters import described
from impact_aware_rigs.emulators.command_record import CommandRecord
from impact_aware_rigs.emulators.controller_manager import ControllerManager, LoadedController
from impact_aware_rigs.emulators.lbr_torque_command import JOINTS, LbrTorqueCommand
from impact_aware_rigs.emulators.manager_services import ManagerServices


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    joints: list[str] = described([], "joints of the arm, in the order of the commands")
    update_rate: float = described(500.0, "updates of the controller manager, Hz", 1.0, 10000.0)
    controller_manager: str = described(
        "", "also offer the services of this controller manager, which has controller and component; empty: none"
    )
    component: str = described("lbr_system_interface", "name of the hardware component")
    stiffness: float = described(
        0.0, "of the arm's joint impedance towards the position that is sent, N m/rad", 0.0, 1000.0
    )
    lockstep: bool = described(False, "update once per joint_states instead, for a simulator in lockstep")


class LbrTorqueCommandControllerNode(Node):
    """Holds the last command and writes it at every update."""

    def __init__(self) -> None:
        """Wait for states of the arm."""
        super().__init__("lbr_torque_command_controller")
        settings = load_settings(self, Settings)
        self.lbr, self._record = LbrTorqueCommand(), CommandRecord(JOINTS)
        self._received = 0
        controller = LoadedController(self._switch, lambda: self.lbr.active)
        component = LoadedController(self._switch_component, lambda: self.lbr.component_active)
        if settings.controller_manager:
            manager = ControllerManager({self.get_name(): controller}, {settings.component: component})
            self._manager_services = ManagerServices(self, settings.controller_manager, manager)
        self._publisher = self.create_publisher(Float64MultiArray, "hardware_commands", COMMAND_QOS)
        self.create_subscription(message_class(OVERLAY_TYPE), OVERLAY_TOPIC, self._on_command, 1)
        self._states = JointStateSource(self, settings.joints, self._on_state, reliable=settings.lockstep)
        self._lockstep, self._stiffness = settings.lockstep, settings.stiffness
        if not settings.lockstep:
            self.create_timer(1.0 / settings.update_rate, self._update, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._diagnostics = DiagnosticsReporter(self, self._status)

    def _switch(self, active: bool) -> None:
        self.lbr.active = active
        self._diagnostics.report()

    def _switch_component(self, active: bool) -> None:
        self.lbr.component_active = active
        self._diagnostics.report()

    def _on_command(self, message: Any) -> None:
        self._received += 1
        torque = np.array(message.torque)
        self.lbr.receive(np.array(message.joint_position), torque)
        self._record.note(torque)

    def _on_state(self, _stamp: Time) -> None:
        if self._lockstep:
            self._update()

    def _update(self) -> None:
        sent = self.lbr.update(self._states.position) if self._states.received else None
        if sent is not None:
            self._record.written()
            position, torque = sent
            torque = torque + self._stiffness * (position - self._states.position)
            self._publisher.publish(Float64MultiArray(data=array.array("d", torque.tobytes())))

    def _status(self) -> Report:
        lbr = self.lbr
        values: dict[str, object] = {"active": lbr.active, "component_active": lbr.component_active}
        values |= {"received": self._received, **self._record.values()}
        if not lbr.component_active:
            return OK, "the session with the arm has ended", values
        return OK, "commanding" if lbr.active else "going on with the last command", values


def main() -> None:
    """Run the node."""
    sys.exit(run_node(LbrTorqueCommandControllerNode, prompt=True))
