"""An intended impact is refused when it is too much for the arm, by the number that is wrong."""

import dataclasses

import numpy as np
import pytest

from impact_aware.control.safety import impact_check
from impact_aware.control.safety.impact_check import check_field, check_impact, check_prediction, expected_impact
from impact_aware.errors import InvalidInputError
from impact_aware.experiments.episode import EpisodeSettings, run_episode
from impact_aware.impact.material import ANY_PADS, RIGID_PADS
from impact_aware.robot import RobotModel
from impact_aware.robot.safety_limits import SafetyLimits
from impact_aware.task import base_placement, load_task, make_field

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
FIELD = make_field(TASK, [ROBOT])


def test_the_energy_is_that_of_the_effective_mass():
    impact = expected_impact(FIELD, ROBOT)
    rows = ROBOT.frame_jacobian(impact.posture)[:3].T @ FIELD.arms[0].normal
    # The contact point is the tip's surface, 30 mm along the normal: without rotation it moves as its centre does.
    assert impact.normal_speed == pytest.approx(0.5, abs=1e-9)
    assert impact.energy == pytest.approx(0.5 * impact.effective_mass * 0.25, rel=1e-9)
    mass = 1.0 / (rows @ np.linalg.solve(ROBOT.mass_matrix(impact.posture), rows))
    # The tip turns with the arm's links, which makes the centre's mass another than the surface point's.
    assert impact.effective_mass == pytest.approx(mass, rel=0.3)


def test_momentum_along_the_normal_goes_to_the_object():
    impact = expected_impact(FIELD, ROBOT)
    # Inelastic impact with a box at rest, hit through its middle: both move on with one speed.
    common = impact.effective_mass * 0.5 / (impact.effective_mass + FIELD.object_mass)
    after = ROBOT.frame_jacobian(impact.posture) @ impact.velocity_after
    place = -FIELD.arms[0].normal * ROBOT.tool_radius
    surface = after[:3] + np.cross(after[3:], place)
    assert -surface @ FIELD.arms[0].normal == pytest.approx(common, rel=1e-6)


@pytest.mark.parametrize("name", ["hit_and_push", "hit_and_push_palm", "hit_and_push_can", "hit_and_push_wedge"])
def test_the_jump_is_that_of_a_simulated_hit(name):
    """By MuJoCo, which a tip, a palm and a can's line meet with their objects on the table."""
    task = load_task(name)
    field = make_field(task, [ROBOT])
    expected = expected_impact(field, ROBOT, posture=np.array(task.arms[0].posture), task=task)
    hit = run_episode(task, EpisodeSettings(duration=1.1)).impacts[0]
    jump = hit.velocity_after - hit.velocity_before
    assert np.linalg.norm(expected.jump - jump) < 0.1 * np.linalg.norm(jump)
    joint_impulse = ROBOT.mass_matrix(hit.q, "M+B_theta") @ jump
    assert np.linalg.norm(expected.joint_impulse - joint_impulse) < 0.1 * np.linalg.norm(joint_impulse)


def test_arms_that_hit_together_are_checked_together_too():
    """Palms that clamp a box stop each other; one alone drives it before itself."""
    task = load_task("dual_arm_grab")
    robots, bases = [ROBOT, ROBOT], [base_placement(arm) for arm in task.arms]
    given = {"bases": bases, "postures": [np.array(arm.posture) for arm in task.arms], "task": task}
    field = make_field(task, robots)
    largest = max(np.abs(impact.jump).max() for impact in check_field(field, robots, **given))
    limits = [SafetyLimits.of(ROBOT, velocity_jump=1.1 * largest)] * 2
    with pytest.raises(InvalidInputError, match="velocity_jump"):
        check_field(field, robots, limits=limits, **given)


@pytest.mark.parametrize("name", ["hit_and_push", "dual_arm_grab"])
def test_the_shipped_tasks_pass(name):
    task = load_task(name)
    robots = [ROBOT] * len(task.arms)
    postures = [np.array(arm.posture) if arm.posture else ROBOT.home for arm in task.arms]
    bases = [base_placement(arm) for arm in task.arms]
    impacts = check_field(make_field(task, robots), robots, bases=bases, postures=postures, task=task)
    assert all(0.1 < impact.energy < 1.0 for impact in impacts)


def test_pads_of_any_material_are_checked_at_their_worst_end():
    task = load_task("hit_and_push_palm")
    field, posture = make_field(task, [ROBOT]), np.array(task.arms[0].posture)
    rigid, pads = (expected_impact(field, ROBOT, posture=posture, task=task, pads=p) for p in (RIGID_PADS, ANY_PADS))
    assert not rigid.half_width.any() and (pads.half_width > 0.0).all()
    own = np.abs(pads.jump)
    joint = int(np.argmax(pads.half_width))
    for farther, fails in ((0.9, True), (1.1, False)):
        bound = np.full(7, 100.0)
        bound[joint] = own[joint] + farther * pads.half_width[joint]
        limits = SafetyLimits.of(ROBOT, velocity_jump=bound)
        check_impact(dataclasses.replace(pads, half_width=np.zeros(7)), ROBOT, limits)
        how = {"limits": [limits], "postures": [posture], "task": task, "pads": ANY_PADS}
        if fails:
            with pytest.raises(InvalidInputError, match="velocity_jump"):
                check_field(field, [ROBOT], **how)
        else:
            check_field(field, [ROBOT], **how)
    # What the contact does to each joint is at its worst end too.
    inertia = ROBOT.mass_matrix(pads.posture)
    assert (np.abs(pads.joint_impulse) >= np.abs(inertia @ pads.jump)).all()
    assert np.abs(pads.joint_impulse).max() > 1.01 * np.abs(inertia @ pads.jump).max()


def test_velocity_limits_and_reflexes_see_the_worst_end(monkeypatch):
    impact, width, seen = expected_impact(FIELD, ROBOT), np.zeros(7), []
    free = ROBOT.limits.velocity - np.abs(impact.velocity_after)
    monkeypatch.setattr(impact_check, "check_reflexes", lambda worst, *_: seen.append(worst.velocity_after))
    limits = SafetyLimits.of(ROBOT, velocity_jump=100.0, sensor_torque=np.full(7, 87.0))
    width[2] = 0.99 * free[2]
    check_impact(dataclasses.replace(impact, half_width=width), ROBOT, limits)
    np.testing.assert_allclose(seen[0], impact.velocity_after + np.sign(impact.jump) * width)
    width[2] = 1.01 * free[2]
    with pytest.raises(InvalidInputError, match="panda_joint3 would be thrown .*its velocity limit"):
        check_impact(dataclasses.replace(impact, half_width=width), ROBOT, limits)


@pytest.mark.parametrize("limit", [{"impact_energy": 0.2}, {"velocity_jump": 0.3}])
def test_an_impact_over_a_limit_is_refused_with_the_speed_that_would_do(limit):
    limits = SafetyLimits.of(ROBOT, **limit)
    with pytest.raises(InvalidInputError, match=next(iter(limit))) as refusal:
        check_field(FIELD, [ROBOT], limits=[limits])
    allowed = float(refusal.value.expected.split()[-2])
    assert 0.0 < allowed < 0.5
    check_field(make_field(TASK.with_impact_speed(0.99 * allowed), [ROBOT]), [ROBOT], limits=[limits])
    with pytest.raises(InvalidInputError, match=next(iter(limit))):
        check_field(make_field(TASK.with_impact_speed(1.02 * allowed), [ROBOT]), [ROBOT], limits=[limits])


@pytest.mark.parametrize("second", [0, 1])
def test_each_of_two_arms_on_turned_bases_is_checked_by_its_own_limits(second):
    """Each base is turned about its vertical; the arm's first joint makes up for it."""
    task = load_task("dual_arm_grab")
    arms = [
        dataclasses.replace(
            arm,
            base_yaw=yaw,
            posture=(arm.posture[0] - yaw, *arm.posture[1:]),
            null_space_position=arm.null_space_position - yaw,
        )
        for arm, yaw in zip(task.arms, (0.4, -0.7), strict=True)
    ]
    task, robots = dataclasses.replace(task, arms=tuple(arms)), [ROBOT, ROBOT]
    field, bases = make_field(task, robots), [base_placement(arm) for arm in task.arms]
    postures = [np.array(arm.posture) for arm in task.arms]
    impacts = check_field(field, robots, bases=bases, postures=postures)
    for index, impact in enumerate(impacts):
        tool = ROBOT.frame_jacobian(impact.posture) @ impact.velocity_before
        assert impact.velocity_before[field.arms[index].null_space_joint] == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(bases[index].rotation @ tool[:3], field.arms[index].impact_velocity, atol=1e-9)
        speed = -float(field.arms[index].normal @ field.arms[index].impact_velocity)
        assert impact.normal_speed == pytest.approx(speed, abs=0.02)
        place = bases[index].act(ROBOT.placement(impact.posture).translation)
        np.testing.assert_allclose(place, field.arms[index].impact_position, atol=1e-4)
    # Where no joint is held the posture that is given decides.
    free = dataclasses.replace(field, arms=tuple(dataclasses.replace(own, null_space_joint=-1) for own in field.arms))
    own = expected_impact(free, ROBOT, second, base=bases[second], posture=postures[second]).posture
    found = check_field(free, robots, bases=bases, postures=postures)[second].posture
    np.testing.assert_allclose(found, own, atol=1e-9)
    for share, refused in ((0.99, True), (1.01, False)):
        limits = [SafetyLimits.of(ROBOT, impact_energy=100.0), SafetyLimits.of(ROBOT, impact_energy=100.0)]
        limits[second] = SafetyLimits.of(ROBOT, impact_energy=share * impacts[second].energy)
        if refused:
            with pytest.raises(InvalidInputError, match=task.arms[second].name):
                check_field(field, robots, bases=bases, postures=postures, limits=limits)
        else:
            check_field(field, robots, bases=bases, postures=postures, limits=limits)


@pytest.mark.parametrize("velocity", [[np.nan, 0.0, 0.0], [0.0, -np.inf, 0.0], [0.0, -1.1, 0.0]])
def test_a_prediction_that_no_impact_can_lead_to_is_refused(velocity):
    with pytest.raises(InvalidInputError, match="object_velocity_after"):
        check_prediction(FIELD, velocity)


def test_an_object_that_moves_is_hit_as_fast_relative_to_it():
    velocity = np.array([0.1, 0.15, 0.0])
    moving = dataclasses.replace(FIELD, object_velocity=velocity)
    still, carried = expected_impact(FIELD, ROBOT), expected_impact(moving, ROBOT)
    assert carried.energy == pytest.approx(still.energy, rel=1e-9)
    tool = ROBOT.frame_jacobian(carried.posture) @ carried.velocity_before
    np.testing.assert_allclose(tool[:3], FIELD.arms[0].impact_velocity + velocity, atol=1e-9)
    np.testing.assert_allclose(carried.jump, still.jump, atol=1e-6)
    # Twice the tool's speed, and what it had before.
    check_prediction(moving, [0.0, -1.15, 0.0])
    with pytest.raises(InvalidInputError, match="object_velocity_after"):
        check_prediction(FIELD, [0.0, -1.15, 0.0])


def test_an_impact_without_speed_passes_with_the_range_of_the_torque_sensors():
    """An object that moves away as fast as the tool comes: nothing is divided by the speed."""
    still = np.zeros(7)
    impact = expected_impact(FIELD, ROBOT)
    impact = dataclasses.replace(
        impact, normal_speed=0.0, energy=0.0, velocity_before=still, velocity_after=still, joint_impulse=still
    )
    for torque in (np.full(7, 87.0), np.full(7, np.inf)):
        limits = SafetyLimits.of(ROBOT, sensor_torque=torque)
        check_impact(impact, ROBOT, limits)
        loads = impact_check.impact_loads(impact, ROBOT, limits)
        assert all(load.share == 0.0 and load.headroom > 1e5 for load in loads)
