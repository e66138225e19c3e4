"""Whether a second contact is possible: an object that moves away faster than the tool can't be touched by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from impact_aware.arrays import Array
from impact_aware.detection.impact_watch import SECOND_CONTACT
from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.impact_finder import Find
from impact_aware.robot import RobotModel

REACH = 0.03
"""Time before a find over which both velocities are fitted, s."""

FEWEST = 4
"""Samples of each that are needed."""

MOVES = 0.05
"""Speed from which an object moves away, m/s."""

MARGIN = 0.1
"""Share of the object's speed by which it has to be faster: its touched point may move otherwise than its centre."""


def possible_contacts(finds: Sequence[Find], track: ObjectTrack | None, robot: RobotModel | None) -> list[Find]:
    """The finds, with second contacts that the object's track excludes named as the oscillation after the first."""
    return [_excluded(find, track, robot) or find for find in finds]


def _excluded(find: Find, track: ObjectTrack | None, robot: RobotModel | None) -> Find | None:
    if find.cause != SECOND_CONTACT or find.window is None or track is None or robot is None:
        return None
    speeds = separation(track, robot, find.window, find.time)
    if speeds is None:
        return None
    away, tool = speeds
    evidence = f"no contact: the object moves away at {away:.2f} m/s, the tool follows it at {tool:.2f} m/s"
    return replace(find, cause="ringing", evidence=evidence)


def separation(track: ObjectTrack, robot: RobotModel, window: ArmSamples, time: float) -> tuple[float, float] | None:
    """Speeds of object and tool along the object's motion just before a time, m/s; None unless the object is faster.

    Args:
        track: Of the object, base frame.
        robot: The arm.
        window: Samples around the time, in the joint order of the robot.
        time: s.
    """
    moved = _slope(track.times, track.positions, time)
    swept = _slope(window.times, window.positions, time)
    if moved is None or swept is None:
        return None
    speed = float(np.linalg.norm(moved[0]))
    if speed < MOVES:
        return None
    along = moved[0] / speed
    jacobian = along @ robot.frame_jacobian(swept[2])[:3]
    tool = float(jacobian @ swept[0])
    error = float(np.hypot(np.linalg.norm(along * moved[1]), np.linalg.norm(jacobian * swept[1])))
    return (speed, tool) if speed - tool > MARGIN * speed + 2.0 * error else None


def _slope(times: Array, values: Array, until: float) -> tuple[Array, Array, Array] | None:
    """Slope of a line through the last values (k, n) before a time, its standard error, and their mean."""
    used = (times >= until - REACH) & (times < until)
    if np.count_nonzero(used) < FEWEST:
        return None
    (slope, mean), covariance = np.polyfit(times[used] - times[used].mean(), values[used], 1, cov=True)
    return slope, np.sqrt(covariance[0, 0]), mean
