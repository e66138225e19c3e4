"""Whatever the launch files and the hardware page name is installed with the package."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from impact_aware.resources import resource_names

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "hardware.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed() -> dict[str, list[str]]:
    """Target folder -> files of it, as setup.py gives them to setuptools."""
    asked: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **words: asked.update(words))
        runpy.run_path(str(ROOT / "setup.py"))
    folders: dict[str, list[str]] = {}
    for folder, files in asked["data_files"]:
        folders.setdefault(folder, []).extend(files)
    return folders


@pytest.mark.parametrize("top", ["config", "launch", "rviz"])
def test_every_file_is_installed_in_the_same_folder(installed: dict[str, list[str]], top: str) -> None:
    files = [path for path in (ROOT / top).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert files
    for path in files:
        relative = path.relative_to(ROOT)
        assert str(relative) in installed[f"share/impact_aware/{relative.parent}"]


def test_every_file_that_the_hardware_page_names_is_there() -> None:
    named = set(re.findall(r"config/[a-z0-9_/]+\.(?:yaml|urdf)", PAGE))
    assert {f"config/ros2_control/{name}_controllers.yaml" for name in ("franka", "generic", "kuka_fri")} <= named
    for name in named:
        assert (ROOT / name).is_file(), name


def test_every_driver_has_its_commands_on_the_hardware_page() -> None:
    assert set(re.findall(r"hardware:=(\w+)", PAGE)) == set(resource_names("hardware"))


def test_every_link_within_the_hardware_page_leads_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for anchor in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert anchor in anchors
