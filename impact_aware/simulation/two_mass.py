"""Models A, B and C of Aouaj 2021 and Aouaj thesis: one impact along a line, at three levels of abstraction.

A body m0 is free; the "robot" is a tip m1 and a drive m2, which a constant force pushes against it. In model A the
contact is a force model and the robot flexible, in B the contact is an inelastic impact law, in C the robot is rigid.
The axis points from the body to the robot, as in Aouaj thesis, figure 3.7: the robot moves in the negative direction
and touches where x1 = x0.

The thesis's (3.16)-(3.18) and (3.27)-(3.28) hold only for a body at rest, drop a mass and change a sign; the jump maps
here come from momentum balance: v+ = (m0 v0 + m v) / (m0 + m), impulse m0 m (v0 - v) / (m0 + m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from impact_aware.arrays import Array
from impact_aware.contact.force_model import ContactForceModel, check_not_negative, check_positive
from impact_aware.contact.hunt_crossley import HuntCrossley
from impact_aware.errors import InvalidInputError, NoSolutionError, UnknownNameError

# Keeps the variable step from jumping over the first touch, which lasts well under a millisecond.
_LONGEST_STEP = 1e-3


@dataclass(frozen=True)
class TwoMassParameters:
    """Parameters of the three models; the defaults are those of Aouaj 2021, Table I (Aouaj thesis, Table 3.1).

    Attributes:
        object_mass: m0, kg.
        tip_mass: m1, kg.
        drive_mass: m2, kg.
        joint_stiffness: k_rob between m1 and m2, N/m.
        joint_damping: d_rob, N s/m.
        drive_force: Magnitude of the force on m2 towards the object, N.
        gap: Distance between m0 and m1 at the start, m.
        contact: Force between m0 and m1 in model A.
    """

    object_mass: float = 5.0
    tip_mass: float = 1.0
    drive_mass: float = 1.0
    joint_stiffness: float = 1e4
    joint_damping: float = 80.0
    drive_force: float = 100.0
    gap: float = 0.4
    contact: ContactForceModel = field(default_factory=lambda: HuntCrossley(1e8, 1e8, 1.5))

    def __post_init__(self) -> None:
        """Check the parameters.

        Raises:
            InvalidInputError: A mass, stiffness, force or gap that is not positive, a negative damping, or a contact
                model with a memory.
        """
        for name, unit in (
            ("object_mass", "kg"),
            ("tip_mass", "kg"),
            ("drive_mass", "kg"),
            ("joint_stiffness", "N/m"),
            ("drive_force", "N"),
            ("gap", "m"),
        ):
            check_positive(name, getattr(self, name), unit)
        check_not_negative("joint_damping", self.joint_damping, "N s/m")
        if self.contact.has_memory:
            raise InvalidInputError("contact", self.contact, "a contact-force model without memory")

    @property
    def robot_mass(self) -> float:
        """Mass of tip and drive together, kg."""
        return self.tip_mass + self.drive_mass

    @property
    def total_mass(self) -> float:
        """Mass of everything, kg."""
        return self.object_mass + self.robot_mass


@dataclass(frozen=True)
class TwoMassRun:
    """One simulated run.

    Attributes:
        model: `A`, `B` or `C`.
        time: (k,) s.
        position: (k, 3) Of m0, m1, m2, m; m1 and m2 measured so that their spring is relaxed when they are equal.
        velocity: (k, 3) m/s.
        contact_force: (k,) Between m0 and m1, N; NaN in models B and C, where it is impulsive or a constraint.
        impact_time: First touch, s.
        velocity_before: (3,) At first touch, m/s.
        velocity_after: (3,) Just after the impact law acted, m/s; NaN in model A, which has no such instant.
        impulse: Impulse of the impact law on the robot, N s; NaN in model A.
    """

    model: str
    time: Array
    position: Array
    velocity: Array
    contact_force: Array
    impact_time: float
    velocity_before: Array
    velocity_after: Array
    impulse: float

    def velocity_at(self, time: float) -> Array:
        """Velocities (3,) at `time`, interpolated, m/s."""
        return np.array([np.interp(time, self.time, self.velocity[:, body]) for body in range(3)])


MODELS = ("A", "B", "C")


def simulate(
    model: str, parameters: TwoMassParameters | None = None, *, duration: float = 0.3, step: float = 1e-4
) -> TwoMassRun:
    """Simulate model A, B or C from rest.

    Args:
        model: One of `MODELS`.
        parameters: Those of Aouaj 2021, Table I, when None.
        duration: s; must reach the impact.
        step: Distance of the samples, s.

    Raises:
        UnknownNameError: Another model.
        NoSolutionError: No contact within `duration`, or the solver gave up.
    """
    if model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    parameters = parameters or TwoMassParameters()
    count = int(np.floor(duration / step + 1e-9)) + 1
    times: Array = step * np.arange(count, dtype=np.float64)
    return _simulate_compliant(parameters, times) if model == "A" else _simulate_hybrid(model, parameters, times)


def jump_map(model: str, parameters: TwoMassParameters) -> Array:
    """Jump map of the hybrid models: [positions, velocities] before to those after, bodies that stick merged.

    Shape (4, 6) for model B ([x0 x1 x2] to [x01 x2]), (2, 4) for model C ([x0 x12] to [x012]); Aouaj thesis,
    eqs. 3.18 and 3.28, from momentum balance.
    """
    m0 = parameters.object_mass
    if model == "B":
        merge, mass = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.diag([m0, parameters.tip_mass, 1.0])
    elif model == "C":
        merge, mass = np.array([[1.0, 0.0]]), np.diag([m0, parameters.robot_mass])
    else:
        raise UnknownNameError("model", model, ("B", "C"))
    # After the impact the velocities are S w with the merged ones w; momentum: S' M S w = S' M v.
    spread = np.zeros((mass.shape[0], merge.shape[0]))
    spread[0, 0] = spread[1, 0] = 1.0
    if model == "B":
        spread[2, 1] = 1.0
    velocity = np.linalg.solve(spread.T @ mass @ spread, spread.T @ mass)
    empty = np.zeros_like(merge)
    return np.block([[merge, empty], [empty, velocity]])


def _simulate_compliant(parameters: TwoMassParameters, times: Array) -> TwoMassRun:
    masses = np.array([parameters.object_mass, parameters.tip_mass, parameters.drive_mass])

    def contact_force(state: Array) -> Array:
        return parameters.contact.force(state[0] - state[1], state[3] - state[4])

    def derivative(_: float, state: Array) -> Array:
        force = float(contact_force(state))
        spring = _spring(parameters, state[1], state[2], state[4], state[5])
        forces = np.array([-force, force + spring, -spring - parameters.drive_force])
        return np.concatenate([state[3:], forces / masses])

    def touches(_: float, state: Array) -> float:
        return float(state[0] - state[1])

    touches.direction = 1.0  # type: ignore[attr-defined]
    initial = np.array([0.0, parameters.gap, parameters.gap, 0.0, 0.0, 0.0])
    solution = solve_ivp(
        derivative,
        (0.0, float(times[-1])),
        initial,
        method="LSODA",
        t_eval=times,
        events=touches,
        rtol=1e-8,
        atol=1e-11,
        max_step=_LONGEST_STEP,
    )
    if not solution.success or solution.t_events[0].size == 0:
        raise NoSolutionError(
            f"model A: no contact within {times[-1]:g} s", problem=parameters, status=solution.message
        )
    return TwoMassRun(
        model="A",
        time=times,
        position=solution.y[:3].T,
        velocity=solution.y[3:].T,
        contact_force=contact_force(solution.y),
        impact_time=float(solution.t_events[0][0]),
        velocity_before=solution.y_events[0][0][3:],
        velocity_after=np.full(3, np.nan),
        impulse=float("nan"),
    )


def _simulate_hybrid(model: str, parameters: TwoMassParameters, times: Array) -> TwoMassRun:
    """Free motion until the guard, the jump map, and the motion of the merged bodies."""
    if model == "B":
        free = _flexible_mode(parameters, np.array([parameters.object_mass, parameters.tip_mass]))
        held = _flexible_mode(parameters, np.array([parameters.object_mass + parameters.tip_mass]))
        bodies_free, bodies_held = [0, 1, 2], [0, 0, 1]
    else:
        free = _rigid_mode(parameters, np.array([parameters.object_mass]))
        held = _rigid_mode(parameters, np.array([]))
        bodies_free, bodies_held = [0, 1, 1], [0, 0, 0]
    count = max(bodies_free) + 1

    def guard(_: float, state: Array) -> float:
        return float(state[0] - state[1])

    guard.terminal = True  # type: ignore[attr-defined]
    guard.direction = 1.0  # type: ignore[attr-defined]
    initial = np.zeros(2 * count)
    initial[1:count] = parameters.gap
    before = _flow(free, 0.0, float(times[-1]), initial, guard)
    if before.t_events[0].size == 0:
        raise NoSolutionError(f"model {model}: no contact within {times[-1]:g} s", problem=parameters)
    impact_time, state = float(before.t_events[0][0]), before.y_events[0][0]
    start = jump_map(model, parameters) @ state
    after = _flow(held, impact_time, float(times[-1]), start, None)
    early = times <= impact_time
    states_early, states_late = before.sol(times[early]), after.sol(times[~early])
    half = len(start) // 2
    position = np.vstack([states_early[:count][bodies_free].T, states_late[:half][bodies_held].T])
    velocity = np.vstack([states_early[count:][bodies_free].T, states_late[half:][bodies_held].T])
    velocity_before, velocity_after = state[count:][bodies_free], start[half:][bodies_held]
    return TwoMassRun(
        model=model,
        time=times,
        position=position,
        velocity=velocity,
        contact_force=np.full(times.size, np.nan),
        impact_time=impact_time,
        velocity_before=velocity_before,
        velocity_after=velocity_after,
        impulse=float(-parameters.object_mass * (velocity_after[0] - velocity_before[0])),
    )


@dataclass(frozen=True)
class _LinearMode:
    """State space dx/dt = a x + b."""

    a: Array
    b: Array


def _flexible_mode(parameters: TwoMassParameters, others: Array) -> _LinearMode:
    """Bodies `others`, the last of which is the tip or carries it, and the drive behind its spring."""
    masses = np.append(others, parameters.drive_mass)
    pattern = np.zeros((masses.size, masses.size))
    pattern[-2:, -2:] = [[1.0, -1.0], [-1.0, 1.0]]
    return _mode(masses, parameters.joint_stiffness * pattern, parameters.joint_damping * pattern, parameters)


def _rigid_mode(parameters: TwoMassParameters, others: Array) -> _LinearMode:
    """The rigid robot beside the bodies `others`, or with everything merged into it when there are none."""
    masses = np.append(others, parameters.robot_mass if others.size else parameters.total_mass)
    return _mode(masses, np.zeros((masses.size,) * 2), np.zeros((masses.size,) * 2), parameters)


def _mode(masses: Array, stiffness: Array, damping: Array, parameters: TwoMassParameters) -> _LinearMode:
    count = masses.size
    a = np.zeros((2 * count, 2 * count))
    a[:count, count:] = np.eye(count)
    a[count:, :count] = -stiffness / masses[:, None]
    a[count:, count:] = -damping / masses[:, None]
    b = np.zeros(2 * count)
    b[-1] = -parameters.drive_force / masses[-1]
    return _LinearMode(a, b)


def _flow(
    mode: _LinearMode, start: float, end: float, state: Array, guard: Callable[[float, Array], float] | None
) -> Any:
    solution = solve_ivp(
        lambda _, x: mode.a @ x + mode.b,
        (start, end),
        state,
        method="DOP853",
        events=guard,
        dense_output=True,
        rtol=1e-10,
        atol=1e-13,
        max_step=_LONGEST_STEP,
    )
    if not solution.success:
        raise NoSolutionError(f"the linear mode could not be integrated: {solution.message}", problem=mode)
    return solution


def _spring(parameters: TwoMassParameters, x1: float, x2: float, v1: float, v2: float) -> float:
    """Force of spring and dashpot on m1, N."""
    return parameters.joint_stiffness * (x2 - x1) + parameters.joint_damping * (v2 - v1)
