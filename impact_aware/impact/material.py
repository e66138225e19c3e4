"""What the material of pads decides where several contacts share one impact: an interval of the prediction.

Rigid contacts that act on each other stop together; between pads that yield, one rebounds while another still
compresses (`yielding_pads`). Where nothing is known of the pads, their laws in turn and drawn ratios of stiffness span
an interval. It is wide, and real pads can be outside: docs/validation.md has the share of scenes of an engine, and of a
law held out, that are inside (`impact-aware validate engines`).
"""

from __future__ import annotations

import math

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import contact_axes
from impact_aware.impact.bodies import JointProblem
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.impact.yielding_pads import LAWS, pads_impulse

RIGID, ANY = "rigid", "any"

MATERIALS = (RIGID, ANY)
"""Materials of pads: rigid contacts, whose law is that of `predict_simultaneous`, or any pads that yield."""

RATIO = 4.0
"""Stiffest pad of an impact over the softest one, at most."""

DRAWS = 60
"""Materials that an interval is made of, the laws in turn."""

INSIDE = 0.95
"""Share of the materials inside an interval, with all their velocities."""


def draw_materials(
    law: SimultaneousPrediction,
    problem: JointProblem,
    generator: np.random.Generator,
    *,
    stiffness: float = 1.0,
    gaps: Array | None = None,
) -> Array:
    """Impulses (draws, 3 m) of pads of drawn stiffness, their laws in turn, in contact axes, N s.

    One contact has no redundancy, so no material; nor have contacts that do not approach: the law's impulses (1, 3 m).

    Args:
        law: Of the rigid contacts.
        problem: Of its contacts.
        generator: Draws the stiffness of each contact.
        stiffness: Geometric mean, N/m; matters with `gaps` only.
        gaps: (m,) What contacts still have to close, m; None when all touch at once.
    """
    before, contacts = problem.jacobian @ problem.velocity, law.contacts
    if len(contacts) == 1 or not before[::3].min() < 0.0:
        own = [contact_axes(each.normal) @ impulse for each, impulse in zip(contacts, law.impulse, strict=True)]
        return np.concatenate(own)[None]
    friction, restitution = np.array([(each.friction, each.restitution) for each in contacts]).T
    pads = stiffness * RATIO ** generator.uniform(-0.5, 0.5, (DRAWS, len(contacts)))
    how = problem.delassus, before, friction.copy(), restitution
    return np.array([pads_impulse(*how, own, LAWS[draw % len(LAWS)], gaps) for draw, own in enumerate(pads)])


def material_interval(drawn: Array) -> tuple[Array, Array, Array]:
    """Mean (k,) of drawn values (draws, k), half the width (k,) that holds most of them whole, and its covariance."""
    if len(drawn) == 1:
        return drawn[0], np.zeros_like(drawn[0]), np.zeros((drawn.shape[1],) * 2)
    centre, deviation = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    multiples = np.sort((np.abs(drawn - centre) / (deviation + 1e-9 * np.abs(centre).max())).max(axis=1))
    # Of k draws and a further one, that many of k are inside (Vovk's conformal quantile).
    reach = float(multiples[math.ceil(INSIDE * (len(drawn) + 1)) - 1])
    return centre, reach * deviation, reach**2 * np.cov(drawn.T)
