import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.reference import streamline


def test_follows_a_linear_field_as_its_exact_flow_does():
    line = streamline(lambda p: -2.0 * p, [1.0, -0.5, 0.2], duration=1.0, step=0.01)
    times = 0.01 * np.arange(len(line))
    # Global error of the fourth-order scheme: (2 * 0.01)^4 / 120 = 1e-9.
    np.testing.assert_allclose(line, np.exp(-2.0 * times)[:, None] * np.array([1.0, -0.5, 0.2]), atol=1e-8)


def test_stops_where_it_is_told_to():
    along = np.array([1.0, 0.0, 0.0])
    line = streamline(lambda p: along, np.zeros(3), duration=1.0, step=0.1, stop=lambda p: p[0] > 0.45)
    assert line[-1, 0] == pytest.approx(0.5)
    # A duration that is no whole number of steps is over with the step in which it ends.
    assert len(streamline(lambda p: along, np.zeros(3), duration=0.95, step=0.1)) == 11


@pytest.mark.parametrize("values", [{"duration": 0.0}, {"step": -1.0}])
def test_refuses_times_that_lead_nowhere(values):
    with pytest.raises(InvalidInputError, match=next(iter(values))):
        streamline(lambda p: p, np.zeros(3), **values)
