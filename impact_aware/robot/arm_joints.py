"""Which movable joints of a URDF are an arm's: fingers are moved by a hand, and most recordings don't have them."""

from __future__ import annotations

import pinocchio as pin

from impact_aware.robot.urdf_text import urdf_tree


def arm_joints(text: str, model: pin.Model) -> tuple[str, ...]:
    """Names of the arm's joints in the order of the model.

    A joint that mimics another one is none of them, nor is a last joint that others mimic. Where a chain ends in
    branches that are all shorter than itself, these are fingers. Several arms on one base are all kept.

    Args:
        text: A URDF that `urdf_tree` accepts.
        model: Pinocchio's model of it.
    """
    mimics = {
        joint.get("name", ""): mimic.get("joint", "")
        for joint in urdf_tree(text).findall("joint")
        if (mimic := joint.find("mimic")) is not None
    }
    names = list(model.names)
    kept = [joint for joint in range(1, model.njoints) if names[joint] not in mimics]
    children = _children(model, kept)
    kept = [joint for joint in kept if children[joint] or names[joint] not in mimics.values()]
    children = _children(model, kept)
    chain = _chain(0, children)
    ends = children[chain[-1] if chain else 0]
    if chain and ends and all(_size(end, children) < len(chain) for end in ends):
        kept = chain
    return tuple(names[joint] for joint in kept)


def _children(model: pin.Model, kept: list[int]) -> dict[int, list[int]]:
    """Joints of `kept` by the one of them that carries them, 0 for the base."""
    found: dict[int, list[int]] = {joint: [] for joint in (0, *kept)}
    for joint in kept:
        parent = int(model.parents[joint])
        while parent not in found:
            parent = int(model.parents[parent])
        found[parent].append(joint)
    return found


def _chain(root: int, children: dict[int, list[int]]) -> list[int]:
    """Joints from the root to the first branch."""
    chain: list[int] = []
    while len(children[root]) == 1:
        root = children[root][0]
        chain.append(root)
    return chain


def _size(root: int, children: dict[int, list[int]]) -> int:
    return 1 + sum(_size(child, children) for child in children[root])
