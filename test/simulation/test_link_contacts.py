"""Links in the plant collide with the object, the table and the other arm: an early hit by a hand is seen as one."""

import dataclasses

import coal
import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.robot.link_shapes import link_shapes
from impact_aware.simulation import MujocoPlant
from impact_aware.simulation.impact_truth import impact_of_truth
from impact_aware.simulation.task_scene import task_scene
from impact_aware.task import load_task, start_posture
from impact_aware.task.arms import robots_of_task

ROBOT = RobotModel.from_profile("panda")
DOWN = (np.pi, 0.0, 0.0)


def coast(plant, dq0, cycles):
    """Every arm under its own bias, with these joint velocities at first."""
    state = plant.reset(plant.state.q, dq0=dq0)
    for _ in range(cycles):
        plant.step({
            name: robot.bias(state.q[part], state.dq[part])
            for (name, robot), part in zip(plant.robots.items(), plant.slices.values(), strict=True)
        })  # fmt: skip
        state = plant.state
    return plant


def push_with_the_hand_across():
    """The tool points down and moves against the box: the hand, 10 cm wide to each side, is in front of the tip."""
    task = load_task("hit_and_push")
    arm = dataclasses.replace(task.arms[0], orientation_rpy=DOWN, posture=(), null_space_position=0.0)
    # Without friction the table takes no momentum of it.
    task = dataclasses.replace(task, object=dataclasses.replace(task.object, friction_table=0.0))
    q0 = start_posture(arm, ROBOT, (0.5, 0.18, 0.1))
    plant = MujocoPlant(task_scene(dataclasses.replace(task, arms=(arm,))), ROBOT)
    plant.reset(q0)
    return coast(plant, np.linalg.pinv(ROBOT.frame_jacobian(q0)) @ np.array([0.0, -0.5, 0.0, 0.0, 0.0, 0.0]), 60)


def way_of_the_hand():
    """How far the hand can move along -y from the start until it touches the box, m."""
    q0 = start_posture(dataclasses.replace(load_task("hit_and_push").arms[0], orientation_rpy=DOWN, posture=(),
                                           null_space_position=0.0), ROBOT, (0.5, 0.18, 0.1))  # fmt: skip
    pin.forwardKinematics(ROBOT.model, ROBOT.data, q0)
    hand = next(part for part in link_shapes(ROBOT) if part.link == "panda_hand")
    place, box, way = ROBOT.data.oMi[hand.joint] * hand.placement, coal.Box(0.2, 0.13, 0.2), 0.0
    result = coal.DistanceResult()
    while True:
        here = coal.Transform3s(place.rotation, place.translation - [0.0, way, 0.0])
        there = coal.Transform3s(np.eye(3), np.array([0.5, 0.0, 0.1]))
        gap = coal.distance(hand.shape, here, box, there, coal.DistanceRequest(), result)
        if gap < 1e-5:
            return way
        way += gap
        result.clear()


@pytest.fixture(scope="module")
def early():
    return push_with_the_hand_across()


def test_a_hand_that_is_in_front_of_the_tip_hits_first_and_where_it_is(early):
    first = early.impacts[0]
    assert (first.arm, first.link, first.partner) == ("arm", "panda_hand", "object")
    # By coal, along the way; the arm keeps its speed to a per cent.
    assert first.time == pytest.approx(way_of_the_hand() / 0.5, abs=1e-3)
    np.testing.assert_allclose(first.normal, [0.0, 1.0, 0.0], atol=0.02)
    assert first.approach_speed == pytest.approx(0.5, abs=0.02)


def test_its_impulse_is_the_momentum_that_the_object_takes(early):
    first, mass = early.impacts[0], early.scene.object.mass
    gained = mass * (first.object_twist_after[:2] - first.object_twist_before[:2])
    assert np.linalg.norm(gained) > 0.2
    np.testing.assert_allclose(-first.impulse[:2], gained, atol=0.08 * np.linalg.norm(gained))


def test_who_listens_is_told_the_link(early):
    impact = impact_of_truth(
        early.impacts[0], ROBOT, pin.SE3.Identity(), slice(0, 7), arm="", object_name="box", start_time=0.0
    )
    assert impact.contacts[0].frame == "panda_hand" and impact.contacts[0].obstacle == "box"


def test_arms_meet_each_other_instead_of_passing():
    """They swing against each other, on bases that are tilted and turned."""
    task = load_task("dual_arm_grab_tilted")
    robots = robots_of_task(task)
    postures = [start_posture(arm, robot) for arm, robot in zip(task.arms, robots, strict=True)]
    plant = MujocoPlant(task_scene(task), dict(zip(("left", "right"), robots, strict=True)))
    plant.reset(np.concatenate(postures), object_placement=pin.SE3(np.eye(3), np.array([3.0, 0.0, 0.4])))
    assert plant.impacts == ()
    dq0 = np.zeros(14)
    dq0[0], dq0[7] = -1.0, 1.0
    q = plant.state.q
    plant.reset(q, dq0=dq0, object_placement=pin.SE3(np.eye(3), np.array([3.0, 0.0, 0.4])))
    for _ in range(900):
        state = plant.state
        plant.step({
            name: plant.robots[name].bias(state.q[part], state.dq[part]) for name, part in plant.slices.items()
        })  # fmt: skip
        met = [impact for impact in plant.impacts if impact.partner == "left"]
        if met:
            break
    assert met[0].arm == "right"
    # Momentum cannot have let them pass each other.
    tools = [plant.tool_placement(name).translation[1] for name in ("left", "right")]
    assert tools[0] > tools[1]


def test_the_plant_s_links_are_the_model_s(early):
    """Every hull of Pinocchio's has a geom whose corners are where the model's kinematics put them."""
    import mujoco

    world, q = early._world, early.state.q
    model, data = world.model, mujoco.MjData(world.model)
    data.qpos[world.arms["arm"].qpos] = q
    mujoco.mj_forward(model, data)
    pin.forwardKinematics(ROBOT.model, ROBOT.data, q)
    geoms = list(world.arms["arm"].link_geoms.items())
    shapes = link_shapes(ROBOT)
    assert len(geoms) == len(shapes) == 17
    for (geom, link), part in zip(geoms, shapes, strict=True):
        assert link == part.link
        if not hasattr(part.shape, "points"):
            continue
        mesh = model.geom_dataid[geom]
        begin, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        corners = model.mesh_vert[begin : begin + count] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        place = ROBOT.data.oMi[part.joint] * part.placement
        wanted = np.array([place.act(point) for point in np.array(part.shape.points())])
        np.testing.assert_allclose(corners.min(axis=0), wanted.min(axis=0), atol=1e-4)
        np.testing.assert_allclose(corners.max(axis=0), wanted.max(axis=0), atol=1e-4)
