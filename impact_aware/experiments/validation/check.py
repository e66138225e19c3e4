"""One number of a paper beside the same number computed here."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal, SupportsFloat

Relation = Literal["equal", "at most", "at least"]


@dataclass(frozen=True)
class Check:
    """A printed value, a computed value, and how they must relate.

    Attributes:
        paper: Where the printed value stands: paper, table, figure or equation.
        quantity: What it is, with its unit.
        printed: The value typed in from the paper, or the aim.
        computed: The value computed here.
        tolerance: Allowed distance; what an equality may miss, or a bound may be passed by.
        relation: Whether `computed` must equal `printed`, or be at most or at least that.
        assumption: What had to be assumed because the paper withholds it; empty when nothing.
        name: Of the validation it belongs to, which the registry fills in.
    """

    paper: str
    quantity: str
    printed: float
    computed: float
    tolerance: float
    relation: Relation = "equal"
    assumption: str = ""
    name: str = ""

    @property
    def ok(self) -> bool:
        """Whether the relation holds; never for a value that is not a number."""
        if math.isnan(self.computed):
            return False
        excess = self.computed - self.printed
        if self.relation == "at most":
            return excess <= self.tolerance
        if self.relation == "at least":
            return -excess <= self.tolerance
        return abs(excess) <= self.tolerance

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {**asdict(self), "ok": bool(self.ok)}


@dataclass(frozen=True)
class Source:
    """Where several printed values stand, and what all of their checks assume.

    Attributes:
        paper: As `Check.paper`.
        assumption: As `Check.assumption`.
    """

    paper: str
    assumption: str = ""

    def equal(self, quantity: str, printed: float, computed: SupportsFloat, tolerance: float) -> Check:
        """Check that the computed value is the printed one."""
        return Check(self.paper, quantity, printed, float(computed), tolerance, "equal", self.assumption)

    def at_most(self, quantity: str, printed: float, computed: SupportsFloat, tolerance: float = 0.0) -> Check:
        """Check that the computed value is not above the printed one."""
        return Check(self.paper, quantity, printed, float(computed), tolerance, "at most", self.assumption)

    def at_least(self, quantity: str, printed: float, computed: SupportsFloat, tolerance: float = 0.0) -> Check:
        """Check that the computed value is not below the printed one."""
        return Check(self.paper, quantity, printed, float(computed), tolerance, "at least", self.assumption)
