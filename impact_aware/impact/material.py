"""What the material of pads decides where several contacts share one impact: an interval of the prediction.

Rigid contacts that act on each other stop together; between pads that yield, one rebounds while another still
compresses (`yielding_pads`). Their laws in turn and drawn ratios of stiffness span an interval; what is known of the
pads, their law and how far their stiffness differs, narrows it. Where nothing is known it is wide, and real pads can be
outside: docs/validation.md has the share of scenes of an engine, and of a law held out, that are inside
(`impact-aware validate engines`). `impact-aware identify material` finds law and ratio from recorded hits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import contact_axes
from impact_aware.impact.bodies import JointProblem
from impact_aware.impact.simultaneous import SimultaneousPrediction
from impact_aware.impact.yielding_pads import LAWS, pads_impulse
from impact_aware.parameters import Options, described
from impact_aware.ranges import Range

RIGID, ANY = "rigid", "any"

MATERIALS = (RIGID, ANY, *LAWS)
"""Materials of pads: rigid contacts, whose law is that of `predict_simultaneous`; pads that yield by any law, or by one
of `LAWS`."""

DRAWS = 60
"""Materials that an interval is made of, the laws in turn."""

INSIDE = 0.95
"""Share of the materials inside an interval, with all their velocities."""


@dataclass(frozen=True, kw_only=True)
class Pads(Options):
    """What is known of the pads between bodies that several contacts join."""

    material: str = described(
        RIGID, "of pads and table: any, or the law of pads that yield, makes mean and spread of drawn pads",
        choices=MATERIALS,
    )
    stiffness_ratio: float = described(
        4.0, "stiffness of the hardest pad over that of the softest, at most", within=Range(1.0, 100.0)
    )

    @property
    def laws(self) -> tuple[str, ...]:
        """Laws by which the pads may yield; none of rigid ones."""
        return {RIGID: (), ANY: LAWS}.get(self.material, (self.material,))

    @property
    def draws(self) -> int:
        """Number of pads that an interval is made of: one of each law where all are equally hard."""
        return len(self.laws) if self.stiffness_ratio == 1.0 else DRAWS


RIGID_PADS, ANY_PADS = Pads(), Pads(material=ANY)


def draw_materials(
    law: SimultaneousPrediction,
    problem: JointProblem,
    generator: np.random.Generator,
    *,
    pads: Pads = ANY_PADS,
    most: int = DRAWS,
    stiffness: float = 1.0,
    gaps: Array | None = None,
) -> Array:
    """Impulses (draws, 3 m) of pads that yield, of drawn stiffness, their laws in turn, in contact axes, N s.

    One contact has no redundancy, so no material; nor have contacts that do not approach: the law's impulses (1, 3 m).

    Args:
        law: Of the rigid contacts.
        problem: Of its contacts.
        generator: Draws the stiffness of each contact.
        pads: What is known of them.
        most: Largest number of draws.
        stiffness: Geometric mean, N/m; matters with `gaps` only.
        gaps: (m,) What contacts still have to close, m; None when all touch at once.
    """
    before, contacts = problem.jacobian @ problem.velocity, law.contacts
    if len(contacts) == 1 or not before[::3].min() < 0.0:
        own = [contact_axes(each.normal) @ impulse for each, impulse in zip(contacts, law.impulse, strict=True)]
        return np.concatenate(own)[None]
    friction, restitution = np.array([(each.friction, each.restitution) for each in contacts]).T
    hardness = stiffness * pads.stiffness_ratio ** generator.uniform(-0.5, 0.5, (min(pads.draws, most), len(contacts)))
    how = problem.delassus, before, friction.copy(), restitution
    turns = pads.laws
    return np.array([pads_impulse(*how, own, turns[draw % len(turns)], gaps) for draw, own in enumerate(hardness)])


def material_interval(drawn: Array) -> tuple[Array, Array, Array]:
    """Mean (k,) of drawn values (draws, k), half the width (k,) that holds most of them whole, and its covariance."""
    if len(drawn) == 1:
        return drawn[0], np.zeros_like(drawn[0]), np.zeros((drawn.shape[1],) * 2)
    centre, deviation = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    multiples = np.sort((np.abs(drawn - centre) / (deviation + 1e-9 * np.abs(centre).max())).max(axis=1))
    # Of k draws and a further one, that many of k are inside (Vovk's conformal quantile).
    reach = float(multiples[min(math.ceil(INSIDE * (len(drawn) + 1)), len(drawn)) - 1])
    return centre, reach * deviation, reach**2 * np.cov(drawn.T)
