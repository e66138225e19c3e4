import numpy as np
import pytest

from impact_aware.reference.kernels import smoothstep


def test_is_zero_up_to_the_first_and_one_from_the_second_end():
    assert smoothstep(0.1, 0.1, 0.3) == (0.0, 0.0)
    assert smoothstep(-5.0, 0.1, 0.3) == (0.0, 0.0)
    assert smoothstep(0.3, 0.1, 0.3) == (1.0, 0.0)
    assert smoothstep(7.0, 0.1, 0.3) == (1.0, 0.0)


def test_grows_and_is_symmetric_about_the_middle():
    values = [smoothstep(r, 0.1, 0.3)[0] for r in np.linspace(0.1, 0.3, 101)]
    assert np.all(np.diff(values) > 0.0)
    # Rounding of a cubic polynomial of numbers up to 1.
    np.testing.assert_allclose(np.add(values, values[::-1]), 1.0, atol=1e-14)


@pytest.mark.parametrize("r", np.linspace(0.11, 0.29, 9))
def test_slope_is_the_derivative(r):
    step = 1e-6
    difference = (smoothstep(r + step, 0.1, 0.3)[0] - smoothstep(r - step, 0.1, 0.3)[0]) / (2 * step)
    # Central difference of a cubic: error step^2 * third derivative / 6 = 3e-10, plus rounding 1e-16 / step.
    assert smoothstep(r, 0.1, 0.3)[1] == pytest.approx(difference, abs=2e-9)
