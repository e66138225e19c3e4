"""Inertias that no body has: a URDF is written by hand, and a slip in it moves predictions unnoticed."""

from __future__ import annotations

import math
from collections.abc import Container
from xml.etree.ElementTree import Element

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

SLACK = 1e-3
"""Share by which moments may break the triangle inequality: URDFs round to some digits."""


def implausible_inertias(text: str, links: Container[str] | None = None) -> tuple[str, ...]:
    """One sentence per link of a URDF whose mass and inertia no rigid body has.

    Principal moments are positive and none is larger than the other two together; the radius of gyration is within the
    link, whose size is judged by where its centre of mass and the joints on it are.

    Args:
        text: A URDF that `check_urdf` accepts.
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
        left_out = inertial is None or (links is not None and name not in links)
        fault = None if left_out else _fault(inertial, reach.get(name, 0.0))
        if fault:
            found.append(one_line(f"link {name}: {fault}; predictions are as wrong as its inertia is"))
    return tuple(found)


def _fault(inertial: Element | None, reach: float) -> str | None:
    if inertial is None:
        return None
    mass_entry, origin, entry = inertial.find("mass"), inertial.find("origin"), inertial.find("inertia")
    mass = _number(None if mass_entry is None else mass_entry.get("value"))
    if entry is None or not math.isfinite(mass):
        return None
    if mass < 0.0:
        return f"a mass of {mass:.4g} kg"
    xx, xy, xz, yy, yz, zz = (_number(entry.get(key, "0")) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    matrix: Array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if not np.isfinite(matrix).all():
        return None
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
    radius = math.sqrt(largest / mass)
    size = REACH * (LONGEST_ARM + reach + _length("0 0 0" if origin is None else origin.get("xyz", "0 0 0")))
    if radius > size:
        return f"{largest:.3g} kg m^2 on {mass:.3g} kg, a radius of gyration of {radius:.3g} m where {size:.2g} m fits"
    return None


def _length(text: str) -> float:
    numbers = [_number(word) for word in text.split()]
    return math.sqrt(sum(number * number for number in numbers if math.isfinite(number)))


def _number(word: str | None) -> float:
    try:
        return math.nan if word is None else float(word)
    except ValueError:
        return math.nan
