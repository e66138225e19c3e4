"""Law and stiffness ratio of a palm's pads from simulated hits of pads that yield."""

from dataclasses import replace

import numpy as np
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.material_identification import RATIOS, identify_material
from impact_aware.estimation.trials import ImpactTrial
from impact_aware.impact.bodies import ArmState, joint_problem
from impact_aware.impact.hit import ARM, hit_contacts
from impact_aware.impact.yielding_pads import LAWS, pads_impulse
from impact_aware.robot import RobotModel

ROBOT = RobotModel.from_profile("panda")
HALF, HALF_EXTENTS, ERROR = (0.04, 0.035, 0.03), (0.11, 0.065, 0.12), 0.004
DOWN = np.array([0.0, 0.0, 1.0])


def trials(law: str, ratio: float, count: int, half=HALF, table: float | None = None) -> list[ImpactTrial]:
    """Palms that come down on a box, their jumps recorded with an error."""
    generator, made = np.random.default_rng(17), []
    for _ in range(count):
        q = ROBOT.home + generator.uniform(-0.02, 0.02, 7)
        twist = [*generator.normal(0.0, 0.1, 2), -generator.uniform(0.2, 0.5), *generator.normal(0.0, 0.4, 3)]
        dq = np.linalg.pinv(ROBOT.frame_jacobian(q)) @ twist
        contact = Contact("tool", DOWN, friction=0.4, restitution=0.2)
        place = ROBOT.placement(q).translation - [0.02, -0.01, half[2] + HALF_EXTENTS[2]]
        thing = homogeneous_box(2.0, HALF_EXTENTS, place)
        arm, body = ArmState(ROBOT, q, dq), PlacedShape(Box(HALF_EXTENTS), place)
        own, others, objects = hit_contacts(arm, contact, np.array(half) if any(half) else None, thing, body, table)
        problem = joint_problem(own + others, arms={ARM: arm}, objects=objects)
        friction, kept = np.array([(each.friction, each.restitution) for each in own + others]).T
        pads = ratio ** generator.uniform(-0.5, 0.5, len(kept))
        impulse = pads_impulse(
            problem.delassus, problem.jacobian @ problem.velocity, friction.copy(), kept.copy(), pads, law
        )
        after = dq + (problem.response @ impulse)[problem.columns[ARM]] + ERROR * generator.normal(size=7)
        made.append(ImpactTrial(q, dq, after, np.full(7, ERROR), contact, thing, np.full(7, 1e-4)))
    return made


@pytest.mark.parametrize(("law", "ratio"), [(LAWS[0], 1.0), (LAWS[1], 4.0), (LAWS[2], 2.0)])
def test_the_law_and_the_ratio_of_stiffness_are_found(law, ratio):
    found = identify_material(ROBOT, trials(law, ratio, 8), HALF, shape=Box(HALF_EXTENTS))
    assert found.names == (f"stiffness ratio, {law}",) and found.determined.all() and found.trials == 8
    place = RATIOS.index(ratio)
    low, high = RATIOS[max(place - 1, 0)], RATIOS[min(place + 1, len(RATIOS) - 1)]
    assert low <= found.lower[0] <= found.values[0] <= found.upper[0] <= high
    assert found.warnings[0].startswith("law: probabilities dashpot ")


def test_the_table_of_the_object_is_one_of_its_contacts():
    recorded, how = trials(LAWS[1], 1.0, 3, table=0.3), {"shape": Box(HALF_EXTENTS)}
    with_table, without = (identify_material(ROBOT, recorded, HALF, table_friction=own, **how) for own in (0.3, None))
    assert with_table.error < 1.5 * ERROR < 0.2 * without.error


def test_few_hits_with_large_errors_do_not_determine_the_law():
    few = [replace(one, standard_error=np.full(7, 0.5)) for one in trials(LAWS[1], 2.0, 1)]
    found = identify_material(ROBOT, few, HALF, shape=Box(HALF_EXTENTS))
    assert not found.determined.any() and (found.lower[0], found.upper[0]) == (RATIOS[0], RATIOS[-1])
    assert any("law: not determined" in line for line in found.warnings)
    assert any("it may be larger than 8" in line for line in found.warnings)
    half_sure = identify_material(ROBOT, few, HALF, shape=Box(HALF_EXTENTS), confidence=0.5)
    assert RATIOS[0] < half_sure.lower[0] < half_sure.values[0] < half_sure.upper[0] < RATIOS[-1]


def test_jumps_that_no_pads_make_are_named():
    wrong = [replace(one, velocity_after=one.velocity_before + 0.5) for one in trials(LAWS[0], 1.0, 2)]
    found = identify_material(ROBOT, wrong, HALF, shape=Box(HALF_EXTENTS))
    assert any("stay unexplained" in line for line in found.warnings)


def test_tips_have_no_pads():
    tips = trials(LAWS[0], 1.0, 2, half=(0.0, 0.0, 0.0))
    with pytest.raises(InvalidInputError, match="one contact in each, expected hits that several contacts share"):
        identify_material(ROBOT, tips, (0.0, 0.0, 0.0))
    with pytest.raises(InvalidInputError, match="trials"):
        identify_material(ROBOT, [], HALF)
