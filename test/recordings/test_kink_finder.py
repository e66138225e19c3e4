"""Jumps of the velocity found from both sides: hand-made motions with a jump, a brake or an oscillation."""

import numpy as np
import pytest

from impact_aware.arrays import Array
from impact_aware.estimation.branch_model import Branches, BranchModel
from impact_aware.estimation.motion_parts import ramp
from impact_aware.estimation.sample_noise import noise_of, quantum_of
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.candidate import JUMP_ODDS, SECOND_JUMP_ODDS, Candidate
from impact_aware.recordings.kink_candidates import kink_filter
from impact_aware.recordings.kink_finder import MOST_CANDIDATES, MOST_PER_SECOND, KinkFinder

STEP = 2e-5
HIT = 0.4312
JUMP = np.array([0.35, -0.08, 0.21])
BEFORE = np.array([-0.4, 0.7, 0.15])


def instants(rate: float, seed: int = 7) -> Array:
    """0.8 s of samples that scatter by a tenth of a period around their times."""
    rng = np.random.default_rng(seed)
    count = round(0.8 * rate)
    return np.asarray((np.arange(count) + 0.1 * rng.uniform(-1.0, 1.0, count)) / rate)


def rounded(positions: Array) -> Array:
    return np.asarray(np.round(positions / STEP) * STEP)


def hit(times: Array, ringing: float = 0.0) -> Array:
    """An even motion whose velocity jumps at HIT, with an oscillation at 27 Hz after it."""
    since = np.maximum(times - HIT, 0.0)
    turn = 2.0 * np.pi * 27.0
    swing = ringing * np.exp(-0.04 * turn * since) * np.sin(turn * since) / turn
    curved = 0.5 * np.array([1.5, -0.6, 2.1]) * times[:, None] ** 2
    return rounded(BEFORE * times[:, None] + curved + JUMP * (since + swing)[:, None])


def finder_of(samples: ArmSamples, rate: float) -> KinkFinder:
    """A finder that has seen samples at a rate, Hz."""
    finder = KinkFinder(1.0 / rate)
    finder.feed(samples)
    finder.finish()
    return finder


def jumps(times: Array, positions: Array, rate: float) -> list[tuple[float, float]]:
    """Time and standard error of every jump."""
    found = finder_of(ArmSamples(times, positions), rate).candidates
    return [(candidate.branches.time, candidate.time_std) for candidate in found if candidate.is_jump]


@pytest.mark.slow
@pytest.mark.parametrize("rate", [200.0, 500.0])
@pytest.mark.parametrize("ringing", [0.0, 0.8])
def test_a_jump_is_found_once_at_its_time(rate: float, ringing: float) -> None:
    times = instants(rate)
    found = jumps(times, hit(times, ringing), rate)
    assert len(found) == 1
    time, std = found[0]
    # A tenth of a period and what an oscillation of unknown phase may hide.
    assert abs(time - HIT) < min(3.0 * std, 2e-3)


def test_a_step_of_the_acceleration_is_no_jump() -> None:
    times = instants(200.0)
    since = np.maximum(times - HIT, 0.0)[:, None]
    positions = rounded(BEFORE * times[:, None] + 0.5 * np.array([-9.0, 4.0, 6.5]) * since**2)
    assert jumps(times, positions, 200.0) == []


@pytest.mark.slow
def test_a_weak_jump_that_follows_another_is_found_amid_its_oscillation() -> None:
    """It needs less to be believed, also when it is looked at again once its neighbours are known."""
    times = instants(200.0, seed=3)
    second = HIT + 0.083
    weak = np.array([-0.11, 0.2, -0.06])
    positions = hit(times, ringing=0.5) + weak * np.maximum(times - second, 0.0)[:, None]
    candidates = finder_of(ArmSamples(times, positions), 200.0).candidates
    found = sorted((each for each in candidates if each.is_jump), key=lambda each: each.branches.time)
    assert [candidate.threshold for candidate in found] == [JUMP_ODDS, SECOND_JUMP_ODDS]
    assert [candidate.branches.time for candidate in found] == pytest.approx([HIT, second], abs=4e-3)


@pytest.mark.parametrize("frequency", [14.0, 23.0, 30.0])
def test_a_command_that_elastic_joints_pass_on_is_a_step_and_no_jump(frequency: float) -> None:
    """The motors' acceleration steps by up to 16 rad/s^2; the links follow later and swing, started by it."""
    times = instants(200.0)
    since = np.maximum(times - HIT, 0.0)
    turn = 2.0 * np.pi * frequency
    stretched = (1.0 - np.exp(-0.02 * turn * since) * (np.cos(turn * since) + 0.02 * np.sin(turn * since))) / turn**2
    moved = rounded(np.outer(0.5 * since**2 - stretched, [-16.0, 7.0, 11.0]))
    near = (times > HIT - 0.06) & (times < HIT + 0.04)
    branches = BranchModel(times[near], moved[near], np.full(3, 0.5 * STEP)).judge(HIT - 0.01, HIT + 0.01, HIT)
    # A jump that starts the oscillation was 10 to 21 likelier than a step at the links.
    assert branches.carried - branches.kink > 15.0 and branches.carried - branches.smooth > 25.0


def test_a_smooth_motion_has_no_jump() -> None:
    times = instants(200.0)
    assert jumps(times, rounded(BEFORE * np.sin(3.1 * times)[:, None]), 200.0) == []


@pytest.mark.slow
@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_the_smallest_jump_that_can_be_seen_is_about_that(rate: float) -> None:
    times = instants(rate)
    rng = np.random.default_rng(2)

    def found(size: float) -> tuple[int, float]:
        kink = size * np.array([0.4, -1.0, 0.7]) * np.maximum(times - HIT, 0.0)[:, None]
        positions = BEFORE * times[:, None] + kink + STEP * rng.standard_normal((len(times), 3))
        finder = finder_of(ArmSamples(times, positions), rate)
        return sum(candidate.is_jump for candidate in finder.candidates), finder.smallest_jump

    _, smallest = found(0.0)
    # The noise decides; of less a command makes 0.09 rad/s at 200 Hz and 0.02 at 1 kHz within a sample.
    assert smallest == pytest.approx(0.12 if rate == 200.0 else 0.055, rel=0.15)
    assert found(1.7 * smallest)[0] == 1 and found(0.4 * smallest)[0] == 0


def test_the_model_tells_a_jump_with_sign_and_unit() -> None:
    times = instants(500.0)
    near = (times > HIT - 0.05) & (times < HIT + 0.035)
    branches = BranchModel(times[near], hit(times)[near], np.full(3, STEP)).judge(HIT - 0.006, HIT + 0.007, HIT + 0.001)
    assert branches.kink > branches.step and branches.kink > branches.smooth
    np.testing.assert_allclose(branches.jump, JUMP, atol=0.1)


def test_an_earlier_jump_that_is_known_may_have_any_size_and_its_contact_some_length() -> None:
    """18 ms before another, by a force of 6 ms, where torques leave no swing: the second is told with its own size."""
    times, earlier, later = instants(200.0), HIT - 0.018, np.array([-0.14, 0.3, 0.09])
    first = ramp(np.maximum(times - earlier, 0.0), 0.006)[:, None] * np.array([1.3, -0.6, 0.4])
    near = (times > HIT - 0.06) & (times < HIT + 0.04)
    moved = BEFORE * times[:, None] + first
    search = (earlier + 0.012, HIT + 0.01, HIT)

    def told(positions: Array, known: list[float]) -> Branches:
        noise, pushes = np.full(3, 0.5 * STEP), np.full(3, 2e-5)
        return BranchModel(times[near], rounded(positions)[near], noise, pushes, earlier=known).judge(*search)

    hit_again = moved + later * np.maximum(times - HIT, 0.0)[:, None]
    branches = told(hit_again, [earlier])
    assert branches.kink - max(branches.smooth, branches.step) > SECOND_JUMP_ODDS
    assert branches.time == pytest.approx(HIT, abs=2e-3)
    np.testing.assert_allclose(branches.jump, later, atol=0.06)
    alone = told(moved, [earlier])
    assert alone.kink - alone.smooth < 0.0
    # With swings that it began, it is the same at any time of day.
    models = [
        BranchModel(times[near] + day, moved[near], np.full(3, STEP), earlier=[earlier + day]) for day in (0.0, 86.4)
    ]
    assert all(model.parts.given(0.0)[-1, -1] > 0.0 for model in models)
    np.testing.assert_allclose(models[1].likeliest(HIT + 86.4), models[0].likeliest(HIT), atol=1e-3)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_the_filter_sees_the_jump_and_no_cubic(shift: float) -> None:
    weights = kink_filter(6, shift)
    grid = np.arange(-6, len(weights) - 6) - shift
    for power in range(4):
        assert abs(weights @ grid**power) < 1e-8
    assert weights @ (0.37 * np.maximum(grid, 0.0)) == pytest.approx(0.37)


def test_an_encoders_step_is_found_and_rounding_is_none() -> None:
    rng = np.random.default_rng(5)
    path = np.cumsum(rng.normal(5e-4, 2e-4, (300, 2)), axis=0)
    np.testing.assert_allclose(quantum_of(np.round(path / 3.7e-5) * 3.7e-5), 3.7e-5, rtol=1e-3)
    np.testing.assert_array_equal(quantum_of(path), 0.0)


def test_noise_is_that_of_the_encoder_not_of_the_rest_before() -> None:
    rng = np.random.default_rng(11)
    times = np.arange(400) * 5e-3
    positions = np.where(times[:, None] > 0.5, 0.3 * (times[:, None] - 0.5) ** 2, 0.0) * np.array([1.0, -2.0])
    positions = positions + np.array([4e-5, 1.2e-4]) * rng.standard_normal((400, 2))
    noise = noise_of(times, positions)
    assert np.all(np.abs(noise.encoder / [4e-5, 1.2e-4] - 1.0) < 0.5)


@pytest.mark.parametrize("fault", ["late", "value"])
@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_one_wrong_sample_is_no_event_whatever_let_it_through(fault: str, rate: float) -> None:
    times = instants(rate)
    positions = rounded(BEFORE * times[:, None] + 0.5 * np.array([1.5, -0.6, 2.1]) * times[:, None] ** 2)
    row = round(0.4 * rate)
    positions[row] += (8e-4 * BEFORE) if fault == "late" else np.array([0.0, 1.5e-3, 0.0])
    finder = finder_of(ArmSamples(times, positions), rate)
    tested = [candidate for candidate in finder.candidates if abs(candidate.instant - times[row]) < 0.03]
    assert tested and not any(candidate.is_jump for candidate in tested)
    assert max(candidate.gain for candidate in tested) < 3.0 and max(candidate.step_gain for candidate in tested) < 3.0


@pytest.mark.parametrize(
    ("rate", "share", "beside", "size"),
    [
        (1000.0, 1.0, -3, 8e-4),
        (1000.0, 1.0, 2, 8e-4),
        # Nearly as likely as the jump.
        (500.0, 0.25, 1, 4e-4),
        (1000.0, 0.4, 1, 2e-4),
    ],
)
def test_a_wrong_sample_beside_a_jump_does_not_hide_it(rate, share, beside, size) -> None:
    times = instants(rate)
    positions = rounded(hit(times) - (1.0 - share) * JUMP * np.maximum(times - HIT, 0.0)[:, None])
    positions[np.searchsorted(times, HIT) + beside] += size * BEFORE
    ((time, std),) = jumps(times, positions, rate)
    assert abs(time - HIT) < 3.0 * std


@pytest.mark.parametrize(("size", "is_jump"), [(0.5, True), (0.1, False)])
def test_a_jump_is_significant_by_the_joints_where_the_momentum_does_not_know_its_size(size, is_jump) -> None:
    none = {"time": HIT, "time_std": 1e-3, "smooth": 0.0, "plain": 0.0, "step": 0.0, "step_time": HIT, "carried": 0.0}
    joints = Branches(jump=np.array([size, 0.0]), jump_std=np.array([0.1, 0.1]), kink=JUMP_ODDS + 1.0, **none)
    momentum = Branches(jump=np.array([0.4, 0.3]), jump_std=np.array([0.3, 0.3]), kink=JUMP_ODDS + 8.0, **none)
    candidate = Candidate(HIT, joints, np.zeros((2, 2)), 2e-3, JUMP_ODDS, explained=momentum)
    assert candidate.is_jump is is_jump


def test_stamps_with_an_error_of_their_own_tell_less_of_the_time() -> None:
    times = instants(200.0)
    error = np.where(np.abs(times - HIT) < 0.012, 3e-4, 0.0)

    def std(time_std: Array | None) -> float:
        finder = finder_of(ArmSamples(times, hit(times), time_std=time_std), 200.0)
        (jump,) = (candidate for candidate in finder.candidates if candidate.is_jump)
        assert abs(jump.strongest.time - HIT) < 3.0 * jump.time_std
        return jump.time_std

    assert std(error) > 1.15 * std(None)


def test_tests_are_bounded_however_many_candidates_there_are() -> None:
    """Taps at 12 Hz for 10 s: at most `MOST_CANDIDATES` and `MOST_PER_SECOND`, each looked at three times at most."""
    times = np.arange(2000) / 200.0
    taps = np.abs((times * 12.0) % 2.0 - 1.0) / 12.0
    finder = finder_of(ArmSamples(times, rounded(BEFORE * taps[:, None])), 200.0)
    most = MOST_CANDIDATES + MOST_PER_SECOND * times[-1]
    assert finder.untested > 0 and len(finder.candidates) <= most
    assert finder.tests <= 4 * most
