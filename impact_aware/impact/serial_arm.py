"""What the compiled kinematics and dynamics of a serial arm need, as rows of numbers out of its Pinocchio model."""

from __future__ import annotations

import weakref

import numpy as np
import pinocchio as pin

from impact_aware.arrays import Array
from impact_aware.contact.geometry import Contact, FreeObject, frozen
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel

# Columns of a row of constants per joint: placement in its parent, axis, whether it turns, its link, its motor.
ROTATION, TRANSLATION, AXIS, REVOLUTE, MASS, LEVER, INERTIA, MOTOR = 0, 9, 12, 15, 16, 17, 20, 29
CONSTANTS = 30

# Entries of a contact: joints that move it, centre of its tip on the last of them, radius, whether a point is given and
# that point, axes, coefficients; then of a free object whether there is one, 1 / mass, position, twist, and the inverse
# of its rotational inertia.
JOINTS, CENTRE, RADIUS, GIVEN, POINT, AXES, FRICTION, RESTITUTION = 0, 1, 4, 5, 6, 9, 18, 19
OBJECT, INVERSE_MASS, POSITION, TWIST, INVERSE_INERTIA, ENTRIES = 20, 21, 22, 25, 31, 40

_known: weakref.WeakKeyDictionary[RobotModel, dict[str, Array]] = weakref.WeakKeyDictionary()
_frames: weakref.WeakKeyDictionary[RobotModel, dict[str, Array]] = weakref.WeakKeyDictionary()


def arm_constants(robot: RobotModel, inertia: str) -> Array:
    """Rows of constants (n, CONSTANTS), read-only.

    Raises:
        InvalidInputError: Not a serial chain of revolute and prismatic joints, or M+B_rho for an unknown motor inertia.
        UnknownNameError: Unknown inertia.
    """
    armature = robot.variant(inertia)[0].armature
    known = _known.setdefault(robot, {})
    constants = known.get(inertia)
    # The model's armature can be changed by its user, and the constants with it.
    if constants is None or constants[:, MOTOR].tolist() != armature.tolist():
        constants = known[inertia] = frozen(_constants(robot, armature))
    return constants


def contact_entries(robot: RobotModel, contact: Contact, obstacle: FreeObject | None) -> Array:
    """Entries of a contact (ENTRIES,).

    Raises:
        UnknownNameError: Unknown frame.
    """
    known = _frames.setdefault(robot, {})
    # Frames stay where they are on their links, and asking Pinocchio for one costs more than the rest.
    frame = known.get(contact.frame)
    if frame is None:
        found = robot.model.frames[robot.frame_id(contact.frame)]
        frame = known[contact.frame] = np.array([[found.parentJoint, 0.0, 0.0], *found.placement.homogeneous[:3].T])
    (joint, _, _), _, _, _, (x, y, z) = frame.tolist()
    a, b, c = contact.offset.tolist()
    if a or b or c:
        x, y, z = (frame[4] + contact.offset.dot(frame[1:4])).tolist()
    given = [0.0] * 4 if contact.point is None else [1.0, *contact.point.tolist()]
    entries = [joint, x, y, z, contact.radius, *given, *contact.axes.ravel().tolist()]
    entries += contact.friction, contact.restitution
    if obstacle is None:
        entries += [0.0] * (ENTRIES - OBJECT)
    else:
        inverse = obstacle.inverse_inertia[3:, 3:].ravel().tolist()
        entries += 1.0, 1.0 / obstacle.mass, *obstacle.position.tolist(), *obstacle.twist.tolist(), *inverse
    return np.array(entries)


def _constants(robot: RobotModel, armature: Array) -> Array:
    model, n = robot.model, robot.n
    if list(model.parents[1:]) != list(range(n)):
        raise InvalidInputError("robot", robot.name, "a serial chain for batched prediction")
    data = model.createData()
    pin.computeJointJacobians(model, data, pin.neutral(model))
    jacobian = np.array(data.J).reshape(6, n)
    constants = np.zeros((n, CONSTANTS))
    constants[:, MOTOR] = armature
    for joint, row in enumerate(constants, start=1):
        motion = data.oMi[joint].actInv(pin.Motion(jacobian[:, joint - 1]))
        revolute = bool(np.linalg.norm(motion.angular) > 0.5)
        if revolute and np.linalg.norm(motion.linear) > 1e-12:
            raise InvalidInputError("robot", f"joint {model.names[joint]}", "revolute or prismatic joints")
        placement, body = model.jointPlacements[joint], model.inertias[joint]
        row[ROTATION:AXIS] = *placement.rotation.T.ravel(), *placement.translation
        row[AXIS:MASS] = *(placement.rotation @ (motion.angular if revolute else motion.linear)), revolute
        row[MASS:MOTOR] = body.mass, *body.lever, *body.inertia.ravel()
    return constants
