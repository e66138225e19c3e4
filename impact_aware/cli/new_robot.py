"""`impact-aware new-robot URDF`: a commented minimal profile for an arm of which there is a URDF."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from impact_aware.cli.output import keep, show
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described
from impact_aware.robot.load import arm_of_urdf
from impact_aware.robot.new_profile import minimal_profile
from impact_aware.robot.plausible import robot_notes


@dataclass(frozen=True, kw_only=True)
class ProfileOptions(Options):
    """The URDF and the profile's name."""

    urdf: Path = described(..., "description of the arm", metavar="URDF", positional=True)
    name: str | None = described(None, "name of the profile", absent="that of the file")
    joints: tuple[str, ...] = described((), "joints of the arm", absent="all but fingers")
    tool_frame: str | None = described(None, "frame that touches", metavar="FRAME", absent="the last body")


OPTIONS = (ProfileOptions,)


def run(args: argparse.Namespace) -> int:
    """Write `DIR/NAME.yaml`, or print the profile.

    Raises:
        InvalidInputError: No URDF, or a profile of that name in DIR already.
        UnknownNameError: A joint or frame that it does not have.
    """
    if not args.urdf.is_file():
        raise InvalidInputError("urdf", str(args.urdf), "an existing URDF file")
    name = args.name or args.urdf.stem
    if "/" in name or name.startswith(".") or not name.isprintable():
        raise InvalidInputError("name", repr(name), "the name of a file without its ending")
    otherwise, joints = "the profile's joints name others", tuple(args.joints)
    robot = arm_of_urdf(args.urdf, otherwise, name=name, joint_names=joints, tool_frame=args.tool_frame)
    urdf = args.urdf.resolve()
    path = None if args.out is None else args.out / f"{name}.yaml"
    beside = str(urdf) if path is None else os.path.relpath(urdf, os.path.realpath(path.parent))
    text = minimal_profile(robot, name, beside)
    shown = text.rstrip("\n")
    if path is not None:
        keep(path, text)
        notes = [f"  note: {note}" for note in robot_notes(robot)]
        if not args.tool_frame:
            notes.insert(0, "  note: the tool is not known: describe it under `tool` in the profile")
        shown = "\n".join([f"written to {path}: {robot.n} joints, {robot.tool_frame} touches", *notes])
    written = None if path is None else str(path)
    show(args, {"name": name, "joints": list(robot.joint_names), "written": written, "profile": text}, shown)
    return 0
