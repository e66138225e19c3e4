"""Two arms grab and lift in the closed loop, with the object where it is thought to be and beside it."""

import numpy as np
import pytest

from impact_aware.control import Mode
from impact_aware.experiments.episode import EpisodeSettings, Truth, run_episode
from impact_aware.robot import RobotModel
from impact_aware.robot.effort_convention import EffortConvention
from impact_aware.task import load_task


@pytest.fixture(scope="module", params=[0.0, 0.015], ids=["in place", "15 mm aside"])
def grabbed(request):
    truth = Truth(displacement=(0.0, request.param, 0.0))
    return request.param, run_episode(load_task("dual_arm_grab"), EpisodeSettings(duration=1.8, truth=truth))


def test_both_arms_hit_and_the_one_that_is_nearer_hits_first(grabbed):
    displacement, result = grabbed
    assert result.hit_arms.all()
    first = {i.arm: i.time for i in reversed(result.impacts) if i.partner == "object"}
    lead = first["right"] - first["left"]
    assert result.arms_apart == pytest.approx(abs(lead))
    # The tools close at 0.3 m/s each: 2 * 15 mm apart in way is 100 ms apart in time, less what the object is moved.
    assert lead == pytest.approx(0.0, abs=2e-3) if displacement == 0.0 else 0.01 < lead < 0.12


def test_the_first_detection_begins_the_interim_mode(grabbed):
    _, result = grabbed
    entered = result.time[np.argmax(result.mode == Mode.INTERIM)]
    assert entered == pytest.approx(result.events[0][1].time_detected, abs=2e-3)
    assert 0.0 < result.detection_delay < 0.005


def test_the_object_is_lifted_without_slipping(grabbed):
    _, result = grabbed
    assert result.object_position[-1, 2] - result.object_position[0, 2] > 0.03
    assert result.slip < 0.01
    assert result.safe_reason is None


def test_the_torque_stays_within_limit_and_rate(grabbed):
    _, result = grabbed
    limit = np.tile([87.0] * 4 + [12.0] * 3, 2)
    assert np.all(np.abs(result.effort) <= limit)
    convention = EffortConvention([RobotModel.from_profile("panda")] * 2)
    # Pandas add gravity themselves: what is sent to them changes by up to 1000 N m/s over one period, plus rounding.
    sent = [convention.to_command(effort, q) for effort, q in zip(result.effort, result.q, strict=True)]
    assert np.abs(np.diff(sent, axis=0)).max() <= 1.0 + 1e-9
