"""Which reasons of the safe mode are right for a fault, by its severity, duration and the arms that have it."""

import numpy as np
import pytest

from impact_aware.errors import UnknownNameError
from impact_aware_rigs.faults.classes import FAULT_CLASSES, Extent, draw_duration, fault_class
from impact_aware_rigs.faults.dds_classes import DDS_FAULTS

ONE, BOTH, ONE_OF_TWO = Extent(1, 1), Extent(2, 2), Extent(1, 2)
NONE, STALE, JUMP, MISSING = None, "STATE_STALE", "CLOCK_JUMP", "JOINT_MISSING"
WRONG, LOST, MISSED, GONE = "STATE_IMPLAUSIBLE", "UPSTREAM_LOST", "IMPACT_MISSED", "OBJECT_LOST"


@pytest.mark.parametrize(
    ("fault", "severity", "duration", "extent", "expected"),
    [
        ("drop", 0.3, 0.2, ONE, {NONE}),
        ("drop", 0.3, 0.2, ONE_OF_TWO, {NONE, STALE}),
        ("reorder", 3.0, 0.2, ONE, {NONE}),
        ("reorder", 3.0, 0.2, BOTH, {NONE, STALE}),
        ("silence", 0.0, 0.016, ONE, {NONE}),
        ("silence", 0.0, 0.0195, ONE, {NONE, STALE}),
        ("silence", 0.0, 0.024, ONE, {STALE}),
        ("silence", 0.0, 0.024, BOTH, {STALE}),
        ("delay", 14.9, 0.2, ONE, {NONE}),
        ("delay", 18.0, 0.2, ONE, {NONE, STALE}),
        ("delay", 21.1, 0.2, ONE, {STALE}),
        ("delay", 5.0, 0.2, ONE_OF_TWO, {STALE}),
        ("delay", 5.0, 0.2, BOTH, {NONE}),
        ("nan", 0.0, 0.010, ONE, {NONE}),
        ("nan", 0.0, 0.100, ONE, {STALE}),
        ("huge_velocity", 0.0, 0.3, ONE_OF_TWO, {WRONG}),
        ("renamed", 0.0, 0.010, ONE, {NONE}),
        ("renamed", 0.0, 0.050, ONE, {STALE}),
        ("missing", 0.0, 0.100, ONE, {MISSING, STALE}),
        ("missing", 0.0, 0.120, ONE, {MISSING}),
        ("clock_forward", 9.0, 0.001, ONE, {JUMP}),
        ("clock_backward", 9.0, 0.001, BOTH, {JUMP}),
        ("clock_backward", 9.0, 0.100, ONE_OF_TWO, {STALE}),
        ("clock_forward", 9.0, 0.010, ONE_OF_TWO, {NONE}),
        ("detector_killed", 0.0, 9.0, ONE, {NONE, MISSED, LOST}),
        ("cpu_starved", 16.0, 0.2, ONE, {NONE}),
        ("cpu_starved", 20.0, 0.2, ONE, {NONE, STALE}),
        ("cpu_starved", 23.0, 0.2, ONE, {STALE}),
        ("object_gone", 0.0, 9.0, ONE, {NONE, MISSED}),
        ("object_gone", 0.0, 9.0, BOTH, {MISSED, GONE}),
    ],
)
def test_right_reasons(fault, severity, duration, extent, expected):
    assert FAULT_CLASSES[fault].outcomes(severity, duration, extent) == expected


def test_there_are_29_classes_of_seven_kinds_each_with_its_own_name():
    kinds = [fault.kind for fault in FAULT_CLASSES.values()]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "state": 16, "event": 3, "process": 3, "object": 1, "command": 1, "model": 4, "held": 1,
    }  # fmt: skip
    assert all(name == fault.name for name, fault in FAULT_CLASSES.items())
    assert fault_class("nan") is FAULT_CLASSES["nan"]
    with pytest.raises(UnknownNameError, match="dance"):
        fault_class("dance")


def test_durations_are_as_often_short_as_long():
    generator = np.random.default_rng(0)
    drawn = np.array([draw_duration(FAULT_CLASSES["nan"], generator) for _ in range(2000)])
    assert drawn.min() >= 0.001 and drawn.max() <= 0.3
    # The median of a logarithmically uniform draw is the geometric mean of its bounds.
    assert np.median(drawn) == pytest.approx(np.sqrt(0.001 * 0.3), rel=0.15)


def test_what_can_go_on_after_a_fault_over_dds():
    can = {name for name, fault in DDS_FAULTS.items() if fault.can_go_on}
    assert can == {
        "controller_stalled", "controller_restarted", "detector_restarted", "predictor_restarted", "field_restarted",
        "watchdog_restarted",
    }  # fmt: skip
    without_emulator = {name for name, fault in DDS_FAULTS.items() if not fault.emulator}
    assert without_emulator == {"controller_killed", "controller_restarted"}
