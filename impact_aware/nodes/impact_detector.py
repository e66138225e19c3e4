"""Node `impact_detector`: joint_states in, impacts out, within the cycle in which they become known."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from impact_aware_msgs.msg import ImpactEvent as ImpactEventMessage
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.detection import DETECTORS, ImpactDetector, JointSample, make_detector
from impact_aware.detection.parameter_file import load_parameters
from impact_aware.detection.registry import NEEDS, OPTIONS
from impact_aware.nodes.conversions import event_to_message
from impact_aware.nodes.joint_state_source import JointStateSource
from impact_aware.nodes.lockstep import LockstepReporter
from impact_aware.nodes.qos import EVENT_QOS
from impact_aware.nodes.ros_parameters import load_settings
from impact_aware.nodes.runtime import run_node
from impact_aware.parameters import described
from impact_aware.robot import RobotModel


@dataclass(frozen=True)
class Settings:
    """Parameters of the node."""

    arm: str = described("", "name of the arm, written into every event; empty: the node's namespace")
    joints: list[str] = described([], "joints to watch, in the model's order; empty: those of the first message")
    base_frame: str = described("base", "frame_id of the events")
    detector: str = described("adaptive_window", "which detector", choices=tuple(DETECTORS))
    tuning: str = described("", "file from impact-aware tune-detector with the detector's parameters; empty: defaults")
    robot: str = described("", "robot profile, for the detectors that need the arm's model")
    normal: list[float] = described([], "normal of the surface to be hit, for the most sensitive joint")
    lockstep: bool = described(False, "answer every state with step_done, for a simulator in lockstep")
    lowest_rate: float = described(200.0, "warn when joint_states arrive more slowly than this, Hz", 1.0, 10000.0)


class ImpactDetectorNode(Node):
    """Feeds one detector with the joint states of one arm."""

    def __init__(self) -> None:
        """Declare the parameters and subscribe."""
        super().__init__("impact_detector")
        self._settings = load_settings(self, Settings)
        self._arm = self._settings.arm or self.get_namespace().strip("/")
        self._parameters_of_detector = self._detector_parameters()
        self._detector: ImpactDetector | None = None
        if self._settings.joints:
            self._detector = self._make_detector(len(self._settings.joints))
        self._sequence = 0
        self._publisher = self.create_publisher(ImpactEventMessage, "impacts", EVENT_QOS)
        self._lockstep = LockstepReporter(self, self._settings.lockstep)
        self._source = JointStateSource(
            self,
            self._settings.joints,
            self._on_state,
            reliable=self._settings.lockstep,
            lowest_rate=self._settings.lowest_rate,
        )
        self.get_logger().info(f"watching joint_states with the {self._settings.detector} detector")

    def _detector_parameters(self) -> dict[str, Any]:
        """From the tuning file, and what the chosen detector needs of the arm."""
        settings = self._settings
        parameters = load_parameters(settings.tuning, settings.detector) if settings.tuning else {}
        wanted = (*NEEDS.get(settings.detector, ()), *OPTIONS.get(settings.detector, ()))
        if "robot" in wanted and settings.robot:
            parameters["robot"] = RobotModel.from_profile(settings.robot)
        if "normal" in wanted and settings.normal:
            parameters["normal"] = np.array(settings.normal)
        return parameters

    def _make_detector(self, joint_count: int) -> ImpactDetector:
        return make_detector(self._settings.detector, joint_count, **self._parameters_of_detector)

    def _on_state(self, state: JointState) -> None:
        source = self._source
        if self._detector is None:
            self._detector = self._make_detector(len(source.joint_names))
        velocity = source.velocity if source.velocity_measured else None
        event = self._detector.update(JointSample(source.time, source.position, velocity, source.effort))
        if event is not None:
            self._sequence += 1
            self._publisher.publish(
                event_to_message(
                    event,
                    sequence=self._sequence,
                    arm=self._arm,
                    frame=self._settings.base_frame,
                    joint_names=source.joint_names,
                )
            )
            delay = 1e3 * (event.time_detected - event.time)
            self.get_logger().info(
                f"impact {self._sequence} at {event.time:.4f} s, known {delay:.1f} ms later, "
                f"first on {source.joint_names[event.joint]}"
            )
        self._lockstep.report(state)


def main() -> None:
    """Run the node."""
    sys.exit(run_node(ImpactDetectorNode))


if __name__ == "__main__":
    main()
