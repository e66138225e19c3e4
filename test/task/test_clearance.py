"""What a motion would touch with anything but the tool: links, tables and the other arm, on bases that are turned."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import ControlSession
from impact_aware.errors import InvalidInputError
from impact_aware.robot import RobotModel, profile_names
from impact_aware.task import base_placement, load_task, make_field, start_posture, task_names
from impact_aware.task.arms import robots_of_task
from impact_aware.task.clearance import CLEARANCE, approaches, table_board

DOWN = (np.pi, 0.0, 0.0)
UPRIGHT_HANDS = ((np.pi / 2, 0.0, 0.0), (-np.pi / 2, 0.0, 0.0))
# As `dual_arm_grab` had them when its hands stood upright.
UPRIGHT_POSTURES = ((0.0, 0.26, 0.38, -1.97, -1.41, 1.22, 1.47), (0.0, 0.26, -0.38, -1.97, 1.41, 1.22, 0.10))


@pytest.fixture(scope="module")
def panda():
    return RobotModel.from_profile("panda")


def pointing_down(robot="fr3"):
    """The hit as it was: the tool points down and the hand, 20 cm wide along the way, stands in front of the tip."""
    task = load_task("hit_and_push")
    before = {"orientation_rpy": DOWN, "null_space_position": 0.0, "posture": ()}
    arm = dataclasses.replace(task.arms[0], robot=robot, **before)
    return dataclasses.replace(task, arms=(arm,))


def bare(robot):
    """The arm without collision geometry."""
    limits = {"position_margin": 0.05, "home": robot.home}
    return RobotModel(robot.model, name="bare", tool_frame=robot.tool_frame, tool_radius=robot.tool_radius, **limits)


def asked(task):
    """Field, models, bases and start postures of a task, without any check of its motion."""
    robots = robots_of_task(task)
    # Arms without collision geometry, of which joints alone are kept from the object.
    without = [bare(robot) for robot in robots]
    bases = [base_placement(arm) for arm in task.arms]
    postures = [start_posture(arm, robot) for arm, robot in zip(task.arms, robots, strict=True)]
    return make_field(task, without), robots, bases, postures


def turned(field, turn):
    """The field in a frame in which everything is rotated by `turn` (3, 3) about the vertical."""

    def quaternion(own):
        return pin.Quaternion(np.asfortranarray(turn @ pin.Quaternion(*own[[3, 0, 1, 2]]).toRotationMatrix())).coeffs()

    arms = tuple(
        dataclasses.replace(
            own,
            impact_position=turn @ own.impact_position,
            impact_velocity=turn @ own.impact_velocity,
            normal=turn @ own.normal,
            orientation_before=quaternion(own.orientation_before),
            orientation_after=quaternion(own.orientation_after),
        )
        for own in field.arms
    )
    places = {name: turn @ getattr(field, name) for name in ("object_position", "object_position_at_impact", "goal")}
    return dataclasses.replace(field, arms=arms, object_orientation=quaternion(field.object_orientation), **places)


@pytest.mark.parametrize("object_name", ["juice_pack", "cat_food", "parcel"])
@pytest.mark.parametrize("robot", ["panda", "fr3", "fr3v2"])
def test_a_hand_across_the_way_is_refused_with_both_names_and_the_distance(robot, object_name):
    task = pointing_down(robot).with_object(object_name)
    words = r"_hand \d+ mm inside object, too close from \d+ mm before the impact on, expected 8 mm at least"
    with pytest.raises(InvalidInputError, match=words):
        make_field(task, robots_of_task(task))


def test_the_hand_of_an_fr3_meets_the_box_while_the_tool_is_7_cm_short():
    """The hand is 102 mm wide to each side, the tip 30 mm; `CLEARANCE` comes before the contact."""
    found = approaches(*asked(pointing_down()))[0]
    assert (found.link, found.body) == ("fr3_hand", "object")
    assert found.before_impact == pytest.approx(0.102 - 0.030 + CLEARANCE, abs=0.006)


def test_a_session_refuses_the_start_from_which_a_hand_would_come_first(panda):
    """The field alone is in order for its own start; the arm stands elsewhere, its tool past the box."""
    task = load_task("hit_and_push_palm")
    field = make_field(task, [panda])
    past = dataclasses.replace(task.arms[0], starts=((0.45, -0.24, 0.3),))
    session = ControlSession(panda, field=field)
    with pytest.raises(InvalidInputError, match=r"panda_\w+ \d+ mm inside object, too close from the start on"):
        session.start(0.0, start_posture(past, panda))
    session.start(0.0, start_posture(task.arms[0], panda))


def test_with_upright_hands_the_left_one_would_meet_the_table():
    task = load_task("dual_arm_grab")
    arms = tuple(
        dataclasses.replace(arm, orientation_rpy=rpy, posture=posture)
        for arm, rpy, posture in zip(task.arms, UPRIGHT_HANDS, UPRIGHT_POSTURES, strict=True)
    )
    with pytest.raises(InvalidInputError, match=r"left/panda_hand \d+ mm inside table"):
        make_field(dataclasses.replace(task, arms=arms), robots_of_task(task))


@pytest.mark.parametrize("yaw", [0.7, -1.9])
@pytest.mark.parametrize("name", ["hit_and_push_wedge", "dual_arm_grab_tilted"])
def test_a_motion_that_is_turned_as_a_whole_has_the_same_distances(name, yaw, monkeypatch):
    """Nothing but numbers changes, so no distance does: hulls, tilted bases and boxes are not symmetric."""
    monkeypatch.setattr("impact_aware.task.clearance.CLEARANCE", 0.06)
    field, robots, bases, postures = asked(load_task(name))
    turn = pin.SE3(pin.utils.rotate("z", yaw), np.zeros(3))
    here = approaches(field, robots, bases, postures)
    there = approaches(turned(field, turn.rotation), robots, [turn * base for base in bases], postures)
    # The edges of the table's rim follow the frame's axes.
    known = {(each.link, each.body): each for each in here if each.body != "table"}
    assert len(known) > 1 and known.keys() == {(each.link, each.body) for each in there if each.body != "table"}
    for each in there:
        if each.body != "table":
            assert each.distance == pytest.approx(known[each.link, each.body].distance, abs=1e-5), each
            assert each.before_impact == pytest.approx(known[each.link, each.body].before_impact, abs=1e-5), each


def met(*motion):
    """The closest links of two arms."""
    return next(each for each in approaches(*motion) if each.body.startswith("right/"))


@pytest.mark.parametrize("yaw", [0.4, -0.6])
def test_arms_that_cross_are_refused_by_the_links_of_both(yaw):
    """The left base is turned by `yaw`, its first joint back by as much: the arms cross at the same place."""
    field, robots, bases, postures = asked(load_task("dual_arm_grab"))
    left, right = (posture.copy() for posture in postures)
    left[0], right[0] = -0.75, 0.75
    straight = met(field, robots, bases, [left, right])
    bases[0] = bases[0] * pin.SE3(pin.utils.rotate("z", yaw), np.zeros(3))
    left[0] -= yaw
    found = met(field, robots, bases, [left, right])
    assert found.at_start and (found.link, found.body) == ("left/panda_hand", "right/panda_hand")
    # Depths of boxes that overlap by an edge are iterated, to a tenth of a millimetre.
    assert found.distance == pytest.approx(straight.distance, abs=1e-4) and found.distance < -0.02


def test_an_arm_without_collision_geometry_is_known_by_its_joints(panda):
    """A box that is pushed to where the first joint is."""
    task = load_task("hit_and_push", {"object": {"position": [0.45, 0.2, 0.2]}})
    wide = dataclasses.replace(task.object, half_extents=(0.46, 0.065, 0.2))
    arm = dataclasses.replace(task.arms[0], starts=((0.45, 0.5, 0.2),))
    task = dataclasses.replace(task, arms=(arm,), object=wide)
    make_field(dataclasses.replace(task, goal=(0.45, 0.1, 0.2)), [bare(panda)])
    with pytest.raises(InvalidInputError, match=r"(universe|panda_joint1) \d+ mm inside object"):
        make_field(dataclasses.replace(task, goal=(0.45, 0.0, 0.2)), [bare(panda)])


@pytest.mark.parametrize("yaw", [0.0, 0.7, -1.9])
def test_the_far_end_of_a_long_box_is_near_wherever_the_box_is_turned(panda, yaw):
    """The box above is pushed to the first joint, of which a point stands for the link, in a world that is turned."""
    task = load_task("hit_and_push", {"object": {"position": [0.45, 0.2, 0.2]}, "goal": [0.45, 0.1, 0.2]})
    wide = dataclasses.replace(task.object, half_extents=(0.46, 0.065, 0.2))
    arm = dataclasses.replace(task.arms[0], starts=((0.45, 0.5, 0.2),))
    field = make_field(dataclasses.replace(task, arms=(arm,), object=wide), [bare(panda)])
    field = dataclasses.replace(field, goal=np.array([0.45, 0.0, 0.2]))
    turn = pin.SE3(pin.utils.rotate("z", yaw), np.zeros(3))
    found = approaches(turned(field, turn.rotation), [bare(panda)], [turn], [start_posture(arm, panda)])
    assert {each.link for each in found if each.body == "object"} >= {"universe"}


def test_a_goal_far_away_is_refused_at_once(panda):
    """The way there is looked at every 2 cm: one of 10,000 km held the controller for more than 40 minutes."""
    task = load_task("hit_and_push")
    field = make_field(task, [panda])
    posture = start_posture(task.arms[0], panda)
    for far, refused in ((19.0, False), (21.0, True), (1e7, True)):
        distant = dataclasses.replace(field, goal=field.object_position + np.array([0.0, -far, 0.0]))
        if refused:
            with pytest.raises(InvalidInputError, match="goal of task .* 20 m at most"):
                approaches(distant, [panda], [pin.SE3.Identity()], [posture])
        else:
            approaches(distant, [panda], [pin.SE3.Identity()], [posture])


def test_the_board_is_below_the_object_s_way_on_a_table_that_leans():
    table = pin.SE3(pin.rpy.rpyToMatrix(0.2, -0.1, 0.0), np.array([0.4, 0.1, 0.3]))
    centre, travel = table.act(np.array([0.05, -0.02, 0.1])), table.rotation @ np.array([-0.2, 0.3, 0.05])
    board, half = table_board(table, centre, travel, 0.15)
    corner = board.actInv(table.act(np.array([0.05 + 0.15, -0.02 - 0.15, 0.0])))
    assert np.all(np.abs(corner) <= half + 1e-12) and corner[2] == pytest.approx(half[2])
    np.testing.assert_allclose(2.0 * half[:2], [0.2 + 2 * 0.15 + 0.1, 0.3 + 2 * 0.15 + 0.1])


@pytest.mark.parametrize("robot", [name for name in profile_names() if name != "kuka_lwr4"])
@pytest.mark.parametrize("name", task_names())
def test_in_every_shipped_task_the_tool_arrives_first(name, robot):
    """With every object, from every start. The KUKA LWR reaches none of them."""
    task = load_task(name)
    task = dataclasses.replace(task, arms=tuple(dataclasses.replace(arm, robot=robot) for arm in task.arms))
    robots, bases = robots_of_task(task), [base_placement(arm) for arm in task.arms]
    for thing in (task.object, *task.objects):
        own = task.with_object(thing.name)
        field = make_field(own, robots)
        for start in range(len(task.arms[0].starts)):
            postures = [start_posture(arm, model, start) for arm, model in zip(own.arms, robots, strict=True)]
            assert approaches(field, robots, bases, postures) == []
