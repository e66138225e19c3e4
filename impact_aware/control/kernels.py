"""The arithmetic of a control cycle, compiled: every function here is a loop over joints and allocates nothing.

Compiled code does not check indices: who calls it makes sure that arrays have the lengths that are stated.
"""

from __future__ import annotations

import math

from impact_aware.arrays import Array
from impact_aware.compiled import (
    FLAG_AND_INDEX,
    INDEX,
    MATRIX,
    NOTHING,
    NUMBER,
    PAIR,
    VECTOR,
    WRITTEN_MATRIX,
    WRITTEN_VECTOR,
    compiled,
)

SMALL = 1e-9
"""Keeps a division by zero out where the numerator is zero as well."""


@compiled(NOTHING, WRITTEN_MATRIX, WRITTEN_VECTOR, MATRIX, VECTOR, NUMBER, INDEX)
def add_task(hessian: Array, gradient: Array, jacobian: Array, target: Array, weight: float, first: int) -> None:
    """Add the cost weight/2 ||J x - b||^2 of one task to 1/2 x'Hx + g'x.

    Args:
        hessian: (n, n) H, added to.
        gradient: (n,) g, added to.
        jacobian: (k, m) J, of one arm.
        target: (k,) b.
        weight: Weight of the task.
        first: Index of the arm's first joint.
    """
    rows, columns = jacobian.shape
    for i in range(columns):
        total = 0.0
        for row in range(rows):
            total += jacobian[row, i] * target[row]
        gradient[first + i] -= weight * total
        for j in range(i + 1):
            total = 0.0
            for row in range(rows):
                total += jacobian[row, i] * jacobian[row, j]
            total *= weight
            hessian[first + i, first + j] += total
            if j != i:
                hessian[first + j, first + i] += total


@compiled(NOTHING, VECTOR, VECTOR, MATRIX, NUMBER, NUMBER, NUMBER, VECTOR, VECTOR, VECTOR, WRITTEN_MATRIX)
def program_limits(
    q: Array,
    dq: Array,
    joints: Array,
    period: float,
    braking: float,
    rate: float,
    bias: Array,
    lowest: Array,
    highest: Array,
    limits: Array,
) -> None:
    """Bounds on joint accelerations and torques for the next period, as `LimitBounds` explains them.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        joints: (3, n) Lower and upper position limits, rad, and velocity limits, rad/s.
        period: s.
        braking: Deceleration towards a position limit, rad/s^2.
        rate: Share of what is left to a velocity limit that may be used up per time, 1/s.
        bias: (n,) h, N m.
        lowest: (n,) Lowest torque, N m.
        highest: (n,) Highest torque, N m.
        limits: (6, n) Written to: lower and upper bound for positions and for velocities, rad/s^2, and on the torque
            minus h, N m.
    """
    for i in range(joints.shape[1]):
        for side in range(2):
            speed = dq[i] if side else -dq[i]
            left = joints[1, i] - q[i] if side else q[i] - joints[0, i]
            # Along the curve sqrt(2 a d) the deceleration is a; towards it the velocity horizon applies.
            allowed = math.sqrt(2.0 * braking * max(left, 0.0))
            share = min(max(speed / (allowed + SMALL), 0.0), 1.0)
            ahead = 2.0 / (period * period) * (left - period * speed)
            position = max(min(ahead, (allowed - speed) * rate - braking * share), -2.0 * braking)
            velocity = max((joints[2, i] - speed) * rate, -2.0 * braking)
            limits[side, i] = position if side else -position
            limits[2 + side, i] = velocity if side else -velocity
        limits[4, i] = lowest[i] - bias[i]
        limits[5, i] = highest[i] - bias[i]


@compiled(PAIR, NUMBER, NUMBER, NUMBER, NUMBER)
def passing(previous: float, limit: float, step: float, added: float) -> tuple[float, float]:
    """Lowest and highest whole torque of one joint that `command_filter` lets pass, N m; `added` by the arm itself."""
    low = max(previous - step, -limit) + added
    high = min(previous + step, limit) + added
    # The limits of what is sent win where gravity keeps the whole torque beyond its own.
    return min(max(low, -limit), high), max(min(high, limit), low)


@compiled(NOTHING, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, WRITTEN_VECTOR, WRITTEN_VECTOR)
def torque_range(
    previous: Array, limit: Array, step: Array, carried: Array, gravity: Array, lower: Array, upper: Array
) -> None:
    """Lowest and highest whole torque that `command_filter` lets pass.

    Args:
        previous: (n,) The last command as it was sent, N m.
        limit: (n,) Largest torque, N m.
        step: (n,) Largest change of what is sent, N m.
        carried: (n,) 1 where the arm adds the gravity torque itself, else 0.
        gravity: (n,) N m.
        lower: (n,) Written to, N m.
        upper: (n,) Written to, N m.
    """
    for i in range(limit.size):
        lower[i], upper[i] = passing(previous[i], limit[i], step[i], carried[i] * gravity[i])


@compiled(FLAG_AND_INDEX, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, NUMBER, WRITTEN_VECTOR, WRITTEN_VECTOR)
def filter_command(
    wanted: Array,
    previous: Array,
    limit: Array,
    step: Array,
    carried: Array,
    gravity: Array,
    tolerance: float,
    command: Array,
    effort: Array,
) -> tuple[bool, int]:
    """The nearest torque that passes, and how far the wanted one was outside.

    Args:
        wanted: (n,) Whole torque, N m; an entry that is not finite keeps its last command.
        previous: (n,) The last command as it was sent, N m.
        limit: (n,) Largest torque, N m.
        step: (n,) Largest change of what is sent, N m.
        carried: (n,) 1 where the arm adds the gravity torque itself, else 0.
        gravity: (n,) N m.
        tolerance: Change that does not count, N m.
        command: (n,) What is sent, written to, N m.
        effort: (n,) The same as whole torque, written to, N m.

    Returns:
        Whether a torque was changed by more than the tolerance; the first joint whose torque was outside by more than
        a step, or -1.
    """
    changed, gross = False, -1
    for i in range(wanted.size):
        added = carried[i] * gravity[i]
        lower, upper = passing(previous[i], limit[i], step[i], added)
        value = wanted[i] if math.isfinite(wanted[i]) else previous[i] + added
        value = min(max(value, lower), upper)
        effort[i] = value
        command[i] = value - added
        excess = abs(value - wanted[i])
        changed |= not excess <= tolerance
        if gross < 0 and not excess <= step[i]:
            gross = i
    return changed, gross


@compiled(INDEX, VECTOR, VECTOR, VECTOR, VECTOR, NUMBER, NUMBER, NUMBER)
def first_implausible(
    q: Array, dq: Array, previous: Array, fastest: Array, speed_factor: float, longest: float, noise: float
) -> int:
    """Index of the first value that can't be true, velocities before positions; -1 when there is none.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        previous: (n,) Positions before, rad.
        fastest: (n,) Velocity limits, rad/s.
        speed_factor: A velocity may be that many times its limit.
        longest: Longest time at the velocity limit between the two positions, s.
        noise: Displacement that measurement noise can add, rad.
    """
    n = fastest.size
    for i in range(n):
        if not abs(dq[i]) <= speed_factor * fastest[i]:
            return i
    for i in range(n):
        if not abs(q[i] - previous[i]) <= longest * fastest[i] + noise:
            return n + i
    return -1


@compiled(INDEX, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def first_limit(q: Array, dq: Array, lower: Array, upper: Array, velocity: Array, half_inverse: Array) -> int:
    """Index of the first limit that is left: n upper positions, n lower ones, n velocities; -1 when there is none.

    Args:
        q: (n,) rad.
        dq: (n,) rad/s.
        lower: (n,) rad.
        upper: (n,) rad.
        velocity: (n,) rad/s.
        half_inverse: (n,) 1/(2 a) of the braking deceleration a, s^2/rad.
    """
    n = velocity.size
    for i in range(n):
        if not max(dq[i] * abs(dq[i]) * half_inverse[i], 0.0) + q[i] <= upper[i]:
            return i
    for i in range(n):
        if not min(dq[i] * abs(dq[i]) * half_inverse[i], 0.0) + q[i] >= lower[i]:
            return n + i
    for i in range(n):
        if not abs(dq[i]) <= velocity[i]:
            return 2 * n + i
    return -1


@compiled(INDEX, VECTOR, VECTOR, VECTOR, NUMBER)
def tool_limit(position: Array, twist: Array, box: Array, fastest: float) -> int:
    """Which limit a tool has left: 1 the workspace, 2 the speed, 0 none.

    Args:
        position: (3,) m.
        twist: (6,) m/s and rad/s.
        box: (6,) Lowest, then highest position, m.
        fastest: m/s.
    """
    for i in range(3):
        if not (box[i] <= position[i] and position[i] <= box[3 + i]):
            return 1
    square = twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2]
    return 0 if square <= fastest * fastest else 2


@compiled(NOTHING, WRITTEN_MATRIX, WRITTEN_VECTOR, NUMBER)
def begin_program(hessian: Array, gradient: Array, regularisation: float) -> None:
    """Set H (n, n) to the regularisation on its diagonal and g (n,) to zero."""
    for i in range(gradient.size):
        gradient[i] = 0.0
        for j in range(gradient.size):
            hessian[i, j] = 0.0
        hessian[i, i] = regularisation


@compiled(
    NOTHING,
    MATRIX,
    VECTOR,
    MATRIX,
    VECTOR,
    VECTOR,
    VECTOR,
    NUMBER,
    NUMBER,
    WRITTEN_VECTOR,
    WRITTEN_VECTOR,
)
def observe_torque(
    mass_matrix: Array,
    armature: Array,
    coriolis: Array,
    dq: Array,
    effort: Array,
    bias: Array,
    interval: float,
    gain: float,
    integral: Array,
    external: Array,
) -> None:
    """One step of the momentum observer that `contact_force` explains.

    Args:
        mass_matrix: (n, n) M + B_theta, kg m^2.
        armature: (n,) B_theta, kg m^2.
        coriolis: (n, n) C, N m s.
        dq: (n,) rad/s.
        effort: (n,) Measured torque, N m.
        bias: (n,) h, N m.
        interval: Since the last step, s.
        gain: K, 1/s.
        integral: (n,) Momentum that the known torques have given, updated.
        external: (n,) Estimate of the external torque, updated, N m.
    """
    n = armature.size
    for i in range(n):
        momentum = -armature[i] * dq[i]
        # C^T dq - g = (C + C^T) dq - h.
        drive = effort[i] - bias[i] + external[i]
        for j in range(n):
            momentum += mass_matrix[i, j] * dq[j]
            drive += (coriolis[i, j] + coriolis[j, i]) * dq[j]
        integral[i] += interval * drive
        external[i] = gain * (momentum - integral[i])


@compiled(NUMBER, MATRIX, VECTOR, NUMBER)
def force_of_torque(jacobian: Array, torque: Array, regularisation: float) -> float:
    """Length of the force f at a tool that solves (J_v J_v^T + r 1) f = J_v tau, N.

    Args:
        jacobian: (6, n) Of the tool, linear rows first.
        torque: (n,) tau, N m.
        regularisation: r.
    """
    xx = yy = zz = regularisation
    xy = xz = yz = x = y = z = 0.0
    for i in range(torque.size):
        a, b, c = jacobian[0, i], jacobian[1, i], jacobian[2, i]
        xx += a * a
        yy += b * b
        zz += c * c
        xy += a * b
        xz += a * c
        yz += b * c
        x += a * torque[i]
        y += b * torque[i]
        z += c * torque[i]
    # The inverse of a symmetric matrix by its cofactors.
    cxx, cxy, cxz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    cyy, cyz, czz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    determinant = xx * cxx + xy * cxy + xz * cxz
    fx, fy, fz = cxx * x + cxy * y + cxz * z, cxy * x + cyy * y + cyz * z, cxz * x + cyz * y + czz * z
    return math.sqrt(fx * fx + fy * fy + fz * fz) / determinant
