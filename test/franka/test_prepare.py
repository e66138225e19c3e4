"""`impact-aware franka-prepare` on the simulated arm."""

import json

import pytest

from impact_aware.cli.main import main


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
