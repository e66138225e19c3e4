"""How a tip steers what it pushes: the slope against the optimum, the object against friction's ellipsoid."""

import dataclasses
import math

import numpy as np
import pytest

from impact_aware.control.steering import EFFORT, FARTHEST, OLDEST, PATH_GAIN, STEEPEST, Steering, slope
from impact_aware.control.tracking_kernels import steer
from impact_aware.reference import ReferenceField
from impact_aware.reference.kernels import smoothstep
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import robots_of_task

LEVER, EDGES = 0.065, 0.1**2 + 0.065**2
EVEN, CORNERS = EDGES / 3.0, EDGES


def field(name="hit_and_push", **changes) -> ReferenceField:
    task = load_task(name)
    return dataclasses.replace(make_field(task, robots_of_task(task)), **changes)


def started(own=None, time=1.0, lever=LEVER):
    own = own or field()
    steering = Steering(own)
    centre = own.object_position
    steering.begin(centre, centre + [0.0, lever + 0.03, 0.0], time)
    return steering, own


@pytest.mark.parametrize("lever", [0.0, LEVER])
@pytest.mark.parametrize("gyration", [EVEN, CORNERS])
@pytest.mark.parametrize("left", [0.02, 0.1, 0.3])
def test_the_slope_is_the_first_of_the_least_effort_that_ends_near_the_goal(lever, gyration, left):
    steps = 20000
    step, whole = left / steps, lever**2 + gyration
    change = np.array([[0.0, lever], [0.0, lever]]) / whole
    act = np.array([gyration, -(lever**2)]) / whole
    # Exact for a slope that is constant over a step: the matrix has the one eigenvalue b / D.
    rate = lever / whole
    miss, ahead = 0.002, -0.001
    ways = left - step * (np.arange(steps) + 0.5)
    grown = np.exp(rate * ways)
    effect = act[0] + (grown - 1.0) * act[1]
    aim = miss + math.expm1(rate * left) * ahead
    assert change[0, 1] == change[1, 1] == rate
    # Least of (aim + sum effect u step)^2 + r sum u^2 step.
    wanted = -effect[0] * aim / (EFFORT + step * float(effect @ effect))
    found = slope(miss, ahead, left, lever, gyration)
    assert abs(found) < STEEPEST
    assert found == pytest.approx(wanted, rel=2e-3, abs=1e-6)


def test_near_the_goal_the_tip_drags_the_object_and_far_from_it_the_object_is_turned_first():
    assert slope(0.003, 0.0, 0.01, LEVER, EVEN) < 0.0 < slope(0.003, 0.0, 0.3, LEVER, EVEN)
    assert slope(0.003, 0.0, 0.3, 0.0, EVEN) < 0.0
    # A centre that is off the tip goes on to that side.
    assert slope(0.0, 0.003, 0.01, LEVER, EVEN) < 0.0 < slope(0.0, 0.003, 0.3, LEVER, EVEN)
    assert slope(0.1, 0.0, 0.01, LEVER, EVEN) == -STEEPEST and slope(-0.1, 0.0, -1.0, LEVER, EVEN) == STEEPEST


def pushed(gyration, offset, turn, steer, lever=LEVER, way=0.27):
    """Across the way, the end of a box that a tip pushes along x without slip: friction's ellipsoid, any angles."""
    centre, angle = np.array([0.0, offset]), turn
    contact = centre - lever * np.array([math.cos(angle), math.sin(angle)])
    contact[1] = 0.0
    step, arm = 2e-4, contact - centre
    assumed = EDGES / math.sqrt(3.0)
    while centre[0] < way:
        u = slope(centre[1], centre[1] - contact[1], way - centre[0], lever, assumed) if steer else 0.0
        moving = np.array([1.0, u])
        # The centre moves along the force f, and turns by r x f / c^2: f from the speed of the point of contact.
        x, y = arm
        matrix = np.eye(2) + np.array([[y * y, -x * y], [-x * y, x * x]]) / gyration
        force = np.linalg.solve(matrix, moving)
        turning = (x * force[1] - y * force[0]) / gyration
        centre, angle, contact = centre + step * force, angle + step * turning, contact + step * moving
        arm = contact - centre
    return centre[1]


@pytest.mark.parametrize("gyration", [0.5 * EDGES, CORNERS])
@pytest.mark.parametrize(("offset", "turn"), [(0.006, 0.0), (-0.006, 0.03), (0.004, 0.05)])
def test_a_box_that_turns_in_front_of_the_tip_still_gets_to_its_goal(gyration, offset, turn):
    free, steered = pushed(gyration, offset, turn, False), pushed(gyration, offset, turn, True)
    assert abs(steered) < 0.4 * abs(free)
    assert abs(steered) < 0.012
    assert pushed(gyration, -offset, -turn, True) == pytest.approx(-steered, rel=1e-6)


def test_only_a_single_tip_whose_field_lets_go_sideways_steers():
    for own in (field("dual_arm_grab", post_sideways_radius=0.1), field(post_sideways_radius=0.0)):
        steering, _ = started(own)
        place = np.array([0.1, 0.2, 0.3])
        assert not steering.numbers.any() and steering.place(1.1, place) is place
        assert not steering.see(1.1, place)
    assert field("dual_arm_grab").push_lever == field("hit_and_push_palm").push_lever == 0.0
    assert field().push_lever == pytest.approx(0.065, abs=1e-9)
    assert started(field("hit_and_push_palm"))[0].numbers[9] == 1.0


def test_the_numbers_say_the_way_and_the_object():
    own = field(goal=np.array([0.8, -0.4, 0.3]), object_half_extents=np.array([0.2, 0.1, 0.5]))
    steering, _ = started(own)
    np.testing.assert_allclose(steering.numbers[3:6], np.array([0.3, -0.4, 0.0]) / 0.5, atol=1e-12)
    np.testing.assert_allclose(steering.numbers[:3], np.array([0.4, 0.3, 0.0]) / 0.5, atol=1e-12)
    assert steering.numbers[7] == pytest.approx((0.2**2 + 0.1**2) / math.sqrt(3.0))
    assert steering.numbers[6] == 0.0  # nobody saw the object yet


def test_the_object_is_where_it_was_seen_beside_where_the_tip_had_it_then():
    steering, own = started()
    place = own.object_position
    for k in range(100):
        steering.place(1.0 + 1e-3 * k, place - [0.0, 1e-3 * k, 0.0])
    # Seen 50 ms ago, 8 mm beside and 2 mm before where the tip had it; how high it is does not matter.
    assert steering.see(1.050, place + [0.008, -0.050 - 0.002, 0.5])
    for k in range(100, 400):
        found = steering.place(1.0 + 1e-3 * k, place)
        if k == 120:
            assert 0.0 < found[0] - place[0] < 0.008 and steering.numbers[6] == own.push_lever
    np.testing.assert_allclose(found - place, [0.008, -0.002, 0.0], atol=1e-4)
    # No pose for long: the place stays, and the object is no longer taken to turn.
    assert steering.numbers[6] == 0.0 and 1.399 - 1.050 > OLDEST


@pytest.mark.parametrize(
    ("time", "beside"),
    [(0.9, 0.0), (1.2, 0.0), (1.05, FARTHEST + 0.01), (1.05, math.nan), (math.nan, 0.0), (math.inf, 0.0)],
)
def test_a_pose_that_can_not_be_of_the_pushed_object_now_is_not_used(time, beside):
    steering, own = started()
    for k in range(100):
        steering.place(1.0 + 1e-3 * k, own.object_position)
    assert not steering.see(time, own.object_position + [beside, 0.0, 0.0])
    assert steering.see(1.06, own.object_position) and not steering.see(1.05, own.object_position)


def test_a_copy_goes_its_own_way():
    steering, own = started()
    steering.place(1.0, own.object_position)
    other = steering.copy()
    before = steering.numbers.copy()
    other.numbers[10] = 0.1
    other.place(1.01, own.object_position)
    assert other.numbers[8] == pytest.approx(before[8] + 0.001)
    np.testing.assert_array_equal(steering.numbers, before)


def test_the_kernel_replaces_what_is_across_the_way_by_the_slope_and_the_path():
    generator = np.random.default_rng(5)
    own = field(goal=np.array([0.7, -0.35, 0.1]))
    steering, _ = started(own)
    steering.numbers[6], steering.numbers[8] = LEVER, 0.31
    post = own.post_impact(0)
    for distance in (0.02, 0.06, 0.2):
        across, along = steering.numbers[:3], steering.numbers[3:6]
        centre = own.object_position + distance * along + 0.004 * across
        tip = centre - 0.095 * along + 0.007 * across + [0.0, 0.0, 0.03]
        twist, acceleration = generator.normal(size=(2, 6))
        twist[:3] += 2.0 * along
        before, slowed, numbers = twist.copy(), acceleration.copy(), steering.numbers.copy()
        steer(tip, centre, post.numbers, steering.numbers, twist, acceleration)
        share = smoothstep(float(np.linalg.norm(centre - own.object_position)), 0.0, own.post_sideways_radius)[0]
        left = float(along @ (own.goal - centre))
        ways = float(across @ (centre - own.goal)), float(across @ (centre - tip)), left, LEVER, numbers[7]
        speed = float(along @ before[:3]) * slope(*ways)
        wanted = speed + PATH_GAIN * (0.31 - float(across @ tip))
        assert across @ twist[:3] == pytest.approx((1.0 - share) * (across @ before[:3]) + share * wanted)
        assert across @ acceleration[:3] == pytest.approx((1.0 - share) * (across @ slowed[:3]))
        assert steering.numbers[10] == pytest.approx((1.0 - share) * (across @ before[:3]) + share * speed)
        for vector, old in ((twist, before), (acceleration, slowed)):
            rest = vector[:3] - old[:3]
            np.testing.assert_allclose(rest, (across @ rest) * across, atol=1e-12)
            np.testing.assert_array_equal(vector[3:], old[3:])
    # A tip that goes back steers nothing, and stays on its path.
    twist[:3], acceleration[:] = -along, 0.0
    steer(tip, centre, post.numbers, steering.numbers, twist, acceleration)
    assert across @ twist[:3] == pytest.approx(PATH_GAIN * (0.31 - float(across @ tip)))
