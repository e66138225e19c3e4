"""Impulse at the end of compression that each inverse inertia matrix predicts (Wang 2021, section VII-B, Figure 9)."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.experiments.validation.check import Check, Source
from impact_aware.experiments.validation.context import ValidationContext
from impact_aware.experiments.validation.printed_tables import WANG_RATIOS, WANG_SPEEDS
from impact_aware.impact.inverse_inertia import (
    approximate_to_exact_ratio,
    composite_inverse_inertia,
    end_of_compression_impulse,
    equivalent_mass_matrix,
    flexibility_inverse_inertia,
    generalized_momentum_inverse_inertia,
)
from impact_aware.robot import RobotModel

# Stand-ins for the three configurations of Figure 2, rad: the tip faces a wall, and the ratio e_a of (29) is Table I's.
_POSTURES = (
    (0.3675, -0.2643, 0.4002, -2.0036, -1.6701, 2.3867, -0.5099),
    (0.3819, -0.6762, 0.0341, -2.4423, -1.9753, 2.6949, -0.3189),
    (0.9277, -1.2580, -0.6879, -2.9136, -2.3599, 2.3502, -0.5964),
)
_OPTIONS = ("equivalent mass (8)", "composite rigid body (17)", "with flexibility (20)", "generalized momentum (6)")
_ASSUMPTION = (
    "postures and measured impulses are not printed: three postures of the Panda facing a wall whose e_a is Table I's "
    "to 0.03, M without motor inertia as in the paper. Of 51 random postures, 22 have (8) above (17), all (6) below"
)
_TABLE_1 = Source("Wang 2021 (29), Table I", _ASSUMPTION)
_ORDER = Source("Wang 2021 VII-B, Fig. 9", _ASSUMPTION)


def end_of_compression(context: ValidationContext) -> list[Check]:
    """The order of the four options that the paper's measurements found, with its own speeds (Wang 2021, VII-B)."""
    robot = RobotModel.from_profile("panda")
    masses = np.array([_effective_masses(robot, np.array(posture)) for posture in _POSTURES])
    equivalent, composite, flexible, momentum = masses.T
    if context.out is not None:
        _draw(context, masses)
    ratios = [
        _TABLE_1.equal(
            f"e_a of the assumed posture {row}, and the mean printed one",
            printed,
            _ratio(robot, np.array(posture)),
            0.03,
        )
        for row, printed, posture in zip("abc", WANG_RATIOS.mean(axis=1).tolist(), _POSTURES, strict=True)
    ]
    return [
        *ratios,
        _ORDER.at_least(
            "equivalent mass (8) over composite rigid body (17), smallest: overestimates",
            1.0,
            (equivalent / composite).min(),
        ),
        _ORDER.at_most(
            "generalized momentum (6) over composite rigid body (17), largest: underestimates",
            1.0,
            (momentum / composite).max(),
        ),
        _ORDER.at_most(
            "with flexibility (20) over composite rigid body (17), largest: underestimates",
            1.0,
            (flexible / composite).max(),
        ),
        _ORDER.at_most(
            "largest distance of option (20) from option (6), share of (17): 'similar results'",
            0.25,
            (np.abs(flexible - momentum) / composite).max(),
        ),
    ]


def _contact(robot: RobotModel) -> Contact:
    return Contact(robot.tool_frame, np.array([-1.0, 0.0, 0.0]), radius=robot.tool_radius)


def _ratio(robot: RobotModel, q: Array) -> float:
    """e_a of (29) for a tip that moves straight at the wall without turning."""
    dq = np.linalg.pinv(robot.frame_jacobian(q)) @ np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    return approximate_to_exact_ratio(robot, q, dq, _contact(robot))


def _effective_masses(robot: RobotModel, q: Array) -> Array:
    """Impulse (4,) per unit of normal speed of the options in `_OPTIONS`, kg."""
    contact = _contact(robot)
    normal = contact.normal
    composite = composite_inverse_inertia(robot, q, contact)
    flexible = composite + flexibility_inverse_inertia(robot, q, contact, "M")
    momentum = generalized_momentum_inverse_inertia(robot, q, contact, "M")
    return np.array(
        [
            float(normal @ equivalent_mass_matrix(robot, q, contact, "M") @ normal),
            end_of_compression_impulse(composite, normal, -1.0),
            end_of_compression_impulse(flexible, normal, -1.0),
            end_of_compression_impulse(momentum, normal, -1.0),
        ]
    )


def _draw(context: ValidationContext, masses: Array) -> None:
    with context.figure("001_figure_9_impulse", 1, 3, figsize=(13.0, 4.0), sharey=True) as (figure, axes):
        for row, axis in enumerate(axes[0]):
            for option, mass in zip(_OPTIONS, masses[row], strict=True):
                axis.plot(WANG_SPEEDS[row], mass * WANG_SPEEDS[row], "o-", label=option)
            axis.set(xlabel="contact velocity, m/s", title=f"posture {'abc'[row]} (assumed)")
        axes[0, 0].set(ylabel="impulse at the end of compression, N s")
        axes[0, 0].legend(fontsize="small")
        figure.suptitle("What each inverse inertia matrix predicts (Wang 2021, eq. 32)")
