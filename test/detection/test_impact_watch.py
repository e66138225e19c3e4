"""A watch numbers its events, judges predictions of the right impact only, and rearms its detector after a loss."""

from dataclasses import replace

import numpy as np
import pytest
from sliders import two_sliders

from impact_aware.detection import JointSample
from impact_aware.detection.bounce import BounceDetector
from impact_aware.detection.completion import CompletionDetector
from impact_aware.detection.expectation import ExpectationClassifier
from impact_aware.detection.impact_watch import ExpectedJump, ImpactWatch
from impact_aware.detection.watch_settings import NOISE_SAMPLES, WatchSettings, make_watch, noise_of
from impact_aware.records import ImpactEvent
from impact_aware.robot import RobotModel

PERIOD = 1e-3
BEFORE = np.array([0.3, -0.1, 0.2])
JUMP = np.array([0.1, -0.4, 0.2])


class Scripted:
    """A detector that reports given events at given samples."""

    def __init__(self, events, joint_count=3):
        self.joint_count = joint_count
        self.events = dict(events)
        self.rearmed = []
        self.time = None

    def update(self, sample):
        self.time = sample.time
        return self.events.get(round(sample.time / PERIOD))

    def rearm(self):
        self.rearmed.append(round(self.time / PERIOD))


def event(time, detected, velocity_before=BEFORE, n=3):
    zeros = np.zeros(n)
    after = None if velocity_before is None else velocity_before + (JUMP if n == 3 else 0.0)
    before = np.full(n, np.nan) if velocity_before is None else velocity_before
    return ImpactEvent(time, detected, 3e-4, "scripted", 0, zeros, before, after, zeros, 1.0)


def run(watch, count=150, instants=(0.1003,), told=()):
    """Feed a motion that jumps at each instant; `told` maps samples to predictions that come before them."""
    found = []
    for index in range(count):
        time = index * PERIOD
        for at, prediction in told:
            if at == index:
                watch.expect(prediction)
        position, velocity = BEFORE * time, BEFORE.copy()
        for instant in instants:
            position = position + JUMP * max(time - instant, 0.0)
            velocity = velocity + JUMP * (time > instant)
        found += watch.update(JointSample(time, position, velocity))
    return found


def judged(prediction, at=50, count=150, **options):
    watch = ImpactWatch(Scripted({102: event(0.1003, 0.102)}), expectation=ExpectationClassifier(3), **options)
    return [each for each in run(watch, count, told=[(at, prediction)]) if each.verdict is not None]


@pytest.mark.parametrize(
    ("prediction", "at", "expected"),
    [
        (ExpectedJump(0.1, JUMP), 50, True),
        # Nearly 0.1 s off the impact.
        (ExpectedJump(0.1903, JUMP), 50, True),
        (ExpectedJump(0.1, -JUMP), 50, False),
        (ExpectedJump(0.1, JUMP[[1, 2, 0]]), 50, False),
        # Made for the impact itself, after it was reported.
        (ExpectedJump(0.1, JUMP, sequence=1), 104, True),
    ],
)
def test_a_prediction_is_compared_with_the_jump(prediction, at, expected):
    (answer,) = judged(prediction, at)
    assert answer.verdict.expected is expected
    assert answer.sequence == 1
    assert answer.event.time == 0.1003
    np.testing.assert_allclose(answer.verdict.jump, JUMP, atol=0.02)


@pytest.mark.parametrize(
    ("prediction", "at"),
    [
        # 0.11 s off the impact, where 0.1 s is allowed, early and late.
        (ExpectedJump(0.2103, JUMP), 50),
        (ExpectedJump(-0.0097, JUMP), 50),
        # For another impact, given before and after this one.
        (ExpectedJump(0.1, JUMP, sequence=7), 50),
        (ExpectedJump(0.1, JUMP, sequence=2), 104),
        (ExpectedJump(0.1, JUMP, sequence=0), 104),
        (ExpectedJump(0.1, np.zeros(3)), 50),
    ],
)
def test_a_prediction_of_another_impact_is_not_judged(prediction, at):
    assert judged(prediction, at) == []


def test_jumps_are_compared_in_the_inertia_at_the_impact():
    class Arm:
        def mass_matrix(self, position):
            self.at = position
            return np.diag([1.0, 1e-3, 1.0])

    # The second joint moves otherwise than predicted, but hardly weighs anything.
    arm, predicted = Arm(), JUMP * [1.0, -1.0, 1.0]
    (weighed,) = judged(ExpectedJump(0.1, predicted), robot=arm)
    (plain,) = judged(ExpectedJump(0.1, predicted))
    assert weighed.verdict.expected and not plain.verdict.expected
    np.testing.assert_array_equal(arm.at, np.zeros(3))


def test_velocity_that_the_detector_could_not_see_is_the_last_measured_one():
    watch = ImpactWatch(Scripted({5: event(0.0032, 0.005, None)}))
    found = []
    for index in range(8):
        found += watch.update(JointSample(index * PERIOD, np.zeros(3), np.array([1.0, 10.0, 100.0]) * index))
    np.testing.assert_array_equal(found[0].event.velocity_before, [3.0, 30.0, 300.0])
    # What it did see stays.
    watch = ImpactWatch(Scripted({5: event(0.0032, 0.005)}))
    found = [each for k in range(8) for each in watch.update(JointSample(k * PERIOD, np.zeros(3), np.full(3, 9.0)))]
    np.testing.assert_array_equal(found[0].event.velocity_before, BEFORE)


def test_events_are_numbered_and_a_sequence_ends_once():
    completion = CompletionDetector(3, expected_contacts=2, longest=0.3)
    watch = ImpactWatch(Scripted({102: event(0.1003, 0.102)}), completion=completion)
    found = []
    for index in range(300):
        if index == 120:
            watch.notify_other(event(0.118, 0.12))
        time = index * PERIOD
        found += watch.update(JointSample(time, BEFORE * time + JUMP * max(time - 0.1003, 0.0)))
    assert [each.sequence for each in found] == [1, 2]
    end = found[1].completion
    assert (end.contacts, end.reason) == (2, "settled")
    # 30 samples behind the other arm's impact, then 15 ms of quiet.
    assert end.time == pytest.approx(0.12 + 0.030 + 0.015, abs=2 * PERIOD)
    assert watch.sequence == 2


@pytest.mark.parametrize(("given_normal", "again"), [((0.0, 0.0, 1.0), False), ((0.0, 0.0, 1.0), True), (None, False)])
def test_contact_lost_along_the_predicted_normal_rearms_after_the_ringing(given_normal, again):
    """Not where an impact comes meanwhile, behind which the arm presses on: that one's refractory time holds."""
    robot = RobotModel.from_profile("panda")
    jacobian = robot.frame_jacobian(robot.home)[:3]
    down, up = (np.linalg.pinv(jacobian) @ [0.0, 0.0, speed] for speed in (-0.3, 0.3))
    hit = replace(event(0.05, 0.052, down, 7), position=robot.home, velocity_after=up)
    pressing = replace(hit, time=0.06, time_detected=0.062, velocity_after=down)
    detector = Scripted({52: hit} | ({62: pressing} if again else {}), 7)
    # The setting says x, the prediction z, and only along z does the arm recede.
    watch = ImpactWatch(detector, bounce=BounceDetector(robot), normal=(1.0, 0.0, 0.0))
    if given_normal is not None:
        watch.expect(ExpectedJump(0.05, up - down, normal=np.array(given_normal)))
    found = []
    for index in range(120):
        time = index * PERIOD - 0.05
        risen = min(time, 0.012) if again else time
        moved = up * max(risen, 0.0) + down * (time - max(risen, 0.0))
        found += watch.update(JointSample(index * PERIOD, robot.home + moved))
    losses = [each.loss for each in found if each.loss is not None]
    if given_normal is None:
        assert not losses and not detector.rearmed
        return
    (loss,) = losses
    assert loss.reason == "receding" and "contact_lost" in [each.cause for each in found]
    assert loss.speed == pytest.approx(0.3, rel=0.02)
    assert loss.time == pytest.approx(0.05, abs=2e-3)
    # Once, at the first sample after the loss that is 15 ms behind the impact's detection.
    assert detector.rearmed == ([] if again else [66])


def test_every_setting_reaches_its_place():
    robot = RobotModel.from_profile("panda")
    settings = WatchSettings(
        sampling_period=2e-3, encoder_resolution=3e-5, position_noise=4e-5, refractory_time=0.07,
        expected_contacts=3, completion_longest=0.9, normal=(0.0, 2.0, 0.0),
    )  # fmt: skip
    watch = make_watch(7, settings, robot=robot)
    parameters = watch.detector.parameters
    assert (parameters.sampling_period, parameters.encoder_resolution, parameters.position_noise) == (2e-3, 3e-5, 4e-5)
    assert parameters.refractory_time == 0.07
    variance = np.full(7, 3e-5**2 / 12.0 + 4e-5**2)
    np.testing.assert_allclose(watch._expectation._variance, variance)
    np.testing.assert_allclose(watch._completion._own_variance, variance)
    assert watch._expectation._window.period == watch._completion._window.period == 2e-3
    assert (watch._completion.expected_contacts, watch._completion.longest) == (3, 0.9)
    assert watch._bounce is not None and watch._robot is robot
    np.testing.assert_array_equal(watch.normal, [0.0, 1.0, 0.0])
    tuned = make_watch(7, settings, tuning={"refractory_time": 0.2, "window": 9})
    assert (tuned.detector.parameters.refractory_time, tuned.detector.parameters.window) == (0.2, 9)
    assert tuned._bounce is None
    without = make_watch(7, replace(settings, expectation=False, completion=False, bounce=False), robot=robot)
    assert without._expectation is without._completion is without._bounce is None


def test_fusion_takes_the_momentum_observer_with_a_robot_that_measures_torques_only():
    robot = RobotModel.from_profile("panda")
    settings = WatchSettings(detector="fusion", refractory_time=0.09)
    currents = RobotModel.from_profile(replace(robot.profile, effort_kind="current"))
    assert [own.name for own in make_watch(7, settings, robot=currents).detector.members] == ["adaptive_window"]
    alone, both = make_watch(7, settings).detector, make_watch(7, settings, robot=robot).detector
    assert [member.name for member in alone.members] == ["adaptive_window"]
    assert [member.name for member in both.members] == ["adaptive_window", "momentum_observer"]
    assert all(member.parameters.refractory_time == 0.09 for member in both.members)


def test_noise_is_measured_with_a_margin():
    rng = np.random.default_rng(4)
    rows = [np.array([1e-4 * k, 0.2]) + rng.normal(0.0, [2e-4, 1e-5]) for k in range(4000)]
    # The larger of the two joints, half as much again; 4000 samples know it to a few per cent.
    assert noise_of(rows, 1e-7) == pytest.approx(3e-4, rel=0.08)
    assert noise_of(rows[: NOISE_SAMPLES - 1], 1e-7) is None


def test_contacts_soon_after_another_are_second_ones():
    at = (0.05, 0.11, 0.409, 0.711)
    watch = ImpactWatch(Scripted([(round(time / PERIOD) + 3, event(time, time + 3e-3)) for time in at]))
    made = run(watch, 800)
    # 0.299 s after the one before, and 0.302 s.
    assert [each.cause for each in made] == ["contact", "second_contact", "second_contact", "contact"]


def test_a_second_contact_that_hardly_closes_renews_the_first():
    robot, hit = two_sliders(), np.array([0.3, -0.4])
    at = {0.05: 1.0, 0.15: 0.14, 0.25: 0.05, 0.35: 0.16, 0.8: 0.03}
    events = {
        round(time / PERIOD): replace(event(time, time + 3e-3, share * hit, 2), velocity_after=np.array([0.0, 0.3]))
        for time, share in at.items()
    }
    watch = ImpactWatch(Scripted(events, 2), bounce=BounceDetector(robot), normal=(0.0, 1.0, 0.0))
    made = [each for k in range(900) for each in watch.update(JointSample(k * PERIOD, np.zeros(2))) if each.event]
    # The jump of each shows that contact was lost before it; the hit stays the measure of its renewals.
    assert [each.cause for each in made] == [
        "contact", "contact_renewed", "contact_renewed", "second_contact", "contact",
    ]  # fmt: skip


def streamed(others, begin=0, every=10):
    """Impacts of a hit at 1.2 s at 500 Hz, a message with other positions before some of the arm's; the watch."""
    times = 0.002 * np.arange(1000)
    rng = np.random.default_rng(2)
    positions = 0.7 + 0.3 * np.sin(np.outer(times, np.linspace(0.7, 2.0, 7)))
    positions += np.outer(np.maximum(times - 1.203, 0.0), np.linspace(-0.5, 0.5, 7))
    positions = np.round((positions + 3e-6 * rng.standard_normal(positions.shape)) / 1e-5) * 1e-5
    watch = make_watch(7, WatchSettings(sampling_period=0.002, encoder_resolution=1e-5, position_noise=5e-6))
    made = []
    for index, (time, position) in enumerate(zip(times, positions, strict=True)):
        if index % every == 0 and index >= begin:
            made += watch.update(JointSample(time - 0.001, others(time)))
        made += watch.update(JointSample(time, position))
    return [found.event.time for found in made if found.kind.value == "made"], watch


# A position that repeats itself is evidence of no arm, even where it comes as often as the arm's.
@pytest.mark.parametrize(
    ("speed", "begin", "every"), [(0.0, 0, 10), (0.0, 500, 10), (-0.1, 0, 10), (-0.1, 500, 10), (0.0, 0, 1)]
)
def test_messages_of_a_second_publisher_are_no_impacts(speed, begin, every):
    """Nor do they hide one, though the first message of all is theirs."""
    times, watch = streamed(lambda time: np.full(7, 10.0 * speed + speed * time), begin, every)
    assert times == pytest.approx([1.203], abs=0.003)
    assert 1000 - begin - 100 <= every * watch.foreign <= 1000 - begin + 50


def test_an_arm_whose_positions_step_is_followed_from_there():
    """As where its encoders are set anew: the step is no impact, and a hit after it is one."""
    watch = make_watch(3, WatchSettings(sampling_period=0.001, encoder_resolution=1e-6, position_noise=1e-6))
    times = PERIOD * np.arange(800)
    positions = np.outer(times, BEFORE) + np.outer(np.maximum(times - 0.6, 0.0), JUMP) + 0.8 * (times > 0.3)[:, None]
    made = [found for time, q in zip(times, positions, strict=True) for found in watch.update(JointSample(time, q))]
    assert [found.event.time for found in made if found.kind.value == "made"] == pytest.approx([0.6], abs=0.002)
    assert watch.foreign == 4


def test_wrong_values_now_and_then_do_not_become_the_arm():
    """Beside an arm at rest whose encoders repeat one value, however many they are."""
    watch = make_watch(3, WatchSettings(sampling_period=0.001, encoder_resolution=1e-6, position_noise=1e-6))
    refused = 0
    for k in range(8 * 1200):
        wrong = k % 1200 == 600
        refused += wrong
        assert watch.update(JointSample(PERIOD * k, BEFORE + (1.0 + 1e-3 * k) * wrong)) == []
        assert watch.foreign == refused
