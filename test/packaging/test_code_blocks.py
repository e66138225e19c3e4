"""Every block of code in the documentation: run, or parsed by the command's own parser and left for a stated reason."""

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest
import yaml

from impact_aware.cli.main import build_parser, main
from impact_aware_rigs.bench.command import benchmark

ROOT = Path(__file__).resolve().parents[2]
DOCS = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "robots").glob("*.md")]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(path.relative_to(ROOT)) for path in DOCS)]
LANGUAGES = {"sh", "python", "yaml", "text", "xml", "arrows"}

RUN = r"predict|new-robot|analyze trial\.csv|identify contact-point"
"""Commands that are run, in the order of their page."""

LEFT = {
    r"demo": "starts the nodes over DDS: test/cli/test_demo.py does",
    r"touch-surface|analyze hit": "needs a recording of taps: test/cli/test_touch_surface.py makes one",
    r"analyze (results|trial_01)": "needs the demo's recording: test/report and test/recordings make one",
    r"render": "needs the demo's recording: test/cli/test_render.py makes one",
    r"doctor": "looks at your machine and graph: test/cli/test_doctor.py makes both",
    r"plan": "takes seconds and writes folders: test/cli/test_plan.py plans, and draws a small map",
    r"bench|faults|identify (plan|inertia)": "takes minutes: test/rigs and test/cli run small ones",
}
"""Commands that are only parsed, and why."""

ELSEWHERE = {
    "make": "test_docs.py looks the targets up; they build environments and start tests",
    "python": "the fixture `lab` runs the example",
    "cp": "the fixture `lab` copies the files",
    "pip": "test_pip_alone.py installs the package",
    "rosdep": "needs an installed ROS 2",
    "colcon": "needs an installed ROS 2",
    "source": "needs an installed ROS 2",
    "ros2": "needs an installed ROS 2 and, mostly, a robot",
    "export": "needs keys that ros2 security makes",
}
"""Other programs, and why they are not run here."""


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of every block of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\S*)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[list[str]]:
    """Words of every command of a page; what is in brackets is taken along, and of alternatives the first."""
    found = []
    for language, text in blocks(page):
        line = ""
        for part in text.replace("\\\n", " ").splitlines() if language == "sh" else []:
            line += re.sub(r"[\[\]]", "", part) if part.startswith("impact-aware") else part
            if line.count('"') % 2 == 0:  # else its text goes on in the next line
                words = [re.sub(r"^(\w+)\|[\w|]+$", r"\1", word) for word in shlex.split(line, comments=True)]
                found += [words] if words else []
                line = ""
        assert not line, f"a quotation without end: {line}"
    return found


def own_commands(page: str) -> list[str]:
    return [shlex.join(words[1:]) for words in commands(page) if words[0].endswith("impact-aware")]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_names_its_language(page: str) -> None:
    for language, text in blocks(page):
        assert language in LANGUAGES, text


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_run_or_left_for_a_reason(page: str) -> None:
    for words in commands(page):
        if not words[0].endswith("impact-aware"):
            assert words[0] in ELSEWHERE, words
    for command in own_commands(page):
        assert len([known for known in (RUN, *LEFT) if re.match(known, command)]) == 1, command


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_understood_by_its_parser(page: str) -> None:
    for command in own_commands(page):
        words = [re.sub(r"^(N|P)$", "1", word) for word in shlex.split(command)]
        args = build_parser(words[0]).parse_args(words)
        if words[0] == "bench":
            benchmark(args.name)[0].parse_args(args.options)


def test_a_reader_of_the_first_pages_is_refused_no_results_folder() -> None:
    lines = [line for page in ("README.md", "docs/tutorials.md") for line in own_commands(page)]
    folders = [re.findall(r"--out (\S+)", line)[0] for line in lines if line.startswith("analyze results")]
    assert len(folders) == len(set(folders)) >= 2


@pytest.mark.parametrize("page", PAGES)
def test_every_launch_file_and_its_arguments_exist(page: str) -> None:
    shared = (ROOT / "impact_aware" / "bringup" / "launching.py").read_text(encoding="utf-8")
    for words in commands(page):
        if words[:2] == ["ros2", "launch"]:
            assert words[2] == "impact_aware"
            text = (ROOT / "launch" / words[3]).read_text(encoding="utf-8") + shared
            for argument in words[4:]:
                assert f'"{argument.partition(":=")[0]}"' in text, argument


@pytest.mark.parametrize("page", [page for page in PAGES if any(language == "python" for language, _ in blocks(page))])
def test_every_python_block_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page, "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_every_yaml_block_is_yaml(page: str) -> None:
    for language, text in blocks(page):
        if language == "yaml":
            assert isinstance(yaml.safe_load(text), dict)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the first tutorial makes: its tables, the YAML of each as the page has it, and `config`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").symlink_to(ROOT / "config")
    runpy.run_path(str(ROOT / "examples" / "record_trials.py"))
    known = next(text for language, text in blocks("docs/tutorials.md") if language == "yaml")
    for table in tmp_path.glob("*.csv"):
        table.with_suffix(".impact.yaml").write_text(known, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if any(re.match(RUN, c) for c in own_commands(page))])
def test_every_command_that_needs_neither_robot_nor_minutes_runs(
    page: str, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in own_commands(page):
        if re.match(RUN, command):
            assert main(shlex.split(command)) == 0, (command, capsys.readouterr().err)
            out = capsys.readouterr().out
            assert out.strip(), command
            if command.startswith("analyze trial.csv"):
                verdict = re.findall("uncertainty of the estimate: ([a-z' ]+) \\(", out)
                assert verdict == re.findall(r"simulated hit gives \*(.*?)\*", (ROOT / page).read_text("utf-8"))
            if "trial_2.csv" in command:
                assert "--offset" not in out and "standard error there is 7.0 cm" in out
    if page == "docs/tutorials.md":
        [impact] = json.loads((lab / "results" / "lab" / "analysis.json").read_text(encoding="utf-8"))["impacts"]
        assert abs(impact["time"] - 0.992) < 0.002  # between two samples, and as good as six digits of a position
        assert impact["error"] < 0.05  # rad/s; the page promises 3 % of a jump of 0.98 rad/s
