"""Where the bases stand by the latest task: for nodes whose parameters can't say so, as they are looked up in TF."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from impact_aware_msgs.msg import Task as TaskMessage
from rclpy.node import Node

from impact_aware.bringup.connections import task_topics
from impact_aware.bringup.task_parameters import own_arm
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.messages.task import task_from_message
from impact_aware.nodes.ros.qos import LATCHED_QOS
from impact_aware.task import Task
from impact_aware.task.arms import base_numbers

NOT_KNOWN = "no task with the pose of the base has come yet: reference_field looks it up in TF"


class TaskBases:
    """The bases of a node's arms: those of its parameters, or those of the latest task."""

    def __init__(self, node: Node, from_task: bool, on_task: Callable[[], None] = lambda: None) -> None:
        """Listen, where they are `from_task`; `on_task` is called after each one."""
        self._node, self._from_task, self._on_task = node, from_task, on_task
        self.task: Task | None = None
        for topic in task_topics(node.get_namespace()) if from_task else ():
            node.create_subscription(TaskMessage, topic, self._take, LATCHED_QOS)

    def known(self) -> bool:
        """Whether it is known where they stand; it is logged where it isn't."""
        waiting = self._from_task and self.task is None
        if waiting:
            self._node.get_logger().info(f"waiting: {NOT_KNOWN}", throttle_duration_sec=10.0)
        return not waiting

    def numbers(self, arms: Sequence[str], given: Sequence[float]) -> list[float]:
        """Poses of the bases of the named arms, as `base_poses` reads them; one arm has any name.

        Raises:
            InvalidInputError: No task has come, or it has no such arm.
        """
        if not self._from_task:
            return list(given)
        if self.task is None:
            raise InvalidInputError("bases", "nothing", f"those of a task: {NOT_KNOWN}")
        found: list[float] = []
        for name in arms:
            own = own_arm(self.task, name)
            if own is None:
                raise InvalidInputError("arms of the task", [arm.name for arm in self.task.arms], f"arm {name} too")
            found += base_numbers(own)
        return found

    def _take(self, message: TaskMessage) -> None:
        try:
            self.task = task_from_message(message)[0]
        except ImpactAwareError as error:
            self._node.get_logger().warning(f"refused a task: {error}", throttle_duration_sec=2.0)
            return
        self._on_task()
