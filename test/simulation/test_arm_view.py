"""An impact as one of several arms sees it."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.simulation.impact_truth import ImpactTruth, seen_by_arm


@pytest.fixture
def truth():
    generator = np.random.default_rng(5)
    values = {
        field.name: generator.normal(size={"q": 14, "velocity_before": 14, "velocity_after": 14}.get(field.name, 3))
        for field in dataclasses.fields(ImpactTruth)
        if field.type == "Array"
    }
    values |= {name: generator.normal(size=6) for name in ("object_twist_before", "object_twist_after")}
    rest = {"arm": "left", "partner": "object", "losses": 0}
    numbers = {field.name: 0.1 for field in dataclasses.fields(ImpactTruth) if field.name not in values.keys() | rest}
    return ImpactTruth(**values, **rest, **numbers)


def test_points_move_and_vectors_turn_with_the_base(truth):
    base = pin.SE3(pin.utils.rotate("z", 0.7), np.array([0.1, 0.35, 0.2]))
    seen = seen_by_arm(truth, base, slice(7, 14))
    np.testing.assert_allclose(base.act(seen.point), truth.point, atol=1e-14)
    for name in ("normal", "impulse"):
        np.testing.assert_allclose(base.rotation @ getattr(seen, name), getattr(truth, name), atol=1e-14)
    for name in ("object_twist_before", "object_twist_after"):
        turned = np.kron(np.eye(2), base.rotation) @ getattr(seen, name)
        np.testing.assert_allclose(turned, getattr(truth, name), atol=1e-14)
    np.testing.assert_array_equal(seen.velocity_after, truth.velocity_after[7:])
    # The work of the impulse at the contact does not depend on who looks.
    assert seen.impulse @ seen.object_twist_after[:3] == pytest.approx(truth.impulse @ truth.object_twist_after[:3])


def test_at_the_common_frame_only_the_joints_are_picked(truth):
    seen = seen_by_arm(truth, pin.SE3.Identity(), slice(0, 7))
    np.testing.assert_array_equal(seen.point, truth.point)
    np.testing.assert_array_equal(seen.q, truth.q[:7])
    assert seen.time == truth.time
