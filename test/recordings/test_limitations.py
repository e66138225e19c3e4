"""What a recording can't tell is said, with the impacts that it is about, and nothing else."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hand_made import make_analysis, make_impact

from impact_aware.recordings.contact_check import ContactCheck
from impact_aware.recordings.limitations import limitations


def told(analysis):
    return {entry.what: entry for entry in limitations(analysis)}


@pytest.fixture
def analysis():
    return make_analysis(make_impact(), make_impact(index=4))


def changed(analysis, **what):
    return replace(analysis, arms=tuple(replace(arm, **what) for arm in analysis.arms))


def test_a_slow_source_and_a_bad_one(analysis):
    assert not any("oscillations" in what for what in told(analysis))
    slow = told(changed(analysis, rate_hz=199.0, quality="a slow source is repeated"))
    assert "5.0 ms apart" in slow["oscillations of the joints, and contacts within a few samples of each other"].reason
    assert slow["whether there were more impacts"].reason == "a slow source is repeated"


def test_impacts_are_counted_where_it_is_about_some(analysis):
    some = told(make_analysis(make_impact(), make_impact(index=4, normal_source="jump")))
    entry = some["whether the prediction is right"]
    assert entry.impacts == (4,) and "--normal" in entry.reason
    every = told(make_analysis(make_impact(normal_source="jump"), make_impact(index=4, normal_source="jump")))
    assert every["whether the prediction is right"].impacts == ()
    assert "whether the prediction is right" not in told(analysis)


def test_short_windows_and_no_estimate():
    short = make_impact()
    estimate = short.estimate
    window = (short.time, short.time + 0.05)
    found = told(make_analysis(make_impact(index=1, estimate=replace(estimate, window=window)), make_impact(index=2)))
    assert found["the velocity after as well as elsewhere"].impacts == (1,)
    # `both_sides` needs 70 ms: where that much follows there is nothing to warn of.
    for end, warned in ((0.079, ()), (0.05, (1,))):
        longest = replace(estimate, method="both_sides", window=(short.time - 0.06, short.time + end))
        found = told(make_analysis(make_impact(index=1, estimate=longest), make_impact(index=2)))
        entry = found.get("the velocity after as well as elsewhere")
        assert (() if entry is None else entry.impacts) == warned
    found = told(make_analysis(make_impact(index=1, estimate=None), make_impact(index=2)))
    assert found["the velocity after"].impacts == (1,)
    found = told(make_analysis(make_impact(index=1), make_impact(index=2, estimate=replace(estimate, settled=False))))
    assert found["the velocity after for sure"].impacts == (2,)


@pytest.mark.parametrize(("error", "said"), [(0.049, False), (0.08, True), (None, False)])
def test_a_restitution_that_is_not_told_to_a_tenth_is_said_to_be_so(error, said):
    hit = SimpleNamespace(restitution=None if error is None else 0.4, restitution_error=error)
    assert ("the restitution to within 0.1" in told(make_analysis(make_impact(object_hit=hit)))) is said


def test_how_large_a_jump_has_to_be_is_said_where_it_is_known():
    assert list(told(make_analysis())) == ["impacts in which no joint jumps by 0.045 rad/s"]
    assert told(changed(make_analysis(), smallest_jump=math.nan)) == {}


def checked(verdict, **fit):
    """An impact whose contact was held against its jump."""
    fitted = SimpleNamespace(frame="flange", unexplained=0.4, **fit)
    return ContactCheck(verdict, 0.05, 0.01, 0.5, fitted, np.zeros(3))


@pytest.mark.parametrize(
    ("check", "said", "note"),
    [
        (checked("agrees", one_point=True, error_across=0.004), (), ""),
        (checked("another_point", one_point=True, error_across=0.004, point=np.ones(3)), (), "another point explains"),
        (checked("cannot_tell", one_point=True, error_across=0.012), ("right",),
         "across the impulse to +- 1.2 cm only"),
        (checked("cannot_tell", one_point=False, error_across=0.002), ("where",),
         "no point of flange explains the jump, 40 % of it stay"),
    ],
)  # fmt: skip
def test_a_contact_point_that_a_jump_does_not_tell_is_said_with_its_reason(check, said, note):
    found = told(make_analysis(make_impact(contact_check=check)))
    reasons = {
        "right": ("whether the contact point is right", "standard error of more than 1 cm"),
        "where": ("where the contact point is", "no point of the frame explains the jump"),
    }
    for word, (what, reason) in reasons.items():
        assert (what in found) == (word in said)
        assert word not in said or reason in found[what].reason
    assert note in check.note and bool(note) == bool(check.note)
