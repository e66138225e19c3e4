"""Comparison of a text with the one that is kept in a file since somebody last looked at it."""

import re
from pathlib import Path

import pytest

TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def assert_same(text: str, file: Path) -> None:
    """Compare words to the letter, and numbers to what a processor's last digits may change.

    Within tags stand coordinates, in hundredths of a point.
    """
    kept, name = file.read_text(encoding="utf-8"), file.name
    assert NUMBER.sub("#", TAG.sub("<>", text)) == NUMBER.sub("#", TAG.sub("<>", kept)), name
    assert numbers(TAG.sub("", text)) == pytest.approx(numbers(TAG.sub("", kept)), rel=1e-6, abs=1e-12), name
    for number, (tag, old) in enumerate(zip(TAG.findall(text), TAG.findall(kept), strict=True), start=1):
        assert NUMBER.sub("#", tag) == NUMBER.sub("#", old), f"{name}, tag {number}"
        assert numbers(tag) == pytest.approx(numbers(old), rel=1e-5, abs=0.011), f"{name}, tag {number}"


def numbers(text: str) -> list[float]:
    """Numbers of a text, in their order."""
    return [float(number) for number in NUMBER.findall(text)]
