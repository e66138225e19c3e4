"""Resolve requirements.in to exact versions: `python3.11 lock.py jazzy` writes jazzy.txt, and installs nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def resolve(distro: str) -> dict[str, str]:
    """Version by normalised name, of everything that `requirements.in` needs for `distro`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--report", str(report), "--requirement", str(FOLDER / "requirements.in")]
        subprocess.run(command, check=True, env=os.environ | {"ROS_DISTRO": distro})
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    metadata = [install["metadata"] for install in installs]
    return {re.sub(r"[-_.]+", "-", entry["name"]).lower(): entry["version"] for entry in metadata}


def main() -> None:
    """Write the pins of every distribution named on the command line."""
    for distro in sys.argv[1:]:
        pins = [f"{name}=={version}" for name, version in sorted(resolve(distro).items())]
        header = f"# Every package of the {distro} environment, exact. Written by `make lock`; edit requirements.in."
        (FOLDER / f"{distro}.txt").write_text("\n".join([header, *pins]) + "\n", encoding="utf-8")
        print(f"{distro}.txt: {len(pins)} packages")


if __name__ == "__main__":
    main()
