"""A planned hit: what the impact law and the simulator make of it, what limits it, and what is refused."""

import dataclasses

import numpy as np
import pytest
import yaml

import impact_aware as ia
from impact_aware.control.safety.impact_check import check_field
from impact_aware.experiments.episode_settings import EpisodeSettings
from impact_aware.planning import outcome as outcome_module
from impact_aware.planning.aiming import APPROACH, SHORTER, hit_state, started
from impact_aware.planning.candidates import HELD, candidates, passed_on
from impact_aware.planning.outcome import CARRY, results, speed_for_slide
from impact_aware.robot.profile import load_profile
from impact_aware.simulation.joint_elasticity import STIFFNESS
from impact_aware.task.arms import robots_of_task
from impact_aware.task.grasp import IMPACT_TIME, predict_grasp, predict_grasp_impact
from impact_aware.task.hit import aimed, hit_of
from impact_aware.task.task_file import parse_task, task_yaml

SURE = ia.HitUncertainty(
    mass=0.0, friction=0.0, inertia=0.0, point=0.0, normal=0.0, law=0.0, grasp_law=0.0, carry_spread=0.0
)


def scene(name="hit_and_push_palm", yaw=0.0, shift=(0.0, 0.0, 0.0), **of_object):
    """A task whose object has three different edges, is turned, m and rad."""
    task = ia.load_task(name)
    place = tuple(np.add(task.object.position, shift).tolist())
    thing = dataclasses.replace(task.object, position=place, orientation_rpy=(0.0, 0.0, yaw), **of_object)
    return dataclasses.replace(task, object=thing)


def robot_with(**safety):
    """A Panda with other limits."""
    profile = load_profile("panda")
    return ia.RobotModel.from_profile(dataclasses.replace(profile, safety={**profile.safety, **safety}))


def postures_of(plan):
    """Posture (n,) of each arm at the impact, rad."""
    return [np.array(arm.posture) for arm in plan.task.arms]


def velocity_after(plan, robots):
    """Velocity (3,) of the object by the law of the product's own prediction, m/s."""
    task = plan.task
    field = ia.make_field(task, robots)
    bases = [ia.base_placement(arm) for arm in task.arms]
    hits = check_field(field, robots, bases=bases, postures=postures_of(plan), task=task)
    found = predict_grasp_impact(task, robots, field, [hit.posture for hit in hits], [h.velocity_before for h in hits])
    return found.velocity_after[task.object.name][:3]


@pytest.mark.parametrize("yaw", [0.25, -0.2])
def test_the_hit_leaves_the_object_with_the_wanted_velocity(yaw):
    task, wanted = scene(yaw=yaw, shift=(0.02, 0.03, 0.0)), np.array([0.09, -0.31, 0.0])
    plan = ia.plan_hit(task, ia.WantedResult(velocity=tuple(wanted)), SURE)
    assert not plan.reason and plan.probability == 1.0
    after = velocity_after(plan, robots_of_task(task))
    # The inversion leaves 0.2 % at most, the choice of the speed one step of 0.5 %.
    np.testing.assert_allclose(after[:2], wanted[:2], atol=0.01 * np.linalg.norm(wanted))
    np.testing.assert_allclose(plan.result, wanted[:2], atol=0.01 * np.linalg.norm(wanted))
    assert plan.task.fields.release and len(plan.alternatives) == 3
    assert parse_task(yaml.safe_load(task_yaml(plan.task))) == plan.task


@pytest.mark.parametrize(("name", "slide"), [("hit_and_push_palm", (0.015, -0.05)), ("hit_and_push", (-0.004, -0.04))])
def test_the_object_slides_as_planned_on_flexible_joints(name, slide):
    task = scene(name, yaw=0.1, mass=1.7, friction_table=0.25, half_extents=(0.09, 0.06, 0.1))
    plan = ia.plan_hit(task, ia.WantedResult(slide=slide))
    run = ia.run_episode(plan.task, EpisodeSettings(joint_stiffness=STIFFNESS, duration=5.0, settle_time=0.1), 3)
    slid = (run.object_position[-1] - run.object_position[0])[:2]
    assert not plan.reason and run.safe_reason is None
    assert (np.abs(slid - plan.result) <= plan.half_width).all(), (slid, plan.result, plan.half_width)
    # The tool stopped where it hit, and did not follow.
    assert np.linalg.norm(run.tool_position[-1, 0] - run.field.arms[0].impact_position) < 0.04


def test_a_grasp_is_aimed_at_the_mean_of_either_palm_being_first():
    task = scene("dual_arm_grab", yaw=0.05)
    wanted = (0.0, 0.03, 0.1)
    plan = ia.plan_hit(task, ia.WantedResult(velocity=wanted), SURE)
    left, right = (hit.velocity for hit in plan.hits)
    assert not plan.reason and left[1] < 0.0 < right[1] and not plan.task.fields.release
    robots = robots_of_task(task)
    weighing, q = IMPACT_TIME * task.arms[0].pad_time_constant, np.concatenate(postures_of(plan))
    after = predict_grasp(plan.task, robots, ia.make_field(plan.task, robots), q, weighing=weighing)
    # The object is at its place in every world here: what is left is the turn of its faces, of a twentieth of a radian.
    np.testing.assert_allclose(after, wanted, atol=0.01)
    assert plan.loads[0].where.split()[0] in ("left", "right")


def test_two_arms_hold_a_light_parcel_in_the_postures_that_are_planned():
    task = ia.load_task("dual_arm_grab").with_object("parcel")
    plan = ia.plan_hit(task, ia.WantedResult(velocity=(0.0, 0.034, 0.045)))
    run = ia.run_episode(plan.task, EpisodeSettings(joint_stiffness=STIFFNESS, duration=5.0, settle_time=0.1), 1)
    # Each palm hits once, and neither leaves the parcel again.
    assert run.safe_reason is None and len(run.impacts) == 2 and run.goal_error < 0.02


def test_a_slide_is_the_way_that_friction_leaves():
    known = ia.HitUncertainty(carry_time=0.02, carry_spread=0.0)
    speed = speed_for_slide(0.3, 0.25, 0.02)
    assert speed * 0.02 + speed**2 / (2.0 * 0.25 * 9.81) == pytest.approx(0.3)
    task = scene(friction_table=0.25)
    way = results(task, "slide", speed * np.array([[0.6, -0.8, 0.0]]), known, np.zeros((1, CARRY + 1)))
    np.testing.assert_allclose(way, [[0.18, -0.24]], atol=1e-12)


def test_uncertainty_widens_the_interval_and_lowers_the_probability():
    task, wanted = scene(), ia.WantedResult(slide=(0.0, -0.03))
    exact, usual, rough = (
        ia.plan_hit(task, wanted, known)
        for known in (SURE, dataclasses.replace(SURE, friction=0.05), dataclasses.replace(SURE, friction=0.2))
    )
    assert exact.probability == 1.0 and (exact.half_width < 1e-9).all()
    # Two standard deviations of a coefficient off by 5 % are a way off by a tenth, less the part without friction.
    assert 0.06 < np.linalg.norm(usual.half_width) / 0.03 < 0.16
    assert exact.probability >= usual.probability > rough.probability
    pads = ia.plan_hit(task, wanted, dataclasses.replace(SURE, material="any"))
    assert np.linalg.norm(pads.half_width) > 0.01 * 0.03


@pytest.mark.parametrize(
    "alone",
    [
        {"mass": 0.05}, {"friction": 0.05}, {"inertia": 0.1}, {"point": 0.004}, {"normal": 0.03}, {"law": 0.03},
        {"carry_spread": 0.005},
    ],
    ids=lambda alone: next(iter(alone)),
)  # fmt: skip
def test_each_input_that_is_uncertain_widens_the_interval(alone):
    plan = ia.plan_hit(scene(), ia.WantedResult(slide=(0.01, -0.03)), dataclasses.replace(SURE, **alone))
    # Least of all the yaw: a palm that sticks takes the object along whichever way its face looks.
    assert np.linalg.norm(plan.half_width) > 1e-4 * np.hypot(0.01, 0.03)


def test_either_of_two_palms_is_first_in_one_of_the_stated_worlds():
    task = ia.load_task("dual_arm_grab")
    state = hit_state(task, robots_of_task(task))
    known = dataclasses.replace(SURE, point=0.002)
    left, right = state.velocities(known, state.stated) @ state.field.arms[0].normal
    # The first palm sets the object moving away from itself.
    assert left < -0.01 < 0.01 < right
    assert (state.stated[0] == -state.stated[1]).all()


@pytest.mark.parametrize("limit", [{"impact_energy": 0.2}, {"velocity_jump": 0.15}, {"tool_speed": 0.4}])
def test_a_hit_beyond_a_limit_is_refused_with_the_nearest_one(limit):
    (name,), robots = limit, [robot_with(**limit)]
    plan = ia.plan_hit(scene(), ia.WantedResult(velocity=(0.0, -0.45, 0.0)), robots=robots)
    assert name in plan.reason
    # The nearest one uses nearly all of the limit, and is a plan of its own.
    assert plan.loads[0].name == name and 0.85 < plan.loads[0].share <= 1.0
    assert 0.05 < np.linalg.norm(plan.result) < 0.44 and plan.wanted.velocity[1] > -0.44


def test_two_arms_are_not_held_far_out():
    task = scene("dual_arm_grab")
    found = candidates(task, robots_of_task(task), np.array([0.0, 0.0, 0.1]))
    angles = [[arm.null_space_position for arm in own.task.arms] for own in found]
    usual = [arm.null_space_position for arm in task.arms]
    assert 0.5 < np.abs(np.subtract(angles, usual)).max() <= HELD


@pytest.mark.parametrize("weak", [0, 1])
def test_each_of_two_arms_keeps_its_own_limits(weak):
    robots = [robot_with(), robot_with()]
    robots[weak] = robot_with(impact_energy=0.05)
    with pytest.raises(ia.InvalidInputError, match=f"impact_energy of {('left', 'right')[weak]}"):
        ia.plan_hit(scene("dual_arm_grab"), ia.WantedResult(velocity=(0.0, 0.0, 0.08)), robots=robots)


def test_a_goal_alone_leaves_the_speed_free():
    robots = [robot_with(tool_speed=0.3)]
    plan = ia.plan_hit(scene(), ia.WantedResult(goal=(0.47, -0.45, 0.30)), robots=robots)
    assert not plan.reason and np.linalg.norm(plan.hits[0].velocity) <= 0.3 and plan.task.goal == (0.47, -0.45, 0.30)
    assert not plan.task.fields.release


def test_a_direction_that_friction_passes_on_in_no_way_is_turned_to_the_nearest():
    task = scene("hit_and_push", friction_tool=0.3)
    plan = ia.plan_hit(task, ia.WantedResult(slide=(0.02, -0.03)))
    angle = np.arctan2(plan.wanted.slide[0], -plan.wanted.slide[1])
    assert "friction" in plan.reason and 0.0 < angle <= np.arctan(0.3) + 1e-9
    assert np.linalg.norm(plan.wanted.slide) == pytest.approx(np.hypot(0.02, 0.03), rel=1e-6)
    place = np.array(task.object.position)
    goal = ia.plan_hit(task, ia.WantedResult(goal=tuple(place + [0.12, -0.18, 0.0]))).wanted.goal
    assert np.linalg.norm(goal - place) == pytest.approx(np.hypot(0.12, 0.18), rel=1e-6)
    nearest = passed_on(task, np.array([0.3, -0.4, 0.0]))[0]
    assert np.arctan2(nearest[0], -nearest[1]) == pytest.approx(0.95 * np.arctan(0.3))


@pytest.mark.parametrize(
    ("name", "velocity"), [("hit_and_push_palm", (0.15, -0.45, 0.0)), ("dual_arm_grab", (0.0, 0.0, 0.1))]
)
def test_the_field_leads_from_the_start_to_the_point_that_is_hit(name, velocity):
    """One tool meets it; two palms come from the side, and meet the object with the point still under their faces."""
    plan = ia.plan_hit(scene(name), ia.WantedResult(velocity=velocity), SURE)
    robots = robots_of_task(plan.task)
    off = min(plan.task.arms[0].pad_half_sizes[:2]) if plan.task.lifts else 2e-3
    for task in (plan.task, started(plan.task, robots, SHORTER[-1])):
        reference = ia.make_field(task, robots, whole_motion=False)
        for index, own in enumerate(reference.arms):
            ante, position, time = reference.ante_impact(index), np.array(task.arms[index].starts[0]), 0.0
            while own.normal @ (position - own.impact_position) > 0.0 and time < 3.0:
                reached = ante.evaluate(position, np.eye(3), time)[0][:3]
                position, time = position + 1e-3 * reached, time + 1e-3
            np.testing.assert_allclose(position, own.impact_position, atol=off)
            # The ramp of the start is over: a shorter way is no slower hit.
            np.testing.assert_allclose(reached, own.impact_velocity, atol=1e-6)


def test_two_tools_of_different_speeds_take_as_long_and_the_slower_one_has_its_way():
    task = ia.load_task("dual_arm_grab")
    arms = (task.arms[0], dataclasses.replace(task.arms[1], impact_velocity=(0.0, 0.15, 0.06)))
    begun = started(dataclasses.replace(task, arms=arms), robots := robots_of_task(task), 1.0)
    hits = [hit_of(begun.object, arm) for arm in begun.arms]
    touched = [hit.point + robot.tool_radius * hit.normal for hit, robot in zip(hits, robots, strict=True)]
    ways = np.linalg.norm(np.array([arm.starts[0] for arm in begun.arms]) - touched, axis=1)
    times = ways / [np.linalg.norm(hit.velocity) for hit in hits]
    assert times[0] == pytest.approx(times[1]) and ways.min() == pytest.approx(APPROACH)


@pytest.mark.parametrize("yaw", [0.0, 0.4, -0.3])
def test_an_aimed_hit_has_its_velocity_through_the_centre(yaw):
    task, velocity = scene(yaw=yaw), np.array([0.12, -0.4, 0.0])
    hit = hit_of(task.object, aimed(task.object, task.arms[0], velocity))
    np.testing.assert_allclose(hit.velocity, velocity, atol=1e-9)
    away = hit.point - task.object.position
    np.testing.assert_allclose(np.cross(away, velocity)[2], 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "result", "words"),
    [
        ("dual_arm_grab", {"slide": (0.0, 0.1)}, "result.slide"),
        ("hit_and_push_palm", {"velocity": (0.0, -0.2, 0.1)}, "one arm lifts nothing"),
        ("hit_and_push_palm", {"goal": (0.45, -0.1, 0.3)}, "to the side of the object"),
        ("dual_arm_grab", {"goal": (0.55, 0.0, 0.35)}, "or above it"),
        ("hit_and_push_palm", {"goal": (0.45, -0.3, 0.6)}, "result.goal"),
        ("dual_arm_grab", {"velocity": (0.0, 0.0, -0.1)}, "into the table"),
        # What is no result of any task.
        ("hit_and_push_palm", {}, "nothing, expected one of velocity, slide and goal"),
        ("hit_and_push_palm", {"slide": (0.1, 0.0), "goal": (0.4, 0.0, 0.1)}, "slide, goal, expected one of velocity"),
        ("hit_and_push_palm", {"slide": (0.0, 0.0)}, "result.slide: .*a direction and a size"),
        ("hit_and_push_palm", {"velocity": (0.0, 7.0, 0.0)}, "velocity: got 7.0, expected a number >= -5"),
        ("hit_and_push_palm", {"slide": (0.1, 0.0), "tolerance": 0.0}, "tolerance"),
    ],
)
def test_a_result_that_no_hit_of_the_task_has_is_refused(name, result, words):
    with pytest.raises(ia.InvalidInputError, match=words):
        ia.plan_hit(scene(name), ia.WantedResult(**result))


@pytest.mark.parametrize(
    ("change", "result", "words"),
    [
        ({"friction_table": 0.0}, {"slide": (0.0, -0.03)}, "friction_table"),
        ({"friction_table": 0.0}, {"velocity": (0.0, -0.3, 0.0)}, "friction_table"),
        ({"shift": (1.5, 0.0, 0.0)}, {"velocity": (0.0, -0.3, 0.0)}, "within reach"),
    ],
)
def test_an_object_that_never_stops_or_is_out_of_reach_is_refused(change, result, words):
    with pytest.raises(ia.InvalidInputError, match=words):
        ia.plan_hit(scene(**change), ia.WantedResult(**result))


def test_a_lift_that_is_too_steep_for_the_palms_is_refused_with_a_slower_one():
    plan = ia.plan_hit(scene("dual_arm_grab"), ia.WantedResult(velocity=(0.0, 0.0, 3.0)))
    assert "stay on their faces" in plan.reason and 0.02 < plan.wanted.velocity[2] < 0.6


@pytest.mark.parametrize(
    ("name", "velocity", "most"),
    [
        ("hit_and_push_palm", (0.05, -0.3, 0.0), 420),
        ("dual_arm_grab", (0.0, 0.02, 0.08), 460),
        ("hit_and_push_can", (0.2, -0.9, 0.0), 150),
    ],
)
def test_a_plan_takes_few_predictions_even_where_the_result_is_infeasible(monkeypatch, name, velocity, most):
    calls, predict = [], outcome_module.predict_simultaneous
    monkeypatch.setattr(outcome_module, "predict_simultaneous", lambda *a, **k: calls.append(1) or predict(*a, **k))
    ia.plan_hit(ia.load_task(name), ia.WantedResult(velocity=velocity))
    assert 80 < len(calls) <= most


def test_the_nearest_feasible_result_is_near_the_limit_and_a_little_more_is_refused():
    task, wanted = ia.load_task("hit_and_push_can"), (0.1, -1.0, 0.0)
    nearest = ia.plan_hit(task, ia.WantedResult(velocity=wanted))
    more = tuple(1.08 * number for number in nearest.wanted.velocity)
    assert nearest.reason and ia.plan_hit(task, ia.WantedResult(velocity=more)).reason
    same = ia.plan_hit(task, ia.WantedResult(velocity=nearest.wanted.velocity))
    assert not same.reason and same.wanted.velocity == nearest.wanted.velocity
