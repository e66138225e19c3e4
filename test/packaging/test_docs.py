"""Whatever the documentation names exists: pages, headings, files, modules, commands, make targets, constants."""

import argparse
import importlib
import re
from pathlib import Path

import pytest

from impact_aware.cli.main import build_parser, subcommands

ROOT = Path(__file__).resolve().parents[2]
FILES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "robots").glob("*.md")]
PAGES = {path.relative_to(ROOT): path for path in FILES}
TEXTS = {str(name): path.read_text(encoding="utf-8") for name, path in sorted(PAGES.items())}
# History: what a version was called when it was written.
CURRENT = [name for name in TEXTS if name != "CHANGELOG.md"]
ROOMS = {path.name for path in (ROOT / "impact_aware").iterdir() if path.is_dir() and any(path.glob("*.py"))}
TOP = {"impact_aware", "config", "launch", "rviz", "docs", "msg", "test", "environment", "examples", "rigs"}
every_page = pytest.mark.parametrize("page", TEXTS)
every_current_page = pytest.mark.parametrize("page", CURRENT)


def prose(page: str) -> str:
    """Without blocks of code, whose words are somebody's shell."""
    return re.sub(r"^```.*?^```", "", TEXTS[page], flags=re.DOTALL | re.MULTILINE)


def quoted(page: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", prose(page)))


def anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", TEXTS[page], flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_every_link_leads_to_a_file_and_a_heading(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page]):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(str(path.resolve().relative_to(ROOT))), target


def test_every_page_can_be_reached_from_the_first_one() -> None:
    linked = {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS["README.md"])}
    assert set(TEXTS) - {"README.md"} <= linked


@every_current_page
def test_every_file_that_is_named_exists(page: str) -> None:
    for name in quoted(page):
        first, slash, _ = name.partition("/")
        if not slash or not re.fullmatch(r"[\w./-]+", name) or first not in TOP | ROOMS:
            continue
        if first in ROOMS and not re.search(r"\.\w+$", name):  # a topic or a room's own folder may look like this
            continue
        path = ROOT / name if first in TOP else ROOT / "impact_aware" / name
        assert path.exists() or "NAME" in name, name


@every_current_page
def test_every_module_that_is_named_exists(page: str) -> None:
    for name in re.findall(r"\bimpact_aware(?:\.\w+)+", TEXTS[page]):
        if re.search(r"\.(launch|py|rviz|yaml|git)$", name) or ROOT.joinpath(*name.split(".")).is_dir():
            continue
        module, _, attribute = name.rpartition(".")
        if not ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file():
            assert hasattr(importlib.import_module(module), attribute), name


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Of a command and of everything below it."""
    found: set[str] = set()
    for action in parser._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                found |= options(below)
    return found


@every_current_page
def test_every_command_and_option_that_is_named_exists(page: str) -> None:
    text = TEXTS[page].replace("\\\n", " ")
    for command, words in re.findall(r"\bimpact-aware ([a-z][a-z-]+)\b([^\n`]*)", text):
        assert command in subcommands(), f"impact-aware {command}"
        if command == "bench":  # its parts bring their own parsers
            continue
        known = options(build_parser(command))
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", words.partition(" #")[0]):
            assert option in known, f"impact-aware {command} {option}"


def test_the_first_page_names_every_command() -> None:
    for command in subcommands():
        assert re.search(rf"impact-aware {command}\b|make {command}\b", TEXTS["README.md"]), command


@every_current_page
def test_every_make_target_that_is_named_exists(page: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for target in re.findall(r"(?:`|^)make ([a-z-]+)", TEXTS[page], flags=re.MULTILINE):
        assert target in targets, f"make {target}"


@every_current_page
def test_every_constant_that_is_named_exists(page: str) -> None:
    """Kinds, sources, meanings and reasons of the messages."""
    sources = [*(ROOT / "msg").rglob("*.msg"), *(ROOT / "impact_aware").rglob("*.py"), ROOT / "Makefile"]
    known = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    beyond = {"AMENT_PREFIX_PATH", "SCHED_FIFO", "JOINT_IMPEDANCE_CONTROL"}  # of ament, Linux and KUKA
    for name in quoted(page):
        if re.fullmatch(r"[A-Z]+(_[A-Z]+)+", name) and name not in beyond:
            assert re.search(rf"\b{name}\b", known), name


@every_page
def test_papers_are_named_by_author_and_year(page: str) -> None:
    """docs/papers.md maps the names to references."""
    assert not re.search(r"\bpaper \d|\b00[0-4], \(|\bpaper 00[0-4]", TEXTS[page])
    names = set(re.findall(r"\b(?:Rey Arias|Wang|van Steen|Aouaj)(?: et al\.)? (?:20\d\d|thesis)", TEXTS[page]))
    listed = TEXTS["docs/papers.md"]
    for name in names:
        assert name.replace(" et al.", "") in listed, name
