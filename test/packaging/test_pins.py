"""The environments are described by exact versions, and by nothing that only one machine could reach."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / "environment"
DISTROS = ("jazzy", "kilted")
NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"


def pins(distro: str) -> dict[str, str]:
    lines = (ENVIRONMENT / f"{distro}.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.partition(" ")[0].split("==") for line in lines if line and not line.startswith("#"))


def asked_for(name: str) -> list[str]:
    lines = (ENVIRONMENT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("distro", "least"), [("jazzy", 100), ("kilted", 100), ("checks", 30), ("docs", 50), ("franka", 2), ("uv", 1)]
)
def test_every_pin_is_exact(distro: str, least: int) -> None:
    lines = (ENVIRONMENT / f"{distro}.txt").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if not line.startswith("#")]
    assert len(packages) >= least
    for line in packages:
        assert re.fullmatch(rf"{NAME}==[0-9][A-Za-z0-9.+]* --hash=sha256:[0-9a-f]{{64}}", line), line
    assert len(pins(distro)) == len(packages), "a package is pinned twice"
    hashes = [line.rpartition(":")[2] for line in packages]
    assert len(set(hashes)) == len(hashes), "two packages have the same file"


@pytest.mark.parametrize(
    ("distro", "source"),
    [(distro, "requirements.in") for distro in DISTROS] + [(name, f"{name}.in") for name in ("checks", "franka", "uv")],
)
def test_everything_asked_for_is_pinned_and_satisfied(distro: str, source: str) -> None:
    requirements = pytest.importorskip("packaging.requirements")
    versions = pins(distro)
    for line in asked_for(source):
        wanted = requirements.Requirement(line.replace("${ROS_DISTRO}", distro))
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        assert name in versions, line
        assert wanted.specifier.contains(versions[name]), (line, versions[name])


def test_both_distributions_share_the_library_versions() -> None:
    """Results must not depend on which ROS 2 carries the messages."""
    jazzy, kilted = pins("jazzy"), pins("kilted")
    differing = [name for name in jazzy.keys() & kilted.keys() if jazzy[name] != kilted[name]]
    assert all(name.startswith("ros-") for name in differing), differing


def test_the_demo_installs_nothing_that_only_checks_need() -> None:
    """Both sets are installed into one environment: a package has one version, from one of them."""
    for distro in DISTROS:
        assert not pins(distro).keys() & pins("checks").keys(), distro
        assert not pins(distro).keys() & {"pytest", "mypy", "ruff", "hypothesis", "example-robot-data"}, distro


def test_packages_beside_a_sourced_ros_have_the_versions_of_the_wheels_environment() -> None:
    versions = pins("jazzy") | pins("checks")
    for line in (ENVIRONMENT / "with-ros.txt").read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].strip()
        if requirement:
            name, version = requirement.split("==")
            assert versions[re.sub(r"[-_.]+", "-", name).lower()] == version


def test_no_package_index_or_credentials_are_named() -> None:
    files = [path for path in ENVIRONMENT.iterdir() if path.is_file()]
    files += [ROOT / name for name in ("Makefile", "setup.py", "setup.cfg", "pyproject.toml", ".ci/run")]
    for path in files:
        text = path.read_text(encoding="utf-8")
        for pattern in (r"https?://(?!127\.0\.0\.1)", r"--(extra-)?index-url", r"--find-links", r"--trusted-host", r"file://"):
            assert not re.search(pattern, text), (path, pattern)
