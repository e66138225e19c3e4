"""Which runs a campaign consists of: every object with every start position and every displacement, several times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from impact_aware.control import VARIANTS
from impact_aware.errors import InvalidInputError, check_name


@dataclass(frozen=True)
class CampaignTask:
    """What a task is tried with.

    Attributes:
        task: Name of the task file.
        objects: Names of its objects.
        shown: Object and displacement of the run that the figure of velocities shows, as Figures 6, 8 and 9.
        detector: What detects: a soft palm on a light object takes torques too.
        displacements: Of the object along the impact direction of the first arm, against it positive, m.
        starts: Indices of its start positions.
        duration: Longest simulated time of a run, s.
    """

    task: str
    objects: tuple[str, ...]
    shown: tuple[str, float]
    detector: str = "adaptive_window"
    displacements: tuple[float, ...] = (-0.03, 0.0, 0.03)
    starts: tuple[int, ...] = (0, 1, 2)
    duration: float = 4.0


_PACKS = ("juice_pack", "cat_food", "parcel")

CAMPAIGNS = {
    "hit-and-push": CampaignTask("hit_and_push_palm", _PACKS, ("juice_pack", 0.0), "fusion"),
    "hit-and-push-ball": CampaignTask("hit_and_push", _PACKS, ("juice_pack", 0.0)),
    "hit-and-push-can": CampaignTask("hit_and_push_can", ("quart_can", "gallon_can"), ("quart_can", 0.0), "fusion"),
    "hit-and-push-wedge": CampaignTask("hit_and_push_wedge", ("wedge",), ("wedge", 0.0), "fusion"),
    "dual-arm-grab": CampaignTask("dual_arm_grab", _PACKS, ("cat_food", 0.015), displacements=(0.0, 0.015, 0.03)),
}
"""Campaigns by name."""


CONTROLLERS: dict[str, dict[str, Any]] = {
    **{name: {"variant": name} for name in VARIANTS},
    "proposed_completion": {"variant": "proposed", "interim_end": "contact_complete"},
}
"""What a controller's name stands for: the four of van Steen 2024, and ours whose gamma waits for complete contact."""


@dataclass(frozen=True)
class Setup:
    """One run.

    Attributes:
        campaign: Key of `CAMPAIGNS`.
        object: Name of the object.
        start: Index of the start position.
        displacement: Of the object, m.
        repeat: Number of the repeat.
        controller: Key of `CONTROLLERS`.
    """

    campaign: str
    object: str
    start: int
    displacement: float
    repeat: int
    controller: str

    @property
    def key(self) -> str:
        """Text that identifies this run."""
        parts = (self.campaign, self.object, self.start, f"{1e3 * self.displacement:+.1f}mm", self.repeat)
        return "/".join(map(str, (*parts, self.controller)))


def plan(campaign: str, repeats: int, controllers: Iterable[str] = VARIANTS) -> list[Setup]:
    """All runs: every object with every start position, and with every displacement, which makes 300 of five repeats.

    Start positions and displacements are varied one at a time, as the 15 physical setups of van Steen 2024, section V,
    suggest.

    Raises:
        UnknownNameError: No such campaign or controller.
        InvalidInputError: Less than one repeat.
    """
    known = campaign_task(campaign)
    for name in controllers:
        check_name("controller", name, CONTROLLERS)
    if repeats < 1:
        raise InvalidInputError("repeats", repeats, "a number >= 1")
    nominal_start, nominal = known.starts[0], 0.0
    conditions = [(start, nominal) for start in known.starts]
    conditions += [(nominal_start, shift) for shift in known.displacements if shift != nominal]
    return [
        Setup(campaign, name, start, shift, repeat, controller)
        for repeat in range(repeats)
        for name in known.objects
        for start, shift in conditions
        for controller in controllers
    ]


def campaign_task(campaign: str) -> CampaignTask:
    """What a campaign tries.

    Raises:
        UnknownNameError: No such campaign.
    """
    check_name("campaign", campaign, CAMPAIGNS)
    return CAMPAIGNS[campaign]
