"""Postures that nobody chose: within the limits, and within one turn of joints that have none."""

import numpy as np

from impact_aware.experiments.validation.random_postures import random_postures
from impact_aware.resources import read_text
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile


def _endless(*turning: str) -> RobotModel:
    """An FR3 of whose joints some turn without end."""
    profile = load_profile("fr3")
    text = read_text("urdf", profile.urdf)
    for name in turning:
        head, tail = text.split(f'<joint name="{name}" type="revolute">')
        text = f'{head}<joint name="{name}" type="continuous">{tail}'
    return RobotModel.from_urdf(text, joint_names=profile.joint_names)


def test_joints_without_an_end_are_drawn_from_one_turn():
    robot = _endless("fr3_joint1", "fr3_joint7")
    assert np.isinf(robot.limits.position_lower).tolist() == [True, False, False, False, False, False, True]
    region = ((0.3, 0.6), (-0.4, 0.2), (0.2, 0.5))
    postures = random_postures(robot, np.random.default_rng(6), 8, (0.0, 0.0, -1.0), region)
    assert np.isfinite(postures).all()
    for q in postures:
        place = robot.placement(q)
        assert all(low - 1e-6 <= x <= high + 1e-6 for x, (low, high) in zip(place.translation, region, strict=True))
        assert place.rotation[2, 2] < -0.999
    # Drawn from a whole turn, and not from what is left of one side.
    assert np.ptp(np.array(postures)[:, 0]) > 1.0
