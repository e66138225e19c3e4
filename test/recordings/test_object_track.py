"""Tracks of objects in tables, and what they say about restitution and momentum, with numbers made by hand."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import contact_point
from impact_aware.errors import InvalidInputError
from impact_aware.estimation.object_motion import ObjectTrack
from impact_aware.impact.predictor import predict
from impact_aware.recordings.object_hit import object_hit
from impact_aware.recordings.object_track import track_of_table
from impact_aware.records import VelocityEstimate
from impact_aware.robot import RobotModel
from impact_aware.tables.column_file import open_columns
from impact_aware.tables.joint_table import Clock

TIMES = np.arange(0.0, 2.0, 0.008)
POSITIONS = np.stack((0.1 * TIMES, 0.4 - 0.2 * TIMES, np.full(len(TIMES), 0.3)), axis=1)
TURNED = np.tile([0.0, 0.0, np.sin(0.35), np.cos(0.35)], (len(TIMES), 1))


def test_columns_of_a_table_with_a_clock_of_their_own(tmp_path):
    joints = np.arange(0.0, 2.0, 0.001)
    path = tmp_path / "t.npz"
    np.savez(path, time=joints, q=np.zeros((2000, 2)), object_time=1e3 * TIMES, object_position=POSITIONS,
             object_quaternion=3.0 * TURNED)  # fmt: skip
    track = track_of_table(open_columns(path), Clock("time", 1.0))
    np.testing.assert_allclose(track.times, TIMES, atol=1e-9)
    np.testing.assert_allclose(track.positions, POSITIONS)
    # Turned by 0.7 rad about z; a quaternion of another length is none the worse.
    np.testing.assert_allclose(track.rotations[3, :2, 0], [np.cos(0.7), np.sin(0.7)], atol=1e-12)
    assert track_of_table(open_columns(path), Clock("time", 1.0)).source == "columns object_position"


def test_one_column_per_axis_on_the_joints_clock_and_velocities_alone(tmp_path):
    lines = ["time,q_a,object_position_x,object_position_y,object_position_z"]
    for row, time in enumerate(TIMES.tolist()):
        place = ",".join(f"{value!r}" for value in POSITIONS[row].tolist()) if row % 2 else ",,"
        lines.append(f"{time!r},0.1,{place}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    track = track_of_table(open_columns(tmp_path / "t.csv"), Clock("time", 1.0))
    np.testing.assert_allclose(track.times, TIMES[1::2], atol=1e-12)
    np.testing.assert_allclose(track.positions, POSITIONS[1::2], atol=1e-12)
    path = tmp_path / "v.npz"
    np.savez(path, time=TIMES, q=np.zeros((250, 2)), object_velocity=np.tile([0.1, -0.2, 0.0], (250, 1)))
    summed = track_of_table(open_columns(path), Clock("time", 1.0))
    np.testing.assert_allclose(summed.positions, POSITIONS - POSITIONS[0], atol=1e-12)
    np.savez(path, time=TIMES, q=np.zeros((250, 2)))
    assert track_of_table(open_columns(path), Clock("time", 1.0)) is None


def test_tracks_that_are_none_are_refused(tmp_path):
    for words, columns in (
        ("object_position of width 2", {"object_position": POSITIONS[:, :2]}),
        ("a quaternion of no length", {"object_position": POSITIONS, "object_quaternion": 0.0 * TURNED}),
        ("no sample", {"object_position": np.nan * POSITIONS}),
    ):
        np.savez(tmp_path / "t.npz", time=TIMES, **columns)
        with pytest.raises(InvalidInputError, match=words):
            track_of_table(open_columns(tmp_path / "t.npz"), Clock("time", 1.0))


def test_a_pose_that_was_published_once_is_a_track_that_tells_no_velocity(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, time=TIMES[:1], object_position=POSITIONS[:1])
    track = track_of_table(open_columns(path), Clock("time", 1.0))
    assert len(track.times) == 1
    words = object_hit(track, TIMES[40], 1e-3, None, None, None, None, None)
    assert words.startswith("the object's track does not show the effect of this hit: object track: got too few")


def hit_by_hand(restitution, mass=1.7):
    """A hit off the centre of a box, its track without noise, and what the impact map says about it."""
    robot = RobotModel.from_profile("panda")
    q = robot.home + np.array([0.2, -0.1, 0.3, 0.15, -0.25, 0.1, 0.4])
    contact = Contact(robot.tool_frame, np.array([-0.8, 0.0, 0.6]), friction=0.4, restitution=restitution, radius=0.03)
    touched = contact_point(robot, q, contact)
    box = homogeneous_box(mass, [0.1, 0.12, 0.08], touched - 0.1 * contact.normal + np.array([0.0, 0.03, 0.0]))
    dq = 0.5 * np.linalg.pinv(robot.frame_jacobian(q)[:3]) @ np.array([0.9, 0.2, -0.5])
    made = predict(robot, q, dq, contact, obstacle=box)
    times = np.arange(0.4, 1.6, 0.004)
    since = (times - 1.0)[:, None]
    after = made.object_twist_after
    rotations = np.array([pin.exp3(after[3:] * max(s, 0.0)) for s in since[:, 0]])
    track = ObjectTrack(times, box.position + np.maximum(since, 0.0) * after[:3], rotations)
    errors = np.full(7, 1e-3)
    estimate = VelocityEstimate(
        "cubic", 1.0, made.velocity_after, errors, dq, errors, (1.0, 1.1), 100, np.zeros(7), np.zeros(0), np.zeros(0),
        True,
    )  # fmt: skip
    return track, estimate, made


@pytest.mark.parametrize("restitution", [0.0, 0.35, 0.8])
def test_restitution_and_momentum_come_out_as_they_went_in(restitution):
    track, estimate, made = hit_by_hand(restitution)
    found = object_hit(track, 1.0, 1e-4, None, estimate, made, 1.7, made.impulse)
    assert found.restitution == pytest.approx(restitution, abs=0.01)
    assert 0.0 < found.restitution_error < 0.05
    # What the arm loses the object gains, and its mass shows.
    np.testing.assert_allclose(found.momentum, -made.impulse, atol=0.02)
    np.testing.assert_allclose(found.impulse_lost, -made.impulse)
    assert found.mass_shown == pytest.approx(1.7, abs=0.05) and found.mass_shown_error < 0.1
    # An impulse of the arm that is known less well is in the mass that both show, along the normal.
    vague = object_hit(track, 1.0, 1e-4, None, estimate, made, 1.7, made.impulse, np.array([0.3, 5.0, 0.4]))
    speed = float(found.motion.velocity_after @ [0.8, 0.0, -0.6])
    expected = np.hypot(found.mass_shown_error, np.hypot(0.8 * 0.3, 0.6 * 0.4) / speed)
    assert vague.mass_shown_error == pytest.approx(expected, rel=1e-3) and vague.mass_shown == found.mass_shown
    np.testing.assert_allclose(found.motion.turn_after, made.object_twist_after[3:], atol=0.05)
    late = object_hit(track, 0.985, 1e-4, None, estimate, made, None, None)
    assert late.clock_offset == pytest.approx(0.015, abs=1e-3) and late.momentum is None and late.mass_shown is None


def test_errors_of_the_joints_after_a_hit_go_together_in_that_of_the_restitution():
    track, estimate, made = hit_by_hand(0.35)
    arm, exact = made.space.jacobian[0], np.full(7, 1e-6)

    def error(jump_error):
        known = replace(estimate, standard_error=exact, velocity_before_error=exact, jump_std=jump_error)
        return object_hit(track, 1.0, 1e-4, None, known, made, None, None).restitution_error

    approach = -float(arm @ estimate.velocity_before)
    one, two = np.zeros(7), np.zeros(7)
    one[1], two[[1, 3]] = 0.3, 0.3
    plain = error(exact)
    assert error(one) ** 2 - plain**2 == pytest.approx((0.3 * arm[1] / approach) ** 2, rel=1e-4)
    # More than of two that are independent, less than of two that are one.
    apart = 0.09 * (arm[1] ** 2 + arm[3] ** 2) / approach**2
    alike = 0.09 * (abs(arm[1]) + abs(arm[3])) ** 2 / approach**2
    assert error(two) ** 2 - plain**2 == pytest.approx(0.8 * apart + 0.2 * alike, rel=1e-4)


def test_what_the_track_does_not_tell_is_said():
    track, estimate, made = hit_by_hand(0.3)
    unknown = object_hit(track, 1.59, 1e-4, None, estimate, made, 1.7, made.impulse)
    assert "does not show the effect of this hit" in unknown
    assert object_hit(track, 1.0, 1e-4, None, None, None, None, None).restitution is None
    # Slow though known well, and fast though hardly known: either gives no mass.
    heavy, *known = hit_by_hand(0.3, mass=300.0)
    scattered = replace(track, positions=track.positions + np.random.default_rng(1).normal(0.0, 0.05, (301, 3)))
    for seen, (own, law) in ((heavy, known), (scattered, (estimate, made))):
        assert object_hit(seen, 1.0, 1e-4, None, own, law, 1.7, law.impulse).mass_shown is None
