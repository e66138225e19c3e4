"""Statements of the papers about their own tables, recomputed from the printed columns."""

from __future__ import annotations

import numpy as np

from impact_aware.estimation.metrics import absolute_error, relative_error, relative_error_of_sum
from impact_aware.experiments.validation.check import Check, Source
from impact_aware.experiments.validation.context import ValidationContext

# Aouaj 2021 Table II, sliding direction, both data sets one below the other: predicted, fitted, printed error; m/s.
SLIDING = np.array(
    [
        [0.094, 0.096, 0.002], [0.122, 0.109, 0.013], [0.055, 0.050, 0.006], [0.176, 0.181, 0.005],
        [0.174, 0.163, 0.011], [0.072, 0.064, 0.008], [0.176, 0.181, 0.005], [0.223, 0.204, 0.019],
        [0.098, 0.085, 0.013], [0.120, 0.112, 0.008], [0.088, 0.094, 0.006], [0.039, 0.050, 0.011],
        [0.178, 0.170, 0.008], [0.140, 0.149, 0.009], [0.072, 0.072, 0.000], [0.222, 0.209, 0.013],
        [0.190, 0.190, 0.000], [0.093, 0.099, 0.006],
    ]
)  # fmt: skip

# Aouaj thesis Tables 4.1 and 4.2, sliding direction: fitted, predicted, eta_1, eta_2.
THESIS = np.array(
    [
        [0.105, 0.090, 0.151, 0.015], [0.109, 0.117, 0.072, 0.008], [0.057, 0.045, 0.249, 0.013],
        [0.192, 0.165, 0.153, 0.027], [0.173, 0.167, 0.034, 0.006], [0.076, 0.056, 0.303, 0.020],
        [0.190, 0.164, 0.152, 0.027], [0.210, 0.207, 0.016, 0.003], [0.096, 0.087, 0.100, 0.009],
        [0.114, 0.116, 0.016, 0.002], [0.071, 0.087, 0.194, 0.015], [0.024, 0.028, 0.169, 0.004],
        [0.156, 0.160, 0.025, 0.004], [0.109, 0.146, 0.293, 0.037], [0.034, 0.048, 0.337, 0.014],
        [0.199, 0.222, 0.108, 0.023], [0.141, 0.198, 0.335, 0.057], [0.065, 0.072, 0.113, 0.008],
        [0.064, 0.060, 0.060, 0.004],
    ]
)  # fmt: skip

# Wang 2021 Table I: contact velocity, its approximation, m/s, their ratio; three configurations, five reference speeds.
WANG_SPEEDS = np.array(
    [
        [0.0756, 0.0956, 0.1156, 0.1456, 0.1755],
        [0.0745, 0.0943, 0.1141, 0.1438, 0.1734],
        [0.0715, 0.0913, 0.1111, 0.1411, 0.1709],
    ]
)
_APPROXIMATE = np.array(
    [
        [0.0699, 0.0870, 0.1056, 0.1309, 0.1623],
        [0.0567, 0.0734, 0.0975, 0.1239, 0.1486],
        [0.0446, 0.0586, 0.0712, 0.0894, 0.1036],
    ]
)
WANG_RATIOS = np.array(
    [
        [0.9248, 0.9100, 0.9141, 0.8996, 0.9243],
        [0.7609, 0.7785, 0.8544, 0.8618, 0.8567],
        [0.6244, 0.6423, 0.6406, 0.6336, 0.6062],
    ]
)
REFERENCE_SPEEDS = (0.08, 0.10, 0.12, 0.15, 0.18)
"""Reference contact velocities of Wang 2021, section VI, m/s."""

# Rey Arias 2024 Table II: error with B_theta, with B_rho, joint by joint, deg/s.
_B_THETA = np.array(
    [
        [0.17, 0.73, 0.57, 0.88, 0.64, 2.97, 0.42], [0.16, 0.23, 0.28, 0.41, 0.55, 6.62, 0.48],
        [0.24, 0.62, 0.65, 0.61, 1.02, 5.39, 0.31], [0.24, 0.72, 0.37, 1.01, 1.37, 1.75, 0.29],
        [0.22, 2.38, 0.11, 1.35, 3.11, 4.36, 0.24], [0.15, 1.14, 1.15, 0.85, 3.76, 1.41, 0.90],
        [0.10, 1.09, 1.06, 0.35, 3.22, 0.86, 1.18], [0.29, 0.49, 0.53, 1.13, 1.47, 5.90, 0.96],
        [0.30, 2.16, 1.52, 0.93, 4.32, 1.83, 0.06], [0.41, 1.04, 0.69, 0.44, 0.90, 1.10, 0.48],
    ]
)  # fmt: skip
_B_RHO = np.array(
    [
        [0.21, 0.46, 0.68, 0.91, 0.50, 10.06, 0.17], [0.18, 0.57, 0.37, 1.32, 0.41, 12.67, 0.25],
        [0.29, 0.57, 0.77, 1.47, 0.79, 10.15, 0.15], [0.32, 1.28, 0.56, 1.00, 0.89, 1.49, 0.19],
        [0.33, 1.41, 0.15, 0.16, 1.23, 9.65, 0.19], [0.22, 0.68, 1.00, 1.51, 1.84, 1.13, 0.54],
        [0.21, 0.88, 0.89, 0.21, 1.64, 2.89, 0.63], [0.36, 0.20, 0.38, 0.80, 0.31, 11.63, 0.29],
        [0.28, 2.15, 1.44, 1.02, 2.21, 2.35, 0.07], [0.44, 0.87, 1.08, 1.03, 0.80, 2.58, 0.36],
    ]
)  # fmt: skip
# Rey Arias 2024 Table III: error without friction, deg/s (its columns with friction are Table II's with B_theta).
_FRICTIONLESS = np.array(
    [
        [0.16, 3.26, 0.57, 3.80, 1.26, 2.18, 0.53], [0.15, 2.19, 0.31, 3.63, 1.07, 6.12, 0.56],
        [0.24, 2.97, 0.70, 3.66, 1.46, 3.08, 0.41], [0.25, 4.25, 0.50, 3.70, 1.80, 8.02, 0.45],
        [0.28, 0.98, 0.12, 4.24, 2.33, 12.81, 0.31], [0.17, 1.01, 1.13, 5.85, 3.06, 19.58, 0.28],
        [0.13, 1.60, 1.07, 4.31, 2.76, 16.99, 0.63], [0.30, 2.53, 0.60, 5.25, 1.19, 18.63, 0.54],
        [0.19, 1.77, 4.05, 0.66, 5.21, 10.84, 0.56], [0.45, 0.36, 3.73, 0.68, 1.86, 1.38, 0.49],
    ]
)  # fmt: skip


def sliding_errors(context: ValidationContext) -> list[Check]:
    """Mean absolute and relative error of the sliding velocity (Aouaj 2021, Table II and the text below it)."""
    predicted, fitted, printed = SLIDING.T
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
    fitted, predicted, relative, absolute = THESIS.T
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
    computed = _APPROXIMATE / WANG_SPEEDS
    # Both rows are rounded to 0.5e-4 m/s, e_a to 0.5e-4.
    rounding = 0.5e-4 / WANG_SPEEDS * (1.0 + computed) + 0.5e-4
    table = Source("Wang 2021 Table I", "printed")
    return [
        table.equal(f"e_a, configuration {'abc'[row]}, reference {speed:.2f} m/s", *values)
        for row in range(3)
        for speed, *values in zip(
            REFERENCE_SPEEDS, *(each[row].tolist() for each in (WANG_RATIOS, computed, rounding)), strict=True
        )
    ]


def prediction_errors(context: ValidationContext) -> list[Check]:
    """What Rey Arias 2024 says about its Tables II and III."""
    joint_6 = np.stack([_B_THETA[:, 5], _B_RHO[:, 5]], axis=1)
    differs = np.abs(joint_6[:, 0] - joint_6[:, 1]) > 1.0
    gain = joint_6[differs, 1] / joint_6[differs, 0]
    joint_5 = _B_THETA[:, 4] - _B_RHO[:, 4]
    reduction = 100.0 * (1.0 - _B_THETA.max() / _FRICTIONLESS.max())
    inertia, friction = Source("Rey Arias 2024 IV-B", "printed"), Source("Rey Arias 2024 IV-C", "printed")
    return [
        friction.equal("largest error with B_theta, deg/s", 6.62, _B_THETA.max(), 0.0),
        inertia.equal("types in which joint 6 differs by more than 1 deg/s", 7, differs.sum(), 0),
        inertia.equal("smallest gain of B_theta over B_rho there", 1.88, gain.min(), 5e-3),
        inertia.equal("types in which joint 5 is worse by more than 1 deg/s", 5, (joint_5 > 1.0).sum(), 0),
        friction.equal("largest error without friction, deg/s", 19.58, _FRICTIONLESS.max(), 0.0),
        friction.equal("reduction of the largest error by friction, %", 66.0, reduction, 0.5),
    ]
