"""Inertia and contact Jacobian of a serial arm at many postures at once.

Pinocchio answers one posture per call, and a call from Python costs more than its algebra. Here every quantity is an
array over the postures, so NumPy's loops run over thousands of them: a composite-rigid-body sweep from tip to base in
link frames whose z axis is the joint's, where a joint only mixes x and y, and what is constant is a small matrix
product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

# Entries of a symmetric 4 x 4 pseudo-inertia (second moments, first moments, mass) in the order they are stacked.
_ROWS = np.array([0, 0, 1, 0, 1, 2, 0, 1, 2, 3])
_COLUMNS = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
_XX, _XY, _YY, _XZ, _YZ, _ZZ, _X, _Y, _Z, _M = range(10)


class BatchKinematics(NamedTuple):
    """Arrays over N postures; contact axes are normal, tangent, tangent.

    Attributes:
        inertia: (n, n, N) Joint-space inertia, lower triangle valid, kg m^2.
        jacobian: (n, 3, N) Transposed contact Jacobian.
        point: (3, N) Contact point, base frame, m.
    """

    inertia: Array
    jacobian: Array
    point: Array


class BatchDynamics:
    """Computes `BatchKinematics` for one arm and one contact; what doesn't depend on the posture is prepared once."""

    def __init__(self, robot: RobotModel, contact: Contact, inertia: str) -> None:
        """Take the arm's constants out of its Pinocchio model.

        Raises:
            InvalidInputError: Not a serial chain of revolute and prismatic joints, or the contact point is given in the
                base frame, which belongs to one posture.
            UnknownNameError: Unknown frame or inertia.
        """
        if contact.point is not None:
            raise InvalidInputError("contact point", "a fixed base-frame point", "an offset in the contact frame")
        model = robot.model
        if list(model.parents[1:]) != list(range(robot.n)):
            raise InvalidInputError("robot", robot.name, "a serial chain for batched prediction")
        self._n = robot.n
        self._added = robot.motor_inertia_for(inertia)
        frame = model.frames[robot.frame_id(contact.frame)]
        self._contact_joint = int(frame.parentJoint)
        data = model.createData()
        pin.computeJointJacobians(model, data, pin.neutral(model))
        # Rotation of each joint frame that brings its axis to z; the base keeps its own axes.
        turns = [np.eye(3)]
        self._revolute = []
        for joint in range(1, model.njoints):
            axis = data.oMi[joint].actInv(pin.Motion(np.array(data.J).reshape(6, -1)[:, joint - 1])).vector
            linear, angular = np.linalg.norm(axis[:3]), np.linalg.norm(axis[3:])
            if min(linear, angular) > 1e-12:
                raise InvalidInputError("robot", f"joint {model.names[joint]}", "revolute or prismatic joints")
            self._revolute.append(bool(angular > 0.5))
            turns.append(_turn_to(axis[3:] if angular > 0.5 else axis[:3]))
        self._inertia_maps, self._wrench_maps, self._rotations, self._translations, self._own = [], [], [], [], []
        for joint in range(1, model.njoints):
            placement = model.jointPlacements[joint]
            rotation = turns[joint - 1].T @ placement.rotation @ turns[joint]
            translation = turns[joint - 1].T @ placement.translation
            self._rotations.append(rotation)
            self._translations.append(translation)
            self._inertia_maps.append(_inertia_map(rotation, translation))
            self._wrench_maps.append(pin.SE3(rotation, translation).toDualActionMatrix())
            self._own.append(_pseudo_inertia(model.inertias[joint], turns[joint]))
        turn = turns[self._contact_joint].T
        self._offset = turn @ (frame.placement.rotation @ contact.offset + frame.placement.translation)
        self._radius = contact.radius
        self._axes = contact.axes

    def __call__(self, q: Array) -> BatchKinematics:
        """Evaluate at `q` (n, N), rad or m, one column per posture."""
        n, count = q.shape
        cos, sin = np.cos(q), np.sin(q)
        matrix, jacobian = np.zeros((n, n, count)), np.zeros((n, 3, count))
        point = self._fill_jacobian(jacobian, q, cos, sin)
        self._fill_inertia(matrix, q, cos, sin)
        return BatchKinematics(matrix, jacobian, point)

    def _fill_inertia(self, matrix: Array, q: Array, cos: Array, sin: Array) -> None:
        """Write the lower triangle of the inertia (n, n, N)."""
        n, count = q.shape
        # The momentum of the links beyond a joint that moves alone, as a wrench: one slot per joint, from the tip.
        wrenches, other = np.empty((n, 6, count)), np.empty((n, 6, count))
        composite = np.zeros((10, count))
        scratch = np.empty((n, count)), np.empty((n, count))
        for joint in reversed(range(n)):
            composite += self._own[joint][:, None]
            active = wrenches[: n - joint]
            newest = active[-1]
            if self._revolute[joint]:
                np.negative(composite[_Y], out=newest[0])
                newest[1], newest[2] = composite[_X], 0.0
                np.negative(composite[_XZ], out=newest[3])
                np.negative(composite[_YZ], out=newest[4])
                np.add(composite[_XX], composite[_YY], out=newest[5])
            else:
                newest[0], newest[1], newest[2] = 0.0, 0.0, composite[_M]
                newest[3], newest[5] = composite[_Y], 0.0
                np.negative(composite[_X], out=newest[4])
            matrix[joint:, joint] = active[::-1, 5 if self._revolute[joint] else 2]
            matrix[joint, joint] += self._added[joint]
            if joint == 0:
                return
            if self._revolute[joint]:
                first, second = scratch[0][: n - joint], scratch[1][: n - joint]
                _rotate(active[:, 0], active[:, 1], cos[joint], sin[joint], first, second)
                _rotate(active[:, 3], active[:, 4], cos[joint], sin[joint], first, second)
                _rotate_inertia(composite, cos[joint], sin[joint], scratch[0][0], scratch[1][0])
            else:
                active[:, 3] -= q[joint] * active[:, 1]
                active[:, 4] += q[joint] * active[:, 0]
                _shift_inertia(composite, q[joint])
            np.matmul(self._wrench_maps[joint], active, out=other[: n - joint])
            wrenches, other = other, wrenches
            composite = self._inertia_maps[joint] @ composite

    def _fill_jacobian(self, jacobian: Array, q: Array, cos: Array, sin: Array) -> Array:
        """Write the transposed contact Jacobian (n, 3, N); returns the contact point in the base frame (3, N)."""
        last, count = self._contact_joint, q.shape[1]
        first, second = np.empty((3, count)), np.empty((3, count))
        # The contact axes in every link's frame, component by component: (3 components, 3 axes, N).
        in_link = []
        directions = np.repeat(self._axes.T[:, :, None], count, axis=2)
        for joint in range(last):
            directions = (self._rotations[joint].T @ directions.reshape(3, -1)).reshape(3, 3, count)
            if self._revolute[joint]:
                _rotate(directions[0], directions[1], cos[joint], -sin[joint], first, second)
            in_link.append(directions)
        lever = np.repeat(self._offset[:, None], count, axis=1)
        if last > 0:
            lever -= self._radius * directions[:, 0]
        else:
            lever -= self._radius * self._axes[0][:, None]
        for joint in reversed(range(last)):
            directions = in_link[joint]
            if self._revolute[joint]:
                np.multiply(directions[1], lever[0], out=jacobian[joint])
                jacobian[joint] -= np.multiply(directions[0], lever[1], out=first)
                _rotate(lever[0], lever[1], cos[joint], sin[joint], first[0], second[0])
            else:
                jacobian[joint] = directions[2]
                lever[2] += q[joint]
            lever = self._rotations[joint] @ lever
            lever += self._translations[joint][:, None]
        return lever


def _rotate(x: Array, y: Array, cos: Array, sin: Array, first: Array, second: Array) -> None:
    """Turn (x, y) about z in place."""
    np.multiply(x, sin, out=first)
    np.multiply(y, sin, out=second)
    x *= cos
    x -= second
    y *= cos
    y += first


def _rotate_inertia(inertia: Array, cos: Array, sin: Array, first: Array, second: Array) -> None:
    """Turn pseudo-inertias (10, N) about z in place."""
    xx, xy, yy = inertia[_XX], inertia[_XY], inertia[_YY]
    half_sum, half_difference = 0.5 * (xx + yy), 0.5 * (xx - yy)
    double_cos, double_sin = cos * cos - sin * sin, 2.0 * cos * sin
    turned = half_difference * double_cos - xy * double_sin
    xy *= double_cos
    xy += half_difference * double_sin
    np.add(half_sum, turned, out=xx)
    np.subtract(half_sum, turned, out=yy)
    _rotate(inertia[_XZ], inertia[_YZ], cos, sin, first, second)
    _rotate(inertia[_X], inertia[_Y], cos, sin, first, second)


def _shift_inertia(inertia: Array, distance: Array) -> None:
    """Move pseudo-inertias (10, N) by `distance` (N,) along z in place."""
    inertia[_ZZ] += distance * (2.0 * inertia[_Z] + inertia[_M] * distance)
    inertia[_XZ] += distance * inertia[_X]
    inertia[_YZ] += distance * inertia[_Y]
    inertia[_Z] += distance * inertia[_M]


def _turn_to(axis: Array) -> Array:
    """A rotation whose third column is `axis`, which keeps the other axes where they are when it is z already."""
    axis = axis / np.linalg.norm(axis)
    helper = np.eye(3)[0] if abs(axis[0]) < 0.9 else np.eye(3)[1]
    x = helper - axis * (axis @ helper)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def _pseudo_inertia(inertia: pin.Inertia, turn: Array) -> Array:
    """The ten numbers of a link's pseudo-inertia in axes turned by `turn`."""
    lever = turn.T @ inertia.lever
    about_centre = turn.T @ inertia.inertia @ turn
    second = 0.5 * np.trace(about_centre) * np.eye(3) - about_centre + inertia.mass * np.outer(lever, lever)
    pseudo = np.block(
        [[second, inertia.mass * lever[:, None]], [inertia.mass * lever[None], np.array([[inertia.mass]])]]
    )
    return pseudo[_ROWS, _COLUMNS]


def _inertia_map(rotation: Array, translation: Array) -> Array:
    """How the ten numbers of a pseudo-inertia change from a child frame at (rotation, translation) to its parent."""
    placement = np.eye(4)
    placement[:3, :3], placement[:3, 3] = rotation, translation
    columns = []
    for row, column in zip(_ROWS, _COLUMNS, strict=True):
        unit = np.zeros((4, 4))
        unit[row, column] = unit[column, row] = 1.0
        columns.append((placement @ unit @ placement.T)[_ROWS, _COLUMNS])
    return np.array(columns).T
