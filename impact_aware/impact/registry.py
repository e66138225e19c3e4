"""The single-contact impact maps by name: a new map is one file and one line here.

Coulomb's law with energetic restitution is the default. An arm couples its directions, so the slip usually turns, and
often stops or comes back within the impact; a friction direction fixed beforehand is then wrong by a large part of the
jump, while the exact map costs a microsecond. Only the energetic restitution never creates energy.
"""

from __future__ import annotations

import sys
from functools import partial

from impact_aware.errors import UnknownNameError
from impact_aware.impact.contact_impulse import ImpactMapFunction
from impact_aware.impact.coulomb import coulomb_impulse
from impact_aware.impact.fixed_direction import fixed_direction_impulse
from impact_aware.impact.frictionless import frictionless_impulse

IMPACT_MAPS: dict[str, ImpactMapFunction] = {
    "coulomb": coulomb_impulse,
    "coulomb-poisson": partial(coulomb_impulse, law="poisson"),
    "coulomb-newton": partial(coulomb_impulse, law="newton"),
    "fixed-direction": fixed_direction_impulse,
    "frictionless": frictionless_impulse,
}

DEFAULT_METHOD = "coulomb"


_COMPILED = "impact_aware.impact.compiled_maps"


def compiled_is_loaded() -> bool:
    """Whether this process has loaded the compiled maps, which takes longer than ten thousand predictions."""
    return hasattr(sys.modules.get(_COMPILED), "contact_map")


def impact_map(method: str) -> ImpactMapFunction:
    """The map of that name, compiled where the process has loaded that already.

    Raises:
        UnknownNameError: No such map.
    """
    if method not in IMPACT_MAPS:
        raise UnknownNameError("method", method, tuple(IMPACT_MAPS))
    if compiled_is_loaded():
        compiled: ImpactMapFunction | None = sys.modules[_COMPILED].contact_map(method)
        if compiled is not None:
            return compiled
    return IMPACT_MAPS[method]
