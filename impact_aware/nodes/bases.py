"""Bases that a task has in TF: one node looks them up and publishes the task with them, the others follow it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from impact_aware_msgs.msg import Task as TaskMessage
from rclpy.node import Node

from impact_aware.bringup.task_parameters import own_arm
from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.messages.task import task_from_message
from impact_aware.ros.frames import Frames
from impact_aware.ros.qos import LATCHED_QOS, own_and_common
from impact_aware.ros.timers import steady_timer
from impact_aware.task import ArmTask, Task
from impact_aware.task.arms import base_numbers
from impact_aware.task.base_watch import BaseWatch
from impact_aware.transform_buffer import FrameError

LOOK_PERIOD = 0.1
"""Wall time between two looks at TF, s."""

NOT_KNOWN = "no task with the pose of the base has come yet: reference_field looks it up in TF"


class BaseLookup:
    """Where TF has the bases of a task's arms.

    Attributes:
        names: Of the bases in TF, in the order of the arms; empty where the task's numbers say where one stands.
        problem: Why they can't be used, or no longer be relied on, in one sentence; empty when they can.
    """

    def __init__(self, node: Node, frames: Frames, task: Task, tolerance: float, frame: str = "") -> None:
        """Look nothing up yet.

        Args:
            node: Node for timer and log.
            frames: Its TF buffer.
            task: The task.
            tolerance: By how much TF may differ from the task's numbers, m and rad.
            frame: Name of the task's frame in TF; empty: as in the task.
        """
        self._node, self._frames, self._task = node, frames, task
        self._frame = frame or task.frame
        self.names = [arm.base_in_tf for arm in task.arms]
        self._watches = {
            index: BaseWatch(arm, self._frame, tolerance) for index, arm in enumerate(task.arms) if arm.base_in_tf
        }
        self._done, self._failed, self.problem = False, False, ""

    def find(self, on_known: Callable[[Task], None]) -> None:
        """Look from now on; call once with the task whose bases are where TF has them, at once if none is in TF."""
        if not self._watches:
            on_known(self._task)
            return
        self._on_known = on_known
        steady_timer(self._node, LOOK_PERIOD, self.look)
        self.look()

    def look(self) -> None:
        """See where TF has them now."""
        if self._failed:
            return
        for index, watch in self._watches.items():
            try:
                watch.look(*self._frames.latest(self._frame, self.names[index]))
            except FrameError as error:
                watch.missing(str(error))
        self.problem = next((watch.problem for watch in self._watches.values() if watch.problem), "")
        if self.problem:
            self._node.get_logger().warning(f"no motion may begin: {self.problem}", throttle_duration_sec=5.0)
        elif not self._done:
            self._done = True
            try:
                self._log_places(self.placed(self._task))
            except ImpactAwareError as error:
                # They stand still, so that it would be the same the next time.
                self._failed = True
                self.problem = f"with the bases where TF has them: {error}"
                self._node.get_logger().error(self.problem)

    def _log_places(self, task: Task) -> None:
        for index in self._watches:
            own = task.arms[index]
            place = ", ".join(f"{round(number, 6) + 0.0:g}" for number in (*own.base_position, *own.base_rpy))
            self._node.get_logger().info(f"TF has {self.names[index]} at [{place}] m, rad in {self._frame}")
        self._on_known(task)

    def placed(self, task: Task) -> Task:
        """A task for the same arms with its bases where they were looked up.

        Raises:
            InvalidInputError: They are not known, or no longer where they were, or the task has them elsewhere in TF.
        """
        if self.problem:
            raise InvalidInputError("base_in_tf", self.names, f"bases that stand still: {self.problem}")
        return dataclasses.replace(task, arms=tuple(self._placed(task, index) for index in range(len(task.arms))))

    def _placed(self, task: Task, index: int) -> ArmTask:
        arm, own = task.arms[index], self._task
        if not arm.base_in_tf:
            return arm
        name = self.names[index] if index < len(self.names) else ""
        if (arm.base_in_tf, task.frame) != (name, own.frame):
            expected = f"'{name}' in '{own.frame}', as when this node started"
            raise InvalidInputError("base_in_tf", f"'{arm.base_in_tf}' in '{task.frame}'", expected)
        return self._watches[index].placed(arm)


class TaskBases:
    """Bases of a node's arms: those of its parameters, or those of the latest task."""

    def __init__(self, node: Node, from_task: bool, on_task: Callable[[], None] = lambda: None) -> None:
        """Listen, where they are `from_task`; `on_task` is called after each one."""
        self._node, self._from_task, self._on_task = node, from_task, on_task
        self.task: Task | None = None
        for topic in own_and_common(node.get_namespace(), "task") if from_task else ():
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
