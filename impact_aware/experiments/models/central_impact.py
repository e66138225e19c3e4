"""Two bodies that only a contact-force model acts on: one impact, integrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from impact_aware.arrays import Array
from impact_aware.contact.force_models import ContactForceModel
from impact_aware.errors import NoSolutionError
from impact_aware.ranges import POSITIVE


@dataclass(frozen=True)
class CentralImpact:
    """The course of one impact along the normal, from first touch until the force is gone.

    Attributes:
        time: (k,) s, from first touch.
        penetration: (k,) m.
        rate: (k,) m/s.
        force: (k,) N.
        compression_end: Index at which the rate is zero.
    """

    time: Array
    penetration: Array
    rate: Array
    force: Array
    compression_end: int

    @property
    def restitution(self) -> float:
        """Separation speed over approach speed."""
        return float(-self.rate[-1] / self.rate[0])


def central_impact(
    model: ContactForceModel, effective_mass: float, speed: float, *, samples: int = 400
) -> CentralImpact:
    """Integrate one impact of two bodies with reduced mass `effective_mass`.

    Compression and restitution are integrated apart. Contact ends at zero force.

    Args:
        model: The contact-force model.
        effective_mass: kg.
        speed: Approach speed, m/s.
        samples: Points per phase.

    Raises:
        InvalidInputError: A mass or speed that is not positive.
        NoSolutionError: The force does not come to an end.
    """
    POSITIVE.check("effective_mass", effective_mass)
    POSITIVE.check("speed", speed)
    mass = effective_mass
    depth = _depth_scale(model, mass, speed)
    scale = np.array([depth, speed])
    first = _phase(model, mass, np.array([0.0, speed]), scale, samples, restitution=False)
    turn = first[1][:, -1].copy()
    turn[1] = 0.0
    phases = [first]
    # A force that ends with the compression leaves nothing to push the bodies apart.
    if float(model.force(turn[0], -1e-12 * speed)) > 0.0:
        phases.append(_phase(model, mass, turn, scale, samples, restitution=True, start=first[0][-1]))
    times = np.concatenate([phase[0] for phase in phases])
    states = np.hstack([phase[1] for phase in phases])
    penetration, rate = states
    count = first[0].size
    # At the turn itself the rate is zero; its sign selects the branch.
    signed = np.concatenate([np.abs(rate[:count]), -np.abs(rate[count:]) - 1e-300])
    return CentralImpact(
        time=times,
        penetration=penetration,
        rate=rate,
        force=model.force(penetration, signed),
        compression_end=count - 1,
    )


def _depth_scale(model: ContactForceModel, mass: float, speed: float) -> float:
    """Order of magnitude of the largest penetration, m: where an undamped spring holds the kinetic energy."""
    stiffness = float(getattr(model, "stiffness", 1.0))
    exponent = float(getattr(model, "exponent", 1.0))
    return float(((exponent + 1.0) * mass * speed**2 / (2.0 * stiffness)) ** (1.0 / (exponent + 1.0)))


def _phase(
    model: ContactForceModel,
    mass: float,
    initial: Array,
    scale: Array,
    samples: int,
    *,
    restitution: bool,
    start: float = 0.0,
) -> tuple[Array, Array]:
    sign = -1.0 if restitution else 1.0

    def signed(rate: float) -> float:
        return sign * max(sign * rate, 1e-300)

    def derivative(_: float, scaled: Array) -> Array:
        penetration, rate = scaled * scale
        return np.array([rate, -float(model.force(penetration, signed(rate))) / mass]) / scale

    def turned(_: float, scaled: Array) -> float:
        return float(scaled[1])

    def released(_: float, scaled: Array) -> float:
        penetration, rate = scaled * scale
        if penetration <= 0.0:
            return penetration / scale[0]
        energy = 0.5 * mass * scale[1] ** 2
        return float(model.force(penetration, signed(rate))) * scale[0] / energy - 1e-10

    event = released if restitution else turned
    event.terminal = True  # type: ignore[attr-defined]
    event.direction = -1.0  # type: ignore[attr-defined]
    duration = scale[0] / scale[1]
    solution = solve_ivp(
        derivative,
        (start, start + 1e4 * duration),
        initial / scale,
        method="LSODA",
        events=event,
        dense_output=True,
        rtol=1e-9,
        atol=1e-12,
        first_step=1e-6 * duration,
    )
    if not solution.success or solution.t_events[0].size == 0:
        raise NoSolutionError(f"{model} at {scale[1]:g} m/s: the contact does not end", problem=model)
    times = np.linspace(start, float(solution.t_events[0][0]), samples)
    return times, solution.sol(times) * scale[:, None]
