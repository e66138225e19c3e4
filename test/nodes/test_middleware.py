"""On a middleware that does not tell of a publisher's death, nothing that relies on it starts."""

from __future__ import annotations

import pytest
import rclpy
from impact_aware_msgs.msg import Heartbeat
from rclpy.lifecycle import TransitionCallbackReturn

from impact_aware.nodes.ros import middleware
from impact_aware.nodes.ros.middleware import tells_of_death
from impact_aware.nodes.rs_controller import RsControllerNode

# As rmw_zenoh, and one that nobody has looked at; a part of a good name is not a good name.
SILENT = ("rmw_zenoh_cpp", "rmw_of_tomorrow", "rmw_fastrtps")


@pytest.fixture(params=SILENT)
def silent(request, monkeypatch):
    """This process seems to run on another middleware; returns its name."""
    monkeypatch.setattr(middleware, "get_rmw_implementation_identifier", lambda: request.param)
    return request.param


@pytest.fixture
def controller(ros_context):
    node = RsControllerNode()
    yield node
    node.destroy_node()


def test_the_middleware_of_this_process_is_asked(ros_context):
    assert middleware.middleware() == rclpy.get_rmw_implementation_identifier()


@pytest.mark.parametrize(
    "name", ["rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp", "rmw_connextdds"]
)
def test_those_over_dds_tell_of_death(monkeypatch, name):
    monkeypatch.setattr(middleware, "get_rmw_implementation_identifier", lambda: name)
    assert tells_of_death()


def test_others_do_not(silent):
    assert not tells_of_death()


def test_a_controller_needs_heartbeats_and_names_the_middleware(silent, controller):
    assert controller.trigger_configure() is TransitionCallbackReturn.SUCCESS
    for topic in ("impacts", "predicted_jumps", "reference_field"):
        assert controller._upstream.refusal() == (
            f"no message came on /{topic}/heartbeat, and {silent} does not report the death of the node that "
            f"publishes /{topic}"
        )
        controller._upstream._on_beat(topic, Heartbeat(session=1, count=1))
    assert controller._upstream.refusal() == ""
