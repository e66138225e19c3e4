"""The single-contact impact maps by name: a new map is one file and one line here."""

from __future__ import annotations

from impact_aware.errors import UnknownNameError
from impact_aware.impact.contact_impulse import ImpactMapFunction
from impact_aware.impact.fixed_direction import fixed_direction_impulse
from impact_aware.impact.frictionless import frictionless_impulse

IMPACT_MAPS: dict[str, ImpactMapFunction] = {
    "frictionless": frictionless_impulse,
    "fixed-direction": fixed_direction_impulse,
}

DEFAULT_METHOD = "fixed-direction"


def impact_map(method: str) -> ImpactMapFunction:
    """The map of that name.

    Raises:
        UnknownNameError: No such map.
    """
    if method not in IMPACT_MAPS:
        raise UnknownNameError("method", method, tuple(IMPACT_MAPS))
    return IMPACT_MAPS[method]
