"""What moves the reference field, and what does not: decided without ROS, also for bases that are rotated."""

import dataclasses
import math

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.control import live_field
from impact_aware.control.live_field import LiveField
from impact_aware.errors import InvalidInputError
from impact_aware.impact.material import ANY_PADS, RIGID_PADS
from impact_aware.records import Impact, ImpactEvent
from impact_aware.robot import RobotModel
from impact_aware.task import load_task, start_posture
from impact_aware.task.arms import arms_of_task
from impact_aware.task.grasp import predict_grasp, predict_grasp_impact

SINGLE, DUAL = load_task("hit_and_push"), load_task("dual_arm_grab")
YAW = 0.4
RADIUS = RobotModel.from_profile("panda").tool_radius


def rotated_base(task, index: int, yaw: float):
    """The task with one base rotated about its vertical and shifted; its first joint makes up for the rotation."""
    own = task.arms[index]
    x, y, z = own.base_position
    moved = dataclasses.replace(
        own,
        base_position=(x + 0.02, y - 0.01, z),
        base_yaw=yaw,
        posture=(own.posture[0] - yaw, *own.posture[1:]) if own.posture else (),
        null_space_position=own.null_space_position - yaw,
    )
    arms = tuple(moved if number == index else arm for number, arm in enumerate(task.arms))
    return dataclasses.replace(task, arms=arms)


def live(task=SINGLE, **more) -> LiveField:
    return LiveField(task, arms_of_task(task, "panda"), **more)


def at(position, rotation=None) -> pin.SE3:
    return pin.SE3(np.eye(3) if rotation is None else rotation, np.array(position))


def test_a_task_is_checked_with_its_pads_and_a_moved_object_as_hit_by_rigid_ones(monkeypatch):
    seen = []
    monkeypatch.setattr(live_field, "check_field", lambda *_, **how: seen.append(how["pads"]))
    field = live(pads=ANY_PADS)
    assert field.move_object(at([0.5, 0.01, 0.1]))
    field.set_task(SINGLE)
    live()
    assert seen == [ANY_PADS, RIGID_PADS] * 2


@pytest.fixture(scope="module")
def two_arms():
    task = rotated_base(DUAL, 0, YAW)
    return task, arms_of_task(task, "panda")


@pytest.fixture
def single():
    return live()


def posture(field: LiveField, index: int = 0, shift=(0.0, 0.0, 0.0)) -> np.ndarray:
    arm = field._arms[index]
    position = field.field.arms[index].impact_position + np.array(shift)
    return start_posture(field.task.arms[index], arm.robot, position)


def event(field: LiveField, index: int = 0, time: float = 2.0, shift=(0.0, 0.0, 0.0)) -> ImpactEvent:
    reached, arm = posture(field, index, shift), field._arms[index]
    wanted = arm.base.rotation.T @ field.field.arms[index].impact_velocity
    velocity = np.linalg.pinv(arm.robot.frame_jacobian(reached)) @ np.concatenate([wanted, np.zeros(3)])
    return ImpactEvent(time, time + 0.004, 1e-4, "kink", 0, reached, velocity, None, np.ones(7), 1.0)


def names(field: LiveField, index: int = 0) -> tuple[str, ...]:
    return field._arms[index].robot.joint_names


def prediction(field: LiveField, velocity, index: int = 0, **more) -> Impact:
    values = {
        "source": "look_ahead",
        "time": 1.9,
        "joint_names": names(field, index),
        "position": posture(field, index),
        "object": "juice_pack",
        "object_twist_after": np.array([*velocity, 9.0, 9.0, 9.0]),
    }
    return Impact(**(values | more))


# One arm


def test_a_look_ahead_prediction_goes_into_the_field_when_it_makes_a_difference(single):
    assert single.take_prediction(0, prediction(single, (0.01, -0.3, 0.02)))
    assert (single.field.revision, single.field.object_velocity_predicted) == (1, True)
    np.testing.assert_array_equal(single.field.object_velocity_after, [0.01, -0.3, 0.02])
    assert not single.take_prediction(0, prediction(single, (0.01, -0.3, 0.029)))
    assert single.take_prediction(0, prediction(single, (0.01, -0.3, 0.031)))
    assert single.field.revision == 2


@pytest.mark.parametrize("method", ["coulomb", "hit", "palm"])
def test_a_prediction_for_another_object_mass_is_refused(single, method):
    """Whatever the table takes up of the momentum."""
    mass = single.field.object_mass
    other = prediction(single, (0.01, -0.3, 0.02), method=method, predicted_mass=1.01 * mass)
    with pytest.raises(InvalidInputError, match="object mass of the prediction"):
        single.take_prediction(0, other)
    assert single.take_prediction(0, dataclasses.replace(other, predicted_mass=mass))


def test_what_the_impact_leaves_the_arm_is_part_of_its_prediction():
    field = live(rotated_base(SINGLE, 0, YAW))
    after = np.array([0.06, -0.59, -0.785, -0.781, -0.523, 0.818, -0.11])
    for source, scale in (("look_ahead", 1.0), ("at_impact", 0.5)):
        # The joints come in another order than the arm's own.
        order = [3, 0, 6, 1, 5, 2, 4]
        mine = posture(field)
        shuffled = {"joint_names": tuple(np.array(names(field))[order]), "position": mine[order]}
        assert field.take_prediction(
            0,
            prediction(field, (0.1, -0.2 * scale, 0.0), source=source, velocity_after=scale * after[order], **shuffled),
        )
        arm, found = field._arms[0], field.field.arms[0].after_impact
        turning = arm.base.rotation @ (arm.robot.frame_jacobian(mine)[3:] @ (scale * after))
        np.testing.assert_allclose(found.angular_velocity, turning, atol=1e-12)
        assert found.null_space_velocity == scale * after[field.field.arms[0].null_space_joint]
    assert field.impact_happened
    # Seen along the base's axes it would be another one.
    assert np.linalg.norm(turning - arm.base.rotation.T @ turning) > 0.05


@pytest.mark.parametrize("changes", [{"valid": False}, {"object": ""}, {"source": "estimate"}, {"source": "plant"}])
def test_other_predictions_change_nothing(single, changes):
    before = single.field
    assert not single.take_prediction(0, prediction(single, (0.0, -0.3, 0.0), **changes))
    assert single.field is before


@pytest.mark.parametrize("velocity", [(0.0, -1.01, 0.0), (math.nan, 0.0, 0.0), (0.0, 0.0, 5.0)])
@pytest.mark.parametrize("source", ["look_ahead", "at_impact"])
def test_a_velocity_over_twice_that_of_the_tool_is_refused(single, velocity, source):
    before = single.field
    with pytest.raises(InvalidInputError, match="object_velocity_after"):
        single.take_prediction(0, prediction(single, velocity, source=source))
    assert single.field is before and not single.impact_happened


def test_the_impact_and_its_prediction_follow_each_other(single):
    single.take_prediction(0, prediction(single, (0.0, -0.2, 0.0)))
    assert single.take_impact(0, event(single, shift=(0.02, 0.0, 0.01)), names(single), 5)
    assert single.has_hit(0) and single.impact_happened
    # The velocity looked ahead to stays until the prediction at the impact comes; the object is where the tool is.
    np.testing.assert_array_equal(single.field.object_velocity_after, [0.0, -0.2, 0.0])
    np.testing.assert_allclose(single.field.object_position_at_impact[1], SINGLE.object.position[1], atol=1e-4)
    assert single.field.event_sequence == 5
    revision = single.field.revision
    assert not single.take_prediction(0, prediction(single, (0.0, -0.4, 0.0))), "looking ahead is over"
    other = prediction(single, (0.0, -0.4, 0.0), source="at_impact", event_sequence=4)
    assert not single.take_prediction(0, other), "another impact's"
    own = prediction(single, (0.03, -0.33, 0.01), source="at_impact", event_sequence=5)
    assert single.take_prediction(0, own)
    np.testing.assert_array_equal(single.field.object_velocity_after, [0.03, -0.33, 0.01])
    assert single.field.object_velocity_predicted and single.field.revision > revision


def test_a_prediction_at_the_impact_may_come_before_its_event(single):
    early = prediction(single, (0.03, -0.33, 0.01), source="at_impact", event_sequence=6)
    assert single.take_prediction(0, early)
    assert single.has_hit(0) and single.field.event_sequence == 6
    np.testing.assert_array_equal(single.field.object_velocity_after, [0.03, -0.33, 0.01])


def test_an_event_without_the_joints_is_no_impact(single):
    before = single.field
    found = dataclasses.replace(event(single), position=np.full(7, np.nan))
    for hit, known in ((found, names(single)), (event(single), [f"other{number}" for number in range(7)])):
        with pytest.raises(InvalidInputError, match="joint_names of the impact: got .*, expected every joint"):
            single.take_impact(0, hit, known, 1)
    assert single.field is before and not single.impact_happened


@pytest.mark.parametrize(("distance", "taken"), [(0.11, False), (0.09, True), (-0.05, True)])
def test_an_impact_before_the_object_is_near_changes_nothing(single, distance, taken):
    normal, before = single.field.arms[0].normal, single.field
    early = event(single, shift=distance * normal)
    at_impact = prediction(single, (0.0, -0.3, 0.0), source="at_impact", event_sequence=4)
    at_impact = dataclasses.replace(at_impact, position=early.position)
    assert single.take_impact(0, early, names(single), 4) is taken
    assert single.take_prediction(0, at_impact) is taken
    assert single.impact_happened is taken and (single.field is before) is not taken
    assert single.elsewhere == (not taken)
    assert single.take_impact(0, event(single), names(single), 5), "the one to come"
    assert single.field.event_sequence == 5


def test_joints_of_an_event_may_come_in_any_order(single):
    found, other = event(single, shift=(0.0, 0.01, 0.0)), live()
    single.take_impact(0, found, names(single), 1)
    assert abs(single.field.object_position_at_impact[1] - SINGLE.object.position[1]) > 0.005
    order = [3, 0, 6, 1, 5, 2, 4]
    shuffled = dataclasses.replace(found, position=found.position[order], velocity_before=found.velocity_before[order])
    other.take_impact(0, shuffled, [names(single)[index] for index in order], 1)
    np.testing.assert_array_equal(other.field.object_position_at_impact, single.field.object_position_at_impact)


def test_the_field_follows_an_object_until_it_is_hit(single):
    assert not single.move_object(at([0.5, 0.0019, 0.1]))
    assert single.move_object(at([0.5, 0.0021, 0.1]))
    np.testing.assert_array_equal(single.field.object_position, [0.5, 0.0021, 0.1])
    assert single.task.object.position == (0.5, 0.0021, 0.1) and single.field.revision == 1
    single.take_impact(0, event(single), names(single), 1)
    assert not single.move_object(at([0.5, 0.05, 0.1]))


def test_the_field_turns_with_the_object(single):
    """A box of other edges seen by axes of other names: the face that looks along y, now along (-sin, cos)."""
    turn = pin.utils.rotate("z", 0.2)
    place = np.array([0.5, 0.03, 0.1])
    assert not single.move_object(at(SINGLE.object.position, pin.utils.rotate("z", 0.009)))
    assert single.move_object(at(place, turn))
    field, half = single.field, np.array(SINGLE.object.half_extents)
    normal = np.array([-np.sin(0.2), np.cos(0.2), 0.0])
    np.testing.assert_allclose(field.arms[0].normal, normal, atol=1e-12)
    np.testing.assert_allclose(field.object_rotation, turn, atol=1e-12)
    face = field.arms[0].impact_position - place
    assert face @ normal == pytest.approx(half[1] + RADIUS)
    # Half a turn about the vertical, and a flip, make the same box.
    before = field.revision
    for flip in ("x", "y", "z"):
        assert not single.move_object(at(place, turn @ pin.utils.rotate(flip, np.pi)))
    assert single.field.revision == before
    # Its second axis goes by the name of the first: now the shorter edge lies along y.
    assert single.move_object(at(place, turn @ pin.utils.rotate("z", 0.5 * np.pi)))
    face = single.field.arms[0].impact_position - place
    np.testing.assert_allclose(single.field.arms[0].normal, normal, atol=1e-12)
    assert face @ normal == pytest.approx(half[0] + RADIUS)


def test_the_field_knows_how_its_object_moves_and_stays_as_long_as_it_goes_on_so(single):
    velocity = np.array([0.05, -0.03, 0.0])
    place = np.array([0.5, 0.03, 0.1])
    assert single.move_object(at(place), velocity, 10.0)
    field = single.field
    np.testing.assert_array_equal(field.object_velocity, velocity)
    assert (field.object_time, field.object_moves) == (10.0, True)
    # As foreseen, within the tolerances of 2 mm and 3 mm/s; after half a second it is told again.
    assert not single.move_object(at(place + 0.2 * velocity + [0.0015, 0.0, 0.0]), velocity + [0.002, 0.0, 0.0], 10.2)
    assert single.move_object(at(place + 0.2 * velocity), velocity + [0.004, 0.0, 0.0], 10.2)
    assert single.move_object(at(place + 0.3 * velocity + [0.003, 0.0, 0.0]), velocity + [0.004, 0.0, 0.0], 10.3)
    np.testing.assert_allclose(single.field.object_position, place + 0.3 * velocity + [0.003, 0.0, 0.0])
    last = single.field.object_position + 0.6 * single.field.object_velocity
    assert single.move_object(at(last), single.field.object_velocity, 10.9)
    # It stops.
    assert single.move_object(at(last), np.zeros(3), 11.0)
    assert not single.field.object_moves
    single.move_object(at(place), velocity, 12.0)
    single.set_task(SINGLE)
    assert not single.field.object_moves


def test_an_object_that_will_be_out_of_reach_is_refused(single):
    before = single.field
    with pytest.raises(InvalidInputError):
        single.move_object(at([0.5, 0.03, 0.1]), np.array([1.0, 0.0, 0.0]), 10.0)
    assert single.field is before and not single.field.object_moves


def test_an_object_that_moves_is_hit_where_it_is_by_then(single):
    velocity = np.array([0.05, -0.03, 0.0])
    single.move_object(at([0.5, 0.03, 0.1]), velocity, 1.0)
    hit = event(single, time=1.6, shift=(0.03, -0.004, 0.0))
    single.take_impact(0, hit, names(single), 1)
    # Along y where the tool says, across where it went.
    np.testing.assert_allclose(single.field.object_position_at_impact, [0.53, 0.026, 0.1], atol=2e-5)


@pytest.mark.parametrize("by", ["event", "prediction"])
def test_an_impact_that_is_told_late_finds_the_object_where_it_was_before(single, by):
    """Poses that show what the impact did may come before it, where computers are slow."""
    velocity, other = np.array([0.05, -0.03, 0.0]), live()
    place = np.array([0.5, 0.03, 0.1])
    for own in (single, other):
        own.move_object(at([0.5, 0.01, 0.1]), velocity, 0.5)
        own.move_object(at(place), velocity, 1.0)
    for ago, far in ((1.62, 0.01), (1.65, 0.05)):
        moved = place + velocity * (ago - 1.0) + [0.0, -far, 0.0]
        assert other.move_object(at(moved, pin.utils.rotate("z", far)), np.array([0.0, -0.3, 0.0]), ago)
    revision, seen = other.field.revision, other.field
    # An event that is none of this object's takes nothing back.
    far = event(other, time=1.6, shift=0.3 * single.field.arms[0].normal)
    assert not other.take_impact(0, far, names(other), 1) and other.field is seen
    hit = event(single, time=1.6, shift=(0.03, -0.004, 0.0))
    for own in (single, other):
        if by == "event":
            assert own.take_impact(0, hit, names(own), 2)
        else:
            told = prediction(own, (0.03, -0.33, 0.01), source="at_impact", event_sequence=2)
            assert own.take_prediction(0, dataclasses.replace(told, time=1.6, position=hit.position))
    assert other.field.revision > revision
    for name in ("object_position", "object_position_at_impact", "object_velocity", "object_rotation", "object_time"):
        np.testing.assert_array_equal(getattr(other.field, name), getattr(single.field, name))
    np.testing.assert_array_equal(other.field.arms[0].impact_position, single.field.arms[0].impact_position)
    assert other.task.object == single.task.object


def test_a_place_that_can_not_be_reached_is_refused_and_nothing_changes(single):
    before = single.field
    with pytest.raises(InvalidInputError):
        single.move_object(at([3.0, 0.0, 0.1]))
    with pytest.raises(InvalidInputError, match="reach"):  # nor where it will be
        single.move_object(at([0.6, 0.0, 0.1]), np.array([0.25, 0.0, 0.0]))
    assert single.field is before and single.task is SINGLE


def test_a_place_that_is_out_of_reach_is_judged_once(single):
    def refusal(x: float) -> InvalidInputError:
        with pytest.raises(InvalidInputError) as caught:
            single.move_object(at([x, 0.0, 0.1]))
        return caught.value

    first = refusal(3.0)
    assert refusal(3.0015) is first and refusal(2.9985) is first
    second = refusal(3.0025)
    assert second is not first
    # Another task may reach it.
    single.set_task(SINGLE)
    assert refusal(3.0025) is not second
    assert single.move_object(at([0.5, 0.05, 0.1]))


def test_another_task_begins_anew(single):
    single.take_impact(0, event(single), names(single), 1)
    single.set_task(SINGLE.with_impact_speed(0.3))
    assert not single.impact_happened
    assert np.linalg.norm(single.field.arms[0].impact_velocity) == pytest.approx(0.3)


# Two arms, one base of them rotated


def test_the_common_velocity_is_known_from_the_task(two_arms):
    task, arms = two_arms
    field = LiveField(task, arms)
    postures = np.concatenate([posture(field, 0), posture(field, 1)])
    expected = predict_grasp(task, [arm.robot for arm in arms], field.field, postures)
    np.testing.assert_allclose(field.field.object_velocity_after, expected, atol=1e-12)
    assert field.field.object_velocity_predicted and expected[2] > 0.02


def test_where_the_tools_touch_is_where_the_object_is_whatever_the_base(two_arms):
    field = LiveField(*two_arms)
    field.take_impact(0, event(field, 0, shift=(0.0, 0.01, 0.0)), names(field, 0), 3, "left")
    # One tool is beside its position, the other where it shall be: the mean of both.
    np.testing.assert_allclose(field.field.object_position_at_impact, [0.55, 0.005, 0.4], atol=2e-4)
    field.take_impact(1, event(field, 1, shift=(0.0, 0.03, 0.0)), names(field, 1), 4, "right")
    np.testing.assert_allclose(field.field.object_position_at_impact, [0.55, 0.005, 0.4], atol=2e-4)
    assert field.field.event_sequence == 4


@pytest.mark.parametrize("arm", [0, 1])
def test_the_first_impact_is_near_the_object_and_the_other_arm_s_wherever_it_met_it(two_arms, arm):
    field = LiveField(*two_arms)
    far = [event(field, index, shift=0.13 * field.field.arms[index].normal) for index in (0, 1)]
    assert not field.take_impact(arm, far[arm], names(field, arm), 1)
    assert not field.impact_happened and field.elsewhere == 1
    assert field.take_impact(arm, event(field, arm), names(field, arm), 2)
    assert field.take_impact(1 - arm, far[1 - arm], names(field, 1 - arm), 1) and field.elsewhere == 1


def test_the_common_impact_is_each_arms_in_its_own_base(two_arms):
    task, arms = two_arms
    field = LiveField(task, arms)
    events = [event(field, 0, 2.0), event(field, 1, 2.003)]
    for index in (1, 0):
        field.take_impact(index, events[index], names(field, index), 7 + index, ("left", "right")[index])
        assert bool(field.common_impact()) == (index == 0)
    left, right = field.common_impact()
    robots = [arm.robot for arm in arms]
    positions, velocities = [own.position for own in events], [own.velocity_before for own in events]
    expected = predict_grasp_impact(task, robots, field.field, positions, velocities, times=(2.0, 2.003))
    assert (left.source, left.method, left.object, left.valid) == ("at_impact", "simultaneous", "juice_pack", True)
    assert [(own.arm, own.event_sequence, own.time) for own in (left, right)] == [("left", 7, 2.0), ("right", 8, 2.003)]
    for own, found, arm in zip((left, right), events, arms, strict=True):
        np.testing.assert_allclose(own.velocity_after, expected.velocity_after[own.arm], atol=1e-12)
        np.testing.assert_array_equal(own.velocity_before, found.velocity_before)
        np.testing.assert_array_equal(own.position, found.position)
        twist = expected.velocity_after["juice_pack"]
        for part in (slice(0, 3), slice(3, 6)):
            np.testing.assert_allclose(arm.base.rotation @ own.object_twist_after[part], twist[part], atol=1e-12)
        assert own.energy_loss == expected.energy_loss > 0.0
    assert np.linalg.norm(left.velocity_after) < 0.9 * np.linalg.norm(left.velocity_before)


def test_impacts_apart_are_no_common_one(two_arms):
    field = LiveField(*two_arms)
    field.take_impact(0, event(field, 0, 2.0), names(field, 0), 1)
    field.take_impact(1, event(field, 1, 2.0051), names(field, 1), 1)
    assert field.common_impact() == []


def test_a_single_arms_look_ahead_gives_its_posture_only(two_arms, monkeypatch):
    monkeypatch.setattr(live_field, "VELOCITY_TOLERANCE", 0.0)
    task, arms = two_arms
    field = LiveField(task, arms)
    reached = posture(field, 1, (0.0, 0.0, 0.02))
    ahead = prediction(field, (0.0, 0.3, 0.0), 1, position=reached, arm="right")
    assert field.take_prediction(1, ahead)
    expected = predict_grasp(
        task, [arm.robot for arm in arms], field.field, np.concatenate([posture(field, 0), reached])
    )
    np.testing.assert_allclose(field.field.object_velocity_after, expected, atol=1e-12)
    field.take_impact(0, event(field, 0), names(field, 0), 1)
    assert not field.take_prediction(1, prediction(field, (0.0, 0.3, 0.0), 1, arm="right"))
    at_impact = prediction(field, (0.0, 0.3, 0.0), 1, source="at_impact", arm="right")
    assert not field.take_prediction(1, at_impact), "what both do is not known to one"


def test_another_arms_prediction_or_impact_is_refused(two_arms):
    field = LiveField(*two_arms)
    before = field.field
    with pytest.raises(InvalidInputError, match="arm: got left, expected right"):
        field.take_prediction(1, prediction(field, (0.0, 0.3, 0.0), 1, arm="left"))
    with pytest.raises(InvalidInputError, match="arm: got right, expected left"):
        field.take_impact(0, event(field, 0), names(field, 0), 1, "right")
    assert field.field is before and not field.impact_happened


def test_a_task_with_other_arms_or_bases_is_refused(two_arms):
    field = LiveField(*two_arms)
    for task, words in ((SINGLE, "a task for left, right"), (DUAL, "the bases where they were")):
        with pytest.raises(InvalidInputError, match=words):
            field.set_task(task)
    with pytest.raises(InvalidInputError, match="a task for a single arm"):
        live().set_task(DUAL)
