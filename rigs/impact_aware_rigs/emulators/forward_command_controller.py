"""Node `forward_command_controller`: an emulator of ros2_control's, between `rs_controller` and `sim_robot`.

Named as the controller it stands for, such as `effort_controller`, it listens to `~/commands` and passes them on to
`hardware_commands` at the update rate. It begins once the hardware listens: before, no controller manager activates one
either. docs/hardware.md has its purpose.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.parameters import described
from impact_aware.ros.diagnostics import ERROR, OK, WARN, Report
from impact_aware.ros.qos import STREAM_QOS, state_qos
from impact_aware.ros.ros_parameters import load_settings
from impact_aware.ros.runtime import run_node
from impact_aware_rigs.emulators.controller_node import ControllerNode
from impact_aware_rigs.emulators.controllers import ControllerManager, ForwardCommandController, LoadedController


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    joints: list[str] = described([], "joints with an effort interface, in the order of the commands")
    update_rate: float = described(1000.0, "updates of the controller manager, Hz", 1.0, 10000.0)
    controller_manager: str = described(
        "", "also offer the services of this controller manager, which has the controller; empty: none"
    )
    lockstep: bool = described(False, "update once per joint_states instead, for a simulator in lockstep")


class ForwardCommandControllerNode(ControllerNode):
    """Holds the last command and writes it at every update."""

    def __init__(self) -> None:
        """Wait for the hardware."""
        super().__init__("effort_controller")
        self._begun = self._off = False
        self._count = 0
        self._commanded, self._held_time = math.nan, math.nan
        settings = load_settings(self, Settings)
        self.controller = ForwardCommandController(len(settings.joints))
        self.begin(len(settings.joints), None if settings.lockstep else settings.update_rate)
        if settings.controller_manager:
            own = LoadedController(self._switch, lambda: self.controller.active)
            self.offer_services(settings.controller_manager, ControllerManager({self.get_name(): own}))
        if settings.lockstep:
            self.create_subscription(JointState, "joint_states", lambda _: self.update(), state_qos(reliable=True))

    def _switch(self, active: bool) -> None:
        self._off = not active
        self._held_time = time.monotonic() - self._commanded
        self.controller.switch(active)
        self.diagnostics.report()

    def take_commands(self) -> None:
        """Take commands, once the hardware subscribes to them."""
        self._begun = True
        self.controller.switch(True)
        # Deep, so that two commands between two updates are both seen, though only the last one is written.
        self.create_subscription(Float64MultiArray, "~/commands", self._on_command, STREAM_QOS)

    def _on_command(self, message: Float64MultiArray) -> None:
        dropped = self.controller.dropped
        self._count += 1
        self._commanded = time.monotonic()
        self.controller.receive(message.data)
        if self.controller.dropped > dropped:
            self.get_logger().warning("dropped a command with a value that is not finite", throttle_duration_sec=1.0)
        elif len(message.data) == self.controller.interfaces.size:
            self.record.note(np.array(message.data))

    def update(self) -> None:
        """Write the last command."""
        if not self._begun and self.hardware.get_subscription_count() > 0:
            self.take_commands()
        was_active = self.controller.active
        written = self.controller.update()
        if written is not None:
            self.write(written)
        elif was_active and not self.controller.active:
            self.get_logger().error("deactivated: a command of the wrong size came")
            self.diagnostics.report()

    def _status(self) -> Report:
        controller = self.controller
        values: dict[str, object] = {"active": controller.active, "dropped": controller.dropped}
        values["errors"], values["commands"] = controller.errors, self._count
        values |= {"held_ms": 1e3 * self._held_time, **self.record.values()}
        if not self._begun:
            return OK, "waiting for the hardware", values
        if self._off:
            return OK, "deactivated by the controller manager", values
        if not controller.active:
            return ERROR, "deactivated after a command of the wrong size", values
        return (WARN, "commands were dropped", values) if controller.dropped else (OK, "forwarding", values)


main = partial(run_node, ForwardCommandControllerNode, prompt=True)
