"""`impact-aware new-robot URDF`: a commented minimal profile for an arm of which there is a URDF."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from impact_aware.errors import InvalidInputError
from impact_aware.json_text import json_text
from impact_aware.output_folder import write_whole
from impact_aware.recordings.arm_notes import robot_notes
from impact_aware.robot.load import arm_of_urdf
from impact_aware.robot.new_profile import minimal_profile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the URDF and what the profile is called."""
    parser.add_argument("urdf", type=Path, metavar="URDF", help="description of the arm")
    parser.add_argument("--name", help="of the profile; that of the file when absent")
    parser.add_argument("--joints", nargs="+", metavar="NAME", default=(), help="of the arm; all but fingers else")
    parser.add_argument("--tool-frame", metavar="FRAME", help="frame that touches; the last body when absent")


def run(args: argparse.Namespace) -> int:
    """Write `DIR/NAME.yaml`, or print the profile.

    Raises:
        InvalidInputError: No URDF, or a profile of that name in DIR already.
        UnknownNameError: A joint or frame that it does not have.
    """
    if not args.urdf.is_file():
        raise InvalidInputError("urdf", str(args.urdf), "an existing URDF file")
    name = args.name or args.urdf.stem
    if not name or "/" in name or name.startswith("."):
        raise InvalidInputError("name", repr(name), "the name of a file without its ending")
    otherwise, joints = "the profile's joints say otherwise", tuple(args.joints)
    robot = arm_of_urdf(args.urdf, otherwise, name=name, joint_names=joints, tool_frame=args.tool_frame)
    urdf = args.urdf.resolve()
    path = None if args.out is None else args.out / f"{name}.yaml"
    beside = str(urdf) if path is None else os.path.relpath(urdf, os.path.realpath(path.parent))
    text = minimal_profile(robot, name, beside)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_whole(path, text, replace=False)
        except FileExistsError as error:
            raise InvalidInputError("out", str(path), "a name that is free: an earlier profile stays") from error
    if args.json:
        written = None if path is None else str(path)
        print(json_text({"name": name, "joints": list(robot.joint_names), "written": written, "profile": text}))
    elif path is None:
        print(text, end="")
    else:
        print(f"written to {path}: {robot.n} joints, {robot.tool_frame} touches")
        for note in robot_notes(robot):
            print(f"  note: {note}")
    return 0
