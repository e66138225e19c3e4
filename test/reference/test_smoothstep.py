import numpy as np
import pytest

from impact_aware.reference.kernels import smoothstep


def test_is_zero_up_to_the_first_and_one_from_the_second_end():
    assert smoothstep(0.1, 0.1, 0.3) == (0.0, 0.0)
    assert smoothstep(-5.0, 0.1, 0.3) == (0.0, 0.0)
    assert smoothstep(0.3, 0.1, 0.3) == (1.0, 0.0)
    assert smoothstep(7.0, 0.1, 0.3) == (1.0, 0.0)


@pytest.mark.parametrize("r", np.linspace(0.11, 0.29, 9))
def test_slope_is_the_derivative(r):
    step = 1e-6
    difference = (smoothstep(r + step, 0.1, 0.3)[0] - smoothstep(r - step, 0.1, 0.3)[0]) / (2 * step)
    # Central difference of a cubic: error step^2 * third derivative / 6 = 3e-10, plus rounding 1e-16 / step.
    assert smoothstep(r, 0.1, 0.3)[1] == pytest.approx(difference, abs=2e-9)
