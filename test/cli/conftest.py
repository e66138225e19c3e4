"""The command line as tests use it: its status and streams, and the one line of a refusal."""

from collections.abc import Callable
from typing import Any

import pytest

from impact_aware.cli.main import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `impact-aware WORDS` in this process; returns its status, standard output and standard error."""

    def run(*words: Any) -> tuple[int, str, str]:
        status = main([*map(str, words)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def refused(command: Command) -> Callable[..., str]:
    """Runs a command that has to refuse its input in one line, and returns that line."""

    def run(*words: Any) -> str:
        status, out, err = command(*words)
        assert (status, out) == (2, ""), words
        assert err.startswith("impact-aware: error: ") and err.count("\n") == 1, words
        return err

    return run
