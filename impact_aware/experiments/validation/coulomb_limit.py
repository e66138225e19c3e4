"""Impact maps with friction against the continuous contact, and where a fixed slip direction is good enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.experiments.models.continuous_contact import ContinuousContactSettings, continuous_impact
from impact_aware.experiments.validation.check import Check, Source, ValidationContext
from impact_aware.impact import ImpactPrediction, predict
from impact_aware.robot import RobotModel

GOOD_TURN = 0.05
"""Turn of the slip, see `slip_change`, below which the fixed direction is good to about 2 % of the jump."""

_UP = np.array([0.0, 0.0, 1.0])
_ASSUMPTION = (
    "Panda, M + B_theta, postures within 0.4 rad of home, tip on a horizontal plane, 0.1-0.5 m/s, mu 0-0.8, 0-60 deg "
    "from the normal, any azimuth; every second impact inelastic, the others with energetic restitution 0-1"
)
_AIM = Source("aim of this package", "aim", _ASSUMPTION)
_FIXED = Source("Rey Arias 2024 (12)", "aim", _ASSUMPTION)
_STUDY = Source(
    _FIXED.paper, "aim", "ten times as many further inelastic impacts of the same kind, the two maps against each other"
)
_REFINED = Source(
    _AIM.paper, "aim", "stiffness x 100, rounding / 100, step / 4 per refinement; mean of up to 10 inelastic impacts"
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


def coulomb(context: ValidationContext) -> list[Check]:
    """Exact Coulomb and fixed direction against the continuous contact; convergence of the latter."""
    robot = RobotModel.from_profile("panda")
    generator = np.random.default_rng(context.seed)
    exact, fixed, cases = [], [], []
    for index in context.count(context.trials):
        case = friction_case(robot, generator, generator.uniform() * (index % 2))
        reference = continuous_impact(robot, case.q, case.dq, case.contact)
        exact.append(_deviation(robot, case, reference, "coulomb"))
        fixed.append(_deviation(robot, case, reference, "fixed-direction"))
        cases.append(case)
    refined = _convergence(robot, context.seed, min(10, context.trials))
    study = direction_study(robot, context.seed, 10 * context.trials)
    straight = (study["turn"] < GOOD_TURN) & (study["slowdown"] < 1.0)
    if context.out is not None:
        _draw_directions(context, study)
    count = f"{context.trials} impacts"
    return [
        _AIM.at_most(f"exact Coulomb: mean deviation, % of the jump, {count}", 0.5, 100.0 * np.mean(exact)),
        _AIM.at_most(f"exact Coulomb: largest deviation, % of the jump, {count}", 2.0, 100.0 * np.max(exact)),
        _FIXED.at_least(
            "fixed direction: mean deviation over that of exact Coulomb", 1.0, np.mean(fixed) / np.mean(exact)
        ),
        _STUDY.at_most(
            f"fixed direction: median difference, % of the jump, turn below {GOOD_TURN} and slip that lasts",
            2.0,
            100.0 * np.median(study["difference"][straight]),
        ),
        replace(_STUDY, kind="consistency").equal(
            "fixed direction: largest difference, % of the jump, impacts that end in sticking",
            0.0,
            100.0 * study["difference"][study["sticks"]].max(),
            1e-9,
        ),
        _REFINED.at_most(
            "continuous contact: deviation left by the finest over that of the coarsest settings",
            0.1,
            refined[-1] / refined[0],
        ),
    ]


def _deviation(robot: RobotModel, case: FrictionCase, reference: Array, method: str) -> float:
    after = predict(robot, case.q, case.dq, case.contact, method=method).velocity_after
    return float(np.linalg.norm(after - reference) / np.linalg.norm(reference - case.dq))


def _convergence(robot: RobotModel, seed: int, count: int) -> list[float]:
    """Mean deviation from the exact map, refinement by refinement."""
    result = []
    for settings in ((1e5, 1e-2, 50), (1e7, 1e-4, 200), (1e9, 1e-6, 800)):
        generator = np.random.default_rng(seed + 1)
        deviations = []
        for case in (friction_case(robot, generator) for _ in range(count)):
            reference = continuous_impact(
                robot, case.q, case.dq, case.contact, ContinuousContactSettings(*settings)
            )
            deviations.append(_deviation(robot, case, reference, "coulomb"))
        result.append(float(np.mean(deviations)))
    return result


def slip_change(prediction: ImpactPrediction) -> tuple[float, float]:
    """How much the slip turns and how much it slows down if its first rate of change lasted, over the slip itself.

    At first touch dv_t / dp = W_tn - mu W_tt s with the slip direction s; times the normal impulse -v_n / W_nn of an
    impact without friction and over |v_t|. A turn far below 1 means that the direction lasts; a slowdown above 1, that
    the slip comes to rest before the impact ends.
    """
    delassus, velocity = prediction.space.delassus, prediction.space.velocity
    speed = float(np.linalg.norm(velocity[1:]))
    direction = velocity[1:] / speed
    rate = delassus[1:, 0] - prediction.contact.friction * delassus[1:, 1:] @ direction
    scale = -float(velocity[0]) / float(delassus[0, 0]) / speed
    turn = abs(float(direction[0] * rate[1] - direction[1] * rate[0])) * scale
    return turn, -float(direction @ rate) * scale


def direction_study(robot: RobotModel, seed: int, count: int) -> dict[str, Any]:
    """Compare the fixed direction with the exact map on `count` random inelastic impacts.

    Returns:
        `friction` (coefficient), `angle` (between approach velocity and normal, rad), `turn` and `slowdown` (see
        `slip_change`), `sticks` (whether the exact map ends in sticking), `difference` (norm of that of the two
        velocities after, over that of the exact jump); (k,) each.
    """
    generator = np.random.default_rng(seed + 2)
    rows = []
    for _ in range(count):
        case = friction_case(robot, generator)
        exact = predict(robot, case.q, case.dq, case.contact, method="coulomb")
        difference = _deviation(robot, case, exact.velocity_after, "fixed-direction")
        rows.append((case.contact.friction, case.angle, *slip_change(exact), exact.mode == "stick", difference))
    names = ("friction", "angle", "turn", "slowdown", "sticks", "difference")
    study: dict[str, Any] = dict(zip(names, np.array(rows, dtype=float).T, strict=True))
    return study | {"sticks": study["sticks"] > 0.0}


def _draw_directions(context: ValidationContext, study: dict[str, Any]) -> None:
    percent = np.clip(100.0 * study["difference"], 1e-2, None)
    slides = ~study["sticks"]
    with context.figure("friction_fixed_direction", 1, 2, figsize=(12.0, 4.6)) as (figure, axes):
        left, right = axes[0]
        degrees = np.degrees(study["angle"])
        left.scatter(
            study["friction"][~slides], degrees[~slides], s=10, color="0.8", label="ends in sticking: no difference"
        )
        shown = {"c": np.log10(percent[slides]), "s": 12, "cmap": "viridis", "vmin": -1, "vmax": 2}
        points = left.scatter(study["friction"][slides], degrees[slides], **shown)
        bar = figure.colorbar(points, ax=left, ticks=[-1, 0, 1, 2])
        bar.ax.set_yticklabels(["0.1 %", "1 %", "10 %", "100 %"])
        bar.set_label("difference, share of the jump")
        left.set(xlabel="coefficient of friction", ylabel="angle from the normal, deg", title="every impact")
        left.legend(loc="upper right", fontsize="small")
        lasting = slides & (study["slowdown"] < 1.0)
        right.loglog(study["turn"][lasting], percent[lasting], ".", ms=4, label="slip lasts")
        stopping = slides & (study["slowdown"] >= 1.0)
        right.loglog(
            study["turn"][stopping], percent[stopping], "x", ms=4, label="slip would come to rest (slowdown >= 1)"
        )
        right.axhline(2.0, color="0.5", lw=1)
        right.axvline(GOOD_TURN, color="0.5", lw=1, ls="--")
        right.set(xlabel="turn of the slip during the impact, estimated at first touch", ylim=(1e-2, 300.0))
        right.set(ylabel="difference, % of the jump", title="impacts that end in sliding")
        right.legend(fontsize="small", loc="lower right")
        figure.suptitle(
            "Friction along the ante-impact slip against exact Coulomb friction, inelastic impacts of the Panda"
        )
