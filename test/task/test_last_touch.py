"""Two palms that meet an object one after the other."""

import dataclasses

import numpy as np
import pytest

from impact_aware.contact.shape import PlacedShape
from impact_aware.contact.shape_registry import shape_of
from impact_aware.impact.bodies import joint_problem
from impact_aware.impact.cone_complementarity import solve_cone_complementarity
from impact_aware.impact.palm import table_contacts
from impact_aware.reference import ReferenceField
from impact_aware.robot import RobotModel
from impact_aware.task import last_touch, load_task, make_field, start_posture
from impact_aware.task.grasp import GRASP_WINDOW, placed_arms, predict_grasp_impact, tool_contacts, tool_of
from impact_aware.task.last_touch import TURNS, Touch, Touches, predict_last_touch
from impact_aware.task.make_field import joint_velocity_of_tool

TASK = load_task("dual_arm_grab", {"object": {"half_extents": [0.09, 0.065, 0.1], "friction_tool": 0.6}})
ROBOTS = [RobotModel.from_profile("panda")] * 2
FIELD = make_field(TASK, ROBOTS)
HALF = 0.04  # of a palm, m
LEFT, RIGHT = 0, 1


def moved(task):
    """Both bases elsewhere and turned about the vertical, with the first joint turned back: the same arms."""
    shift, yaws = np.array([0.3, -0.7, 0.05]), (0.4, -0.25)

    def shifted(position):
        return tuple((np.array(position) + shift).tolist())

    arms = tuple(
        dataclasses.replace(
            arm,
            base_position=shifted(arm.base_position),
            base_yaw=yaw,
            null_space_position=-yaw,
            posture=(arm.posture[0] - yaw, *arm.posture[1:]),
            starts=tuple(map(shifted, arm.starts)),
        )
        for arm, yaw in zip(task.arms, yaws, strict=True)
    )
    thing = dataclasses.replace(task.object, position=shifted(task.object.position))
    return dataclasses.replace(task, arms=arms, object=thing, goal=shifted(task.goal))


def touches(
    task=TASK,
    field: ReferenceField = FIELD,
    *,
    times=(1.0, 1.0),
    room=0.0,
    aside=0.0,
    velocities=None,
    carried=(0.0, 0.0, 0.0),
) -> list[Touch]:
    """Flat palms at the faces of the object, `room` m farther apart than those are, the left one `aside` m along x.

    A later one stands where the object is by then that is `carried` with a velocity (3,), m/s.
    """
    made = []
    for index, (own, robot, reference) in enumerate(zip(task.arms, ROBOTS, field.arms, strict=True)):
        place = reference.impact_position + 0.5 * room * reference.normal + [aside * (index == LEFT), 0.0, 0.0]
        place = place + (times[index] - min(times)) * np.asarray(carried)
        q = start_posture(own, robot, place)
        velocity = own.impact_velocity if velocities is None else velocities[index]
        made.append(Touch(times[index], q, joint_velocity_of_tool(own, robot, q, np.array(velocity))))
    return made


def test_the_room_between_the_palms_tells_how_far_the_object_is_turned_to_either_side():
    """Turned by 2 deg, corners at 40 and 40 mm from its middle stand 2 x 40 mm x 2 deg farther apart."""
    found = predict_last_touch(TASK, ROBOTS, FIELD, touches(room=2.0 * HALF * np.radians(2.0)))
    for side in (-2.0, 2.0):
        assert found.weights[np.isclose(found.turns, np.radians(side))] == pytest.approx(0.48, abs=0.03)
    square = predict_last_touch(TASK, ROBOTS, FIELD, touches())
    upright, half, other = (float(square.weights[np.isclose(square.turns, np.radians(a))][0]) for a in (0.0, 0.5, -0.5))
    assert upright > 0.5 and half == pytest.approx(other, rel=0.05)
    # Gauss' law: half a degree takes 0.7 mm, of which 0.25 mm are a standard deviation, as 1 deg is of the turn.
    cost = (2.0 * HALF * np.radians(0.5) / 2.5e-4) ** 2 + (np.radians(0.5) / 0.0175) ** 2
    assert half / upright == pytest.approx(np.exp(-0.5 * cost), rel=0.05)


def test_a_palm_beside_the_middle_needs_another_turn_on_each_side():
    """The left palm's corners at 60 and 20 mm, the right one's at 40: 100 mm x 1.5 deg is 60 mm x 2.5 deg."""
    room = 0.100 * np.radians(1.5)
    found = predict_last_touch(TASK, ROBOTS, FIELD, touches(room=room, aside=0.02))
    likely = found.turns[np.argsort(found.weights)[-2:]]
    # The left face looks along +y: a positive turn moves it outwards where x is positive.
    np.testing.assert_allclose(np.sort(np.degrees(likely)), [-2.5, 1.5])


def test_the_room_is_what_is_left_when_the_first_palm_has_pushed_the_object_on():
    """In 5 ms the object, turned by 2 deg, comes 0.7 mm nearer to the last palm, which meets it that much sooner."""
    room = 2.0 * HALF * np.radians(2.0) + 0.7e-3
    found = predict_last_touch(TASK, ROBOTS, FIELD, touches(times=(1.0, 1.005), room=room))
    assert found.weights[np.isclose(np.abs(found.turns), np.radians(2.0))].sum() > 0.7


def test_a_palm_that_moves_on_with_the_object_that_the_other_one_carries_changes_nothing():
    """Both palms at 0.2 m/s to the right: the object keeps the speed of the palm that carries it, and gets no other."""
    velocity = [0.0, -0.2, 0.0]
    made = touches(times=(1.0, 1.06), velocities=[velocity, velocity])
    before = Touch(1.059, made[LEFT].q, made[LEFT].dq)
    found = predict_last_touch(TASK, ROBOTS, FIELD, made, before)
    np.testing.assert_allclose(found.object_velocity, velocity, atol=1e-6)
    other = Touch(1.059, made[LEFT].q, 0.5 * made[LEFT].dq)
    assert predict_last_touch(TASK, ROBOTS, FIELD, made, other).object_velocity[1] > -0.19


def test_what_the_first_palm_has_done_since_counts_only_after_the_window():
    late = touches(times=(2.0, 2.0 + 1.01 * GRASP_WINDOW))
    assert predict_last_touch(TASK, ROBOTS, FIELD, late) is None
    state = Touch(2.015, late[LEFT].q, late[LEFT].dq)
    assert predict_last_touch(TASK, ROBOTS, FIELD, late, state) is not None
    soon = touches(times=(2.0, 2.0 + 0.99 * GRASP_WINDOW))
    expected = predict_last_touch(TASK, ROBOTS, FIELD, soon)
    with_state = predict_last_touch(TASK, ROBOTS, FIELD, soon, Touch(2.01, soon[LEFT].q, 0.3 * soon[LEFT].dq))
    np.testing.assert_array_equal(with_state.object_velocity, expected.object_velocity)


def test_between_touches_the_first_palm_pushes_the_object_towards_the_other():
    """Ten milliseconds later the object is on its way at more than half of the palm's speed, and meets the other palm
    harder: what it leaves upwards and across differs from the impact of both at once."""
    at_once, later = (predict_last_touch(TASK, ROBOTS, FIELD, touches(times=(1.0, 1.0 + d))) for d in (0.0, 0.010))
    assert np.linalg.norm(later.object_velocity - at_once.object_velocity) > 0.01
    together = predict_grasp_impact(TASK, ROBOTS, FIELD, *zip(*[(t.q, t.dq) for t in touches()], strict=True))
    # Both at once: the map of all corners, a fiftieth of the speed before its end, but for the table and the turns.
    expected = together.velocity_after[TASK.object.name][:3]
    np.testing.assert_allclose(at_once.object_velocity, expected, atol=0.03)


@pytest.mark.parametrize("first", [LEFT, RIGHT])
@pytest.mark.parametrize("apart", [0.006, 0.05])
def test_bases_that_stand_elsewhere_change_nothing(first, apart):
    other = moved(TASK)
    results = []
    for task in (TASK, other):
        field = make_field(task, ROBOTS)
        times = [3.0, 3.0]
        times[1 - first] += apart
        velocities = [[0.02, -0.3, 0.1], [-0.01, 0.25, 0.12]]
        made = touches(task, field, times=times, room=0.8e-3, aside=0.004, velocities=velocities)
        state = Touch(times[1 - first], made[first].q, 0.6 * made[first].dq)
        results.append(predict_last_touch(task, ROBOTS, field, made, state, weighed=True))
    np.testing.assert_allclose(results[1].object_velocity, results[0].object_velocity, atol=1e-5)
    np.testing.assert_allclose(results[1].fall, results[0].fall, atol=1e-5)
    assert abs(results[0].object_velocity[1]) > 1e-3


def test_the_weight_pulls_what_is_lifted_down_while_the_palms_compress():
    made = touches(times=(1.0, 1.004))
    impact, weighed = (predict_last_touch(TASK, ROBOTS, FIELD, made, weighed=known) for known in (False, True))
    np.testing.assert_array_equal(impact.object_velocity, weighed.object_velocity)
    assert not impact.fall.any()
    # Less than it would fall by alone in four time constants of 2 ms: the arms are borne down with it.
    assert -9.81 * 0.008 < weighed.fall[2] < -0.01


def test_tips_hard_pads_and_tasks_that_push_are_left_to_others():
    hard = dataclasses.replace(TASK, arms=tuple(dataclasses.replace(a, pad_time_constant=0.0) for a in TASK.arms))
    push = dataclasses.replace(TASK, arms=tuple(dataclasses.replace(a, load_share=0.0) for a in TASK.arms))
    for task in (hard, push):
        assert predict_last_touch(task, ROBOTS, FIELD, touches()) is None


def test_an_object_on_a_belt_is_met_as_one_at_rest_seen_from_the_belt():
    """Tools and table move alike with the belt, so that the object does, too."""
    belt, times = np.array([0.15, 0.02, 0.0]), (1.0, 1.007)
    own = [np.array(arm.impact_velocity) for arm in TASK.arms]
    at_rest = predict_last_touch(TASK, ROBOTS, FIELD, touches(times=times, velocities=own))
    field = dataclasses.replace(FIELD, object_velocity=belt, object_time=1.0)
    moving = touches(times=times, velocities=[v + belt for v in own], carried=belt)
    carried = predict_last_touch(TASK, ROBOTS, field, moving)
    # The last arm's posture is that of a place 1 mm farther; a table that stood would take 0.02 m/s.
    np.testing.assert_allclose(carried.object_velocity, at_rest.object_velocity + belt, atol=2e-3)


@pytest.fixture
def square(monkeypatch):
    """The object is known to stand square to the palms."""
    monkeypatch.setattr(last_touch, "TURNS", np.zeros(1))


def problem(made):
    """Both flat palms and the table's corners, by the package's own parts: Delassus matrix, friction, bodies."""
    arms = placed_arms(TASK, ROBOTS, [t.q for t in made], [t.dq for t in made])
    body = PlacedShape(shape_of(FIELD), FIELD.object_position, FIELD.object_rotation)
    contacts = []
    for index, own in enumerate(TASK.arms):
        tool = tool_of(arms[own.name])
        contacts += tool_contacts(TASK, own, ROBOTS[index], tool, FIELD.arms[index].normal, body)
    contacts += table_contacts(TASK.object.name, body, TASK.object.friction_table)
    joined = joint_problem(contacts, arms=arms, objects={TASK.object.name: body.free_object(FIELD.object_mass)})
    return joined, np.array([contact.friction for contact in contacts])


def step_by_step(joined, friction, velocity, gaps, time, tau=0.002, step=2e-5):
    """Explicit steps of q' = (P(q) - q) / tau; velocities (k,) and gaps (m,) at the end."""
    gaps = gaps.copy()
    for _ in range(round(time / step)):
        now = joined.jacobian @ velocity
        touching = np.flatnonzero(gaps <= 1e-9)
        rows = (3 * touching[:, None] + np.arange(3)).ravel()
        found = solve_cone_complementarity(joined.delassus[np.ix_(rows, rows)], now[rows], friction[touching])
        velocity = velocity + step / tau * (joined.response[:, rows] @ found.impulse)
        gaps = gaps + step * (joined.jacobian @ velocity)[::3]
        gaps[touching] = np.where(gaps[touching] < 1e-9, 0.0, gaps[touching])
    return velocity, gaps


@pytest.mark.parametrize("first", [LEFT, RIGHT])
def test_small_time_steps_from_the_first_touch_come_to_the_same(square, first):
    """Palms of unequal speeds 5 ms apart; until then the last arm stands at its own touch, and the table bears."""
    times = [1.0, 1.0]
    times[1 - first] += 0.005
    made = touches(times=times, aside=0.006, velocities=[[0.02, -0.32, 0.1], [-0.03, 0.26, 0.14]])
    joined, friction = problem(made)
    columns = joined.columns
    last, thing = columns[TASK.arms[1 - first].name], columns[TASK.object.name]
    palms = slice(0, 4), slice(4, 8)
    velocity, gaps = joined.velocity.copy(), np.zeros(12)
    velocity[last], gaps[palms[1 - first]] = 0.0, 1.0
    velocity[thing.start + 2] -= 9.81 * 0.005
    velocity, gaps = step_by_step(joined, friction, velocity, gaps, 0.005)
    assert 0.15 < abs(velocity[thing.start + 1]) < 0.33
    velocity[last] = joined.velocity[last]
    gaps[palms[1 - first]] -= gaps[palms[1 - first]].min()
    velocity, _ = step_by_step(joined, friction, velocity, gaps, 0.008)
    found = predict_last_touch(TASK, ROBOTS, FIELD, made)
    # Explicit steps of a hundredth of the time constant.
    np.testing.assert_allclose(found.object_velocity, velocity[thing][:3], atol=2e-3)


def test_what_the_first_palm_is_no_longer_at_is_met_by_the_last_one_alone_until_it_comes(square):
    """The first palm is 1.3 mm behind the object, the last one stops that; small time steps come to the same."""
    made = touches(times=(1.0, 1.05), room=1.3e-3, velocities=[[0.0, -0.3, 0.02], [0.0, 0.25, 0.12]])
    state = Touch(1.049, made[LEFT].q, 0.8 * made[LEFT].dq)
    joined, friction = problem([state, made[RIGHT]])
    thing = joined.columns[TASK.object.name]
    velocity, gaps = joined.velocity.copy(), np.zeros(12)
    velocity[thing.start + 1] = -0.8 * 0.3
    gaps[:4] = 1.3e-3
    velocity, _ = step_by_step(joined, friction, velocity, gaps, 0.008)
    found = predict_last_touch(TASK, ROBOTS, FIELD, made, state)
    np.testing.assert_allclose(found.object_velocity, velocity[thing][:3], atol=2e-3)
    at_once = predict_last_touch(TASK, ROBOTS, FIELD, touches(times=(1.0, 1.05)), state)
    assert np.linalg.norm(at_once.object_velocity - found.object_velocity) > 0.008


def test_touches_are_taken_once_and_asked_about_once():
    asked = []

    def state_before(arm, time):
        asked.append((arm, time))
        return Touch(time - 1e-3, made[RIGHT].q, made[RIGHT].dq)

    made = touches(times=(1.05, 1.0))
    known = Touches(state_before)
    known.take(RIGHT, made[RIGHT])
    assert known.last_touch(TASK, ROBOTS, FIELD) is None
    known.take(LEFT, made[LEFT])
    known.take(RIGHT, dataclasses.replace(made[RIGHT], time=1.2))
    found = known.last_touch(TASK, ROBOTS, FIELD)
    assert found is known.last_touch(TASK, ROBOTS, FIELD) and asked == [(RIGHT, 1.05)]
    expected = predict_last_touch(TASK, ROBOTS, FIELD, made, Touch(1.049, made[RIGHT].q, made[RIGHT].dq))
    np.testing.assert_array_equal(found.object_velocity, expected.object_velocity)
    assert len(found.turns) == len(found.weights) <= len(TURNS)


@pytest.mark.parametrize("spoilt", [1e3, 1e200, np.nan, np.inf])
def test_a_state_that_cannot_be_true_tells_nothing(spoilt):
    made = touches(times=(1.0, 1.004))
    known = Touches()
    known.take(LEFT, made[LEFT])
    known.take(RIGHT, dataclasses.replace(made[RIGHT], dq=spoilt * made[RIGHT].dq))
    assert known.last_touch(TASK, ROBOTS, FIELD) is None
    late = touches(times=(1.0, 1.05))
    known = Touches(lambda arm, time: Touch(time - 1e-3, late[arm].q, spoilt * late[arm].dq))
    for arm in (LEFT, RIGHT):
        known.take(arm, late[arm])
    assert known.last_touch(TASK, ROBOTS, FIELD) is None
