"""An expected number, the number computed here, and where the expectation comes from."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, SupportsFloat

Relation = Literal["equal", "at most", "at least", "reported"]
Kind = Literal["printed", "aim", "consistency"]

KINDS: dict[Kind, str] = {
    "printed": "the number stands in a paper",
    "aim": "the bound is ours: on an accuracy, or for what a paper only says in words or shows in a picture",
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
