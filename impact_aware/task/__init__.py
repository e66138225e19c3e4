"""What is to be hit, where it is, with what, and the reference fields that follow from it."""

from impact_aware.task.make_field import base_placement, hit_normal, make_field, start_posture, tool_placement
from impact_aware.task.task import ArmTask, FieldParameters, Task, TaskObject
from impact_aware.task.task_file import load_task, parse_task, task_names

__all__ = [
    "ArmTask",
    "FieldParameters",
    "Task",
    "TaskObject",
    "base_placement",
    "hit_normal",
    "load_task",
    "make_field",
    "parse_task",
    "start_posture",
    "task_names",
    "tool_placement",
]
