"""From one found impact to its explanation: which source tells what, and what the figures are made of."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from impact_aware.contact.geometry import Contact, contact_jacobian
from impact_aware.estimation import estimate
from impact_aware.impact.predictor import predict
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.recordings.ablation import ablate, group
from impact_aware.recordings.arm_samples import ArmSamples
from impact_aware.recordings.arm_selection import ArmSource
from impact_aware.recordings.event_cause import largest_jump
from impact_aware.recordings.impact_explanation import explain
from impact_aware.recordings.impact_finder import Find
from impact_aware.recordings.impact_fit import BEFORE as BEFORE_FITS
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.recordings.results import ArmAnalysis
from impact_aware.recordings.surface import Surface, normal_from_jump
from impact_aware.recordings.surroundings import Surroundings
from impact_aware.records import ContactImpulse, Impact, ImpactEvent
from impact_aware.robot import RobotModel

TIME = 3.0
NORMAL = np.array([0.0, 0.6, 0.8])
BEFORE = np.array([0.3, -0.25, 0.4, -0.3, 0.5, 0.35, -0.6])


@pytest.fixture(scope="module")
def robot():
    return RobotModel.from_profile("kuka_lwr4")


@pytest.fixture(scope="module")
def truth(robot):
    """The jump of an inelastic impact at the tool with the normal (0, 0.6, 0.8)."""
    contact = Contact(robot.tool_frame, NORMAL, friction=0.2, restitution=0.1, radius=robot.tool_radius)
    velocity = BEFORE if NORMAL @ robot.frame_jacobian(robot.home)[:3] @ BEFORE < 0.0 else -BEFORE
    return predict(robot, robot.home, velocity, contact)


def found_impact(robot, truth, *, time=TIME, names=("slow",), window=None):
    times = TIME + 1e-3 * (np.arange(-250, 350) + 0.5)
    since = (times - TIME)[:, None]
    positions = robot.home + np.where(since < 0.0, truth.velocity_before * since, truth.velocity_after * since)
    event = ImpactEvent(
        time=time, time_detected=TIME + 0.0035, time_std=1e-4, detector=names[0], joint=2, position=robot.home + 0.1,
        velocity_before=truth.velocity_before + 0.05, velocity_after=None, residual=np.arange(7.0), confidence=0.9,
    )  # fmt: skip
    return Find(time, 1e-4, None, names, event, window or ArmSamples(times, positions))


@pytest.fixture(scope="module")
def explained(robot, truth):
    found = found_impact(robot, truth)

    def run(around=None, found=found, source=None, previous=None, following=None, **chosen):
        options = AnalysisOptions(**{"estimator": "parabola", "ablation": False, **chosen})
        arm = source or ArmSource("left", "/left/joint_states", robot.joint_names, robot)
        return explain(
            found, arm, options, around or Surroundings(), file=Path("one"), index=4, label="hard", previous=previous,
            following=following,
        )  # fmt: skip

    return run


def recorded(robot, jump=(1.0,) * 7, frame=None, joint_names=None):
    """A live prediction at the impact with its topic; the object of 1.75 kg leaves at 1 m/s."""
    contact = ContactImpulse(
        frame=frame or robot.base_frame, normal=np.array([0.0, 0.0, 2.0]), friction=0.55, restitution=0.35,
        impulse=np.array([0.0, 0.0, 1.75]),
    )  # fmt: skip
    made = Impact(
        source="at_impact", time=TIME, arm="left", joint_names=joint_names or robot.joint_names,
        velocity_before=np.zeros(7), velocity_after=np.array(jump), contacts=(contact,), object="box",
        object_position=np.array([0.5, 0.1, 0.2]), object_twist_after=np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]),
    )  # fmt: skip
    return "/left/predicted_jumps", made


def test_the_cause_names_the_joint_whose_estimated_jump_is_the_largest(explained, robot, truth):
    names, first = robot.joint_names, SimpleNamespace(jump=0.09 * np.eye(7)[1], jump_std=np.full(7, 0.03))
    evidence = f"{largest_jump(names, first.jump, first.jump_std)}: certain"
    found = replace(
        found_impact(robot, truth), candidate=SimpleNamespace(unexplained=None, strongest=first), evidence=evidence
    )
    jump = truth.velocity_after - truth.velocity_before
    joint = int(np.abs(jump).argmax())
    assert joint != 1
    expected = f"the velocity of {names[joint]} jumps by {jump[joint]:.2f} +- 0.01 rad/s: certain"
    assert explained(found=found).evidence == expected
    # What torques leave unexplained is no jump of the joints.
    soft = replace(found, candidate=SimpleNamespace(unexplained=first, strongest=first))
    assert explained(found=soft).evidence == evidence


def test_what_comes_from_the_impact_stays_what_it_is(explained):
    impact = explained(normal=(0.0, 0.6, 0.8))
    assert (impact.arm, impact.index, impact.file, impact.label) == ("left", 4, Path("one"), "hard")
    assert (impact.time, impact.detectors, impact.event.joint) == (TIME, ("slow",), 2)
    assert len(impact.window.times) == 600


def test_position_and_velocities_come_from_the_samples_around(explained, robot, truth):
    impact = explained(normal=(0.0, 0.6, 0.8), friction=0.2, restitution=0.1)
    np.testing.assert_allclose(impact.position, robot.home, atol=1e-3)
    np.testing.assert_allclose(impact.velocity_before, truth.velocity_before, atol=1e-6)
    np.testing.assert_allclose(impact.velocity_after_estimated, truth.velocity_after, atol=1e-6)
    # Half a millisecond of motion between the samples lies in the posture.
    np.testing.assert_allclose(impact.velocity_after_predicted, truth.velocity_after, atol=2e-3)
    np.testing.assert_allclose(impact.impulse_estimated, truth.impulse, atol=2e-3)
    assert impact.verdict.error < 5e-3 and impact.assumed == ("a fixed surface",)
    assert (impact.normal_source, impact.prediction.mode) == ("option", truth.mode)
    contact = impact.prediction.contact
    jacobian = contact_jacobian(robot, impact.position, contact)
    np.testing.assert_allclose(impact.contact_velocity(impact.velocity_before), jacobian @ impact.velocity_before)
    spread = predict_with_covariance(
        robot, impact.position, impact.velocity_before, contact,
        InputCovariance(velocity=impact.velocity_before_error**2),
    )  # fmt: skip
    np.testing.assert_allclose(impact.prediction_std**2, np.diag(spread.velocity_after_covariance), atol=1e-15)


def test_samples_of_other_impacts_are_not_used(explained, robot, truth):
    found = found_impact(robot, truth)
    window = found.window
    bent = window.positions + np.where(window.times < TIME - 0.03, 0.3, 0.0)[:, None]
    bent += np.where(window.times > TIME + 0.06, -0.2, 0.0)[:, None]
    spoilt = found_impact(robot, truth, window=ArmSamples(window.times, bent))
    impact = explained(found=spoilt, previous=TIME - 0.03, following=TIME + 0.06)
    np.testing.assert_allclose(impact.velocity_before, truth.velocity_before, atol=1e-6)
    np.testing.assert_allclose(impact.velocity_after_estimated, truth.velocity_after, atol=1e-6)
    assert np.abs(explained(found=spoilt).velocity_before - truth.velocity_before).max() > 0.1


def test_without_enough_samples_the_detector_tells_the_velocity_before(explained, robot, truth):
    found = found_impact(robot, truth)
    few = slice(248, 253)
    window = ArmSamples(found.window.times[few], found.window.positions[few])
    impact = explained(found=found_impact(robot, truth, window=window), normal=(0.0, 0.6, 0.8))
    assert impact.estimate is None and impact.verdict.error is None
    np.testing.assert_array_equal(impact.velocity_before, found.event.velocity_before)
    assert np.isnan(impact.velocity_before_error).all() and not impact.prediction_std.any()
    assert impact.notes[0].startswith("no estimate of the velocity after, and the velocity before is the detector's")
    none = ArmSamples(np.zeros(0), np.zeros((0, 7)))
    np.testing.assert_array_equal(
        explained(found=found_impact(robot, truth, window=none)).position, found.event.position
    )


def test_without_a_robot_there_is_an_estimate_but_no_prediction(explained, robot):
    impact = explained(source=ArmSource("left", "", robot.joint_names))
    assert impact.estimate is not None and impact.prediction is None and impact.contact_frame == ""
    assert impact.contact_velocity(impact.velocity_before) is None and impact.impulse_estimated is None


def test_options_go_before_the_surface_and_that_before_what_was_recorded(explained, robot):
    surface = Surface(np.array([0.0, 1.0, 0.0]), friction=0.45, restitution=None)
    live = recorded(robot)
    around = Surroundings(surface=surface, predictions=(live,), predicts=True)
    first = explained(around, friction=0.15, restitution=0.25, object_mass=0.5, contact_frame="tool").prediction
    assert (first.contact.friction, first.contact.restitution, first.contact.frame) == (0.15, 0.25, "tool")
    assert first.obstacle.mass == 0.5 and first.contact.radius == robot.tool_radius
    impact = explained(around)
    contact = impact.prediction.contact
    assert (contact.friction, contact.restitution, impact.normal_source) == (0.45, 0.35, "config")
    np.testing.assert_allclose(contact.normal, [0.0, 1.0, 0.0])
    assert impact.assumed == ()
    # What a surface file leaves open is assumed.
    alone = explained(Surroundings(surface=surface), contact_frame="tool")
    assert alone.assumed == ("restitution 0",)
    bare = explained(Surroundings(surface=Surface(np.array([0.0, 0.6, 0.8]))), contact_frame="tool", restitution=0.1)
    assert bare.assumed == ("friction 0",)
    # Another frame than the tool's has no tip.
    assert (contact.frame, contact.radius, impact.contact_frame) == (robot.base_frame, 0.0, robot.base_frame)
    assert impact.prediction.obstacle.mass == 1.75
    np.testing.assert_allclose(impact.prediction.obstacle.position, [0.5, 0.1, 0.2])
    last = explained(Surroundings(predictions=(live,), predicts=True))
    assert (last.normal_source, last.prediction.contact.friction) == ("prediction", 0.55)
    np.testing.assert_allclose(last.prediction.contact.normal, [0.0, 0.0, 1.0])
    unknown = explained(Surroundings(predictions=(recorded(robot, frame="elbow_9"),), predicts=True))
    assert unknown.contact_frame == robot.tool_frame
    bare = explained(normal=(0.0, 0.6, 0.8), tool_radius=0.07, offset=(0.01, 0.02, 0.03)).prediction
    assert (bare.contact.friction, bare.contact.restitution, bare.obstacle) == (0.0, 0.0, None)
    assert bare.contact.radius == 0.07 and bare.contact.offset.tolist() == [0.01, 0.02, 0.03]
    other = explained(normal=(0.0, 0.6, 0.8), inertia="M", method="coulomb-newton").prediction
    assert (other.method, other.inertia) == ("coulomb-newton", "M")


def test_an_object_of_unknown_position_is_behind_the_contact(explained):
    prediction = explained(normal=(0.0, 0.6, 0.8), object_mass=2.0).prediction
    np.testing.assert_allclose(prediction.obstacle.position, prediction.point - 0.1 * NORMAL)


def test_the_normal_from_the_jump_is_that_of_a_frictionless_impact(robot, explained, truth):
    smooth = predict(robot, robot.home, truth.velocity_before, replace(truth.contact, friction=0.0))
    found = normal_from_jump(robot, robot.home, smooth.jump, replace(truth.contact, normal=np.array([0, 0, 1.0])), "M")
    assert found @ NORMAL > 0.9
    exact = normal_from_jump(
        robot, robot.home, smooth.jump, replace(truth.contact, normal=np.array([0, 0, 1.0])), "M+B_theta"
    )
    # The contact point on the tip moves with the normal; of the 37 degrees at the start two steps leave a third of one.
    np.testing.assert_allclose(exact, NORMAL, atol=7e-3)
    assert normal_from_jump(robot, robot.home, np.zeros(7), truth.contact, "M") is None
    impact = explained(found=found_impact(robot, smooth))
    assert impact.normal_source == "jump" and "estimated from the jump itself" in impact.notes[-1]
    np.testing.assert_allclose(impact.prediction.contact.normal, NORMAL, atol=7e-3)
    still = explained(found=found_impact(robot, truth._replace(velocity_after=truth.velocity_before)))
    assert still.prediction is None


def test_a_contact_that_leaves_is_noted(explained):
    impact = explained(normal=(0.0, -0.6, -0.8))
    assert impact.prediction.mode == "separate"
    assert "does not approach along the normal" in impact.notes[-1]
    np.testing.assert_array_equal(impact.velocity_after_predicted, impact.velocity_before)


def test_impacts_that_nothing_announced_are_unexpected_where_predictions_run(explained, robot, truth):
    assert explained().expected is None
    assert explained(Surroundings(predicts=True)).expected is False
    live = recorded(robot, jump=truth.jump)
    assert explained(Surroundings(predictions=(live,), predicts=True)).expected is True
    order = [3, 1, 0, 2, 6, 5, 4]
    names = tuple(robot.joint_names[index] for index in order)
    mixed = recorded(robot, truth.jump[order], joint_names=names)
    assert explained(Surroundings(predictions=(mixed,), predicts=True)).expected is True
    other = recorded(robot, truth.jump[order])
    assert explained(Surroundings(predictions=(other,), predicts=True)).expected is False
    silent = recorded(robot, np.zeros(7))
    assert explained(Surroundings(predictions=(silent,), predicts=True)).expected is None


def test_every_inertia_with_and_without_friction(explained, robot):
    impact = explained(normal=(0.0, 0.6, 0.8), friction=0.2, object_mass=1.5, method="coulomb-newton", restitution=0.3)
    rows = {(row.inertia, row.friction): row for row in ablate(robot, impact)}
    assert list(rows) == [(inertia, mu) for inertia in ("M", "M+B_theta", "M+B_rho") for mu in (0.2, 0.0)]
    for (inertia, mu), row in rows.items():
        made = impact.prediction
        contact = replace(made.contact, friction=mu)
        after = predict(
            robot, impact.position, impact.velocity_before, contact, obstacle=made.obstacle, method="coulomb-newton",
            inertia=inertia,
        ).velocity_after  # fmt: skip
        np.testing.assert_allclose(row.velocity_after, after)
        estimated = impact.velocity_after_estimated
        np.testing.assert_allclose(row.joint_error, np.abs(after - estimated))
        assert row.error == pytest.approx(np.linalg.norm(after - estimated))
        assert row.relative_error == pytest.approx(row.error / np.linalg.norm(estimated - impact.velocity_before))
    # The row of the prediction itself has its error.
    assert rows["M+B_theta", 0.2].error == pytest.approx(impact.verdict.error)
    assert len(ablate(robot, explained(normal=(0.0, 0.6, 0.8)))) == 3
    assert ablate(robot, replace(impact, estimate=None)) == ablate(robot, replace(impact, prediction=None)) == ()


def test_groups_have_means_and_maxima_of_their_own_rows(explained, robot):
    impact = explained(normal=(0.0, 0.6, 0.8), ablation=True)
    rows = impact.ablation

    def scaled(factor, label, file="one"):
        own = tuple(
            replace(row, joint_error=factor * np.arange(1.0, 8.0) * (1 + number), error=factor * (1 + number))
            for number, row in enumerate(rows)
        )
        velocities = {"velocity_before": factor * np.ones(7), "velocity_after": 10.0 * factor * np.ones(7)}
        estimate = replace(impact.estimate, **velocities, standard_error=3e-3 * factor * np.ones(7))
        std = 4e-3 * factor * np.ones(7)
        return replace(impact, label=label, file=Path(file), ablation=own, estimate=estimate, prediction_std=std)

    def arm(robot_name, *impacts):
        return ArmAnalysis("", Path("one"), "", robot_name, robot.joint_names, 1, 1, 1.0, None, 0.0, 1.0, impacts)

    arms = [arm("x", scaled(1.0, "hard"), scaled(2.0, None, "soft.mcap")), arm("x", scaled(4.0, "hard")),
            arm("y", scaled(9.0, "hard"))]  # fmt: skip
    groups = {(g.label, g.robot, g.inertia): g for g in group(arms)}
    assert len(groups) == 3 * len(rows)
    hard = groups["hard", "x", rows[1].inertia]
    assert (hard.count, hard.error_mean, hard.error_max) == (2, 5.0, 8.0)
    np.testing.assert_allclose(hard.joint_error_mean, 5.0 * np.arange(1.0, 8.0))
    np.testing.assert_allclose(hard.joint_error_max, 8.0 * np.arange(1.0, 8.0))
    np.testing.assert_allclose(hard.velocity_before_mean, 2.5)
    np.testing.assert_allclose(hard.velocity_after_mean, 25.0)
    # Of the mean of two, with errors of 5 and 20 mrad/s: estimate and prediction together.
    np.testing.assert_allclose(hard.mean_error, np.hypot(5e-3, 20e-3) / 2.0)
    assert groups["soft.mcap", "x", "M"].error_max == 2.0
    assert groups["hard", "y", "M"].count == 1


def test_an_uncertain_time_makes_the_velocity_after_uncertain(explained, robot, truth):
    found = found_impact(robot, truth)
    since = (found.window.times - TIME)[:, None]
    # Half of 8 rad/s^2: a millisecond sooner or later is 8 mrad/s.
    window = ArmSamples(found.window.times, found.window.positions + 4.0 * since**2)
    late = replace(found, window=window, event=replace(found.event, time_std=1e-3))
    error = explained(found=late, normal=(0.0, 0.6, 0.8)).estimate.standard_error
    np.testing.assert_allclose(error, 8e-3, rtol=0.05)


@pytest.mark.parametrize(("following", "factor"), [(0.2, 1.0), (0.05, 2.0), (0.025, 4.0)])
def test_an_event_soon_after_makes_the_velocity_after_less_certain(robot, truth, following, factor):
    """In the error of an estimate that does not count the shaking itself: it grows as one over the time."""
    source = ArmSource("left", "/left/joint_states", robot.joint_names, robot)
    options = AnalysisOptions(estimator="parabola", ablation=False, normal=(0.0, 0.6, 0.8))
    impact = explain(
        found_impact(robot, truth), source, options, Surroundings(), file=Path("one"), index=0, label="",
        previous=None, following=TIME + following,
    )  # fmt: skip
    window = impact.window
    usual = estimate(
        window.times, window.positions, TIME, method="parabola", impact_time_error=1e-4, until=TIME + following,
        before=BEFORE_FITS[0],
    )  # fmt: skip
    np.testing.assert_allclose(impact.estimate.standard_error, factor * usual.standard_error, rtol=1e-6)
    assert any("less well" in note for note in impact.notes) == (factor > 1.0)
