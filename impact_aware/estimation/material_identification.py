"""The material of pads from recorded hits of a palm: the law by which they yield, and how far their stiffness differs.

Where a palm's corners share one impact, the jump of the joints depends on the pads (`impact_aware.impact.material`).
Drawn pads of each law and ratio of stiffness predict jumps with a mean and a covariance. Under these and its own error
a recorded jump has a likelihood. Before, all laws are equally probable, and so are the compared ratios.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.identification import UNEXPLAINED, Identification
from impact_aware.estimation.trials import ImpactTrial, check_trials
from impact_aware.impact.bodies import ArmState, JointProblem, joint_problem
from impact_aware.impact.hit import ARM, hit_contacts
from impact_aware.impact.material import Pads, draw_materials
from impact_aware.impact.palm import checked_palm
from impact_aware.impact.simultaneous import SimultaneousPrediction, predict_simultaneous
from impact_aware.impact.yielding_pads import LAWS
from impact_aware.robot import RobotModel

RATIOS = (1.0, 1.3, 2.0, 4.0, 8.0)
"""Ratios of stiffness that are compared."""

OFF = 0.02
"""Error of a law of pads, of the jump: Drake's pads are 1 % off those of its law here (`validate engines`)."""

DRAWS = 24
"""Pads of each law and ratio: three times the joints of an arm, for the covariance of their jumps."""

_SEED = 42


class SharedImpact(NamedTuple):
    """One impact that several contacts shared.

    Attributes:
        law: Of the rigid contacts.
        problem: Of its contacts.
        rows: Which of the problem's velocities were recorded.
        jump: (k,) Of these, rad/s.
        covariance: (k, k) Of `jump`.
        gaps: (m,) What contacts still had to close, m; None when all touched at once.
        stiffness: Of the pads, N/m; matters with `gaps` only.
    """

    law: SimultaneousPrediction
    problem: JointProblem
    rows: slice
    jump: Array
    covariance: Array
    gaps: Array | None = None
    stiffness: float = 1.0


def material_likelihoods(impacts: Sequence[SharedImpact]) -> Array:
    """Log-likelihoods (laws, ratios) of recorded jumps under each of `LAWS` and `RATIOS`."""
    table = np.zeros((len(LAWS), len(RATIOS)))
    for place in np.ndindex(*table.shape):
        pads = Pads(material=LAWS[place[0]], stiffness_ratio=RATIOS[place[1]])
        for impact in impacts:
            jumps = _jumps(impact, pads)
            spread = np.cov(jumps.T, ddof=0) if len(jumps) > 1 else np.zeros_like(impact.covariance)
            off = OFF**2 * float(impact.jump @ impact.jump) / len(impact.jump)
            root = np.linalg.cholesky(impact.covariance + spread + off * np.eye(len(impact.jump)))
            left = np.linalg.solve(root, impact.jump - jumps.mean(axis=0))
            table[place] -= 0.5 * float(left @ left) + float(np.log(np.diag(root)).sum())
    return table


def identify_material(
    robot: RobotModel,
    trials: Sequence[ImpactTrial],
    half_sizes: ArrayLike,
    *,
    shape: Shape | None = None,
    table_friction: float | None = None,
    confidence: float = 0.95,
) -> Identification:
    """Law and largest ratio of stiffness of the pads between a palm, what it hit, and its table.

    Friction and restitution are taken from each trial's contact, motor inertia from the robot.

    Args:
        robot: The arm.
        trials: Recorded impacts; the palm's contact points are found from posture and shape.
        half_sizes: (3,) Half edges of the palm along the axes of the contact's frame, m.
        shape: Of the objects that were hit, axes along the base frame; the palm's whole face touches when None.
        table_friction: Coulomb coefficient between object and table; None for an object that nothing else holds.
        confidence: Of the ratio's interval, and of a law that is determined.

    Raises:
        InvalidInputError: No trial, trials of another robot, no palm, or hits in which one contact alone acted.
    """
    check_trials(robot, list(trials))
    half = checked_palm(half_sizes)
    shared = [_shared(robot, trial, half, shape, table_friction) for trial in trials]
    several = [impact for impact in shared if len(impact.law.contacts) > 1]
    if not several:
        raise InvalidInputError("trials", "one contact in each", "hits that several contacts share: a palm")
    table = material_likelihoods(several)
    weights = np.exp(table - table.max())
    laws, ratios = weights.sum(axis=1) / weights.sum(), weights.sum(axis=0) / weights.sum()
    best = int(laws.argmax())
    of_best = weights[best] / weights[best].sum()
    edges = np.cumsum(of_best)
    tail = 0.5 * (1.0 - confidence)
    low, value, high = (RATIOS[int(np.searchsorted(edges, share - 1e-12))] for share in (tail, 0.5, 1.0 - tail))
    shown = ", ".join(f"{law} {share:.3g}" for law, share in zip(LAWS, laws.tolist(), strict=True))
    warnings = [f"law: probabilities {shown}"]
    sure = bool(laws[best] >= confidence)
    if not sure:
        warnings.append("law: not determined by the recordings: use the material any, or record more hits")
    if ratios[-1] > tail:
        warnings.append(f"stiffness ratio: it may be larger than {RATIOS[-1]:g}, the largest that is compared")
    jumps = np.concatenate([impact.jump for impact in several])
    pads = Pads(material=LAWS[best], stiffness_ratio=value)
    left = jumps - np.concatenate([_jumps(impact, pads).mean(axis=0) for impact in several])
    error, size = (float(np.sqrt(np.mean(each**2))) for each in (left, jumps))
    if error > UNEXPLAINED * size:
        warnings.append(f"model: {error:.2g} rad/s of jumps of {size:.2g} rad/s stay unexplained; check the palm")
    return Identification(
        quantity="material",
        names=(f"stiffness ratio, {LAWS[best]}",),
        unit="1",
        values=np.array([value]),
        lower=np.array([low]),
        upper=np.array([high]),
        confidence=confidence,
        determined=np.array([sure]),
        error=error,
        trials=len(several),
        warnings=tuple(warnings),
    )


def _shared(
    robot: RobotModel, trial: ImpactTrial, half: Array | None, shape: Shape | None, table_friction: float | None
) -> SharedImpact:
    """One recorded impact with all its contacts."""
    arm, thing = ArmState(robot, trial.q, trial.velocity_before), trial.obstacle
    body = None if thing is None or shape is None else PlacedShape(shape, thing.position)
    own, others, objects = hit_contacts(arm, trial.contact, half, thing, body, table_friction)
    contacts, arms = own + others, {ARM: arm}
    law = predict_simultaneous(contacts, arms=arms, objects=objects, search=False)
    problem = joint_problem(contacts, arms=arms, objects=objects)
    before = trial.standard_error if trial.before_error is None else trial.before_error
    covariance = np.diag(trial.standard_error**2 + before**2)
    return SharedImpact(law, problem, problem.columns[ARM], trial.velocity_after - trial.velocity_before, covariance)


def _jumps(impact: SharedImpact, pads: Pads) -> Array:
    """Jumps (draws, k) of the recorded velocities with drawn pads, rad/s."""
    generator, (law, problem) = np.random.default_rng(_SEED), impact[:2]
    drawn = draw_materials(
        law, problem, generator, pads=pads, most=DRAWS, stiffness=impact.stiffness, gaps=impact.gaps
    )
    return np.asarray(drawn @ problem.response[impact.rows].T)
