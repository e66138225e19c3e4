"""`impact-aware analyze BAG...`: impacts in recordings, each with prediction, estimate and error."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from impact_aware.bags.bag import Bag, is_recording
from impact_aware.cli.options import add_options, chosen, refuse_given
from impact_aware.cli.output import progress, show, show_notes
from impact_aware.detection.impact_watch import SECOND_CONTACT
from impact_aware.errors import InvalidInputError, one_line
from impact_aware.json_text import json_text
from impact_aware.output_folder import OutputFolder, write_whole
from impact_aware.parameters import Options, described
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.limitations import limitations
from impact_aware.recordings.options import AnalysisOptions, load_labels
from impact_aware.recordings.results import Analysis, AnalyzedImpact
from impact_aware.recordings.verdict import CANNOT_TELL, NO, PLANT, YES
from impact_aware.report.result_files import ablation_csv, impacts_csv, to_json
from impact_aware.report.view import error_text
from impact_aware.tables.options import TableOptions

MOST_LINES = 4
"""Events that are no impacts, notes and limitations that are printed of each arm; the JSON has them all."""

_JSON, _IMPACTS, _ABLATION = "analysis.json", "impacts.csv", "ablation.csv"


@dataclass(frozen=True, kw_only=True)
class ResultOptions(Options):
    """Recordings, and which results are written."""

    recordings: tuple[Path, ...] = described(
        ..., "rosbag2 folder or file (.mcap, .db3, compressed or not), or table (.csv, .parquet, .npz, .npy, .h5)",
        metavar="BAG", positional=True,
    )  # fmt: skip
    labels: Path | None = described(None, "YAML or CSV of recording name and label, by which the ablation is grouped")
    no_report: bool = described(False, "with --out: numbers only, no report and figures")
    no_annotated: bool = described(False, "with --out: no annotated MCAP")
    rrd: Path | None = described(
        None, "also write the impacts of one BAG in slow motion for Rerun", metavar="FILE.rrd"
    )
    force: bool = described(False, "replace results that are there already")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: those of an analysis, of tables and of the results."""
    add_options(parser, ResultOptions)
    add_options(parser.add_argument_group("tables"), TableOptions, "columns", "time_unit", "rate")
    add_options(parser.add_argument_group("recording, detection and contact"), AnalysisOptions)


def run(args: argparse.Namespace) -> int:
    """Analyse, write and print; raises `ImpactAwareError` on bad input."""
    labels = None if args.labels is None else load_labels(args.labels)
    columns = TableOptions(**chosen(args, TableOptions)).column_map()
    options = AnalysisOptions(**chosen(args, AnalysisOptions), labels=labels, columns=columns)
    # What can't be written is refused before the work, not after it.
    if args.rrd is not None:
        _check_rerun(args.rrd, args.recordings, force=args.force)
    if args.out is None:
        refused = ("no_report", "no_annotated") if args.rrd is not None else ("no_report", "no_annotated", "force")
        refuse_given(args, refused, "--out DIR along with it")
        analysis = _analyzed(args.recordings, options)
    else:
        output = OutputFolder(args.out, "analyze", inputs=args.recordings, force=args.force)
        analysis = _analyzed(args.recordings, options)
        with output as folder:
            write_results(analysis, folder, report=not args.no_report, annotated=not args.no_annotated)
    rrd = args.rrd if analysis.impacts else None
    if rrd is not None:
        _write_rerun(rrd, analysis)
    elif args.rrd is not None:
        show_notes([f"{args.rrd} was not written, as there is no impact to show"])
    show(args, to_json(analysis), lambda: format_analysis(analysis, args.out, rrd))
    return 0


def _check_rerun(path: Path, recordings: Sequence[Path], *, force: bool) -> None:
    """Refuse what no file for Rerun can be made of, or be written to.

    Raises:
        InvalidInputError: Tables or several recordings, a file of another kind or one that exists, no rerun-sdk.
    """
    if len(recordings) != 1 or not is_recording(recordings[0]):
        got = "several recordings" if len(recordings) > 1 else str(recordings[0])
        raise InvalidInputError("--rrd", got, "one rosbag2 recording, whose messages are drawn")
    inside = Path(os.path.realpath(recordings[0])) in Path(os.path.realpath(path)).parents
    if path.suffix.lower() != ".rrd" or inside:
        raise InvalidInputError("--rrd", str(path), "a .rrd file outside the recording")
    if path.exists() and not force:
        raise InvalidInputError("--rrd", str(path), "a file that does not exist yet, or --force")
    # Imported here, as below, because numbers alone need no drawing.
    from impact_aware.render.rerun_file import rerun_library

    rerun_library("--rrd")


def _write_rerun(path: Path, analysis: Analysis) -> None:
    """Draw the impacts from an annotated copy of the recording, which has them as messages.

    Raises:
        InvalidInputError: The file can't be written.
    """
    from impact_aware.recordings.annotated_bag import write_annotated
    from impact_aware.render import read_scene
    from impact_aware.render.rerun_file import FRAMES, write_rerun
    from impact_aware.render.robot_shape import robot_shape

    events = {impact.time: _impact_line(impact) for impact in analysis.impacts}
    robots = {arm.arm: (arm.model, robot_shape(arm.urdf)) for arm in analysis.arms if arm.model and arm.urdf}
    with tempfile.TemporaryDirectory(prefix="impact_aware_") as scratch:
        write_annotated(analysis.files[0], analysis, Path(scratch) / "bag")
        with Bag(Path(scratch) / "bag") as bag, progress(total=FRAMES * len(events), desc="frames", leave=False) as bar:
            scene = read_scene(bag, time=min(events), robot=robots)
            try:
                write_rerun(bag, path, scene, events=events, on_frame=bar.update)
            except OSError as error:
                raise InvalidInputError("--rrd", str(path), f"a file that can be written ({error.strerror})") from error


def write_results(analysis: Analysis, folder: Path, *, report: bool, annotated: bool) -> None:
    """Write numbers, report and annotated recordings into a folder that exists.

    Raises:
        OSError: No room, or no right to write.
    """
    write_whole(folder / _JSON, json_text(to_json(analysis), indent=1) + "\n")
    write_whole(folder / _IMPACTS, impacts_csv(analysis.impacts))
    if analysis.ablation_groups:
        write_whole(folder / _ABLATION, ablation_csv(analysis.ablation_groups))
    if report:
        # Imported here, because numbers alone need no drawing.
        from impact_aware.report.html import write_report

        write_report(analysis, folder)
    if annotated:
        from impact_aware.recordings.annotated_bag import write_annotated

        for file in filter(is_recording, analysis.files):
            write_annotated(file, analysis, folder / _annotated_name(file, list(analysis.files)))


def format_analysis(analysis: Analysis, out: Path | None, rrd: Path | None = None) -> str:
    """The analysis for people: what was read, one line per impact, what to know, where the files are."""
    lines = []
    for arm in analysis.arms:
        rate = f"{arm.rate_hz:.0f} Hz" if math.isfinite(arm.rate_hz) else "unknown rate"
        name, robot = f" {arm.arm}" if arm.arm else "", arm.robot or "unknown"
        lines.append(f"{arm.file.name}{name}: {arm.messages} messages, samples at {rate}, robot {robot}")
        lines += [f"  {line}" for impact in arm.impacts for line in _impact_lines(impact)] or ["  no impact"]
        events = [
            f"  {event.cause.replace('_', ' ')} at {event.time:.4f} s"
            f"{_plus_minus(1e3 * event.time_standard_error, 1, ' ms')}: {event.evidence}"
            for event in arm.other_events
        ]
        lines += _first(events, "  {} more events that are no impacts")
        notes = dict.fromkeys((*arm.notes, *(note for impact in arm.impacts for note in impact.notes)))
        lines += _first([f"  note: {note}" for note in notes], "  {} more notes (--json, or the report of --out)")
    lines += _ablation_lines(analysis)
    lines += _first([f"note: {note}" for note in analysis.notes], "{} more notes (--json, or the report of --out)")
    lines += _limitation_lines(analysis)
    speed = analysis.messages / analysis.seconds_read if analysis.seconds_read > 0.0 else math.nan
    lines.append(
        f"read {analysis.messages} messages in {analysis.seconds_read:.2f} s ({speed:,.0f} per second), "
        f"{analysis.seconds:.1f} s for all"
    )
    if out is not None:
        report = out / "report.html"
        lines.append(f"results in {out}" + (f", for a browser {report}" if report.exists() else ""))
    if rrd is not None:
        lines.append(f"for Rerun: rerun {shlex.quote(str(rrd))}")
    return "\n".join(map(one_line, lines))


def _ablation_lines(analysis: Analysis) -> list[str]:
    """One line per label and friction: the mean error with each inertia, where several impacts were predicted."""
    if not analysis.ablation_groups:
        return []
    lines = ["mean norm of the error of the predicted velocity after, deg/s"]
    rows: dict[tuple[str, float, int], list[str]] = {}
    for group in analysis.ablation_groups:
        words = f"{group.inertia} {math.degrees(group.error_mean):.2f}"
        rows.setdefault((group.label, group.friction, group.count), []).append(words)
    for (label, friction, count), errors in rows.items():
        lines.append(f"  {label}, friction {friction:g}, {count} impact{'s' if count > 1 else ''}: {', '.join(errors)}")
    return lines


def _limitation_lines(analysis: Analysis) -> list[str]:
    """Return the recordings' limitations as one table without repeats; the reasons are in the report and the JSON."""
    rows: dict[str, list[str]] = {}
    for entry in limitations(analysis):
        places = rows.setdefault(entry.what, [])
        places += [f"impact {', '.join(map(str, entry.impacts))}"] if entry.impacts else []
    if not rows:
        return []
    shown = [what + (f" ({'; '.join(dict.fromkeys(places))})" if places else "") for what, places in rows.items()]
    lines = _first([f"  {what}" for what in shown], "  {} more")
    return ["can't tell (reasons: --json, or the report of --out)", *lines]


def _first(lines: list[str], left: str) -> list[str]:
    """The first `MOST_LINES` lines, and how many are left; one line more stays where that line would only count it."""
    more = len(lines) - MOST_LINES
    return lines if more <= 1 else [*lines[:MOST_LINES], left.format(more)]


def _impact_lines(impact: AnalyzedImpact) -> list[str]:
    """When and what, and the verdict on the prediction: its answer, its error, what was assumed."""
    found = impact.verdict
    answer = {YES: "yes", NO: "no", CANNOT_TELL: "can't tell"}[found.within]
    if found.distance is not None:
        answer += f" ({found.distance:.1f} standard errors per joint)"
    lines = [_impact_line(impact), f"  prediction within the uncertainty of the estimate: {answer}"]
    if found.reason:
        lines[-1] += f": {found.reason}"
    if found.error is not None:
        share = "" if found.share is None else f", {100.0 * found.share:.1f} % of the jump"
        source = ("the simulator's truth" if found.reference == PLANT else "the estimate") + found.live_text
        lines.append(f"  prediction off by {error_text(found)} rad/s{share}, from {source}")
    if found.assumed:
        lines.append(f"  assumed: {', '.join(found.assumed)}")
    return lines


def _impact_line(impact: AnalyzedImpact) -> str:
    parts = [
        f"impact {impact.index} at {impact.time:.4f} s{_plus_minus(1e3 * impact.event.time_std, 1, ' ms')}",
        f"detected {1e3 * (impact.event.time_detected - impact.time):.1f} ms later",
    ]
    if impact.cause == SECOND_CONTACT:
        parts.append("second contact")
    if impact.jump_size is not None:
        size, error = impact.jump_size
        parts.append(f"jump {size:.3f}{_plus_minus(error, 3)} rad/s")
    if impact.object_hit is not None and impact.object_hit.restitution is not None:
        hit = impact.object_hit
        parts.append(f"restitution {hit.restitution:.3f} +- {hit.restitution_error:.3f}")
    if impact.common is not None:
        parts.append(f"together with {', '.join(impact.common.arms)}" if impact.common.arms else "as a palm")
    elif impact.prediction is not None:
        parts.append(impact.prediction.mode)
    if impact.expected is not None:
        parts.append("expected" if impact.expected else "unexpected")
    return ", ".join(parts)


def _plus_minus(error: float, digits: int, unit: str = "") -> str:
    """A standard error behind its figure, where it is known."""
    return f" +- {error:.{digits}f}{unit}" if math.isfinite(error) and error > 0.0 else ""


def _analyzed(recordings: list[Path], options: AnalysisOptions) -> Analysis:
    bar = progress(unit_scale=True, leave=False)
    current: tuple[Path, str] | None = None

    def report(file: Path, stage: str, done: int, total: int) -> None:
        nonlocal current
        if (file, stage) != current:
            current = file, stage
            bar.reset(total or None)
            bar.set_description(f"{one_line(file.name)}: {stage}")
        bar.update(done - bar.n)

    with bar:
        return analyze(recordings, options, report)


def _annotated_name(file: Path, files: list[Path]) -> str:
    """Name of the annotated recording; numbered where two recordings have the same name."""
    stem = file.name.removesuffix(".zstd").removesuffix(".zst")
    for suffix in (".mcap", ".db3"):
        stem = stem.removesuffix(suffix)
    same = [other for other in files if other.name == file.name]
    number = f"_{same.index(file) + 1}" if len(same) > 1 else ""
    return f"{stem}{number}_annotated"


def main() -> int:
    """`ros2 run impact_aware analyze`: the same as `impact-aware analyze`."""
    from impact_aware.cli.main import main as command

    return command(["analyze", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
