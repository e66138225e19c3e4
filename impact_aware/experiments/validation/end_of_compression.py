"""Impulse at the end of compression that each inverse inertia matrix predicts (Wang 2021, section VII-B, Figure 9)."""

from __future__ import annotations

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.experiments.models.inverse_inertia import (
    approximate_to_exact_ratio,
    composite_inverse_inertia,
    end_of_compression_impulse,
    equivalent_mass_matrix,
    flexibility_inverse_inertia,
    generalized_momentum_inverse_inertia,
)
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.experiments.validation.printed_tables import WANG
from impact_aware.experiments.validation.random_postures import random_postures
from impact_aware.robot import RobotModel

_POSTURES = 101
_WALL = np.array([-1.0, 0.0, 0.0])
_REGION = ((0.30, 0.65), (-0.35, 0.35), (0.20, 0.75))
_OPTIONS = ("equivalent mass (8)", "composite rigid body (17)", "with flexibility (20)", "generalized momentum (6)")
_ASSUMPTION = (
    f"the paper's three postures and its measured impulses are not printed: {_POSTURES} random postures of the Panda, "
    "tool at 0.30-0.65 m before the base and square to a wall, any angle about it, none left out; M without motor "
    "inertia, as in the paper"
)
_LAW = Source("Wang 2021 (6), (8)", "consistency", _ASSUMPTION)
_ORDER = Source("Wang 2021 VII-B, Fig. 9", "aim", _ASSUMPTION)
_RATIO = Source("Wang 2021 (29), Table I", "aim", _ASSUMPTION)


def end_of_compression(context: ValidationContext) -> list[Check]:
    """In what share of random postures the orders hold that the paper found in its three (Wang 2021, VII-B)."""
    robot = RobotModel.from_profile("panda")
    generator = np.random.default_rng(context.seed)
    postures = random_postures(robot, generator, _POSTURES, -_WALL, _REGION)
    masses = np.array([_effective_masses(robot, q) for q in postures])
    ratios = np.array([_ratio(robot, q) for q in postures])
    equivalent, composite, flexible, momentum = masses.T
    if context.out is not None:
        _draw(context, masses)
    printed = WANG["ratio"].mean(axis=1)
    return [
        _LAW.at_least(
            "(8) at least (6), which Cauchy and Schwarz ask for, % of the postures", 100.0, _share(equivalent, momentum)
        ),
        _ORDER.reported("(8) above (17), 'overestimates', % of the postures", _share(equivalent, composite)),
        _ORDER.at_least("(6) below (17), 'underestimates', % of the postures", 95.0, _share(composite, momentum)),
        _ORDER.at_least("(20) below (17), 'underestimates', % of the postures", 95.0, _share(composite, flexible)),
        _ORDER.at_least(
            "(20) within a quarter of (17) of (6), 'similar results', % of the postures",
            95.0,
            _share(0.25 * composite, np.abs(flexible - momentum)),
        ),
        _RATIO.at_most("e_a, smallest over the postures: Table I's smallest mean or less", printed.min(), ratios.min()),
        _RATIO.at_least("e_a, largest over the postures: Table I's largest mean or more", printed.max(), ratios.max()),
    ]


def _share(greater: Array, smaller: Array) -> float:
    """In how many postures the one is not below the other, %; rounding does not count."""
    return 100.0 * float(np.mean(greater >= smaller * (1.0 - 1e-12)))


def _contact(robot: RobotModel) -> Contact:
    return Contact(robot.tool_frame, _WALL, radius=robot.tool_radius)


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
    with context.figure("001_figure_9_impulse", figsize=(7.0, 4.2)) as (_, axes):
        axis = axes[0, 0]
        for option, column in zip(_OPTIONS, (masses / masses[:, 1:2]).T, strict=True):
            axis.step(np.sort(column), np.linspace(0.0, 100.0, len(column)), label=option)
        axis.set(xlabel="impulse at the end of compression over that of (17)", ylabel="% of the postures below")
        axis.set(title=f"What each inverse inertia predicts (Wang 2021, eq. 32)\n{len(masses)} random postures (ours)")
        axis.legend(fontsize="small")
