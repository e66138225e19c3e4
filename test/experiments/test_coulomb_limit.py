"""What decides whether a fixed slip direction is good enough: turn and slowdown of the slip."""

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.experiments.validation.coulomb_limit import direction_study, slip_change
from impact_aware.impact import predict


@pytest.mark.parametrize("friction", [0.05, 0.1, 0.2])
def test_a_planar_arm_never_turns_its_slip_so_both_maps_agree_while_it_lasts(planar, friction):
    contact = Contact(planar.tool_frame, np.array([0.0, 0.0, 1.0]), radius=planar.tool_radius, friction=friction)
    jacobian = contact_jacobian(planar, planar.home, contact)
    dq = np.linalg.pinv(jacobian) @ np.array([0.4, 0.0, -0.1])
    exact = predict(planar, planar.home, dq, contact, method="coulomb")
    fixed = predict(planar, planar.home, dq, contact, method="fixed-direction")
    turn, slowdown = slip_change(exact)
    assert turn < 1e-12
    assert slowdown < 1.0
    np.testing.assert_allclose(exact.velocity_after, fixed.velocity_after, atol=1e-12)


def test_slip_that_turns_little_and_lasts_is_predicted_well_by_the_fixed_direction(robot):
    study = direction_study(robot, seed=5, count=400)
    straight = (study["turn"] < 0.05) & (study["slowdown"] < 1.0)
    turning = ~study["sticks"] & (study["turn"] > 0.5)
    assert np.median(study["difference"][turning]) > 5.0 * np.median(study["difference"][straight])
    # Without slip and normal velocity afterwards, the impulse does not depend on the way there.
    assert study["difference"][study["sticks"]].max() < 1e-9
