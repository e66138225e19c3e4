"""How sure a prediction is: first-order covariance of the velocity after and of the impulse.

What goes in - see `InputCovariance` - reaches the impact through the contact's Delassus matrix, relative velocity and
normal. So the derivatives are taken in two parts. The way into the contact is smooth: exact for velocities and
inertias, central differences of Pinocchio's terms, good to 1e-8, for posture, point and normal. The map itself is
differentiated in those contact quantities by central differences of a thousandth, since its answer may come from an
integration. First order holds while the mode does.
Whether the inputs' spread can change it is checked and flagged; where it can, the spread is the second moment of the
maps' answers to drawn contact quantities about the prediction, over all modes that the inputs lead to.

An inertia A that is off by dA changes its mobility J A^-1 J^T by -J A^-1 dA A^-1 J^T, as A A^-1 stays the identity. For
an object that is heavier by the share x all over, dA = x A: its part of the Delassus matrix (`contact_space`) is
divided by 1 + x, and so is what a table's contacts see of it. For an arm dA = dM. Its kinetic energy is the sum of its
links' own, so that M is the sum of J_k^T I_k J_k over the links k with their Jacobians and spatial inertias, and of the
motor inertias on the diagonal. Each term is a derivative of M: one product per link, where a difference takes M twice.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject, contact_axes, contact_point
from impact_aware.errors import InvalidInputError, NoSolutionError
from impact_aware.impact.contact_impulse import Mode, Rows, Triple
from impact_aware.impact.contact_space import ContactSpaceBuilder
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.predictor import predict
from impact_aware.impact.registry import DEFAULT_METHOD, impact_map
from impact_aware.impact.table_support import TableSupport
from impact_aware.robot import RobotModel

# Steps of the central differences: of kinematics, and of a map.
_SMALL, _LARGE = 1e-6, 1e-3
# How many standard deviations out the mode is looked at, and draws, each way, where it changes.
_SPREAD, _DRAWN = 3.0, 64
_SYMMETRIC = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
LARGEST_VARIANCE = 1e12
"""Largest variance, in the square of each quantity's unit; real standard deviations are far below."""

# Where the packed six stand in the whole matrix.
_SYMMETRIC_ROWS = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


@dataclass(frozen=True, eq=False)
class InputCovariance:
    """Covariances of what a prediction is made from, independent of each other; None is exactly known.

    Each may be given as a variance for all components, as one variance per component, or as the whole matrix.

    Attributes:
        position: (n, n) Of the joint positions, rad^2.
        velocity: (n, n) Of the joint velocities just before, rad^2/s^2.
        normal: (3, 3) Of the normal, base frame; only its part across the normal has an effect. Corners of a palm turn
            along, about their middle.
        point: (3, 3) Of the contact point, or of a palm's corners together, base frame, m^2.
        friction: (1, 1) Variance of the coefficient.
        restitution: (1, 1) Variance of the coefficient.
        motor_inertia: (n, n) Of the motor inertia on the diagonal, (kg m^2)^2.
        link_inertia: (n, n) Of mass and inertia of the link behind each joint, together, as a share of them; a matrix
            of equal entries for links that are all off by the same share.
        object_mass: (1, 1) Variance of the free object's mass as a share of it; its inertia is off by the same share.
    """

    position: ArrayLike | None = None
    velocity: ArrayLike | None = None
    normal: ArrayLike | None = None
    point: ArrayLike | None = None
    friction: ArrayLike | None = None
    restitution: ArrayLike | None = None
    motor_inertia: ArrayLike | None = None
    link_inertia: ArrayLike | None = None
    object_mass: ArrayLike | None = None

    def stacked(self, n: int) -> Array:
        """Block-diagonal covariance of all inputs in the order of the attributes, see `input_columns`.

        Raises:
            InvalidInputError: Naming the one that is not symmetric, not positive semidefinite or of the wrong size.
        """
        columns = input_columns(n)
        total = np.zeros((columns["object_mass"].stop,) * 2)
        for name, own in columns.items():
            total[own, own] = covariance_matrix(name, getattr(self, name), own.stop - own.start)
        return total


def input_columns(n: int) -> dict[str, slice]:
    """Where each input stands among all of them, for an arm of n joints."""
    sizes = {"position": n, "velocity": n, "normal": 3, "point": 3, "friction": 1, "restitution": 1}
    sizes |= {"motor_inertia": n, "link_inertia": n, "object_mass": 1}
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


Outcome = TypeVar("Outcome")
"""What is predicted: an `ImpactPrediction`, or a `HitPrediction`."""


class UncertainPrediction(NamedTuple, Generic[Outcome]):
    """A prediction and its spread.

    Attributes:
        prediction: At the nominal inputs.
        velocity_after_covariance: (n, n) rad^2/s^2.
        impulse_covariance: (3, 3) Base frame, N^2 s^2.
        mode_may_change: Whether inputs within three standard deviations lead to another mode of the tool's contacts;
            the covariances are then the second moments about the prediction.
    """

    prediction: Outcome
    velocity_after_covariance: Array
    impulse_covariance: Array
    mode_may_change: bool


def predict_with_covariance(
    robot: RobotModel,
    q: ArrayLike,
    dq: ArrayLike,
    contact: Contact,
    covariance: InputCovariance,
    *,
    obstacle: FreeObject | None = None,
    method: str = DEFAULT_METHOD,
    inertia: str = "M+B_theta",
    table: TableSupport | None = None,
) -> UncertainPrediction[ImpactPrediction]:
    """Predict the state just after one impact, and how the inputs' uncertainty spreads to it.

    Args:
        robot: The arm.
        q: (n,) rad.
        dq: (n,) rad/s.
        contact: Where and how it touches.
        covariance: Of the inputs.
        obstacle: The free object it touches; a fixed surface when None.
        method: One of `IMPACT_MAPS`.
        inertia: One of `INERTIA_CHOICES`.
        table: What holds the object from below; see `ImpactPredictor`.

    Raises:
        InvalidInputError: An array of the wrong size or not finite; a covariance that is none.
        UnknownNameError: Unknown frame, method or inertia.
        NoSolutionError: The prediction or its covariance is beyond every number, as with an object at 1e80 m.
    """
    q, dq = robot.check_configuration(q, "q"), robot.check_configuration(dq, "dq")
    inputs = covariance.stacked(robot.n)
    prediction = predict(robot, q, dq, contact, obstacle=obstacle, method=method, inertia=inertia, table=table)
    n = robot.n
    if prediction.mode == "separate":
        spread = inputs[(input_columns(n)["velocity"],) * 2]
        row = contact.normal @ _terms(robot, q, dq, contact, obstacle, inertia).jacobian
        reach = float(contact.normal @ prediction.contact_velocity_before)
        changes = reach <= _SPREAD * math.sqrt(max(float(row @ spread @ row), 0.0))
        return UncertainPrediction(prediction, spread, np.zeros((3, 3)), bool(changes))
    terms = _terms(robot, q, dq, contact, obstacle, inertia)
    doubted = np.diag(inputs) > 0.0
    into_contact, into_velocity = _way_in(robot, q, dq, contact, obstacle, inertia, terms, prediction.impulse, doubted)
    law, nominal = _law(method, table), _pack(terms, contact)
    if table is None:
        into_contact[14:] = 0.0
    (centre, _), *_ = _solutions(law, nominal[None])
    changed = (into_contact[:, doubted] != 0.0).any(axis=1)
    impulse_derivative = _map_derivative(law, nominal, changed) @ into_contact
    velocity_derivative = into_velocity + terms.response @ impulse_derivative
    ways = (velocity_derivative, impulse_derivative, into_contact)
    with np.errstate(over="ignore", invalid="ignore"):
        velocity_spread, impulse_spread, contact_spread = (way @ inputs @ way.T for way in ways)
    if not all(np.isfinite(spread).all() for spread in (velocity_spread, impulse_spread, contact_spread)):
        raise NoSolutionError("the errors of the inputs grow beyond every number in this impact", problem=contact)
    changes = _mode_may_change(law, nominal, contact_spread, prediction.mode)
    if changes:
        # So wide a spread reaches inertias that no arm has; LAPACK may not converge.
        with contextlib.suppress(NoSolutionError, np.linalg.LinAlgError):
            variances, directions = np.linalg.eigh(inputs)
            units = np.random.default_rng(_DRAWN).standard_normal((_DRAWN, len(inputs)))
            draws = np.concatenate((units, -units)) @ (np.sqrt(np.maximum(variances, 0.0)) * directions).T
            impulses = np.array([impulse for impulse, _ in _solutions(law, nominal + draws @ into_contact.T)]) - centre
            velocities = draws @ into_velocity.T + impulses @ terms.response.T
            velocity_spread, impulse_spread = (each.T @ each / len(draws) for each in (velocities, impulses))
    return UncertainPrediction(prediction, velocity_spread, impulse_spread, changes)


def covariance_matrix(field: str, values: ArrayLike | None, size: int) -> Array:
    """A covariance (size, size) from a variance, variances, or the matrix; zeros from None.

    Raises:
        InvalidInputError: Wrong size, not finite, not symmetric, or not positive semidefinite.
    """
    name = f"covariance of {field}"
    if values is None:
        return np.zeros((size, size))
    try:
        array = np.array(values)
    except ValueError as error:
        raise InvalidInputError(name, values, "numbers") from error
    if array.dtype.kind not in "fiu":
        # Of texts and switches NumPy would make numbers too.
        raise InvalidInputError(name, values, "numbers")
    array = array.astype(float)
    if not (np.abs(array) <= LARGEST_VARIANCE).all():
        raise InvalidInputError(name, array.tolist(), f"finite values, {LARGEST_VARIANCE:g} at most")
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape == (size,):
        if array.min() < 0.0:
            raise InvalidInputError(name, array.tolist(), "a positive semidefinite matrix")
        return np.diag(array)
    if array.shape != (size, size):
        raise InvalidInputError(
            name, f"shape {array.shape}", f"one variance, {size} variances or a ({size}, {size}) matrix"
        )
    largest = float(np.abs(array).max())
    if np.abs(array - array.T).max() > 1e-9 * largest:
        raise InvalidInputError(name, array.tolist(), "a symmetric matrix")
    if np.linalg.eigvalsh(array)[0] < -1e-9 * largest:
        raise InvalidInputError(name, array.tolist(), "a positive semidefinite matrix")
    return array


class _Terms(NamedTuple):
    """The contact problem in base-frame axes, which do not turn with the normal."""

    jacobian: Array  # (3, n)
    response: Array  # (n, 3)
    delassus: Array  # (3, 3)
    velocity: Array  # (3,)
    point: Array  # (3,)


def _terms(
    robot: RobotModel, q: Array, dq: Array, contact: Contact, obstacle: FreeObject | None, inertia: str
) -> _Terms:
    space = ContactSpaceBuilder(robot, contact, obstacle, inertia)(q, dq)
    to_base = contact.axes.T
    return _Terms(
        to_base @ space.jacobian,
        space.response @ contact.axes,
        to_base @ space.delassus @ contact.axes,
        to_base @ space.velocity,
        space.point,
    )


def _pack(terms: _Terms, contact: Contact) -> Array:
    """The contact quantities: Delassus (6), velocity, normal (3), friction, restitution, point (3), lightness of 1."""
    upper = [terms.delassus[i, j] for i, j in _SYMMETRIC]
    rest = contact.friction, contact.restitution, *terms.point, 1.0
    return np.array([*upper, *terms.velocity, *contact.normal, *rest])


def _way_in(
    robot: RobotModel,
    q: Array,
    dq: Array,
    contact: Contact,
    obstacle: FreeObject | None,
    inertia: str,
    terms: _Terms,
    impulse: Array,
    doubted: NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Derivatives in all inputs of the contact quantities (18 rows) and of dq + response @ impulse (n rows).

    Derivatives by finite differences are left at zero where the input is not `doubted`.
    """
    n, columns = robot.n, input_columns(robot.n)
    into_contact, into_velocity = np.zeros((18, len(doubted))), np.zeros((n, len(doubted)))

    def difference(ahead: tuple[Array, Contact], behind: tuple[Array, Contact]) -> tuple[Array, Array]:
        first, second = (_terms(robot, state, dq, place, obstacle, inertia) for state, place in (ahead, behind))
        contact_change = _pack(first, ahead[1]) - _pack(second, behind[1])
        velocity_change = (first.response - second.response) @ impulse
        return contact_change / (2.0 * _SMALL), velocity_change / (2.0 * _SMALL)

    for k in np.flatnonzero(doubted[:n]).tolist():
        unit = _SMALL * np.eye(n)[k]
        into_contact[:, k], into_velocity[:, k] = difference((q + unit, contact), (q - unit, contact))
    into_contact[6:9, columns["velocity"]] = terms.jacobian
    into_velocity[:, columns["velocity"]] = np.eye(n)
    for tangent in contact.axes[1:] if doubted[columns["normal"]].any() else ():
        ahead, behind = (replace(contact, normal=contact.normal + s * _SMALL * tangent) for s in (1.0, -1.0))
        contact_slope, velocity_slope = difference((q, ahead), (q, behind))
        # The slope along a tangent is shared by the normal's components as they lie along it.
        into_contact[:, columns["normal"]] += np.outer(contact_slope, tangent)
        into_velocity[:, columns["normal"]] += np.outer(velocity_slope, tangent)
    point = contact_point(robot, q, contact)
    for k in np.flatnonzero(doubted[columns["point"]]).tolist():
        unit = _SMALL * np.eye(3)[k]
        ahead, behind = (replace(contact, point=point + s * unit) for s in (1.0, -1.0))
        column = columns["point"].start + k
        into_contact[:, column], into_velocity[:, column] = difference((q, ahead), (q, behind))
    into_contact[12, columns["friction"]] = into_contact[13, columns["restitution"]] = 1.0
    inertias = slice(columns["motor_inertia"].start, columns["link_inertia"].stop)
    changed = np.concatenate((np.eye(n)[:, None] * np.eye(n)[:, :, None], link_parts(robot, q))) @ terms.response
    mobilities = terms.response.T @ changed
    into_contact[:6, inertias] = [-mobilities[:, i, j] for i, j in _SYMMETRIC]
    into_velocity[:, inertias] = -np.linalg.solve(robot.mass_matrix(q, inertia), (changed @ impulse).T)
    if obstacle is not None:
        towards = obstacle.jacobian(terms.point)
        mobility = towards @ obstacle.inverse_inertia @ towards.T
        into_contact[:6, columns["object_mass"].start] = [-mobility[i, j] for i, j in _SYMMETRIC]
        into_contact[17, columns["object_mass"]] = -1.0
    return into_contact, into_velocity


def link_parts(robot: RobotModel, q: Array) -> Array:
    """What the link behind each joint adds to M (n, n, n), kg m^2."""
    model, parts = robot.model, np.zeros((robot.n, robot.n, robot.n))
    pin.computeJointJacobians(model, robot.data, q)
    for joint in range(1, model.njoints):
        # A single joint's Jacobian comes without its second axis.
        towards = pin.getJointJacobian(model, robot.data, joint, pin.ReferenceFrame.LOCAL).reshape(6, robot.n)
        parts[model.joints[joint].idx_v] += towards.T @ model.inertias[joint].matrix() @ towards
    return parts


# (axes, point, lightness, delassus, velocity, friction, restitution) -> impulse in those axes (3,), and the mode.
_Law: TypeAlias = Callable[[Array, Array, float, Rows, Triple, float, float], tuple[Sequence[float], Mode]]


def _law(method: str, table: TableSupport | None) -> _Law:
    """A single-contact map, or the law of a tool and a table; the mode is that of the tool's contact."""
    one, near = impact_map(method), list[Array]()

    def single(axes: Array, point: Array, lightness: float, *problem: Any) -> tuple[Sequence[float], Mode]:
        impulse = one(*problem)
        return impulse[:3], impulse.mode

    def supported(axes: Array, point: Array, lightness: float, delassus: Rows, velocity: Triple, *rest: Any) -> Any:
        assert table is not None
        problem = axes, point, np.array(delassus), np.array(velocity), *rest, *near[:1]
        found = table.solve(*problem, lightness=lightness)
        near.append(found.stacked)
        return found.tool[:3], found.tool.mode

    return single if table is None else supported


def _solutions(law: _Law, packed: Array) -> Iterator[tuple[Array, Mode]]:
    """Impulse (3,) in the base frame, and the mode, for each row of packed contact quantities (k, 18)."""
    normals = packed[:, 9:12]
    axes = np.empty((len(packed), 3, 3))
    # Most rows share the normal of the first one.
    axes[:] = contact_axes(normals[0] / np.linalg.norm(normals[0]))
    for k in np.flatnonzero((normals != normals[0]).any(axis=1)).tolist():
        axes[k] = contact_axes(normals[k] / np.linalg.norm(normals[k]))
    delassus = axes @ packed[:, _SYMMETRIC_ROWS] @ axes.transpose(0, 2, 1)
    velocity = (axes @ packed[:, 6:9, None])[:, :, 0]
    friction, restitution = np.maximum(packed[:, 12], 0.0), np.clip(packed[:, 13], 0.0, 1.0)
    rows = (np.maximum(packed[:, 17], 0.0), delassus, velocity, friction, restitution)
    problems = zip(*(part.tolist() for part in rows), strict=True)
    for own, point, problem in zip(axes, packed[:, 14:17], problems, strict=True):
        impulse, mode = law(own, point, *problem)
        yield np.array(impulse) @ own, mode


def _map_derivative(law: _Law, nominal: Array, changed: NDArray[np.bool_]) -> Array:
    """Derivative (3, 18) of the base-frame impulse in the packed contact quantities; zero where none is `changed`."""
    steps = np.full(18, _LARGE)
    steps[:6] *= np.trace(nominal[_SYMMETRIC_ROWS]) / 3.0
    steps[6:9] *= np.linalg.norm(nominal[6:9])
    chosen = np.flatnonzero(changed)
    step = np.eye(18)[chosen] * steps
    # At the ends of their ranges the coefficients have one side only.
    lowest, highest = np.full(18, -np.inf), np.full(18, np.inf)
    lowest[12:14], highest[13] = 0.0, 1.0
    ahead, behind = np.minimum(nominal + step, highest), np.maximum(nominal - step, lowest)
    derivative = np.zeros((3, 18))
    if chosen.size:
        impulses = np.array([impulse for impulse, _ in _solutions(law, np.concatenate((ahead, behind)))])
        width = (ahead - behind)[np.arange(len(chosen)), chosen]
        derivative[:, chosen] = ((impulses[: len(chosen)] - impulses[len(chosen) :]) / width[:, None]).T
    return derivative


def _mode_may_change(law: _Law, nominal: Array, covariance: Array, mode: Mode) -> bool:
    """Whether the mode differs anywhere at three standard deviations along the principal axes, each way."""
    try:
        variances, directions = np.linalg.eigh(covariance)
    except np.linalg.LinAlgError:
        return True  # LAPACK does not converge
    spread = variances > 1e-14 * max(float(variances[-1]), 1e-300)
    reach = (_SPREAD * np.sqrt(variances[spread]) * directions[:, spread]).T
    if not len(reach):
        return False
    ends = np.concatenate((nominal + reach, nominal - reach))
    try:
        return any(reached != mode for _, reached in _solutions(law, ends))
    except NoSolutionError:
        return True  # so wide a spread reaches inertias that no arm has
