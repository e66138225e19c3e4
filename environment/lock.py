"""Resolve requirements.in to exact versions: `python3.11 lock.py jazzy` writes jazzy.txt, and installs nothing.

`checks` stands for checks.in, what tests, lint and rigs need besides jazzy.txt, whose versions it takes over; `docs`
for docs.in, the tools of `make docs`; `franka` for franka.in, what drives and simulates a Franka;
`uv` for the installer of `make setup`.

Each line has the SHA-256 of the one file that pip would install here, on Linux, x86_64 and Python 3.11, from whichever
of its indices has it: `make setup` takes that file or none.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


SOURCES = {"docs": "docs.in", "checks": "checks.in", "franka": "franka.in", "uv": "uv.in"}
"""Requirements of a name that is no distribution's."""
BASE = "jazzy.txt"
"""Pins that hold for those in `BESIDE` as well."""
BESIDE = ("checks", "franka")


def resolve(name: str) -> list[dict[str, Any]]:
    """Packages that pip would install for a distribution or one of `SOURCES`, as its report lists them."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--requirement", str(FOLDER / SOURCES.get(name, "requirements.in"))]
        if name in BESIDE:
            versions = Path(folder) / "constraints.txt"
            pinned = (FOLDER / BASE).read_text(encoding="utf-8").splitlines()
            versions.write_text("\n".join(line.partition(" ")[0] for line in pinned), encoding="utf-8")
            command += ["--constraint", str(versions)]
        subprocess.run(command, check=True, env=os.environ | {"ROS_DISTRO": name})
        installs: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["install"]
    return installs


def pins(installs: list[dict[str, Any]]) -> list[str]:
    """One line per package, by name: its version and the SHA-256 of its file."""
    lines = {}
    for install in installs:
        metadata, archive = install["metadata"], install["download_info"]["archive_info"]
        name = re.sub(r"[-_.]+", "-", metadata["name"]).lower()
        lines[name] = f"{name}=={metadata['version']} --hash=sha256:{archive['hashes']['sha256']}"
    return [line for _, line in sorted(lines.items())]


def main() -> None:
    """Write the pins of everything named on the command line."""
    for name in sys.argv[1:]:
        lines = pins(resolve(name))
        if name in BESIDE:
            there = (FOLDER / BASE).read_text(encoding="utf-8").splitlines()
            lines = [line for line in lines if line not in there]
        source = SOURCES.get(name, "requirements.in")
        header = f"# Every package of the {name} environment, exact. Written by `make lock`; edit {source}."
        (FOLDER / f"{name}.txt").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        print(f"{name}.txt: {len(lines)} packages")


if __name__ == "__main__":
    main()
