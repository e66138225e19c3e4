"""URDF texts from outside: bounded before they are parsed, and tried in a process of their own.

The parsers of XML, URDF and Pinocchio recurse along the chain of links and along nested elements, and take time that
grows with the square of the links: 8000 in a row end the process.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import xml.parsers.expat
from xml.etree.ElementTree import Element, SubElement, TreeBuilder, tostring

import numpy as np
import pinocchio as pin

from impact_aware.errors import ImpactAwareError, InvalidInputError

LARGEST = 1 << 22
"""Size of a text, characters; the largest URDFs of example-robot-data have 100 000."""

MOST_LINKS = 500
"""Links and joints; humanoids with hands have 100."""

MOST_ELEMENTS = 50_000
"""XML elements; humanoids with hands have 2000."""

DEEPEST = 30
"""Elements within each other; a URDF has 6."""

CHILD_MEMORY = 4 << 30
"""Address space of the process that tries a text, bytes; its libraries alone take 1.5 GB of it."""

CHILD_SECONDS = 20
"""Processor time that it may take, s; it needs 0.6."""

CHILD_PATIENCE = 60.0
"""Time that is waited for it on a busy machine, s."""


TRIAL = (sys.executable, "-P", "-m", "impact_aware.robot.urdf_text")
"""The process; -P, so that a module of the same name in the current folder is not taken."""


class UrdfError(ImpactAwareError):
    """A URDF that the process that tried it could not use."""


def check_urdf(text: str) -> None:
    """Refuse a text that is too large, too deep, no XML of a robot, or whose links are no tree.

    Raises:
        InvalidInputError: Saying which.
    """
    shown = " ".join(text[:120].split())
    if len(text) > LARGEST:
        raise InvalidInputError("urdf", f"{len(text)} characters", f"{LARGEST} at most")
    counts: dict[str, int] = {}
    named: dict[str, set[str]] = {"link": set(), "joint": set()}
    children: set[str] = set()
    depth = total = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, total
        depth, total = depth + 1, total + 1
        if depth == 1 and name != "robot":
            raise InvalidInputError("urdf", shown, f"a valid URDF (its outermost element is {name[:40]}, not robot)")
        if depth == 2:
            counts[name] = counts.get(name, 0) + 1
        if depth == 2 and name in named:
            own = attributes.get("name", "")
            # Refused here, because the parser behind prints lines of its own about it.
            if own in named[name]:
                raise InvalidInputError("urdf", shown, f"a valid URDF (two {name}s of the name {own[:40]!r})")
            named[name].add(own)
        if (depth, name) == (3, "child"):
            children.add(attributes.get("link", ""))
        if depth > DEEPEST or total > MOST_ELEMENTS:
            raise InvalidInputError("urdf", shown, f"{DEEPEST} levels and {MOST_ELEMENTS} elements at most")
        if counts.get("link", 0) > MOST_LINKS or counts.get("joint", 0) > MOST_LINKS:
            raise InvalidInputError("urdf", f"more than {MOST_LINKS} links or joints", f"{MOST_LINKS} at most")

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse_doctype(*_what: object) -> None:
        raise InvalidInputError("urdf", shown, "a URDF without a document type, whose entities could multiply")

    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse_doctype
    try:
        # Encoded here, because the parsers behind take bytes too, and a lone surrogate is no text.
        parser.Parse(text.strip().encode(), True)
    except (xml.parsers.expat.ExpatError, UnicodeEncodeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError("urdf", shown, f"a valid URDF ({error})") from error
    roots = sorted(named["link"] - children)
    if len(roots) != 1:
        given = ", ".join(roots[:5]) or "none"
        raise InvalidInputError("urdf", shown, f"a valid URDF (one link that is no joint's child, not {given})")


def urdf_tree(text: str) -> Element:
    """Elements of a text that `check_urdf` accepts.

    Prefixes of names are left as they are: the parsers behind don't ask whether a namespace was declared.
    """
    builder, parser = TreeBuilder(), xml.parsers.expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.Parse(text.strip().encode(), True)
    return builder.close()


def build_model(text: str) -> pin.Model:
    """Pinocchio's model of a URDF text; joints that turn without end have one coordinate too, the angle, and no range.

    Raises:
        InvalidInputError: No URDF, or one beyond the bounds of `check_urdf`.
    """
    check_urdf(text)
    bounded, endless = _bounded_text(text)
    try:
        model = pin.buildModelFromXML(bounded)
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidInputError("urdf", " ".join(text[:120].split()), f"a valid URDF ({reason})") from error
    if model.nv == 0 and "xacro:" in text:
        raise InvalidInputError("urdf", " ".join(text[:120].split()), "a URDF; of a xacro file `xacro FILE` makes one")
    lower, upper = np.array(model.lowerPositionLimit), np.array(model.upperPositionLimit)
    for name in endless:
        place = model.idx_qs[model.getJointId(name)]
        lower[place], upper[place] = -np.inf, np.inf
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    return model


def _bounded_text(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with revolute joints in place of continuous ones, and their names.

    Pinocchio keeps a continuous joint as a point on the circle, two coordinates; messages and tables have the angle.
    """
    if "continuous" not in text:
        return text, ()
    tree = urdf_tree(text)
    endless = [joint for joint in tree.findall("joint") if joint.get("type") == "continuous"]
    for joint in endless:
        joint.set("type", "revolute")
        limit = joint.find("limit")
        if limit is None:
            # Neither effort nor velocity is said: zero, as where a continuous joint has none.
            limit = SubElement(joint, "limit", effort="0", velocity="0")
        limit.set("lower", "-1")
        limit.set("upper", "1")
    return tostring(tree, encoding="unicode"), tuple(joint.get("name", "") for joint in endless)


def try_foreign_urdf(text: str) -> None:
    """Parse a text that somebody else wrote in a process of its own, where a crash or a minute costs nothing.

    Raises:
        InvalidInputError: It is beyond the bounds of `check_urdf`.
        UrdfError: It can't be used.
    """
    check_urdf(text)
    try:
        tried = subprocess.run(TRIAL, input=text.encode(), capture_output=True, timeout=CHILD_PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise UrdfError(f"urdf: {len(text)} characters were not parsed within {CHILD_PATIENCE:g} s") from error
    if tried.returncode == 0:
        return
    reason = tried.stdout.decode(errors="replace").strip()
    if tried.returncode != 2 or not reason:
        how = f"signal {-tried.returncode}" if tried.returncode < 0 else f"status {tried.returncode}"
        reason = f"urdf: got {len(text)} characters, expected a valid URDF (its parser ended with {how})"
    raise UrdfError(reason)


def main() -> int:
    """Try the URDF of the standard input; status 2 and one line when it can't be used."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY, CHILD_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CHILD_SECONDS, CHILD_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        model = build_model(sys.stdin.buffer.read().decode())
        pin.crba(model, model.createData(), pin.neutral(model))
    except InvalidInputError as error:
        print(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
