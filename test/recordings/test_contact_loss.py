"""Contacts that are lost: a hand-made motion of a real arm that turns back after its impact."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from analysis_fixtures import make_impact

from impact_aware.contact import Contact
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.contact_loss import contact_loss, without_renewals
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

NORMAL = np.array([0.6, 0.0, 0.8])
HIT = 5.0


def hit(robot: RobotModel, turns_back: float, period: float = 5e-3, predicted: bool = True):
    """At 0.3 m/s into a surface, then slowly on into it, and from `turns_back` s after the impact away at 0.2 m/s."""
    away = np.linalg.pinv(robot.frame_jacobian(robot.home)[:3]) @ NORMAL
    times = HIT + np.arange(-0.2, 0.4, period) + 0.3 * period
    since = times - HIT
    way = np.where(since < 0.0, -0.3 * since, -0.01 * np.minimum(since, turns_back))
    way += 0.2 * np.maximum(since - turns_back, 0.0)
    zeros = np.zeros(7)
    event = ImpactEvent(HIT, HIT + 2e-3, 1e-3, "fusion", 0, robot.home, -0.3 * away, None, zeros, 1.0)
    impact = SimpleNamespace(
        event=event,
        time=HIT,
        position=robot.home,
        velocity_before=-0.3 * away,
        velocity_after_estimated=0.2 * away,
        prediction=SimpleNamespace(contact=Contact(robot.tool_frame, NORMAL)) if predicted else None,
    )
    return impact, ArmSamples(times, robot.home + way[:, None] * away)


@pytest.mark.parametrize("period", [5e-3, 1e-3])
def test_a_tool_that_comes_off_at_once_has_lost_its_contact(robot, period):
    impact, window = hit(robot, 0.008, period)
    loss = contact_loss(impact, window, robot, None, fixed=False)
    assert loss.time == pytest.approx(HIT + 0.008, abs=4e-3) and loss.reason == "receding"
    # The first heights of the line are those before the turn.
    assert 0.16 < loss.speed < 0.204 and abs(loss.time - HIT - 0.008) < 2.0 * loss.time_std


def test_one_that_turns_back_later_tells_only_of_a_surface_that_stays(robot):
    impact, window = hit(robot, 0.12)
    assert contact_loss(impact, window, robot, None, fixed=False) is None
    loss = contact_loss(impact, window, robot, None, fixed=True)
    assert loss.time == pytest.approx(HIT + 0.12, abs=4e-3)


def test_nothing_is_lost_before_the_tool_recedes_or_after_the_next_contact(robot):
    impact, window = hit(robot, 0.5)
    assert contact_loss(impact, window, robot, None, fixed=True) is None
    impact, window = hit(robot, 0.008)
    assert contact_loss(impact, window, robot, HIT + 0.01, fixed=True) is None
    impact, window = hit(robot, 0.008, predicted=False)
    assert contact_loss(impact, window, robot, None, fixed=True) is None


def test_a_second_contact_at_hardly_any_speed_renews_the_first(robot):
    first = replace(make_impact(robot, arm="left", index=1, file=Path("a"), time=HIT, seed=1), estimate=None)

    def later(index, share, cause="second_contact", **changes):
        event = replace(first.event, time=HIT + 0.1 * index, velocity_before=share * first.event.velocity_before)
        return replace(first, index=index, event=event, cause=cause, **changes)

    whole = [first, later(2, 0.14), later(3, 0.16), later(4, 0.02), later(5, 0.9), later(6, 0.05, "contact")]
    hits, renewals = without_renewals(whole, robot)
    # The fourth closes at an eighth of the speed of the third.
    assert [(hit.index, hit.time) for hit in hits] == [(1, HIT), (2, HIT + 0.3), (3, HIT + 0.5), (4, HIT + 0.6)]
    assert [(each.time, each.cause) for each in renewals] == [
        (HIT + 0.2, "contact_renewed"), (HIT + 0.4, "contact_renewed"),
    ]  # fmt: skip
    assert renewals[0].evidence == "the tool closes at 14 % of the speed of the hit 200 ms before"
    assert (renewals[1].arm, renewals[1].time_standard_error) == ("left", first.event.time_std)
    for unknown in ([replace(first, prediction=None), later(2, 0.01)], [first, later(2, np.nan)]):
        assert [len(part) for part in without_renewals(unknown, robot)] == [2, 0]
    assert without_renewals([first, later(2, 0.01)], None)[1] == []
    # Its closing speed along a normal that the jump itself gave says nothing about another contact.
    assert without_renewals([replace(first, normal_source="jump"), later(2, 0.01)], robot)[1] == []


@pytest.mark.parametrize(("share", "renewals"), [(0.45, 1), (0.55, 0)])
def test_a_jump_like_that_of_the_hit_is_no_renewal_however_slowly_the_tool_closes(robot, share, renewals):
    first = make_impact(robot, arm="left", index=1, file=Path("a"), time=HIT, seed=1)
    before = first.estimate.velocity_before
    after = 0.01 * before + share * (first.estimate.velocity_after - before)
    estimate = replace(first.estimate, velocity_before=0.01 * before, velocity_after=after)
    event = replace(first.event, time=HIT + 0.2, velocity_before=0.01 * first.event.velocity_before)
    second = replace(first, index=2, event=event, cause="second_contact", estimate=estimate)
    assert len(without_renewals([first, second], robot)[1]) == renewals
