"""An arm with elastic joints, solved exactly about one posture: links and motors, kicks at the links, torque steps."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import expm

from impact_aware.arrays import Array
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile

ROBOT = RobotModel.from_profile(load_profile("panda"))
POSTURE = ROBOT.home + np.array([0.1, -0.2, 0.15, 0.3, -0.1, 0.2, 0.05])
FREQUENCIES = np.array([24.0, 29.0, 33.0, 27.0, 31.0, 36.0, 26.0])
DAMPING = 0.02
_LINKS, _MOTORS = ROBOT.mass_matrix(POSTURE, "M"), np.diag(ROBOT.apparent_motor_inertia)
STIFFNESS = (2.0 * np.pi * FREQUENCIES) ** 2 / (np.diag(np.linalg.inv(_LINKS)) + 1.0 / np.diag(_MOTORS))


def swinging_arm(
    times: Array,
    velocity: Array,
    kicks: Sequence[tuple[float, Array]] = (),
    drives: Sequence[tuple[float, Array]] = (),
    presses: Sequence[tuple[float, Array]] = (),
) -> Array:
    """Positions (k, n) of the links at times (k,), which begin with this velocity (n,) of everything.

    Each kick adds to the links' velocity; each drive to the motors' torque, as an acceleration of the whole arm; each
    press to the force on the links, as their acceleration.
    """
    n = len(velocity)
    stiff, nothing, one = np.diag(STIFFNESS), np.zeros((n, n)), np.eye(n)
    losses = 2.0 * DAMPING * stiff / (2.0 * np.pi * FREQUENCIES)
    links, motors = np.linalg.inv(_LINKS), np.linalg.inv(_MOTORS)
    change = np.block(
        [
            [nothing, nothing, one, nothing, nothing, nothing],
            [nothing, nothing, nothing, one, nothing, nothing],
            [-links @ stiff, links @ stiff, -links @ losses, links @ losses, nothing, one],
            [motors @ stiff, -motors @ stiff, motors @ losses, -motors @ losses, motors, nothing],
            *[[nothing] * 6] * 2,
        ]
    )
    state = np.concatenate((POSTURE, POSTURE, velocity, velocity, np.zeros(2 * n)))
    events = sorted(
        [(time, slice(2 * n, 3 * n), kick) for time, kick in kicks]
        + [(time, slice(4 * n, 5 * n), (_LINKS + _MOTORS) @ drive) for time, drive in drives]
        + [(time, slice(5 * n, 6 * n), press) for time, press in presses],
        key=lambda event: event[0],
    )
    now, found = float(times[0]), []
    for time in times.tolist():
        while events and events[0][0] <= time:
            when, part, amount = events.pop(0)
            state = expm((when - now) * change) @ state
            state[part] += amount
            now = when
        state = expm((time - now) * change) @ state
        now = time
        found.append(state[:n].copy())
    return np.array(found)
