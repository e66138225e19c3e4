"""`impact-aware render BAG`: what RViz would show of a recording, as a PNG, in slow motion as a GIF, or for Rerun."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from impact_aware.bags.bag import Bag
from impact_aware.cli.options import add_options
from impact_aware.cli.output import plain, progress, show
from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described
from impact_aware.render import RecordedScene, draw_scene, read_scene
from impact_aware.render.camera import VIEWS, view_direction


@dataclass(frozen=True, kw_only=True)
class PictureOptions(Options):
    """What to draw."""

    bag: Path = described(..., "rosbag2 folder, or its .mcap or .db3 file", metavar="BAG", positional=True)
    time: float | None = described(
        None, "stamp as analyze prints it, or time since the recording began, s", metavar="T", absent="the first impact"
    )
    view: str = described("iso", f"{', '.join(VIEWS)}, or AZIMUTH,ELEVATION in degrees", metavar="VIEW")
    robot: str | None = described(None, "robot profile", absent="that of the recording")
    force: bool = described(False, "replace a picture that is there already")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_options(parser, PictureOptions)
    parser.epilog = (
        "--out takes a .png file here too, or for the impact in slow motion a .gif, or a .rrd for Rerun; "
        "without it, BAG's name.png is written to the current folder."
    )


def run(args: argparse.Namespace) -> int:
    """Draw the picture or the moving one.

    Raises:
        InvalidInputError: Another kind of file, one that exists, a time outside the recording, an unknown view.
        BagError: The recording can't be read, or has nothing to draw.
    """
    view_direction(args.view)
    path = output_file(args.out, args.bag)
    if path.exists() and not args.force:
        raise InvalidInputError("--out", str(path), "a file that does not exist yet, or --force")
    with Bag(args.bag) as bag:
        scene = read_scene(bag, time=args.time, robot=args.robot)
        try:
            if path.suffix.lower() in (".gif", ".rrd"):
                # Imported here, because a picture alone needs none of it.
                from impact_aware.render.movie import FRAMES, draw_movie
                from impact_aware.render.rerun_file import write_rerun

                with progress(total=FRAMES, desc="frames", leave=False) as bar:
                    write = draw_movie if path.suffix.lower() == ".gif" else write_rerun
                    write(bag, path, scene, view=args.view, on_frame=bar.update)
            else:
                draw_scene(scene, path, view=args.view)
        except OSError as error:
            raise InvalidInputError("--out", str(path), f"a file that can be written ({error.strerror})") from error
    show(args, summary(scene, path), lambda: _text(scene, path))
    return 0


def _text(scene: RecordedScene, path: Path) -> str:
    others = [f"{found:.4f}" for found in scene.impact_times if abs(found - scene.time) > 1e-3]
    lines = [f"picture  {path}", f"time     {scene.time:.4f} s, of {scene.span[0]:.3f} to {scene.span[1]:.3f} s"]
    lines += [f"impacts at other times: {', '.join(others[:8])} s"] if others else []
    lines += ["robot    unknown, so not drawn: --robot names it" for arm in scene.arms if arm.robot is None]
    return "\n".join(lines)


def output_file(out: Path | None, bag: Path) -> Path:
    """The picture's path: `out` itself, or named after the recording in the folder `out`.

    Raises:
        InvalidInputError: A file of another kind.
    """
    # Most recordings are called bag; the folder around them has the meaningful name.
    whole = Path(os.path.realpath(bag))
    name = next((path.stem for path in (whole, *whole.parents) if path.stem not in ("bag", "")), "scene")
    if out is None:
        return Path(f"{name}.png")
    if out.suffix.lower() in (".png", ".gif", ".rrd"):
        return out
    if out.suffix and not out.is_dir():
        raise InvalidInputError("--out", str(out), "a .png, .gif or .rrd file, or a folder")
    return out / f"{name}.png"


def summary(scene: RecordedScene, path: Path) -> dict[str, Any]:
    """For `--json`."""
    arms = []
    for arm in scene.arms:
        impact, outcome = arm.scene.impact, arm.scene.outcome
        entry: dict[str, Any] = {"arm": arm.name, "robot": None if arm.robot is None else arm.robot.name}
        if impact is not None:
            found = None if outcome is None else outcome.picked(impact.joint_names)
            entry["impact"] = {
                **plain(impact, "time", "source", "velocity_before"),
                **plain(impact.contacts[0], "mode", "impulse"),
                "velocity_after_predicted": impact.velocity_after.tolist(),
                "velocity_after": None if found is None else found.tolist(),
                "velocity_after_from": None if outcome is None or found is None else outcome.origin,
            }
        arms.append(entry)
    return {"file": str(path), **plain(scene, "time", "span", "impact_times"), "arms": arms}
