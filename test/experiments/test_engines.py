"""Yielding pads obey the laws of contact and have closed-form limits; Drake agrees where it is installed."""

import numpy as np
import pytest

from impact_aware.experiments.validation import drake_reference
from impact_aware.experiments.validation.check import ValidationContext
from impact_aware.experiments.validation.engines import KINDS, draw_scene, engines, scene_materials
from impact_aware.impact.material import material_interval
from impact_aware.impact.yielding_pads import LAWS, pads_impulse

# Both ends of a bar, whose impulses lift the other one, at 0.3 m/s.
FALLING, BAR = np.array([-0.3, 0.0, 0.0, -0.3, 0.0, 0.0]), np.eye(6)
BAR[0, 3] = BAR[3, 0] = 0.5


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("restitution", [0.0, 0.1, 0.5, 0.9])
def test_one_pad_has_its_restitution(law, restitution):
    mobility, before = np.diag([0.7, 1.0, 1.0]), np.array([-0.3, 0.1, 0.0])
    impulse = pads_impulse(mobility, before, np.zeros(1), restitution, np.ones(1), law)
    # Dead pads keep half a percent; the rest is the step.
    assert -0.3 + 0.7 * impulse[0] == pytest.approx(0.3 * restitution, abs=0.01 * 0.3)
    assert not impulse[1:].any()


def test_a_bar_on_a_soft_and_a_hard_pad_turns_over_the_hard_one():
    """Impulses of either end that lift the other one: what is hard is through first, and rises by what comes later."""
    for hard in (0, 1):
        stiffness = np.ones(2)
        stiffness[hard] = 1e4
        after = FALLING + BAR @ pads_impulse(BAR, FALLING, np.zeros(2), 0.0, stiffness, "set")
        # The hard end alone stops at 0 and leaves -0.15 m/s to the other one, which then lifts it by half of that.
        assert after[3 * hard] == pytest.approx(0.075, abs=0.003)
        assert after[3 - 3 * hard] == pytest.approx(0.0, abs=0.003)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
def test_pads_make_no_energy_and_push_within_their_cones(robot, kind, law):
    scene = draw_scene(robot, np.random.default_rng(5), kind)
    matrix, before = scene.problem.delassus, scene.problem.jacobian @ scene.problem.velocity
    friction = np.full(len(scene.contacts), scene.friction)
    impulse = pads_impulse(matrix, before, friction, scene.restitution, scene.stiffness, law)
    assert impulse @ (before + 0.5 * matrix @ impulse) <= 0.0
    pushes = impulse.reshape(-1, 3)
    assert (pushes[:, 0] >= 0.0).all()
    assert (np.hypot(pushes[:, 1], pushes[:, 2]) <= friction * pushes[:, 0] + 1e-9).all()
    assert (before + matrix @ impulse)[::3].min() >= -2e-3 * np.abs(before).max()


def test_materials_leave_a_palm_a_width_and_one_contact_none(robot):
    generator = np.random.default_rng(1)
    _, half, _ = material_interval(scene_materials(draw_scene(robot, generator, "one contact"), generator))
    assert not half.any()
    centre, half, _ = material_interval(scene_materials(draw_scene(robot, generator, "palm"), generator))
    assert 0.05 < np.linalg.norm(half[:7]) / np.linalg.norm(centre[:7]) < 2.0


@pytest.mark.parametrize("law", LAWS)
def test_pads_that_are_far_apart_meet_one_after_another(law):
    """The first end of a bar stops, and turns it; the other end, 1 mm behind, stops next and lifts the first one."""
    for last in (0, 1):
        gaps = np.zeros(2)
        gaps[last] = 1e-3
        after = FALLING + BAR @ pads_impulse(BAR, FALLING, np.zeros(2), 0.0, np.full(2, 1e6), law, gaps)
        # The first end alone stops at 0 and leaves -0.15 m/s to the other one, which then lifts it by half of that.
        assert after[3 * (1 - last)] == pytest.approx(0.075, abs=0.004)
        assert after[3 * last] == pytest.approx(0.0, abs=0.004)


@pytest.mark.slow
def test_aims_that_are_missed_are_shown_as_such():
    checks = {check.quantity: check for check in engines(ValidationContext(trials=6, seed=3))}
    assert checks["inside, several contacts, %"].computed <= 100.0
    assert checks["palms: width of the interval, joints, %, median"].mark == "miss"
    assert checks["one contact: width of the interval, joints, %, median"].mark == "ok"


@pytest.mark.skipif(not drake_reference.INSTALLED, reason="Drake is not installed (pip install drake)")
@pytest.mark.parametrize("kind", KINDS)
def test_drake_agrees_with_pads_of_its_law(robot, kind):
    scene = draw_scene(robot, np.random.default_rng(2), kind)
    engine = scene.drake()
    difference = scene.pads("Hunt-Crossley", scene.stiffness) - engine
    inertia = scene.inertia()
    assert difference @ inertia @ difference <= 0.02**2 * (engine @ inertia @ engine)
