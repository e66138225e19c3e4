"""Contacts that joints hardly show, in what the finder makes of a stream."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from driven_motion import HIT, TIMES, recorded

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches
from impact_aware.estimation.unexplained_jump import UnexplainedJump, UnexplainedJumps
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.candidate import JUMP_ODDS, Candidate
from impact_aware.recordings.event_cause import find_causes
from impact_aware.recordings.impact_finder import ImpactFinder
from impact_aware.recordings.results import CONTACTS
from impact_aware.recordings.torque_verdict import ask_torques
from impact_aware.robot import RobotModel


def finder_of(robot: RobotModel, positions: Array, efforts: Array | None) -> ImpactFinder:
    finder = ImpactFinder([], robot=robot)
    finder.feed(ArmSamples(TIMES, positions, None, efforts))
    finder.finish()
    return finder


def contacts_of(robot: RobotModel, positions: Array, efforts: Array | None) -> list[float]:
    found = finder_of(robot, positions, efforts)
    causes = find_causes(found.found, found.kinks.candidates, [f"joint{i}" for i in range(7)])
    return [cause.time for cause in causes if cause.cause in CONTACTS]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_soft_contact_that_a_drive_takes_back_is_found_by_torques_of_either_sign(
    robot: RobotModel, sign: float
) -> None:
    positions, efforts = recorded(robot, duration=0.020, taken_back=0.9, brake=6.0)
    found = contacts_of(robot, positions, sign * efforts)
    assert found == pytest.approx([HIT], abs=6e-3)
    assert finder_of(robot, positions, sign * efforts).turned is (sign < 0.0)


def test_torques_of_a_driver_that_subtracts_gravity_are_whole_ones(robot: RobotModel) -> None:
    positions, efforts = recorded(robot, duration=0.020, taken_back=0.9, brake=6.0)
    lacking = efforts - np.array([robot.gravity(q) for q in positions])
    assert robot.profile is not None
    declared = RobotModel.from_profile(replace(robot.profile, effort_kind="without_gravity"))
    assert contacts_of(declared, positions, lacking) == pytest.approx(contacts_of(robot, positions, efforts), abs=1e-9)
    assert contacts_of(robot, positions, lacking) != contacts_of(robot, positions, efforts)


def test_evidence_says_that_torques_leave_it(robot: RobotModel) -> None:
    found = finder_of(robot, *recorded(robot, duration=0.020, taken_back=0.9, brake=6.0))
    causes = find_causes(found.found, found.kinks.candidates, [f"joint{i}" for i in range(7)])
    contact = next(cause for cause in causes if cause.cause in CONTACTS)
    assert "beyond what the measured torques do" in contact.evidence
    assert contact.time_std > 3e-3
    # The event has the velocities that joints showed, not those without what the drive took back.
    assert contact.event is not None and contact.event.velocity_after is not None
    event, jump = contact.event, contact.candidate.strongest.jump
    shown = event.velocity_after - event.velocity_before
    assert np.abs(jump).max() > 0.5
    assert np.abs(shown).max() < 0.4 * np.abs(jump).max()


def test_a_brake_is_no_contact(robot: RobotModel) -> None:
    positions, efforts = recorded(robot, contact=0.0, brake=25.0)
    assert contacts_of(robot, positions, efforts) == []


class Torques(UnexplainedJumps):
    """What torques are said to leave, by instant."""

    def __init__(self, left: dict[float, float]) -> None:
        self.left = left
        self.asked: list[tuple[float, tuple[float, ...]]] = []

    def look(self, begin: float, end: float, others: Sequence[float] = ()) -> UnexplainedJump | None:
        self.asked.append((0.5 * (begin + end), tuple(others)))
        near = [(time, gain) for time, gain in self.left.items() if begin <= time <= end]
        if not near:
            return None
        time, gain = near[0]
        jump = np.array([0.3, -0.4])
        return UnexplainedJump(time, 1e-3, jump, 0.1 * jump, gain)


def judged_at(time: float, *, jumps: bool) -> Candidate:
    jump = np.array([0.5, 0.2])
    likelihood, step = (40.0, 0.0) if jumps else (-5.0, 6.0)
    branches = Branches(time, 1e-3, jump, 0.02 * jump, 0.0, 0.0, step, time, likelihood, -20.0)
    return Candidate(time, branches, np.zeros((2, 2)), 5e-3, JUMP_ODDS)


def verdict(left: dict[float, float], *found: Candidate) -> list[tuple[float, bool]]:
    told = ask_torques(Torques(left), found)
    return sorted((judged.strongest.time, judged.is_jump) for judged in told)


def test_only_the_strongest_of_what_torques_leave_is_a_contact() -> None:
    bends = [judged_at(time, jumps=False) for time in (1.00, 1.03, 1.20, 1.60)]
    left = {1.001: 90.0, 1.031: 400.0, 1.201: 80.0, 1.601: 70.0}
    assert verdict(left, *bends) == [(1.0, False), (1.031, True), (1.2, False), (1.601, True)]
    assert verdict({1.001: 59.0}, bends[0]) == [(1.0, False)]


def test_a_jump_of_the_joints_keeps_its_time_unless_torques_tell_another() -> None:
    assert verdict({1.004: 400.0}, judged_at(1.0, jumps=True)) == [(1.0, True)]
    # The standard error of what is between both is 3.4 ms, as contacts may be soft: 6 ms are 1.8 of it.
    for time in (0.994, 1.006):
        assert verdict({time: 400.0}, judged_at(1.0, jumps=True)) == [(time, True)]
    late = judged_at(1.012, jumps=True), judged_at(1.000, jumps=False)
    assert verdict({1.001: 400.0, 1.0125: 9.0}, *late) == [(1.0, False), (1.001, True)]
    # One that torques can't be asked about is that contact too.
    assert verdict({1.001: 400.0}, judged_at(1.02, jumps=True), judged_at(1.0, jumps=False)) == [
        (1.0, False),
        (1.02, True),
    ]


def test_a_jump_of_the_joints_after_it_is_the_same_contact_and_one_before_is_another() -> None:
    bend, weak = judged_at(1.0, jumps=False), 9.0
    assert verdict({1.0: 400.0, 1.03: weak}, bend, judged_at(1.03, jumps=True)) == [(1.0, False), (1.0, True)]
    assert verdict({1.0: 400.0, 0.97: weak}, bend, judged_at(0.97, jumps=True)) == [(0.97, True), (1.0, True)]


def test_nothing_is_asked_where_nothing_seems_to_happen() -> None:
    bend = judged_at(1.0, jumps=False)
    quiet = replace(bend, branches=replace(bend.branches, step=3.0))
    torques = Torques({1.0: 400.0})
    assert [judged.is_jump for judged in ask_torques(torques, [quiet])] == [False]
    assert torques.asked == []
    assert [judged.is_jump for judged in ask_torques(torques, [bend])] == [True]


def test_jumps_beside_are_known_of_when_another_is_looked_at() -> None:
    torques = Torques({1.0: 200.0, 1.05: 200.0, 1.2: 200.0})
    ask_torques(torques, [judged_at(time, jumps=True) for time in (1.0, 1.05, 1.2)])
    assert [others for _, others in torques.asked] == [(1.05,), (1.0,), ()]
