"""A second hit amid the ringing of the first: what measured torques tell, and what bad ones must not do."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.kink_finder import KinkFinder
from impact_aware.recordings.momentum_evidence import MomentumEvidence
from impact_aware.robot import RobotModel
from impact_aware.robot.profile import load_profile

RATE = 200.0
FIRST, SECOND = 0.4032, 0.4487
TURNS = 2.0 * np.pi * np.array([19.0, 23.0, 21.0, 26.0, 31.0, 29.0, 24.0])
NORMAL = np.array([0.2, -0.5, 0.84])
SLOW = np.array([0.3, -0.2, 0.1, 0.4, -0.2, 0.3, 0.2])

pytestmark = pytest.mark.slow


def first_jump(robot: RobotModel) -> Array:
    """Of the links by an impulse along the normal, 0.6 rad/s of the fastest joint."""
    jump = np.linalg.solve(robot.mass_matrix(robot.home, "M"), robot.frame_jacobian(robot.home)[:3].T @ NORMAL)
    return np.asarray(jump * 0.6 / np.abs(jump).max())


def recorded(robot: RobotModel, second: float, at: float = SECOND) -> tuple[Array, Array, Array]:
    """Stamps, positions and torques of joints that a hit makes ring, and of another `at` with `second` of its jump."""
    rng = np.random.default_rng(6)
    times = (np.arange(160) + 0.1 * rng.uniform(-1.0, 1.0, 160)) / RATE
    jump = first_jump(robot)
    q, dq, ddq = robot.home + SLOW * times[:, None], SLOW + 0.0 * times[:, None], np.zeros((160, 7))
    for begin, share in ((FIRST, 1.0), (at, second)):
        since = np.maximum(times - begin, 0.0)[:, None]
        after = since > 0.0
        # Half of the jump swings, half stays.
        q = q + 0.5 * share * jump * (since + np.sin(TURNS * since) / TURNS)
        dq = dq + 0.5 * share * jump * (1.0 + np.cos(TURNS * since)) * after
        ddq = ddq - 0.5 * share * jump * TURNS * np.sin(TURNS * since)
    model, data = robot.variant("M")
    torques = np.array([pin.rnea(model, data, *row).copy() for row in zip(q, dq, ddq, strict=True)])
    step = 2e-5
    measured = np.round((q + 1e-5 * rng.standard_normal(q.shape)) / step) * step
    return times, measured, torques + 0.05 * rng.standard_normal(q.shape)


def told(robot: RobotModel, times: Array, positions: Array, efforts: Array | None) -> list[Branches]:
    """What is told of every jump, in order of time."""
    finder = KinkFinder(1.0 / RATE, robot)
    finder.feed(ArmSamples(times, positions, None, efforts))
    finder.finish()
    jumps = (candidate.strongest for candidate in finder.candidates if candidate.is_jump)
    return sorted(jumps, key=lambda branches: branches.time)


def jumps(robot: RobotModel, times: Array, positions: Array, efforts: Array | None) -> list[float]:
    return [branches.time for branches in told(robot, times, positions, efforts)]


def test_the_jump_is_that_of_the_joints(robot: RobotModel) -> None:
    """Found as one of the momentum's components, told as one of the velocities of the joints."""
    (first,) = told(robot, *recorded(robot, 0.0))
    true = first_jump(robot)
    # The springs take some of it within the contact's time.
    assert (np.abs(first.jump - true) < 3.0 * first.jump_std + 0.05).all()
    assert np.abs(first.jump - true).max() < 0.2 * np.abs(true).max() and first.jump_std.max() < 0.15


def test_torques_show_a_weak_second_hit_that_ringing_hides(robot: RobotModel) -> None:
    times, positions, efforts = recorded(robot, 0.25)
    assert jumps(robot, times, positions, efforts) == pytest.approx([FIRST, SECOND], abs=2.5e-3)
    assert jumps(robot, times, positions, None) == pytest.approx([FIRST], abs=2.5e-3)


def test_torques_show_a_hit_with_few_samples_between_it_and_the_first(robot: RobotModel) -> None:
    """What was before the first one tells how the momentum goes on after it; unknown motors have no springs."""
    bare = RobotModel.from_profile(replace(load_profile("panda"), apparent_motor_inertia=(0.0,) * 7))
    later = 0.018
    times, positions, efforts = recorded(robot, 0.6, FIRST + later)
    assert jumps(bare, times, positions, efforts) == pytest.approx([FIRST, FIRST + later], abs=2.5e-3)
    assert jumps(robot, times, positions, efforts) == pytest.approx([FIRST, FIRST + later], abs=2.5e-3)
    assert jumps(bare, times, positions, None) == pytest.approx([FIRST], abs=4e-3)


@pytest.mark.parametrize(("beside", "size"), [(-2, 2e-4), (2, 2e-4)])
def test_a_wrong_sample_beside_a_weak_second_hit_does_not_hide_it(robot: RobotModel, beside: int, size: float) -> None:
    times, positions, efforts = recorded(robot, 0.3)
    positions[np.searchsorted(times, SECOND) + beside] += size * SLOW
    assert jumps(robot, times, positions, efforts) == pytest.approx([FIRST, SECOND], abs=2.5e-3)


@pytest.mark.parametrize(
    ("fault", "second"),
    [("late", 0.5), ("sign", 0.0), ("spike", 0.5), ("held", 0.5), ("part", 0.5), ("missing", 0.0)],
)
def test_torques_that_say_something_else_do_no_harm(robot: RobotModel, fault: str, second: float) -> None:
    """The first hit is found, and nothing that was none: torques that explain nothing are not believed."""
    times, positions, efforts = recorded(robot, second)
    spiked = efforts.copy()
    spiked[100, [1, 3, 5]] += 40.0
    wrong = {
        "late": np.roll(efforts, 2, axis=0),
        "sign": -efforts,
        "spike": spiked,
        "held": efforts[np.arange(160) // 4 * 4],
        "missing": np.full_like(efforts, np.nan),
        "part": np.where(np.arange(7) == 4, np.nan, efforts),
    }[fault]
    hits = [FIRST, SECOND] if second else [FIRST]
    found = jumps(robot, times, positions, wrong)
    assert found == pytest.approx(hits[: max(len(found), 1)], abs=2.5e-3)
    # Single wrong torques are mended, so that the others still tell.
    assert fault != "spike" or len(found) == len(hits)


def test_zeros_are_no_torques(robot: RobotModel) -> None:
    times, positions, efforts = recorded(robot, 0.3)
    evidence = MomentumEvidence(robot)
    evidence.know(ArmSamples(times, positions, None, efforts))
    assert evidence.has_torques
    evidence.know(ArmSamples(times, positions, None, np.zeros_like(efforts)))
    assert not evidence.has_torques
