"""Links in the plant collide with the object, the table and the other arm: an early hit by a hand is seen as one."""

import dataclasses
import itertools

import coal
import mujoco
import numpy as np
import pinocchio as pin
import pytest

from impact_aware.robot import RobotModel
from impact_aware.robot.link_shapes import link_shapes
from impact_aware.simulation import MujocoPlant
from impact_aware.simulation.impact_truth import impact_of_truth
from impact_aware.simulation.link_gaps import LinkGaps
from impact_aware.simulation.task_scene import Truth, task_scene
from impact_aware.simulation.world import build_world
from impact_aware.task import load_task, start_posture
from impact_aware.task.arms import robots_of_task

ROBOT = RobotModel.from_profile("panda")


def drift(plant, cycles):
    """Every arm under its own bias torque."""
    for _ in range(cycles):
        state = plant.state
        parts = zip(plant.robots.items(), plant.slices.values(), strict=True)
        plant.step({name: robot.bias(state.q[part], state.dq[part]) for (name, robot), part in parts})
    return plant


TASK = load_task("hit_and_push")
# The tool points down: the hand, 10 cm wide to each side, is in front of the tip.
ACROSS = dataclasses.replace(TASK.arms[0], orientation_rpy=(np.pi, 0.0, 0.0), posture=(), null_space_position=0.0)
START = start_posture(ACROSS, ROBOT, (0.5, 0.18, 0.1))


@pytest.fixture(scope="module")
def early():
    """The hand moves against the box; without friction the table takes no momentum of that."""
    task = dataclasses.replace(TASK, arms=(ACROSS,), object=dataclasses.replace(TASK.object, friction_table=0.0))
    plant = MujocoPlant(task_scene(task), ROBOT)
    plant.reset(START, dq0=np.linalg.pinv(ROBOT.frame_jacobian(START)) @ np.array([0.0, -0.5, 0.0, 0.0, 0.0, 0.0]))
    return drift(plant, 60)


def way_of_the_hand():
    """How far the hand can move along -y from the start until it touches the box, m."""
    pin.forwardKinematics(ROBOT.model, ROBOT.data, START)
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


@pytest.mark.parametrize("yaw", [0.0, 0.5])
def test_arms_meet_each_other_instead_of_passing(yaw):
    """They swing against each other about their bases, of which the left one is turned and its first joint back."""
    task = load_task("dual_arm_grab")
    robots = robots_of_task(task)
    postures = [start_posture(arm, robot) for arm, robot in zip(task.arms, robots, strict=True)]
    postures[0][0] -= yaw
    task = dataclasses.replace(task, arms=(dataclasses.replace(task.arms[0], base_yaw=yaw), task.arms[1]))
    # The table is out of the way of hands that droop.
    scene = task_scene(task, Truth(table_displacement=-0.6))
    np.testing.assert_allclose(scene.travel, np.subtract(task.goal, task.object.position))
    plant = MujocoPlant(scene, dict(zip(("left", "right"), robots, strict=True)))
    away = pin.SE3(np.eye(3), np.array([3.0, 0.0, 0.4]))
    plant.reset(np.concatenate(postures), dq0=np.r_[-1.0, np.zeros(6), 1.0, np.zeros(6)], object_placement=away)
    drift(plant, 600)
    met = [impact for impact in plant.impacts if impact.partner != "table"]
    assert met and {(impact.arm, impact.partner) for impact in met} == {("right", "left")} and met[0].time > 0.1
    tools = [plant.tool_placement(name).translation[1] for name in ("left", "right")]
    assert tools[0] > tools[1]


def test_the_gap_between_two_arms_is_the_smallest_of_all_pairs_of_links():
    task = load_task("dual_arm_grab")
    robots = dict(zip(("left", "right"), robots_of_task(task), strict=True))
    world = build_world(task_scene(task, Truth(table_displacement=-0.6)), robots)
    data, found = mujoco.MjData(world.model), []
    data.qpos[world.object_qpos][:3] = [3.0, 0.0, 2.0]
    for turn in np.linspace(0.0, 0.7, 29):
        for arm, own, side in zip(world.arms.values(), task.arms, (-1.0, 1.0), strict=True):
            q = start_posture(own, robots[own.name])
            q[0] += side * turn
            data.qpos[arm.qpos] = q
        mujoco.mj_forward(world.model, data)
        pairs = itertools.product(*(arm.link_geoms for arm in world.arms.values()))
        smallest = min(mujoco.mj_geomDistance(world.model, data, *pair, 0.05, None) for pair in pairs)
        found += [LinkGaps(world).near(data, gap) == (smallest < gap) for gap in (0.002, 0.02, 0.049)]
        if smallest < 0.0:
            break
    assert smallest < 0.0 and all(found)


def test_the_plant_s_links_are_the_model_s(early):
    """Every shape of Pinocchio's has a geom of its sizes where the model's kinematics put it."""
    world, q = build_world(early.scene, early.robots), early.state.q
    model, data = world.model, mujoco.MjData(world.model)
    data.qpos[world.arms["arm"].qpos] = q
    mujoco.mj_forward(model, data)
    pin.forwardKinematics(ROBOT.model, ROBOT.data, q)
    shapes = link_shapes(ROBOT)
    assert len({part.link for part in shapes}) == 11
    for (geom, link), part in zip(world.arms["arm"].link_geoms.items(), shapes, strict=True):
        assert link == part.link
        place = ROBOT.data.oMi[part.joint] * part.placement
        np.testing.assert_allclose(data.geom_xpos[geom], place.translation, atol=1e-9)
        np.testing.assert_allclose(data.geom_xmat[geom].reshape(3, 3), place.rotation, atol=1e-9)
        box = isinstance(part.shape, coal.Box)
        sizes = np.ravel(part.shape.halfSide) if box else [part.shape.radius, part.shape.halfLength, 0.0]
        np.testing.assert_allclose(model.geom_size[geom], sizes, atol=1e-12)
