"""Velocity fields before and after the impact, as data that anyone can evaluate."""

from impact_aware.reference.ante_impact import AnteImpactField
from impact_aware.reference.field import ArmAfterImpact, ArmReference, ReferenceField
from impact_aware.reference.post_impact import PostImpactField
from impact_aware.reference.streamlines import streamline

__all__ = [
    "AnteImpactField",
    "ArmAfterImpact",
    "ArmReference",
    "PostImpactField",
    "ReferenceField",
    "streamline",
]
