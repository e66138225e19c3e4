"""One robot and one configured contact: what an impact would do now, at a given state, or in the approach to come."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.contact import Contact, FreeObject
from impact_aware.contact.box import Box
from impact_aware.contact.shape import PlacedShape, Shape
from impact_aware.errors import InvalidInputError
from impact_aware.impact.hit import HitPrediction, predict_hit
from impact_aware.impact.hit_uncertainty import predict_hit_with_covariance
from impact_aware.impact.look_ahead import Approach, look_ahead
from impact_aware.impact.material import RIGID_PADS, Pads
from impact_aware.impact.palm import checked_palm, palm_normal
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.predictor import ImpactPredictor
from impact_aware.impact.registry import DEFAULT_METHOD
from impact_aware.impact.table_support import TableSupport
from impact_aware.impact.uncertainty import InputCovariance, UncertainPrediction, predict_with_covariance
from impact_aware.robot import RobotModel

CLOSER = 3
"""Largest number of looks ahead, each with the normal where the tip would touch."""

SAME_NORMAL = 1.0 - 1e-12
"""Cosine above which two normals are equal: they are a microradian apart."""

MEMORY = 2.0
"""Time for which poses of the object are kept, s: a slow computer reports an impact after poses that follow it."""


_SEEN = ("object_position", "object_rotation", "object_velocity", "object_time", "contact", "_covariance")
"""Attributes that a pose of the object sets."""


class Prediction(NamedTuple):
    """An impact's prediction, and its spread where the covariance of the inputs is known."""

    outcome: ImpactPrediction | HitPrediction
    uncertain: UncertainPrediction[ImpactPrediction] | UncertainPrediction[HitPrediction] | None = None


class JumpPredictor:
    """Predicts with what is configured, except for what a call replaces.

    An object that is hit moves otherwise from then on: an impact is predicted with what was seen up to its time.

    Attributes:
        robot: The arm.
        contact: The configured contact; its normal is that of the face which is meant.
        shape: Of the object.
        object_mass: kg; 0 for a fixed surface.
        object_position: (3,) Where the object's centre was seen last, base frame, m.
        object_rotation: (3, 3) Of the object's axes, base frame.
        object_velocity: (3,) With which it moves, base frame, m/s.
        object_time: When it was at `object_position`, s; matters only where it moves.
        method: Name of the impact map.
        inertia: Which inertia is used.
    """

    def __init__(
        self,
        robot: RobotModel,
        contact: Contact,
        *,
        object_mass: float = 0.0,
        shape: Shape | None = None,
        object_position: ArrayLike = (0.0, 0.0, 0.0),
        object_rotation: ArrayLike | None = None,
        surface_point: ArrayLike = (0.0, 0.0, 0.0),
        method: str = DEFAULT_METHOD,
        inertia: str = "M+B_theta",
        covariance: InputCovariance | None = None,
        pad_half_sizes: ArrayLike = (0.0, 0.0, 0.0),
        table_friction: float | None = None,
        pads: Pads = RIGID_PADS,
    ) -> None:
        """Check the configuration.

        Args:
            robot: The arm.
            contact: Where and how it touches.
            object_mass: Of the free object, kg; 0: a fixed surface is hit.
            shape: Of the object; a box of 0.2 m when None.
            object_position: (3,) Its centre, base frame, m.
            object_rotation: (3, 3) Of its axes, base frame; along those of the base frame when None.
            surface_point: (3,) A point of the fixed surface, base frame, m.
            method: One of `IMPACT_MAPS`.
            inertia: One of `INERTIA_CHOICES`.
            covariance: Of the inputs; None where they are taken as exact.
            pad_half_sizes: (3,) Half edges of a flat palm along the axes of the contact's frame, m: the configured
                contact is predicted at its corners; zeros for a tip.
            table_friction: Between the object and the horizontal table that it stands on, which predictions of the
                configured contact by the default method take along; None where it stands on nothing.
            pads: See `predict_hit_with_covariance` for what they add to a spread.

        Raises:
            UnknownNameError: No such frame.
            InvalidInputError: Numbers that make no object.
        """
        robot.frame_id(contact.frame)
        self.robot, self.contact = robot, contact
        self.object_mass, self.method, self.inertia = object_mass, method, inertia
        self.object_position = np.array(object_position, dtype=float)
        self.object_rotation = np.eye(3) if object_rotation is None else np.array(object_rotation, dtype=float)
        self.object_velocity, self.object_time = np.zeros(3), 0.0
        self._sights: deque[dict[str, Any]] = deque()
        self.shape: Shape = Box((0.1, 0.1, 0.1)) if shape is None else shape
        self._surface_point = np.array(surface_point, dtype=float)
        self._covariance = self._configured_covariance = covariance
        self._palm, self._table_friction = checked_palm(pad_half_sizes), table_friction
        self._pads = pads
        self._body: FreeObject | None = None
        self._table: tuple[FreeObject, float, TableSupport] | None = None
        self._prepared: ImpactPredictor | None = None
        obstacle = self._obstacle(object_mass)
        with contextlib.suppress(InvalidInputError):  # which every prediction will say
            self._prepare(contact, obstacle, method, inertia)

    @property
    def spread_is_quick(self) -> bool:
        """Whether a spread takes milliseconds, as that of a tip; a palm's takes tens, that of materials thousands."""
        return self._palm is None and (not self._pads.laws or self._table_friction is None)

    @property
    def plane_point(self) -> Array:
        """A point (3,) of the surface to be hit: of the object's near face, or the configured one, base frame, m."""
        return self._plane_point(self.contact.normal)

    def _plane_point(self, normal: Array) -> Array:
        return self._surface_point if self.object_mass == 0.0 else self._placed().plane_point(normal)

    def _placed(self, shift: Array | None = None) -> PlacedShape:
        """The object where it was seen, or moved on by (3,), m."""
        place = self.object_position if shift is None else self.object_position + shift
        return PlacedShape(self.shape, np.asarray(place, dtype=float), self.object_rotation)

    def set_object(
        self,
        mass: float,
        shape: Shape,
        normal: ArrayLike,
        *,
        rotation: ArrayLike | None = None,
        friction: float,
        restitution: float,
        pad_half_sizes: ArrayLike = (0.0, 0.0, 0.0),
        table_friction: float | None = None,
    ) -> None:
        """Another free object, face or palm from now on; nothing changes where one of them can't be used.

        Args:
            mass: kg, > 0.
            shape: Of the object.
            normal: (3,) Unit vector from the object into the robot, base frame.
            rotation: (3, 3) Of the object's axes, base frame; as they are when None.
            friction: Coulomb coefficient with the tool.
            restitution: With the tool.
            pad_half_sizes: See `__init__`.
            table_friction: See `__init__`.

        Raises:
            InvalidInputError: Naming the one that can't be used.
        """
        if not mass > 0.0:
            raise InvalidInputError("object_mass", mass, "the mass of a free object, > 0 kg")
        palm = checked_palm(pad_half_sizes)
        contact = dataclasses.replace(
            self.contact, normal=np.array(normal, dtype=float), friction=friction, restitution=restitution
        )
        turned = self.object_rotation if rotation is None else np.array(rotation, dtype=float)
        body = PlacedShape(shape, self.object_position, turned).free_object(mass)
        self.contact, self.object_mass, self.shape, self._body = contact, mass, shape, body
        self.object_rotation = turned
        self._sights.clear()
        self._palm, self._table_friction = palm, table_friction

    def stand(self, robot: RobotModel) -> None:
        """Put the arm on another base, and forget poses in the axes of the base before."""
        self.robot, self._prepared = robot, None
        self._sights.clear()

    def see_object(
        self,
        position: Array,
        covariance: Array | None = None,
        rotation: Array | None = None,
        velocity: Array | None = None,
        time: float = 0.0,
    ) -> None:
        """The object was seen.

        Args:
            position: (3,) Its centre, base frame, m.
            rotation: (3, 3) Of its axes, base frame: the face that is hit is the one nearest to the former one; as they
                are when None.
            covariance: (6, 6) Of position and rotation about the base frame's axes, m^2 and rad^2; None when unknown.
                The face moves and turns with the object: it adds to that of the contact point and of the normal.
            velocity: (3,) With which it moves on, base frame, m/s; at rest when None.
            time: When it was there, s.
        """
        self.object_position, self.object_time = position, time
        self.object_velocity = np.zeros(3) if velocity is None else velocity
        if rotation is not None and not np.array_equal(rotation, self.object_rotation):
            self.object_rotation, self._body = np.array(rotation), None
            normal = self._placed().face(self.contact.normal)
            self.contact = dataclasses.replace(self.contact, normal=normal)
        self._covariance = self._configured_covariance
        if covariance is not None:
            own = InputCovariance() if self._covariance is None else self._covariance
            turned = -pin.skew(self.contact.normal)
            self._covariance = dataclasses.replace(
                own,
                point=_matrix(own.point) + covariance[:3, :3],
                normal=_matrix(own.normal) + turned @ covariance[3:, 3:] @ turned.T,
            )
        if self._sights and time <= self._sights[-1]["object_time"]:
            self._sights.clear()
        self._sights.append({name: getattr(self, name) for name in _SEEN})
        while self._sights[0]["object_time"] < time - MEMORY:
            self._sights.popleft()

    @contextlib.contextmanager
    def _as_seen(self, time: float | None) -> Iterator[None]:
        """With what was seen of the object up to a time, s, or what was seen first, if all came later."""
        sights = self._sights
        if time is None or not sights or sights[-1]["object_time"] <= time:
            yield
            return
        vars(self).update(next((sight for sight in reversed(sights) if sight["object_time"] <= time), sights[0]))
        self._body = None
        try:
            yield
        finally:
            vars(self).update(sights[-1])
            self._body = None

    def look_ahead(self, q: Array, dq: Array, horizon: float, time: float | None = None) -> Approach | None:
        """The contact to come within `horizon`, s; None when there is none, or the tool touches already.

        `time` is that of the state, s, where the object moves.
        """
        with self._as_seen(time):
            return self._look_ahead(q, dq, horizon, time)

    def _look_ahead(self, q: Array, dq: Array, horizon: float, time: float | None) -> Approach | None:
        contact, approach = self.contact, None
        velocity = None if time is None else self.object_velocity
        for _ in range(CLOSER):
            place = self._plane_point(contact.normal) + self._shift(time)
            approach = look_ahead(self.robot, q, dq, contact, place, horizon, velocity)
            if approach is None:
                break
            met = None if time is None else time + approach.time_to_impact
            closer = self._touching(contact, approach.position, self._shift(met))
            if closer is contact:
                break
            contact = closer
        return approach if approach is not None and approach.distance > 0.0 else None

    def predict(
        self,
        q: Array,
        dq: Array,
        *,
        spread: bool = True,
        search: bool = False,
        time: float | None = None,
        **replaced: Any,
    ) -> Prediction:
        """What an impact at q (n,), rad, with dq (n,), rad/s, does.

        Args:
            q: Finite.
            dq: Finite.
            time: Of the impact, s, up to which the object is taken as it was seen, and where it has moved to by then;
                as it was seen last when None.
            spread: Also how the inputs' covariance spreads, where there is one; it takes many times as long.
            search: Also whether other velocities obey the laws, see `predict_hit`.
            replaced: `contact`, `object_mass`, `method` or `inertia` instead of the configured one.

        Raises:
            ImpactAwareError: A replacement that can't be used, or no solution.
        """
        with self._as_seen(time):
            return self._predict(q, dq, spread, search, time, replaced)

    def _predict(
        self, q: Array, dq: Array, spread: bool, search: bool, time: float | None, replaced: dict[str, Any]
    ) -> Prediction:
        contact = replaced.get("contact", self.contact)
        shift = self._shift(time)
        obstacle = self._obstacle(replaced.get("object_mass", self.object_mass), time)
        how: dict[str, Any] = {
            "method": replaced.get("method", self.method),
            "inertia": replaced.get("inertia", self.inertia),
        }
        own = contact is self.contact
        palm = self._palm if own else None
        if palm is None and obstacle is not None and own:
            contact = self._touching(contact, q, shift)
        alone = palm is not None or not own or how["method"] != DEFAULT_METHOD
        table = None if alone else self._table_under(obstacle, shift)
        covariance, outcome = self._covariance if spread else None, None
        if palm is not None or (table is not None and (search or self._pads.laws)):
            body = None if obstacle is None else self._placed(shift)
            hit: dict[str, Any] = {"obstacle": obstacle, "shape": body, "table_friction": self._table_friction, **how}
            half = np.zeros(3) if palm is None else palm
            if spread and (self._pads.laws or (palm is not None and covariance is not None)):
                hit |= {"covariance": covariance or InputCovariance(), "pads": self._pads}
                whole = predict_hit_with_covariance(self.robot, q, dq, contact, half, **hit)
                return Prediction(whole.prediction, whole)
            outcome = predict_hit(self.robot, q, dq, contact, half, search=search, **hit)
        if covariance is None:
            return Prediction(outcome or self._prepare(contact, obstacle, **how, table=table)(q, dq))
        how |= {"obstacle": obstacle, "table": table}
        uncertain = predict_with_covariance(self.robot, q, dq, contact, covariance, **how)
        return Prediction(outcome or uncertain.prediction, uncertain)

    def _table_under(self, obstacle: FreeObject | None, shift: Array) -> TableSupport | None:
        """The table under the object; mostly that of the last time."""
        friction, last = self._table_friction, self._table
        if obstacle is None or friction is None:
            return None
        if last is None or last[0] is not obstacle or last[1] != friction:
            up = -self.robot.model.gravity.linear
            self._table = last = obstacle, friction, TableSupport(self._placed(shift), obstacle, friction, up)
        return last[2]

    def _touching(self, contact: Contact, q: Array, shift: Array) -> Contact:
        """The contact with the object's normal where the tool touches at q (n,), rad; itself where that is the same."""
        if self.object_mass == 0.0:
            return contact
        tool, body = self.robot.placement(q, contact.frame), self._placed(shift)
        if self._palm is not None:
            normal = palm_normal(self.contact.normal, tool, body)
        else:
            normal = body.normal_at_ball(tool.act(contact.offset), self.contact.normal)
        same = float(normal @ contact.normal) > SAME_NORMAL
        return contact if same else dataclasses.replace(contact, normal=normal)

    def _shift(self, time: float | None) -> Array:
        """How far (3,) the object has moved since it was seen, until a time, s, m."""
        if time is None:
            return np.zeros(3)
        return self.object_velocity * (time - self.object_time)

    def _obstacle(self, mass: float, time: float | None = None) -> FreeObject | None:
        if mass == 0.0:
            return None
        placed = self._placed(self._shift(time))
        twist = np.concatenate((self.object_velocity, np.zeros(3)))
        body = self._body
        same = body is not None and body.mass == mass and np.array_equal(body.position, placed.position)
        if body is None or not (same and np.array_equal(body.twist, twist)):
            self._body = body = placed.free_object(mass, twist)
        return body

    def _prepare(
        self,
        contact: Contact,
        obstacle: FreeObject | None,
        method: str,
        inertia: str,
        table: TableSupport | None = None,
    ) -> ImpactPredictor:
        """The prepared map; mostly that of the last time, as contact and object seldom change."""
        last = self._prepared
        same = last is not None and last.contact is contact and last.obstacle is obstacle and last.table is table
        how = {"method": method, "inertia": inertia}
        if last is None or not same or (last.method if table is None else method, last.inertia) != (method, inertia):
            self._prepared = last = ImpactPredictor(self.robot, contact, obstacle=obstacle, table=table, **how)
        return last


def _matrix(covariance: ArrayLike | None) -> Array:
    """(3, 3) of a variance for all components, one for each, or a matrix."""
    values = np.zeros(3) if covariance is None else np.asarray(covariance, dtype=float)
    return values if values.shape == (3, 3) else np.diag(np.broadcast_to(values, 3))
