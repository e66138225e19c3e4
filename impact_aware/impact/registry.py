"""The single-contact impact maps by name.

Coulomb's law with energetic restitution is the default. An arm couples its directions, so the slip usually turns, and
often stops or comes back within the impact; a friction direction fixed beforehand is then wrong by a large part of the
jump, while the exact map costs a microsecond. Only the energetic restitution never creates energy.
"""

from __future__ import annotations

from impact_aware.errors import check_name
from impact_aware.impact.compiled_maps import METHODS, contact_map
from impact_aware.impact.contact_impulse import ImpactMapFunction

IMPACT_MAPS: dict[str, ImpactMapFunction] = {method: contact_map(method) for method in METHODS}

DEFAULT_METHOD = "coulomb"

FRICTIONLESS = "frictionless"
"""The map that ignores friction, of one contact and of contacts that act on each other."""


def impact_map(method: str) -> ImpactMapFunction:
    """The map of that name.

    Raises:
        UnknownNameError: No such map.
    """
    check_name("method", method, IMPACT_MAPS)
    return IMPACT_MAPS[method]
