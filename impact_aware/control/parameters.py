"""Numbers of the reference spreading controller, declared once."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from impact_aware.errors import InvalidInputError, check_name
from impact_aware.parameters import described

VARIANTS = ("proposed", "no_rs", "no_interim", "no_impact_map")
INTERIM_ENDS = ("time", "contact_complete")


@dataclass(frozen=True)
class ControlParameters:
    """Gains, weights and limits; the defaults of the first group are Table I of van Steen 2024.

    Those of the synchronisation are not: it has no authority with the table's 10 1/s^2 and 1 1/m (docs/papers.md), and
    `settling_rate` and `friction_ramp` are ours.
    Every field carries its description, unit and range (`impact_aware.parameters`). Those that are `tunable` act only
    while an arm follows the field: they change no torque of one that holds.
    """

    period: float = described(0.001, "Control period (Delta t), s", 1e-4, 0.1)
    track_damping: float = described(40.0, "Gain on the twist error (D_track), 1/s", 0.0, 1000.0, tunable=True)
    track_stiffness: float = described(
        40.0, "Gain on the pose error in the interim mode (K_track), 1/s^2", 0.0, 1e5, tunable=True
    )
    null_space_stiffness: float = described(250.0, "Gain of the null-space joint (k_q), 1/s^2", 0.0, 1e5, tunable=True)
    sync_stiffness: float = described(
        100.0, "Gain of the synchronisation of two arms (k_sync), 1/s^2", 0.0, 1e5, tunable=True
    )
    track_weight: float = described(1.0, "Weight of the tracking task (w_track)", 0.0, 1e6, tunable=True)
    null_space_weight: float = described(1.0, "Weight of the null-space task (w_q)", 0.0, 1e6, tunable=True)
    sync_weight: float = described(100.0, "Weight of the synchronisation task (w_sync), 1/m", 0.0, 1e6, tunable=True)
    interim_duration: float = described(0.1, "Duration of the interim mode (Delta t_int), s", 0.0, 10.0, tunable=True)
    settling_rate: float = described(
        10.0, "Rate at which a rotation that the impact left dies away (lambda), 1/s", 0.1, 100.0, tunable=True
    )
    friction_ramp: float = described(
        0.01,
        "Time over which a single arm's force against friction sets in from the impact on, s; not tied to gamma",
        0.0,
        10.0,
        tunable=True,
    )

    variant: str = described("proposed", "Controller: the proposed one or one of its baselines", choices=VARIANTS)
    interim_end: str = described(
        "time", "From when gamma grows: the first impact, or complete contact", choices=INTERIM_ENDS
    )
    completion_timeout: float = described(
        0.5,
        "Longest wait for complete contact from the first impact on, s; then gamma grows all the same",
        0.0,
        10.0,
        tunable=True,
    )
    regularisation: float = described(1e-6, "Weight that keeps the QP strictly convex at singular postures", 1e-9, 1.0)
    braking_acceleration: float = described(
        10.0, "Joint deceleration that is always kept available before a position limit, rad/s^2", 0.1, 1000.0
    )
    velocity_horizon: float = described(
        0.02, "Time over which the rest of a joint's velocity range may be used up, s; one period is eq. (30)", 0.0, 1.0
    )
    safe_damping: float = described(10.0, "Rate at which the safe mode takes velocity away, 1/s", 0.1, 100.0)
    hold_stiffness: float = described(800.0, "Gain of the posture held at rest, 1/s^2", 1.0, 1e4)
    rest_velocity: float = described(0.02, "Joint velocity below which the arm counts as at rest, rad/s", 1e-4, 1.0)
    state_age_limit: float = described(0.02, "A joint state older than this leads to the safe mode, s", 1e-3, 10.0)

    def __post_init__(self) -> None:
        """Check every number against its declared range.

        Raises:
            InvalidInputError: A number out of its range.
            UnknownNameError: A choice that does not exist.
        """
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            choices = entry.metadata["choices"]
            if choices:
                check_name(entry.name, value, choices)
                continue
            low, high = entry.metadata["low"], entry.metadata["high"]
            if not (isinstance(value, (int, float)) and math.isfinite(value) and low <= value <= high):
                raise InvalidInputError(entry.name, value, f"a number {low:g}..{high:g}")

    def tuned_as(self, others: ControlParameters) -> ControlParameters:
        """These, with the `tunable` ones of others."""
        tunable = (entry.name for entry in dataclasses.fields(self) if entry.metadata["tunable"])
        return dataclasses.replace(self, **{name: getattr(others, name) for name in tunable})

    @property
    def uses_interim(self) -> bool:
        """Whether the interim mode (32)-(36) exists."""
        return self.variant in ("proposed", "no_impact_map")

    @property
    def uses_prediction(self) -> bool:
        """Whether the post-impact field starts at the predicted velocity (15), or is (14) alone."""
        return self.variant in ("proposed", "no_interim")
