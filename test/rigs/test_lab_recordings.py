"""Simulated lab recordings: the truth is of momentum, what is recorded is what was drawn, and scores count right."""

import argparse
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.recordings.impact_analysis import analyze
from impact_aware_rigs.bench import recordings
from impact_aware_rigs.bench.lab_draw import CONTROLS, draw_hit
from impact_aware_rigs.bench.lab_free import free_motion
from impact_aware_rigs.bench.lab_hit import (
    CYCLE,
    GRAVITY,
    TABLE_CONTACT,
    TrueContact,
    _unbraked,
    hit_of_seed,
    simulate_hit,
)
from impact_aware_rigs.bench.lab_recording import record
from impact_aware_rigs.bench.lab_stream import STEP, as_polled, as_streamed

BEFORE, AFTER = np.array([0.2, -0.1]), np.array([-0.1, 0.3])


@pytest.fixture(scope="module")
def hit():
    """A box of 1.7 kg hit off its middle by a panda that is left alone afterwards; seed 5."""
    rng = np.random.default_rng(5)
    while True:
        draw = draw_hit(rng, "free")
        if not draw.fixed and draw.robot.name == "panda" and np.linalg.norm(draw.velocity) < 0.6:
            break
    return simulate_hit(replace(draw, mass=1.7, after=0.16, rest=0.02))


def test_what_contact_does_to_the_arm_is_the_momentum_that_the_box_gains(hit):
    contact = hit.contacts[0]
    rows = hit.times < contact.time
    # Until then nothing touches, and what is left over is rounding and the commands' steps.
    free = hit.rigid_velocities[rows] - hit.rigid_velocities[0]
    assert np.abs(free).max() > 0.2
    robot = hit.draw.plant
    row = int(np.count_nonzero(rows)) - 1
    q = hit.positions[row]
    momentum = 1.7 * (contact.object_twist_after[:3] - contact.object_twist_before[:3])
    lever = contact.point - robot.placement(q).translation
    jacobian = robot.frame_jacobian(q)
    at_point = jacobian[:3] - pin.skew(lever) @ jacobian[3:]
    expected = np.linalg.solve(robot.mass_matrix(q, "M+B_theta"), at_point.T @ -momentum)
    # What is left is the table's: it takes the vertical part of the impulse, and friction with it. With what the box
    # loses of its speed by sliding for 8 ms it would be 6 %.
    assert np.linalg.norm(contact.jump - expected) < 0.045 * np.linalg.norm(expected)
    assert np.abs(contact.jump).max() > 0.1


def test_without_contact_nothing_pushes_the_arm(hit):
    """The velocity without oscillation is the integral of what the commands ask for."""
    before = hit.times < hit.contacts[0].time - 0.001
    inertia = hit.draw.plant.apparent_motor_inertia
    robot, speeds = hit.draw.plant, hit.rigid_velocities[before]
    asked = np.array(
        [
            np.linalg.solve(robot.mass_matrix(q, "M") + np.diag(inertia), command - robot.bias(q, dq))
            for q, dq, command in zip(hit.positions[before], hit.velocities[before], hit.commands[before], strict=True)
        ]
    )
    moved = np.vstack((np.zeros(7), np.cumsum(asked[:-1] * CYCLE, axis=0)))
    # Of speeds of 1 rad/s.
    assert np.abs(speeds - speeds[0] - moved).max() < 0.03


def test_a_recorder_has_its_rate_its_steps_and_its_lag(hit):
    by_kind = {}
    for seed in range(12):
        recording = record(hit, 200.0, seed)
        again = record(hit, 200.0, seed)
        np.testing.assert_array_equal(recording.positions, again.positions)
        intervals = np.diff(recording.times)
        assert (intervals >= 0.0).all() and abs(np.mean(intervals) - 0.005) < 2e-4
        assert (
            np.abs(recording.positions[5] - hit.positions[np.searchsorted(hit.times, recording.times[5])]).max() < 2e-3
        )
        kind = "none" if recording.velocities is None else "lags" if recording.velocity_delay > 0.0 else "exact"
        by_kind[kind] = recording
    assert set(by_kind) == {"none", "lags", "exact"}
    exact, lags = by_kind["exact"], by_kind["lags"]

    def velocities(recording, late):
        return np.stack([np.interp(recording.times - late, hit.times, c) for c in hit.velocities.T], axis=1)

    assert np.sqrt(np.mean((exact.velocities - velocities(exact, 0.0)) ** 2)) < 0.05
    lag = lags.velocity_delay
    assert 0.003 < lag < 0.017
    free = lags.times < hit.contacts[0].time
    errors = [np.linalg.norm((lags.velocities - velocities(lags, late))[free]) for late in (-lag, 0.0, lag)]
    assert errors[2] < errors[1] < errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed, rate", [(7002, 100.0), (7051, 200.0), (2094, 200.0)])
def test_nothing_before_the_first_touch_is_a_contact(tmp_path, seed, rate):
    """A live detector is early at 100 Hz; at 200 Hz a start, or an end of the acceleration, looked like a jump."""
    hit = hit_of_seed(seed, CONTROLS[seed % len(CONTROLS)])
    analysis = analyze([record(hit, rate, seed).write(tmp_path, "one")], recordings.options_of(hit))
    times = [impact.time for impact in analysis.impacts]
    assert times and abs(times[0] - hit.contacts[0].time) < 0.005


def test_what_was_written_is_read_back(hit, tmp_path):
    recording = next(r for r in (record(hit, 500.0, seed) for seed in range(9)) if r.object_times is not None)
    written = np.load(recording.write(tmp_path, "one"))
    np.testing.assert_array_equal(written["q"], recording.positions)
    assert written["object_position"].shape == (len(recording.object_times), 3)


def contact_at(time, size, lost=float("nan")):
    zero = np.zeros(6)
    jump = np.array([0.3 * size, -size])
    return TrueContact(time, jump, BEFORE, np.zeros(3), np.array([1.0, 0, 0]), zero, zero, lost)


@pytest.mark.parametrize(("speed", "since", "slid"), [(0.4, 0.02, 0.02), (0.4, -1e-4, 0.0), (0.0, -1e-4, 0.0)])
def test_an_object_has_back_what_its_table_took_since_the_contact(speed, since, slid):
    """Friction times gravity times how long it slid, and nothing where the states end before the contact."""
    twist = np.array([0.6 * speed, -0.8 * speed, 0.03, 0.1, -0.2, 0.3])
    found = _unbraked(twist, since)
    expected = speed + TABLE_CONTACT.friction * GRAVITY * slid
    assert found[:2] == pytest.approx(expected * np.array([0.6, -0.8]), abs=1e-12)
    assert found[2:] == pytest.approx(twist[2:])


def test_contacts_count_when_they_are_large_and_late_enough():
    contacts = [contact_at(1.0, 0.4), contact_at(1.02, 0.3), contact_at(1.06, 0.14), contact_at(1.2, 0.16)]
    assert [c.time for c in recordings.counted(contacts)] == [1.0, 1.2]
    assert [c.time for c in recordings.counted(contacts[::3])] == [1.0]


def test_contacts_that_too_few_samples_follow_do_not_count():
    contacts = [contact_at(1.0, 0.4), contact_at(1.2, 0.3)]
    assert [c.time for c in recordings.counted(contacts, 1.21)] == [1.0, 1.2]
    assert [c.time for c in recordings.counted(contacts, 1.19)] == [1.0]


def test_a_find_is_that_of_the_nearest_contact_only():
    """Of two that are 16 ms apart the first is missed when the only find is at the second."""
    contacts = [contact_at(1.0, 0.4), contact_at(1.2, 0.3), contact_at(1.216, 0.1)]
    truth = SimpleNamespace(
        contacts=contacts,
        switches=(),
        draw=SimpleNamespace(control="hold", rest=0.1, ramp=0.1, soft_start=False),
    )

    def found(*times, end=2.0):
        event = SimpleNamespace(time_std=0.002)
        impacts = [SimpleNamespace(time=time, event=event, estimate=None, cause="contact") for time in times]
        for impact in impacts:
            impact.contact_check = impact.object_hit = None
        score = recordings.RecordingScore()
        recording = SimpleNamespace(truth=truth, rate=200, times=np.array([0.0, end]))
        score.take(recording, SimpleNamespace(impacts=impacts, other_events=[]), "x")
        return score.found, score.false_contacts, [round(error, 6) for error in score.time_errors]

    assert found(1.002, 1.209) == (1, 0, [2.0])
    assert found(1.002, 1.207) == (2, 0, [2.0, 7.0])
    # Of 200 Hz four samples after the second are not enough, six are.
    assert found(1.002, 1.207, end=1.221) == (1, 0, [2.0])
    assert found(1.002, 1.207, end=1.229) == (2, 0, [2.0, 7.0])


def test_what_a_find_may_be_called():
    times = np.arange(0.4, 2.0, 1e-3)
    swing = np.where((times > 0.7) & (times < 1.17), -0.008, 0.002)[:, None] * [0.0, 1.0]
    twice = replace(contact_at(1.2, 0.3, 1.5), losses=(1.25, 1.5))
    truth = SimpleNamespace(
        draw=SimpleNamespace(rest=0.5, ramp=0.1, soft_start=False),
        times=times,
        velocities=0.3 + swing,
        rigid_velocities=np.full((len(times), 2), 0.3),
        contacts=[contact_at(1.0, 0.4, 1.1), twice, contact_at(1.9, 0.01)],
        switches=((0.5, "motion_start"), (1.05, "command_step"), (1.01, "command_step")),
    )
    asked = {
        0.49: {"motion_start"}, 0.55: set(), 0.8: set(), 1.6: set(), 1.003: {"contact"}, 1.052: {"command_step"},
        1.105: {"contact_lost", "ringing"}, 1.5: {"contact_lost"}, 1.15: {"ringing"},
        1.195: {"second_contact", "contact_renewed"}, 1.9: set(), 1.26: {"contact_lost"},
    }  # fmt: skip
    assert {time: recordings.true_causes(truth, time, 0.02) for time in asked} == asked
    # A soft start has no instant.
    truth.draw.soft_start = True
    assert recordings.true_causes(truth, 0.56, 0.02) == {"motion_start"}
    assert recordings.true_causes(truth, 0.63, 0.02) == set()


def test_what_happens_clearly_after_a_find_is_not_what_it_shows():
    """Joints swing from 1 s on; a brake at 1.2 s, a second contact at 1.27 s."""
    times = np.arange(0.4, 2.0, 1e-3)
    truth = SimpleNamespace(
        draw=SimpleNamespace(rest=0.5, ramp=0.1, soft_start=False),
        times=times,
        velocities=np.where(times > 1.0, 0.294, 0.3)[:, None] * [0.7, 1.0],
        rigid_velocities=np.full((len(times), 2), 0.3) * [0.7, 1.0],
        contacts=[contact_at(1.0, 0.4, 1.002), contact_at(1.27, 0.2, 1.271)],
        switches=((1.2, "command_step"),),
    )
    asked = {
        1.187: {"command_step", "ringing"}, 1.193: {"command_step"}, 1.215: {"command_step"},
        1.258: {"second_contact", "contact_renewed", "contact_lost", "ringing"},
        1.263: {"second_contact", "contact_renewed", "contact_lost"},
        0.985: {"contact", "contact_lost"},
    }  # fmt: skip
    assert {time: recordings.true_causes(truth, time, 0.02) for time in asked} == asked
    # Joints that rest before what comes do not ring.
    truth.velocities[times < 1.198] = [0.21, 0.3]
    assert recordings.true_causes(truth, 1.187, 0.02) == {"command_step"}


def test_the_end_of_a_brake_is_a_step_of_the_command_where_the_joints_still_swing():
    times = np.arange(0.0, 1.0, 1e-3)
    truth = SimpleNamespace(
        draw=SimpleNamespace(rest=0.1, ramp=0.1, soft_start=False),
        times=times,
        velocities=np.where(times < 0.7, -0.2, 0.008)[:, None] * [1.0, 0.3],
        rigid_velocities=np.zeros((1000, 2)),
        contacts=[],
        switches=((0.1, "motion_start"), (0.7, "motion_start")),
    )
    assert recordings.true_causes(truth, 0.705, 0.02) == {"motion_start", "command_step"}
    assert recordings.true_causes(truth, 0.11, 0.02) == {"motion_start"}
    truth.velocities[times > 0.7] = [0.001, -0.004]
    assert recordings.true_causes(truth, 0.705, 0.02) == {"motion_start"}


def test_after_touches_that_are_hardly_seen_a_contact_may_be_the_first():
    truth = SimpleNamespace(
        draw=SimpleNamespace(rest=0.1, ramp=0.1, soft_start=False),
        times=np.zeros(0),
        velocities=np.zeros((0, 2)),
        rigid_velocities=np.zeros((0, 2)),
        contacts=[contact_at(1.0, 0.05), contact_at(1.2, 0.4), contact_at(1.4, 0.3)],
        switches=(),
    )
    assert recordings.true_causes(truth, 1.21, 0.02) == {"contact", "second_contact", "contact_renewed"}
    assert recordings.true_causes(truth, 1.41, 0.02) == {"second_contact", "contact_renewed"}


def test_scores_count_misses_false_contacts_and_errors_in_standard_errors():
    estimate = SimpleNamespace(
        velocity_after=AFTER,
        standard_error=np.array([0.03, 0.04]),
        velocity_before_error=np.array([0.04, 0.03]),
        jump_error=np.array([0.05, 0.06]),
    )

    def impact(time, cause="contact"):
        return SimpleNamespace(
            time=time, event=SimpleNamespace(time_std=0.002), estimate=estimate, velocity_before=BEFORE, cause=cause,
            contact_check=None, object_hit=None,
        )  # fmt: skip

    jump = AFTER - BEFORE + np.array([0.15, 0.0])
    contacts = [replace(contact_at(1.0, 0.4), jump=jump), contact_at(3.0, 0.4)]
    truth = SimpleNamespace(
        contacts=contacts,
        switches=((2.5, "command_step"),),
        draw=SimpleNamespace(control="brake", rest=0.1, ramp=0.1, soft_start=False),
    )
    analysis = SimpleNamespace(
        impacts=[impact(1.003), impact(2.5)], other_events=[SimpleNamespace(time=2.51 - STEP, cause="command_step")]
    )
    score = recordings.RecordingScore()
    score.take(SimpleNamespace(truth=truth, rate=200, times=np.array([0.0, 3.5])), analysis, "x")
    found = score.as_dict()
    assert (found["contacts"], found["found"], found["missed"], found["false_contacts"]) == (2, 0.5, 1, 0.5)
    assert found["time_error_ms"]["p50"] == pytest.approx(3.0)
    assert found["time_error_over_se"]["p50"] == pytest.approx(1.5) and found["time_error_over_se"]["within_2"] == 1.0
    assert found["jump_error"]["p50"] == pytest.approx(0.15 / np.linalg.norm(jump))
    assert found["jump_error_over_se"]["p95"] == pytest.approx(0.95 * 3.0)
    assert found["cause_right"] == pytest.approx(2.0 / 3.0)
    assert len(score.noted) == 3


@pytest.mark.slow
def test_workers_change_nothing_and_time_ends_it(monkeypatch):
    options = recordings.BenchOptions(hits=2, seed=7100, rates=(100,), workers=1, minutes=float("inf"))
    asked = argparse.Namespace(**vars(options))
    alone = recordings.run(asked)
    together = recordings.run(argparse.Namespace(**vars(asked) | {"workers": 2}))
    figures, others = alone["rates"]["100"], together["rates"]["100"]
    # Sums of the processor depend on where arrays lie in memory.
    assert figures["time_error_ms"] == pytest.approx(others["time_error_ms"], rel=1e-6)
    assert figures["jump_error"] == pytest.approx(others["jump_error"], rel=1e-6)
    assert figures["contacts"] == others["contacts"] > 0 and figures["noted"] == others["noted"]
    assert alone["trials"] == {"hits": 2, "requested": 2, "seed": 7100, "streamed": False}
    monkeypatch.setattr(recordings, "score_hit", lambda job: {100: recordings.RecordingScore()})
    short = recordings.run(argparse.Namespace(**vars(asked) | {"minutes": 1e-6}))
    assert short["trials"] == {"hits": 1, "requested": 2, "seed": 7100, "streamed": False}


@pytest.mark.slow
def test_analyze_tells_when_contacts_of_a_simulated_hit_were_lost(tmp_path):
    """A table is hit twice, and the arm rebounds each time; what the analysis says is held against the plant."""
    truth = hit_of_seed(7006)
    assert truth.draw.fixed and len(truth.contacts) == 2
    path = record(truth, 200.0, 7006).write(tmp_path, "rebounds")
    lost = [
        event for event in analyze([path], recordings.options_of(truth)).other_events if event.cause == "contact_lost"
    ]
    for event, contact in zip(lost, truth.contacts, strict=True):
        assert abs(event.time - contact.lost) < 3e-3 < event.time_standard_error
        assert "recedes along the normal" in event.evidence and event.detectors == ("bounce",)


def test_a_streamed_recording_has_every_fault_and_the_same_truth(hit):
    seen = dict.fromkeys(("gap", "step", "copies", "swaps", "zeros"), 0)
    for seed in range(30):
        plain = record(hit, 500, seed)
        streamed = as_streamed(plain, seed)
        steps, zeros = np.diff(streamed.times), (streamed.positions == 0.0).all(axis=1)
        seen["zeros"] += bool(zeros.any())
        seen["swaps"] += bool((steps < 0.0).any())
        seen["step"] += bool((steps > 0.5 * STEP).any())
        messages = np.column_stack((streamed.times, streamed.positions))[~zeros]
        seen["copies"] += len(np.unique(messages, axis=0)) < len(messages)
        seen["gap"] += len(np.unique(messages, axis=0)) < len(plain.times)
        after = streamed.times > hit.contacts[0].time
        assert np.isin(streamed.positions[after & ~zeros], plain.positions).all()
        late = streamed.times[~zeros & after].max() - plain.times.max()
        assert 0.0 <= late < 5e-3 and streamed.truth is plain.truth
    assert all(3 <= count <= 25 for count in seen.values()), seen


def test_free_motion_has_no_contact_and_the_torques_of_its_links():
    truth = free_motion(3, 6.0)
    slopes = np.gradient(truth.positions, truth.times, axis=0)
    assert truth.contacts == () and len(truth.switches) >= 4 and 0.3 < np.abs(truth.velocities).max() < 2.5
    np.testing.assert_allclose(slopes[1:-1], truth.velocities[1:-1], atol=0.01)
    swings = np.abs(truth.velocities - truth.rigid_velocities).max()
    assert 0.0 < swings < 0.1
    robot, row = truth.draw.plant, 4 * int(np.argmax(np.abs(truth.velocities[::4]).max(axis=1)))
    pull = np.gradient(truth.velocities, truth.times, axis=0)[row]
    q, dq = truth.positions[row], truth.velocities[row]
    np.testing.assert_allclose(truth.efforts[row], robot.mass_matrix(q, "M") @ pull + robot.bias(q, dq), atol=0.5)


def test_a_polled_recording_repeats_and_loses_samples_of_the_same_motion():
    plain = record(free_motion(4, 3.0), 500, 4)
    polled = as_polled(plain, 4)
    rows = np.searchsorted(plain.times, polled.times, side="right") - 1
    np.testing.assert_array_equal(polled.positions, plain.positions[rows])
    taken = np.diff(rows)
    assert (taken == 0).any() and (taken == 2).any() and (np.diff(polled.times) > 0.0).all()


def test_false_contacts_of_free_motion_are_counted_by_recorder(monkeypatch):
    counts = {(1, 100): ("streamed", 2), (2, 200): ("polled", 0), (4, 100): ("streamed", 1)}
    monkeypatch.setattr(recordings, "_false_contacts", counts.__getitem__)
    found = recordings.free_motions(dict(enumerate(counts)), 1)
    assert found["streamed"]["false_contacts"] == 3 and found["polled"]["false_contacts"] == 0
    assert found["streamed"]["hours"] == pytest.approx(60.0 / 3600.0)
    assert found["streamed"]["noted"] == ["(1, 100): 2", "(4, 100): 1"]


def test_false_contacts_of_real_arms_are_counted_by_arm(tmp_path):
    times, (smooth, hit) = np.arange(0.0, 2.0, 0.002), (np.zeros((2, 1000, 2)))
    smooth[:] = 0.3 * np.sin(times)[:, None]
    hit[:] = smooth + 0.8 * np.maximum(times - 1.0, 0.0)[:, None]
    for arm, name, positions in (("a", "one", smooth), ("a", "two", hit), ("b", "one", smooth)):
        (tmp_path / arm).mkdir(exist_ok=True)
        np.savez(tmp_path / arm / f"{name}.npz", time=times, q=positions)
    found = recordings.real_motions(tmp_path)
    assert found["a"]["noted"] == ["two.npz: 1"] and found["b"]["noted"] == []
    assert (found["a"]["false_contacts"], found["b"]["false_contacts"]) == (1, 0)
    assert found["a"]["hours"] == pytest.approx(2 * 1.998 / 3600.0)
