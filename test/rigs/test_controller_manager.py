"""The emulator of ros2_control's controller manager does what that one's source does.

Beside each test: the lines of controller_manager.cpp of ros2_control 6.8.0 that say so.
"""

from __future__ import annotations

import pytest

from impact_aware_rigs.emulators.controller_manager import (
    BEST_EFFORT,
    NOTHING_TO_DO,
    STRICT,
    ControllerManager,
    LoadedController,
)


class Rig:
    def __init__(self, **active: bool) -> None:
        self.active = dict(active)
        self.manager = ControllerManager(
            {
                name: LoadedController(
                    switch=lambda value, name=name: self.active.update({name: value}),
                    is_active=lambda name=name: self.active[name],
                )
                for name in active
            }
        )


@pytest.fixture
def rig():
    return Rig(effort=True, other=True, idle=False)


@pytest.mark.parametrize("strictness", [0, STRICT, BEST_EFFORT, 3, 4])
def test_active_controllers_are_deactivated(rig, strictness):
    assert rig.manager.switch([], ["effort"], strictness) == (True, "")
    assert rig.active == {"effort": False, "other": True, "idle": False}


# "Aborting, no controller is switched! ('STRICT' switch)", with the message of the one that is not there.
@pytest.mark.parametrize("strictness", [0, STRICT])
@pytest.mark.parametrize("names", [["effort", "none"], ["none", "effort"]])
def test_a_strict_switch_with_an_unknown_name_switches_nothing(rig, strictness, names):
    ok, message = rig.manager.switch([], names, strictness)
    assert not ok
    assert message == "Could not deactivate controller with name 'none' because no controller with this name exists"
    assert rig.active["effort"]


# "result = request_list.empty() ? ERROR : OK", anew for each name of the list.
@pytest.mark.parametrize(("names", "ok"), [(["none"], False), (["none", "effort"], True), (["effort", "none"], True)])
def test_a_best_effort_switch_goes_on_with_the_names_that_there_are(rig, names, ok):
    assert rig.manager.switch([], names, BEST_EFFORT)[0] is ok
    assert rig.active["effort"] is not ok


# "Controller with name '{}' can not be deactivated since it is not active."; a strict switch ends with that.
def test_a_strict_switch_with_an_inactive_one_switches_nothing(rig):
    ok, message = rig.manager.switch([], ["effort", "idle"], STRICT)
    assert (ok, message) == (False, "Controller with name 'idle' can not be deactivated since it is not active.")
    assert rig.active["effort"]


# "remove controller that can not be activated from the activation request", likewise for deactivation.
def test_a_best_effort_switch_leaves_an_inactive_one_out(rig):
    assert rig.manager.switch([], ["effort", "idle"], BEST_EFFORT) == (True, "")
    assert not rig.active["effort"]


# "After checking the controllers, no controllers need to be activated or deactivated.", OK.
def test_with_nothing_left_to_switch_all_is_well(rig):
    assert rig.manager.switch([], ["idle"], BEST_EFFORT) == (True, NOTHING_TO_DO)


def test_one_controller_takes_the_place_of_another(rig):
    assert rig.manager.switch(["idle"], ["effort"], STRICT) == (True, "")
    assert rig.manager.states() == {"effort": "inactive", "other": "active", "idle": "active"}
    assert rig.manager.switch(["idle"], [], STRICT) == (False, "Controller with name 'idle' is already active.")
