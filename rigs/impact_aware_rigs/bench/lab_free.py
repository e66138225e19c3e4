"""Free motion of flexible-joint arms from posture to posture, as truth without contact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.signal import bilinear, lfilter

from impact_aware.arrays import Array
from impact_aware_rigs.bench.lab_draw import draw_hit
from impact_aware_rigs.bench.lab_hit import CYCLE, TrueHit

REACH = 0.5
"""Largest distance of a joint from home, rad."""

TORQUES_EVERY = 4
"""Cycles between two states whose torques are computed."""


def free_motion(seed: int, seconds: float) -> TrueHit:
    """Moves of 0.6 to 2 s with rests of up to 0.5 s; half of the moves begin and end with a step of the acceleration.

    Links follow motors through joints that oscillate at 15 to 50 Hz, with 1 to 10 % of critical damping.
    """
    rng = np.random.default_rng((seed, 44))
    draw = replace(draw_hit(rng, "free", elastic=False), fixed=True)
    robot = draw.plant
    times = np.arange(0.0, seconds, CYCLE)
    motors = np.empty((3, len(times), robot.n))
    posture, begin = robot.home + rng.uniform(-REACH, REACH, robot.n), 0.0
    motors[:] = np.stack((posture, 0.0 * posture, 0.0 * posture))[:, None]
    switches: list[tuple[float, str]] = []
    while begin < seconds:
        begin += rng.uniform(0.1, 0.5)
        lasts, stepped = rng.uniform(0.6, 2.0), bool(rng.uniform() < 0.5)
        goal = robot.home + rng.uniform(-REACH, REACH, robot.n)
        rows = (times >= begin) & (times < begin + lasts)
        way = _trapezoid if stepped else _quintic
        place, speed, pull = way((times[rows] - begin) / lasts)
        motors[:, rows] = np.stack((place, speed / lasts, pull / lasts**2))[:, :, None] * (goal - posture)
        motors[0, rows] += posture
        motors[0, times >= begin + lasts] = goal
        switches += [(begin, "motion_start"), (begin + lasts, "command_step")]
        posture, begin = goal, begin + lasts
    links = np.stack([_behind(motors[0, :, joint], rng) for joint in range(robot.n)], axis=2)
    coarse = slice(None, None, TORQUES_EVERY)
    efforts, commands = (
        np.array(
            [robot.mass_matrix(q, inertia) @ a + robot.bias(q, v) for q, v, a in zip(*side[:, coarse], strict=True)]
        )
        for side, inertia in ((links, "M"), (motors, "M+B_theta"))
    )
    efforts, commands = (
        np.stack([np.interp(times, times[coarse], column) for column in torques.T], axis=1)
        for torques in (efforts, commands)
    )
    none = np.zeros((len(times), 3))
    turns = np.zeros((len(times), 3, 3))
    return TrueHit(
        draw,
        times,
        links[0],
        links[1],
        efforts,
        commands,
        motors[1],
        none,
        turns,
        contacts=(),
        switches=tuple(switches),
    )


def _trapezoid(share: Array) -> tuple[Array, Array, Array]:
    """Place, speed and acceleration of a move from 0 to 1 that speeds up and brakes for a quarter of its time each."""
    quarter, pull = 0.25, 16.0 / 3.0
    speed = np.minimum(np.minimum(share, 1.0 - share) / quarter, 1.0) * pull * quarter
    rise, fall = np.minimum(share, quarter), np.maximum(share - 1.0 + quarter, 0.0)
    place = 0.5 * pull * rise**2 + pull * quarter * (share - rise) - 0.5 * pull * fall**2
    return place, speed, pull * ((share < quarter).astype(float) - (share > 1.0 - quarter))


def _quintic(share: Array) -> tuple[Array, Array, Array]:
    """Place, speed and acceleration of a move from 0 to 1 whose acceleration has no step."""
    place = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    return place(share), place.deriv()(share), place.deriv(2)(share)


def _behind(motor: Array, rng: np.random.Generator) -> Array:
    """Position, velocity and acceleration (3, k) of a link behind the motor (k,) of its flexible joint."""
    pulse, ratio = 2.0 * np.pi * rng.uniform(15.0, 50.0), np.exp(rng.uniform(np.log(0.01), np.log(0.1)))
    stiff, damped = pulse**2, 2.0 * ratio * pulse
    sides = []
    for order in range(3):
        b, a = bilinear([damped, stiff] + [0.0] * order, [1.0, damped, stiff], 1.0 / CYCLE)
        sides.append(lfilter(b, a, motor - motor[0]))
    sides[0] = sides[0] + motor[0]
    return np.stack(sides)
