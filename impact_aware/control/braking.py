"""Bring an arm to rest, then hold it there by a small spring: one law for everything that applies torques of its own.

Beside the bias torques h(q, dq) an arm without a command gets tau = M a, with for each joint i

    a_i = s (k e_i - (d_i - d) dq_i) - d dq_i,
    |k e_i| <= A_i = min(V D, T / M_ii),   d_i = max(A_i / V, 2 sqrt(k)),

where e is the deflection of a spring whose anchor slips: an arm moved further than A_i / k, at most 3 degrees, drags
its anchor along, as a friction clutch does, and is held where it is once it is at rest again. The scale s <= 1 keeps
every joint's torque beside gravity and the damping d within T. In motion it is dry friction that helps to brake.

Why these bounds. A joint that is let go at its largest deflection moves at A_i / d_i = V at most, if d_i is at least
the critical 2 sqrt(k); an unknown load that pulls the same way adds its own acceleration over d_i. A force f at the
tool deflects the joints by M^-1 J' f / k, so the tool sags by f / (k m) with its effective mass m along f; it is held
for good as long as M^-1 J' f is within A. Both have to hold for 1 kg with light wrists, which is what sets D.
"""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import FLAG, MATRIX, NUMBER, VECTOR, WRITTEN_VECTOR, compiled
from impact_aware.control.parameters import ControlParameters
from impact_aware.robot import RobotModel

HOLD_TORQUE = 15.0
"""Largest torque T of a held joint beside gravity, N m: 1.5 times what 1 kg at a stretched 1 m arm needs, and a push
that a person withstands."""

HOLD_SPEED = 0.16
"""Joint speed V at which the largest deflection is taken back, rad/s; a load that pulls the same way doubles it."""

HOLD_DAMPING = 200.0
"""Largest damping rate D of a held joint, 1/s: with it the wrists of an arm of Franka's size hold 1 kg, and torques may
come 5 ms late."""

PERIOD_SHARE = 0.3
"""Largest damping rate as a share of one per period, for drivers slower than 1 kHz: their torques come late, too."""

LONGEST_STEP = 0.1
"""Time between two states after which an arm is held at its new position, s: its motion between them is unknown."""


class Braking:
    """Joint acceleration of one arm that takes its motion away and then holds it; the module explains it.

    Attributes:
        at_rest: Whether every joint was slower than `rest_velocity` at the last state.
        stiffness: (n,) Derivative of -`acceleration` by q, 1/s^2; 0 where the anchor slips.
        damping: (n,) Derivative of -`acceleration` by dq, 1/s.
    """

    def __init__(self, robot: RobotModel, parameters: ControlParameters, period: float | None = None) -> None:
        """Hold the first posture that comes.

        Args:
            robot: The arm.
            parameters: `safe_damping`, `hold_stiffness`, `rest_velocity` and, without `period`, that.
            period: Time between two torques, s.
        """
        fastest = min(HOLD_DAMPING, PERIOD_SHARE / (period or parameters.period))
        stiffness = min(parameters.hold_stiffness, 0.25 * fastest * fastest)
        self._gains = stiffness, parameters.safe_damping
        self._least_damping = max(2.0 * math.sqrt(stiffness), parameters.safe_damping)
        self._most = HOLD_SPEED * fastest
        self._bound = np.full(robot.n, HOLD_TORQUE)
        self._rest_velocity = parameters.rest_velocity
        self._anchor, self.stiffness, self.damping = np.zeros(robot.n), np.zeros(robot.n), np.zeros(robot.n)
        self.at_rest = False
        self.begin()

    def begin(self) -> None:
        """Hold the next posture that comes, whatever was held before."""
        self._time, self._slipped = math.nan, False

    def acceleration(self, time: float, q: Array, dq: Array, mass_matrix: Array) -> Array:
        """Return the joint acceleration (n,) at a state, rad/s^2.

        Args:
            time: Stamp of the state, s.
            q: (n,) Joint positions, rad.
            dq: (n,) Joint velocities, rad/s.
            mass_matrix: (n, n) M + B_theta, kg m^2.
        """
        self.at_rest = is_slow(dq, self._rest_velocity)
        if not 0.0 <= time - self._time <= LONGEST_STEP or (self._slipped and self.at_rest):
            self._anchor[:], self._slipped = q, False
            self._largest = np.minimum(self._most, self._bound / np.diagonal(mass_matrix))
            self._held_damping = np.maximum(self._largest / HOLD_SPEED, self._least_damping)
        self._time = time
        acceleration = np.empty_like(self._anchor)
        bounds = self._bound, self._largest, self._held_damping
        slips = hold(
            q, dq, mass_matrix, *bounds, *self._gains, self._anchor, acceleration, self.stiffness, self.damping
        )
        self._slipped = self._slipped or slips
        return acceleration

    def deflection(self, torque: Array, mass_matrix: Array) -> Array | None:
        """Return the deflection (n,) of a held arm that carries a further torque (n,), N m, rad; None where it slips.

        Args:
            torque: (n,) Which the arm needs beside its modelled gravity, N m.
            mass_matrix: (n, n) M + B_theta, kg m^2.
        """
        wanted = np.linalg.solve(mass_matrix, torque)
        largest = np.minimum(self._most, self._bound / np.diagonal(mass_matrix))
        slips = (np.abs(wanted) > largest).any() or (np.abs(torque) > self._bound).any()
        return None if slips else np.asarray(wanted / self._gains[0])


@compiled(FLAG, VECTOR, NUMBER)
def is_slow(dq: Array, speed: float) -> bool:
    """Whether every joint velocity (n,) is below a speed, rad/s; one that is not finite is not."""
    for i in range(dq.size):
        if not abs(dq[i]) < speed:
            return False
    return True


@compiled(NUMBER, MATRIX, VECTOR, VECTOR)
def share_within(mass_matrix: Array, acceleration: Array, bound: Array) -> float:
    """Largest share, at most 1, of an acceleration (n,) whose torques M a are within +-bound (n,), N m."""
    share = 1.0
    for i in range(bound.size):
        torque = 0.0
        for j in range(bound.size):
            torque += mass_matrix[i, j] * acceleration[j]
        if abs(torque) * share > bound[i]:
            share = bound[i] / abs(torque)
    return share


@compiled(
    FLAG, VECTOR, VECTOR, MATRIX, VECTOR, VECTOR, VECTOR, NUMBER, NUMBER, WRITTEN_VECTOR, WRITTEN_VECTOR,
    WRITTEN_VECTOR, WRITTEN_VECTOR,
)  # fmt: skip
def hold(
    q: Array,
    dq: Array,
    mass_matrix: Array,
    bound: Array,
    largest: Array,
    held_damping: Array,
    stiffness: float,
    damping: float,
    anchor: Array,
    acceleration: Array,
    by_position: Array,
    by_velocity: Array,
) -> bool:
    """Joint acceleration that brakes and holds an arm, as `braking` explains it.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        mass_matrix: (n, n) M + B_theta, kg m^2.
        bound: (n,) T, N m.
        largest: (n,) A, rad/s^2.
        held_damping: (n,) d_i, 1/s.
        stiffness: k, 1/s^2.
        damping: d, 1/s.
        anchor: (n,) Posture that is held, dragged along where the spring slips, rad.
        acceleration: (n,) a, written to, rad/s^2.
        by_position: (n,) Derivative of -a by q, written to, 1/s^2.
        by_velocity: (n,) Derivative of -a by dq, written to, 1/s.

    Returns:
        Whether the anchor slipped.
    """
    n, slipped = q.size, False
    for i in range(n):
        wanted = stiffness * (anchor[i] - q[i])
        acceleration[i] = min(max(wanted, -largest[i]), largest[i])
        slips = abs(wanted) > largest[i]
        by_position[i], by_velocity[i] = 0.0 if slips else stiffness, held_damping[i]
        slipped |= slips
    share = share_within(mass_matrix, acceleration, bound)
    if share < 1.0:
        slipped = True
    for i in range(n):
        acceleration[i] *= share
        if share < 1.0:
            by_position[i] = 0.0
        if slipped:
            anchor[i] = q[i] + acceleration[i] / stiffness
        acceleration[i] -= (by_velocity[i] - damping) * dq[i]
    share = share_within(mass_matrix, acceleration, bound)
    for i in range(n):
        acceleration[i] = share * acceleration[i] - damping * dq[i]
        if share < 1.0:
            by_position[i], by_velocity[i] = 0.0, damping
    return slipped
