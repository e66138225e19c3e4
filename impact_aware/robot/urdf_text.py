"""URDF texts from outside: bounded and complete before they are parsed, and tried in a copy of the process.

The parsers of XML, URDF and Pinocchio recurse along the chain of links and along nested elements, and take time that
grows with the square of the links: 8000 in a row end the process. The parser of URDF leaves a link without inertia or
shape when it can't read a number of it, so numbers are read here first, and written back as they were read.
"""

from __future__ import annotations

import contextlib
import math
import re
import xml.parsers.expat
from xml.etree.ElementTree import Element, SubElement, TreeBuilder, tostring

import numpy as np
import pinocchio as pin

from impact_aware.child_process import survives
from impact_aware.errors import InvalidInputError

LARGEST = 1 << 22
"""Size of a text, characters; the largest URDFs of example-robot-data have 100 000."""

MOST_LINKS = 500
"""Links and joints; humanoids with hands have 100."""

MOST_ELEMENTS = 50_000
"""XML elements; humanoids with hands have 2000."""

DEEPEST = 30
"""Elements within each other; a URDF has 6."""

LARGEST_NUMBER, SHORTEST_AXIS = 1e12, 1e-6
"""Magnitude of lengths, masses and inertias, SI units, as of the command's options; length of a joint's axis."""

MOST_ATTRIBUTES = 50
"""Attributes of an element, whose number goes into the parser's time squared; a URDF has seven at most."""

MOST_MEMORY = 4 << 30
"""Memory that a text and its model may take, bytes; 300 joints in a row take 2 GB in Pinocchio."""

PATIENCE = 60
"""Time that they may take on a busy machine, s; 300 joints in a row take 2 to 6 s, an arm 0.01 s."""


_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)

_NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "safety_controller": dict.fromkeys(("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"), 1),
    "calibration": {"rising": 1, "falling": 1},
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "mesh": {"scale": 3},
}
"""Attributes of links and joints that are numbers, and how many each."""

_BOUNDED = ("origin", "axis", "mass", "inertia")
"""Elements of finite things; a limit may be any number, as programs write 1e16 for none."""

_REQUIRED = {"mass": ("value",), "inertia": tuple(_NUMBERS["inertia"]), "limit": ("effort", "velocity")}

_TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating")


def urdf_tree(text: str) -> Element:
    """Return the elements of a URDF, numbers of links and joints with single blanks between them.

    Prefixes of names are left as they are: the parsers behind don't ask whether a namespace was declared.

    Raises:
        InvalidInputError: The text is too large, too deep, no XML of a robot, its links are no tree, or a number of a
            link or joint is missing or none.
    """
    shown = " ".join(text[:120].split())
    if len(text) > LARGEST:
        raise InvalidInputError("urdf", f"{len(text)} characters", f"{LARGEST} at most")
    builder, parser = TreeBuilder(), xml.parsers.expat.ParserCreate()
    counts = {"link": 0, "joint": 0}
    depth = total = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, total
        depth, total = depth + 1, total + 1
        if depth == 1 and name != "robot":
            raise InvalidInputError("urdf", shown, f"a valid URDF (its outermost element is {name[:40]}, not robot)")
        if depth > DEEPEST or total > MOST_ELEMENTS or len(attributes) > MOST_ATTRIBUTES:
            most = f"{DEEPEST} levels, {MOST_ELEMENTS} elements and {MOST_ATTRIBUTES} attributes of one at most"
            raise InvalidInputError("urdf", shown, most)
        if depth == 2 and name in counts:
            counts[name] += 1
            if counts[name] > MOST_LINKS:
                raise InvalidInputError("urdf", f"more than {MOST_LINKS} links or joints", f"{MOST_LINKS} at most")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def refuse_doctype(*_what: object) -> None:
        raise InvalidInputError("urdf", shown, "a URDF without a document type, whose entities could multiply")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        # Encoded here, because the parsers behind take bytes too, and a lone surrogate is no text.
        parser.Parse(text.strip().encode(), True)
        robot = builder.close()
        _check_tree(robot)
    except InvalidInputError:
        raise
    except (xml.parsers.expat.ExpatError, UnicodeEncodeError, ValueError) as error:
        raise InvalidInputError("urdf", shown, f"a valid URDF ({error})") from error
    for element in (*robot.findall("link"), *robot.findall("joint")):
        _check_numbers(element)
    return robot


def _check_tree(robot: Element) -> None:
    """Refuse links and joints that are no tree, about which the parser behind prints lines of its own."""
    names: dict[str, list[str]] = {}
    for kind in ("link", "joint"):
        names[kind] = sorted(element.get("name", "") for element in robot.findall(kind))
        for one, other in zip(["", *names[kind]], names[kind], strict=False):
            if one == other:
                raise ValueError(f"two {kind}s of the name {one[:40]!r}" if one else f"a {kind} without a name")
    parents: dict[str, str] = {}
    below: dict[str, list[str]] = {name: [] for name in names["link"]}
    for joint in robot.findall("joint"):
        name, ends = joint.get("name", ""), {}
        for end in ("parent", "child"):
            entry = joint.find(end)
            ends[end] = "" if entry is None else entry.get("link", "")
            if ends[end] not in names["link"]:
                raise ValueError(f"joint {name[:40]!r} has no link {ends[end][:40]!r} as its {end}")
        if (child := ends["child"]) in parents:
            raise ValueError(f"link {child[:40]!r} is the child of two joints, {parents[child][:40]} and {name[:40]}")
        parents[child] = name
        below[ends["parent"]].append(child)
        if joint.get("type") not in _TYPES:
            raise ValueError(f"joint {name[:40]!r} is of the type {joint.get('type', '')[:40]!r}")
        if joint.get("type") in ("revolute", "prismatic") and joint.find("limit") is None:
            raise ValueError(f"joint {name[:40]!r} has no limit")
    roots = [name for name in names["link"] if name not in parents]
    if len(roots) != 1:
        raise ValueError(f"one link that is no joint's child, not {', '.join(roots[:5]) or 'none'}")
    connected = list(roots)
    for name in connected:
        connected += below[name]
    if len(connected) != len(below):
        raise ValueError(f"a tree; {', '.join(sorted(set(below) - set(connected))[:5])} are in a ring")


def _check_numbers(owner: Element) -> None:
    """Refuse numbers of a link or joint that are none; those that are get single blanks between them."""
    where = f"urdf: {owner.tag} {owner.get('name', '')[:40]}"
    for inertial in owner.findall("inertial"):
        for name in ("mass", "inertia") if len(inertial) else ():
            if inertial.find(name) is None:
                raise InvalidInputError(where, f"inertial without {name}", "mass and inertia, or no inertial")
    for element in owner.iter():
        for name in _REQUIRED.get(element.tag, ()):
            if name not in element.keys():
                raise InvalidInputError(where, f"{element.tag} without {name}", f"a number {name}")
        for name, count in _NUMBERS.get(element.tag, {}).items():
            if (given := element.get(name)) is None:
                continue
            words = given.split()
            if len(words) != count or not all(_NUMBER.fullmatch(w) and math.isfinite(float(w)) for w in words):
                wanted = "a number" if count == 1 else f"{count} numbers"
                raise InvalidInputError(f"{where}: {element.tag} {name}", repr(given[:80]), f"{wanted} like 0.25")
            largest = max(abs(float(word)) for word in words)
            if element.tag in _BOUNDED and largest > LARGEST_NUMBER:
                raise InvalidInputError(f"{where}: {element.tag} {name}", given[:80], f"at most {LARGEST_NUMBER:g}")
            # Programs write an axis of zeros for joints that have none.
            if element.tag == "axis" and largest < SHORTEST_AXIS and owner.get("type") not in ("fixed", "floating"):
                raise InvalidInputError(f"{where}: axis", given[:80], "a vector that is not of zero length")
            if element.tag == "mass" and float(given) < 0.0:
                raise InvalidInputError(f"{where}: mass", f"{given[:80]} kg", "a mass >= 0 kg")
            element.set(name, " ".join(words))


def build_model(text: str) -> pin.Model:
    """Pinocchio's model of a URDF text; joints that turn without end have one coordinate too, the angle, and no range.

    Raises:
        InvalidInputError: No URDF, or one that `urdf_tree` refuses.
    """
    tree = urdf_tree(text)
    endless = [joint for joint in tree.findall("joint") if joint.get("type") == "continuous"]
    for joint in endless:
        # Pinocchio keeps a continuous joint as a point on the circle, two coordinates; messages have the angle.
        joint.set("type", "revolute")
        limit = joint.find("limit")
        if limit is None:
            # Without effort and velocity both are zero, as where a continuous joint has none.
            limit = SubElement(joint, "limit", effort="0", velocity="0")
        limit.set("lower", "-1")
        limit.set("upper", "1")
    try:
        model = pin.buildModelFromXML(tostring(tree, encoding="unicode"))
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError("urdf", " ".join(text[:120].split()), f"a valid URDF ({reason})") from error
    if model.nv == 0 and "xacro:" in text:
        raise InvalidInputError("urdf", " ".join(text[:120].split()), "a URDF; of a xacro file `xacro FILE` makes one")
    lower, upper = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    for joint in endless:
        place = model.idx_qs[model.getJointId(joint.get("name", ""))]
        lower[place], upper[place] = -np.inf, np.inf
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    return model


def frame_index(model: pin.Model, name: str) -> int:
    """Index of a frame that the model has: of the link, where a joint has its name too, as URDF allows."""
    body = pin.FrameType.BODY
    return int(model.getFrameId(name, body) if model.existFrame(name, body) else model.getFrameId(name))


def model_on_base(model: pin.Model, base_frame: str) -> tuple[pin.Model, pin.SE3]:
    """The model with its base frame as Pinocchio's world, and the pose of the base in the URDF's root link.

    Gravity keeps its direction in the world of the root link, whose z axis points up. A frame that the URDF does not
    have is its root link.

    Raises:
        InvalidInputError: The base frame moves with a joint.
    """
    if not model.existFrame(base_frame):
        return model, pin.SE3.Identity()
    frame = model.frames[frame_index(model, base_frame)]
    if frame.parentJoint != 0:
        raise InvalidInputError("base_frame", base_frame, "a link that no joint moves")
    base = pin.SE3(frame.placement)
    if base.isIdentity():
        return model, pin.SE3.Identity()
    moved, back = pin.Model(model), base.inverse()
    for joint in range(1, moved.njoints):
        if moved.parents[joint] == 0:
            moved.jointPlacements[joint] = back * model.jointPlacements[joint]
    for index in range(1, moved.nframes):
        if moved.frames[index].parentJoint == 0:
            moved.frames[index].placement = back * model.frames[index].placement
    moved.gravity = pin.Motion(back.rotation @ model.gravity.linear, np.zeros(3))
    return moved, base


def try_foreign_urdf(text: str) -> None:
    """Parse a text of unknown origin in a copy of this process, where a crash or a minute costs nothing.

    Raises:
        InvalidInputError: `urdf_tree` refuses it, or its parser does not come to an end.
    """
    urdf_tree(text)

    def trial() -> None:
        # What Pinocchio refuses in words, it refuses again where the model is needed.
        with contextlib.suppress(InvalidInputError):
            model = build_model(text)
            pin.crba(model, model.createData(), pin.neutral(model))

    if not survives(trial, PATIENCE, MOST_MEMORY):
        raise InvalidInputError("urdf", f"{len(text)} characters", "a valid URDF, which its parser survives")
