"""Faults of recorded streams are counted, named and mended before anything is analyzed; made from seeds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.cadence import on_cadence
from impact_aware.recordings.impact_analysis import EXPLAINING, FINDING, READING, analyze
from impact_aware.recordings.input_faults import InputFaults
from impact_aware.recordings.input_stage import InputStage
from impact_aware.recordings.limitations import limitations
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import ArmAnalysis
from impact_aware.recordings.unit_check import UnitCheck
from impact_aware.robot import RobotModel

JOINTS = 7
HIT = 1.2033
JUMP = np.array([0.1, -0.7, 0.3, 0.9, -0.2, -0.5, 0.4])


def motion(times: Array, seed: int = 1, hit: float | None = None) -> Array:
    """Slow sines of seven joints, their velocities jumping by `JUMP` at an instant, as encoders of 10 urad see them."""
    rng = np.random.default_rng(seed)
    phases = rng.uniform(0.0, 2.0 * np.pi, JOINTS) + 2.0 * np.pi * np.outer(times, rng.uniform(0.1, 0.4, JOINTS))
    positions = 0.7 + 0.3 * np.sin(phases)
    if hit is not None:
        positions = positions + np.maximum(times - hit, 0.0)[:, None] * JUMP
    return np.asarray(np.round((positions + 3e-6 * rng.standard_normal(positions.shape)) / 1e-5) * 1e-5)


def regular(rate: float, seconds: float = 2.5) -> Array:
    return np.arange(round(rate * seconds)) / rate


def clean(times: Array, positions: Array, cut: int | None = None) -> tuple[ArmSamples, InputFaults]:
    """The samples as the stage gives them, one after the other, and what it counted."""
    stage = InputStage()
    parts = []
    for begin in range(0, len(times), cut or len(times)):
        chosen = slice(begin, begin + (cut or len(times)))
        parts += stage.feed(ArmSamples(times[chosen], positions[chosen]))
    parts += stage.finish()
    stacked = [np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "positions")]
    return ArmSamples(*stacked), stage.faults


def analyzed(folder: Path, times: Array, positions: Array, **columns: Array) -> ArmAnalysis:
    path = folder / "stream.npz"
    np.savez(path, time=times, q=positions, **columns)
    (arm,) = analyze([path], AnalysisOptions()).arms
    return arm


def the_hit(arm: ArmAnalysis, within: float = 2e-3, at: float = HIT) -> None:
    """Nothing but the hit is found, at its time."""
    assert [impact.time for impact in arm.impacts] == pytest.approx([at], abs=within)
    assert arm.other_events == ()


def test_two_samples_of_one_instant_are_one() -> None:
    """Instants that differ by the rounding of a double would make a spline between them 10^12 steep."""
    times = regular(100.0)[:15]
    positions = motion(times)
    kept, faults = clean(np.insert(times, 8, times[8] - 1e-14), np.insert(positions, 8, positions[8] + 2e-5, axis=0))
    assert len(kept.times) == len(times)
    assert np.diff(kept.times).min() > 1e-3
    assert faults.copies == 1


@pytest.mark.parametrize("rate", [100.0, 200.0, 1000.0])
@pytest.mark.parametrize("cut", [None, 1000])
def test_clean_samples_pass_unchanged(rate: float, cut: int | None) -> None:
    times = 1.76e9 + regular(rate, 12.0)
    positions = motion(times - times[0], hit=HIT)
    samples, faults = clean(times, positions, cut)
    np.testing.assert_allclose(samples.times, times, rtol=0.0, atol=1e-6)
    np.testing.assert_array_equal(samples.positions, positions)
    assert faults.notes() == [] and faults.seen == len(times)


@pytest.mark.parametrize("late", [0.4e-3, 0.8e-3, 1.8e-3])
def test_a_late_stamp_is_no_event(tmp_path: Path, late: float) -> None:
    times = regular(200.0)
    positions = motion(times)
    stamps = times + np.random.default_rng(4).normal(0.0, 2e-5, len(times))
    stamps[249] += late
    arm = analyzed(tmp_path, stamps, positions)
    assert arm.impacts == () and arm.other_events == ()
    assert any(note.startswith("1 of 500 stamps are off the regular cadence") for note in arm.notes)
    samples, faults = clean(stamps, positions)
    assert faults.late == 1 and faults.latest == pytest.approx(late, abs=6e-5)
    assert samples.times[249] == pytest.approx(times[249], abs=1e-4)


def test_stamps_with_heavy_tails_hide_no_hit_and_make_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    times = regular(200.0, 8.0)
    late = np.abs(rng.standard_t(1.5, len(times))) * 3e-5
    stamps = np.maximum.accumulate(times + np.minimum(late, 3e-3))
    assert analyzed(tmp_path, stamps, motion(times, 2)).impacts == ()
    the_hit(analyzed(tmp_path, stamps, motion(times, 2, HIT)))
    samples, faults = clean(stamps, motion(times, 2))
    assert faults.late > 20
    assert np.abs(samples.times - times - np.median(samples.times - times)).max() < 0.3 * np.abs(stamps - times).max()


def test_messages_that_were_stamped_in_a_burst_are_spread(tmp_path: Path) -> None:
    times = regular(200.0)
    stamps = times.copy()
    stamps[300:305] = times[304] + 1e-5 * np.arange(5)
    samples, faults = clean(stamps, motion(times))
    np.testing.assert_allclose(samples.times, times, atol=1e-4)
    assert faults.late == 4
    assert analyzed(tmp_path, stamps, motion(times)).impacts == ()


@pytest.mark.parametrize("sampled", [True, False])
def test_scatter_of_the_sampler_stays_and_that_of_the_stamps_goes(sampled: bool) -> None:
    times = regular(200.0, 6.0)
    scattered = times + 4e-4 * np.random.default_rng(5).uniform(-1.0, 1.0, len(times))
    samples, _ = clean(scattered, motion(scattered if sampled else times))
    true = scattered if sampled else times
    assert np.std(samples.times - true) < 0.5 * np.std(scattered - times)


def polled(times: Array, positions: Array) -> tuple[Array, Array, Array]:
    """Stamps, positions and true times of a logger that asks its robot now and then for its latest sample.

    One interval of three is long for 40 samples, so that every other sample is lost; now and then it stalls for nine.
    """
    rng = np.random.default_rng(12)
    period = times[1] - times[0]
    intervals = rng.uniform(0.75, 1.25, len(times))
    intervals[(np.arange(len(times)) // 40 % 3 == 2) & (np.arange(len(times)) % 2 == 0)] += 1.0
    intervals[500::500] += 8.0
    stamps = period * np.cumsum(intervals)
    stamps = stamps[stamps < times[-1]]
    rows = np.floor(stamps / period).astype(int)
    until = np.flatnonzero(np.diff(rows))[-1] + 2
    return stamps[:until], positions[rows[:until]], times[rows[:until]]


@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_samples_of_a_polled_robot_get_the_times_of_the_robot(tmp_path: Path, rate: float) -> None:
    times = regular(rate, 4.0 if rate > 500.0 else 12.0)
    stamps, positions, true = polled(times, motion(times, 3))
    samples, faults = clean(stamps, positions)
    kept = np.isin(np.arange(len(true)), np.flatnonzero(np.diff(true, prepend=-1.0) > 0.0))
    assert faults.held == np.count_nonzero(~kept) > 20 and faults.seen == len(true)
    error = samples.times - true[kept]
    assert np.std(error) < 0.15 / rate and np.std(np.diff(error)) < 0.02 / rate < 0.1 * np.std(np.diff(stamps - true))
    assert analyzed(tmp_path, stamps, positions).impacts == ()
    stamps, positions, true = polled(times, motion(times, 3, HIT))
    the_hit(analyzed(tmp_path, stamps, positions), within=1.5 / rate, at=HIT + np.median(stamps - true))


def test_instants_of_a_polled_arm_are_uncertain_by_a_share_of_a_period_where_it_is_slow() -> None:
    times = regular(200.0, 12.0)
    way = np.cumsum(np.where(np.abs(times - 6.0) < 3.0, 0.003, 1.0)) / 200.0
    stamps, positions, true = polled(times, motion(way, 3))
    first = np.diff(true, prepend=-1.0) > 0.0
    found, slow = on_cadence(stamps[first], positions[first]), np.abs(true[first] - 6.0) < 3.0
    assert found is not None and 0.3 < 200.0 * np.percentile(found.time_std[slow], 90) < 1.0
    assert 200.0 * np.percentile(found.time_std[~slow], 99) < 1e-3


def test_steps_of_a_coarse_encoder_are_no_repetitions() -> None:
    times = regular(1000.0)
    positions = np.round(0.05 * times[:, None] * np.linspace(0.2, 1.0, JOINTS) / 4e-4) * 4e-4
    samples, faults = clean(times, positions)
    assert faults.held == 0 and len(samples.times) == len(times)


@pytest.mark.parametrize("second", ["zeros", "other arm"])
@pytest.mark.parametrize("cut", [None, 1000])
def test_a_second_publisher_is_named_and_left_out(tmp_path: Path, second: str, cut: int | None) -> None:
    times = regular(500.0, 24.0)
    positions = motion(times, hit=HIT)
    places = np.arange(5, len(times), 10)
    others = np.zeros((len(places), JOINTS)) if second == "zeros" else 2.0 + motion(times[places], 9)
    stamps = np.insert(times, places, times[places] - 1e-3)
    mixed = np.insert(positions, places, others, axis=0)
    samples, faults = clean(stamps, mixed, cut)
    np.testing.assert_array_equal(samples.positions, positions)
    assert faults.foreign == len(places) and faults.wrong == 0
    assert ("one and the same values" in faults.notes()[0]) == (second == "zeros")
    if cut is None:
        arm = analyzed(tmp_path, stamps[:2000], mixed[:2000])
        the_hit(arm)
        assert arm.quality is None and any("a second publisher: 182 of 2000" in note for note in arm.notes)


def test_swapped_messages_are_sorted(tmp_path: Path) -> None:
    times = regular(500.0)
    positions = motion(times, hit=HIT)
    order = np.arange(len(times))
    for place in range(7, len(times) - 1, 25):
        order[[place, place + 1]] = order[[place + 1, place]]
    samples, faults = clean(times[order], positions[order])
    np.testing.assert_array_equal(samples.positions, positions)
    assert faults.sorted == faults.backwards == 50 and faults.steps == []
    arm = analyzed(tmp_path, times[order], positions[order])
    the_hit(arm)
    assert arm.quality is None and any("50 of 1250 messages were out of order" in note for note in arm.notes)


def test_copies_are_left_out(tmp_path: Path) -> None:
    order = np.sort(np.concatenate((np.arange(1250), np.arange(0, 1250, 2))))
    times = regular(500.0)[order]
    arm = analyzed(tmp_path, times, motion(regular(500.0), hit=HIT)[order])
    the_hit(arm)
    assert arm.quality is None and any("625 of 1875 messages repeat the stamp" in note for note in arm.notes)


@pytest.mark.parametrize("size", [37.0, -37.0, -0.5])
def test_both_sides_of_a_clock_step_are_analyzed(tmp_path: Path, size: float) -> None:
    times = regular(500.0)
    stamps = 100.0 + times + np.where(times > 0.6, size, 0.0)
    arm = analyzed(tmp_path, stamps, motion(times, hit=HIT))
    the_hit(arm, at=100.0 + HIT + size)
    assert arm.quality is None and arm.rate_hz == pytest.approx(500.0, rel=1e-3)
    assert any(note.startswith(f"the clock stepped by {size:g} s after 100.6") for note in arm.notes)
    assert not any("gap" in entry.reason for entry in limitations(analyze([tmp_path / "stream.npz"])))


def test_samples_that_are_held_while_the_arm_moves_are_left_out_and_at_rest_kept() -> None:
    times = regular(200.0)
    positions = motion(times)
    held = positions.copy()
    held[1::40] = held[0::40]
    samples, faults = clean(times, held)
    assert faults.held == len(held[1::40]) == len(times) - len(samples.times)
    still, faults = clean(times, np.tile(positions[0], (len(times), 1)))
    assert faults.held == 0 and len(still.times) == len(times)


def test_single_wrong_values_are_mended_or_left_out(tmp_path: Path) -> None:
    times = regular(500.0)
    positions = motion(times, hit=HIT)
    wrong = positions.copy()
    wrong[400, 3] += 4e-3
    wrong[800] = 0.0
    samples, faults = clean(times, wrong)
    assert faults.wrong == 2 and len(samples.times) == len(times) - 1
    assert samples.positions[400, 3] == pytest.approx(positions[400, 3], abs=5e-5)
    arm = analyzed(tmp_path, times, wrong)
    the_hit(arm)
    note = f"2 single values of {len(times)} messages stand apart: replaced or left out"
    assert note in arm.notes


def test_a_span_of_time_is_in_seconds_from_one_on() -> None:
    notes = [InputFaults(gaps=1, longest=(span, 1.0)).notes()[0] for span in (0.999, 1.0, 37.002)]
    assert notes == [f"no samples for {span} after 1.000 s" for span in ("999 ms", "1 s", "37 s")]


def test_efforts_in_milliamperes_are_noticed(tmp_path: Path) -> None:
    times = regular(200.0)
    currents = 1500.0 * np.sin(np.outer(times, np.arange(1.0, 8.0)))
    for scale, noticed in ((1.0, True), (0.02, False)):
        arm = analyzed(tmp_path, times, motion(times), tau=scale * currents)
        assert any("efforts can't be in N m" in note and "mA" in note for note in arm.notes) is noticed


def test_small_currents_are_noticed_by_the_limits_of_a_known_robot(robot: RobotModel) -> None:
    """In each joint by its own limit; without a robot 200 may be N m."""
    efforts = np.tile(2.2 * robot.limits.effort * (np.arange(7) == 5), (50, 1))
    samples = ArmSamples(0.001 * np.arange(50), np.tile(robot.profile.home, (50, 1)), efforts=efforts)
    notes = []
    for known, scale in ((robot, 1.0), (robot, 0.8), (None, 1.0)):
        check = UnitCheck(robot.joint_names, known)
        check.feed(replace(samples, efforts=scale * efforts))
        notes.append(check.effort_note())
    assert notes[0].startswith("efforts can't be in N m: that of panda_joint6 is 26.4 in the median, more than 24")
    assert notes[1:] == ["", ""]


def test_joints_without_known_limits_turn_twice_at_most() -> None:
    check = UnitCheck(("wheel",), None)
    check.feed(ArmSamples(np.arange(2.0), np.full((2, 1), 1.9 * 2.0 * np.pi)))
    check.check("a bag")
    check.feed(ArmSamples(np.arange(9.0), np.full((9, 1), 2.1 * 2.0 * np.pi)))
    with pytest.raises(InvalidInputError, match=r"13.19 for wheel, .* 9 of 11 samples, expected .* two turns, 12.57"):
        check.check("a bag")


def test_a_recording_too_slow_for_impacts_has_none(tmp_path: Path) -> None:
    """Teleoperation at 30 Hz: its motion between two samples looks like a jump."""
    times = regular(30.0, 40.0)
    positions = motion(times) + 0.4 * np.cumsum(np.sign(np.sin(2.0 * np.pi * 0.7 * times)) / 30.0)[:, None]
    arm = analyzed(tmp_path, times, positions)
    assert arm.impacts == () and arm.other_events == ()
    assert arm.quality is not None and "too slowly to see an impact" in arm.quality
    (analysis,) = [analyze([tmp_path / "stream.npz"])]
    assert "whether there was an impact" in [entry.what for entry in limitations(analysis)]


def lost(times: Array, begin: float, end: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return (times < begin) | (times > end)


@pytest.mark.parametrize(("rate", "length"), [(1000.0, 0.012), (500.0, 0.012), (200.0, 0.02)])
def test_a_jump_across_a_gap_is_reported_with_its_larger_error(tmp_path: Path, rate: float, length: float) -> None:
    times = regular(rate)
    positions = motion(times, hit=HIT)
    whole = analyzed(tmp_path, times, positions).impacts[0]
    kept = lost(times, HIT - 0.6 * length, HIT + 0.4 * length)
    arm = analyzed(tmp_path, times[kept], positions[kept])
    the_hit(arm, within=4e-3)
    (impact,) = arm.impacts
    assert "without samples" in impact.evidence and "without samples" not in whole.evidence
    assert impact.event.time_std > whole.event.time_std and abs(impact.time - HIT) < 2.5 * impact.event.time_std
    assert arm.gaps == ()


def test_a_gap_in_smooth_motion_is_no_impact(tmp_path: Path) -> None:
    times = regular(500.0)
    kept = lost(times, 1.2, 1.212)
    arm = analyzed(tmp_path, times[kept], motion(times)[kept])
    assert arm.impacts == () and arm.other_events == () and arm.gaps == ()
    assert [note for note in arm.notes if "no samples" in note] == ["no samples for 16 ms after 1.198 s"]


def test_a_single_lost_sample_is_not_noted(tmp_path: Path) -> None:
    times = regular(500.0)
    kept = np.arange(len(times)) % 100 != 50
    assert not [note for note in analyzed(tmp_path, times[kept], motion(times)[kept]).notes if "samples for" in note]


def test_a_gap_too_long_to_compare_its_sides_is_named(tmp_path: Path) -> None:
    times = regular(500.0)
    kept = lost(times, 1.15, 1.35)
    arm = analyzed(tmp_path, times[kept], motion(times, hit=HIT)[kept])
    assert arm.impacts == ()
    assert np.array(arm.gaps) == pytest.approx(np.array([[1.148, 1.352]]), abs=1e-3)
    entries = limitations(analyze([tmp_path / "stream.npz"]))
    assert [entry.reason for entry in entries if "no samples came" in entry.what] == [
        "a gap of 204 ms in the motion, from 1.148 s on, may hide a jump of the velocity"
    ]


def test_the_progress_names_file_and_stage(tmp_path: Path) -> None:
    times = regular(200.0)
    path = tmp_path / "stream.npz"
    np.savez(path, time=times, q=motion(times, hit=HIT))
    seen: list[tuple[str, int, int]] = []
    analyze([path], report=lambda file, stage, done, total: seen.append((stage, done, total)))
    assert seen == [(READING, 500, 0), (FINDING, 0, 1), (EXPLAINING, 0, 1)]
