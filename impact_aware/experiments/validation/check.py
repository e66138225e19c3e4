"""An expected number beside the computed one, where the expectation comes from, and what a validation is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

from impact_aware.library_settings import figure_settings
from impact_aware.output_folder import write_whole
from impact_aware.ranges import POSITIVE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Relation = Literal["equal", "at most", "at least", "reported"]
Kind = Literal["printed", "aim", "consistency"]

KINDS: dict[Kind, str] = {
    "printed": "the number stands in a paper",
    "aim": "the bound is ours: on an accuracy, or for what a paper gives only in words or in a picture",
    "consistency": "two ways to the same number: a table's own columns, a closed form, a law of physics",
}
"""Sources of an expected value."""


@dataclass(frozen=True)
class Check:
    """An expected value, a computed value, and how they must relate.

    Attributes:
        paper: What it is about: paper, table, figure or equation.
        quantity: What it is, with its unit.
        kind: Where `expected` comes from, one of `KINDS`.
        expected: The value typed in from the paper, the bound, or the other way's result; None for one that is only
            reported.
        computed: The value computed here.
        tolerance: Allowed distance; what an equality may miss, or a bound may be passed by.
        relation: Whether `computed` must equal `expected`, be at most or at least that, or is only reported.
        assumption: What had to be assumed because the paper withholds it; empty when nothing.
        name: Of the validation it belongs to, which the registry fills in.
        known_miss: Whether it is an aim that is known as missed: shown so where it fails, without failing the command.
    """

    paper: str
    quantity: str
    kind: Kind
    expected: float | None
    computed: float
    tolerance: float = 0.0
    relation: Relation = "equal"
    assumption: str = ""
    name: str = ""
    known_miss: bool = False

    @property
    def mark(self) -> Literal["ok", "miss", "FAIL"]:
        """Whether it holds, is missed as known, or fails."""
        return "ok" if self.ok else "miss" if self.known_miss else "FAIL"

    @property
    def printed(self) -> float | None:
        """The value as it stands in a paper; None where no paper has it."""
        return self.expected if self.kind == "printed" else None

    @property
    def ok(self) -> bool:
        """Whether the relation holds; never for a value that is not a number."""
        if math.isnan(self.computed):
            return False
        if self.expected is None:
            return self.relation == "reported"
        excess = self.computed - self.expected
        if self.relation == "at most":
            return excess <= self.tolerance
        if self.relation == "at least":
            return -excess <= self.tolerance
        return abs(excess) <= self.tolerance

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {**asdict(self), "printed": self.printed, "ok": bool(self.ok)}


@dataclass(frozen=True)
class Source:
    """What several checks are about, where their expected values come from, and what all of them assume.

    Attributes:
        paper: As `Check.paper`.
        kind: As `Check.kind`.
        assumption: As `Check.assumption`.
    """

    paper: str
    kind: Kind
    assumption: str = ""

    def equal(self, quantity: str, expected: float, computed: SupportsFloat, tolerance: float) -> Check:
        """Check that the computed value is the expected one."""
        return Check(self.paper, quantity, self.kind, expected, float(computed), tolerance, "equal", self.assumption)

    def at_most(self, quantity: str, expected: float, computed: SupportsFloat, tolerance: float = 0.0) -> Check:
        """Check that the computed value is not above the expected one."""
        return Check(self.paper, quantity, self.kind, expected, float(computed), tolerance, "at most", self.assumption)

    def at_least(self, quantity: str, expected: float, computed: SupportsFloat, tolerance: float = 0.0) -> Check:
        """Check that the computed value is not below the expected one."""
        return Check(self.paper, quantity, self.kind, expected, float(computed), tolerance, "at least", self.assumption)

    def reported(self, quantity: str, computed: SupportsFloat) -> Check:
        """Show a value of which nothing is expected."""
        return Check(self.paper, quantity, self.kind, None, float(computed), 0.0, "reported", self.assumption)


@dataclass
class ValidationContext:
    """Settings shared by all validations of one run, and the figures they drew.

    Attributes:
        out: Folder for figures, or None to draw none.
        trials: Number of random impacts where a validation is statistical.
        seed: Seed of every random draw.
        figures: Files drawn so far.
        kinds: Kinds of the checks of the validation that runs, which its figures name.
        report: Called with the share done, 0..1, while a validation goes through its trials.
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
