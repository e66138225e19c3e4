"""Runs judged by what happened in them: each cause of failure, and where it begins, from a run made for it."""

import numpy as np
import pytest
from episodes import NORMAL, ROWS, episode, event, rotation, truth

from impact_aware.experiments.run_figures import CAUSES, judge

SIDE = np.array([-0.8, 0.6, 0.0])


def ended(shift, *, rotated=None, lifts=False, **changes):
    """An episode whose object ends `shift` from its goal, rotated."""
    names = ("left", "right") if lifts else ("",)
    position = episode(names, lifts=lifts).object_position
    position[-1] += shift
    rotations = np.tile(np.eye(3), (ROWS, 1, 1))
    if rotated is not None:
        rotations[-1] = rotated
    return episode(names, lifts=lifts, object_position=position, object_rotation=rotations, **changes)


def moving(speed, angular=9.0):
    twist = np.zeros((ROWS, 6))
    twist[-1] = [0.6 * speed, -0.8 * speed, 0.0, angular, angular, angular]
    return twist


def degrees(angle, axis):
    return rotation(np.radians(angle), axis)


ANTE = np.ones(ROWS, dtype=np.int64)
TWICE = ((0, event(1.05)), (0, event(1.1)))
OBLIQUE = {angle: np.cos(np.radians(angle)) * NORMAL + np.sin(np.radians(angle)) * SIDE for angle in (44, 46)}

PUSHES = [
    ("", ended([0.0, 0.0, 0.0])),
    ("", ended([0.0119, -0.0159, 0.3])),
    ("goal missed", ended([0.0121, -0.0161, 0.0])),
    # The way that is left fades with kappa_p = 2 /s: 30 mm beyond the radius need 60 mm/s.
    ("out of time", ended([0.03, -0.04, 0.0], object_twist=moving(0.0601))),
    ("goal missed", ended([0.03, -0.04, 0.0], object_twist=moving(0.0599))),
    ("safe mode: QP_INFEASIBLE", ended([0.0, 0.0, 0.0], safe_reason="QP_INFEASIBLE")),
    ("object missed", ended([0.0, 0.0, 0.0], impacts=(truth(partner="table"),))),
    ("object missed: an impact was detected before", ended([0.0, 0.0, 0.0], impacts=(), events=((0, event(1.05)),))),
    ("object missed", ended([0.0, 0.0, 0.0], impacts=(), events=())),
    ("object missed", ended([0.0, 0.0, 0.0], impacts=(), events=((0, event(1.05)),), mode=ANTE)),
    ("", ended([0.0, 0.0, 0.0], impacts=(truth(normal=OBLIQUE[44]),))),
    ("face missed", ended([0.0, 0.0, 0.0], impacts=(truth(normal=OBLIQUE[46]),))),
    ("face missed", ended([0.0, 0.0, 0.0], impacts=(truth(normal=-NORMAL),))),
    ("impact not detected", ended([0.0, 0.0, 0.0], mode=ANTE)),
    # The first of two detections comes before the impact: it matters if the controller acts upon it, from row 50 on.
    ("detected before the impact", ended([0.0, 0.0, 0.0], events=TWICE, mode=np.where(np.arange(ROWS) < 50, 1, 2))),
    ("", ended([0.0, 0.0, 0.0], events=TWICE)),
    ("", ended([0.0, 0.0, 0.0], events=((0, event(1.1)), (0, event(1.3))))),
    ("", ended([0.0, 0.0, 0.0], rotated=degrees(29.0, "x"))),
    ("object toppled", ended([0.0, 0.0, 0.0], rotated=degrees(31.0, "x"))),
    ("object toppled", ended([0.0, 0.0, 0.0], rotated=degrees(-31.0, "x"))),
    ("", ended([0.0, 0.0, 0.0], rotated=degrees(80.0, "z"))),
    ("object turned away", ended([0.3, 0.0, 0.0], rotated=degrees(31.0, "z"))),
    ("object turned away", ended([0.3, 0.0, 0.0], rotated=degrees(-31.0, "z"))),
    ("goal missed", ended([0.3, 0.0, 0.0], rotated=degrees(29.0, "z"))),
]


@pytest.mark.parametrize(("cause", "result"), PUSHES, ids=range(len(PUSHES)))
def test_a_push_is_judged_by_where_its_object_ends_and_how_it_got_there(cause, result):
    assert judge(result) == (cause == "", cause)
    assert cause == "" or cause.partition(":")[0] in CAUSES


def lifted(heights, **changes):
    """A grasp whose object rises to the heights (m, of the wanted 0.15) at its middle and at its end."""
    result = episode(("left", "right"), lifts=True, **changes)
    position = result.object_position
    position[:, 2] = 0.4 + np.interp(np.arange(ROWS), [0, ROWS // 2, ROWS - 1], [0.0, *heights])
    tools = result.tool_position
    tools[:] = position[:, None, :]
    return result


def slipped(result, distance):
    result.tool_position[-1, 1] += distance * SIDE
    return result


LIFTS = [
    ("", lifted((0.16, 0.15))),
    ("object not lifted", lifted((0.0749, 0.0749))),
    ("object dropped", lifted((0.16, 0.0799))),
    ("goal missed", lifted((0.16, 0.0801))),
    ("", slipped(lifted((0.16, 0.15)), 0.0099)),
    ("object slipped", slipped(lifted((0.16, 0.15)), 0.0101)),
    ("one arm missed", lifted((0.16, 0.15), impacts=(truth("right", normal=-NORMAL),))),
    ("one arm missed", lifted((0.16, 0.15), impacts=(truth("right", normal=-NORMAL),), mode=ANTE)),
    ("impact not detected", lifted((0.16, 0.15), mode=ANTE)),
    ("face missed", lifted((0.16, 0.15), impacts=(truth("right", normal=NORMAL), truth("left")))),
    ("object toppled", ended([0.0, 0.0, 0.0], rotated=degrees(31.0, "x"), lifts=True)),
]


@pytest.mark.parametrize(("cause", "result"), LIFTS, ids=range(len(LIFTS)))
def test_a_lift_is_judged_by_height_slip_and_place(cause, result):
    assert judge(result) == (cause == "", cause)
    assert cause == "" or cause.partition(":")[0] in CAUSES


@pytest.mark.parametrize(
    ("height", "twist", "cause"),
    [(0.199, 0.0, ""), (0.201, 0.0, "goal missed"), (0.22, 0.0401, "out of time"), (0.22, 0.0399, "goal missed")],
)
def test_a_lifted_object_is_held_at_its_goal_in_space(height, twist, cause):
    result = lifted((height, height), object_twist=moving(twist))
    assert judge(result) == (cause == "", cause)
