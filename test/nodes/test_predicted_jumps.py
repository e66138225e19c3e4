"""What the predictor publishes by itself: ahead of an impact, at one, and what it really did."""

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from node_harness import upright
from predictor_arm import CONFIGURED, CONTACT, DOWN, HALF, HOME, NAMES, NORMAL, ROBOT, state

from impact_aware.contact.box import Box, homogeneous_box
from impact_aware.contact.geometry import contact_point
from impact_aware.contact.shape import PlacedShape
from impact_aware.estimation import estimate
from impact_aware.impact import predict
from impact_aware.messages.stamps import seconds
from impact_aware.messages.types import give
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.ros.messages import stamp


@pytest.fixture
def make_node(harness):
    """A node, and what it has published."""

    def make(**parameters):
        node = harness(JumpPredictorNode, **CONFIGURED | parameters)
        published = node.sent("predicted_jumps")
        published.clear()
        return node, published

    return make


def centre_ahead(gap):
    """Centre of the object whose near face is `gap` ahead of the tool's tip."""
    face = PlacedShape(Box(HALF), np.zeros(3)).plane_point(NORMAL)
    return contact_point(ROBOT, HOME, CONTACT) - gap * NORMAL - face


def event(**fields):
    message = ImpactEvent(**({"sequence": 3, "arm": "left", "joint_names": NAMES} | fields))
    message.header.stamp, message.stamp_detected = stamp(4.25), stamp(4.254)
    if not len(message.position):
        message.position, message.velocity_before = HOME, DOWN
    return message


def test_looking_ahead_predicts_at_the_posture_of_the_contact(make_node):
    (node, published), gap = make_node(), 0.03
    centre = centre_ahead(gap)
    node.send("object_pose", upright(centre))
    node.send("joint_states", state(2.5))
    (ahead,) = published
    assert (ahead.source, ahead.valid, ahead.arm) == (ImpactPrediction.SOURCE_LOOK_AHEAD, True, "left")
    assert (ahead.header.stamp, ahead.header.frame_id) == (stamp(2.5), "panda_link0")
    posture = HOME + DOWN * seconds(ahead.time_to_impact)
    assert seconds(ahead.time_to_impact) == pytest.approx(gap / 0.52, rel=0.02), "0.6 * 0.2 + 0.8 * 0.5 = 0.52 m/s"
    np.testing.assert_allclose(ahead.position, posture, atol=1e-12)
    box = homogeneous_box(1.3, HALF, centre)
    there, here = (predict(ROBOT, q, DOWN, CONTACT, obstacle=box, inertia="M") for q in (posture, HOME))
    np.testing.assert_allclose(ahead.velocity_after, there.velocity_after, atol=1e-9)
    assert np.abs(np.array(ahead.velocity_after) - here.velocity_after).max() > 1e-4
    assert (ahead.object, ahead.contacts[0].obstacle) == ("parcel", "parcel")
    assert not len(ahead.velocity_after_covariance), "looking ahead is done often"


def test_it_looks_ahead_once_a_period_and_again_after_a_clock_that_was_set_back(make_node):
    node, published = make_node(look_ahead_period=0.02)
    node.send("object_pose", upright(centre_ahead(0.03)))
    node.send("joint_states", *map(state, (2.0, 2.001, 2.019, 2.0201, 2.03)))
    assert [message.header.stamp.nanosec for message in published] == [0, 20_100_000]
    node.send("joint_states", state(0.5))
    assert len(published) == 3


@pytest.mark.parametrize(("gap", "velocity"), [(0.3, DOWN), (0.03, -DOWN), (-0.01, DOWN)])
def test_too_far_receding_or_touching_is_nothing_to_predict(make_node, gap, velocity):
    node, published = make_node()
    node.send("object_pose", upright(centre_ahead(gap)))
    node.send("joint_states", state(2.0, velocity=velocity))
    assert published == []


def test_the_surface_and_the_object_are_where_they_are_configured(make_node):
    tip = contact_point(ROBOT, HOME, CONTACT)
    for place in ({"object_mass": 0.0, "surface_point": (tip - 0.03 * NORMAL).tolist()},
                  {"object_position": centre_ahead(0.03).tolist()}):  # fmt: skip
        node, published = make_node(**place)
        node.send("joint_states", state(2.0))
        assert seconds(published[0].time_to_impact) == pytest.approx(0.03 / 0.52, rel=0.02)


def test_at_an_impact_the_events_own_state_and_the_configured_contact_count(make_node):
    node, published = make_node()
    centre = centre_ahead(0.0)
    node.send("object_pose", upright(centre))
    # The latest state is another one.
    node.send("joint_states", state(4.3, HOME + 0.1, -DOWN))
    order = [6, 2, 0, 1, 5, 3, 4]
    shuffled = event(joint_names=[NAMES[index] for index in order], position=HOME[order], velocity_before=DOWN[order])
    node.send("impacts", shuffled)
    (found,) = published
    expected = predict(ROBOT, HOME, DOWN, CONTACT, obstacle=homogeneous_box(1.3, HALF, centre), inertia="M")
    np.testing.assert_array_equal(found.velocity_after, expected.velocity_after)
    np.testing.assert_array_equal(found.position, HOME)
    assert (found.source, found.event_sequence) == (ImpactPrediction.SOURCE_AT_IMPACT, 3)
    assert (found.header.stamp, found.has_time_to_impact, seconds(found.time_to_impact)) == (stamp(4.25), True, 0.0)
    assert (found.contacts[0].friction, found.contacts[0].restitution) == (0.35, 0.45)
    assert found.inertia == ImpactPrediction.INERTIA_M


@pytest.mark.parametrize(
    ("changed", "differs"),
    [({"friction": 0.0}, True), ({"restitution": 0.0}, True), ({"object_mass": 9.0}, True),
     ({"inertia": "M+B_theta"}, True), ({"object_name": "other"}, False)],
)  # fmt: skip
def test_what_is_configured_matters(make_node, changed, differs):
    answers = []
    for parameters in ({}, changed):
        node, published = make_node(**parameters)
        node.send("impacts", event())
        answers.append(np.array(published[0].velocity_after))
    assert (np.abs(answers[0] - answers[1]).max() > 1e-3) == differs


def test_an_event_counts_once_and_another_arms_not_at_all(make_node):
    node, published = make_node()
    node.send("impacts", event(arm="right"))
    assert published == [] and node.refused() == {"impact of another arm": 1}
    for meaning in (ImpactEvent.MEANING_UNKNOWN, ImpactEvent.MEANING_EXPECTED):
        node.send("impacts", event(meaning=meaning))
    node.send("impacts", event(sequence=4, kind=ImpactEvent.KIND_CONTACT_LOST))
    assert [message.event_sequence for message in published] == [3]
    node.send("impacts", event(sequence=4, arm=""))
    assert [message.event_sequence for message in published] == [3, 4]


def test_an_event_without_the_arms_joints_is_refused_once(make_node):
    node, published = make_node()
    for sequence in (1, 1, 2):
        node.send("impacts", event(sequence=sequence, joint_names=["elbow"], position=[0.0]))
    assert published == [] and node.refused() == {"impact without the joints": 2}


def test_what_can_not_be_predicted_is_published_with_the_reason(make_node):
    node, published = make_node(object_position=[1e300, 0.0, 0.0])
    node.send("impacts", event())
    (found,) = published
    assert not found.valid and found.reason
    assert (found.arm, found.event_sequence, found.header.frame_id) == ("left", 3, "panda_link0")
    assert node.status()[2]["unpredicted"] == "1"


@pytest.mark.parametrize(
    "name", ["velocity_std", "restitution_std", "motor_inertia_std", "link_inertia_std", "object_mass_std"]
)
def test_a_standard_deviation_twice_as_large_makes_the_covariance_four_times_as_large(make_node, name):
    covariances = []
    for deviation in (0.01, 0.02):
        node, published = make_node(**{"motor_inertia_std": 0.0, name: deviation, "inertia": "M+B_theta"})
        node.send("impacts", event())
        covariances.append(np.array(published[0].velocity_after_covariance))
    assert covariances[0].max() > 0.0
    np.testing.assert_allclose(covariances[1], 4.0 * covariances[0], rtol=1e-6, atol=1e-15)


def test_an_assumed_motor_inertia_spreads_without_being_asked_to(make_node):
    """The profile's share, 0.12, of an assumed B_theta; one set exact, and links alone, do not spread."""

    def covariance(**parameters):
        node, published = make_node(**parameters)
        node.send("impacts", event())
        return np.array(published[0].velocity_after_covariance)

    default = covariance(inertia="M+B_theta")
    np.testing.assert_allclose(default, covariance(inertia="M+B_theta", motor_inertia_std=0.12), rtol=1e-12)
    assert default.max() > 0.0
    assert covariance(inertia="M+B_theta", motor_inertia_std=0.0).size == 0
    assert covariance(inertia="M").size == 0


# What it really did

PERIOD = 1e-3

INSTANT = 4.25025
"""Stamps are whole milliseconds and the impact a quarter off, so that nothing hangs on rounding."""

JUMP = DOWN * np.linspace(1.2, 0.6, ROBOT.n)


def path(times):
    late = np.maximum(times - INSTANT, 0.0)
    return HOME + np.outer(times - INSTANT, DOWN) - np.outer(late, JUMP)


def feed(node, begin, end):
    """Show the impact's motion, with the timers that elapse meanwhile."""
    times = np.arange(begin, end, PERIOD)
    for time, position in zip(times, path(times), strict=True):
        node.send("joint_states", state(float(time), position))
        node.tick()
    return times


def hit(sequence=3, time=INSTANT, **fields):
    message = event(sequence=sequence, **fields)
    give(message, "time_standard_error", 3e-4)
    message.header.stamp, message.stamp_detected = stamp(time), stamp(time + 0.002)
    return message


def of_source(published, source):
    return [message for message in published if message.source == source]


@pytest.mark.parametrize("error", [3e-4, None])
def test_an_estimate_is_published_once_the_window_is_filled(make_node, error):
    node, published = make_node()
    before = feed(node, 4.15, 4.253)
    # The event again, with its meaning, is no second impact.
    for meaning in (ImpactEvent.MEANING_UNKNOWN, ImpactEvent.MEANING_EXPECTED):
        message = hit(meaning=meaning)
        give(message, "time_standard_error", error)
        node.send("impacts", message)
    after = feed(node, 4.253, 4.55)
    (at_impact,) = of_source(published, ImpactPrediction.SOURCE_AT_IMPACT)
    (late,) = of_source(published, ImpactPrediction.SOURCE_ESTIMATE)
    assert late.event_sequence == at_impact.event_sequence == 3 and late.header == at_impact.header
    for field in ("velocity_before", "velocity_after", "position"):
        np.testing.assert_array_equal(getattr(late, field), getattr(at_impact, field))
    assert not len(at_impact.velocity_estimated)
    times, window = np.concatenate((before, after)), node.node.get_parameter("estimation_window").value
    offline = estimate(times, path(times), INSTANT, impact_time_error=error or 0.0, until=INSTANT + window + 1e-6)
    # Stamps travel as nanoseconds, positions as they are: 1e-9 s at less than 1 rad/s over 0.06 s.
    np.testing.assert_allclose(late.velocity_estimated, offline.velocity_after, atol=1e-6)
    np.testing.assert_allclose(late.velocity_estimated_error, offline.standard_error, atol=1e-6)
    np.testing.assert_allclose(late.velocity_estimated, DOWN - JUMP, atol=1e-3)


def test_the_next_impact_cuts_the_first_one_short(make_node):
    node, published = make_node()
    feed(node, 4.15, 4.253)
    node.send("impacts", hit())
    feed(node, 4.253, 4.35)
    node.send("impacts", hit(sequence=4, time=4.3475))
    feed(node, 4.35, 4.65)
    estimates = of_source(published, ImpactPrediction.SOURCE_ESTIMATE)
    assert [message.event_sequence for message in estimates] == [3, 4]


def test_too_few_samples_give_no_estimate(make_node):
    node, published = make_node()
    feed(node, 4.248, 4.253)
    node.send("impacts", hit())
    feed(node, 4.253, 4.55)
    assert of_source(published, ImpactPrediction.SOURCE_ESTIMATE) == []
