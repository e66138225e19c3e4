"""What happened in the world, as one arm of several sees it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.simulation.impact_truth import ImpactTruth


def seen_by_arm(truth: ImpactTruth, base: pin.SE3, joints: slice) -> ImpactTruth:
    """The same impact in the frame of an arm's base, with the joints of that arm only.

    Args:
        truth: In the world frame, with the joints of all arms.
        base: Pose of the arm's base in the world.
        joints: The arm's joints.
    """
    turn = base.rotation.T
    return dataclasses.replace(
        truth,
        point=base.actInv(truth.point),
        normal=turn @ truth.normal,
        q=truth.q[joints],
        velocity_before=truth.velocity_before[joints],
        velocity_after=truth.velocity_after[joints],
        object_twist_before=_turned(turn, truth.object_twist_before),
        object_twist_after=_turned(turn, truth.object_twist_after),
        impulse=turn @ truth.impulse,
    )


def _turned(turn: Array, twist: Array) -> Array:
    """A twist (6,) in turned axes, about the same point."""
    return np.concatenate((turn @ twist[:3], turn @ twist[3:]))
