"""What is done to running nodes, and with which outcomes each is well; faults of messages are tried in process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

RELAY, CONTROLLER, WATCHDOG, DETECTOR = "kuka_fri_relay", "rs_controller", "command_watchdog", "impact_detector"

GONE = (0.0, -3.0, 0.0)
"""How far an object that is gone is from where it should be, m."""


@dataclass(frozen=True)
class DdsFault:
    """What is done to the running nodes, and which reasons of the safe mode are right.

    Attributes:
        text: In words.
        reasons: Right ones, an empty one for a task that is done all the same.
        victim: Process that is killed or stalled, or empty.
        stall: Whether it is stalled only.
        stopped: Whether it is stopped for good, but not killed.
        restart: Whether it is started anew.
        watched: Whether `command_watchdog` is there.
        emulator: Whether an emulated controller is between controller and plant.
        relay: Whether that is a KUKA's, with `kuka_fri_relay` before it, and not the forward controller.
        displacement: (3,) Of the object from where everybody believes it, m.
    """

    text: str
    reasons: tuple[str, ...] = ()
    victim: str = ""
    stall: bool = False
    stopped: bool = False
    restart: bool = False
    watched: bool = False
    emulator: bool = True
    relay: bool = False
    displacement: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def can_go_on(self) -> bool:
        """Whether the same motion can start again: all nodes run, and the tool is still in front of the object."""
        return not any(self.displacement) and (not self.victim or self.restart or self.stall)

    @property
    def controller_dead(self) -> bool:
        """Whether the arm gets no further commands."""
        return self.victim == CONTROLLER and not self.stall


_LOST = ("UPSTREAM_LOST", "IMPACT_MISSED")
_ENDED = ("WATCHDOG",)
_relayed = partial(DdsFault, watched=True, relay=True)

DDS_FAULTS: dict[str, DdsFault] = {
    "controller_stalled": DdsFault("SIGSTOP of the controller for 60 ms", ("STATE_STALE",), CONTROLLER, stall=True),
    # A forward controller would go on with the last torque, and no brake would know: so without one.
    "controller_killed": DdsFault("SIGKILL of the controller", (), CONTROLLER, emulator=False),
    "controller_restarted": DdsFault(
        "SIGKILL of the controller, started anew at rest", (), CONTROLLER, emulator=False, restart=True
    ),
    # With the forward controller, whose last torque the watchdog has to end.
    "watched_controller_killed": DdsFault(
        "SIGKILL of the controller, its commands watched", (), CONTROLLER, watched=True
    ),
    "watched_controller_stopped": DdsFault(
        "SIGSTOP of the controller for good, its commands watched", (), CONTROLLER, stopped=True, watched=True
    ),
    "watchdog_killed": DdsFault("SIGKILL of the watchdog", _ENDED, WATCHDOG, watched=True),
    "watchdog_stopped": DdsFault("SIGSTOP of the watchdog for good", _ENDED, WATCHDOG, stopped=True, watched=True),
    "watchdog_restarted": DdsFault(
        "SIGKILL of the watchdog, started anew at once", _ENDED, WATCHDOG, restart=True, watched=True
    ),
    # With a KUKA's controller, which goes on with the last torque even when it is off.
    "relayed_controller_killed": _relayed("SIGKILL of the controller before a KUKA's relay", (), CONTROLLER),
    "relayed_controller_stopped": _relayed(
        "SIGSTOP of the controller for good, before a KUKA's relay", (), CONTROLLER, stopped=True
    ),
    "relay_killed": _relayed("SIGKILL of a KUKA's relay", _ENDED, RELAY),
    "relay_stopped": _relayed("SIGSTOP of a KUKA's relay for good", _ENDED, RELAY, stopped=True),
    "relay_watchdog_killed": _relayed("SIGKILL of the watchdog behind a KUKA's relay", _ENDED, WATCHDOG),
    "detector_killed": DdsFault("SIGKILL of the detector", _LOST, DETECTOR),
    **{
        f"{name}_restarted": DdsFault(f"SIGKILL of the {whose}, started anew at once", ("", *_LOST), node, restart=True)
        for name, whose, node in (
            ("detector", "detector", DETECTOR),
            ("predictor", "predictor", "jump_predictor"),
            ("field", "field's node", "reference_field"),
        )
    },
    "field_killed": DdsFault("SIGKILL of the field's node", ("", *_LOST), "reference_field"),
    "object_gone": DdsFault("the object is not where everybody believes it", ("IMPACT_MISSED",), displacement=GONE),
}
"""By name."""
