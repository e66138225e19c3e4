"""Stiffness and damping from force profiles whose model is known (Wang 2021, VII)."""

import numpy as np
import pytest

from impact_aware.contact.force_models import FORCE_MODELS, NonlinearViscoelastic
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.estimation.contact_identification import ForceProfile, identify_contact
from impact_aware.experiments.models.central_impact import central_impact

MASS = 3.0


def profile(model, speed, noise=0.5, rate=25e3, seed=0, start=7.3, **parameters):
    """A force sensor's record, 25 kHz as in Wang 2021, that begins a little before the touch."""
    course = central_impact(FORCE_MODELS[model](**parameters), MASS, speed)
    time = np.arange(-1e-3, 1.3 * course.time[-1], 1.0 / rate)
    force = np.interp(time, course.time, course.force, left=0.0, right=0.0)
    return ForceProfile(
        time + start, force + noise * np.random.default_rng(seed).standard_normal(time.size), speed, MASS
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("viscoelastic", {"stiffness": 3e4, "damping": 4e5}),
        ("exponential_hunt_crossley", {"stiffness": 1e7, "damping": 1e8}),
    ],
)
def test_the_models_own_parameters_come_back(model, parameters):
    found = identify_contact([profile(model, speed, seed=1, **parameters) for speed in (0.08, 0.15)], model=model)
    for index, name in enumerate(("stiffness", "damping")):
        # Two profiles with half a newton of noise on peaks above 30 N.
        assert found.values[index] == pytest.approx(parameters[name], rel=0.03)
        assert found.lower[index] < found.values[index] < found.upper[index]
    assert np.all(found.determined)
    assert found.warnings == ()


@pytest.mark.slow
def test_the_moment_of_first_touch_does_not_matter():
    parameters = {"stiffness": 3e4, "damping": 4e5}
    early, late = (
        identify_contact([profile("viscoelastic", 0.1, start=start, **parameters)]) for start in (0.0, 12.345)
    )
    # The clock's rounding against a sampling step of 40 us.
    np.testing.assert_allclose(early.values, late.values, rtol=1e-4)


@pytest.mark.slow
def test_a_contact_without_damping_is_reported_as_undetermined_damping():
    found = identify_contact([profile("viscoelastic", 0.1, stiffness=3e4, damping=0.0)])
    assert found.values[0] == pytest.approx(3e4, rel=0.01)
    assert found.lower[1] == 0.0
    assert not found.determined[1]
    assert any(line.startswith("damping") for line in found.warnings)


@pytest.mark.slow
def test_a_wrong_effective_mass_shows_in_the_impulse():
    true = profile("viscoelastic", 0.1, stiffness=3e4, damping=4e5)
    wrong = ForceProfile(true.time, true.force, true.approach_speed, 3 * MASS)
    assert any("effective mass" in line for line in identify_contact([wrong]).warnings)


def test_impulse_is_momentum():
    record = profile("viscoelastic", 0.1, noise=0.0, stiffness=3e4, damping=4e5)
    course = central_impact(NonlinearViscoelastic(3e4, 4e5), MASS, 0.1)
    # Trapezoids of 40 us under a force that lasts 10 ms.
    assert record.impulse == pytest.approx(MASS * 0.1 * (1 + course.restitution), rel=1e-3)
    # First touch is at 7.3 s; a straight first rise finds it to a few samples.
    assert record.onset == pytest.approx(7.3, abs=3e-4)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"time": np.zeros(10)}, "time"),
        ({"force": np.zeros(9)}, "force"),
        ({"force": -np.ones(10)}, "press"),
        ({"approach_speed": 0.0}, "approach_speed"),
        ({"effective_mass": np.nan}, "effective_mass"),
    ],
)
def test_unusable_profiles_are_refused(change, word):
    fields = {"time": np.arange(10.0), "force": np.ones(10), "approach_speed": 0.1, "effective_mass": 1.0} | change
    with pytest.raises(InvalidInputError, match=word):
        ForceProfile(**fields)


def test_models_with_other_parameters_are_refused():
    with pytest.raises(UnknownNameError, match="viscoelastic"):
        identify_contact([], model="virtual_spring")
    with pytest.raises(InvalidInputError, match="profiles"):
        identify_contact([])
