"""The wanted result of a hit: an object's velocity after it, the way it slides alone, or where it shall end."""

from __future__ import annotations

from dataclasses import dataclass

from impact_aware.errors import InvalidInputError
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range
from impact_aware.task.task_object import POSITION, Vector

VELOCITY, SLIDE, GOAL = "velocity", "slide", "goal"


@dataclass(frozen=True, kw_only=True)
class WantedResult(Options):
    """One of `velocity`, `slide` and `goal`, in the task's frame; `velocity` may stand beside `goal`."""

    velocity: Vector | None = described(
        None, "of the object just after the impact", within=Range(-5.0, 5.0, "m/s"), absent="not wanted"
    )
    slide: tuple[float, float] | None = described(
        None, "horizontal way that the object slides alone", within=Range(-5.0, 5.0, "m"), absent="not wanted"
    )
    goal: Vector | None = described(
        None, "position of the object's centre to which the tools take it", within=POSITION, absent="not wanted"
    )
    tolerance: float = described(0.1, "allowed error, as a share of the result", within=Range(0.001, 1.0))

    def __post_init__(self) -> None:
        """Refuse no result, two that exclude each other, and one of zero size.

        Raises:
            InvalidInputError: Naming the entry.
        """
        super().__post_init__()
        given = [name for name in (VELOCITY, SLIDE, GOAL) if getattr(self, name) is not None]
        if given not in ([VELOCITY], [SLIDE], [GOAL], [VELOCITY, GOAL]):
            raise InvalidInputError("result", ", ".join(given) or "nothing", "one of velocity, slide and goal")
        for name in given:
            if name != GOAL and not any(getattr(self, name)):
                raise InvalidInputError(f"result.{name}", list(getattr(self, name)), "a direction and a size > 0")

    @property
    def kind(self) -> str:
        """`velocity`, `slide` or `goal`."""
        return GOAL if self.goal is not None else SLIDE if self.slide is not None else VELOCITY

    @property
    def is_free(self) -> bool:
        """Whether any speed will do, as with a goal alone."""
        return self.goal is not None and self.velocity is None
