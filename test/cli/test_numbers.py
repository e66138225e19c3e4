"""Numbers of the command line: what Python reads and nobody means is refused in one line that names the option."""

from __future__ import annotations

import os

import numpy as np
import pytest

from impact_aware.cli.main import main
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.ranges import read_number
from impact_aware.tables.text import read_cell
from impact_aware.yaml_text import read_yaml

CASES = [
    ["identify", "plan", "--seed=-1"],
    ["identify", "plan", "--velocity-error=1e-320"],
    ["sample-map", "x.npz", "--count", "12345678901234567890"],
    ["sample-map", "x.npz", "--shape=1e308"],
    ["campaign", "hit-and-push", "--repeats", "1e20"],
    ["campaign", "hit-and-push", "--seed", "\u0661"],
    ["validate", "--trials", "-5"],
    ["doctor", "--seconds", "inf"],
    ["demo", "hit-and-push", "--timeout", "nan"],
]


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_a_number_that_cannot_be_meant_is_one_line(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, error = capsys.readouterr()
    option = next(word.partition("=")[0].lstrip("-") for word in reversed(words) if word.startswith("--"))
    assert out == "" and error.count("\n") == 1 and option in error.replace("_", "-") and "expected" in error


@pytest.mark.parametrize("word", ["1_0", "\u0661\u0662", "\uff11", "1\u066b5"])
def test_only_ascii_digits_without_underscores_are_numbers(word):
    with pytest.raises(ValueError, match="no number"):
        read_number(word)
    with pytest.raises(ValueError, match="no number"):
        read_cell(word)
    assert read_yaml("x", "x", f"a: {word}") == {"a": word}


def test_a_pipe_or_a_bomb_is_no_map(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.npz")
    np.savez_compressed(tmp_path / "bomb.npz", states=np.zeros((4_000_000, 3)))
    for name, words in (("pipe.npz", "expected a file"), ("bomb.npz", "96000128 bytes when unpacked")):
        assert main(["predict", "--map", str(tmp_path / name), "--position", "0", "0", "0"]) == 2
        assert words in capsys.readouterr().err
    with pytest.raises(ValueError, match="samples x samples x coordinates"):
        ImpactMap(np.zeros((3000, 3)), np.zeros((3000, 1)), input_names=["x", "y", "z"], output_names=["v"])
