"""ImpactEvent to and from the message: every field, whatever the kind."""

import dataclasses
import math

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent as Message
from rclpy.serialization import deserialize_message, serialize_message

from impact_aware.bags.message_types import RECORDED, annotation_types
from impact_aware.detection.bounce import ContactLoss
from impact_aware.detection.completion import ContactCompletion
from impact_aware.messages import impact_event
from impact_aware.messages.impact_event import (
    CAUSES,
    MEANINGS,
    TYPE,
    completion_to_message,
    event_from_message,
    event_to_message,
    loss_to_message,
    outcome_of_event,
)
from impact_aware.messages.stamps import seconds
from impact_aware.records import ImpactEvent
from impact_aware.ros.messages import ROS

EVENT = ImpactEvent(
    time=12.25,
    time_detected=12.254,
    time_std=3e-4,
    detector="kink",
    joint=1,
    position=np.array([0.1, 0.2, 0.3]),
    velocity_before=np.array([1.1, 1.2, 1.3]),
    velocity_after=np.array([2.1, 2.2, 2.3]),
    residual=np.array([0.4, 3.5, 0.6]),
    confidence=0.75,
)
NAMES = ("x", "y", "z")
ABOUT = {"sequence": 5, "arm": "left", "frame": "left_link0"}


def sent(message: Message) -> Message:
    return deserialize_message(serialize_message(message), Message)


def test_every_field_of_an_impact_comes_back():
    message = sent(event_to_message(EVENT, ROS, joint_names=NAMES, expected=False, **ABOUT))
    read = event_from_message(message)
    assert read.time == pytest.approx(12.25, abs=1e-9)
    assert read.time_detected == pytest.approx(12.254, abs=1e-9)
    assert read.time_std == pytest.approx(3e-4, abs=1e-9)
    same = dataclasses.replace(read, time=EVENT.time, time_detected=EVENT.time_detected, time_std=EVENT.time_std)
    np.testing.assert_equal(dataclasses.asdict(same), dataclasses.asdict(EVENT))
    assert (message.sequence, message.arm, message.header.frame_id) == (5, "left", "left_link0")
    assert (message.kind, message.meaning) == (Message.KIND_CONTACT_MADE, Message.MEANING_UNEXPECTED)
    assert list(message.joint_names) == list(NAMES)
    assert (message.stamp_detected.sec, message.stamp_detected.nanosec) == (12, 254_000_000)
    assert message.has_time_standard_error and message.time_standard_error.nanosec == 300_000
    assert message.has_first_joint and message.first_joint == 1


def test_a_recording_has_the_same_event():
    message = event_to_message(EVENT, RECORDED, joint_names=NAMES, expected=True, cause="contact", **ABOUT)
    read = annotation_types().deserialize_cdr(RECORDED.serialize(message, TYPE), TYPE)
    expected = sent(event_to_message(EVENT, ROS, joint_names=NAMES, expected=True, cause="contact", **ABOUT))
    assert read.cause == Message.CAUSE_CONTACT
    for name in Message.get_fields_and_field_types():
        if name not in ("header", "stamp_detected", "time_standard_error"):
            np.testing.assert_array_equal(getattr(read, name), getattr(expected, name), err_msg=name)
    for name in ("stamp_detected", "time_standard_error"):
        assert seconds(getattr(read, name)) == seconds(getattr(expected, name)) > 0.0


def test_numbers_are_those_of_the_definition():
    kinds = (impact_event.CONTACT_MADE, impact_event.CONTACT_LOST, impact_event.CONTACT_COMPLETE)
    assert kinds == (Message.KIND_CONTACT_MADE, Message.KIND_CONTACT_LOST, Message.KIND_CONTACT_COMPLETE)
    expected = (Message.MEANING_UNKNOWN, Message.MEANING_EXPECTED, Message.MEANING_UNEXPECTED)
    assert (MEANINGS[None], MEANINGS[True], MEANINGS[False]) == expected
    assert {name: getattr(Message, f"CAUSE_{name.upper() or 'UNKNOWN'}") for name in CAUSES} == CAUSES


def test_an_unknown_time_error_has_no_flag_in_the_message_and_is_nan_in_the_library():
    event = dataclasses.replace(EVENT, time_std=math.nan, velocity_after=None)
    message = sent(event_to_message(event, ROS, joint_names=NAMES, **ABOUT))
    assert not message.has_time_standard_error and len(message.velocity_after) == 0
    read = event_from_message(message)
    assert math.isnan(read.time_std) and read.velocity_after is None
    assert message.meaning == Message.MEANING_UNKNOWN
    message.has_time_standard_error, message.time_standard_error.sec = True, -1
    assert math.isnan(event_from_message(message).time_std)


def test_arrays_of_another_length_are_unknown():
    message = event_to_message(EVENT, ROS, joint_names=NAMES, **ABOUT)
    message.position, message.velocity_before, message.residual = [1.0], [], [1.0] * 4
    read = event_from_message(message)
    for values in (read.position, read.velocity_before, read.residual):
        assert values.shape == (3,) and np.isnan(values).all()


@pytest.mark.parametrize(("reason", "confidence"), [("receding", 1.0), ("second impact", 0.5)])
def test_a_lost_contact(reason, confidence):
    loss = ContactLoss(4.5, 4.52, 2e-3, np.array([0.1, 0.2, 0.3]), 0.2, reason)
    message = sent(loss_to_message(loss, ROS, joint_names=NAMES, **ABOUT))
    assert (message.kind, message.detector) == (Message.KIND_CONTACT_LOST, "bounce")
    assert message.cause == Message.CAUSE_CONTACT_LOST
    assert (seconds(message.header.stamp), seconds(message.stamp_detected)) == (4.5, pytest.approx(4.52))
    assert (seconds(message.time_standard_error), message.confidence) == (2e-3, confidence)
    assert message.has_time_standard_error and not message.has_first_joint
    assert list(message.position) == [0.1, 0.2, 0.3] and list(message.joint_names) == list(NAMES)
    assert (message.sequence, message.arm, message.header.frame_id) == (5, "left", "left_link0")


@pytest.mark.parametrize(("reason", "confidence"), [("settled", 1.0), ("timeout", 0.0)])
def test_a_sequence_that_is_over(reason, confidence):
    done = ContactCompletion(6.5, 2, reason, 0.01)
    message = sent(completion_to_message(done, ROS, **ABOUT))
    assert (message.kind, message.detector) == (Message.KIND_CONTACT_COMPLETE, "completion")
    assert message.cause == Message.CAUSE_UNKNOWN
    assert seconds(message.header.stamp) == seconds(message.stamp_detected) == 6.5
    assert message.confidence == confidence
    assert not message.has_time_standard_error and not message.has_first_joint
    assert (message.sequence, message.arm, message.header.frame_id) == (5, "left", "left_link0")


def test_the_first_look_is_an_outcome():
    message = event_to_message(EVENT, ROS, joint_names=NAMES, **ABOUT)
    outcome = outcome_of_event(message)
    assert (outcome.origin, outcome.time, outcome.joint_names) == ("first look", 12.25, NAMES)
    np.testing.assert_array_equal(outcome.velocity, [2.1, 2.2, 2.3])
    assert np.isnan(outcome.error).all()
    np.testing.assert_array_equal(outcome.picked(("z", "x")), [2.3, 2.1])
    assert outcome.picked(("z", "w")) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": Message.KIND_CONTACT_COMPLETE},
        {"velocity_after": []},
        {"velocity_after": [1.0]},
        {"velocity_after": [1.0, math.inf, 0.0]},
    ],
)
def test_no_first_look_no_outcome(changes):
    message = event_to_message(EVENT, ROS, joint_names=NAMES, **ABOUT)
    for name, value in changes.items():
        setattr(message, name, value)
    assert outcome_of_event(message) is None
