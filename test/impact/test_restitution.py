import pytest
from scipy.integrate import solve_ivp

from impact_aware.errors import InvalidInputError
from impact_aware.impact.restitution import viscoelastic_restitution


def test_limits():
    assert viscoelastic_restitution(1e5, 2e6, -0.1) == pytest.approx(0.5)
    # Faster is softer.
    assert viscoelastic_restitution(1e5, 2e6, -0.2) == pytest.approx(0.25)
    assert viscoelastic_restitution(1e5, 2e6, -1e-3) == 1.0


def test_the_contact_law_approaches_the_parting_speed_and_never_exceeds_it():
    # Eq. (23) for a free mass: the force vanishes where dx/dt = k/c, which the mass nears from below.
    mass, stiffness, damping, speed = 3.0, 1e5, 2e6, 0.2

    def motion(_, state):
        return [state[1], (damping * state[0] * state[1] - stiffness * state[0]) / mass]

    path = solve_ivp(motion, [0.0, 0.08], [0.0, -speed], rtol=1e-9, atol=1e-12)
    parting = stiffness / damping
    assert path.y[1].max() <= parting * (1.0 + 1e-6)
    assert viscoelastic_restitution(stiffness, damping, -speed) == pytest.approx(parting / speed)


@pytest.mark.parametrize("arguments", [(-1.0, 1.0, -1.0), (1.0, 0.0, -1.0), (1.0, 1.0, 0.0), (1.0, 1.0, 0.5)])
def test_refuses_bad_input(arguments):
    with pytest.raises(InvalidInputError):
        viscoelastic_restitution(*arguments)
