"""Velocity fields before and after the impact, as data that anyone can evaluate."""

from impact_aware.reference.field import ArmAfterImpact, ArmReference, ReferenceField
from impact_aware.reference.streamlines import streamline
from impact_aware.reference.velocity_fields import AnteImpactField, PostImpactField

__all__ = [
    "AnteImpactField",
    "ArmAfterImpact",
    "ArmReference",
    "PostImpactField",
    "ReferenceField",
    "streamline",
]
