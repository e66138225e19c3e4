"""The outcome of one impact: what the joints, the contact and the object do just after."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject
from impact_aware.impact.contact_impulse import LocalImpulse, Mode
from impact_aware.impact.contact_space import ContactSpace
from impact_aware.impact.table_support import TableReaction


class ImpactPrediction(NamedTuple):
    """State just after an impact. Vectors of three are in the base frame; `n` joints.

    What follows from the stored fields by a product is a property, so that a control loop pays only for what it reads.

    Attributes:
        velocity_before: (n,) Ante-impact joint velocities, rad/s.
        velocity_after: (n,) Post-impact joint velocities, rad/s.
        contact_impulse: Impulse on the robot in contact axes, and the mode.
        space: The impact problem that was solved.
        contact: The contact it was solved for.
        obstacle: The free object that was touched, or None for a fixed surface.
        method: Name of the impact map.
        inertia: Which inertia was used.
        table: What the table under the obstacle did; None where nothing else holds it.
    """

    velocity_before: Array
    velocity_after: Array
    contact_impulse: LocalImpulse
    space: ContactSpace
    contact: Contact
    obstacle: FreeObject | None
    method: str
    inertia: str
    table: TableReaction | None = None

    @property
    def mode(self) -> Mode:
        """`slide`, `stick`, or `separate` when the contact was not approached and nothing changed."""
        return self.contact_impulse.mode

    @property
    def unique(self) -> bool:
        """True, as of a single contact; with a table `predict_hit` examines whether other velocities obey the laws."""
        return True

    @property
    def other_energy_losses(self) -> tuple[float, ...]:
        """Nothing: see `unique`."""
        return ()

    @property
    def impulse(self) -> Array:
        """Impulse (3,) that acts on the robot, N s."""
        return np.array(self.contact_impulse[:3]) @ self.contact.axes

    @property
    def jump(self) -> Array:
        """Velocity after minus before (n,), rad/s."""
        return self.velocity_after - self.velocity_before

    def plot(self, axes: Any = None) -> Any:
        """Bars of the joint velocities before and after, rad/s; joints are numbered from 1.

        Args:
            axes: Axes of matplotlib to draw into; default: the current ones.

        Returns:
            The axes.
        """
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.gca()
        joints = np.arange(1, len(self.velocity_after) + 1)
        axes.bar(joints - 0.2, self.velocity_before, 0.38, label="before")
        axes.bar(joints + 0.2, self.velocity_after, 0.38, label="predicted")
        axes.set(xlabel="joint", ylabel="joint velocity, rad/s", xticks=joints)
        axes.legend()
        return axes

    @property
    def point(self) -> Array:
        """Contact point (3,), m."""
        return self.space.point

    @property
    def effective_mass(self) -> float:
        """Mass that the robot alone shows along the normal, kg; infinite where it can't move that way."""
        inverse = float(self.space.jacobian[0] @ self.space.response[:, 0])
        return 1.0 / inverse if inverse > 0.0 else np.inf

    @property
    def reduced_mass(self) -> float:
        """Mass along the normal of robot and object together, kg; the effective mass when the obstacle is fixed."""
        inverse = float(self.space.delassus[0, 0])
        return 1.0 / inverse if inverse > 0.0 else np.inf

    @property
    def contact_velocity_before(self) -> Array:
        """Velocity (3,) of the robot's contact point relative to the obstacle's, m/s."""
        return self.space.velocity @ self.contact.axes

    @property
    def contact_velocity_after(self) -> Array:
        """Velocity (3,) of the robot's contact point relative to the obstacle's, m/s."""
        after = (self.space.velocity + self.space.delassus @ np.array(self.contact_impulse[:3])) @ self.contact.axes
        if self.table is None or self.obstacle is None:
            return after
        return np.asarray(after - self.obstacle.jacobian(self.space.point) @ self.table.twist)

    @property
    def object_twist_before(self) -> Array | None:
        """Twist (6,) of the object at its centre of mass, m/s and rad/s, linear first; None for a fixed surface."""
        return None if self.obstacle is None else self.obstacle.twist

    @property
    def object_twist_after(self) -> Array | None:
        """Twist (6,) of the object at its centre of mass, m/s and rad/s, linear first; None for a fixed surface."""
        if self.obstacle is None:
            return None
        after = self.obstacle.twist_after(self.space.point, -self.impulse)
        return after if self.table is None else after + self.table.twist

    @property
    def energy_loss(self) -> float:
        """Kinetic energy that robot and object lose together, J."""
        mean = 0.5 * (self.contact_velocity_before + self.contact_velocity_after)
        return 0.0 - float(self.impulse @ mean) + (0.0 if self.table is None else self.table.energy_loss)
