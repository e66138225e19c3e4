"""An episode made by hand: asymmetric numbers, an oblique face, and a known answer for every figure."""

import dataclasses
from types import SimpleNamespace

import numpy as np

from impact_aware.experiments.episode_result import EpisodeResult
from impact_aware.simulation.impact_truth import ImpactTruth

START = 1.0
DETECTED, POST = 100, 150  # rows of the mode switches; one row per millisecond
ROWS = 400
NORMAL = np.array([0.6, 0.8, 0.0])
ACROSS = np.array([-0.8, 0.6, 0.0])


def rotation(angle, axis="z"):
    c, s = np.cos(angle), np.sin(angle)
    return np.array({"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1.0]]}[axis])


def truth(arm="arm", partner="object", time=1.0985, **changes):
    values = {
        "arm": arm,
        "partner": partner,
        "time": time,
        "time_after": time + 0.002,
        "point": np.zeros(3),
        "normal": NORMAL,
        "q": np.zeros(2),
        "velocity_before": np.array([1.0, -2.0]),
        "velocity_after": np.array([1.0, 2.0]),
        "object_twist_before": np.zeros(6),
        "object_twist_after": np.array([0.1, -0.2, 0.2, 9.0, 9.0, 9.0]),
        "impulse": np.zeros(3),
        "approach_speed": 0.45,
        "separation_speed": 0.0,
        "losses": 0,
        "time_lost": np.nan,
    }
    return ImpactTruth(**{**values, **changes})


def event(time_detected):
    return SimpleNamespace(time_detected=time_detected)


def episode(names=("",), *, lifts=False, **changes):
    """Arms with two joints each; ANTE up to 1.1 s, INTERIM up to 1.15 s, POST up to 1.399 s, ends at its goal."""
    m = len(names)
    mode = np.ones(ROWS, dtype=np.int64)
    mode[DETECTED:POST], mode[POST:] = 2, 3
    normals = [NORMAL, -NORMAL][:m]
    impacts = [truth(name or "arm", time=1.0985 + 0.02 * k, normal=normals[k]) for k, name in enumerate(names)]
    start, goal = np.array([0.5, 0.0, 0.4]), np.array([0.53, -0.26, 0.55 if lifts else 0.4])
    position = start + np.linspace(0.0, 1.0, ROWS)[:, None] * (goal - start)
    values = {
        "time": START + 1e-3 * np.arange(ROWS),
        "q": np.zeros((ROWS, 2 * m)),
        "dq": np.zeros((ROWS, 2 * m)),
        "effort": np.zeros((ROWS, 2 * m)),
        "mode": mode,
        "blend": np.zeros(ROWS),
        "tool_position": np.repeat(position[:, None, :], m, axis=1),
        "tool_twist": np.zeros((ROWS, m, 6)),
        "reference_twist": np.zeros((ROWS, m, 6)),
        "target_acceleration": np.zeros((ROWS, m, 6)),
        "object_position": position,
        "object_twist": np.zeros((ROWS, 6)),
        "object_rotation": np.tile(np.eye(3), (ROWS, 1, 1)),
        "qp_status": np.zeros(ROWS, dtype=np.int64),
        "events": tuple((k, event(1.1 + 0.02 * k)) for k in range(m)),
        "predictions": (),
        "object_velocities": np.zeros((0, 2, 3)),
        "object_falls": np.zeros((0, 3)),
        "impacts": tuple(impacts),
        "field": SimpleNamespace(arms=[SimpleNamespace(normal=n) for n in normals], post_gain=2.0),
        "task": SimpleNamespace(
            arms=[SimpleNamespace(name=name) for name in names],
            goal=tuple(goal),
            lifts=lifts,
            object=SimpleNamespace(position=tuple(start)),
        ),
        "settings": None,
        "seed": 0,
        "interventions": 0,
        "safe_reason": None,
    }
    return dataclasses.replace(EpisodeResult(**values), **changes)


def row(time):
    """Index of the row at a time, s."""
    return round((time - START) * 1e3)
