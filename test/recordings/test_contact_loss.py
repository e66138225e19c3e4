"""Contacts that are lost: a hand-made motion of a real arm that turns back after its impact."""

from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.contact_loss import contact_loss
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
