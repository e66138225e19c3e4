import numpy as np
import pytest

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments.random_setup import RANGES, RandomSetup, draw_trial, plan_random
from impact_aware.robot import RobotModel
from impact_aware.task import hit_normal, load_task, tool_placement


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("panda")


@pytest.mark.parametrize(("campaign", "name"), [("hit-and-push", "hit_and_push"), ("dual-arm-grab", "dual_arm_grab")])
def test_what_is_drawn_stays_within_the_stated_ranges(robot, campaign, name):
    task = load_task(name)
    robots = [robot] * len(task.arms)
    for setup in plan_random(campaign, 12):
        trial = draw_trial(setup, task, robots, seed=0)
        assert RANGES.mass[0] <= trial.task.object.mass <= RANGES.mass[1]
        moved = np.subtract(trial.task.object.position, task.object.position)
        np.testing.assert_allclose(np.subtract(trial.task.goal, task.goal), moved, atol=1e-15)
        assert np.all(np.abs(moved) <= [*RANGES.place, 0.0])
        across, along, up = np.abs(trial.truth.displacement)
        assert across <= RANGES.displacement_across and along <= RANGES.displacement and up == 0.0
        assert abs(trial.truth.mass_factor - 1.0) <= RANGES.mass_error
        if trial.posture is None:
            assert "reach" in trial.refused
            continue
        parts = np.array(trial.posture).reshape(len(task.arms), robot.n)
        for arm, q, place in zip(task.arms, parts, trial.drawn["starts_m"], strict=True):
            offset, normal = np.subtract(place, arm.starts[0]), hit_normal(task, arm)
            assert RANGES.start_along[0] <= offset @ normal <= RANGES.start_along[1]
            assert RANGES.start_height[0] <= offset[2] <= RANGES.start_height[1]
            # The tolerance of the inverse kinematics; three turns of at most start_tilt each.
            placement, usual = robot.placement(q), tool_placement(arm, place)
            np.testing.assert_allclose(placement.translation, usual.translation, atol=1e-7)
            cosine = 0.5 * (np.trace(usual.rotation.T @ placement.rotation) - 1.0)
            assert np.arccos(np.clip(cosine, -1.0, 1.0)) <= 3.0 * RANGES.start_tilt


def test_controllers_meet_the_same_trial_and_numbers_and_seeds_others(robot):
    task = load_task("hit_and_push")
    trials = [
        draw_trial(RandomSetup("hit-and-push", number, controller), task, [robot], seed)
        for number, controller, seed in ((0, "proposed", 0), (0, "no_rs", 0), (1, "proposed", 0), (0, "proposed", 1))
    ]
    assert trials[0].drawn == trials[1].drawn and trials[0].posture == trials[1].posture
    assert trials[0].sensor_seed == trials[1].sensor_seed
    assert trials[2].drawn != trials[0].drawn != trials[3].drawn


def test_the_ranges_are_stated_in_words():
    text = RANGES.describe()
    for number in ("0.5..2.5 kg", "+-5 cm", "+-10 %", "+-30 mm", "+-3 deg"):
        assert number in text


def test_refuses_no_trial_and_an_unknown_campaign():
    with pytest.raises(InvalidInputError, match="random"):
        plan_random("hit-and-push", 0)
    with pytest.raises(UnknownNameError, match="juggle"):
        plan_random("juggle", 3)
