"""Where the arms of a recording stand: from its reference field, static transforms, or else the task of that field."""

from __future__ import annotations

from collections.abc import Sequence

import pinocchio as pin

from impact_aware.bags.bag import Bag
from impact_aware.errors import ImpactAwareError
from impact_aware.reference import ReferenceField
from impact_aware.task import base_placement, load_task
from impact_aware.task.arms import base_of, without_tf


def base_placements(bag: Bag, arms: Sequence[str], reference: ReferenceField | None) -> dict[str, pin.SE3]:
    """The base of each arm in the common frame; a single arm stands at the origin."""
    if len(arms) == 1:
        return {arms[0]: pin.SE3.Identity()}
    found = _from_transforms(bag, arms)
    if reference is not None:
        found |= {own.arm: base for own in reference.arms if own.arm in arms and (base := base_of(own)) is not None}
    missing = [arm for arm in arms if arm not in found]
    if missing and reference is not None:
        found |= _from_task(reference.task, missing)
    return {arm: found.get(arm, pin.SE3.Identity()) for arm in arms}


def _from_transforms(bag: Bag, arms: Sequence[str]) -> dict[str, pin.SE3]:
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
            shift, turn = transform.transform.translation, transform.transform.rotation
            found[arm] = pin.XYZQUATToSE3([shift.x, shift.y, shift.z, turn.x, turn.y, turn.z, turn.w])
    return found


def _from_task(name: str, arms: Sequence[str]) -> dict[str, pin.SE3]:
    try:
        task = without_tf(load_task(name))
    except ImpactAwareError:
        return {}
    return {arm.name: base_placement(arm) for arm in task.arms if arm.name in arms}
