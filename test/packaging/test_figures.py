"""Measured figures: pages show what docs/figures has, and `make figures` knows what is older than the code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "environment"))
import claims  # noqa: E402
import figures  # noqa: E402
import pictures  # noqa: E402

NAMES = sorted(claims.CLAIMS)
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "robots").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_shows_the_figures_of_the_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert figures.with_figures(text) == text, "run make docs"


def test_every_claim_stands_on_its_page_once_and_every_file_is_a_claim() -> None:
    shown = [(found.group(1), page.stem) for page in PAGES for found in figures.BLOCK.finditer(page.read_text())]
    assert sorted(shown) == [(name, claims.CLAIMS[name].page) for name in NAMES]
    assert {path.stem for path in (ROOT / "docs" / "figures").glob("*.json")} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_measures_rooms_that_exist_by_a_command_that_exists(name: str) -> None:
    claim = claims.CLAIMS[name]
    assert claim.rooms and all((ROOT / room).exists() for room in claim.rooms)
    file = figures.file_of(name)
    if file.is_file():
        content = json.loads(file.read_text(encoding="utf-8"))
        assert content["columns"] == list(claim.columns) and content["command"].startswith(
            f"impact-aware {claim.command}"
        )
        assert content["rows"] and all(len(row) == len(claim.columns) for row in content["rows"])


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    answer = subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True)
    return answer.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one room, a page, and a command that measures 12.345 us beside 10 us."""
    room, page = tmp_path / "impact_aware" / "impact", tmp_path / "docs" / "performance.md"
    for folder in (room, page.parent, tmp_path / "bin"):
        folder.mkdir(parents=True)
    (room / "map.py").write_text("one\n")
    page.write_text("before\n<!-- figures: predict -->\nold\n<!-- end of figures -->\nafter\n")
    result = {"microseconds": {"exact": 12.345, "base": 10.0}, "ratio": 1.2345}
    command = tmp_path / "bin" / "impact-aware"
    command.write_text(f"#!/bin/sh\necho '{json.dumps(result)}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
    line = ("a map, us", "microseconds.exact", "another", "microseconds.base", "ratio", "<= 2")
    claim = claims.Claim("performance", "bench predict", ("impact_aware/impact",), claims.RATIOS, claims.ratios(line))
    monkeypatch.setattr(figures, "CLAIMS", {"predict": claim})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_what_is_recorded_is_what_the_page_shows(clone: Path) -> None:
    figures.record("predict", [], root=clone)
    content = json.loads(figures.file_of("predict", clone).read_text(encoding="utf-8"))
    assert content["rows"] == [["a map, us", 12.345, "another", 10.0, 1.2345, "<= 2"]]
    assert git(clone, "rev-parse", "HEAD").startswith(content["commit"]) and content["load"] >= 0.0
    figures.write_pages(clone)
    text = (clone / "docs" / "performance.md").read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| a map, us | 12.3 | another | 10 | 1.23 | <= 2 |" in text
    assert figures.with_figures(text, clone) == text
    assert figures.with_figures(text.replace("12.3", "9.9"), clone) == text


def test_results_of_older_code_are_no_part_of_a_measurement(clone: Path) -> None:
    old = clone / "results" / "map"
    old.mkdir(parents=True)
    figures.record("predict", ["--out", "results/map"], root=clone)
    assert not old.exists()


def test_figures_are_old_when_what_they_measure_has_changed(clone: Path) -> None:
    assert figures.age("predict", clone) == "never recorded"
    figures.record("predict", [], root=clone)
    assert figures.age("predict", clone) == ""
    (clone / "docs" / "performance.md").write_text("another page\n")
    git(clone, "commit", "-q", "-a", "-m", "a page")
    assert figures.age("predict", clone) == ""
    (clone / "impact_aware" / "impact" / "map.py").write_text("two\n")
    git(clone, "commit", "-q", "-a", "-m", "a map")
    assert figures.age("predict", clone) == "1 later commit changed impact_aware/impact"
    (clone / "impact_aware" / "impact" / "map.py").write_text("three\n")
    figures.record("predict", [], root=clone)
    assert "not committed" in figures.age("predict", clone)
    git(clone, "commit", "-q", "-a", "-m", "another map")
    figures.record("predict", [], root=clone)
    assert figures.age("predict", clone) == ""


def test_a_command_that_fails_writes_nothing(clone: Path) -> None:
    (clone / "bin" / "impact-aware").write_text("#!/bin/sh\nexit 2\n")
    with pytest.raises(subprocess.CalledProcessError):
        figures.record("predict", [], root=clone)
    assert not figures.file_of("predict", clone).exists()


def test_a_picture_is_old_when_its_code_does_something_else_not_when_a_comment_changes(tmp_path: Path) -> None:
    file = tmp_path / "impact_aware" / "render" / "map.py"
    file.parent.mkdir(parents=True)
    picture = pictures.Picture(("impact_aware/render",), "", "render")
    hashes = []
    for text in ('"""One."""\na = 1\n', '"""Two."""\na = 1  # why\n', "a = 2\n"):
        file.write_text(text)
        hashes.append(pictures.fingerprint(picture, tmp_path))
    assert hashes[0] == hashes[1] != hashes[2]


def test_pictures_are_drawn_by_code_that_exists() -> None:
    assert all((ROOT / room).exists() for picture in pictures.PICTURES.values() for room in picture.rooms)
    assert set(pictures.PICTURES) <= {*(path.name for path in pictures.IMAGES.iterdir()), pictures.NOTEBOOK}
    made = json.loads(pictures.MADE.read_text(encoding="utf-8"))
    assert set(made) == set(pictures.PICTURES), "not drawn by make pictures"
    drawn = {path.name for path in pictures.IMAGES.glob("*.*")} - {"made.json"}
    assert drawn - set(pictures.PICTURES) == {"foxglove.png"}  # a screenshot of Lichtblick, made by hand


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python write syntax trees differently")
def test_no_picture_is_older_than_the_code_that_draws_it() -> None:
    assert not pictures.old(), "make pictures draws them anew"
