"""Faults of recorded samples, counted, and one sentence for each kind."""

from __future__ import annotations

from dataclasses import dataclass, field


def span_text(span: float) -> str:
    """A span of time, s, in ms, from 1 s on in s."""
    return f"{1e3 * span:.3g} ms" if span < 0.9995 else f"{span:.4g} s"


@dataclass(eq=False)
class InputFaults:
    """Faults of the samples of one arm, counted.

    Attributes:
        seen: Samples that came in.
        backwards: Stamps that were smaller than the one before.
        sorted: Messages that were out of order.
        copies: Messages that were exact copies, or had the stamp of another.
        foreign: Messages with values that the arm could not reach: those of another publisher.
        constant: Whether these all held one and the same values.
        wrong: Messages, and single positions, that stand apart from their neighbours.
        held: Messages that repeat positions while the arm moves.
        late: Stamps off the cadence.
        latest: Largest distance of such a stamp, s.
        gaps: Times without samples that are longer than `input_stage.GAP` periods.
        longest: Length of the longest of them and the time before it, s.
        steps: Time before each step of the clock, s, and its size, s.
        turns: Whole turns after which an angle began anew.
    """

    seen: int = 0
    backwards: int = 0
    sorted: int = 0
    copies: int = 0
    foreign: int = 0
    constant: bool = True
    wrong: int = 0
    held: int = 0
    late: int = 0
    latest: float = 0.0
    gaps: int = 0
    longest: tuple[float, float] = (0.0, 0.0)
    steps: list[tuple[float, float]] = field(default_factory=list)
    turns: int = 0

    def notes(self) -> list[str]:
        """One sentence for each kind of fault that was found."""
        seen = self.seen
        values = "one and the same values" if self.constant else "values of another arm"
        times = "once" if self.turns == 1 else f"{self.turns} times"
        found = (
            (
                self.foreign,
                f"a second publisher: {self.foreign} of {seen} messages hold {values}, which this arm could not reach "
                "between its own; they are left out",
            ),
            *(
                (True, f"the clock stepped by {size:.4g} s after {time:.3f} s: both parts are analyzed as they are")
                for time, size in self.steps[:5]
            ),
            (len(self.steps) > 5, f"the clock stepped {len(self.steps) - 5} more times"),
            (self.sorted, f"{self.sorted} of {seen} messages were out of order: sorted by their stamps"),
            (self.copies, f"{self.copies} of {seen} messages repeat the stamp of another: left out"),
            (self.held, f"{self.held} of {seen} messages repeat positions while the arm moves: left out"),
            (self.wrong, f"{self.wrong} single values of {seen} messages stand apart: replaced or left out"),
            (
                self.late,
                f"{self.late} of {seen} stamps are off the regular cadence, by up to {1e3 * self.latest:.2g} ms: "
                "corrected by cadence and positions, with an error of their own",
            ),
            (
                self.gaps,
                f"no samples for {span_text(self.longest[0])} after {self.longest[1]:.3f} s"
                + (f", the longest of {self.gaps} gaps" if self.gaps > 1 else ""),
            ),
            (self.turns, f"an angle began anew after a whole turn {times}, and was carried on"),
        )
        return [sentence for count, sentence in found if count]
