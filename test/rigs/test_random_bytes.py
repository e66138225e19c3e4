"""Spoilt bytes: every kind of fault comes, nothing raises, whatever the message."""

from __future__ import annotations

import random

import pytest

from impact_aware_rigs.fuzz import random_bytes
from impact_aware_rigs.fuzz.random_bytes import spoil_bytes

MESSAGE = bytes((0, 1, 0, 0)) + bytes(range(100))


def test_the_same_seed_spoils_alike_and_the_message_itself_stays():
    message = bytes(MESSAGE)
    first, again, other = (spoil_bytes(message, random.Random(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert message == MESSAGE


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 8, 11, 12, 13, 104])
def test_messages_of_any_length_can_be_spoilt(size):
    generator = random.Random(size)
    for _ in range(300):
        assert isinstance(spoil_bytes(MESSAGE[:size], generator), bytes)


@pytest.mark.parametrize("fault", random_bytes._FAULTS, ids=lambda fault: fault.__name__)
def test_each_fault_changes_nearly_every_message(fault):
    generator, changed = random.Random(0), 0
    for _ in range(200):
        data = bytearray(MESSAGE)
        fault(data, generator)
        changed += bytes(data) != MESSAGE
    # A word may be replaced by itself, and two turns of one bit undo each other.
    assert changed > 190


def test_the_byte_order_is_denied_and_nothing_else():
    data = bytearray(MESSAGE)
    random_bytes._swap_byte_order(data, random.Random(0))
    assert bytes(data) == b"\x00\x00" + MESSAGE[2:]
