"""Every figure that a campaign keeps of a run, on runs made by hand."""

import dataclasses

import numpy as np
import pytest
from episodes import ACROSS, DETECTED, NORMAL, POST, ROWS, episode, event, rotation, row, truth

from impact_aware.experiments.run_figures import RunFigures, figures_of

LIMITS = np.array([10.0, 20.0])


def figures(result):
    return figures_of(result, np.tile(LIMITS, len(result.task.arms)))


def test_peaks_are_the_largest_norms_averaged_over_the_arms():
    target = np.zeros((ROWS, 2, 6))
    target[20, 0] = [0.0, 3.0, 4.0, 0.0, 12.0, 0.0]  # norm 13, before the detection
    target[50, 0] = [-5.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    target[30, 1] = [6.0, 0.0, -8.0, 0.0, 0.0, 24.0]  # norm 26
    target[DETECTED, 0] = [2.0, 0.0, 0.0, 0.0, 0.0, -7.0]
    target[300, 1] = [0.0, 0.0, -3.0, 4.0, 0.0, 0.0]
    found = figures(episode(("left", "right"), target_acceleration=target))
    assert found.peak == pytest.approx(19.5)
    assert found.peak_linear == pytest.approx(0.5 * (5.5 + 10.0))
    assert found.peak_after == pytest.approx(0.5 * (np.sqrt(53.0) + 5.0))
    assert found.peak_linear_after == pytest.approx(2.5)


def test_peaks_after_a_detection_that_never_came_are_unknown():
    found = figures(episode(mode=np.ones(ROWS, dtype=np.int64)))
    assert np.isnan([found.peak_after, found.peak_linear_after, found.torque_jump, found.torque_swing]).all()
    assert np.isnan(found.time_to_track_s)
    assert found.peak == 0.0


def test_torque_jumps_are_shares_of_the_whole_torque_range_at_the_switches():
    effort = np.zeros((ROWS, 2))
    effort[50] = 9.0  # no switch here
    effort[DETECTED - 1 :] = [1.0, 2.0]
    effort[DETECTED] = [3.0, 2.0]  # 2 of 20
    effort[DETECTED + 9] = [1.0, -14.0]  # 16 of 40
    effort[DETECTED + 10] = [9.0, 20.0]  # too late to count
    effort[POST] = [1.0, 5.0]  # 3 of 40
    effort[POST + 3] = [-5.0, 2.0]  # 6 of 20
    found = figures(episode(effort=effort))
    assert found.torque_jump == pytest.approx(0.1)
    assert found.torque_swing == pytest.approx(0.4)
    effort[POST] = [-4.0, 2.0]
    effort[DETECTED + 9] = [1.0, 2.0]
    found = figures(episode(effort=effort))
    assert (found.torque_jump, found.torque_swing) == (pytest.approx(0.25), pytest.approx(0.3))


def test_the_time_to_track_begins_at_the_detection_and_needs_fifty_cycles_of_every_tool():
    twist = np.zeros((ROWS, 2, 6))
    twist[:, :, 3:] = 1.0  # rotation does not count
    twist[:80, 1, 2] = 0.5  # before the detection
    twist[100:120, 0] = [0.03, 0.0, 0.0, 0.0, 0.0, 0.0]
    twist[169, 1, :3] = [0.0, 0.0, -0.021]  # after 49 good cycles
    twist[170:, 1, :3] = [0.0, 0.019, 0.0]
    reference = np.zeros((ROWS, 2, 6))
    shifted = {
        "tool_twist": twist + [0.2, -0.3, 0.1, 0, 0, 0],
        "reference_twist": reference + [0.2, -0.3, 0.1, 0, 0, 0],
    }
    assert figures(episode(("left", "right"), **shifted)).time_to_track_s == pytest.approx(0.070)
    twist[170:, 1, :3] = [0.0, 0.0201, 0.0]
    assert figures(episode(("left", "right"), tool_twist=twist)).time_to_track_s == np.inf


def test_detections_count_from_the_first_impact_with_the_object():
    impacts = (truth(partner="table", time=1.05), truth(time=1.0985), truth(time=1.2))
    found = figures(
        episode(
            impacts=impacts,
            events=tuple((0, event(t)) for t in (1.02, 1.0558, 1.1004, 1.1086, 1.2, 1.21)),
        )
    )
    assert found.detection_delay_s == pytest.approx(1.9e-3)
    # 1.02 s before any contact, 1.1086 s more than 10 ms after one; 1.21 s is on the limit or beside it.
    assert found.false_detections in (2, 3)
    assert figures(episode(impacts=impacts, events=((0, event(1.02)), (0, event(1.1086))))).false_detections == 2
    assert figures(episode(impacts=impacts, events=((0, event(1.0984)), (0, event(1.1084))))).false_detections == 1
    assert np.isnan(figures(episode(events=())).detection_delay_s)
    assert np.isnan(figures(episode(events=((0, event(1.0984)),))).detection_delay_s)


def test_the_predicted_velocities_are_held_against_the_true_ones():
    # The same impact told again within 5 ms, and one that is another.
    predictions = [(1.1, [7.0, 7.0]), (1.104, [1.3, 2.4]), (1.1061, [9.0, 9.0])]
    velocities = np.array([[[0.1, -0.2, 0.25], [0.1, -0.16, 0.28]], np.full((2, 3), 9.0), np.full((2, 3), 8.0)])
    told = tuple((time, np.array(after)) for time, after in predictions)
    falls = np.array([[0.0, 0.0, -0.02], [0.0, 0.0, 7.0], [0.0, 0.0, 7.0]])
    made = {"predictions": told, "object_velocities": velocities, "object_falls": falls}
    found = figures(episode(**made))
    # |(0.3, 0.4)| over |(0, 4)|.
    assert found.prediction_error == pytest.approx(0.125)
    assert found.object_prediction_error == pytest.approx(0.03)
    assert found.object_prediction_difference == pytest.approx(0.05)
    assert found.object_speed_after == pytest.approx(0.3)
    assert found.impact_speed == 0.45
    assert found.object_prediction_share == pytest.approx(0.03 / 0.3)
    assert found.object_prediction_closing == pytest.approx(0.03 / 0.45)


def test_of_two_arms_those_count_that_hit_at_once_and_the_object_when_the_last_has_hit():
    left = truth("left", velocity_before=np.array([1.0, -2.0, 5, 5]), velocity_after=np.array([1.0, 2.0, 5, 5]))
    after = np.array([8, 8, 0.5, 3.5])
    twist = np.array([0.0, 0.3, -0.4, 9.0, 9.0, 9.0])
    before = np.array([8, 8, 0.5, 0.5])
    right = truth("right", time=1.1005, velocity_before=before, velocity_after=after, object_twist_after=twist)
    alone = (1.1, np.array([1.3, 2.4, np.nan, np.nan]))
    velocities = np.array([[[0.0, 0.3, -0.3], [0.0, 0.3, -0.3]]])
    made = {"impacts": (left, right), "object_velocities": velocities, "object_falls": np.zeros((1, 3))}
    found = figures(episode(("left", "right"), predictions=(alone,), **made))
    assert found.prediction_error == pytest.approx(0.5 / 4.0)
    assert found.object_prediction_error == pytest.approx(0.1)
    both = (1.1021, np.array([1.3, 2.4, 0.5, 2.3]))
    # The first arm was told of before; what was told when the last one hit counts.
    told = {"object_velocities": np.concatenate([velocities - 5.0, velocities]), "object_falls": np.zeros((2, 3))}
    early = (1.0995, alone[1])
    found = figures(episode(("left", "right"), predictions=(early, both), **made | told))
    # |(0.3, 0.4, 0, -1.2)| over |(0, 4, 0, 3)|.
    assert found.prediction_error == pytest.approx(1.3 / 5.0)
    assert found.object_prediction_error == pytest.approx(0.1)
    assert found.object_prediction_share == pytest.approx(0.2)
    missed = figures(episode(("left", "right"), **made | {"impacts": (left,)}))
    assert np.isnan([missed.object_prediction_error, missed.prediction_error]).all()


def test_without_an_impact_its_figures_are_unknown():
    found = figures(episode(impacts=(truth(partner="table"),)))
    names = ("prediction_error", "object_prediction_error", "off_centre_m", "arms_apart_s", "slip_m", "impact_speed")
    assert np.isnan([getattr(found, name) for name in (*names, "object_speed_after", "detection_delay_s")]).all()
    assert (found.success, found.cause) == (False, "object missed")


def test_the_goal_error_is_horizontal_at_the_end():
    position = episode().object_position
    position[-1] = [0.53 + 0.03, -0.26 + 0.04, 9.0]
    found = figures(episode(object_position=position))
    assert found.goal_error_m == pytest.approx(0.05)
    assert (found.success, found.cause) == (False, "goal missed")
    assert found.duration_s == pytest.approx(1.399)


def test_the_touch_is_off_centre_across_the_first_arms_normal_in_the_objects_own_axes():
    object_rotation = np.tile(rotation(0.5), (ROWS, 1, 1))
    position = episode().object_position
    position[row(1.099)] = [0.7, 0.2, 0.4]
    offset = rotation(0.5) @ (0.1 * NORMAL - 0.03 * ACROSS + [0.0, 0.0, 0.5])
    point = position[row(1.099)] + offset
    made = episode(object_rotation=object_rotation, object_position=position, impacts=(truth(point=point),))
    assert figures(made).off_centre_m == pytest.approx(0.03)
    assert made.arms_apart == 0.0


def test_the_arms_are_as_far_apart_as_their_first_touches_of_the_object():
    impacts = (
        truth("left", partner="table", time=1.0),
        truth("right", time=1.11),
        truth("left", time=1.147),
        truth("right", time=1.2),
    )
    found = episode(("left", "right"), impacts=impacts)
    assert figures(found).arms_apart_s == pytest.approx(0.037)
    np.testing.assert_allclose(found.hit_times, [1.147, 1.11])
    lacking = episode(("left", "right"), impacts=impacts[:2])
    assert list(lacking.hit_arms) == [False, True] and np.isnan(lacking.arms_apart)


def test_all_is_detected_when_the_last_arm_is():
    # The first one comes before anything was hit.
    detected = ((0, 1.02), (1, 1.1), (1, 1.2), (0, 1.15), (0, 1.3))
    found = episode(("left", "right"), events=tuple((k, event(t)) for k, t in detected))
    assert found.all_detected == 1.15
    assert episode(("left", "right"), events=((1, event(1.1)),)).all_detected == pytest.approx(1.399)


def slip_of(tool_offset, angle=None, **changes):
    """Slip of tools at `tool_offset` (rows, m, 3) from the object, in its axes, while it rotates by `angle`."""
    angle = np.zeros(ROWS) if angle is None else angle
    rotations = np.array([rotation(a) for a in angle])
    names = ("left", "right")[: tool_offset.shape[1]]
    base = episode(names if len(names) > 1 else ("",), object_rotation=rotations, **changes)
    tools = base.object_position[:, None, :] + np.einsum("kij,kmj->kmi", rotations, tool_offset)
    return figures(dataclasses.replace(base, tool_position=tools)).slip_m


def test_slip_is_along_the_face_in_the_objects_own_axes_from_a_tenth_of_a_second_on():
    offset = np.tile(0.1 * NORMAL, (ROWS, 1, 1))
    turning = np.linspace(0.0, 1.0, ROWS)
    assert slip_of(offset, turning) == pytest.approx(0.0, abs=1e-12)
    offset[: row(1.1985)] += 9.0 * ACROSS  # before it counts
    offset[250] += 0.003 * ACROSS + [0.0, 0.0, 0.004]
    offset[260:] += 0.5 * NORMAL  # away from the face is no slip
    assert slip_of(offset, turning) == pytest.approx(0.005)


def test_slip_is_that_of_the_worst_arm_from_the_last_arms_impact_on():
    offset = np.zeros((ROWS, 2, 3))
    offset[:, 0], offset[:, 1] = 0.1 * NORMAL, -0.1 * NORMAL
    offset[row(1.21), 1] += 0.5 * ACROSS  # the right arm hits at 1.1185 s
    offset[row(1.3), 1] += 0.007 * ACROSS
    offset[row(1.31), 0] += 0.002 * ACROSS
    offset[-1, 1] += 0.004 * ACROSS  # counted from the first place, not from the last
    assert slip_of(offset) == pytest.approx(0.007)
    assert np.isnan(slip_of(offset, impacts=(truth("left"),)))
    late = (truth("left"), truth("right", time=1.35))
    assert np.isnan(slip_of(offset, impacts=late))


def test_a_success_is_a_row_of_its_figures():
    found = figures(episode())
    assert isinstance(found, RunFigures)
    assert (found.success, found.cause, found.goal_error_m) == (True, "", pytest.approx(0.0, abs=1e-12))
