"""Entry point of the `impact-aware` command: subcommands by name, errors as one line.

A subcommand is a module with `run(args) -> int` and its options: settings classes in `OPTIONS`, and for what they don't
hold `add_arguments(parser)`. It is imported only when it is used, so that `predict` does not wait for MuJoCo or rclpy.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.util
import io
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import impact_aware
from impact_aware.cli.options import NumberParser, add_common, add_options
from impact_aware.errors import ImpactAwareError, InvalidInputError, one_line, visible
from impact_aware.library_settings import shield_process, without_compiler
from impact_aware.plugins import plugins

SUBCOMMANDS = {
    "demo": ("impact_aware.cli.demo", "run the real node graph over DDS against the embedded simulator"),
    "predict": ("impact_aware.cli.predict", "predict the velocity just after an impact"),
    "plan": ("impact_aware.cli.plan", "plan the hit that has a wanted result, or map an arm's largest safe speeds"),
    "sample-map": (
        "impact_aware.cli.sample_map",
        "sample an impact map over contact positions and save it as one file",
    ),
    "analyze": ("impact_aware.cli.analyze", "find and explain the impacts in recordings"),
    "render": ("impact_aware.cli.render", "draw the RViz scene of a recording at one time, without RViz"),
    "campaign": ("impact_aware.cli.campaign", "compare the controllers over many simulated runs"),
    "identify": ("impact_aware.cli.identify", "identify friction, inertia, restitution or contact parameters"),
    "touch-surface": ("impact_aware.cli.touch_surface", "measure a fixed surface from three or more gentle taps"),
    "new-robot": ("impact_aware.cli.new_robot", "write a minimal profile for an arm of which there is a URDF"),
    "doctor": ("impact_aware.cli.doctor", "check the ROS graph, joint states, and this machine for a loop at 1 kHz"),
    "tune-detector": ("impact_aware.cli.tune_detector", "learn a detector's parameters from an impact-free recording"),
    "franka-prepare": ("impact_aware.cli.franka_prepare", "set a Franka up for a hit, and predict what would trip"),
    "validate": ("impact_aware.cli.validate", "recompute the papers' numbers and print both side by side"),
}

OPTIONAL_PACKAGES = ("lz4", "mcap", "mujoco", "pyarrow", "rosbags", "zstandard")
"""Packages without which some subcommands can't run: rosdep has no key for them everywhere."""


def subcommands() -> dict[str, tuple[str, str]]:
    """Map every subcommand, those of plugins included, to its module and its line of help."""
    added = {}
    for name, module in sorted(plugins("commands").items()):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None:
            added[name] = module, _summary(Path(spec.origin))
    return SUBCOMMANDS | added


def _summary(path: Path) -> str:
    """Return the part of a module's first docstring line that follows the colon, without importing the module."""
    document = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return document.split("\n")[0].partition(": ")[2].rstrip(".")


def build_parser(wanted: str | None) -> argparse.ArgumentParser:
    """The parser with the arguments of the wanted subcommand, and only the names of the others."""
    parser = NumberParser(prog="impact-aware", description="Impact-aware manipulation.")
    parser.add_argument("--version", action="version", version=f"impact-aware {impact_aware.__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="COMMAND", required=True)
    # Entry points of every installed distribution are read only where a builtin command does not answer.
    known = SUBCOMMANDS if wanted in SUBCOMMANDS else subcommands()
    for name, (module_name, help_text) in known.items():
        subparser = subparsers.add_parser(name, help=help_text, description=help_text[0].upper() + help_text[1:] + ".")
        if name != wanted:
            continue
        module = importlib.import_module(module_name)
        add_common(subparser)
        for settings in getattr(module, "OPTIONS", ()):
            add_options(subparser, settings)
        if hasattr(module, "add_arguments"):
            module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit status (2: bad input, 130: interrupted)."""
    shield_process()
    long = any(word.startswith(("--states", "--mat")) for word in sys.argv)
    if argv is None and sys.argv[1:2] == ["predict"] and not long:
        without_compiler()  # which takes longer to load than this process has to do
    argv = sys.argv[1:] if argv is None else argv
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ.get("COMP_LINE", "").split())
    wanted = _wanted(argv)
    try:
        args = _parsed(build_parser(wanted), argv)
        _check_place(args.out)
        with _visible_output(), warnings.catch_warnings():
            # Numbers that overflow are refused or left out by name; NumPy's lines about them say nothing to a user.
            warnings.simplefilter("ignore", RuntimeWarning)
            return int(args.run(args))
    except ImpactAwareError as error:
        print(f"impact-aware: error: {one_line(str(error))}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OPTIONAL_PACKAGES:
            raise
        print(f"impact-aware: error: {package} is not installed: python3 -m pip install {package}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("impact-aware: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does: a message could not be read.
        sys.stderr.close()
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"impact-aware: error: {one_line(f'{where}{error.strerror or error}')}", file=sys.stderr)
        return 2
    except MemoryError:
        print("impact-aware: error: there is not enough memory for this input", file=sys.stderr)
        return 2


class _Screen(io.TextIOWrapper):
    """A text output on which names from recordings can't steer the terminal."""

    def write(self, text: str) -> int:
        return super().write(visible(text, "\n\t"))


@contextlib.contextmanager
def _visible_output() -> Iterator[None]:
    """Print to a `_Screen`; a terminal that lacks a letter of a name gets its number."""
    plain = sys.stdout
    if not isinstance(plain, io.TextIOWrapper):
        yield
        return
    plain.flush()
    lines = plain.line_buffering
    sys.stdout = screen = _Screen(plain.buffer, plain.encoding, "backslashreplace", line_buffering=lines)
    try:
        yield
        screen.flush()
    finally:
        sys.stdout = plain
        with contextlib.suppress(OSError, ValueError):
            screen.detach()


def _check_place(out: Path | None) -> None:
    """Refuse a folder for results that can't be written to, before the work."""
    places = () if out is None else (out.absolute(), *out.absolute().parents)
    above = next((path for path in places if os.path.lexists(path)), None)
    if above is not None and above.is_dir() and not os.access(above, os.W_OK | os.X_OK):
        raise InvalidInputError("--out", str(out), f"a place that can be written to, which {above} is not")


def _wanted(words: list[str]) -> str | None:
    """Return the first of the words that is a subcommand."""
    return next((word for word in words if word in SUBCOMMANDS or word in plugins("commands")), None)


def _parsed(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """The arguments, with the files that stand behind an option, which argparse takes for unknown where some may be."""
    args, rest = parser.parse_known_args(argv)
    if rest and hasattr(args, "files") and not any(word.startswith("-") for word in rest):
        args.files = [*args.files, *map(Path, rest)]
    elif rest:
        command = " ".join(filter(None, (args.subcommand, getattr(args, "quantity", ""))))
        kind = "option, expected one that" if rest[0].startswith("-") else "argument, expected those that"
        raise ImpactAwareError(f"{rest[0]}: got an unknown {kind} {command} --help lists")
    return args


def _complete(words: list[str]) -> None:
    """Print completions for a shell that is set up by https://kislyuk.github.io/argcomplete/ and exit."""
    try:
        import argcomplete
    except ImportError:
        sys.exit(1)
    wanted = _wanted(words)
    argcomplete.autocomplete(build_parser(wanted))


if __name__ == "__main__":
    sys.exit(main())
