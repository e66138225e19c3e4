"""What `impact-aware franka-prepare` works out without an arm, and what stops are called."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.franka.connection import stop_reason
from impact_aware.franka.prepare import tool_load
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile


def test_a_hit_that_trips_is_not_prepared_for(capsys):
    # Steel on steel; no arm is looked for.
    assert main(["franka-prepare", "--stiffness", "1e8", "--address", "127.0.0.99"]) == 2
    shown = capsys.readouterr()
    assert "cartesian_reflex" in shown.out and "127.0.0.99" not in shown.err
    assert "impact_velocity: got 0.5 m/s, where" in shown.err and "that is a hit at" in shown.err


def test_the_load_is_the_tool_in_the_flange_frame():
    own = load_profile("fr3")
    profile = replace(own, tool=replace(own.tool, inertia_diagonal=(1e-3, 2e-3, 3e-3)))
    mass, center, inertia = tool_load(RobotModel.from_profile(profile))
    # 103.4 mm from the flange to the hand's centre point, and 20 mm on; the hand is turned by -45 deg.
    assert mass == 0.2 and center == pytest.approx([0.0, 0.0, 0.1234], abs=1e-6)
    turned = np.array([[1.5, 0.5, 0.0], [0.5, 1.5, 0.0], [0.0, 0.0, 3.0]])
    np.testing.assert_allclose(np.reshape(inertia, (3, 3)), 1e-3 * turned, atol=1e-8)


@pytest.mark.parametrize(
    ("text", "now", "last", "said"),
    [
        ("libfranka: Move command aborted: [\"joint_reflex\"]", "[power]", "", "joint_reflex"),
        ("libfranka: Move command aborted", "[power]", "[joint_reflex]", "power"),
        ("libfranka: Move command aborted", "", "[joint_reflex, power]", "joint_reflex, power"),
        ("libfranka: aborted: User Stop pressed!", "", "", "user stop"),
        ("libfranka: aborted: User Stop pressed!", "[power]", "", "power"),
    ],
)
def test_a_stop_is_called_by_the_arms_errors(text, now, last, said):
    state = SimpleNamespace(current_errors=now, last_motion_errors=last)
    assert stop_reason(RuntimeError(text), state) == said
