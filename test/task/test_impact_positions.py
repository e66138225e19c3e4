"""The sampled map against direct predictions; the single-arm prediction by position has its tests with its command."""

import numpy as np
import pytest

from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field
from impact_aware.task.grasp import predict_grasp
from impact_aware.task.impact_positions import IntendedImpact, impact_coordinates, sample_impact_map

SEED = 20261121


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("panda")


@pytest.fixture(scope="module")
def grasp(robot):
    return IntendedImpact(load_task("dual_arm_grab"), [robot, robot])


def test_the_impact_state_is_the_places_along_the_planes(robot):
    field = make_field(load_task("dual_arm_grab"), [robot, robot])
    tools = np.array([[0.5, 0.2, 0.4], [0.6, -0.2, 0.3]])
    np.testing.assert_array_equal(impact_coordinates(field, tools), [0.5, 0.4, 0.6, 0.3])


def test_by_place_it_is_the_prediction_of_the_posture_with_the_tools_there(grasp, robot):
    moved = grasp.nominal + [0.01, -0.02, 0.0, 0.015]
    q = np.concatenate([grasp.state(index, tool)[0] for index, tool in enumerate(grasp.tool_positions(moved))])
    np.testing.assert_array_equal(grasp(moved), predict_grasp(grasp.task, [robot, robot], grasp.field, q))


def test_the_map_of_a_grasp_interpolates_to_a_millimetre_per_second(grasp, robot):
    sampled = sample_impact_map(grasp)
    assert sampled.states.shape == (81, 4)
    generator = np.random.default_rng(SEED)
    for _ in range(10):
        places = grasp.nominal + generator.uniform(-0.03, 0.03, 4)
        # The velocity after changes by 3 mm/s over the whole square, and almost linearly.
        np.testing.assert_allclose(sampled(places), grasp(places), atol=1e-3, err_msg=f"seed {SEED}")


def test_the_map_of_a_push_is_exact_at_its_samples_and_says_what_it_is_of(robot):
    task = load_task("hit_and_push").with_object("parcel")
    sampled = sample_impact_map(IntendedImpact(task, [robot]))
    np.testing.assert_allclose(sampled(sampled.states), sampled.values, atol=1e-9)
    assert (sampled.notes["object"], sampled.notes["mass"]) == ("parcel", 0.60)
    # The lighter the object, the less speed it takes from the tool.
    heavy = sample_impact_map(IntendedImpact(load_task("hit_and_push"), [robot]))
    assert abs(sampled.values[12, 1]) > abs(heavy.values[12, 1])
