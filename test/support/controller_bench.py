"""`rs_controller` without DDS partners: states, events and heartbeats go in, commands are kept."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from impact_aware_msgs.msg import Heartbeat, ImpactEvent, LocalLaw
from node_harness import joint_state, send
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray

from impact_aware.control import Mode
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.ros.messages import ROS, stamp
from impact_aware.task import load_task, make_field, start_posture
from impact_aware.task.arms import arms_of_task, base_numbers

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class ControllerBench:
    """The controller of a task's arms, which stand in their start postures.

    Attributes:
        node: The controller.
        arms: Its arms.
        starts: Their start postures (n,), rad.
        time: Stamp of the last states, s.
    """

    def __init__(self, sent: Callable[[Any, str], list[Any]], task: str, parameters: dict[str, Any]) -> None:
        """Make the node; wall time means nothing here, as the test may be held up anywhere."""
        self.task = load_task(task)
        self.arms = arms_of_task(self.task, "panda")
        self.starts = [
            np.array(start_posture(own, arm.robot)) for own, arm in zip(self.task.arms, self.arms, strict=True)
        ]
        own: dict[str, Any] = {"state_timeout": 60.0, "watchdog_timeout": 60.0}
        if len(self.arms) > 1:
            bases = [number for arm in self.task.arms for number in base_numbers(arm)]
            own |= {"arms": [arm.name for arm in self.arms], "bases": bases}
        overrides = [Parameter(name, value=value) for name, value in (own | parameters).items()]
        self.node = RsControllerNode(parameter_overrides=overrides)
        self.time = 1.0
        self._sent, self._beats = sent, 0
        law = parameters.get("command_interface") == "local_law"
        self._taken = ("local_law", LocalLaw) if law else ("effort_controller/commands", Float64MultiArray)

    @property
    def session(self):
        return self.node.session

    @property
    def mode(self) -> Mode:
        return self.session.mode

    @property
    def commands(self) -> list[np.ndarray]:
        """Torques since `forget`: (n,) of a single arm, else (arms, n), N m."""
        topics = [self._sent(self.node, arm.topic("effort_controller/commands")) for arm in self.arms]
        rows = [np.array([message.data for message in messages]) for messages in zip(*topics, strict=True)]
        return [row[0] if len(self.arms) == 1 else row for row in rows]

    def forget(self) -> None:
        for arm in self.arms:
            self._sent(self.node, arm.topic("effort_controller/commands")).clear()

    def configure(self, *, anywhere: bool = True) -> None:
        """With somebody who takes the commands; impacts count `anywhere`, as the arms stay at their start."""
        assert self.node.trigger_configure() is SUCCESS
        for arm in self.arms:
            self.node.create_subscription(self._taken[1], arm.topic(self._taken[0]), print, 1)
        if anywhere:
            self.session.events._leads = None

    def field(self, field: Any = None) -> None:
        field = make_field(self.task, [arm.robot for arm in self.arms]) if field is None else field
        send(self.node, "reference_field", field_to_message(field, self.time, ROS))

    def activate(self, **how: bool) -> None:
        self.configure(**how)
        self.field()
        self.state()
        assert self.node.trigger_activate() is SUCCESS

    def state(self, velocity: Any = 0.0, count: int = 1, arms: Sequence[int] | None = None) -> None:
        """States of some arms, or of all, 1 ms after the last ones."""
        for _ in range(count):
            self.time += 0.001
            # The torque rate holds in the machine's time: states that come too fast move the torque less.
            time.sleep(0.001)
            for index in range(len(self.arms)) if arms is None else arms:
                arm, start = self.arms[index], self.starts[index]
                state = joint_state(self.time, arm.robot.joint_names, start, np.zeros(arm.robot.n) + velocity)
                send(self.node, arm.topic("joint_states"), state)

    def impact(self, arm: int = 0, sequence: int = 1, name: str = "") -> None:
        own = name or self.arms[arm].name
        event = ImpactEvent(arm=own, sequence=sequence, kind=ImpactEvent.KIND_CONTACT_MADE)
        event.header.stamp = event.stamp_detected = stamp(self.time)
        send(self.node, self.arms[arm].topic("impacts"), event)

    def beat(self, state: int = Heartbeat.STATE_WORKING, detail: str = "") -> None:
        """A heartbeat of the watchdog."""
        self._beats += 1
        heartbeat = Heartbeat(session=7, count=self._beats, state=state, detail=detail)
        send(self.node, "command_watchdog/heartbeat", heartbeat)


@pytest.fixture
def make_bench(ros_context, sent):
    """Makes controllers, as `make_bench("dual_arm_grab", law_rate=200.0)`, and ends them."""
    made: list[ControllerBench] = []

    def make(task: str = "hit_and_push", **parameters: Any) -> ControllerBench:
        made.append(ControllerBench(sent, task, parameters))
        return made[-1]

    yield make
    for bench in made:
        bench.node.destroy_node()


@pytest.fixture
def bench(make_bench):
    """The controller of a single arm."""
    return make_bench()
