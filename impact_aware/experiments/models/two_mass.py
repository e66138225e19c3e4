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
from impact_aware.contact.force_models import ContactForceModel, HuntCrossley
from impact_aware.errors import NoSolutionError, check_name
from impact_aware.ranges import NOT_NEGATIVE, POSITIVE

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
        """Check every field; an InvalidInputError names the wrong one."""
        for name in ("object_mass", "tip_mass", "drive_mass", "joint_stiffness", "drive_force", "gap"):
            POSITIVE.check(name, getattr(self, name))
        NOT_NEGATIVE.check("joint_damping", self.joint_damping)

    @property
    def masses(self) -> Array:
        """(3,) m0, m1, m2, kg."""
        return np.array([self.object_mass, self.tip_mass, self.drive_mass])


@dataclass(frozen=True)
class TwoMassRun:
    """One simulated run.

    Attributes:
        model: `A`, `B` or `C`.
        time: (k,) s.
        position: (k, 3) Of m0, m1, m2, m; m1 and m2 measured so that their spring is relaxed when they are equal.
        velocity: (k, 3) m/s.
        impact_time: First touch, s.
        velocity_before: (3,) At first touch, m/s.
        velocity_after: (3,) Just after the impact law acted, m/s; NaN in model A, which has no such instant.
    """

    model: str
    time: Array
    position: Array
    velocity: Array
    impact_time: float
    velocity_before: Array
    velocity_after: Array

    def velocity_at(self, time: float) -> Array:
        """Velocities (3,) at `time`, interpolated, m/s."""
        return np.array([np.interp(time, self.time, self.velocity[:, body]) for body in range(3)])


MODELS = ("A", "B", "C")

# The coordinate of each body in the hybrid models, before the impact and after it; bodies that stick share one.
_COORDINATES = {"B": ([0, 1, 2], [0, 0, 1]), "C": ([0, 1, 1], [0, 0, 0])}


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
    check_name("model", model, MODELS)
    parameters = parameters or TwoMassParameters()
    count = int(np.floor(duration / step + 1e-9)) + 1
    times: Array = step * np.arange(count, dtype=np.float64)
    return _simulate_compliant(parameters, times) if model == "A" else _simulate_hybrid(model, parameters, times)


def jump_map(model: str, parameters: TwoMassParameters) -> Array:
    """Jump map of the hybrid models: [positions, velocities] before to those after, bodies that stick merged.

    (4, 6) for model B ([x0 x1 x2] to [x01 x2]), (2, 4) for model C ([x0 x12] to [x012]); Aouaj thesis, (3.18) and
    (3.28), from momentum balance.
    """
    check_name("model", model, _COORDINATES)
    free, held = (_selection(coordinates) for coordinates in _COORDINATES[model])
    masses = parameters.masses
    # After the impact the bodies have H w with the merged velocities w; momentum: H' M H w = H' M F v, H' M H diagonal.
    velocity = (held.T * masses) @ free / (held.T @ masses)[:, None]
    position = free[held.argmax(axis=0)]
    empty = np.zeros_like(position)
    return np.block([[position, empty], [empty, velocity]])


def _simulate_compliant(parameters: TwoMassParameters, times: Array) -> TwoMassRun:
    masses = parameters.masses

    def derivative(_: float, state: Array) -> Array:
        force = float(parameters.contact.force(state[0] - state[1], state[3] - state[4]))
        spring = parameters.joint_stiffness * (state[2] - state[1]) + parameters.joint_damping * (state[5] - state[4])
        forces = np.array([-force, force + spring, -spring - parameters.drive_force])
        return np.concatenate([state[3:], forces / masses])

    initial = np.array([0.0, parameters.gap, parameters.gap, 0.0, 0.0, 0.0])
    solution = solve_ivp(
        derivative,
        (0.0, float(times[-1])),
        initial,
        method="LSODA",
        t_eval=times,
        events=_first_touch(terminal=False),
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
        impact_time=float(solution.t_events[0][0]),
        velocity_before=solution.y_events[0][0][3:],
        velocity_after=np.full(3, np.nan),
    )


def _simulate_hybrid(model: str, parameters: TwoMassParameters, times: Array) -> TwoMassRun:
    """Free motion until the guard, the jump map, and the motion of the merged bodies."""
    bodies_free, bodies_held = _COORDINATES[model]
    count = max(bodies_free) + 1

    initial = np.zeros(2 * count)
    initial[1:count] = parameters.gap
    before = _flow(parameters, bodies_free, 0.0, float(times[-1]), initial, _first_touch(terminal=True))
    if before.t_events[0].size == 0:
        raise NoSolutionError(f"model {model}: no contact within {times[-1]:g} s", problem=parameters)
    impact_time, state = float(before.t_events[0][0]), before.y_events[0][0]
    start = jump_map(model, parameters) @ state
    after = _flow(parameters, bodies_held, impact_time, float(times[-1]), start, None)
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
        impact_time=impact_time,
        velocity_before=velocity_before,
        velocity_after=velocity_after,
    )


def _first_touch(*, terminal: bool) -> Callable[[float, Array], float]:
    def gap(_: float, state: Array) -> float:
        return float(state[0] - state[1])

    gap.terminal, gap.direction = terminal, 1.0  # type: ignore[attr-defined]
    return gap


def _selection(coordinates: list[int]) -> Array:
    """(3, c) From the coordinates to the bodies."""
    return np.eye(max(coordinates) + 1)[coordinates]


def _flow(
    parameters: TwoMassParameters,
    coordinates: list[int],
    start: float,
    end: float,
    state: Array,
    guard: Callable[[float, Array], float] | None,
) -> Any:
    """Motion without contact force, as a solution of SciPy's, of bodies of which some may share a coordinate."""
    selection = _selection(coordinates)
    masses = selection.T @ parameters.masses
    spring = selection.T @ np.array([[0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, -1.0, 1.0]]) @ selection
    drive = selection.T @ np.array([0.0, 0.0, -parameters.drive_force])
    count = masses.size
    a = np.zeros((2 * count, 2 * count))
    a[:count, count:] = np.eye(count)
    a[count:, :count] = -parameters.joint_stiffness * spring / masses[:, None]
    a[count:, count:] = -parameters.joint_damping * spring / masses[:, None]
    b = np.append(np.zeros(count), drive / masses)
    solution = solve_ivp(
        lambda _, x: a @ x + b,
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
        raise NoSolutionError(f"the linear mode could not be integrated: {solution.message}", problem=parameters)
    return solution
