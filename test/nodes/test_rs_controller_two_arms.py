"""Two arms in one controller: torques to each, and what becomes of both when one falls silent."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.control import Mode, SafeReason
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes import rs_controller
from impact_aware.nodes.arm_commands import EffortCommands
from impact_aware.nodes.ros.messages import ROS, stamp
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.task import load_task, make_field, start_posture
from impact_aware.task.arms import arms_of_task

TASK = load_task("dual_arm_grab")
ARMS = arms_of_task(TASK, "panda")
ROBOTS = [arm.robot for arm in ARMS]
STARTS = [np.array(start_posture(own, arm.robot)) for own, arm in zip(TASK.arms, ARMS, strict=True)]
LEFT, RIGHT = 0, 1
N = ROBOTS[0].n
PERIOD = 0.001
SETTINGS = rs_controller.Settings(
    arms=["left", "right"], robots=["panda"], bases=[0.0, 0.35, 0.0, 0.0, 0.0, -0.35, 0.0, 0.0], state_timeout=60.0
)


def joint_states(arm: int, time: float, velocity: float = 0.0) -> JointState:
    message = JointState(name=list(ROBOTS[arm].joint_names), position=STARTS[arm], velocity=np.full(N, velocity))
    message.header.stamp = stamp(time)
    return message


class Bench:
    """A controller of two arms without DDS partners."""

    def __init__(self) -> None:
        self.node = RsControllerNode()
        self.node._settings = SETTINGS
        self.commands: list[np.ndarray] = []
        self.time = 1.0

    def configure(self) -> None:
        assert self.node.trigger_configure() is TransitionCallbackReturn.SUCCESS
        for arm in ARMS:
            # Somebody must be there to take them.
            self.node.create_subscription(Float64MultiArray, arm.topic("effort_controller/commands"), print, 1)
        keep = self.commands.append
        self.node._session._send = lambda effort: keep(effort.reshape(2, N).copy())

    def states(self, *velocities: float, arms: tuple[int, ...] = (LEFT, RIGHT), count: int = 1) -> None:
        for _ in range(count):
            self.time += PERIOD
            for arm, velocity in zip(arms, velocities or (0.0, 0.0), strict=False):
                message = joint_states(arm, self.time, velocity)
                self.node._session.states.readers[arm]._receive(serialize_message(message))

    def field(self, **changes) -> None:
        field = make_field(TASK, ROBOTS)
        self.node._on_field(field_to_message(dataclasses.replace(field, **changes), self.time, ROS))

    def activate(self, *, anywhere: bool = True) -> None:
        """Active at the start, where impacts count as they would near the object."""
        self.configure()
        if anywhere:
            self.node._session.events._leads = None
        self.field()
        self.states()
        assert self.node.trigger_activate() is TransitionCallbackReturn.SUCCESS

    def impact(self, arm: int, sequence: int = 1, kind: int = ImpactEvent.KIND_CONTACT_MADE, name: str = "") -> None:
        event = ImpactEvent(arm=name or ARMS[arm].name, sequence=sequence, kind=kind)
        event.header.stamp = event.stamp_detected = stamp(self.time)
        self.node._on_impact(arm, event)

    @property
    def mode(self) -> Mode:
        return self.node._session.mode


@pytest.fixture
def bench(ros_context):
    made = Bench()
    yield made
    made.node.destroy_node()


def test_each_arm_gets_its_own_torques(node):
    commands = EffortCommands(node, ARMS)
    assert [publisher.topic_name for publisher in commands._publishers] == [
        "/left/effort_controller/commands",
        "/right/effort_controller/commands",
    ]
    sent: list[bytes] = []
    commands._publishers = [SimpleNamespace(publish=sent.append) for _ in commands._publishers]
    commands.publish(np.arange(2.0 * N))
    unpacked = [deserialize_message(packed, Float64MultiArray).data for packed in sent]
    np.testing.assert_array_equal(unpacked, np.arange(14.0).reshape(2, N))


def test_every_pair_of_states_is_answered_once(bench):
    bench.activate()
    bench.states(count=4)
    assert len(bench.commands) == 4
    # The setup is a mirror image: joints 1, 3, 5 and 7 turn the other way. The last one's angle is no mirror image.
    left, right = bench.commands[-1]
    mirror = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    np.testing.assert_allclose(left[:6], mirror * right[:6], atol=0.2)


def test_one_silent_arm_stops_both_and_the_other_is_braked_by_its_own_states(bench):
    bench.activate()
    bench.states(0.3, 0.3, count=3)
    session = bench.node._session
    session.states._received[RIGHT] -= 61.0
    bench.node._watch()
    bench.commands.clear()
    bench.states(0.3, arms=(LEFT,), count=5)
    assert bench.mode is Mode.SAFE
    command = bench.node._session.command
    assert command.reason is SafeReason.STATE_STALE
    assert command.detail.startswith("no usable right/joint_states for ")
    assert len(bench.commands) == 5
    assert bench.node._status()[1].startswith("safe mode: no usable right/joint_states")


@pytest.mark.parametrize("topic", ["right/impacts", "left/predicted_jumps", "reference_field"])
def test_a_dead_node_of_either_arm_stops_both_and_is_named(bench, topic):
    bench.activate()
    bench.node._upstream.on_change(topic, SimpleNamespace(alive_count=0, alive_count_change=-1))
    bench.states(0.3, 0.3)
    assert bench.mode is Mode.SAFE
    assert bench.node._session.command.reason is SafeReason.UPSTREAM_LOST
    assert topic in bench.node._session.command.detail


def test_activation_says_which_arm_is_missing(bench):
    bench.configure()
    bench.field()
    bench.states(arms=(LEFT,))
    assert bench.node.trigger_activate() is TransitionCallbackReturn.FAILURE
    assert bench.node._complaint.startswith("can't activate: no right/joint_states yet: no node publishes it")


def test_either_arm_may_hit_first_and_begins_the_interim_mode(bench):
    bench.activate()
    bench.states()
    bench.impact(RIGHT)
    assert bench.mode is Mode.INTERIM
    assert bench.node._session._law._reference.hit.tolist() == [False, True]
    bench.impact(LEFT)
    assert bench.node._session._law._reference.hit.tolist() == [True, True]


def test_an_impact_far_from_the_object_is_left_out_and_on_diagnostics(bench):
    bench.activate(anywhere=False)
    bench.states()
    bench.impact(RIGHT)
    bench.impact(LEFT, sequence=2)
    assert bench.mode is Mode.ANTE and bench.node._status()[2]["impacts_elsewhere"] == 2


def test_an_event_that_comes_again_counts_once_and_another_arms_event_not_at_all(bench):
    bench.activate()
    bench.states()
    bench.impact(LEFT, name="middle")
    assert bench.mode is Mode.ANTE
    seen = []
    bench.node._session._law.notify_impact = lambda *args, **more: seen.append(more["arm"])
    bench.impact(LEFT)
    bench.impact(LEFT)
    bench.impact(RIGHT)
    bench.impact(LEFT, sequence=2)
    assert seen == [LEFT, RIGHT, LEFT]


def test_a_field_for_other_arms_is_refused(bench):
    bench.configure()
    field = make_field(TASK, ROBOTS)
    bench.field(arms=field.arms[::-1])
    assert bench.node._session.field is None
    bench.field()
    assert bench.node._session.field is not None
