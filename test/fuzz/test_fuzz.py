"""A few hundred spoilt inputs of every kind; `make fuzz` goes on for as long as asked, steered by coverage."""

import resource
from pathlib import Path
from random import Random

import pytest
import targets

from impact_aware_rigs.fuzz.random_messages import spoil_bytes

KEPT = Path(__file__).with_name("kept")
COUNT = {"bag-db3": 25, "set_task": 25}
"""Inputs per target, where they are slow."""


@pytest.mark.parametrize("name", targets.TARGETS)
def test_a_good_input_is_accepted(name):
    assert targets.run(name, targets.TARGETS[name][2]()) is None


@pytest.mark.parametrize("name", targets.TARGETS)
def test_spoilt_inputs_are_read_or_refused_in_one_line(name):
    generator = Random(len(name))
    good = targets.TARGETS[name][2]()
    for number in range(COUNT.get(name, 60)):
        data = spoil_bytes(good, generator)
        try:
            targets.run(name, data)
        except BaseException as error:
            error.add_note(f"{name}, input {number}")
            raise


@pytest.mark.parametrize("path", sorted(KEPT.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_once_failed_is_read_or_refused_in_one_line_and_little_memory(path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    targets.run(path.parent.name, path.read_bytes())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
