import dataclasses

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.reference import ArmAfterImpact
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, make_field


@pytest.fixture(scope="module")
def field():
    return make_field(load_task("hit_and_push"), [RobotModel.from_profile("panda")])


def test_the_baselines_field_ignores_the_prediction(field):
    after = field.after_impact(field.object_position, [0.0, -0.3, 0.0])
    wanted = after.post_gain * (after.goal - after.object_position)
    np.testing.assert_allclose(after.post_impact(use_prediction=False).velocity(after.object_position), wanted)


def test_the_outer_radius_never_passes_the_goal(field):
    near = dataclasses.replace(field, goal=field.object_position + np.array([0.0, -0.15, 0.0]))
    post = near.post_impact()
    assert post.r_max == pytest.approx(0.15)
    assert post.r_min == field.post_radius_min
    nearer = dataclasses.replace(field, goal=field.object_position + np.array([0.0, -0.06, 0.0])).post_impact()
    assert (nearer.r_min, nearer.r_max) == (pytest.approx(0.03), pytest.approx(0.06))
    # An object that is at its goal already: still a field, a millimetre wide.
    assert dataclasses.replace(field, goal=field.object_position).post_impact().r_max == 1e-3


@pytest.mark.parametrize("velocity", [[np.nan, 0, 0], [0.0, 1.0]])
def test_refuses_a_prediction_that_is_no_vector(field, velocity):
    with pytest.raises(InvalidInputError, match="object_velocity_after"):
        field.after_impact(field.object_position, velocity)


def test_refuses_a_field_without_arms_or_with_what_no_impact_leaves_them(field):
    with pytest.raises(InvalidInputError, match="arms"):
        dataclasses.replace(field, arms=())
    assert ArmAfterImpact(null_space_velocity=-0.1).known
    for name, after in (("angular", ([0.0, 0.0, -5.1], 0.0)), ("null_space", ([0.0, 0.0, 0.0], 5.1))):
        with pytest.raises(InvalidInputError, match=f"{name}_velocity_after: got"):
            field.with_arms_after({0: ArmAfterImpact(np.array(after[0]), after[1])})


def test_a_field_moves_on_with_its_object():
    field = make_field(load_task("dual_arm_grab"), [RobotModel.from_profile("panda")] * 2)
    assert field.advanced(7.0) is field and not field.shift(7.0).any()
    moving = dataclasses.replace(field, object_velocity=np.array([0.1, -0.05, 0.02]), object_time=3.0)
    later, shift = moving.advanced(3.5), np.array([0.05, -0.025, 0.01])
    np.testing.assert_allclose(moving.shift(3.5), shift, atol=1e-15)
    np.testing.assert_allclose(later.object_position, field.object_position + shift, atol=1e-15)
    for own, before in zip(later.arms, field.arms, strict=True):
        np.testing.assert_allclose(own.impact_position, before.impact_position + shift, atol=1e-15)
    assert not later.shift(3.5).any() and later.object_moves
    np.testing.assert_allclose(later.shift(3.6), 0.1 * later.object_velocity, atol=1e-15)
    np.testing.assert_array_equal(later.goal, field.goal)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"object_velocity": np.array([0.0, 5.1, 0.0])}, "object_velocity"),
        ({"object_velocity": np.array([0.0, np.nan, 0.0])}, "object_velocity"),
        ({"object_velocity": np.zeros(2)}, "object_velocity"),
        ({"object_time": np.inf}, "object_time"),
    ],
)
def test_a_motion_of_the_object_that_can_t_be_is_refused_by_name(field, change, named):
    with pytest.raises(InvalidInputError, match=named):
        dataclasses.replace(field, **change)
