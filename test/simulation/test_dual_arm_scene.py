"""Two arms in one plant: a grab with a plain impedance controller, written here, that lifts the object."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot.inverse_kinematics import solve_inverse_kinematics
from impact_aware.simulation import MujocoPlant, Scene
from impact_aware.simulation.mujoco_model import ToolTip
from impact_aware.simulation.scene import COMPLIANT_PAD, ArmMount, SceneObject

GRAVITY = 9.81
RIGHT = math.pi / 2
INWARDS = {"left": pin.rpy.rpyToMatrix(RIGHT, RIGHT, 0.0), "right": pin.rpy.rpyToMatrix(-RIGHT, RIGHT, 0.0)}
SIDE = {"left": 1.0, "right": -1.0}
LEFT_SEED = np.array([0.0, 0.26, 0.38, -1.97, -1.41, 1.22, -0.10])
SEEDS = {"left": LEFT_SEED, "right": np.array([-1, 1, -1, 1, -1, 1, -1]) * LEFT_SEED + np.r_[np.zeros(6), math.pi / 2]}
GAP = 0.03
SPEED = 0.25
CLAMP_DEPTH = 0.04  # how far inside the object the palms are wanted, m
LIFT = 0.05
PALM = ToolTip("pad", (0.04, 0.04, 0.03))
SCENE = Scene(
    arms=(
        ArmMount("left", position=(0.0, 0.35, 0.0), tip=PALM),
        ArmMount("right", position=(0.0, -0.35, 0.0), tip=PALM),
    ),
    object=SceneObject(position=(0.55, 0.0, math.nan)),
    table_height=0.30,
    tool_object=COMPLIANT_PAD,
)


def impedance(robot, base, q, dq, position, velocity, rotation, posture):
    """Torque of a spring-damper between tool and wanted pose, in world axes, and a weak posture spring."""
    placement = base.act(robot.placement(q))
    jacobian = np.kron(np.eye(2), base.rotation) @ robot.frame_jacobian(q)
    twist = jacobian @ dq
    turn = placement.rotation @ pin.log3(placement.rotation.T @ rotation)
    wrench = np.concatenate(
        [1500.0 * (position - placement.translation) + 120.0 * (velocity - twist[:3]), 60.0 * turn - 5.0 * twist[3:]]
    )
    inverse = np.linalg.solve(robot.mass_matrix(q), jacobian.T)
    projector = np.eye(robot.n) - jacobian.T @ np.linalg.solve(jacobian @ inverse, inverse.T)
    return robot.bias(q, dq) + jacobian.T @ wrench + projector @ (5.0 * (posture - q) - 3.0 * dq)


def grab(scene, robot, shift=0.0, duration=1.0, lift_at=0.4):
    """Close the palms at 0.25 m/s, clamp, lift; returns the plant."""
    centre = np.array(scene.object_placement.translation)
    reach = scene.object.half_sizes[1] + scene.arms[0].tip.half_sizes[2]
    wanted = {arm.name: centre + np.array([0.0, SIDE[arm.name] * (reach + GAP), 0.0]) for arm in scene.arms}
    posture = {}
    for arm in scene.arms:
        pose = arm.placement.actInv(pin.SE3(INWARDS[arm.name], wanted[arm.name]))
        posture[arm.name] = solve_inverse_kinematics(robot, pose, SEEDS[arm.name], fixed={0: 0.0})
    shifted = scene.object_placement
    shifted.translation = shifted.translation + np.array([0.0, shift, 0.0])
    plant = MujocoPlant(scene, robot)
    state = plant.reset(np.concatenate(list(posture.values())), object_placement=shifted)
    while state.time < duration:
        torques = {}
        for arm in scene.arms:
            side, part = SIDE[arm.name], plant.slices[arm.name]
            velocity = np.zeros(3)
            if side * (wanted[arm.name][1] - centre[1]) > reach - CLAMP_DEPTH:
                velocity[1] = -side * SPEED
            if lift_at < state.time < lift_at + 0.4:
                velocity[2] = LIFT / 0.4
            wanted[arm.name] = wanted[arm.name] + velocity * scene.cycle
            torques[arm.name] = impedance(
                robot, arm.placement, state.q[part], state.dq[part], wanted[arm.name], velocity,
                INWARDS[arm.name], posture[arm.name],
            )  # fmt: skip
        state = plant.step(torques)
    return plant


@pytest.fixture(scope="module")
def grabbed(robot):
    return grab(SCENE, robot)


def test_object_is_lifted_and_held(grabbed):
    scene, state = grabbed.scene, grabbed.state
    risen = state.object_placement.translation[2] - scene.object_placement.translation[2]
    # Two springs of 1500 N/m sag by the weight over 3000 N/m: 7 mm; the rest of the 50 mm must arrive.
    sag = scene.object.mass * GRAVITY / 3000.0
    assert risen == pytest.approx(LIFT - sag, abs=0.003)
    assert ("left", "object") in grabbed.touching and ("right", "object") in grabbed.touching
    assert state.object_placement.rotation == pytest.approx(np.eye(3), abs=0.02)


def test_palms_meet_the_object_almost_together(grabbed):
    first, second = (impact for impact in grabbed.impacts if impact.partner == "object")
    assert {first.arm, second.arm} == {"left", "right"}
    assert second.time - first.time < 0.001
    # Mirror-image arms push with mirror-image impulses, so that the object stays between them.
    assert abs(first.impulse[1] + second.impulse[1]) < 0.1 * abs(first.impulse[1])
    assert np.sign(first.normal[1]) == -np.sign(second.normal[1])


def test_pads_are_compliant(grabbed):
    hit = Scene().tool_object
    for impact in grabbed.impacts:
        # -log(1 %) / 2 time constants of free approach; a palm pressed on by the other arm settles a bit sooner.
        assert 1.2 * grabbed.scene.tool_object.time_constant < impact.duration < 2.4 * 0.004
        assert impact.duration > 4.0 * hit.time_constant
        assert impact.restitution < 0.1


def test_displaced_object_is_hit_first_by_the_nearer_arm(grabbed, robot):
    shift = 0.015
    plant = grab(SCENE, robot, shift=shift, duration=0.25)
    first, second = plant.impacts[0], plant.impacts[-1]
    assert first.arm == "left" and second.arm == "right"
    # The left palm has 15 mm less to go, at a speed that the springs have not quite reached yet.
    assert grabbed.impacts[0].time - first.time == pytest.approx(shift / SPEED, rel=0.3)
    # Knocked towards the right palm, the object meets it earlier than the 120 ms that palm would take alone.
    assert 0.01 < second.time - first.time < 2.0 * shift / SPEED


def test_momentum_of_the_object_comes_from_the_palm(robot):
    scene = SCENE
    slippery = replace(scene, object_table=replace(scene.object_table, friction=0.0))
    plant = grab(slippery, robot, shift=0.02, duration=0.1)
    (impact,) = plant.impacts
    gained = scene.object.mass * (impact.object_twist_after[1] - impact.object_twist_before[1])
    # The forces of every physics step are summed as they acted; only they change the object's momentum along y.
    assert gained == pytest.approx(-impact.impulse[1], abs=1e-6)
