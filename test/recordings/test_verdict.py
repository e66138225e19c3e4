"""The verdict on a prediction: its answer, the error's reference and interval, when a share of the jump is given."""

import numpy as np
import pytest

from impact_aware.recordings.verdict import CANNOT_TELL, ESTIMATE, NO, PLANT, YES, Reference, decided, verdict

BEFORE, AFTER = np.array([0.5, -0.3, 0.2]), np.array([0.1, 0.2, 0.0])
KNOWN = np.full(3, 0.01)


def estimate(after=AFTER, error=KNOWN):
    return Reference(ESTIMATE, BEFORE, after, error)


def truth(after=AFTER):
    return Reference(PLANT, BEFORE, after, np.zeros(3))


def test_a_prediction_within_the_errors_agrees_and_has_no_share():
    found = verdict(AFTER + [0.01, -0.01, 0.0], None, estimate(), None)
    assert found.within == YES and found.reference == ESTIMATE
    assert found.distance == pytest.approx(np.sqrt(2.0 / 3.0))
    # The velocity after is known to 0.017 rad/s, the error is 0.014 rad/s: no percentage is known better than that.
    assert found.error == pytest.approx(0.01 * np.sqrt(2.0)) and found.share is None
    assert found.interval[0] == 0.0 and found.interval[1] == pytest.approx(found.error + 1.96 * 0.01 * np.sqrt(3.0))


def test_a_prediction_far_off_disagrees_by_a_share_of_the_jump():
    found = verdict(AFTER + [0.2, 0.0, 0.0], None, estimate(), None)
    assert found.within == NO and found.reason == ""
    assert found.share == pytest.approx(0.2 / np.linalg.norm(AFTER - BEFORE))


@pytest.mark.parametrize(("assumed", "words"), [((), "; 31.2 % as predicted live, from the"), (("friction 0",), "")])
def test_the_live_prediction_has_its_own_share_beside_that_of_the_analysis(assumed, words):
    live = AFTER + [0.0, 0.0, 0.209]
    found = verdict(AFTER + [0.2, 0.0, 0.0], None, estimate(), truth(), assumed=assumed, live=live)
    assert found.live_text.startswith(words) and bool(found.live_text) == bool(words)


def test_the_spread_of_the_prediction_counts():
    assert verdict(AFTER + [0.05, 0.0, 0.0], None, estimate(), None).within == NO
    assert verdict(AFTER + [0.05, 0.0, 0.0], np.full(3, 0.05), estimate(), None).within == YES


def test_the_plants_truth_is_the_reference_of_the_error_and_the_estimate_that_of_the_test():
    found = verdict(AFTER + [0.05, 0.0, 0.0], np.full(3, 1e-3), estimate(AFTER + [0.01, 0.0, 0.0]), truth())
    assert found.reference == PLANT and found.error == pytest.approx(0.05)
    assert found.share == pytest.approx(0.05 / np.linalg.norm(AFTER - BEFORE))
    assert found.within == NO and found.reason == ""


def test_no_is_never_said_beside_an_interval_that_has_zero():
    errors = np.array([0.2, 0.2, 0.003])
    found = verdict(AFTER + [0.0, 0.0, 0.3], None, estimate(error=np.array([0.01, 0.01, 0.003])), None)
    assert found.within == NO and found.interval[0] > 0.0
    found = verdict(AFTER + [0.0, 0.0, 0.3], None, estimate(error=errors), None)
    assert found.distance > 1.7 and found.interval[0] == 0.0
    assert found.within == CANNOT_TELL and found.reason.startswith("off by 3.7 (joint 3) standard errors, but the")


@pytest.mark.parametrize("predicted", [AFTER, AFTER + [0.2, 0.0, 0.0]])
def test_an_estimate_that_the_truth_refutes_decides_nothing(predicted):
    found = verdict(predicted, None, estimate(AFTER + [0.2, 0.0, 0.0]), truth())
    assert found.within == CANNOT_TELL and found.reference == PLANT
    assert found.reason == "the estimate is 11.5 standard errors per joint from the simulator's truth"
    assert found.error == pytest.approx(np.linalg.norm(predicted - AFTER))


def test_what_was_assumed_may_be_the_reason_and_takes_the_share():
    far = verdict(AFTER + [0.2, 0.0, 0.0], None, estimate(), None, assumed=("friction 0",))
    assert far.within == CANNOT_TELL and "assumed" in far.reason and far.share is None
    # The interval would have the estimate's error alone.
    assert far.error == pytest.approx(0.2) and far.interval is None
    near = verdict(AFTER, None, estimate(), None, assumed=("friction 0",))
    assert near.within == YES and near.assumed == ("friction 0",)


@pytest.mark.parametrize(
    ("predicted", "reference", "untested", "words"),
    [
        (None, estimate(), "", "nothing was predicted"),
        (AFTER, None, "", "velocity after is not known"),
        (AFTER + 1.0, estimate(), "the motors' inertia is not known", "inertia"),
        (AFTER, estimate(error=np.full(3, 0.3)), "", "the velocity after is known to"),
    ],
)
def test_what_can_not_be_told_says_why(predicted, reference, untested, words):
    found = verdict(predicted, None, reference, None, untested=untested)
    assert found.within == CANNOT_TELL and words in found.reason and found.share is None
    assert untested == "" or found.interval is None


def test_right_predictions_agree_in_nineteen_of_twenty():
    rng = np.random.default_rng(3)
    found = [verdict(AFTER, None, estimate(AFTER + KNOWN * rng.standard_normal(3)), None) for _ in range(400)]
    assert 0.92 < np.mean([one.within == YES for one in found]) < 0.98
    inside = [one.interval[0] <= 0.0 <= one.interval[1] for one in found]
    assert np.mean(inside) > 0.95


def test_an_inertia_is_chosen_only_where_the_data_decide():
    rows = [("M", AFTER + 0.02), ("M+B_theta", AFTER + 0.001), ("M+B_theta", AFTER + 0.3)]
    assert decided(rows, estimate(), None) == "M+B_theta"
    assert decided(rows, estimate(error=np.full(3, 0.02)), None) == ""
    assert decided(rows[:1], estimate(), None) == ""
