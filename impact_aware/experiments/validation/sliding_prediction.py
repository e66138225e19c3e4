"""Predicted sliding velocities of Aouaj 2021, Table II, and thesis, Tables 4.1, 4.2, as far as their columns allow.

A frictionless inelastic impact changes the tangential velocity by W_tn / W_nn times the normal speed, W = J M^-1 J^T.
The postures are in a picture only (thesis, Figure 4.11), so this coupling can't be computed for the papers' impacts; it
can be read off their columns, compared among rows, and held against what postures of the arm give.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import linregress

from impact_aware.arrays import Array
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.experiments.validation.printed_tables import SLIDING, THESIS
from impact_aware.robot import INERTIA_CHOICES, RobotModel

_SETS = {"first set": slice(0, 9), "second set": slice(9, 18)}
_ANGLES = (30, 60, 90)
_POSTURES = 101
_AROUND_HOME = 0.2
_ONE = "one coupling W_tn / W_nn per set and angle, the mean of its three rows; rounding alone makes up to 2 mm/s"
_MODEL = Source(
    "Aouaj 2021 (5)",
    "aim",
    f"postures are in a picture only: {_POSTURES} random ones within {_AROUND_HOME} rad of the shipped KUKA LWR IV+'s "
    "home, which is like Figure 1; tangent in the vertical plane through base and tool, its sense not known; the "
    "paper's inertia is M, this package's B_theta is B_rho / 5",
)


def sliding_predictions(context: ValidationContext) -> list[Check]:
    """Coupling of tangential and normal velocity in the printed predictions, and in the arm's model."""
    paper = coupling(SLIDING, "predicted")
    thesis = coupling(THESIS, "predicted")
    trends = {name: linregress(THESIS["before"][rows], THESIS["fitted"][rows]) for name, rows in _SETS.items()}
    if context.out is not None:
        _draw(context)
    figure = Source("Aouaj thesis Fig. 4.10", "aim", "'linear trends are recognisable'; columns of Tables 4.1, 4.2")
    return [
        *_one_coupling("Aouaj 2021 Table II", SLIDING, paper),
        *_one_coupling("Aouaj thesis Tables 4.1, 4.2", THESIS, thesis[:18]),
        Source("Aouaj thesis Table 4.2", "aim").reported("W_tn / W_nn at the wall", thesis[18]),
        Source("Aouaj 2021 Table II", "aim").reported(
            "W_tn / W_nn of the measured velocities: median", np.median(coupling(SLIDING, "fitted"))
        ),
        *_of_the_model(context.seed, min(paper.min(), thesis.min()), max(paper.max(), thesis.max())),
        *(
            figure.at_least(f"{name}: correlation of post- with ante-impact sliding velocity", 0.9, trend.rvalue)
            for name, trend in trends.items()
        ),
        *(figure.reported(f"{name}: slope", trend.slope) for name, trend in trends.items()),
    ]


def coupling(table: dict[str, Array], column: str) -> Array:
    """W_tn / W_nn (k,) from a column of velocities after, and the velocities before."""
    return (table[column] - table["before"]) / np.abs(table["before_normal"])


def _one_coupling(paper: str, table: dict[str, Array], found: Array) -> list[Check]:
    """How well one coupling per set and angle gives the printed predictions."""
    # Rows go set by set, within them speed by speed, within those angle by angle.
    by_angle = found.reshape(2, 3, 3)
    mean = np.broadcast_to(by_angle.mean(axis=1, keepdims=True), by_angle.shape).ravel()
    before, normal, predicted = (table[name][: found.size] for name in ("before", "before_normal", "predicted"))
    error = np.abs(before + mean * np.abs(normal) - predicted)
    source = Source(paper, "aim", _ONE)
    return [
        source.at_most(
            "printed predictions from one coupling per set and angle: mean error, mm/s", 8.0, 1e3 * error.mean()
        ),
        source.reported("the same, largest error, mm/s", 1e3 * error.max()),
        source.reported("W_tn / W_nn, smallest", found.min()),
        source.reported("W_tn / W_nn, largest", found.max()),
    ]


def _of_the_model(seed: int, smallest: float, largest: float) -> list[Check]:
    """Coupling of tangential and normal velocity in random postures of the arm's model."""
    robot = RobotModel.from_profile("kuka_lwr4")
    offsets = np.random.default_rng(seed).uniform(-_AROUND_HOME, _AROUND_HOME, (_POSTURES, robot.n))
    of_inertia = {
        inertia: np.array([_coupling_at(robot, q, inertia) for q in robot.home + offsets])
        for inertia in INERTIA_CHOICES[:2]
    }
    return [
        _MODEL.at_least(
            "W_tn / W_nn with M: median, not below all of the tables'", smallest, np.median(of_inertia["M"])
        ),
        _MODEL.at_most("W_tn / W_nn with M: median, not above all of the tables'", largest, np.median(of_inertia["M"])),
        *(
            _MODEL.reported(f"W_tn / W_nn with {inertia}: {label}", reduce(values))
            for inertia, values in of_inertia.items()
            for label, reduce in (("smallest", np.min), ("median", np.median), ("largest", np.max))
        ),
    ]


def _coupling_at(robot: RobotModel, q: Array, inertia: str) -> float:
    jacobian = robot.frame_jacobian(q)[:3]
    mobility = jacobian @ np.linalg.solve(robot.mass_matrix(q, inertia), jacobian.T)
    outward = np.array(robot.placement(q).translation) * (1.0, 1.0, 0.0)
    return abs(float(outward @ mobility[:, 2] / np.linalg.norm(outward) / mobility[2, 2]))


def _draw(context: ValidationContext) -> None:
    with context.figure("004_figure_4_10_tangential", 1, 2, figsize=(10.0, 4.0), sharey=True) as (figure, axes):
        for axis, (name, rows) in zip(axes[0], _SETS.items(), strict=True):
            before, fitted, predicted = (THESIS[name][rows] for name in ("before", "fitted", "predicted"))
            for index, angle in enumerate(_ANGLES):
                axis.plot(before[index::3], fitted[index::3], f"C{index}o", label=f"{angle} deg, estimated")
                axis.plot(before[index::3], predicted[index::3], f"C{index}x", label=f"{angle} deg, predicted")
            axis.set(xlabel="ante-impact tangential velocity, m/s", title=name)
        axes[0, 0].set(ylabel="post-impact tangential velocity, m/s")
        axes[0, 0].legend(fontsize="x-small")
        figure.suptitle("Tables 4.1 and 4.2 as Figure 4.10 of Aouaj thesis")
