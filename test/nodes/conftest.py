"""rclpy for tests that need a node but no other process."""

import os

import pytest


@pytest.fixture(scope="session")
def ros_context():
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    import rclpy

    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture
def node(ros_context):
    from rclpy.node import Node

    node = Node("test_node")
    yield node
    node.destroy_node()
