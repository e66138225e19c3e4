"""A few hundred spoilt inputs of every kind; `make fuzz` goes on for as long as asked, steered by coverage."""

from pathlib import Path

import numpy as np
import pytest
import targets

KEPT = Path(__file__).with_name("kept")
COUNT = {"bag-db3": 25, "set_task": 25}
"""Inputs per target, where they are slow."""


def spoilt(data, rng):
    """The bytes with some flipped, overwritten by extremes, cut out, repeated, or cut off."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(data))) if data else 0
        length = int(rng.choice([1, 2, 4, 8, 30]))
        match int(rng.integers(6)):
            case 0:
                data[place : place + 1] = bytes([int(rng.integers(256))])
            case 1:
                data[place : place + length] = bytes([int(rng.choice([0, 1, 0x7F, 0x80, 0xFF]))]) * length
            case 2:
                del data[place : place + length]
            case 3:
                data[place:place] = data[place : place + length]
            case 4:
                data[place : place + 8] = int(rng.choice([2**31, 2**32 - 1, 2**40, 2**63 - 1])).to_bytes(8, "little")
            case 5 if rng.random() < 0.2:
                del data[place:]
    return bytes(data)


@pytest.mark.parametrize("name", targets.TARGETS)
def test_a_good_input_is_accepted(name):
    assert targets.run(name, targets.TARGETS[name][2]()) is None


@pytest.mark.parametrize("name", targets.TARGETS)
def test_spoilt_inputs_are_read_or_refused_in_one_line(name):
    rng = np.random.default_rng(len(name))
    good = targets.TARGETS[name][2]()
    for number in range(COUNT.get(name, 60)):
        data = spoilt(good, rng)
        try:
            targets.run(name, data)
        except BaseException as error:
            error.add_note(f"{name}, input {number}")
            raise


@pytest.mark.parametrize("path", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed_is_read_or_refused_in_one_line(path):
    targets.run(path.parent.name, path.read_bytes())
