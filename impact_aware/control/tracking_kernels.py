"""The arithmetic of the tracking reference, compiled: targets of van Steen 2024, (20), (34) and (38).

Compiled code does not check indices: who calls it makes sure that arrays have the lengths that are stated.
"""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.compiled import (
    FLAG,
    MATRIX,
    NOTHING,
    NUMBER,
    VECTOR,
    WRITTEN_MATRIX,
    WRITTEN_VECTOR,
    compiled,
)
from impact_aware.control.steering import PATH_GAIN, slope
from impact_aware.reference.kernels import ante_impact, ante_impact_linear, post_impact, smoothstep
from impact_aware.reference.rotation import rotation_error


@compiled(NOTHING, VECTOR, NUMBER, NUMBER, NUMBER, WRITTEN_MATRIX)
def object_movement(velocity: Array, since: float, elapsed: float, ramp: float, movement: Array) -> None:
    """Write how the ante-impact field moves with its object; see `tracking.movement`.

    Args:
        velocity: (3,) Of the object, m/s.
        since: Time since it was seen, s.
        elapsed: Time since the start, s.
        ramp: Length of the start ramp, s.
        movement: (3, 3) Rows: displacement, m, velocity, m/s, and acceleration, m/s^2.
    """
    share, rate, ahead = 1.0, 0.0, 0.0
    if elapsed < ramp:
        share, rate = smoothstep(elapsed, 0.0, ramp)
        w = elapsed / ramp
        ahead = 0.5 * ramp - elapsed + ramp * (w**3 - 0.5 * w**4)
    for axis in range(3):
        v = velocity[axis]
        movement[0, axis], movement[1, axis], movement[2, axis] = v * since + ahead * v, share * v, rate * v


@compiled(NOTHING, WRITTEN_MATRIX, NUMBER, NUMBER, NUMBER, NUMBER)
def settle(left: Array, period: float, rate: float, angular_blend: float, blend: float) -> None:
    """Advance what an impact left the arms by Heun's method: x'' = -gamma (2 lambda x' + lambda^2 x).

    Args:
        left: (3 arms, 4) Rows of each arm: x, x', x''; columns: rotation of the tool (3), joint of the null space.
        period: s.
        rate: lambda, 1/s.
        angular_blend: gamma of the rotation.
        blend: gamma of the joint.
    """
    for first in range(0, left.shape[0], 3):
        for k in range(4):
            gamma = blend if k == 3 else angular_blend
            before = left[first + 2, k]
            left[first, k] += period * (left[first + 1, k] + 0.5 * period * before)
            predicted = left[first + 1, k] + period * before
            left[first + 2, k] = -gamma * rate * (2.0 * predicted + rate * left[first, k])
            left[first + 1, k] = predicted + 0.5 * period * (left[first + 2, k] - before)


@compiled(NOTHING, VECTOR, MATRIX, VECTOR, NUMBER, MATRIX, NUMBER, VECTOR, MATRIX, WRITTEN_VECTOR, WRITTEN_VECTOR)
def before_impact(
    position: Array,
    rotation: Array,
    moving: Array,
    elapsed: float,
    movement: Array,
    damping: float,
    numbers: Array,
    desired: Array,
    twist: Array,
    target: Array,
) -> None:
    """Write the twist and the target acceleration (20) of a tool before the impact.

    Args:
        position: (3,) Of the tool, m.
        rotation: (3, 3) Of the tool.
        moving: (6,) Twist of the tool, m/s and rad/s.
        elapsed: Time since the start, s.
        movement: (3, 3) Of the field with its object, as `object_movement` writes it.
        damping: k_d, 1/s.
        numbers: (16,) Of the ante-impact field.
        desired: (3, 3) Its orientation.
        twist: (6,) Written to, m/s and rad/s.
        target: (6,) Written to, m/s^2 and rad/s^2.
    """
    at = np.empty(3)
    for axis in range(3):
        at[axis] = position[axis] - movement[0, axis]
    ante_impact(at, rotation, elapsed, numbers, desired, twist, target)
    for axis in range(3):
        twist[axis] += movement[1, axis]
        target[axis] += movement[2, axis]
    for row in range(6):
        target[row] += damping * (twist[row] - moving[row])


@compiled(NOTHING, MATRIX, VECTOR, WRITTEN_MATRIX)
def turn_back(rotation: Array, vector: Array, turned: Array) -> None:
    """Write exp(-vector) R (3, 3), by Rodrigues' formula column by column."""
    angle = math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    # sin(angle) / angle and (1 - cos(angle)) / angle^2, by their series where a quotient would lose digits.
    if angle > 1e-4:
        sine, rest = math.sin(angle) / angle, 2.0 * (math.sin(0.5 * angle) / angle) ** 2
    else:
        sine, rest = 1.0 - angle**2 / 6.0, 0.5 - angle**2 / 24.0
    x, y, z = -vector[0], -vector[1], -vector[2]
    for column in range(3):
        a, b, c = rotation[0, column], rotation[1, column], rotation[2, column]
        ax, ay, az = y * c - z * b, z * a - x * c, x * b - y * a
        turned[0, column] = a + sine * ax + rest * (y * az - z * ay)
        turned[1, column] = b + sine * ay + rest * (z * ax - x * az)
        turned[2, column] = c + sine * az + rest * (x * ay - y * ax)


@compiled(NOTHING, VECTOR, VECTOR, VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR)
def steer(
    position: Array, centre: Array, post_numbers: Array, steering: Array, twist: Array, acceleration: Array
) -> None:
    """Replace what of a push's twist and acceleration is across its way by what steers the object; see `Steering`.

    It takes over with the distance from the impact as the field's sideways radius has it.

    Args:
        position: (3,) Of the tool, m.
        centre: (3,) Of the object, m.
        post_numbers: (14,) Of the post-impact field.
        steering: (11,) Numbers of the `Steering`; the last one is written to.
        twist: (6,) Of the post-impact field, m/s and rad/s; changed.
        acceleration: (6,) Of the post-impact field, m/s^2 and rad/s^2; changed.
    """
    if steering[9] == 0.0:
        return
    away = miss = ahead = left = place = speed = sideways = sideways_acceleration = 0.0
    for axis in range(3):
        across, along, gap = steering[axis], steering[3 + axis], centre[axis] - post_numbers[axis]
        away += (centre[axis] - post_numbers[3 + axis]) ** 2
        miss += across * gap
        left -= along * gap
        ahead += across * (centre[axis] - position[axis])
        place += across * position[axis]
        speed += along * twist[axis]
        sideways += across * twist[axis]
        sideways_acceleration += across * acceleration[axis]
    share = smoothstep(math.sqrt(away), 0.0, post_numbers[13])[0]
    wanted = max(speed, 0.0) * slope(miss, ahead, left, steering[6], steering[7])
    more = share * (wanted + PATH_GAIN * (steering[8] - place) - sideways)
    for axis in range(3):
        twist[axis] += more * steering[axis]
        acceleration[axis] -= share * sideways_acceleration * steering[axis]
    steering[10] = sideways + share * (wanted - sideways)


@compiled(NOTHING, VECTOR, NUMBER, NUMBER, NUMBER, WRITTEN_VECTOR)
def add_turn(turn: Array, x: float, y: float, z: float, motion: Array) -> None:
    """Add a turn (3,) about a centre, from which a tool is at x, y, z, to the tool's motion (6,)."""
    motion[0] += turn[1] * z - turn[2] * y
    motion[1] += turn[2] * x - turn[0] * z
    motion[2] += turn[0] * y - turn[1] * x
    for axis in range(3):
        motion[3 + axis] += turn[axis]


@compiled(
    NOTHING, VECTOR, MATRIX, VECTOR, VECTOR, MATRIX, MATRIX, VECTOR, VECTOR, FLAG, MATRIX, VECTOR, MATRIX,
    WRITTEN_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR,
)  # fmt: skip
def after_impact(
    position: Array,
    rotation: Array,
    moving: Array,
    centre: Array,
    left: Array,
    movement: Array,
    gains: Array,
    post_numbers: Array,
    predicted: bool,
    post_desired: Array,
    ante_numbers: Array,
    ante_desired: Array,
    held: Array,
    steering: Array,
    twist: Array,
    target: Array,
) -> None:
    """Write the twist and the target acceleration of a tool after the impact: (38) without its force, or (34).

    The angular part has a gamma of its own: the same where gamma follows the clock. Where gamma waits for complete
    contact, the clock still blends the angular part: the wanted orientation is the same before and after, and an arm
    that was hit off centre would rotate undamped as long as another one is waited for.

    Args:
        position: (3,) Of the tool, m.
        rotation: (3, 3) Of the tool.
        moving: (6,) Twist of the tool, m/s and rad/s.
        centre: (3,) Of the object, m.
        left: (3, 4) What the impact left this arm, as `settle` has it.
        movement: (3, 3) Of the ante-impact field with its object.
        gains: (5,) k_d, 1/s, k_p, 1/s^2, gamma, gamma of the angular part, and the time by which the held position
            goes on along the ante-impact field, s.
        post_numbers: (14,) Of the post-impact field.
        predicted: Whether that knows a predicted velocity.
        post_desired: (3, 3) Its orientation.
        ante_numbers: (16,) Of the ante-impact field.
        ante_desired: (3, 3) Its orientation.
        held: (3,) Position that the interim mode holds, m; written to where it goes on.
        steering: (11,) Numbers of the `Steering` of a push; zeros of none.
        twist: (6,) Written to, m/s and rad/s.
        target: (6,) Written to, m/s^2 and rad/s^2.
    """
    damping, stiffness, gamma, angular_gamma, period = gains[0], gains[1], gains[2], gains[3], gains[4]
    at, turned = np.empty(3), np.empty((3, 3))
    # Without the rotation that the impact left, the tool is where the fields want it.
    turn_back(rotation, left[0], turned)
    post_impact(centre, turned, post_numbers, predicted, post_desired, twist, target)
    steer(position, centre, post_numbers, steering, twist, target)
    # The tool turns with the object, about its centre.
    x, y, z = position[0] - centre[0], position[1] - centre[1], position[2] - centre[2]
    add_turn(left[1], x, y, z, twist)
    for row in range(6):
        target[row] += damping * (twist[row] - moving[row])
    if gamma < 1.0 or angular_gamma < 1.0:
        for axis in range(3):
            at[axis] = position[axis] - movement[0, axis]
        linear = ante_impact_linear(at, ante_numbers)
        # The angular velocity reference (11) is kappa_r times the orientation error. Its acceleration, -kappa_r^2 times
        # that error, belongs to a tool that follows (11): without feedback of velocity it drives it away.
        error = rotation_error(turned, ante_desired)
        turning = stiffness if ante_numbers[12] > 0.0 else 0.0
        for axis in range(3):
            feedback = linear[3 + axis] + stiffness * (held[axis] - position[axis])
            target[axis] = (1.0 - gamma) * feedback + gamma * target[axis]
            feedback = turning * error[axis]
            target[3 + axis] = (1.0 - angular_gamma) * feedback + angular_gamma * target[3 + axis]
    add_turn(left[2], x, y, z, target)
    if period > 0.0:
        for axis in range(3):
            at[axis] = held[axis] - movement[0, axis]
        linear = ante_impact_linear(at, ante_numbers)
        for axis in range(3):
            held[axis] += period * (linear[axis] + movement[1, axis])


@compiled(NOTHING, MATRIX, MATRIX, VECTOR, NUMBER, WRITTEN_VECTOR)
def add_wrench_acceleration(jacobian: Array, mass_matrix: Array, wrench: Array, share: float, target: Array) -> None:
    """Add the tool acceleration share J M^-1 J^T f (6,) that a wrench f (6,) gives, (38)-(39); M = L L^T.

    Args:
        jacobian: (6, n) J.
        mass_matrix: (n, n) M, positive definite.
        wrench: (6,) f, N and N m.
        share: Factor.
        target: (6,) Added to, m/s^2 and rad/s^2.
    """
    n = mass_matrix.shape[0]
    factor, answer = np.empty((n, n)), np.empty(n)
    for i in range(n):
        for j in range(i + 1):
            total = mass_matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(total) if i == j else total / factor[j, j]
    for i in range(n):
        total = 0.0
        for row in range(6):
            total += jacobian[row, i] * wrench[row]
        for k in range(i):
            total -= factor[i, k] * answer[k]
        answer[i] = total / factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            answer[i] -= factor[k, i] * answer[k]
        answer[i] /= factor[i, i]
    for row in range(6):
        for i in range(n):
            target[row] += share * jacobian[row, i] * answer[i]
