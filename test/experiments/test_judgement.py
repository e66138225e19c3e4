"""Runs judged by what happened in them, each cause of failure from a run made for it."""

import dataclasses

import numpy as np
import pytest

from impact_aware.experiments.episode import EpisodeSettings, run_episode
from impact_aware.experiments.judgement import CAUSES, cause_class, judge
from impact_aware.task import load_task


@pytest.fixture(scope="module")
def pushed():
    """Long enough to hit, push and come near the goal."""
    return run_episode(load_task("hit_and_push"), EpisodeSettings(duration=2.2))


def changed(result, **arrays):
    return dataclasses.replace(result, **arrays)


def turned(result, axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    turn = {"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis]
    rotation = result.object_rotation.copy()
    rotation[-1] = turn
    return rotation


def test_a_run_cut_off_on_its_way_is_out_of_time(pushed):
    assert pushed.first_impact is not None
    assert judge(pushed) == (False, "out of time")


def test_each_cause_is_told_from_the_others(pushed):
    at_goal = pushed.object_position.copy()
    at_goal[-1, :2] = pushed.task.goal[:2]
    away = pushed.object_position.copy()
    away[-1, 0] += 0.3
    still = np.zeros_like(pushed.object_twist)
    missed = pushed.impacts[:0]
    edge = dataclasses.replace(pushed.first_impact, normal=np.array([1.0, 0.0, 0.0]))
    calm = np.ones_like(pushed.mode)
    cases = {
        "": changed(pushed, object_position=at_goal),
        "safe mode: QP_INFEASIBLE": changed(pushed, safe_reason="QP_INFEASIBLE"),
        "object missed": changed(pushed, impacts=missed),
        "face missed": changed(pushed, impacts=(edge,)),
        "impact not detected": changed(pushed, mode=calm),
        "object toppled": changed(pushed, object_rotation=turned(pushed, "x", 1.0)),
        "object turned away": changed(pushed, object_position=away, object_rotation=turned(pushed, "z", 1.0)),
        "goal missed": changed(pushed, object_position=away, object_twist=still),
    }
    for cause, result in cases.items():
        assert judge(result) == (cause == "", cause)
        assert cause == "" or cause_class(cause) in CAUSES


def test_the_slip_is_that_in_the_objects_own_axes(pushed):
    """A tool and an object that turn together about any point do not slip."""
    begin = np.searchsorted(pushed.time, pushed.first_impact.time + 0.1)
    angle = np.zeros(pushed.time.size)
    angle[begin:] = np.linspace(0.0, 0.5, pushed.time.size - begin)
    c, s, o = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    turn = np.array([[c, -s, o], [s, c, o], [o, o, o + 1.0]]).transpose(2, 0, 1)
    offset = np.array([0.0, 0.09, 0.02])
    rigid = changed(
        pushed,
        object_rotation=turn,
        tool_position=(pushed.object_position + turn @ offset)[:, None, :],
    )
    assert rigid.slip == pytest.approx(0.0, abs=1e-12)
    sliding = rigid.tool_position.copy()
    sliding[-1, 0] += (turn[-1] @ np.array([0.0, 0.0, 0.004])).reshape(3)
    assert changed(rigid, tool_position=sliding).slip == pytest.approx(0.004)


def test_how_far_off_centre_the_touch_was(pushed):
    assert pushed.off_centre < 0.002
    beside = pushed.object_position + [0.007, 0.0, 0.0]
    assert changed(pushed, object_position=beside).off_centre == pytest.approx(0.007, abs=0.002)
    assert pushed.arms_apart == 0.0
