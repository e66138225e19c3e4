"""Random field values and spoilt messages, with messages that are none of ROS."""

import math
from random import Random

import pytest

from impact_aware_rigs.fuzz.random_messages import BYTE_FAULTS, RandomMessages, spoil_bytes


class Point:
    def __init__(self) -> None:
        self.x = 1.0

    def get_fields_and_field_types(self) -> dict[str, str]:
        return {"x": "double"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x

    def __repr__(self) -> str:
        return f"Point({self.x})"


class Thing:
    def __init__(self) -> None:
        self.name, self.count, self.level, self.known, self.place = "a", 1, b"\0", True, Point()
        self.values, self.few, self.frame, self.points = [1.0, 2.0, 3.0], [1], [0.0] * 9, [Point(), Point()]

    def get_fields_and_field_types(self) -> dict[str, str]:
        return {
            "name": "string", "count": "uint8", "level": "octet", "known": "boolean", "place": "test/Point",
            "values": "sequence<double>", "few": "sequence<int32, 3>", "frame": "float[9]",
            "points": "sequence<test/Point>",
        }  # fmt: skip


KINDS = {"test/Point": Point, "test/Thing": Thing}


def source(seed: int) -> RandomMessages:
    return RandomMessages(seed, lambda name: KINDS[name]())


def text(thing: Thing) -> str:
    return repr(vars(thing))


def check_types(thing: Thing) -> None:
    assert isinstance(thing.name, str)
    assert 0 <= thing.count <= 255
    assert isinstance(thing.level, bytes) and len(thing.level) == 1
    assert isinstance(thing.known, bool)
    assert isinstance(thing.place.x, float)
    assert all(isinstance(value, float) for value in thing.values)
    assert all(-(2**31) <= value < 2**31 for value in thing.few)
    assert len(thing.frame) == 9
    assert all(abs(value) < 3.5e38 or not math.isfinite(value) for value in thing.frame)
    assert all(isinstance(point, Point) for point in thing.points)


def test_the_same_seed_makes_the_same_messages_and_another_one_others():
    first, again, other = (text(source(seed).value("test/Thing")) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_values_keep_to_the_types_and_bounds_of_their_fields():
    random = source(3)
    made = [random.value("test/Thing") for _ in range(300)]
    for thing in made:
        check_types(thing)
    assert max(len(thing.few) for thing in made) == 3
    assert {thing.known for thing in made} == {False, True}
    assert any(math.isnan(thing.place.x) for thing in made)


def test_spoiling_changes_something_and_keeps_the_types():
    random, good = source(5), text(Thing())
    spoilt = [random.spoil(Thing(), 1) for _ in range(300)]
    for thing in spoilt:
        check_types(thing)
    # Some fields are replaced by what they had.
    assert sum(text(thing) != good for thing in spoilt) > 200
    for name in vars(Thing()):
        assert any(repr(getattr(thing, name)) != repr(getattr(Thing(), name)) for thing in spoilt), name


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
