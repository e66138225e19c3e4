"""Which of the recorded predictions belongs to an impact."""

import numpy as np
import pytest

from impact_aware.bags.recorded_predictions import prediction_for, truth_for
from impact_aware.records import Impact

TIME = 12.0


def made(time, source="look_ahead", names=("a", "b")):
    return "/predicted_jumps", Impact(source=source, time=time, joint_names=names, velocity_after=np.zeros(len(names)))


@pytest.mark.parametrize(
    ("predictions", "fitting"),
    [
        ([made(11.5), made(11.9), made(11.7)], 11.9),  # the newest announcement
        ([made(11.3), made(12.1)], None),  # too old, and after the impact
        ([made(11.9), made(11.7, names=("b", "a"))], 11.9),  # the same joints in another order
        ([made(11.9, names=("c", "d"))], None),
        ([made(11.99), made(11.985, "at_impact"), made(12.01, "at_impact")], 12.01),  # the nearest
        ([made(11.9), made(12.03, "at_impact")], 11.9),  # of another impact
    ],
)
def test_an_impact_has_the_prediction_that_was_made_for_it(predictions, fitting):
    found = prediction_for(predictions, TIME, ("a", "b"))
    assert (None if found is None else found.time) == fitting


def test_the_true_impact_is_the_nearest_of_the_same_joints():
    truths = [made(time, "plant") for time in (11.985, 12.005, 12.012)] + [made(12.001, "plant", ("c", "d"))]
    assert truth_for(truths, TIME, ("b", "a")).time == 12.005
    assert truth_for(truths[:1], 12.015, ("a", "b")) is None
