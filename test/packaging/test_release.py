"""What a release needs: changelogs that bloom reads, and the messages as a repository of their own."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "environment"))

from release import changelog_text, export_messages, placeholders  # noqa: E402

MARKDOWN = """# Changelog

## [Unreleased]

### Added

- `has_...` flags; see [the page](docs/x.md).

## [0.2.0] - 2026-11-02

### Changed

- A change
  of two lines with *stars*.
"""


def test_the_changelog_is_one_that_catkin_pkg_reads(tmp_path: Path) -> None:
    reader = pytest.importorskip("catkin_pkg.changelog")
    path = tmp_path / "CHANGELOG.rst"
    path.write_text(changelog_text(MARKDOWN, "impact_aware"), encoding="utf-8")
    changelog = reader.get_changelog_from_path(str(path), "impact_aware")
    versions = [(version, str(date)[:10]) for version, date, _ in changelog.foreach_version()]
    assert versions == [("0.2.0", "2026-11-02")]
    (changes,) = changelog.get_content_of_version("0.2.0")
    assert str(changes).split() == ["*", *"Changed: A change of two lines with *stars*.".split()]
    whole = changelog_text((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), "impact_aware_msgs")
    path.write_text(whole, encoding="utf-8")
    read = reader.get_changelog_from_path(str(path), "impact_aware_msgs")
    assert {"0.1.0", "0.9.0"} <= {version for version, *_ in read.foreach_version()}


def test_what_has_to_be_filled_in_before_a_release_is_named_until_it_is(tmp_path: Path) -> None:
    named = {"package.xml", "msg/package.xml", "setup.py"}
    assert {line.partition(":")[0] for line in placeholders()} <= named
    for name in named:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    assert placeholders(tmp_path) == placeholders()
    for name in named:
        text = (tmp_path / name).read_text(encoding="utf-8").replace("impact-aware@example.org", "someone@lab.edu")
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert placeholders(tmp_path) == [line for line in placeholders() if "<url" in line]
    for name in ("package.xml", "msg/package.xml"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("<license", "<url>https://lab.edu</url>\n  <license", 1))
    assert placeholders(tmp_path) == []


def test_messages_are_exported_with_their_history(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *name, *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    git("init", "--quiet", "--initial-branch=main")
    for number, place in enumerate(("msg/package.xml", "other.txt", "msg/msg/A.msg")):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number), encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", place)
    # On a branch, and from a commit that is checked out without one.
    for step, version in ((), "main"), (("checkout", "--quiet", "--detach"), git("rev-parse", "main").strip()):
        git(*step or ("status",))
        repositories = yaml.safe_load(export_messages(tmp_path).read_text(encoding="utf-8"))["repositories"]
        assert {name: own["version"] for name, own in repositories.items()} == {
            "impact_aware": version,
            "impact_aware_msgs": "impact_aware_msgs",
        }
    assert {own["url"] for own in repositories.values()} == {tmp_path.as_uri()}
    assert git("log", "--format=%s", "impact_aware_msgs").split() == ["msg/msg/A.msg", "msg/package.xml"]
    assert git("ls-tree", "-r", "--name-only", "impact_aware_msgs").split() == ["msg/A.msg", "package.xml"]
