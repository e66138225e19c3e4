"""Recorded messages of version 0.9.0, with sentinels in place of flags, and of those before, with fewer entries."""

import math
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from impact_aware.bags.bag import Bag
from impact_aware.messages import impact_event, impact_prediction, reference_field

DEFINITIONS = (Path(__file__).parents[1] / "data" / "messages_0.9.0.txt").read_text()

LATE = ("task_number", "ante_rotation_deceleration", "post_sideways_radius", "object_velocity", "object_stamp", "base",
        "object_swing_offset", "object_swing_frequency", "object_orientation", "object_shape", "object_vertices",
        "angular_velocity_after", "null_space_velocity_after")  # fmt: skip
"""Entries that came in the versions before 0.9.0."""


def store(without=()):
    """The types of that version, without some of their entries."""
    lines = [line for line in DEFINITIONS.splitlines() if line.rpartition(" ")[2] not in without]
    made = get_typestore(Stores.ROS2_JAZZY)
    types = {}
    for text in "\n".join(lines).removeprefix("MSG: ").split("MSG: "):
        name, _, fields = text.partition("\n")
        types |= get_types_from_msg(fields, name)
    made.register(types)
    return made


def made(types, name, **values):
    """A message of zeros and of some values."""

    def empty(kind):
        number, detail = int(kind[0]), kind[1]
        if number == 1:
            return {"string": "", "bool": False}.get(detail[0], 0.0 if "float" in detail[0] else 0)
        if number == 2:
            return made(types, detail)
        return [] if int(detail[0][0]) == 2 or detail[0][1][0] == "string" else np.zeros(0, detail[0][1][0])

    fields = {field: empty(kind) for field, kind in types.fielddefs[name][1]}
    return types.types[name](**fields | {field: value for field, value in values.items() if field in fields})


@pytest.fixture
def recorded(tmp_path):
    """A message of those types, written into a recording and read from it."""

    def recorded(name, types, **values):
        with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            topic = writer.add_connection("/topic", name, typestore=types)
            writer.write(topic, 1, types.serialize_cdr(made(types, name, **values), name))
        with Bag(tmp_path / "bag") as bag:
            ((_, raw),) = bag.serialized("/topic")
            return bag.deserialize("/topic", raw)

    return recorded


@pytest.mark.parametrize(("error", "joint"), [(3e-4, 2), (-1.0, -1)])
def test_an_event(recorded, error, joint):
    values = {"time_standard_error": error, "first_joint": joint, "cause": "contact"}
    event = impact_event.event_from_message(recorded(impact_event.TYPE, store(), **values))
    assert event.joint == joint
    assert event.time_std == error or (error < 0.0 and math.isnan(event.time_std))


@pytest.mark.parametrize("to_impact", [0.125, 0.0, -1.0])
def test_a_prediction(recorded, to_impact):
    values = {"inertia": "M+B_theta", "time_to_impact": to_impact, "object": "parcel", "task_number": 3}
    impact = impact_prediction.impact_from_message(recorded(impact_prediction.TYPE, store(), **values))
    assert (impact.inertia, impact.time_to_impact) == ("M+B_theta", to_impact)
    assert (impact.object, impact.task_number) == ("parcel", 3)


@pytest.mark.parametrize("late", [True, False])
def test_a_field(recorded, late):
    types = store(() if late else LATE)
    arm = made(types, "impact_aware_msgs/msg/ArmReference", null_space_joint=-1, null_space_velocity_after=0.2)
    values = {"start_ramp": 0.3, "arms": [arm], "object_shape": "cylinder"}
    values |= {"ante_rotation_deceleration": 2.0, "alpha": 5.0}
    field = reference_field.field_from_message(recorded(reference_field.TYPE, types, **values))
    assert (field.start_ramp, field.alpha, field.arms[0].null_space_joint) == (0.3, 5.0, -1)
    assert field.object_shape == ("cylinder" if late else "box")
    assert field.arms[0].after_impact.known == late and not field.arms[0].base_known
    assert field.ante_rotation_deceleration == (2.0 if late else 0.0) and field.post_sideways_radius == 0.0
