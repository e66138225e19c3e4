"""The object's track and the contact point of simulated hits, held against what truly happened."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import point_jacobian
from impact_aware.estimation.contact_surface import fit_contact_surface
from impact_aware.recordings.contact_check import joint_jump
from impact_aware.recordings.results import AnalyzedImpact
from impact_aware_rigs.bench.lab_hit import TrueContact, TrueHit

NEAR = 0.02
"""A contact point counts as recovered within this distance, m."""

CLOSE = 0.1
"""Error of a restitution up to which it is recovered; one whose two standard errors are within it is told."""

SLOWEST = 0.05
"""Approach speed from which a restitution is compared, m/s."""


@dataclass
class ObjectScore:
    """Errors of the first hit of each recording.

    Attributes:
        speed: Norm of the error of the object's velocity after, over the true speed.
        velocity: The same, m/s.
        velocity_ratio: Each component's error in standard errors.
        restitution: Error of the coefficient.
        restitution_ratio: The same in standard errors.
        points: Contact points that the jump was held against.
        told: Distance of the fitted from the true point where the jump was said to tell it, m.
        accused: Of the right points, those that were said to be wrong.
        normals_accused: Of the right normals and frictions, those that were said to be wrong.
        normals: Of normals fitted to one hit of known tip and friction: error and standard error, rad; whether told.
    """

    speed: list[float] = field(default_factory=list)
    velocity: list[float] = field(default_factory=list)
    velocity_ratio: list[float] = field(default_factory=list)
    restitution: list[float] = field(default_factory=list)
    restitution_ratio: list[float] = field(default_factory=list)
    points: int = 0
    told: list[float] = field(default_factory=list)
    accused: int = 0
    normals_accused: int = 0
    normals: list[tuple[float, float, bool]] = field(default_factory=list)

    def take(self, impact: AnalyzedImpact, truth: TrueHit, contact: TrueContact) -> None:
        """Compare one impact that was found at a contact."""
        check = impact.contact_check
        if check is not None:
            self.points += 1
            self.accused += check.verdict == "another_point"
            self.normals_accused += check.another_surface
            self._take_normal(impact, truth, contact)
            if check.fit.told:
                place = truth.draw.robot.placement(impact.position, check.fit.frame)
                self.told.append(check.fit.distance(np.array(place.actInv(contact.point))))
        hit = impact.object_hit
        if hit is None:
            return
        error = hit.motion.velocity_after - contact.object_twist_after[:3]
        self.velocity.append(float(np.linalg.norm(error)))
        self.speed.append(self.velocity[-1] / max(float(np.linalg.norm(contact.object_twist_after[:3])), 1e-9))
        self.velocity_ratio += (np.abs(error) / hit.motion.velocity_after_error).tolist()
        true = true_restitution(truth, contact)
        if hit.restitution is not None and hit.restitution_error is not None and true is not None:
            self.restitution.append(abs(hit.restitution - true))
            self.restitution_ratio.append(self.restitution[-1] / max(hit.restitution_error, 1e-9))

    def add(self, other: ObjectScore) -> None:
        """Add what was compared elsewhere."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def _take_normal(self, impact: AnalyzedImpact, truth: TrueHit, contact: TrueContact) -> None:
        """The normal as `identify contact-point --fit normal` has it who knows tip, friction and the object's mass."""
        draw = truth.draw
        if impact.estimate is None:
            return
        fit = fit_contact_surface(
            draw.robot,
            [joint_jump(impact.position, impact.estimate)],
            friction=draw.friction,
            offset=draw.offset,
            radius=draw.robot.tool_radius,
            object_mass=None if draw.fixed else draw.mass,
        )
        apart = float(np.arccos(np.clip(fit.normal @ contact.normal, -1.0, 1.0)))
        self.normals.append((apart, fit.normal_error, fit.normal_told))

    def as_dict(self) -> dict[str, Any]:
        """The figures for the benchmark's JSON; None where nothing was compared."""
        told = np.array(self.told)
        return {
            "object_speed_error": _spread(self.speed) | {"metres_per_second": _spread(self.velocity)},
            "object_speed_error_over_se": _within(self.velocity_ratio),
            "restitution_error": _spread(self.restitution) | self._restitutions(),
            "restitution_error_over_se": _within(self.restitution_ratio),
            "contact_point": {
                "tested": self.points,
                "told": len(told),
                "within_2_cm": float(np.mean(told <= NEAR)) if len(told) else None,
                "right_point_accused": self.accused,
            },
            "normal": self._normals(),
        }

    def _restitutions(self) -> dict[str, Any]:
        """Shares within `CLOSE`: of all, and of those whose standard errors promise it."""
        errors, ratios = np.array(self.restitution), np.array(self.restitution_ratio)
        told = errors[2.0 * errors <= CLOSE * ratios]
        return {
            "within_0.1": float(np.mean(errors <= CLOSE)) if len(errors) else None,
            "told": len(told),
            "told_within_0.1": float(np.mean(told <= CLOSE)) if len(told) else None,
        }

    def _normals(self) -> dict[str, Any]:
        """Errors in degrees of the normals that were told; within two standard errors of the worse direction."""
        told = [(apart, error) for apart, error, tells in self.normals if tells]
        return {
            "fitted": len(self.normals),
            "told": len(told),
            "right_normal_accused": self.normals_accused,
            "error_deg": _spread([float(np.degrees(apart)) for apart, _ in told]),
            "error_over_se": _within([apart / error for apart, error in told]),
            "error_deg_of_all": _spread([float(np.degrees(apart)) for apart, _, _ in self.normals]),
            "stated_deg_of_all": _spread([float(np.degrees(error)) for _, error, _ in self.normals]),
            "error_over_se_of_all": _within([apart / error for apart, error, _ in self.normals]),
        }


def true_restitution(truth: TrueHit, contact: TrueContact) -> float | None:
    """Newton's coefficient of the touched points, of the arm without its joints' oscillation.

    Its velocities are what an impact map takes and gives; the links' own restitution is another one where joints give.
    None without an approach.
    """
    robot = truth.draw.plant
    row = int(np.searchsorted(truth.times, contact.time, side="right")) - 1
    q = truth.positions[row]
    place = robot.placement(q)
    arm = contact.normal @ point_jacobian(contact.point - place.translation) @ robot.frame_jacobian(q)
    lever = contact.normal @ point_jacobian(contact.point - truth.object_positions[row])

    def relative(joints: Array, twist: Array) -> float:
        return float(arm @ joints - (0.0 if truth.draw.fixed else lever @ twist))

    approach = -relative(contact.velocity_before, contact.object_twist_before)
    if approach < SLOWEST:
        return None
    return relative(contact.velocity_before + contact.jump, contact.object_twist_after) / approach


def _spread(values: list[float]) -> dict[str, Any]:
    if not values:
        return {"count": 0, "p50": None, "p95": None}
    return {"count": len(values), "p50": float(np.percentile(values, 50)), "p95": float(np.percentile(values, 95))}


def _within(ratios: list[float]) -> dict[str, Any]:
    return {"within_2": float(np.mean(np.array(ratios) <= 2.0)) if ratios else None}
