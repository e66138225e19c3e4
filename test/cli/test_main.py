"""The `impact-aware` command: which subcommand runs, what it is given, and how errors end."""

import argparse
import importlib
import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from patience import LONGEST
from small_recordings import URDF

import impact_aware
from impact_aware.cli import main as module
from impact_aware.cli.main import SUBCOMMANDS, build_parser, main, subcommands
from impact_aware.errors import ImpactAwareError, InvalidInputError


@pytest.fixture
def subcommand(monkeypatch):
    """`validate` replaced by one that notes its arguments and raises what it is told to."""
    calls: list[argparse.Namespace] = []
    fake = SimpleNamespace(add_arguments=lambda parser: parser.add_argument("--size", type=int, default=3), error=None)

    def run(args: argparse.Namespace) -> int:
        calls.append(args)
        if fake.error is not None:
            raise fake.error
        return 7

    fake.run, fake.calls, fake.imported = run, calls, []
    real = importlib.import_module

    def import_module(name: str) -> object:
        fake.imported.append(name)
        return fake if name == SUBCOMMANDS["validate"][0] else real(name)

    monkeypatch.setattr(module.importlib, "import_module", import_module)
    return fake


def test_every_subcommand_is_a_module_that_can_run():
    assert set(SUBCOMMANDS) == {
        "demo", "plan",
        "predict", "sample-map", "analyze", "render", "campaign", "identify", "tune-detector", "validate",
        "new-robot", "touch-surface", "doctor", "franka-prepare",
    }  # fmt: skip
    assert set(subcommands()) - set(SUBCOMMANDS) == {"bench", "faults"}, "the rigs of a clone"
    for name, (where, text) in subcommands().items():
        found = importlib.import_module(where)
        assert (hasattr(found, "OPTIONS") or callable(found.add_arguments)) and callable(found.run), name
        assert text[0].islower() and not text.endswith("."), name


def test_only_the_wanted_subcommand_is_imported_and_its_status_returned(subcommand):
    assert main(["validate", "--size", "5", "--json", "--out", "here"]) == 7
    assert subcommand.imported == ["impact_aware.cli.validate"]
    (args,) = subcommand.calls
    assert (args.size, args.json, str(args.out)) == (5, True, "here")
    main(["validate"])
    assert (subcommand.calls[1].size, subcommand.calls[1].json, subcommand.calls[1].out) == (3, False, None)


def test_help_names_every_subcommand_and_imports_none(subcommand):
    text = build_parser(None).format_help()
    assert all(name in text for name in subcommands())
    assert subcommand.imported == []


def test_without_the_rigs_their_commands_do_not_exist(monkeypatch, capsys):
    monkeypatch.setattr(module, "plugins", lambda kind: {})
    with pytest.raises(SystemExit) as end:
        main(["bench", "predict"])
    assert end.value.code == 2
    assert "invalid choice: 'bench'" in capsys.readouterr().err


def test_a_shell_is_told_how_a_line_goes_on(tmp_path):
    pytest.importorskip("argcomplete")
    for line, found in (("impact-aware ana", ["analyze "]), ("impact-aware predict --contact-f", ["--contact-frame "])):
        answer = tmp_path / "answer"
        asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_IFS": "\n"}
        words = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
        command = [sys.executable, "-m", "impact_aware.cli.main"]
        subprocess.run(command, env=os.environ | asked | words, check=True, capture_output=True)
        assert answer.read_text(encoding="utf-8").split("\n") == found


def test_the_version_is_printed_and_nothing_imported(subcommand, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, subcommand.imported) == (0, [])
    assert capsys.readouterr().out == f"impact-aware {impact_aware.__version__}\n"


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (InvalidInputError("--size", 0, "at least 1"), 2, "impact-aware: error: --size: got 0, expected at least 1"),
        (ImpactAwareError("sentence"), 2, "impact-aware: error: sentence"),
        (KeyboardInterrupt(), 130, "impact-aware: interrupted"),
        (
            ModuleNotFoundError("No module named 'mcap.writer'", name="mcap.writer"),
            2,
            "impact-aware: error: mcap is not installed: python3 -m pip install mcap",
        ),
    ],
)
def test_errors_are_one_line_and_a_status(subcommand, capsys, error, status, line):
    subcommand.error = error
    assert main(["validate"]) == status
    captured = capsys.readouterr()
    assert (captured.out, captured.err.strip()) == ("", line)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--dance", "5"], "--dance: got an unknown option, expected one that validate --help lists"),
        (["x"], "x: got an unknown argument, expected those that validate --help lists"),
        (["--out", ""], "--out: got '', expected a path"),
    ],
)
def test_words_that_are_no_options_are_one_line(subcommand, capsys, words, line):
    assert main(["validate", *words]) == 2
    assert capsys.readouterr().err == f"impact-aware: error: {line}\n"


@pytest.mark.parametrize("error", [ZeroDivisionError(), ModuleNotFoundError("", name="impact_aware.nothing")])
def test_a_mistake_in_the_program_is_not_hidden(subcommand, error):
    subcommand.error = error
    with pytest.raises(type(error)):
        main(["validate"])


@pytest.mark.parametrize(("package", "command"), [("rosbags", "analyze"), ("mujoco", "demo"), ("mcap", "demo")])
def test_a_package_that_is_not_there_is_named_with_how_to_install_it(package, command):
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.partition('.')[0] == {package!r}: raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from impact_aware.cli.main import main\n"
        f"sys.exit(main([{command!r}, *sys.argv[1:]]))\n"
    )
    words = ["bag.mcap"] if command == "analyze" else ["hit-and-push"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, timeout=LONGEST)
    line = f"impact-aware: error: {package} is not installed: python3 -m pip install {package}\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_a_slip_in_a_command_gets_the_nearest_one(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["predct"])
    assert capsys.readouterr().err.endswith("; predict is the nearest\n")


@pytest.mark.slow
def test_a_command_uses_one_thread_of_blas_unless_the_user_chose_more(subcommand, monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("MKL_NUM_THREADS", "1")
    main(["validate"])
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1" and os.environ["OMP_NUM_THREADS"] == "3"


def test_a_reader_that_goes_away_ends_it_quietly():
    program = "from impact_aware.cli.main import main; import sys; sys.exit(main(['faults', '--list']))"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert (process.wait(60.0), process.stderr.read()) == (1, "")
    process.stderr.close()


@pytest.mark.parametrize("words", [[], ["dance"]])
def test_words_that_are_no_command_are_refused(subcommand, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: impact-aware" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "loads"),
    [
        (["--help"], {"numpy": False, "pinocchio": False, "numba": False}),
        (["predict", "--help"], {"numba": False, "rclpy": False, "mujoco": False}),
        (["predict", "--dq", *["0.1"] * 7], {"pinocchio": True, "numba": False, "pyarrow": False}),
    ],
)  # fmt: skip
def test_a_command_loads_no_more_than_it_needs(arguments, loads):
    program = f"""
import sys
from impact_aware.cli.main import main
try:
    sys.argv[1:] = {arguments!r}  # as a process of its own has them
    status = main()
except SystemExit as done:
    status = done.code
print(status, *sorted(sys.modules.keys() & {set(loads)!r}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONGEST, check=True)
    assert done.stdout.splitlines()[-1].split() == ["0", *sorted(name for name, loaded in loads.items() if loaded)]


def test_overflowing_numbers_are_no_lines_beside_the_answer(subcommand, recwarn):
    def run(args):
        np.array([1e300]) * np.array([1e300])
        return 0

    subcommand.run = run
    assert main(["validate"]) == 0 and not list(recwarn)
    np.array([1e300]) * np.array([1e300])
    assert [str(warning.message) for warning in recwarn] == ["overflow encountered in multiply"]


def test_a_terminal_without_a_letter_gets_its_number(subcommand, monkeypatch):
    def run(args):
        print("ä \udc80")
        return 0

    subcommand.run = run
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["validate"]) == 0
    sys.stdout.flush()
    assert written.getvalue() == b"\\xe4 \\udc80\n"


def test_what_is_printed_can_not_steer_a_terminal(subcommand, capsys):
    name = "arm\x1b]0;owned\x07\x1b[2J\u202e\r\x9b31m"

    def run(args: argparse.Namespace) -> int:
        print(f"{name}\tcolumn\nnext line \u00e4")
        raise InvalidInputError("topic", name, "another name")

    subcommand.run = run
    assert main(["validate"]) == 2
    out, error = capsys.readouterr()
    assert out == r"arm\x1b]0;owned\x07\x1b[2J\u202e\r\x9b31m" + "\tcolumn\nnext line \u00e4\n"
    assert error.rstrip("\n").isprintable() and error.count("\n") == 1


def test_a_command_without_standard_streams_writes_its_results(tmp_path):
    """Whoever starts it may have closed them, and files that are opened later would get their numbers."""
    rows = "".join(f"{0.001 * row},{0.001 * row},0\n" for row in range(300))
    (tmp_path / "run.csv").write_text(f"time,q_elbow,q_wrist\n{rows}")
    (tmp_path / "arm.urdf").write_text(URDF)
    words = ("analyze", "run.csv", "--robot", "arm.urdf", "--out", "out", "--no-report")
    script = ["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", sys.executable, "-P", "-m", "impact_aware.cli.main"]
    assert subprocess.run([*script, *words], cwd=tmp_path, timeout=LONGEST).returncode == 0
    assert json.loads((tmp_path / "out" / "analysis.json").read_text())
