"""Recorded joint states through the live detector, over DDS: its impacts are those found offline, to the sample."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import rclpy
from impact_aware_msgs.msg import ImpactEvent, StepDone
from patience import LONGEST, until
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState

from impact_aware.bags.bag import Bag
from impact_aware.detection import make_detector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.ros.messages import stamp
from impact_aware.ros.qos import EVENT_QOS, STEP_DONE_QOS, state_qos

pytestmark = pytest.mark.dds

TYPES = get_typestore(Stores.ROS2_JAZZY)
JOINTS = [f"joint_{number}" for number in range(1, 8)]
IMPACTS = (0.6003, 1.2508, 1.9012)
SAMPLES = 2400
RESOLUTION = 1e-5
START = 1_750_000_000
"""Stamps as a recording of today has them, s: doubles hold them less finely than those near zero."""

LIMIT = 60.0
IN_FLIGHT = 5
"""Fewer than the ten messages that the subscriber keeps, so that none is lost however slow the machine is."""


def write_recording(path: Path) -> Path:
    """2.4 s of seven joints at 1 kHz with three impacts, quantised; every 97th sample is held, every 131st missing."""
    rng = np.random.default_rng(7)
    stamps = 1e-3 * np.arange(SAMPLES)
    phase, frequency = rng.uniform(0.0, 6.0, 7), rng.uniform(0.3, 0.8, 7)
    positions = 0.3 * np.sin(2.0 * np.pi * frequency * stamps[:, None] + phase)
    for instant in IMPACTS:
        positions += np.outer(np.maximum(stamps - instant, 0.0), rng.choice([-1.0, 1.0], 7) * rng.uniform(0.2, 0.6, 7))
    positions = RESOLUTION * np.round(positions / RESOLUTION)
    types = TYPES.types
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=TYPES)
        for index in range(SAMPLES):
            if index % 131 == 130:
                continue
            row = positions[index - 1] if index % 97 == 96 else positions[index]
            seconds, rest = divmod(index, 1000)
            header = types["std_msgs/msg/Header"](
                types["builtin_interfaces/msg/Time"](START + seconds, rest * 1_000_000), "base"
            )
            message = types["sensor_msgs/msg/JointState"](header, JOINTS, row, np.zeros(0), np.zeros(0))
            received = (START * 1000 + index) * 1_000_000
            writer.write(connection, received, TYPES.serialize_cdr(message, message.__msgtype__))
    return path


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    return write_recording(tmp_path_factory.mktemp("recording") / "bag")


@pytest.fixture
def detector_process() -> Iterator[str]:
    """The live node in a process of its own; gives its namespace."""
    namespace = f"replay_{os.getpid()}"
    # In lockstep the node asks for reliable delivery and answers each state: the player waits for the answers.
    parameters = {"lockstep": "true", "measure_noise": "false", "encoder_resolution": str(RESOLUTION)}
    words = [sys.executable, "-m", "impact_aware.bringup.start", "impact_detector"]
    words += ["--ros-args", "-r", f"__ns:=/{namespace}"]
    for name, value in parameters.items():
        words += ["-p", f"{name}:={value}"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        yield namespace
    finally:
        process.terminate()
        try:
            process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class Player:
    """Publishes recorded messages as the bytes they are, and listens."""

    def __init__(self, namespace: str) -> None:
        self.node = rclpy.create_node("player", namespace=f"/{namespace}")
        self.publisher = self.node.create_publisher(JointState, "joint_states", state_qos(reliable=True))
        self.answered = 0
        self.events: dict[int, ImpactEvent] = {}
        self.node.create_subscription(StepDone, "step_done", self._on_answer, STEP_DONE_QOS)
        self.node.create_subscription(ImpactEvent, "impacts", self._on_event, EVENT_QOS)

    def _on_answer(self, _message: StepDone) -> None:
        self.answered += 1

    def _on_event(self, event: ImpactEvent) -> None:
        # A repeat of the same number only adds its meaning.
        if event.kind == ImpactEvent.KIND_CONTACT_MADE:
            self.events.setdefault(event.sequence, event)

    def spin_until(self, condition, what: str) -> None:
        came = until(condition, lambda: rclpy.spin_once(self.node, timeout_sec=0.05), LIMIT)
        assert came, f"waited {LIMIT:.0f} s for {what}"

    def play(self, bag: Bag) -> int:
        """Publish all joint states; the number of them."""
        found = self.node.count_publishers
        self.spin_until(
            lambda: self.publisher.get_subscription_count() and found("step_done") and found("impacts"), "the detector"
        )
        sent = 0
        for _, raw in bag.serialized("/joint_states"):
            self.publisher.publish(bytes(raw))
            sent += 1
            self.spin_until(lambda sent=sent: sent - self.answered < IN_FLIGHT, "an answer")
        self.spin_until(lambda: self.answered == sent, "the last answer")
        return sent


def test_the_live_detector_finds_what_is_found_offline(ros_context, recording, detector_process):
    player = Player(detector_process)
    try:
        with Bag(recording) as bag:
            messages = [message for _, message in bag.messages("/joint_states")]
            assert player.play(bag) == len(messages) < SAMPLES
        times = np.array([stamp_seconds(message) for message in messages])
        offline = make_detector("adaptive_window", len(JOINTS), encoder_resolution=RESOLUTION).detect(
            times, np.array([message.position for message in messages])
        )
        player.spin_until(lambda: len(player.events) >= len(offline), "the last event")
        for _ in range(20):
            rclpy.spin_once(player.node, timeout_sec=0.01)
    finally:
        player.node.destroy_node()
    online = [player.events[number] for number in sorted(player.events)]
    assert len(online) == len(offline) == len(IMPACTS)
    for live, found, truth in zip(online, offline, IMPACTS, strict=True):
        # The same numbers on the same samples: equal to the last bit that a stamp holds.
        assert live.header.stamp == stamp(found.time)
        assert live.stamp_detected == stamp(found.time_detected)
        assert live.first_joint == found.joint
        np.testing.assert_array_equal(live.velocity_before, found.velocity_before)
        np.testing.assert_array_equal(live.position, found.position)
        # And they are the impacts that were put in: within two samples.
        assert live.header.stamp.sec - 1_750_000_000 + 1e-9 * live.header.stamp.nanosec == pytest.approx(
            truth, abs=2e-3
        )
