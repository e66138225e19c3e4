"""Where the arms of a recording stand: from its static transforms, or else from the task of its reference field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import ImpactAwareError
from impact_aware.messages.geometry import quaternion, vector
from impact_aware.recordings.bag import Bag
from impact_aware.reference import ReferenceField
from impact_aware.reference.rotation import rotation_from_quaternion
from impact_aware.task import base_placement, load_task


@dataclass(frozen=True, eq=False)
class Placement:
    """A rotation and a shift.

    Attributes:
        rotation: (3, 3)
        translation: (3,) m.
    """

    rotation: Array = field(default_factory=lambda: np.eye(3))
    translation: Array = field(default_factory=lambda: np.zeros(3))

    def act(self, points: Array) -> Array:
        """Points (..., 3) in the frame of the picture."""
        return np.asarray(points @ self.rotation.T + self.translation)


def base_placements(bag: Bag, arms: Sequence[str], reference: ReferenceField | None) -> dict[str, Placement]:
    """The base of each arm in the common frame; a single arm stands at the origin."""
    if len(arms) == 1:
        return {arms[0]: Placement()}
    found = _from_transforms(bag, arms)
    missing = [arm for arm in arms if arm not in found]
    if missing and reference is not None:
        found |= _from_task(reference.task, missing)
    return {arm: found.get(arm, Placement()) for arm in arms}


def _from_transforms(bag: Bag, arms: Sequence[str]) -> dict[str, Placement]:
    """Transforms of `/tf_static` whose child frame begins with the arm's name, straight from the root."""
    if "/tf_static" not in bag.topics:
        return {}
    transforms = [t for _, message in bag.messages("/tf_static") for t in message.transforms]
    children = {transform.child_frame_id for transform in transforms}
    found = {}
    for transform in transforms:
        arm = next(
            (arm for arm in arms if transform.child_frame_id.lstrip("/").startswith((f"{arm}/", f"{arm}_"))), None
        )
        if arm is not None and transform.header.frame_id not in children:
            rotation = rotation_from_quaternion(quaternion(transform.transform.rotation))
            found[arm] = Placement(np.array(rotation), vector(transform.transform.translation))
    return found


def _from_task(name: str, arms: Sequence[str]) -> dict[str, Placement]:
    try:
        task = load_task(name)
    except ImpactAwareError:
        return {}
    bases = {arm.name: base_placement(arm) for arm in task.arms if arm.name in arms}
    return {arm: Placement(np.array(base.rotation), np.array(base.translation)) for arm, base in bases.items()}
