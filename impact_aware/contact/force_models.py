"""The contact-force models by name."""

from __future__ import annotations

import dataclasses

from impact_aware.contact.force_model import ContactForceModel
from impact_aware.contact.hunt_crossley import ExponentialHuntCrossley, HuntCrossley, NonlinearViscoelastic
from impact_aware.contact.kelvin_voigt import KelvinVoigt
from impact_aware.contact.maxwell import Maxwell
from impact_aware.contact.virtual_spring import VirtualSpring
from impact_aware.errors import UnknownNameError

FORCE_MODELS: dict[str, type[ContactForceModel]] = {
    "kelvin_voigt": KelvinVoigt,
    "hunt_crossley": HuntCrossley,
    "exponential_hunt_crossley": ExponentialHuntCrossley,
    "viscoelastic": NonlinearViscoelastic,
    "maxwell": Maxwell,
    "virtual_spring": VirtualSpring,
}


def make_force_model(name: str, **parameters: float) -> ContactForceModel:
    """The model `name` with its parameters, for example `make_force_model("maxwell", stiffness=1e5, damping=50.0)`.

    Raises:
        UnknownNameError: No such model, or a parameter that it does not have.
        InvalidInputError: A parameter out of range.
    """
    if name not in FORCE_MODELS:
        raise UnknownNameError("contact-force model", name, tuple(FORCE_MODELS))
    known = parameter_names(name)
    for parameter in parameters:
        if parameter not in known:
            raise UnknownNameError(f"parameter of {name}", parameter, known)
    return FORCE_MODELS[name](**parameters)


def parameter_names(name: str) -> tuple[str, ...]:
    """The parameters of the model `name`, in its constructor's order."""
    model = FORCE_MODELS[name]
    return tuple(field.name for field in dataclasses.fields(model) if field.init)  # type: ignore[arg-type]
