"""Impact maps with friction against the continuous contact, and where a fixed slip direction is good enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.impact import predict
from impact_aware.robot import RobotModel
from impact_aware.simulation.regularized_coulomb import ContinuousContactSettings, continuous_impact
from impact_aware.validation.check import Check
from impact_aware.validation.context import ValidationContext

Array = NDArray[np.float64]

_UP = np.array([0.0, 0.0, 1.0])
_AIM = "aim of this package"
_ASSUMPTION = (
    "Panda, M + B_theta, postures within 0.4 rad of home, tip on a horizontal plane, 0.1-0.5 m/s, mu 0-0.8, 0-60 deg "
    "from the normal, any azimuth; every second impact inelastic, the others with energetic restitution 0-1"
)


@dataclass(frozen=True, eq=False)
class FrictionCase:
    """One impact to be predicted.

    Attributes:
        q: (n,) rad.
        dq: (n,) rad/s.
        contact: With friction and restitution.
        angle: Between approach velocity and normal, rad.
    """

    q: Array
    dq: Array
    contact: Contact
    angle: float


def friction_case(robot: RobotModel, generator: np.random.Generator, restitution: float = 0.0) -> FrictionCase:
    """A random impact of the tool with a horizontal plane, the joint velocities of least norm behind it."""
    q = robot.home + generator.uniform(-0.4, 0.4, robot.n)
    friction, angle = generator.uniform(0.0, 0.8), np.radians(generator.uniform(0.0, 60.0))
    azimuth, speed = generator.uniform(0.0, 2.0 * np.pi), generator.uniform(0.1, 0.5)
    contact = Contact(robot.tool_frame, _UP, radius=robot.tool_radius, friction=friction, restitution=restitution)
    velocity = speed * np.array([np.sin(angle) * np.cos(azimuth), np.sin(angle) * np.sin(azimuth), -np.cos(angle)])
    dq = np.linalg.pinv(contact_jacobian(robot, q, contact)) @ velocity
    return FrictionCase(q, dq, contact, float(angle))


def coulomb(name: str, context: ValidationContext) -> list[Check]:
    """Exact Coulomb and fixed direction against the continuous contact; convergence of the latter."""
    robot = RobotModel.from_profile("panda")
    generator = np.random.default_rng(context.seed)
    exact, fixed, cases = [], [], []
    for index in range(context.trials):
        case = friction_case(robot, generator, generator.uniform() * (index % 2))
        reference = continuous_impact(robot, case.q, case.dq, case.contact).velocity_after
        exact.append(_deviation(robot, case, reference, "coulomb"))
        fixed.append(_deviation(robot, case, reference, "fixed-direction"))
        cases.append(case)
    refined = _convergence(robot, context.seed)
    if context.out is not None:
        _draw_convergence(context, refined)
        _draw_directions(context, robot)
    final = list(refined.values())
    count = f"{context.trials} impacts"
    return [
        Check(
            name,
            _AIM,
            f"exact Coulomb: mean deviation, % of the jump, {count}",
            0.5,
            100.0 * float(np.mean(exact)),
            0.0,
            "at most",
            _ASSUMPTION,
        ),
        Check(
            name,
            _AIM,
            f"exact Coulomb: largest deviation, % of the jump, {count}",
            2.0,
            100.0 * float(np.max(exact)),
            0.0,
            "at most",
            _ASSUMPTION,
        ),
        Check(
            name,
            "000 (12)",
            "fixed direction: mean deviation over that of exact Coulomb",
            1.0,
            float(np.mean(fixed) / np.mean(exact)),
            0.0,
            "at least",
            _ASSUMPTION,
        ),
        Check(
            name,
            _AIM,
            "continuous contact: deviation left by the finest over that of the coarsest settings",
            0.1,
            final[-1] / final[0],
            0.0,
            "at most",
            "stiffness x 100, rounding / 100, step / 4 per refinement; mean of 10 inelastic impacts",
        ),
    ]


def _deviation(robot: RobotModel, case: FrictionCase, reference: Array, method: str) -> float:
    after = predict(robot, case.q, case.dq, case.contact, method=method).velocity_after
    return float(np.linalg.norm(after - reference) / np.linalg.norm(reference - case.dq))


def _convergence(robot: RobotModel, seed: int) -> dict[str, float]:
    """Mean deviation from the exact map, refinement by refinement."""
    result = {}
    for stiffness, rounding, steps in ((1e5, 1e-2, 50), (1e7, 1e-4, 200), (1e9, 1e-6, 800)):
        generator = np.random.default_rng(seed + 1)
        settings = ContinuousContactSettings(stiffness, rounding, steps)
        deviations = []
        for _ in range(10):
            case = friction_case(robot, generator)
            reference = continuous_impact(robot, case.q, case.dq, case.contact, settings).velocity_after
            deviations.append(_deviation(robot, case, reference, "coulomb"))
        result[f"{stiffness:.0e} N/m\n{rounding:.0e} m/s\n{steps} steps"] = float(np.mean(deviations))
    return result


def _draw_convergence(context: ValidationContext, refined: dict[str, float]) -> None:
    with context.figure("coulomb_convergence", figsize=(5.0, 4.0)) as (_, axes):
        axis = axes[0, 0]
        axis.semilogy(range(len(refined)), [100.0 * value for value in refined.values()], "o-")
        axis.set(xticks=range(len(refined)), xticklabels=list(refined))
        axis.set(ylabel="mean deviation, % of the jump", title="Continuous contact tends to the exact Coulomb map")


def direction_errors(robot: RobotModel, seed: int, count: int = 1500) -> tuple[Array, Array, Array]:
    """Friction, angle and relative difference of the fixed-direction from the exact map, for inelastic impacts.

    Returns:
        (count,) friction; (count,) angle from the normal, rad; (count,) difference over the exact jump.
    """
    generator = np.random.default_rng(seed + 2)
    rows = []
    for _ in range(count):
        case = friction_case(robot, generator)
        exact = predict(robot, case.q, case.dq, case.contact, method="coulomb").velocity_after
        rows.append((case.contact.friction, case.angle, _deviation(robot, case, exact, "fixed-direction")))
    friction, angle, difference = np.array(rows).T
    return friction, angle, difference


def _draw_directions(context: ValidationContext, robot: RobotModel) -> None:
    friction, angle, difference = direction_errors(robot, context.seed)
    degrees, percent = np.degrees(angle), np.clip(100.0 * difference, 1e-2, None)
    with context.figure("friction_fixed_direction", 1, 2, figsize=(12.0, 4.4)) as (figure, axes):
        points = axes[0, 0].scatter(friction, degrees, c=np.log10(percent), s=12, cmap="viridis", vmin=-1, vmax=2)
        bar = figure.colorbar(points, ax=axes[0, 0], ticks=[-1, 0, 1, 2])
        bar.ax.set_yticklabels(["0.1 %", "1 %", "10 %", "100 %"])
        bar.set_label("difference from exact Coulomb, share of the jump")
        axes[0, 0].set(xlabel="coefficient of friction", ylabel="angle from the normal, deg", title="every impact")
        edges = np.arange(0.0, 61.0, 10.0)
        for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8)):
            chosen = (friction >= low) & (friction < high)
            middle, ninth = [], []
            for start, end in zip(edges[:-1], edges[1:], strict=True):
                inside = percent[chosen & (degrees >= start) & (degrees < end)]
                middle.append(np.median(inside))
                ninth.append(np.percentile(inside, 90))
            centres = 0.5 * (edges[:-1] + edges[1:])
            (line,) = axes[0, 1].semilogy(centres, middle, "o-", label=f"mu {low:.1f}-{high:.1f}")
            axes[0, 1].semilogy(centres, ninth, ":", color=line.get_color())
        axes[0, 1].axhline(2.0, color="0.5", lw=1)
        axes[0, 1].set(xlabel="angle from the normal, deg", ylabel="difference, % of the jump")
        axes[0, 1].set(title="median (solid) and 90th percentile (dotted)")
        axes[0, 1].legend(fontsize="small")
        figure.suptitle(
            "Friction along the ante-impact slip against exact Coulomb friction, inelastic impacts of the Panda"
        )
