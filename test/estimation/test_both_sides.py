"""Velocities on both sides of an impact from one model: hand-made motions whose velocities are known."""

import numpy as np
import pytest
from scipy.integrate import quad

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.estimation import estimate
from impact_aware.estimation.both_sides import _velocity_covariance, fit_both_sides
from impact_aware.estimation.motion_parts import ramp
from impact_aware.estimation.registry import BOTH_SIDES

BEFORE = np.array([-0.4, 0.7, 0.15])
JUMP = np.array([0.35, -0.08, -0.6])
BEND = np.array([1.5, -0.6, 2.1])
BRAKE = np.array([-3.0, 2.0, 5.0])


def motion(times: Array, hit: float, swing: float, under_way: float = 0.0) -> Array:
    """Bent before the hit, and braked from it on; joints oscillate at 21, 27 and 33 Hz in it, as much as they jump."""
    early, late = times - hit, np.maximum(times - hit, 0.0)
    turn = 2.0 * np.pi * np.array([21.0, 27.0, 33.0])
    after = np.exp(-0.05 * turn * late[:, None]) * np.sin(turn * late[:, None]) / turn
    before = under_way * np.cos(turn * early[:, None] + [0.3, 1.0, 2.0]) / turn
    smooth = BEFORE * early[:, None] + 0.5 * BEND * early[:, None] ** 2 + JUMP * late[:, None]
    return np.asarray(smooth + 0.5 * BRAKE * late[:, None] ** 2 + swing * JUMP * after + before)


def recorded(rate: float, seed: int, swing: float, under_way: float = 0.0) -> tuple[Array, Array, float]:
    """0.5 s with jitter and an encoder of 2e-5 rad, and the true instant."""
    rng = np.random.default_rng(seed)
    count = round(0.5 * rate)
    times = (np.arange(count) + rng.uniform(-0.1, 0.1, count)) / rate
    hit = 0.25 + rng.uniform(0.0, 1.0) / rate
    return times, np.round(motion(times, hit, swing, under_way) / 2e-5) * 2e-5, hit


@pytest.mark.parametrize("rate", [100.0, 200.0, 1000.0])
@pytest.mark.parametrize("swing", [0.0, 0.9])
def test_velocities_are_those_of_the_motion_without_its_oscillation(rate: float, swing: float) -> None:
    times, positions, hit = recorded(rate, 3, swing)
    found = estimate(times, positions, hit + 4e-4, method=BOTH_SIDES, impact_time_error=5e-4)
    assert found.method == BOTH_SIDES
    off_before, off_after = found.velocity_before - BEFORE, found.velocity_after - BEFORE - JUMP
    assert (np.abs(off_before) < 3.0 * found.velocity_before_error).all()
    assert (np.abs(off_after) < 3.0 * found.standard_error).all()
    # A tenth of the largest jump, although the links swing by nine tenths of it; at 100 Hz the swing has 4 samples.
    assert np.abs(off_after).max() < (0.06 if rate > 100.0 else 0.15)
    assert found.standard_error.max() < (0.08 if rate > 100.0 else 0.2)


@pytest.mark.parametrize("swing", [0.0, 0.9])
def test_a_second_contact_that_is_not_known_widens_the_errors(swing: float) -> None:
    """A free arm whose velocity jumps once more, by 0.3 of the jump, 20 ms after the hit: no regime contains that."""
    distances = []
    for seed in range(6):
        times, positions, hit = recorded(1000.0, seed, swing)
        again = np.maximum(times - hit - 0.02, 0.0)[:, None] * 0.3 * JUMP
        found = estimate(times, positions + again, hit, method=BOTH_SIDES, impact_time_error=5e-4)
        off = (found.velocity_after - BEFORE - JUMP) / found.standard_error
        distances.append(np.sqrt(np.mean(off**2)))
    assert np.median(distances) < 2.0


def test_standard_errors_hold() -> None:
    """Over oscillations, rates and instants; an oscillation under way counts as none of the velocity before."""
    ratios = []
    for seed in range(24):
        times, positions, hit = recorded((200.0, 400.0, 1000.0)[seed % 3], seed, 0.8 * (seed % 2), 0.3 * (seed % 4 > 1))
        shift = 3e-4 * np.random.default_rng(seed).standard_normal()
        fit = fit_both_sides(times - hit - shift, positions, 3e-4)
        jump = fit.after - fit.before
        ratios.append(
            np.stack(
                (
                    (fit.before - BEFORE) / fit.before_std,
                    (fit.after - BEFORE - JUMP) / fit.after_std,
                    (jump - JUMP) / fit.jump_std,
                )
            )
        )
    within = (np.abs(ratios) < 2.0).mean(axis=(0, 2))
    assert (within > 0.85).all()
    assert np.abs(ratios).max() < 5.0


@pytest.mark.parametrize("shift", [-6e-4, 5.7e-4])
def test_a_kink_between_the_instants_that_are_weighed_bends_no_velocity(shift: float) -> None:
    """At 1 kHz samples are averaged, and a stiff arm's instant is known far better than it was found."""
    for seed in range(6):
        times, positions, hit = recorded(1000.0, seed, 0.0)
        fit = fit_both_sides(times - hit - shift, positions, 3.6e-4)
        assert np.abs(fit.after - BEFORE - JUMP).max() < 0.02
        assert (np.abs(fit.after - BEFORE - JUMP) < 4.0 * fit.after_std).all()
        assert (np.abs(fit.before - BEFORE) < 4.0 * fit.before_std).all()


def test_stiff_joints_are_known_better_than_swinging_ones() -> None:
    errors = [fit_both_sides(*_since(recorded(500.0, 4, swing)), 1e-4).after_std.max() for swing in (0.0, 0.9)]
    assert errors[0] < 0.5 * errors[1]


def _since(record: tuple[Array, Array, float]) -> tuple[Array, Array]:
    return record[0] - record[2], record[1]


def test_what_comes_after_the_next_event_is_not_looked_at() -> None:
    times, positions, hit = recorded(500.0, 5, 0.5)
    spoilt = positions + np.maximum(times - hit - 0.05, 0.0)[:, None] * [3.0, -2.0, 4.0]
    clean = estimate(times, positions, hit, method=BOTH_SIDES, until=hit + 0.05)
    cut = estimate(times, spoilt, hit, method=BOTH_SIDES, until=hit + 0.05)
    np.testing.assert_allclose(cut.velocity_after, clean.velocity_after, atol=1e-3)
    whole = estimate(times, spoilt, hit, method=BOTH_SIDES)
    assert np.abs(whole.velocity_after - clean.velocity_after).max() > 0.05


def test_the_fit_runs_through_the_samples() -> None:
    times, positions, hit = recorded(200.0, 6, 0.9)
    fit = fit_both_sides(times - hit, positions, 2e-4)
    kept = np.isin(times - hit, fit.times)
    np.testing.assert_allclose(fit.fitted + fit.residuals, positions[kept], atol=1e-12)
    # Noise of the encoder's step and of nothing else.
    assert np.abs(fit.residuals).max() < 3e-5


@pytest.mark.parametrize(("begin", "end", "words"), [(0.231, 0.5, "3 before"), (0.0, 0.264, "3 after")])
def test_too_few_samples_on_one_side_are_refused(begin: float, end: float, words: str) -> None:
    times = np.arange(0.0, 0.5, 0.005)
    kept = (times > begin) & (times < end)
    with pytest.raises(InvalidInputError, match=words):
        fit_both_sides(times[kept] - 0.2477, motion(times[kept], 0.2477, 0.0), 1e-4)


def left_alone(pull: float, bounce: float = 0.0) -> tuple[Array, Array]:
    """Joints that swing after the impact, are pulled back at a rate of `pull`, 1/s, or hit again `bounce` s later."""
    times = np.arange(-0.2, 0.3, 1e-3)
    turn = 2.0 * np.pi * np.array([30.0, 38.0, 45.0])
    positions = np.where(times[:, None] < 0.0, BEFORE * times[:, None], 0.0)
    late = np.maximum(times, 0.0)[:, None]
    positions += (BEFORE + JUMP) * (late if pull == 0.0 else (1.0 - np.exp(-pull * late)) / pull)
    for start in (0.0, bounce)[: 2 if bounce else 1]:
        since = np.maximum(times - start, 0.0)[:, None]
        positions += 0.5 * JUMP * np.exp(-22.0 * since) * np.sin(turn * since) / turn
    return times, positions + 1e-5 * np.random.default_rng(0).standard_normal(positions.shape)


@pytest.mark.parametrize(
    ("pull", "bounce", "most"),
    # Parts of the jump. Shaken again, the arm is known as well as a parabola over 150 ms averages its oscillation.
    [(0.0, 0.0, 0.01), (0.0, 0.07, 0.04), (25.0, 0.0, 0.2)],
    ids=["free", "shaken", "controlled"],
)
def test_a_free_arm_is_known_better_than_a_controlled_one(pull: float, bounce: float, most: float) -> None:
    fit = fit_both_sides(*left_alone(pull, bounce), 4e-4)
    off = fit.after - BEFORE - JUMP
    assert np.linalg.norm(off) < most * np.linalg.norm(JUMP)
    assert (np.abs(off) < 4.0 * fit.after_std).all()
    assert np.linalg.norm(fit.after_std) < (0.05 if pull == 0.0 else 0.3) * np.linalg.norm(JUMP)


@pytest.mark.parametrize(("at", "time"), [(0.05, 0.02), (0.03, 0.09)])
def test_covariance_of_a_velocity_with_a_position(at: float, time: float) -> None:
    """Of an integrated white jerk, by its definition."""
    expected = quad(lambda u: (at - u) * (time - u) ** 2 / 2.0, 0.0, min(at, time))[0]
    assert _velocity_covariance(np.array(at), np.array(time)) == pytest.approx(expected, rel=1e-9)


def test_a_contact_that_lasts_is_no_jump_at_once() -> None:
    """Half a sine of 14 ms, as a tip makes that touches twice: the jump is whole, and its error holds."""
    ratios, off = [], []
    for seed in range(6):
        times, positions, hit = recorded(200.0, seed, 0.0)
        late = np.maximum(times - hit, 0.0)
        positions = positions + JUMP * (ramp(late, 0.014) - late)[:, None]
        fit = fit_both_sides(times - hit - 3e-4, positions, 1e-3)
        off.append(fit.after - fit.before - JUMP)
        ratios.append(np.abs(off[-1]) / fit.jump_std)
    assert np.mean(np.array(ratios) < 2.0) > 0.9
    # A sixth of the largest jump: what the instant leaves open while its bend lasts three samples.
    assert np.abs(off).max() < 0.1


def test_an_exact_time_does_not_say_when_the_force_acts() -> None:
    """Contacts begin at 0, as is told; most of their force acts up to 1.5 ms later, for 2 to 6 ms, and joints ring."""
    errors, ratios = [], []
    for seed in range(20):
        rng = np.random.default_rng((9, seed))
        times = 0.002 * (np.arange(-70, 90) + rng.uniform(-0.5, 0.5))
        jump, omega = rng.uniform(-1.0, 1.0, 4), 2.0 * np.pi * rng.uniform(18.0, 45.0, 4)
        since = np.maximum(times - rng.uniform(0.0, 0.0015), 0.0)
        positions = np.outer(times, [0.5, -0.3, 0.2, 0.1]) + np.outer(ramp(since, rng.uniform(0.002, 0.006)), jump)
        phase = np.outer(since, omega)
        positions += rng.uniform(0.2, 1.0, 4) * jump / omega * np.exp(-0.04 * phase) * np.sin(phase)
        fit = fit_both_sides(times, positions + 1e-5 * rng.standard_normal(positions.shape))
        errors.append(fit.after - fit.before - jump)
        ratios.append(np.abs(errors[-1]) / fit.jump_std)
    # Held to the instant, 0.098 rad/s, and 69 % within two standard errors.
    assert np.sqrt(np.mean(np.square(errors))) < 0.05
    assert np.mean(np.array(ratios) < 2.0) > 0.9
