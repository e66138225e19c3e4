"""The licence of every pinned package that is installed here, as it states it itself: `make licences`."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
UNKNOWN = "not stated"
LONGEST = 60


def licence_of(name: str) -> str | None:
    """What a package states; None when it is not installed."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    classifiers = [text.rpartition(" :: ")[2] for text in metadata.get_all("Classifier") or () if "License ::" in text]
    stated = metadata.get("License-Expression") or ", ".join(classifiers) or metadata.get("License") or UNKNOWN
    if stated.strip() in ("", UNKNOWN):
        return _of_ros_package(name)
    # Some put the whole text of the licence there.
    return stated.strip().splitlines()[0][:LONGEST]


def _of_ros_package(name: str) -> str:
    """Return the licence in the package.xml of a ROS package, whose wheel has none."""
    package = re.sub(r"^ros-(jazzy-|kilted-)?", "", name).replace("-", "_")
    try:
        text = (Path(sys.prefix) / "share" / package / "package.xml").read_text(encoding="utf-8")
    except OSError:
        return UNKNOWN
    return ", ".join(re.findall(r"<license[^>]*>([^<]+)<", text)) or UNKNOWN


def under_gpl(licence: str) -> bool:
    """Whether every licence that is offered is a GPL."""
    gpl = re.compile(r"(?<!L)GPL|Affero|General Public License")
    return "esser" not in licence and all(gpl.search(part) for part in re.split(r", |\bOR\b", licence))


def main() -> int:
    """Print one line per package, by licence; status 1 when one of them does not go with Apache-2.0 for certain."""
    names = re.findall(r"^([\w.-]+)==", (FOLDER / "jazzy.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {name: licence for name in names if (licence := licence_of(name)) is not None}
    for name, licence in sorted(found.items(), key=lambda item: (item[1].lower(), item[0])):
        print(f"{name:<40} {licence}")
    copyleft = [name for name, licence in found.items() if under_gpl(licence)]
    print(f"{len(found)} of {len(names)} pinned packages are installed; under the GPL: {', '.join(copyleft) or 'none'}")
    return 1 if copyleft else 0


if __name__ == "__main__":
    sys.exit(main())
