"""Velocity fields before and after the impact, as data that anyone can evaluate."""

from impact_aware.reference.ante_impact import AnteImpactField
from impact_aware.reference.field import ArmReference, ReferenceField
from impact_aware.reference.make_field import base_placement, hit_normal, make_field, start_posture, tool_placement
from impact_aware.reference.post_impact import PostImpactField
from impact_aware.reference.streamlines import streamline
from impact_aware.reference.task import ArmTask, FieldParameters, Task, TaskObject, load_task, parse_task, task_names

__all__ = [
    "AnteImpactField",
    "ArmReference",
    "ArmTask",
    "FieldParameters",
    "PostImpactField",
    "ReferenceField",
    "Task",
    "TaskObject",
    "base_placement",
    "hit_normal",
    "load_task",
    "make_field",
    "parse_task",
    "start_posture",
    "streamline",
    "task_names",
    "tool_placement",
]
