"""`Task` between library and message: its file's layout as text, and the number that fields and predictions carry."""

from __future__ import annotations

from typing import Any

from impact_aware.messages.stamps import write_stamp
from impact_aware.messages.types import MessageTypes
from impact_aware.task import Task
from impact_aware.task.task_file import parse_task, task_yaml
from impact_aware.yaml_text import read_yaml_mapping

TYPE = "impact_aware_msgs/msg/Task"


def task_to_message(task: Task, number: int, time: float, types: MessageTypes) -> Any:
    """Library to message; `time` goes into the header, s."""
    message = types.new(TYPE)
    write_stamp(message.header.stamp, time)
    message.header.frame_id = task.frame
    message.number = number
    message.name = task.name
    message.yaml = task_yaml(task)
    return message


def task_from_message(message: Any) -> tuple[Task, int]:
    """Message to library: the task and its number.

    Raises:
        InvalidInputError: The text makes no task.
        UnknownNameError: An entry that a task does not have.
    """
    return parse_task(read_yaml_mapping("yaml", "of the task", message.yaml)), int(message.number)
