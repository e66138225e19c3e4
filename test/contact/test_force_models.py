"""Each contact-force model against its own closed form and the papers' statements about it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.contact.force_models import (
    FORCE_MODELS,
    ExponentialHuntCrossley,
    HuntCrossley,
    KelvinVoigt,
    NonlinearViscoelastic,
)
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.models.central_impact import central_impact

MODELS = [
    KelvinVoigt(1e5, 0.0),
    KelvinVoigt(1e5, 300.0),
    KelvinVoigt(1e5, 5000.0),
    HuntCrossley(1e8, 1e7),
    HuntCrossley(1e8, 1e9, 2.0),
    ExponentialHuntCrossley(1e8, 1e7),
    ExponentialHuntCrossley(1e8, 1e9),
    NonlinearViscoelastic(1e5, 1e6),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(("mass", "speed"), [(2.0, 0.1), (5.0, 1.0)])
def test_an_integrated_impact_returns_the_closed_form_restitution(model, mass, speed):
    impact = central_impact(model, mass, speed, samples=100)
    # It follows from an integration with a relative tolerance of 1e-9 per step over some hundred steps.
    assert impact.restitution == pytest.approx(float(model.restitution(speed, mass)), abs=2e-6)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_impulse_is_the_integral_of_the_force(model):
    impact = central_impact(model, 3.0, 0.5, samples=4000)
    compression = np.trapezoid(impact.force[:4000], impact.time[:4000])
    restitution = np.trapezoid(impact.force[4000:], impact.time[4000:])
    # Trapezoids of 4000 points; Kelvin-Voigt's force starts with a jump, which they still see from its right side.
    assert compression + restitution == pytest.approx(3.0 * (impact.rate[0] - impact.rate[-1]), rel=1e-4)


@given(
    model=st.sampled_from([*FORCE_MODELS.values()]),
    stiffness=st.floats(1e3, 1e9),
    share=st.floats(0.01, 1.0),
    penetration=st.floats(-1e-3, 1e-3),
    rate=st.floats(-1.0, 1.0),
)
@settings(max_examples=100)
def test_force_is_zero_apart_and_no_model_makes_energy(model, stiffness, share, penetration, rate):
    model = model(stiffness, share * stiffness)
    if isinstance(model, KelvinVoigt) and penetration >= 0.0:
        # The pull at the end is cut off.
        expected = max(stiffness * (penetration + share * rate), 0.0)
        assert float(model.force(penetration, rate)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if penetration < 0.0:
        assert float(model.force(penetration, rate)) == 0.0
    assert 0.0 <= float(model.restitution(abs(rate) + 1e-3, 1.0)) <= 1.0


def test_arrays_and_numbers_give_the_same():
    penetration, rate = np.linspace(-1e-4, 1e-3, 7), np.linspace(-0.2, 0.2, 7)
    for model in MODELS:
        together = model.force(penetration, rate)
        assert together.shape == (7,)
        one_by_one = [float(model.force(p, r)) for p, r in zip(penetration, rate, strict=True)]
        np.testing.assert_array_equal(together, one_by_one)


def test_exponential_extension_differs_from_hunt_crossley_only_on_the_way_out_and_never_pulls():
    plain, extended = HuntCrossley(1e8, 1e9), ExponentialHuntCrossley(1e8, 1e9)
    depth = 2e-4
    assert float(extended.force(depth, 0.3)) == pytest.approx(float(plain.force(depth, 0.3)))
    assert float(plain.force(depth, -0.2)) < 0.0 < float(extended.force(depth, -0.2))
    rates = np.linspace(-0.01, 0.01, 2001)
    # The two branches meet with the same value and slope at rest, so neighbouring samples differ by no jump.
    assert np.abs(np.diff(extended.force(depth, rates), 2)).max() < 1e-3 * float(extended.force(depth, 0.0))


def test_hunt_crossley_with_exponent_one_is_the_viscoelastic_model():
    linear, viscoelastic = HuntCrossley(1e5, 3e5, 1.0), NonlinearViscoelastic(1e5, 3e5)
    depth, rate = np.meshgrid(np.linspace(-1e-4, 1e-3, 5), np.linspace(-0.3, 0.3, 5))
    np.testing.assert_allclose(linear.force(depth, rate), viscoelastic.force(depth, rate), rtol=1e-14)


def test_equation_25_of_paper_001_is_the_strong_damping_limit_from_above():
    model = NonlinearViscoelastic(1e5, 1e6)
    speeds = np.array([0.08, 0.18, 1.0, 10.0, 100.0])
    exact, bound = model.restitution(speeds), model.restitution_bound(speeds)
    # At the strongest damping both agree in every digit.
    assert np.all(exact[:3] < bound[:3])
    assert np.all(np.diff(exact) < 0.0)
    # x = c v / k = 1000 in the last place: the exact form differs by exp(-1000), the rest is Lambert's W.
    assert exact[-1] == pytest.approx(bound[-1], rel=1e-12)
    assert bound[0] > 1.0 > exact[0]


def test_restitution_series_joins_the_closed_form():
    for model in (HuntCrossley(1.0, 1.0), ExponentialHuntCrossley(1.0, 1.0)):
        speeds = np.geomspace(1e-7, 1e-2, 400)
        # Both sides of the switch agree to the series' next term, of order speed^2.
        np.testing.assert_allclose(model.restitution(speeds), 1.0 - 2.0 / 3.0 * speeds, atol=2.0 * speeds[-1] ** 2)
        # Rounding of the closed form just above the switch at 1e-3: 1e-16 / speed^2.
        below, above = model.restitution(np.array([1e-3 - 1e-12, 1e-3]))
        assert below == pytest.approx(above, abs=1e-9)
        assert np.all(np.diff(model.restitution(speeds)) <= 1e-9)


def test_critically_damped_linear_contact_that_cannot_pull_bounces_with_exp_minus_two():
    mass, stiffness = 2.0, 1e5
    critical = 2.0 * np.sqrt(mass * stiffness)
    assert float(KelvinVoigt(stiffness, critical).restitution(1.0, mass)) == pytest.approx(np.exp(-2.0), rel=1e-9)
    assert float(KelvinVoigt(stiffness, 5.0 * critical).restitution(1.0, mass)) < 0.01


def test_contact_duration_is_that_of_the_integrated_elastic_impact():
    impact = central_impact(HuntCrossley(1e8, 0.0), 3.0, 0.2)
    # delta_max = (5 m v^2 / 4 k)^(2/5), and 2 sqrt(pi) Gamma(7/5) / Gamma(9/10) of it over the speed.
    depth = (1.25 * 3.0 * 0.2**2 / 1e8) ** 0.4
    assert impact.time[-1] == pytest.approx(2.943275 * depth / 0.2, rel=1e-5)


@pytest.mark.parametrize("model", FORCE_MODELS.values())
def test_negative_stiffness_is_refused_by_name(model):
    with pytest.raises(InvalidInputError, match="stiffness: got -1.0, expected a number > 0"):
        model(-1.0, 0.5)


def test_bad_values_are_refused():
    with pytest.raises(InvalidInputError, match="damping"):
        HuntCrossley(1e8, -1.0)
    with pytest.raises(InvalidInputError, match="damping"):
        NonlinearViscoelastic(1e5, 0.0).restitution_bound(0.1)
    with pytest.raises(InvalidInputError, match="speed"):
        NonlinearViscoelastic(1e5, 1e6).restitution_bound(-0.1)
    with pytest.raises(InvalidInputError, match="effective_mass"):
        central_impact(HuntCrossley(1e8, 0.0), 0.0, 1.0)
