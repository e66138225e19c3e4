"""Contact lost by two sliders, whose heights, speeds and times are known by hand."""

import math

import numpy as np
import pytest
from sliders import two_sliders

from impact_aware.detection import JointSample
from impact_aware.detection.bounce import BounceDetector
from impact_aware.records import ImpactEvent

PERIOD = 1e-3
NORMAL = (0.0, 2.0, 0.0)
"""Of any length; the height is the second joint's position."""
TIME = 3.0


ROBOT = two_sliders()


def event(time=TIME, before=(0.3, -0.4), after=(0.1, 0.0), height=0.0):
    after = None if after is None else np.array(after)
    position = np.array([0.9, height])
    return ImpactEvent(time, time + 0.002, 3e-4, "test", 0, position, np.array(before), after, np.zeros(2), 1.0)


def begun(first=None):
    bounce = BounceDetector(ROBOT)
    assert not bounce.watching
    bounce.begin(first or event(), NORMAL)
    assert bounce.watching
    return bounce


@pytest.mark.parametrize(
    ("before", "share"), [((9.0, -0.06), 0.15), ((0.0, -0.02), 0.05), ((0.3, 0.4), 0.0), ((0.3, np.nan), np.nan)]
)
def test_a_later_contact_closes_at_a_share_of_the_speed_of_the_hit(before, share):
    assert math.isnan(BounceDetector(ROBOT).closing_share(event()))
    bounce = begun()
    later = event(TIME + 0.1, before)
    assert bounce.closing_share(later) == pytest.approx(share, nan_ok=True)
    # The hit stays the measure of what comes after its renewal, another hit takes its place.
    bounce.begin(later, NORMAL, renewed=True)
    assert bounce.closing_share(later) == pytest.approx(share, nan_ok=True)
    bounce.begin(event(before=(0.0, -0.8)), NORMAL)
    assert bounce.closing_share(later) == pytest.approx(0.5 * share, nan_ok=True)


def heights(bounce, *values, begin=1):
    """Feed heights from `begin` periods after the impact on; (number of the sample, loss) of the first loss."""
    for k, height in enumerate(values, start=begin):
        loss = bounce.update(JointSample(TIME + k * PERIOD, np.array([0.9 - 0.1 * k, height])))
        if loss is not None:
            return k, loss
    return None


def rising(speed, count, begin=0.0):
    return [begin + speed * PERIOD * k for k in range(1, count + 1)]


def test_a_tool_that_recedes_left_where_it_was_lowest():
    bounce = begun()
    # Two millimetres down, up again at 0.11 m/s: 0.1 mm and 0.4 m/s times 1 ms are passed with the fifth height.
    found = heights(bounce, -1e-3, -2e-3, *rising(0.11, 9, begin=-2e-3))
    assert found is not None and found[0] == 2 + 5
    loss = found[1]
    assert (loss.reason, loss.time_detected) == ("receding", TIME + 7 * PERIOD)
    assert loss.time == pytest.approx(TIME + 2 * PERIOD, abs=1e-9)
    assert loss.speed == pytest.approx(0.11, rel=1e-9)
    # A quarter of the 5 ms back, and half a period.
    assert loss.time_std == pytest.approx(0.25 * 5e-3 + 0.5e-3, rel=1e-6)
    np.testing.assert_allclose(loss.position, [0.9 - 0.7, -2e-3 + 0.55e-3])
    assert not bounce.watching
    assert heights(bounce, *rising(0.11, 20), begin=20) is None


@pytest.mark.parametrize(
    ("before", "height"),
    [
        ((0.3, -0.4), 5e-4),
        ((0.3, -0.1), 2e-4),
        # What goes away from the surface, or is not known, closes in at no speed.
        ((0.3, 0.4), 1e-4),
        ((0.3, math.nan), 1e-4),
    ],
)
def test_a_joint_may_swing_back_by_a_distance_and_a_time_at_the_speed_of_the_impact(before, height):
    for share, lost in ((0.99, False), (1.01, True)):
        bounce = begun(event(before=before))
        found = heights(bounce, *(np.array([0.2, 0.4, 0.6, 0.8, 1.0]) * share * height))
        assert (found is not None) is lost


def test_five_heights_make_the_line():
    bounce = begun()
    number, loss = heights(bounce, *rising(1.0, 20))
    assert number == 5
    assert loss.time == pytest.approx(TIME, abs=1e-9)


def test_it_recedes_at_every_one_of_them():
    # The lowest is long ago; one height that falls keeps the loss away until five in a row have risen.
    values = [-1e-3, 0.0, 1e-3, 0.9e-3, *rising(0.5, 9, begin=0.9e-3)]
    number, _ = heights(begun(), *values)
    assert number == 4 + 4
    # A height that stays has not risen.
    assert heights(begun(), -1e-3, 0.0, 1e-3, 1e-3, 2e-3, 3e-3) is None


def test_the_contact_ends_not_before_the_impact():
    bounce = begun(event(height=-0.01))
    _, loss = heights(bounce, *rising(0.1, 9))
    # Followed back along the line it would be 0.1 s earlier.
    assert loss.time == pytest.approx(TIME, abs=1e-9)


def test_the_lowest_height_is_the_impacts_too():
    assert heights(begun(event(height=0.0)), *rising(0.02, 9)) is None
    assert heights(begun(event(height=-1e-3)), *rising(0.02, 9)) is not None


@pytest.mark.parametrize(
    ("since", "used", "watching"),
    [
        (-0.09, False, True),
        (-0.11, False, False),
        (0.999, True, True),
        (1.001, False, False),
    ],
)
def test_it_watches_for_a_second_and_ends_when_time_ran_backwards(since, used, watching):
    bounce = begun()
    bounce.update(JointSample(TIME + since, np.array([0.0, -0.5])))
    assert bounce.watching is watching
    # The tool is 0.7 m beside the last joint.
    assert bounce._lowest == pytest.approx(0.2 if used else 0.7)


@pytest.mark.parametrize(("jump", "lost"), [(0.061, True), (0.059, False), (-0.061, False)])
def test_a_later_impact_with_a_share_of_the_first_ones_jump_tells_of_a_loss(jump, lost):
    # The first one changed the velocity along the normal by 0.4 m/s, whatever it did across it.
    bounce = begun()
    second = event(TIME + 0.08, before=(0.1, -0.2), after=(5.0, -0.2 + jump))
    loss = bounce.judge(second)
    assert (loss is not None) is lost and bounce.watching is not lost
    if lost:
        assert (loss.time, loss.time_detected) == (pytest.approx(TIME + 0.04), TIME + 0.082)
        assert loss.time_std == pytest.approx(0.08 / math.sqrt(12.0)) and math.isnan(loss.speed)
        np.testing.assert_array_equal(loss.position, second.position)


def test_behind_an_impact_of_unknown_jump_any_that_pushes_counts():
    for first in (event(after=None), event(after=(0.0, -0.9)), event(after=(0.0, math.nan))):
        assert begun(first).judge(event(TIME + 0.1, after=(0.3, -0.399))) is not None
    assert begun().judge(event(TIME + 0.1, after=None)) is None


def test_an_impact_that_is_not_later_is_the_same():
    bounce = begun()
    for time in (TIME, TIME - 0.01):
        assert bounce.judge(event(time)) is None and bounce.watching
    assert BounceDetector(ROBOT).judge(event()) is None
