"""YAML as a stranger would write it: each text is answered in one line, in no time, and never with another value."""

import math
import os
from pathlib import Path

import pytest
import yaml

from impact_aware.errors import InvalidInputError
from impact_aware.resources import read_mapping, read_text
from impact_aware.yaml_text import DEEPEST, LARGEST, read_yaml, read_yaml_mapping

BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghi", "bcdefghij", strict=True))

REFUSED = {
    "alias bomb": (BOMB, "alias"),
    "alias": ("a: &x 1\nb: *x", "alias, \\*x in line 2"),
    "brackets": ("[" * 3000, "levels"),
    "braces": ("{a: " * 3000, "levels"),
    "indentation": ("\n".join(" " * n + "a:" for n in range(DEEPEST + 2)), "levels"),
    "not an int": ("a: !!int x", "'x' as a number in line 1"),
    "not a float": ("a: !!float x", "'x' as a number"),
    "not a bool": ("a: !!bool x", "valid YAML"),
    "400 digits": ("a: " + "1" * 400, "as a number"),
    "int of a list": ("a: !!int [1]", "valid YAML"),
    "key twice": ("mass: 1\nmass: 2", "'mass' twice in line 2"),
    "list as key": ("[1, 2]: 3", "valid YAML"),
    "python": ("a: !!python/object/apply:os.system [true]", "valid YAML"),
    "binary": ("a: !!binary AA==", "valid YAML"),
    "timestamp": ("a: !!timestamp 2001-01-01", "valid YAML"),
    "control characters": ("a: \x07", "valid YAML"),
    "two documents": ("a: 1\n---\nb: 2", "valid YAML"),
    "too large": ("#" * (LARGEST + 1), f"{LARGEST} at most"),
}


@pytest.mark.parametrize(("text", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_text_is_refused_in_one_line(text, word):
    with pytest.raises(InvalidInputError, match=word) as caught:
        read_yaml("task", "what was sent", text)
    message = str(caught.value)
    assert message.startswith("task: got what was sent")
    assert "\n" not in message and len(message) < 400


PLAIN = {
    "1e-5": 1e-5,
    "-.5": -0.5,
    "+3": 3,
    "010": 10,
    ".inf": math.inf,
    "-.INF": -math.inf,
    "12": 12,
    "2.": 2.0,
    "no": False,
    "~": None,
    "1:30": "1:30",
    "2001-01-01": "2001-01-01",
    "0x1f": "0x1f",
    "1_000": "1_000",
    "<<": "<<",
    "!!str 5": "5",
}


@pytest.mark.parametrize(("text", "value"), PLAIN.items())
def test_a_word_is_what_it_looks_like(text, value):
    read = read_yaml_mapping("file", "it", f"a: {text}")["a"]
    assert read == value and type(read) is type(value)


def test_a_mapping_is_wanted():
    with pytest.raises(InvalidInputError, match="a mapping of names to values"):
        read_yaml_mapping("file", "it", "[1, 2]")


def test_nothing_else_in_the_process_reads_yaml_otherwise():
    assert str(yaml.safe_load("2001-01-01")) == "2001-01-01" and yaml.safe_load("1:30") == 90


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "/", "a\0b"])
def test_what_is_no_file_is_not_opened(path):
    with pytest.raises(InvalidInputError):
        read_text("robot", Path(path))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(InvalidInputError, match=r"a YAML file"):
        read_mapping("robot", tmp_path / "pipe.yaml")


def test_a_file_that_is_too_large_or_no_text_is_refused(tmp_path):
    (tmp_path / "large").write_bytes(b"a" * 11)
    with pytest.raises(InvalidInputError, match="10 bytes at most"):
        read_text("robot", tmp_path / "large", largest=10)
    (tmp_path / "bytes").write_bytes(b"ab\xff")
    with pytest.raises(InvalidInputError, match="byte 2 is none"):
        read_text("robot", tmp_path / "bytes")


def test_a_message_is_one_line_that_a_terminal_does_not_obey():
    error = InvalidInputError("name\n", "\x1b[2Jbox\u202e" + "y" * 1000, "something\relse")
    assert str(error).isprintable() and len(str(error)) < 300
    assert "\\x1b[2Jbox" in str(error)
    assert str(InvalidInputError("n", 10**5000, "a number")) == "n: got a int too long to show, expected a number"
