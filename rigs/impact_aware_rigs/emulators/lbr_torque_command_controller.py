"""Node `lbr_torque_command_controller`: an emulator of lbr_fri_ros2_stack's, between `kuka_fri_relay` and `sim_robot`.

It listens to `command/torque` and passes the torques on to `hardware_commands` at the update rate, while its hardware
component is active; it is the controller manager of both, too. docs/hardware.md has its purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from impact_aware.bringup.command_path import OVERLAY_TOPIC, OVERLAY_TYPE
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.parameters import described
from impact_aware.ros.diagnostics import OK, Report
from impact_aware.ros.messages import message_class
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware_rigs.emulators.controller_node import ControllerNode
from impact_aware_rigs.emulators.controllers import JOINTS, ControllerManager, LbrTorqueCommand, LoadedController


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


class LbrTorqueCommandControllerNode(ControllerNode):
    """Holds the last command and writes it at every update."""

    def __init__(self) -> None:
        """Wait for states of the arm."""
        super().__init__("lbr_torque_command_controller")
        settings = load_settings(self, Settings)
        self.lbr, self._received, self._stiffness = LbrTorqueCommand(), 0, settings.stiffness
        self.begin(JOINTS, None if settings.lockstep else settings.update_rate)
        if settings.controller_manager:
            controller = LoadedController(lambda on: self._switch("active", on), lambda: self.lbr.active)
            component = LoadedController(
                lambda on: self._switch("component_active", on), lambda: self.lbr.component_active
            )
            manager = ControllerManager({self.get_name(): controller}, {settings.component: component})
            self.offer_services(settings.controller_manager, manager)
        self.create_subscription(message_class(OVERLAY_TYPE), OVERLAY_TOPIC, self._on_command, 1)
        on_state = (lambda _stamp: self.update()) if settings.lockstep else (lambda _stamp: None)
        self._states = JointStateSource(self, settings.joints, on_state, reliable=settings.lockstep)

    def _switch(self, part: str, active: bool) -> None:
        setattr(self.lbr, part, active)
        self.diagnostics.report()

    def _on_command(self, message: Any) -> None:
        self._received += 1
        torque = np.array(message.torque)
        self.lbr.receive(np.array(message.joint_position), torque)
        self.record.note(torque)

    def update(self) -> None:
        """Send the last command to the arm, with the torque of its impedance."""
        sent = self.lbr.update(self._states.position) if self._states.received else None
        if sent is not None:
            position, torque = sent
            self.write(torque + self._stiffness * (position - self._states.position))

    def _status(self) -> Report:
        lbr = self.lbr
        values: dict[str, object] = {"active": lbr.active, "component_active": lbr.component_active}
        values |= {"received": self._received, **self.record.values()}
        if not lbr.component_active:
            return OK, "the session with the arm has ended", values
        return OK, "commanding" if lbr.active else "going on with the last command", values


main = partial(run_node, LbrTorqueCommandControllerNode, prompt=True)
