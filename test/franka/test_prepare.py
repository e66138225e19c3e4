"""`impact-aware franka-prepare` on the simulated arm."""

import json

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.franka.prepare import tool_load
from impact_aware.robot import RobotModel


def test_the_arm_gets_load_thresholds_and_impedance_and_reports_what_it_can(arm, capsys):
    arm.user_stop(False)
    arm.reset()
    assert main(["franka-prepare", "--address", arm.address, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert arm.load == pytest.approx(0.2) == result["arm"]["load_mass"]
    assert result["arm"]["load_center"] == pytest.approx(result["load_center"], abs=1e-6)
    assert arm.torque_thresholds == pytest.approx(result["torque_thresholds"])
    assert arm.force_thresholds == pytest.approx(result["force_thresholds"])
    assert arm.joint_impedance == pytest.approx(result["joint_impedance"])
    assert result["trips"][0]["share"] < 1.0 < result["allowed_speed"] / result["impact_speed"]


def test_a_hit_that_trips_is_not_prepared_for(capsys):
    # Steel on steel; no arm is looked for.
    assert main(["franka-prepare", "--stiffness", "1e8", "--address", "127.0.0.99"]) == 2
    shown = capsys.readouterr()
    assert "cartesian_reflex" in shown.out and "127.0.0.99" not in shown.err
    assert "impact_velocity: got 0.5 m/s, where" in shown.err and "that is a hit at" in shown.err


def test_the_load_is_the_tool_in_the_flange_frame():
    mass, center, inertia = tool_load(RobotModel.from_profile("fr3"))
    # 103.4 mm from the flange to the hand's centre point, and 20 mm on.
    assert mass == 0.2 and center == pytest.approx([0.0, 0.0, 0.1234], abs=1e-6)
    np.testing.assert_allclose(np.reshape(inertia, (3, 3)), 7.2e-5 * np.eye(3), atol=1e-12)
