"""Impacts as they are published: what stands where nothing was said, what can be drawn, and what is read from them."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.records import ContactImpulse, Impact, Outcome
from impact_aware.records.impact import HIT, PALM

NAMES = ("a", "b")


def contact(**changes):
    values = {
        "frame": "tool",
        "normal": np.array([0.6, 0.0, 0.8]),
        "point": np.array([0.1, 0.2, 0.3]),
        "impulse": np.array([1.0, -2.0, 3.0]),
        "impulse_covariance": np.eye(3),
        "friction": 0.3,
        "effective_mass": 2.0,
    }
    return ContactImpulse(**{**values, **changes})


def impact(**changes):
    values = {
        "source": "at_impact",
        "time": 12.5,
        "joint_names": NAMES,
        "position": np.array([0.1, 0.2]),
        "velocity_before": np.array([1.0, -2.0]),
        "velocity_after": np.array([0.5, 0.7]),
        "covariance": np.eye(2),
        "estimated": np.array([0.4, 0.6]),
        "contacts": (contact(),),
    }
    return Impact(**{**values, **changes})


def test_an_impact_of_which_nothing_is_said_is_of_no_event_at_rest_and_now():
    bare = Impact(source="service", time=0.0)
    assert (bare.event_sequence, bare.energy_loss, bare.time_to_impact) == (0, 0.0, 0.0)
    assert bare.valid and bare.unique and not bare.mode_may_change and bare.object_mass is None
    sizes = [bare.object_position.size, bare.object_twist_before.size, bare.object_twist_after.size]
    assert sizes == [3, 6, 6] and bare.position.size == bare.velocity_before.size == bare.velocity_after.size == 0
    touch = ContactImpulse()
    assert (touch.friction, touch.restitution, touch.effective_mass) == (0.0, 0.0, 0.0)
    vectors = (touch.point, touch.normal, touch.impulse, touch.velocity_before, touch.velocity_after)
    assert all(vector.tolist() == [0.0, 0.0, 0.0] for vector in vectors)
    # One array stands for all of them.
    with pytest.raises(ValueError, match="read-only"):
        touch.point[0] = 1.0


def test_the_mass_is_the_momentum_taken_up_over_the_change_of_the_velocity():
    twist = np.array([0.1, -0.2, 0.3, 9.0, 9.0, 9.0])
    change = np.array([0.3, -0.1, 0.5])
    # Two contacts push the arm with -0.7 and -1.8 times the change: 2.5 kg are pushed the other way.
    touches = (contact(impulse=-0.7 * change), contact(impulse=-1.8 * change))
    after = twist + [*change, 1.0, 1.0, 1.0]
    free = impact(object="box", contacts=touches, object_twist_before=twist, object_twist_after=after)
    assert free.object_mass == pytest.approx(2.5)
    assert replace(free, object="").object_mass is None
    # A table shares the momentum, so that the prediction's own mass counts.
    for method in (HIT, PALM):
        assert replace(free, method=method).object_mass is None
        assert replace(free, method=method, predicted_mass=1.5).object_mass == 1.5
    assert replace(free, object_twist_after=twist).object_mass is None
    # An object that is pulled is none.
    assert replace(free, contacts=(contact(impulse=change),)).object_mass is None


def test_a_whole_impact_can_be_drawn():
    assert impact().plausible
    assert impact(position=np.zeros(0), velocity_before=np.zeros(0), covariance=None, estimated=None).plausible
    assert Impact(source="service", time=0.0).plausible


@pytest.mark.parametrize("name", ["position", "velocity_before", "velocity_after"])
def test_a_value_per_joint_or_none(name):
    assert not impact(**{name: np.zeros(3)}).plausible
    assert not impact(**{name: np.zeros(1)}).plausible


@pytest.mark.parametrize(
    "name",
    [
        "position", "velocity_before", "velocity_after", "covariance", "estimated", "object_position",
        "object_twist_before", "object_twist_after",
    ],
)  # fmt: skip
def test_every_number_of_an_impact_is_finite(name):
    spoilt = np.zeros_like(getattr(impact(), name))
    spoilt.flat[-1] = np.nan
    assert not impact(**{name: spoilt}).plausible


@pytest.mark.parametrize(
    "changes",
    [
        {"point": np.array([0.0, np.inf, 0.0])},
        {"impulse": np.array([0.0, 0.0, np.nan])},
        {"velocity_before": np.array([np.nan, 0.0, 0.0])},
        {"velocity_after": np.array([np.nan, 0.0, 0.0])},
        {"impulse_covariance": np.full((3, 3), np.inf)},
        {"friction": np.inf},
        {"friction": np.nan},
        {"friction": -0.001},
        {"effective_mass": np.inf},
        {"normal": np.array([0.6, 0.0, 0.8]) * 1.0011},
        {"normal": np.array([0.6, 0.0, 0.8]) * 0.9989},
        {"normal": np.full(3, np.nan)},
    ],
)
def test_every_contact_has_a_unit_normal_and_finite_numbers(changes):
    assert impact(contacts=(contact(),) * 2).plausible
    assert not impact(contacts=(contact(), contact(**changes))).plausible


def test_a_normal_of_nearly_unit_length_and_no_friction_will_do():
    normal = np.array([0.6, 0.0, 0.8])
    for factor in (0.9991, 1.0009):
        assert impact(contacts=(contact(normal=factor * normal, friction=0.0, impulse_covariance=None),)).plausible


def test_an_outcome_in_another_order_of_joints():
    found = Outcome("plant", 1.0, ("a", "b", "c"), np.array([1.0, 2.0, 3.0]))
    assert found.picked(["a", "b", "c"]).tolist() == [1.0, 2.0, 3.0]
    assert found.picked(["c", "a"]).tolist() == [3.0, 1.0]
    assert found.picked(("b", "a", "c")).tolist() == [2.0, 1.0, 3.0]
    assert found.picked(["a", "d"]) is None
    assert found.error.size == 0


def test_the_outcome_of_an_estimate_is_what_was_estimated():
    found = impact(source="plant", estimated_error=np.array([0.01, 0.02])).outcome
    assert (found.origin, found.time, found.joint_names) == ("estimate", 12.5, NAMES)
    assert found.velocity.tolist() == [0.4, 0.6] and found.error.tolist() == [0.01, 0.02]
    assert np.isnan(impact().outcome.error).all() and len(impact().outcome.error) == 2


def test_the_outcome_of_a_plant_is_exact_and_a_prediction_has_none():
    found = impact(source="plant", estimated=None).outcome
    assert (found.origin, found.velocity.tolist(), found.error.tolist()) == ("plant", [0.5, 0.7], [0.0, 0.0])
    assert impact(estimated=None).outcome is None
    assert impact(source="plant", estimated=None, velocity_after=np.zeros(0)).outcome is None
