"""A plant's time on /clock: how often, and from one node of a domain only."""

import pytest
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from impact_aware.messages.stamps import seconds
from impact_aware.nodes.plant_time import SimulatedClock


@pytest.fixture
def make(ros_context):
    """A plant's node in a namespace, and its clock."""
    nodes = []

    def make(namespace):
        nodes.append(Node("sim_robot", namespace=namespace))
        return SimulatedClock(nodes[-1], 0.001)

    make.nodes = nodes
    yield make
    for node in nodes:
        node.destroy_node()


def publishers(make):
    """Who publishes it, as DDS has it: within one process at once."""
    return [own.node_namespace for own in make.nodes[0].get_publishers_info_by_topic("/clock")]


@pytest.mark.parametrize(
    ("always", "expected"), [(False, [40.0, 40.01, 40.02]), (True, [40.0 + 0.001 * step for step in range(25)])]
)
def test_it_comes_every_10_ms_or_with_each_state(make, monkeypatch, always, expected):
    clock = make("/a")
    clock.publish(39.0, 0.0, always=True)
    clock.begin()
    copies = []
    monkeypatch.setattr(clock._publisher, "publish", lambda message: copies.append(seconds(message.clock)))
    for step in range(25):
        clock.publish(40.0 + 0.001 * step, 0.001 * step, always=always)
    assert copies == pytest.approx(expected)


def test_a_second_simulation_leaves_the_clock_to_the_first_whatever_their_names(make):
    first, second = make("/b"), make("/a")
    first.begin()
    second.begin()
    for clock in (first, second):
        clock.publish(1.0, 0.0, always=True)
    assert publishers(make) == ["/b"]


def test_the_clock_of_a_recording_stays_alone(make):
    player = Node("rosbag2_player")
    make.nodes.append(player)
    player.create_publisher(Clock, "/clock", 1)
    make("/a").begin()
    assert publishers(make) == ["/"]
