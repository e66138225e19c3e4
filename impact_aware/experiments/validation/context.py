"""What a validation is given: where figures go, how many trials, which seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from impact_aware.experiments.validation.check import Kind
from impact_aware.library_settings import figure_settings
from impact_aware.output_folder import write_whole
from impact_aware.ranges import POSITIVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class ValidationContext:
    """Settings shared by all validations of one run, and the figures they drew.

    Attributes:
        out: Folder for figures, or None to draw none.
        trials: Number of random impacts where a validation is statistical.
        seed: Seed of every random draw.
        figures: Files drawn so far.
        kinds: Kinds of the checks of the validation that runs, which its figures name.
        report: Told the share done, 0..1, while a validation goes through its trials.
    """

    out: Path | None = None
    trials: int = 200
    seed: int = 0
    figures: list[Path] = field(default_factory=list)
    kinds: tuple[Kind, ...] = ()
    report: Callable[[float], None] = lambda share: None

    def __post_init__(self) -> None:
        """Refuse fewer than one trial with an InvalidInputError."""
        POSITIVE.check("trials", self.trials)

    def count(self, trials: int) -> Iterator[int]:
        """0, 1, ... `trials` - 1, reporting the share done on the way."""
        for trial in range(trials):
            self.report(trial / trials)
            yield trial

    @contextmanager
    def figure(self, name: str, rows: int = 1, columns: int = 1, **settings: Any) -> Iterator[tuple[Figure, Any]]:
        """A figure with its axes, saved as `name`.png when a folder was given.

        Only called when `out` is set; matplotlib is imported here because most runs draw nothing.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        assert self.out is not None
        with figure_settings():
            figure = Figure(figsize=settings.pop("figsize", (5.0 * columns, 3.6 * rows)), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.subplots(rows, columns, squeeze=False, **settings)
            yield figure, axes
            if self.kinds:
                figure.supxlabel("kinds of checks: " + ", ".join(self.kinds), fontsize="x-small", color="0.4")
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{name}.png"
            write_whole(path, partial(figure.savefig, format="png", dpi=130))
        self.figures.append(path)
