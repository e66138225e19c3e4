"""Cylinders and hulls in MuJoCo: as large, as heavy and as placed as the task has them."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.simulation.task_scene import task_scene
from impact_aware.simulation.world import build_world
from impact_aware.task import load_task

ROBOT = RobotModel.from_profile("panda")
CAN, WEDGE = load_task("hit_and_push_can"), load_task("hit_and_push_wedge")


def compiled(task):
    scene = task_scene(task)
    return scene, build_world(scene, {scene.arms[0].name: ROBOT})


@pytest.mark.parametrize("task", [CAN, CAN.with_object("lying_can"), WEDGE])
def test_the_object_stands_still_on_its_table_with_the_inertia_of_its_shape(task):
    _, world = compiled(task)
    model, data = world.model, mujoco.MjData(world.model)
    mujoco.mj_forward(model, data)
    body = int(model.geom_bodyid[world.object_geom])
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, model.body_iquat[body])
    axes = axes.reshape(3, 3)
    inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
    np.testing.assert_allclose(inertia, task.object.solid.inertia(task.object.mass), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.body_ipos[body], 0.0, atol=1e-12)
    start = data.qpos[world.object_qpos].copy()
    for _ in range(300):
        mujoco.mj_step(model, data)
    moved = data.qpos[world.object_qpos] - start
    # It neither falls nor is pushed out: it starts on the table, and sinks in by the contact's softness.
    np.testing.assert_allclose(moved[:3], 0.0, atol=2e-4)
    np.testing.assert_allclose(moved[3:], 0.0, atol=2e-3)


def test_a_cylinder_has_its_radius_and_half_its_length():
    scene, world = compiled(CAN)
    assert world.model.geom_type[world.object_geom] == mujoco.mjtGeom.mjGEOM_CYLINDER
    np.testing.assert_allclose(world.model.geom_size[world.object_geom][:2], [0.054, 0.062])
    assert scene.table_height == pytest.approx(0.2)


def test_the_corners_of_a_hull_are_where_the_task_has_them():
    turned = pin.SE3(pin.utils.rotate("z", 0.3), np.array(WEDGE.object.position))
    task = WEDGE.__class__(**{**vars(WEDGE), "object": WEDGE.object.placed(turned)})
    _, world = compiled(task)
    model, data = world.model, mujoco.MjData(world.model)
    mujoco.mj_forward(model, data)
    mesh = model.geom_dataid[world.object_geom]
    begin, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
    turn, place = data.geom_xmat[world.object_geom].reshape(3, 3), data.geom_xpos[world.object_geom]
    corners = model.mesh_vert[begin : begin + count] @ turn.T + place
    expected = task.object.solid.vertices @ turned.rotation.T + turned.translation
    np.testing.assert_allclose(sorted(map(tuple, corners.round(5))), sorted(map(tuple, expected.round(5))), atol=2e-5)
