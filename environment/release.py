"""What a release needs besides the tree: changelogs for bloom, and `msg/` as a repository of its own.

`make changelog` writes CHANGELOG.rst of both packages from CHANGELOG.md. `make export-msgs` puts the history of `msg/`
on the branch `impact_aware_msgs`, and both repositories into build/release/impact_aware.repos, for `vcs import`.
`make changelog` also names the placeholders that have to be filled in first.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {"impact_aware": ROOT, "impact_aware_msgs": ROOT / "msg"}
BRANCH = "impact_aware_msgs"


def changelog_text(markdown: str, package: str) -> str:
    """The changelog in the layout that bloom and catkin_pkg read: a section per version, a list of its changes.

    Args:
        markdown: CHANGELOG.md, as Keep a Changelog has it.
        package: Name of the package.
    """
    bar = "^" * len(f"Changelog for package {package}")
    lines = [bar, f"Changelog for package {package}", bar]
    kind = ""
    for line in markdown.splitlines():
        if heading := re.match(r"## \[(.+?)\](?: - (\S+))?", line):
            version, date = heading.groups()
            title = f"{version} ({date})" if date else "Forthcoming"
            lines += ["", title, "-" * len(title)]
        elif line.startswith("### "):
            kind = line[4:]
        elif line.startswith("- "):
            lines.append(f"* {kind}: {_restructured(line[2:])}")
        elif line.startswith("  ") and lines[-1].startswith(("* ", "  ")):
            lines.append(f"  {_restructured(line.strip())}")
    return "\n".join(lines) + "\n"


def _restructured(text: str) -> str:
    """Inline Markdown as reStructuredText: literals and links; elsewhere its special characters are escaped."""
    parts = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).split("`")
    return "".join(f"``{part}``" if k % 2 else re.sub(r"([*_|\\])", r"\\\1", part) for k, part in enumerate(parts))


def export_messages(root: Path = ROOT) -> Path:
    """Split the history of `msg/` off; returns the .repos file, with the URL of `origin` or else of this clone.

    The version of the suite is the branch that is checked out, or without one the commit.
    """

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    git("subtree", "split", "--prefix=msg", f"--branch={BRANCH}")
    url = git("remote", "get-url", "origin") if "origin" in git("remote").split() else root.as_uri()
    branch = git("branch", "--show-current")
    versions = {"impact_aware": branch or git("rev-parse", "HEAD"), "impact_aware_msgs": BRANCH}
    text = "repositories:\n" + "".join(
        f"  {name}:\n    type: git\n    url: {url}\n    version: {version}\n" for name, version in versions.items()
    )
    path = root / "build" / "release" / "impact_aware.repos"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def placeholders(root: Path = ROOT) -> list[str]:
    """What of the packages' descriptions has to be filled in before a release, one line each."""
    found = []
    for path in (root / "package.xml", root / "msg" / "package.xml", root / "setup.py"):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
        if address := re.search(r"[\w.-]+@example\.org", text):
            found.append(f"{name}: a maintainer, instead of {address[0]}")
        if path.suffix == ".xml" and "<url" not in text:
            found.append(f'{name}: <url type="repository">')
    return found


def main() -> int:
    """Run the command line's task; returns the exit status."""
    if sys.argv[1:] == ["export-msgs"]:
        print(f"branch {BRANCH}, to be pushed to the addresses in {export_messages()}")
        return 0
    for line in placeholders():
        print(f"before a release fill in {line}", file=sys.stderr)
    markdown = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for package, folder in PACKAGES.items():
        (folder / "CHANGELOG.rst").write_text(changelog_text(markdown, package), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
