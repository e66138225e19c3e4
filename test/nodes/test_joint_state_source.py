import numpy as np
import pytest
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from impact_aware.nodes.joint_state_source import JointStateSource

JOINTS = ("a", "b", "c")


@pytest.fixture
def source(node):
    seen = []
    source = JointStateSource(node, JOINTS, lambda message: seen.append(message))
    source.seen = seen
    return source


def state(time, names, position, velocity=(), effort=()):
    whole = int(time)
    message = JointState(name=list(names), position=list(position), velocity=list(velocity), effort=list(effort))
    message.header.stamp = Time(sec=whole, nanosec=round((time - whole) * 1e9))
    return message


def test_other_joints_and_another_order_are_no_obstacle(source):
    source._receive(state(1.0, ["wheel", "c", "a", "b"], [9.0, 3.0, 1.0, 2.0], [0.0, 0.3, 0.1, 0.2]))
    np.testing.assert_array_equal(source.position, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(source.velocity, [0.1, 0.2, 0.3])
    assert np.isnan(source.effort).all()
    assert len(source.seen) == 1


def test_the_order_may_change_from_message_to_message(source):
    source._receive(state(1.0, "abc", [1.0, 2.0, 3.0]))
    source._receive(state(1.1, "cba", [3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(source.position, [1.0, 2.0, 3.0])


def test_missing_velocity_is_differenced_from_positions(source):
    source._receive(state(1.0, "abc", [0.0, 0.0, 0.0]))
    source._receive(state(1.5, "abc", [1.0, 0.0, -1.0]))
    assert not source.velocity_measured
    np.testing.assert_allclose(source.velocity, [2.0, 0.0, -2.0])


def test_nan_velocity_counts_as_missing(source):
    source._receive(state(1.0, "abc", [0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]))
    assert not source.velocity_measured
    assert np.isfinite(source.velocity).all()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (state(1.0, "ab", [0.0, 0.0]), "joint missing"),
        (state(1.0, "abc", [0.0, np.nan, 0.0]), "position not usable"),
        (state(1.0, "abc", [0.0, np.inf, 0.0]), "position not usable"),
        (state(1.0, "abc", [0.0, 0.0]), "position not usable"),
        (state(1.0, "abc", []), "position not usable"),
        (state(1.0, "", []), "joint missing"),
    ],
)
def test_what_can_not_be_used_is_counted_and_never_reaches_the_callback(source, message, reason):
    source._receive(message)
    assert source.seen == []
    assert source.rejected == {reason: 1}


def test_a_bad_message_leaves_the_last_good_state(source):
    source._receive(state(1.0, "abc", [1.0, 2.0, 3.0]))
    source._receive(state(1.1, "abc", [1.0, np.nan, 3.0]))
    np.testing.assert_array_equal(source.position, [1.0, 2.0, 3.0])
    assert source.time == 1.0


def test_time_running_backwards_gives_no_absurd_velocity(source):
    source._receive(state(2.0, "abc", [0.0, 0.0, 0.0]))
    source._receive(state(1.0, "abc", [1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(source.velocity, np.zeros(3))


def test_without_configured_joints_those_of_the_first_message_are_watched(node):
    source = JointStateSource(node, (), lambda message: None)
    source._receive(state(1.0, ["x", "y"], [1.0, 2.0]))
    assert source.joint_names == ("x", "y")
    np.testing.assert_array_equal(source.position, [1.0, 2.0])


def test_the_rate_is_measured_from_the_stamps(source):
    for index in range(1200):
        source._receive(state(1.0 + index / 30.0, "abc", [0.0, 0.0, 0.0]))
    assert source.rate == pytest.approx(30.0, rel=1e-6)  # stamps are rounded to the nanosecond
