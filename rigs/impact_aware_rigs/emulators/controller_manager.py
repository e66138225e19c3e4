"""An emulator of the switching of ros2_control's controller manager, for whoever has no ros2_control.

`switch_controller_cb` and `list_controllers_srv_cb` of controller_manager.cpp in ros2_control 4.46.0 (Jazzy) and 6.8.0
(Rolling) were read and do the same here, as far as deactivating goes:

- strictness 0 is the default, which is strict; AUTO and FORCE_AUTO are taken for BEST_EFFORT;
- a name that no controller has: a strict switch is refused at once; a best-effort one goes on with the rest, and is
  refused where the last name of the list is unknown and nothing stands in it before that one;
- one that is not active can't be deactivated: a strict switch is refused as a whole, with nothing switched, a
  best-effort one leaves it out;
- when nothing is left to switch, the answer is ok;
- activating asks for the state `inactive`, by the same rules.

`set_hardware_component_state_srv_cb` and `set_component_state` of resource_manager.cpp, likewise: the component's own
state counts, whatever controllers use it; of one that does not exist the answer is not ok, and has no state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

BEST_EFFORT, STRICT = 1, 2
"""Values of `strictness` in controller_manager_msgs/srv/SwitchController."""

NOTHING_TO_DO = "After checking the controllers, no controllers need to be activated or deactivated."
"""Of both sources, with ok."""


@dataclass
class LoadedController:
    """One controller.

    Attributes:
        switch: Called with whether it shall be active.
        is_active: Whether it is.
    """

    switch: Callable[[bool], None]
    is_active: Callable[[], bool]


class ControllerManager:
    """Controllers that are loaded and configured, and hardware components, by name."""

    def __init__(
        self, controllers: dict[str, LoadedController], components: dict[str, LoadedController] | None = None
    ) -> None:
        """Nothing is switched yet."""
        self._controllers = controllers
        self._components = components or {}

    def states(self) -> dict[str, str]:
        """`active` or `inactive`, by name."""
        return {name: "active" if own.is_active() else "inactive" for name, own in self._controllers.items()}

    def switch(self, activate: Sequence[str], deactivate: Sequence[str], strictness: int) -> tuple[bool, str]:
        """Deactivate and activate; returns whether that is ok, and why not."""
        strict = strictness in (0, STRICT)
        lists = []
        for names, action in ((deactivate, "deactivate"), (activate, "activate")):
            found, refusal = self._known(names, action, strict)
            if refusal:
                return False, refusal
            lists.append(found)
        off, on = lists
        for name in [*on]:
            own = self._controllers[name]
            if own.is_active() and name not in off:
                if strict:
                    return False, f"Controller with name '{name}' is already active."
                on.remove(name)
        for name in [*off]:
            if not self._controllers[name].is_active():
                if strict:
                    return False, f"Controller with name '{name}' can not be deactivated since it is not active."
                off.remove(name)
        if not on and not off:
            return True, NOTHING_TO_DO
        for names, active in ((off, False), (on, True)):
            for name in names:
                self._controllers[name].switch(active)
        return True, ""

    def set_component(self, name: str, state: str) -> tuple[bool, str]:
        """Set a component `active` or `inactive`; returns whether that is so now, and its state."""
        own = self._components.get(name)
        if own is None:
            return False, ""
        if state in ("active", "inactive") and own.is_active() is not (state == "active"):
            own.switch(state == "active")
        label = "active" if own.is_active() else "inactive"
        return label == state, label

    def _known(self, names: Sequence[str], action: str, strict: bool) -> tuple[list[str], str]:
        """Those of the names that are controllers, and why the switch is refused."""
        found: list[str] = []
        refusal = ""
        for name in names:
            if name in self._controllers:
                found.append(name)
                refusal = ""
                continue
            lacks = f"Could not {action} controller with name '{name}' because no controller with this name exists"
            if strict:
                return [], lacks
            refusal = "" if found else lacks
        return found, refusal
