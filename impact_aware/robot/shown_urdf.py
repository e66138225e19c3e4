"""The URDF that a viewer is given: every link has a transform, every mesh a place, and the tool is part of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pinocchio as pin

from impact_aware.resources import read_text
from impact_aware.robot.profile import RobotProfile, Tool

TOOL_COLOR = "0.25 0.25 0.28 1"
"""Colour of the tip or pad that touches, red, green, blue, opacity."""

_MOTION = ("axis", "limit", "mimic", "dynamics", "calibration", "safety_controller")


def share_folders() -> list[Path]:
    """Folders that have packages with meshes: those of a sourced ROS first, then the one that pip installed to."""
    prefixes = [
        Path(prefix) / "share" for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix
    ]
    prefixes += [Path(pin.__file__).resolve().parents[4] / "share"]
    return [folder for folder in prefixes if folder.is_dir()]


def shown_urdf(profile: RobotProfile, pad_half_sizes: Sequence[float] = ()) -> str:
    """The profile's URDF for `robot_state_publisher` and RViz.

    Joints that the robot does not report are fixed at zero, as in the profile's model: without a state their links
    would have no transform. Meshes of packages that pip installed are named by file, as RViz finds packages of a
    sourced ROS only.

    Args:
        profile: The robot.
        pad_half_sizes: (3,) Of the box that touches instead of the spherical tip, tool frame, m; empty for the tip.

    Raises:
        InvalidInputError: The URDF can't be read.
    """
    robot = ElementTree.fromstring(read_text("urdf", profile.urdf).strip())
    for joint in robot.iterfind("joint"):
        if joint.get("type") != "fixed" and joint.get("name") not in profile.joint_names:
            joint.set("type", "fixed")
            for child in [child for child in joint if child.tag in _MOTION]:
                joint.remove(child)
    folders = share_folders()
    for mesh in robot.iterfind(".//mesh"):
        name = mesh.get("filename", "")
        found = (
            [folder / name.removeprefix("package://") for folder in folders] if name.startswith("package://") else []
        )
        file = next((path for path in found if path.is_file()), None)
        if file is not None:
            mesh.set("filename", file.as_uri())
    links = {link.get("name") for link in robot.iterfind("link")}
    tool = profile.tool
    if tool is not None and tool.frame not in links and tool.mount_frame in links:
        _add_tool(robot, tool, pad_half_sizes)
    return ElementTree.tostring(robot, encoding="unicode")


def _add_tool(robot: ElementTree.Element, tool: Tool, half: Sequence[float]) -> None:
    """A link at the tool frame that looks like what touches, fixed to the frame that carries it."""
    link = ElementTree.SubElement(robot, "link", name=tool.frame)
    if any(half) or tool.radius > 0.0:
        visual = ElementTree.SubElement(link, "visual")
        geometry = ElementTree.SubElement(visual, "geometry")
        if any(half):
            ElementTree.SubElement(geometry, "box", size=_words([2.0 * value for value in half]))
        else:
            ElementTree.SubElement(geometry, "sphere", radius=repr(tool.radius))
        material = ElementTree.SubElement(visual, "material", name="impact_aware_tool")
        ElementTree.SubElement(material, "color", rgba=TOOL_COLOR)
    joint = ElementTree.SubElement(robot, "joint", name=f"{tool.frame}_mount", type="fixed")
    ElementTree.SubElement(joint, "parent", link=tool.mount_frame)
    ElementTree.SubElement(joint, "child", link=tool.frame)
    ElementTree.SubElement(joint, "origin", xyz=_words(tool.position), rpy=_words(tool.rotation_rpy))


def _words(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
