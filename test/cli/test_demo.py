"""What the demo says of a recording that can't be summed up: it did not happen, or it was not recorded."""

from __future__ import annotations

import pytest

from impact_aware.cli.demo import _explained
from impact_aware.recordings.bag import BagError

ERROR = BagError("bag: the arm never touched the object")


@pytest.mark.parametrize(
    ("plant", "text"),
    [
        (
            {"impacts": "2", "states": "3000"},
            "the recording lacks what happened, 2 impacts in 3000 states of the plant: "
            "bag: the arm never touched the object",
        ),
        (
            {"impacts": "0", "states": "3000"},
            "the plant counts no impact in 3000 states: bag: the arm never touched the object",
        ),
        ({}, "the plant counts no impact in 0 states: bag: the arm never touched the object"),
    ],
)
def test_the_plant_knows_which(plant: dict[str, str], text: str) -> None:
    assert _explained(ERROR, plant) == text
