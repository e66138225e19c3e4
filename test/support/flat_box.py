"""The scene of a hit in which a tool that points down meets the box below its hand."""

from dataclasses import replace

import numpy as np
import pinocchio as pin

from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.simulation import MujocoPlant, Scene


def flat_box_scene():
    """The default scene with a box so flat that the Panda's hand stays above it."""
    scene = Scene()
    return replace(scene, object=replace(scene.object, half_sizes=(0.10, 0.065, 0.045)))


def slippery(scene):
    """The scene in which the tool and the table have no friction with the box."""
    smooth = {name: replace(getattr(scene, name), friction=0.0) for name in ("tool_object", "object_table")}
    return replace(scene, **smooth)


def tool_at(robot, position, velocity):
    """Joint positions and velocities of an arm whose tool points down at a position (3,), m, and moves, m/s."""
    q = solve_inverse_kinematics(robot, pin.SE3(np.diag([1.0, -1.0, -1.0]), np.asarray(position)))
    return q, np.linalg.pinv(robot.frame_jacobian(q)) @ np.concatenate([velocity, np.zeros(3)])


def coast_into(scene, robot, *, gap=0.01, speed=0.5, slip=(0.0, 0.0), cycles=60, elasticity=None):
    """Coast, bias compensated, along +y into the middle of the box's face, slipping along x and z.

    Returns:
        The plant, and the joint velocities after each cycle (cycles, n), rad/s.
    """
    half = scene.object.half_sizes
    velocity = np.array([slip[0], speed, slip[1]])
    start = np.array([0.5, -half[1] - robot.tool_radius, half[2]]) - gap / speed * velocity
    q0, dq0 = tool_at(robot, start, velocity)
    plant, rows = MujocoPlant(scene, robot, elasticity=elasticity), []
    state = plant.reset(q0, dq0=dq0)
    for _ in range(cycles):
        state = plant.step(robot.bias(state.q, state.dq))
        rows.append(state.dq)
    return plant, np.array(rows)
