"""What an emulated controller was asked for, and for how long it went on with the last of it."""

from __future__ import annotations

import numpy as np

from impact_aware_rigs.emulators.command_record import LATE, CommandRecord


def test_the_largest_torques_and_changes_are_those_of_each_joint():
    record = CommandRecord(2)
    for values in ([1.0, -2.0], [-4.0, 3.0], [-3.0, 2.5]):
        record.note(np.array(values))
    assert record.values()["largest"] == "4 3"
    assert record.values()["largest_change"] == "5 5"


def test_a_late_command_is_told_also_when_others_came_after_it():
    record = CommandRecord(1)
    for updates in (1, 3, LATE + 4, 2):
        record.note(np.array([1.0]))
        for _ in range(updates):
            record.written()
    assert (record.held, record.held_late) == (1, LATE + 3)
    for _ in range(LATE):
        record.written()
    assert record.held_late == record.held == LATE + 1
