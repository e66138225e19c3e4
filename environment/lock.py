"""Resolve requirements.in to exact versions: `python3.11 lock.py jazzy` writes jazzy.txt, and installs nothing.

`docs` stands for docs.in and docs.txt, the tools of `make docs`.

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


def resolve(name: str) -> list[dict[str, Any]]:
    """What pip would install for a distribution, or for `docs`, as its report lists it."""
    requirements = FOLDER / ("docs.in" if name == "docs" else "requirements.in")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--requirement", str(requirements)]
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
        source = "docs.in" if name == "docs" else "requirements.in"
        header = f"# Every package of the {name} environment, exact. Written by `make lock`; edit {source}."
        (FOLDER / f"{name}.txt").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        print(f"{name}.txt: {len(lines)} packages")


if __name__ == "__main__":
    main()
