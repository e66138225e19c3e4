"""The pages are short and plain: their words together, the length of their sentences, and words that only we use."""

import argparse
import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from impact_aware.cli.main import build_parser, subcommands

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "robots").glob("*.md")])
PAGES = [*DOCS, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

MOST_WORDS = 25_000
"""Words of docs/ together, without the tables of `make figures`; rules of tables are none."""

LONGEST = 25
"""Words of a sentence; four of a page, or one in twenty, may have more, such as those with an equation."""

PRIVATE = (
    r"told|tells?|said|says|heard|hears|asked|asks|judged?|judges|judging|nobody|somebody|whoever|witness(?:es)?"
    r"|reckons?|reckoned|hand(?:s|ed)? on"
)
"""Words in place of which the field has its own: reports, estimates, detects, requests, no node."""


def prose(page: Path) -> str:
    """The page without blocks of code, generated tables and quoted names."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "NAME", text)


def sentences(page: Path) -> list[str]:
    """Sentences of paragraphs and lists, without headings and tables."""
    text = re.sub(r"^\s*[|#].*$", "\n", prose(page), flags=re.MULTILINE)
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s", text)
    return [one for part in parts for one in re.split(r"(?<=[.:;?!])\s+", " ".join(part.split())) if one]


def test_the_docs_are_short_together() -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCS]
    text = re.sub(r"<!-- figures: .*?<!-- end of figures -->", "", "\n".join(texts), flags=re.DOTALL)
    assert sum(bool(re.search(r"\w", word)) for word in text.split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    found = sentences(page)
    long = [sentence for sentence in found if len(sentence.split()) > LONGEST]
    assert len(long) <= max(4, 0.05 * len(found)), long


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_private_words(page: Path) -> None:
    assert not re.findall(rf".*\b(?:{PRIVATE})\b(?<!can't tell).*", prose(page)), page.name


def texts_of(path: Path) -> Iterator[str]:
    """Strings of a file that are no docstrings: what a terminal, a log, a report or a message shows."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    docstrings = {id(line.value) for line in lines}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def private_in(text: str) -> list[str]:
    # Line by line: a picture in a notebook is one line, over which an expression for whole lines takes minutes.
    word = re.compile(rf"(?i)\b(?:{PRIVATE})\b(?<!can't tell)(?<!can’t tell)")
    return [line for line in text.splitlines() if word.search(line)]


SHOWN = [*(ROOT / "impact_aware").rglob("*.py"), *(ROOT / "launch").glob("*.py"), *(ROOT / "rigs").rglob("*.py")]


def test_no_private_words_in_what_programs_show() -> None:
    found = {str(path.relative_to(ROOT)): words for path in SHOWN if (words := private_in("\n".join(texts_of(path))))}
    assert not found, found


def notes_of(path: Path) -> Iterator[str]:
    """Docstrings and comments of a file; a docstring that begins as if another line stood above it is marked."""
    text = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            leans = re.match(r"(?:Of|Those|The same)\b", node.value.value)
            yield f"says nothing alone: {node.value.value}" if leans else node.value.value


def test_no_private_words_in_docstrings_and_comments() -> None:
    files = [*SHOWN, *ROOT.glob("environment/*.py"), ROOT / "setup.py"]
    texts = {path: "\n".join(notes_of(path)) for path in files}
    found = {str(path.relative_to(ROOT)): words for path, text in texts.items() if (words := private_in(text))}
    assert not found, found


def helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Help of a command and of all below it."""
    yield parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from helps(below)


@pytest.mark.parametrize("command", subcommands())
def test_no_private_words_in_help(command: str) -> None:
    assert not private_in("\n".join(" ".join(text.split()) for text in helps(build_parser(command))))


TEXTS = [
    *ROOT.glob("config/**/*.yaml"), ROOT / "CHANGELOG.md", ROOT / "Makefile", *ROOT.glob("examples/*.*"),
    *ROOT.glob("impact_aware/report/templates/*.j2"), *ROOT.glob("msg/*/*.*"),
]  # fmt: skip


def test_the_changelog_is_short() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if len(line) > 120]
    _, _unreleased, *released = text.split("\n## ")
    assert sum(bool(line) for section in released for line in section.splitlines()) <= 60


def test_no_private_words_in_configuration_messages_examples_and_changelog() -> None:
    # A figure of the notebook is one line of 90,000 letters, in which the search would take minutes.
    texts = {path: re.sub(r'"image/png": ".*"', "", path.read_text("utf-8")) for path in TEXTS}
    found = {str(path.relative_to(ROOT)): words for path, text in texts.items() if (words := private_in(text))}
    assert not found, found
