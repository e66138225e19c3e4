"""The table under a free object, as the impact of one tool contact feels it: its corners push back at the same time.

A tool that hits an object on a table pushes it against the table's friction, and turns it onto corners of its base.
The contact problem is that of `predict_simultaneous` for the tool's contact and those of the base, assembled from the
tool's own 3 x 3 problem, which every state has anew, and from what the object adds, which stays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FreeObject, contact_axes
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import NoSolutionError
from impact_aware.impact.cone_complementarity import SOLVED
from impact_aware.impact.cone_kernels import solve
from impact_aware.impact.contact_impulse import LocalImpulse, Mode
from impact_aware.impact.palm import table_contacts
from impact_aware.impact.poisson_restitution import solve_poisson

# Speeds below this share of the tool's before the impact are none.
_STILL = 1e-6


class TableReaction(NamedTuple):
    """What the table does during the impact.

    Attributes:
        twist: (6,) What its push adds to the object's twist, base frame, m/s and rad/s.
        energy_loss: At its contacts, J.
    """

    twist: Array
    energy_loss: float


class SupportedImpulse(NamedTuple):
    """Answer for one tool contact and the table.

    Attributes:
        tool: Impulse on the robot, and the tool's mode.
        table: The table's part.
        stacked: (3 m,) Impulses of the tool and of all corners, N s.
    """

    tool: LocalImpulse
    table: TableReaction
    stacked: Array


class TableSupport:
    """A table that a free object stands on with the corners of its base."""

    def __init__(self, body: PlacedShape, obstacle: FreeObject, friction: float, up: ArrayLike) -> None:
        """Prepare what does not change with the tool.

        Args:
            body: The object's shape where it stands, base frame.
            obstacle: The object; where it moves along, the table moves with it, as a belt does.
            friction: Coulomb's coefficient between object and table.
            up: (3,) The vertical, base frame.
        """
        corners = table_contacts("object", body, friction, up)
        axes = contact_axes(corners[0].normal)
        rows = np.concatenate([axes @ obstacle.jacobian(corner.point) for corner in corners])
        self._obstacle = obstacle
        self._answer = obstacle.inverse_inertia @ rows.T
        self._mobility = rows @ self._answer
        belt = np.concatenate((obstacle.twist[:3], np.zeros(3)))
        self._velocity = rows @ (obstacle.twist - belt)
        self._friction = np.full(1 + len(corners), float(friction))

    def solve(
        self,
        axes: Array,
        point: Array,
        delassus: Array,
        velocity: Array,
        friction: float,
        restitution: float,
        near: Array | None = None,
        *,
        lightness: float = 1.0,
    ) -> SupportedImpulse:
        """Impulses of the tool and the table.

        Args:
            axes: (3, 3) Of the tool's contact, normal first, base frame.
            point: (3,) Where the tool touches, base frame, m.
            delassus: (3, 3) Of the tool's contact with the object, as if nothing held it, 1/kg.
            velocity: (3,) Of the tool relative to the object, m/s.
            friction: Of the tool's contact.
            restitution: Of the tool's contact.
            near: (3 m,) Impulses of a problem nearby, N s.
            lightness: The prepared object's mass over that of this problem, whose inertia is off by the same share.

        Raises:
            NoSolutionError: Numbers beyond the solver.
        """
        count = 3 + len(self._velocity)
        matrix, free, coefficients = np.empty((count, count)), np.empty(count), self._friction.copy()
        answer = lightness * self._answer
        matrix[:3, :3], matrix[3:, 3:] = delassus, lightness * self._mobility
        matrix[:3, 3:] = (axes @ self._obstacle.jacobian(point)) @ -answer
        matrix[3:, :3] = matrix[:3, 3:].T
        free[:3], free[3:], coefficients[0] = velocity, self._velocity, friction
        if restitution > 0.0:
            back = np.zeros(len(coefficients))
            back[0] = restitution
            found = solve_poisson(matrix, free, coefficients, back)
            impulse, residual = found.impulse, found.residual
        else:
            impulse = np.zeros(count) if near is None else near.copy()
            residual = solve(matrix, free, coefficients, impulse, near is not None)
        if not residual < SOLVED:
            raise NoSolutionError("tool and table find no common impulse", problem=(matrix, free))
        after = free + matrix @ impulse
        still = _STILL * float(np.abs(velocity).max())
        p_n, p_1, p_2 = impulse[:3].tolist()
        mode: Mode = "stick" if friction > 0.0 and math.hypot(after[1], after[2]) <= still else "slide"
        if p_n <= _STILL * float(np.abs(impulse).max()):
            mode = "separate"
        table = TableReaction(answer @ impulse[3:], -0.5 * float(impulse[3:] @ (free[3:] + after[3:])))
        return SupportedImpulse(LocalImpulse(p_n, p_1, p_2, mode), table, impulse)
