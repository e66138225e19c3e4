"""How sure the prediction of a palm is: corners, object and table at once, under errors of all inputs together.

Contacts that act on each other have no smooth way to differentiate along, as corners separate and slide one by one. So
the spread is the second moment of the answers about the prediction, at the points of the spherical rule of cubature
(Arasaratnam and Haykin 2009): for r uncertain directions the columns of sqrt(r) S Q and their opposites, where S S^T is
the inputs' covariance and Q any orthogonal matrix. Their mean square is S Q Q^T S^T, the covariance itself. An answer
G x gives G S S^T G^T: exact to first order, from 2 r predictions. Q is drawn once, so that every point has all errors
at their usual size, as draws have, and modes change as often.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact.geometry import FRICTION, Contact, FreeObject, contact_axes
from impact_aware.contact.shape import PlacedShape
from impact_aware.errors import NoSolutionError
from impact_aware.impact.bodies import ArmState, BodyContact, joint_problem
from impact_aware.impact.contact_impulse import Mode
from impact_aware.impact.hit import ARM, HitPrediction, hit_contacts, hit_prediction, predict_hit
from impact_aware.impact.material import RIGID_PADS, Pads, draw_materials, material_interval
from impact_aware.impact.palm import checked_palm
from impact_aware.impact.registry import DEFAULT_METHOD, FRICTIONLESS
from impact_aware.impact.simultaneous import Answer, contact_modes, outcome, predict_simultaneous
from impact_aware.impact.uncertainty import InputCovariance, UncertainPrediction, input_columns, link_parts
from impact_aware.robot import RobotModel

_SEED = 64


def predict_hit_with_covariance(
    robot: RobotModel,
    q: ArrayLike,
    dq: ArrayLike,
    contact: Contact,
    half_sizes: ArrayLike,
    covariance: InputCovariance,
    *,
    obstacle: FreeObject | None = None,
    shape: PlacedShape | None = None,
    table_friction: float | None = None,
    method: str = DEFAULT_METHOD,
    inertia: str = "M+B_theta",
    pads: Pads = RIGID_PADS,
) -> UncertainPrediction[HitPrediction]:
    """Predict a hit as `predict_hit` does, and how the inputs' uncertainty spreads to it.

    It takes about twice as many predictions as there are uncertain inputs: a tenth of a second with all of them.

    Args:
        robot: The arm.
        q: (n,) rad.
        dq: (n,) Just before, rad/s.
        contact: As for `predict_hit`.
        half_sizes: (3,) Half edges of the palm, m; zeros for a tip.
        covariance: Of the inputs; `mode_may_change` is that of any of the tool's contacts.
        obstacle: As for `predict_hit`.
        shape: As for `predict_hit`.
        table_friction: As for `predict_hit`.
        method: As for `predict_hit`.
        inertia: As for `predict_hit`.
        pads: What is known of them. Of pads that yield the prediction is the mean of drawn ones, and twice the
            standard deviations from their spread alone is the interval of `material_interval`; it takes a second.

    Raises:
        InvalidInputError: A state that is not finite, sizes that make no palm, or a covariance that is none.
        UnknownNameError: An unknown method or inertia.
        NoSolutionError: Errors so large that the answers are beyond every number.
    """
    scene: dict[str, Any] = {"obstacle": obstacle, "shape": shape, "table_friction": table_friction}
    how: dict[str, Any] = {"method": method, "inertia": inertia}
    # The mean of drawn pads takes the place of the law's velocities: others that obey it are not searched for.
    prediction = predict_hit(robot, q, dq, contact, half_sizes, search=not pads.laws, **scene, **how)
    arm = ArmState(robot, np.asarray(q, dtype=float), np.asarray(dq, dtype=float))
    variances, directions = np.linalg.eigh(covariance.stacked(robot.n))
    sure = variances <= 1e-14 * max(float(variances[-1]), 1e-300)
    variances[sure] = 0.0
    spread = (directions * np.sqrt(variances))[:, ~sure]
    rank = spread.shape[1]
    turn, _ = np.linalg.qr(np.random.default_rng(_SEED).normal(size=(rank, rank)))
    points = np.sqrt(rank) * (spread @ turn).T
    links, half = link_parts(robot, arm.q), checked_palm(half_sizes)

    def answer(error: Array) -> tuple[Array, tuple[str, ...]]:
        own, others, moved, objects = _with_errors(arm, contact, half, scene, error, links, inertia)
        contacts = own + others
        found = predict_simultaneous(contacts, arms={ARM: moved}, objects=objects, search=False, **how)
        # Velocities after, rad/s, and the impulse on the robot, N s.
        values = np.concatenate((found.velocity_after[ARM], found.impulse[: len(own)].sum(axis=0)))
        return values, found.modes[: len(own)]

    centre, modes = answer(np.zeros(len(variances)))
    answers = [answer(point) for point in (*points, *-points)]
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.array([found for found, _ in answers]).reshape(-1, robot.n + 3) - centre
        total = moved.T @ moved / max(len(moved), 1)
    if not np.isfinite(total).all():
        raise NoSolutionError("the errors of the inputs grow beyond every number in this impact", problem=contact)
    n, changes = robot.n, any(own != modes for _, own in answers)
    if pads.laws:
        prediction, spreads, several = _over_materials(arm, contact, half, scene, how, pads)
        total[:n, :n] += spreads[0]
        total[n:, n:] += spreads[1]
        changes = changes or several
    return UncertainPrediction(prediction, total[:n, :n], total[n:, n:], changes)


def _over_materials(
    arm: ArmState, contact: Contact, half: Array | None, scene: dict[str, Any], how: dict[str, Any], pads: Pads
) -> tuple[HitPrediction, tuple[Array, Array], bool]:
    """Mean of drawn materials, covariances of velocities after and impulse, and whether the tool's modes differ."""
    own, others, objects = hit_contacts(arm, contact, half, *scene.values())
    contacts = own + others
    if how["method"] == FRICTIONLESS:
        contacts = [dataclasses.replace(each, friction=0.0) for each in contacts]
    bodies: dict[str, Any] = {"arms": {ARM: arm}, "objects": objects}
    law = predict_simultaneous(contacts, **bodies, search=False, **how)
    problem = joint_problem(contacts, **bodies, inertia=how["inertia"])
    drawn = draw_materials(law, problem, np.random.default_rng(_SEED), pads=pads)
    before, modes = problem.jacobian @ problem.velocity, list[tuple[Mode, ...]]()
    for impulse in (drawn.mean(axis=0), *drawn):
        after = before + problem.delassus @ impulse
        modes.append(contact_modes(contacts, impulse, after, float(np.abs(before).max())))
    mean = outcome(contacts, problem, Answer(drawn.mean(axis=0), modes[0], law.rank, law.degenerate, law.residual))
    summed = np.sum([drawn[:, 3 * k : 3 * k + 3] @ contact_axes(each.normal) for k, each in enumerate(own)], axis=0)
    arms = (problem.columns[ARM],) * 2
    # Two standard deviations are half the interval's width.
    spreads = material_interval(drawn @ problem.response.T)[2][arms] / 4.0, material_interval(summed)[2] / 4.0
    several = len({each[: len(own)] for each in modes[1:]}) > 1
    return hit_prediction(mean, arm, contact, half, scene["obstacle"], how["inertia"]), spreads, several


def _with_errors(
    arm: ArmState,
    contact: Contact,
    half: Array | None,
    scene: dict[str, Any],
    error: Array,
    links: Array,
    inertia: str,
) -> tuple[list[BodyContact], list[BodyContact], ArmState, dict[str, FreeObject]]:
    """Contacts of the tool and of the table, arm and objects, with the inputs' errors in the order of their columns.

    A share x of an inertia is taken as exp(x) - 1, which is equal to first order and leaves inertias positive.
    """
    of = {name: error[own] for name, own in input_columns(arm.robot.n).items()}
    friction = float(np.clip(contact.friction + of["friction"][0], FRICTION.low, FRICTION.high))
    restitution = float(np.clip(contact.restitution + of["restitution"][0], 0.0, 1.0))
    contact = dataclasses.replace(contact, friction=friction, restitution=restitution)
    thing, heavier = scene["obstacle"], float(np.exp(np.clip(of["object_mass"][0], -5.0, 5.0)))
    if thing is not None:
        thing = dataclasses.replace(thing, mass=heavier * thing.mass, inertia=heavier * thing.inertia)
    motors = np.maximum(of["motor_inertia"], -arm.robot.motor_inertia_for(inertia))
    added = np.diag(motors) + np.tensordot(np.expm1(np.clip(of["link_inertia"], -5.0, 5.0)), links, 1)
    arm = dataclasses.replace(arm, q=arm.q + of["position"], dq=arm.dq + of["velocity"], added_inertia=added)
    own, others, objects = hit_contacts(arm, contact, half, thing, scene["shape"], scene["table_friction"])
    normal, middle = own[0].normal, np.mean([each.point for each in own], axis=0)
    turn = pin.exp3(np.cross(normal, of["normal"]))
    own = [
        dataclasses.replace(each, normal=turn @ each.normal, point=middle + turn @ (each.point - middle) + of["point"])
        for each in own
    ]
    return own, others, arm, objects
