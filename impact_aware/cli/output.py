"""What commands print and write: one JSON object or text for people, notes, and files that keep earlier results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from impact_aware.errors import InvalidInputError, one_line
from impact_aware.json_text import json_text
from impact_aware.output_folder import write_whole

if TYPE_CHECKING:
    from tqdm import tqdm


def show(args: argparse.Namespace, result: Mapping[str, Any], text: str | Callable[[], str]) -> None:
    """Print the result as JSON with `--json`, else the text, which a function may make."""
    if args.json:
        print(json_text(result))
    else:
        print(text() if callable(text) else text)


def show_notes(notes: Iterable[str]) -> None:
    """Print notes that are no part of the result, each once, on stderr."""
    for note in dict.fromkeys(notes):
        print(one_line(f"note: {note}"), file=sys.stderr)


def keep(path: Path, content: str | Callable[[BinaryIO], object], *, replace: bool = False) -> Path:
    """Write a result and the folder that it is in.

    Raises:
        InvalidInputError: There is an earlier result that is not to be replaced, or the folder can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, replace=replace)
    except FileExistsError as error:
        raise InvalidInputError("--out", str(path), "a file that does not exist yet: earlier results stay") from error
    except OSError as error:
        raise InvalidInputError("--out", str(path), f"a place that can be written ({error.strerror})") from error
    return path


def keep_json(folder: Path | None, name: str, result: Mapping[str, Any], *, replace: bool = True) -> None:
    """Write the result as JSON into the folder of `--out`, if there is one; errors as of `keep`."""
    if folder is not None:
        keep(folder / name, json_text(result, indent=2) + "\n", replace=replace)


def progress(**settings: Any) -> tqdm[Any]:
    """Return a progress bar on stderr, which shows on a terminal only."""
    from tqdm import tqdm  # most commands have no need of it

    return tqdm(disable=not sys.stderr.isatty(), **settings)


def plain(thing: object, *names: str) -> dict[str, Any]:
    """Attributes of a result by name, arrays and tuples as lists."""
    values = {name: getattr(thing, name) for name in names}
    return {
        name: value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
    }


def row(values: Iterable[float]) -> str:
    """Numbers beside each other, as the tables for people have them."""
    return "  ".join(f"{value:9.4f}" for value in values)
