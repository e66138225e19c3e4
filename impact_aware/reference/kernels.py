"""The arithmetic of the reference fields, compiled: van Steen 2024, (4)-(17)."""

from __future__ import annotations

import math

from impact_aware.arrays import Array
from impact_aware.compiled import (
    FLAG,
    MATRIX,
    NOTHING,
    NUMBER,
    PAIR,
    SIX,
    TRIPLE,
    VECTOR,
    WRITTEN_VECTOR,
    compiled,
)
from impact_aware.reference.rotation import rotation_error

SMALLEST = 1e-9
"""Keeps lengths away from zero where they divide."""


@compiled(PAIR, NUMBER, NUMBER, NUMBER)
def smoothstep(r: float, r_min: float, r_max: float) -> tuple[float, float]:
    """Blend from 0 at `r_min` to 1 at `r_max` with zero slope at both ends (8)-(9).

    Args:
        r: Distance or time.
        r_min: Up to here the value is 0.
        r_max: From here the value is 1; larger than `r_min`.

    Returns:
        The value, 0..1, and its derivative with respect to `r`.
    """
    if r <= r_min:
        return 0.0, 0.0
    if r >= r_max:
        return 1.0, 0.0
    width = r_max - r_min
    w = (r - r_min) / width
    return w * w * (3.0 - 2.0 * w), 6.0 * w * (1.0 - w) / width


@compiled(SIX, VECTOR, VECTOR)
def ante_impact_linear(position: Array, numbers: Array) -> tuple[float, float, float, float, float, float]:
    """Velocity (6) and acceleration (10) of the ante-impact field at a tool position (3,).

    `numbers` (16,): impact position, impact velocity, object centre, alpha, r_min, r_max, kappa_r, ramp, speed, largest
    angular deceleration.
    """
    ix, iy, iz, vx, vy, vz = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]
    alpha, speed = numbers[9], numbers[14]
    px, py, pz = position[0], position[1], position[2]
    cx, cy, cz = px - numbers[6], py - numbers[7], pz - numbers[8]
    distance = math.sqrt(cx * cx + cy * cy + cz * cz)
    beta, slope = smoothstep(distance, numbers[10], numbers[11])
    if beta == 0.0:
        return vx, vy, vz, 0.0, 0.0, 0.0
    dx, dy, dz = ix - px, iy - py, iz - pz
    reach = max(math.sqrt(dx * dx + dy * dy + dz * dz), SMALLEST)
    # (4)-(5): aim = v_imp + alpha (p_t - p), where p_t - p = d - v_imp |d| / |v_imp|
    back = alpha * reach / speed
    ax, ay, az = vx * (1.0 - back) + alpha * dx, vy * (1.0 - back) + alpha * dy, vz * (1.0 - back) + alpha * dz
    aim = max(math.sqrt(ax * ax + ay * ay + az * az), SMALLEST)
    ux, uy, uz = ax / aim, ay / aim, az / aim
    # (6): w blends the approach s u into the impact velocity
    gx, gy, gz = speed * ux - vx, speed * uy - vy, speed * uz - vz
    wx, wy, wz = vx + beta * gx, vy + beta * gy, vz + beta * gz
    # (10): derivative of each part along w
    closing = alpha * (dx * wx + dy * wy + dz * wz) / (reach * speed)
    bx, by, bz = vx * closing - alpha * wx, vy * closing - alpha * wy, vz * closing - alpha * wz
    along = ux * bx + uy * by + uz * bz
    bend = beta * speed / aim
    fade = slope * (cx * wx + cy * wy + cz * wz) / distance
    return (
        wx,
        wy,
        wz,
        bend * (bx - along * ux) + fade * gx,
        bend * (by - along * uy) + fade * gy,
        bend * (bz - along * uz) + fade * gz,
    )


@compiled(NOTHING, TRIPLE, NUMBER, NUMBER, WRITTEN_VECTOR, WRITTEN_VECTOR)
def follow_orientation(
    error: tuple[float, float, float], kappa: float, hardest: float, twist: Array, acceleration: Array
) -> None:
    """The angular parts: velocity kappa log(R_d R^T) and its derivative -kappa^2 log(R_d R^T) when it is followed.

    Where that derivative is larger than `hardest`, the speed is that from which it brings the error to zero: with
    e = |log(R_d R^T)|, w = sqrt(2 hardest e - (hardest / kappa)^2), which goes on from kappa e with the same slope.
    """
    size = math.sqrt(error[0] * error[0] + error[1] * error[1] + error[2] * error[2])
    gain, change = kappa, kappa * kappa
    if hardest > 0.0 and change * size > hardest:
        gain = math.sqrt(2.0 * hardest * size - (hardest / kappa) ** 2) / size
        change = hardest / size
    for axis in range(3):
        twist[3 + axis] = gain * error[axis]
        acceleration[3 + axis] = -change * error[axis]


@compiled(NOTHING, VECTOR, MATRIX, NUMBER, VECTOR, MATRIX, WRITTEN_VECTOR, WRITTEN_VECTOR)
def ante_impact(
    position: Array,
    rotation: Array,
    elapsed: float,
    numbers: Array,
    desired: Array,
    twist: Array,
    acceleration: Array,
) -> None:
    """Write twist (12) and acceleration (13) of the ante-impact field, with its start ramp; see `AnteImpactField`."""
    linear = ante_impact_linear(position, numbers)
    for axis in range(3):
        twist[axis], acceleration[axis] = linear[axis], linear[3 + axis]
    follow_orientation(rotation_error(rotation, desired), numbers[12], numbers[15], twist, acceleration)
    if elapsed < numbers[13]:
        share, rate = smoothstep(elapsed, 0.0, numbers[13])
        for row in range(6):
            acceleration[row] = share * share * acceleration[row] + rate * twist[row]
            twist[row] *= share


@compiled(SIX, VECTOR, VECTOR, FLAG)
def post_impact_linear(
    position: Array, numbers: Array, predicted: bool
) -> tuple[float, float, float, float, float, float]:
    """Velocity (15) and acceleration of the post-impact field at an object centre (3,); (14) when not `predicted`.

    With a sideways radius, what of (15) is across the way from the impact to the goal is blended with the share sigma
    instead of beta, which grows from the impact on and is 1 from that radius on.

    `numbers` (14,): goal, object centre at the impact, predicted velocity, kappa_p, r_min, r_max, kappa_r, sideways
    radius.
    """
    kappa = numbers[9]
    px, py, pz = position[0], position[1], position[2]
    fx, fy, fz = kappa * (numbers[0] - px), kappa * (numbers[1] - py), kappa * (numbers[2] - pz)
    if not predicted:
        return fx, fy, fz, -kappa * fx, -kappa * fy, -kappa * fz
    ex, ey, ez = numbers[6], numbers[7], numbers[8]
    cx, cy, cz = px - numbers[3], py - numbers[4], pz - numbers[5]
    distance = math.sqrt(cx * cx + cy * cy + cz * cz)
    beta, slope = smoothstep(distance, numbers[10], numbers[11])
    sigma, lean = (beta, slope) if numbers[13] == 0.0 else smoothstep(distance, 0.0, numbers[13])
    if beta == 0.0 and sigma == 0.0:
        return ex, ey, ez, 0.0, 0.0, 0.0
    dx, dy, dz = fx - ex, fy - ey, fz - ez
    if numbers[13] == 0.0:
        wx, wy, wz = ex + beta * dx, ey + beta * dy, ez + beta * dz
        fade = slope * (cx * wx + cy * wy + cz * wz) / distance
        pull = -beta * kappa
        return wx, wy, wz, pull * wx + fade * dx, pull * wy + fade * dy, pull * wz + fade * dz
    gx, gy, gz = numbers[0] - numbers[3], numbers[1] - numbers[4], numbers[2] - numbers[5]
    way = max(math.sqrt(gx * gx + gy * gy + gz * gz), SMALLEST)
    gx, gy, gz = gx / way, gy / way, gz / way
    ahead = gx * dx + gy * dy + gz * dz
    more = (beta - sigma) * ahead
    wx, wy, wz = ex + sigma * dx + more * gx, ey + sigma * dy + more * gy, ez + sigma * dz + more * gz
    rate = (cx * wx + cy * wy + cz * wz) / distance
    along = gx * wx + gy * wy + gz * wz
    turn, fade = -kappa * sigma, lean * rate
    keep = -kappa * (beta - sigma) * along + (slope - lean) * rate * ahead
    return (
        wx,
        wy,
        wz,
        turn * wx + fade * dx + keep * gx,
        turn * wy + fade * dy + keep * gy,
        turn * wz + fade * dz + keep * gz,
    )


@compiled(NOTHING, VECTOR, MATRIX, VECTOR, FLAG, MATRIX, WRITTEN_VECTOR, WRITTEN_VECTOR)
def post_impact(
    position: Array,
    rotation: Array,
    numbers: Array,
    predicted: bool,
    desired: Array,
    twist: Array,
    acceleration: Array,
) -> None:
    """Write twist (15), (17) and acceleration of a tool that moves with the object; see `PostImpactField`."""
    linear = post_impact_linear(position, numbers, predicted)
    for axis in range(3):
        twist[axis], acceleration[axis] = linear[axis], linear[3 + axis]
    follow_orientation(rotation_error(rotation, desired), numbers[12], 0.0, twist, acceleration)
