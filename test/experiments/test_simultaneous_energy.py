"""What the validation of simultaneous impacts holds against the laws: an answer that breaks one is seen."""

import numpy as np
import pytest
from random_impacts import random_impact, violations

from impact_aware.impact.simultaneous import predict_simultaneous
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")


@pytest.fixture(scope="module")
def hit():
    generator = np.random.default_rng(8)
    while True:
        impact = random_impact(ROBOT, generator)
        found = predict_simultaneous(impact.contacts, arms=impact.arms, objects=impact.objects)
        if len(impact.arms) == 2 and found.modes.count("slide") > 1 and found.residual < 1e-9:
            return impact, found


def test_an_answer_that_keeps_the_laws_has_no_violation(hit):
    assert max(violations(*hit)) < 1e-8


def test_energy_that_was_made_is_a_share_of_all_bodies_energy(hit):
    impact, found = hit
    before = 0.0
    for arm in impact.arms.values():
        before += 0.5 * arm.dq @ ROBOT.mass_matrix(arm.q) @ arm.dq
    box = impact.objects["box"]
    before += 0.5 * (box.mass * box.twist[:3] @ box.twist[:3] + box.twist[3:] @ box.inertia @ box.twist[3:])
    assert violations(impact, found._replace(energy_loss=-0.25)).gain == pytest.approx(0.25 / before)


def test_a_pull_and_too_much_friction_are_outside_the_cone(hit):
    impact, found = hit
    largest = np.abs(found.impulse).max()
    strongest = int(np.argmax([found.impulse[k] @ contact.normal for k, contact in enumerate(impact.contacts)]))
    normal = impact.contacts[strongest].normal
    pull = found.impulse.copy()
    pull[strongest] -= 2.0 * (pull[strongest] @ normal) * normal
    assert violations(impact, found._replace(impulse=pull)).cone > 0.5
    sliding = found.modes.index("slide")
    normal, friction = impact.contacts[sliding].normal, impact.contacts[sliding].friction
    more = found.impulse.copy()
    more[sliding] += 0.1 * (more[sliding] - (more[sliding] @ normal) * normal)
    excess = 0.1 * friction * (found.impulse[sliding] @ normal) / np.abs(more).max()
    assert largest > 0.0
    assert violations(impact, found._replace(impulse=more)).cone == pytest.approx(excess, rel=1e-6)


def test_what_still_approaches_is_a_share_of_the_fastest_before(hit):
    impact, found = hit
    after = found.contact_velocity_after.copy()
    after[1] -= (0.02 + after[1] @ impact.contacts[1].normal) * impact.contacts[1].normal
    expected = 0.02 / np.abs(found.contact_velocity_before).max()
    assert violations(impact, found._replace(contact_velocity_after=after)).approach == pytest.approx(expected)
