"""What rooms pass to each other about an impact: frozen dataclasses of arrays, with their shapes, units and frames.

- `ImpactEvent`: an impact as a detector found it, from one arm's joint samples.
- `Impact`: what an impact does to one arm and to the object: predicted, estimated, or simulated.
- `ContactImpulse`: one contact of an `Impact`.
- `VelocityEstimate`: the velocity just before and just after an impact, estimated from recorded positions.
- `Outcome`: the joint velocities after an impact as observed, with which a prediction is compared.

The messages `ImpactEvent`, `ImpactPrediction` and `ContactImpulse` have the fields of `ImpactEvent`, `Impact` and
`ContactImpulse`. This room imports no other one.
"""

from impact_aware.records.estimate import VelocityEstimate
from impact_aware.records.event import ImpactEvent
from impact_aware.records.impact import ContactImpulse, Impact, Outcome

__all__ = ["ContactImpulse", "Impact", "ImpactEvent", "Outcome", "VelocityEstimate"]
