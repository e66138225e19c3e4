"""The cycles that `bench control` times, and what TSID is given of them."""

import sys

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import Mode
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench import tsid_cycle, tsid_peer
from impact_aware_rigs.bench.regimes import BEYOND, REGIMES_ALL, Timed, figures, session_of, time_regimes

ROBOT = RobotModel.from_profile("panda")


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "mode"), [("one_arm", Mode.ANTE), ("one_arm", Mode.POST), ("two_arms", Mode.INTERIM)])
def test_every_regime_occurs_and_no_command_is_unsafe(arms, mode):
    found = time_regimes(ROBOT, arms, mode, 5, seed=1)
    for regime in REGIMES_ALL:
        assert len(found.wall[regime]) == len(found.processor[regime]) >= 5, regime
    assert (found.unsafe, found.cut) == (0, 0)


def test_the_figures_are_those_of_each_regime():
    found = Timed()
    found.cycles, found.wall[BEYOND], found.processor[BEYOND] = 7, [3e-6, 1e-6, 2e-6], [1e-6, 1e-6, 4e-6]
    result = figures(found)
    assert result["cycles"] == 7 and result[REGIMES_ALL[0]] == {"cycles": 0}
    own = result[BEYOND]
    assert (own["cycles"], own["p50_us"], own["max_us"], own["processor_max_us"]) == pytest.approx((3, 2.0, 3.0, 4.0))
    assert own["processor_p50_us"] == pytest.approx(1.0) and 2.9 < own["p99_us"] < 3.0


@pytest.mark.parametrize("arms", ["one_arm", "two_arms"])
def test_what_tsid_gets_are_the_same_bodies(arms):
    session, posture = session_of(ROBOT, arms)
    model = tsid_cycle.model_of(tsid_peer._bodies(session))
    data = model.createData()
    q = posture + 0.1 * np.arange(posture.size)
    dq = np.cos(np.arange(posture.size))
    for arm in session._law.arms:
        arm.update(q[arm.joints], dq[arm.joints])
        joints = arm.joints
        inertia = pin.crba(model, data, q)
        inertia = np.triu(inertia) + np.triu(inertia, 1).T
        np.testing.assert_allclose(inertia[joints, joints], arm.mass_matrix, atol=1e-12)
        np.testing.assert_allclose(pin.nonLinearEffects(model, data, q, dq)[joints], arm.bias, atol=1e-11)
        pin.framesForwardKinematics(model, data, q)
        index = session._law.arms.index(arm)
        np.testing.assert_allclose(data.oMf[model.getFrameId(f"tool_{index}")].translation, arm.position, atol=1e-12)


@pytest.mark.slow
def test_without_tsid_the_own_figures_stay():
    found = tsid_peer.beside_tsid(ROBOT, "one_arm", 20, sys.executable)
    assert found["ours"]["p50_us"] > 0.0
    if isinstance(found["tsid"], str):
        assert "tsid" in found["tsid"]
    else:
        assert found["largest_torque_difference"] < 0.01
    assert "not measured" in tsid_peer.beside_tsid(ROBOT, "one_arm", 20, "/no/such/python")["tsid"]
