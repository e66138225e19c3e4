"""Inertias and sizes that no link has: a URDF is written by hand, and a slip in it moves predictions unnoticed."""

from __future__ import annotations

import math
from collections.abc import Container

import numpy as np

from impact_aware.arrays import Array
from impact_aware.errors import one_line
from impact_aware.robot.urdf_text import urdf_tree

LONGEST_ARM = 0.15
"""What a link reaches beyond its joints and its centre of mass, m."""

REACH = 2.0
"""A link's mass is within this many times its reach: housings stick out to the side of the joints."""

NEGLIGIBLE = 1e-4
"""Moments that no impact of an arm feels, kg m^2: dummies that simulators ask for."""

LONGEST_LINK = 5.0
"""Distance from a joint to the next one or to a centre of mass, m; lengths in mm are a thousand times too large."""

SLACK = 1e-3
"""Share by which moments may break the triangle inequality: URDFs round to some digits."""


def implausible_inertias(text: str, links: Container[str] | None = None) -> tuple[str, ...]:
    """One sentence per link of a URDF whose mass and inertia no rigid body has, or whose size no arm has.

    Principal moments are positive and none is larger than the other two together; the radius of gyration is within the
    link, whose size is judged by where its centre of mass and the joints on it are.

    Args:
        text: A URDF that `urdf_tree` accepts.
        links: Those that are looked at; all when None.
    """
    robot = urdf_tree(text)
    reach: dict[str, float] = {}
    for joint in robot.iter("joint"):
        parent, origin = joint.find("parent"), joint.find("origin")
        if parent is not None and origin is not None:
            name = parent.get("link", "")
            reach[name] = max(reach.get(name, 0.0), _length(origin.get("xyz", "0 0 0")))
    found = []
    for link in robot.findall("link"):
        inertial, name = link.find("inertial"), link.get("name", "")
        if inertial is None or not len(inertial) or (links is not None and name not in links):
            continue
        mass, inertia, origin = (inertial.find(key) for key in ("mass", "inertia", "origin"))
        assert mass is not None and inertia is not None
        xx, xy, xz, yy, yz, zz = (float(inertia.get(key, "")) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        arm, centre = reach.get(name, 0.0), _length("0 0 0" if origin is None else origin.get("xyz", "0 0 0"))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        fault = inertia_fault(float(mass.get("value", "")), matrix, arm + centre)
        if fault:
            found.append(one_line(f"link {name}: {fault}; predictions are as wrong as its inertia is"))
        if max(arm, centre) > LONGEST_LINK:
            found.append(one_line(f"link {name}: a size of {max(arm, centre):.4g} m; are its lengths in mm?"))
    return tuple(found)


def inertia_fault(mass: float, matrix: Array, reach: float) -> str | None:
    """Return why no rigid body has this inertia, in words, or None.

    Args:
        mass: Mass, kg.
        matrix: Inertia about the centre of mass (3, 3), kg m^2.
        reach: Distance of the next joint and of the centre of mass from the joint that carries the body, added, m.
    """
    moments = np.linalg.eigvalsh(matrix)
    largest = float(np.abs(moments).max())
    if largest < NEGLIGIBLE:
        return None
    shown = ", ".join(f"{moment:.3g}" for moment in moments)
    if moments[0] < -SLACK * largest:
        return f"principal moments {shown} kg m^2, one of them negative"
    if moments[0] + moments[1] < moments[2] * (1.0 - SLACK):
        return f"principal moments {shown} kg m^2, one larger than the other two together"
    if mass == 0.0:
        return f"an inertia of {largest:.3g} kg m^2 without a mass"
    radius, size = math.sqrt(largest / mass), REACH * (LONGEST_ARM + reach)
    if radius > size:
        return f"{largest:.3g} kg m^2 on {mass:.3g} kg, a radius of gyration of {radius:.3g} m where {size:.2g} m fits"
    return None


def _length(text: str) -> float:
    return math.hypot(*map(float, text.split()))
