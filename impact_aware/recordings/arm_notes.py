"""What a reader has to know about one arm of a recording: its model, and what was wrong with its samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from impact_aware.errors import InvalidInputError
from impact_aware.recordings.arm_samples import ArmSelector
from impact_aware.recordings.file_options import FileOptions
from impact_aware.recordings.impact_finder import ImpactFinder
from impact_aware.recordings.input_faults import InputFaults
from impact_aware.recordings.input_stage import InputStage
from impact_aware.recordings.results import ArmAnalysis

NEAR = 0.02
"""Between a named and a found impact, s."""


def data_notes(selector: ArmSelector, stage: InputStage, finder: ImpactFinder) -> list[str]:
    """What a reader has to know about the samples of an arm."""
    notes = []
    if selector.unstamped:
        share = "no stamps" if selector.unstamped == selector.messages else f"no stamp in {selector.unstamped} messages"
        notes.append(f"{share}: the time of recording stands in, which is less exact")
    if selector.unusable:
        notes.append(f"{selector.unusable} of {selector.messages} messages have positions that can't be used")
    notes += stage.faults.notes()
    if finder.turned:
        notes.append("the recorded efforts are those of the links upon the motors, by gravity's: their sign is turned")
    if stage.quality:
        notes.append(stage.quality)
    if finder.kinks.untested:
        notes.append(
            f"{finder.kinks.untested} instants at which something may have happened were not tested, as there are too "
            "many of them: weak impacts may be missing"
        )
    if finder.skipped:
        notes.append(f"{finder.skipped} more impacts were found and left out")
    return notes


def beside_notes(options: FileOptions, arms: Sequence[ArmAnalysis]) -> list[str]:
    """That the file beside a recording was read, and which of its impact times nothing was found at."""
    notes = [f"{options.path.name} has the options that the command line leaves out"]
    times = [impact.time for arm in arms for impact in arm.impacts]
    for time in options.impact_times:
        if not any(abs(found - time) <= NEAR for found in times):
            notes.append(
                f"no contact was found within {1e3 * NEAR:.0f} ms of {time:.4f} s, which {options.path.name} names"
            )
    return notes


def check_times(file: Path, finder: ImpactFinder, faults: InputFaults) -> None:
    """Refuse a column that can't be the times of the rows.

    Raises:
        InvalidInputError: With what is wrong with it.
    """
    wanted = "times that increase; --columns time=COLUMN names another column"
    if faults.backwards > 0.2 * faults.seen:
        given = f"{faults.backwards} of {faults.seen} that run backwards"
        raise InvalidInputError(f"times of {file.name}", given, wanted)
    if faults.seen > 1 and finder.first_time == finder.last_time:
        raise InvalidInputError(f"times of {file.name}", f"{finder.first_time:g} s in every row", wanted)
