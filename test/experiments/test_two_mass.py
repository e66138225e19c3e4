"""Models A, B and C of Aouaj 2021 and Aouaj thesis: printed numbers, momentum, energy, and A towards B towards C."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.contact.force_models import HuntCrossley
from impact_aware.errors import InvalidInputError, NoSolutionError, UnknownNameError
from impact_aware.experiments.models.two_mass import TwoMassParameters, jump_map, simulate

PARAMETERS = TwoMassParameters()


@pytest.fixture(scope="module")
def runs():
    return {model: simulate(model, PARAMETERS, duration=0.3) for model in "ABC"}


def test_model_a_and_b_are_alike_at_the_drive(runs):
    late = runs["B"].time > runs["B"].impact_time
    difference = np.abs(runs["A"].velocity[late, 2] - runs["B"].velocity[late, 2])
    # The bouncing contact of Table I lets the drive differ by a few percent of the 4.5 m/s jump, in passing.
    assert difference.max() < 0.05 * 4.5
    assert difference[-500:].max() < 0.01 * 4.5


@pytest.mark.parametrize("model", ["A", "B", "C"])
def test_momentum_grows_by_the_drive_force_alone(runs, model):
    run = runs[model]
    masses = np.array([PARAMETERS.object_mass, PARAMETERS.tip_mass, PARAMETERS.drive_mass])
    momentum = run.velocity @ masses
    # The solvers' relative tolerances are 1e-8 (A) and 1e-10, over a momentum of 30 N s.
    np.testing.assert_allclose(momentum, -PARAMETERS.drive_force * run.time, atol=1e-5)


@given(
    masses=st.tuples(st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0)),
    velocities=st.tuples(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0)),
)
@settings(max_examples=50)
def test_jump_maps_keep_momentum_and_lose_energy_also_for_a_moving_body(masses, velocities):
    parameters = TwoMassParameters(*masses)
    m0, m1, m2 = masses
    v0, v1, v2 = velocities
    after = (jump_map("B", parameters) @ np.array([0.1, 0.1, 0.2, v0, v1, v2]))[2:]
    assert (m0 + m1) * after[0] + m2 * after[1] == pytest.approx(m0 * v0 + m1 * v1 + m2 * v2, abs=1e-9)
    assert after[1] == v2
    assert (m0 + m1) * after[0] ** 2 <= m0 * v0**2 + m1 * v1**2 + 1e-9
    rigid = (jump_map("C", parameters) @ np.array([0.1, 0.1, v0, v1]))[1]
    assert sum(masses) * rigid == pytest.approx(m0 * v0 + (m1 + m2) * v1, abs=1e-9)


def test_a_stiffer_contact_brings_model_a_closer_to_b(runs):
    errors = []
    for stiffness in (1e4, 1e6, 1e8):
        # Exponent 1 and strong damping as in Aouaj thesis, figure 3.15.
        contact = HuntCrossley(stiffness, stiffness, 1.0)
        run = simulate("A", TwoMassParameters(contact=contact), duration=0.3)
        late = run.time > run.impact_time
        errors.append(np.sqrt(np.mean((run.velocity[late, 2] - runs["B"].velocity[late, 2]) ** 2)))
    assert errors[0] > errors[1] > errors[2]


def test_bad_input_is_refused():
    with pytest.raises(InvalidInputError, match="tip_mass"):
        TwoMassParameters(tip_mass=0.0)
    with pytest.raises(UnknownNameError, match="A, B, C"):
        simulate("D")
    for model in "AC":
        with pytest.raises(NoSolutionError, match="no contact"):
            simulate(model, duration=0.05)


def test_impact_laws_keep_the_momentum_of_the_bodies_that_stick(runs):
    for model, mass in (("B", 1.0), ("C", 2.0)):
        run = runs[model]
        # The force on the drive bends the spring of model B a little.
        _, speed, drive = -run.velocity_before
        assert (speed, drive) == (pytest.approx(6.3246, rel=5e-3), pytest.approx(6.3246, rel=5e-3))
        after = speed * mass / (5.0 + mass)
        np.testing.assert_allclose(run.velocity_after, [-after, -after, -drive if model == "B" else -after], rtol=1e-9)
    assert np.isnan(runs["A"].velocity_after).all()


def test_the_spring_slows_the_drive_and_pulls_the_tip(runs):
    """Right after the impact of model B the drive runs into its spring: decelerated by damper and deflection."""
    run = runs["B"]
    index = np.flatnonzero(run.time > run.impact_time)[0]
    gap, speed = run.position[index, 1] - run.position[index, 2], run.velocity[index, 1] - run.velocity[index, 2]
    assert gap > 0.0 and speed > 0.0
    force = 1e4 * gap + 80.0 * speed
    step = run.time[index + 1] - run.time[index - 0]
    change = (run.velocity[index + 1] - run.velocity[index]) / step
    # Over one step of 0.1 ms the force changes by about a hundredth.
    assert change[2] == pytest.approx(force - 100.0, rel=0.05)
    assert change[0] == change[1] == pytest.approx(-force / 6.0, rel=0.05)
