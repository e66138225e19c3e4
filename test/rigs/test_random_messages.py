"""Random field values and spoilt messages."""

from random import Random

import pytest
from builtin_interfaces.msg import Time
from impact_aware_msgs.msg import ImpactPrediction, ReferenceField, Task
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from impact_aware_rigs.fuzz.random_messages import BYTE_FAULTS, RandomMessages, spoil_bytes
from impact_aware_rigs.fuzz.templates import Traffic

KINDS = (JointState, ImpactPrediction, ReferenceField, Task)


def sent(seed: int) -> list[str]:
    """Only what keeps to the types of its fields can be serialized."""
    traffic = Traffic("hit_and_push", seed)
    data = [(kind, traffic.data(kind, "topic", spoil=True, raw=False)) for kind in KINDS for _ in range(100)]
    return [repr(deserialize_message(message, kind)) for kind, message in data]


def test_the_same_seed_spoils_fields_alike_and_nearly_every_message():
    assert sent(1) == sent(1) != sent(2)
    empty = {"std_msgs/Header": Header, "builtin_interfaces/Time": Time}
    random, good = RandomMessages(5, lambda name: empty[name]()), repr(JointState())
    # Some fields are replaced by what they had.
    assert sum(repr(random.spoil(JointState(), 1)) != good for _ in range(100)) > 60


MESSAGE = bytes((0, 1, 0, 0)) + bytes(range(100))


def test_the_same_seed_spoils_alike_and_the_message_itself_stays():
    message = bytes(MESSAGE)
    first, again, other = (spoil_bytes(message, Random(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert message == MESSAGE


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 8, 11, 12, 13, 104])
def test_messages_of_any_length_can_be_spoilt(size):
    generator = Random(size)
    for _ in range(300):
        assert isinstance(spoil_bytes(MESSAGE[:size], generator), bytes)


@pytest.mark.parametrize("fault", BYTE_FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_changes_nearly_every_message(fault):
    generator, changed = Random(0), 0
    for _ in range(200):
        data = bytearray(MESSAGE)
        fault(data, generator)
        changed += bytes(data) != MESSAGE
    # A word may be replaced by itself, and two turns of one bit undo each other.
    assert changed > 185
