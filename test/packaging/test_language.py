"""The pages are short and plain: their words together, the length of their sentences, and words that only we use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

MOST_WORDS = 25_000
"""Words of docs/ together, without the tables of `make figures`; rules of tables are none."""

LONGEST = 25
"""Words of a sentence; four of a page, or one in twenty, may have more, such as those with an equation."""

PRIVATE = r"told|tells?|said|says|heard|hears|asked|asks|judged?|judges|nobody|somebody|whoever|witness"
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
    texts = [path.read_text(encoding="utf-8") for path in PAGES if path.parent.name == "docs"]
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
