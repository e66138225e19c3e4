"""Statements of the papers about their own tables, recomputed from the printed columns."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.estimation.metrics import absolute_error, relative_error, relative_error_of_sum
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.resources import read_named


def printed_table(name: str) -> dict[str, Array]:
    """Columns of a table in `config/papers/tables.yaml`, by name; the file names the paper and the units."""
    tables, _ = read_named("tables", "papers", "tables")
    return {column: np.array(values) for column, values in tables[name].items()}


SLIDING, THESIS = printed_table("aouaj_2021_table_2"), printed_table("aouaj_thesis_tables_4")
WANG, REY_ARIAS = printed_table("wang_2021_table_1"), printed_table("rey_arias_2024_tables_2_3")


def sliding_errors(context: ValidationContext) -> list[Check]:
    """Mean absolute and relative error of the sliding velocity (Aouaj 2021, Table II and the text below it)."""
    predicted, fitted, printed = (SLIDING[column] for column in ("predicted", "fitted", "error"))
    table = "Aouaj 2021 Table II"
    own = absolute_error(predicted, fitted)
    mean = Source(
        table, "printed", "mean of 2|p - e| / |p + e| over the 18 sliding velocities of both sets, not the normal ones"
    )
    rounded = Source(
        table, "consistency", "columns are rounded to 1 mm/s; the row 0.15 m/s, 30 deg repeats the row 0.20 m/s, 30 deg"
    )
    return [
        Source(table, "printed").equal("mean absolute sliding error, mm/s", 8.0, 1e3 * own.mean(), 0.5),
        mean.equal(
            "mean relative sliding error, %", 7.3, 100.0 * relative_error_of_sum(predicted, fitted).mean(), 0.05
        ),
        rounded.equal(
            "largest deviation of a printed error from its own columns, mm/s",
            0.0,
            1e3 * np.abs(own - printed).max(),
            1.0 + 1e-9,
        ),
    ]


def thesis_errors(context: ValidationContext) -> list[Check]:
    """Both metrics of (4.8) from the columns of Tables 4.1 and 4.2."""
    fitted, predicted = THESIS["fitted"], THESIS["predicted"]
    relative, absolute = THESIS["relative_error"], THESIS["absolute_error"]
    # Both velocities are rounded to 0.5 mm/s, eta_1 to 0.0005.
    bound = 2.0 * 1e-3 / (fitted + predicted) * (1.0 + 0.5 * relative) + 5e-4
    deviation = np.abs(relative_error(predicted, fitted) - relative)
    tables = "Aouaj thesis Tables 4.1, 4.2"
    return [
        Source(tables, "consistency").at_most(
            "largest deviation of eta_1 from its own columns, over what rounding allows", 1.0, (deviation / bound).max()
        ),
        Source(tables, "consistency", "three figures rounded to 1 mm/s each").equal(
            "largest deviation of eta_2 from its own columns, mm/s",
            0.0,
            1e3 * np.abs(absolute_error(predicted, fitted) - absolute).max(),
            1.5,
        ),
    ]


def velocity_ratio(context: ValidationContext) -> list[Check]:
    """Approximate-to-exact ratio e_a of (29) from the other two rows of Wang 2021, Table I."""
    computed = WANG["approximate"] / WANG["exact"]
    # Both rows are rounded to 0.5e-4 m/s, e_a to 0.5e-4.
    rounding = 0.5e-4 / WANG["exact"] * (1.0 + computed) + 0.5e-4
    table = Source("Wang 2021 Table I", "printed")
    return [
        table.equal(f"e_a, configuration {'abc'[row]}, reference {speed:.2f} m/s", *values)
        for row in range(3)
        for speed, *values in zip(
            WANG["reference"].tolist(),
            *(each[row].tolist() for each in (WANG["ratio"], computed, rounding)),
            strict=True,
        )
    ]


def prediction_errors(context: ValidationContext) -> list[Check]:
    """Statements of Rey Arias 2024 about its Tables II and III."""
    b_theta, b_rho, frictionless = (REY_ARIAS[name] for name in ("with_b_theta", "with_b_rho", "frictionless"))
    joint_6 = np.stack([b_theta[:, 5], b_rho[:, 5]], axis=1)
    differs = np.abs(joint_6[:, 0] - joint_6[:, 1]) > 1.0
    gain = joint_6[differs, 1] / joint_6[differs, 0]
    joint_5 = b_theta[:, 4] - b_rho[:, 4]
    reduction = 100.0 * (1.0 - b_theta.max() / frictionless.max())
    inertia, friction = Source("Rey Arias 2024 IV-B", "printed"), Source("Rey Arias 2024 IV-C", "printed")
    return [
        friction.equal("largest error with B_theta, deg/s", 6.62, b_theta.max(), 0.0),
        inertia.equal("types in which joint 6 differs by more than 1 deg/s", 7, differs.sum(), 0),
        inertia.equal("smallest gain of B_theta over B_rho there", 1.88, gain.min(), 5e-3),
        inertia.equal("types in which joint 5 is worse by more than 1 deg/s", 5, (joint_5 > 1.0).sum(), 0),
        friction.equal("largest error without friction, deg/s", 19.58, frictionless.max(), 0.0),
        friction.equal("reduction of the largest error by friction, %", 66.0, reduction, 0.5),
    ]
