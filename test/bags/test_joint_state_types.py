"""Joint states out of messages of other types, read by the definitions that a bag carries."""

import numpy as np
import pytest
from recorded_bag import write_messages
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from impact_aware.bags.bag import Bag
from impact_aware.bags.joint_states import joint_state_deserializer
from impact_aware.recordings.arm_selection import arms_in_bag
from impact_aware.recordings.whole_recording import samples_in_bag

NAMES = ("a", "b")
DEFINITIONS = {
    "control_msgs/msg/InterfaceValue": "string[] interface_names\nfloat64[] values\n",
    "control_msgs/msg/DynamicJointState": (
        "std_msgs/Header header\nstring[] joint_names\ncontrol_msgs/InterfaceValue[] interface_values\n"
    ),
    "control_msgs/msg/JointTrajectoryControllerState": (
        "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint reference\n"
        "trajectory_msgs/JointTrajectoryPoint feedback\n"
    ),
    "franka_msgs/msg/FrankaRobotState": (
        "std_msgs/Header header\nsensor_msgs/JointState measured_joint_state\n"
        "sensor_msgs/JointState desired_joint_state\n"
    ),
}


@pytest.fixture(scope="module")
def store():
    types = get_typestore(Stores.ROS2_JAZZY)
    for name, text in DEFINITIONS.items():
        types.register(get_types_from_msg(text, name))
    return types


def message(store, kind, stamp, position, velocity):
    """One message; what was wanted is ten times what was measured."""
    t = store.types
    header = t["std_msgs/msg/Header"](t["builtin_interfaces/msg/Time"](1, stamp), "")
    if kind.startswith("DynamicJointState"):
        value = t["control_msgs/msg/InterfaceValue"]
        columns = np.column_stack((np.full(len(position), 9.0), velocity, position))
        own = [value(["effort", "velocity", "position"], column) for column in columns]
        if kind.endswith("one effort"):
            own[1] = value(["velocity", "position"], columns[1, 1:])
        gripper = value(["force"], np.array([3.0]))
        return t["control_msgs/msg/DynamicJointState"](header, ["gripper", *NAMES], [gripper, *own])
    empty, zero = np.zeros(0), t["builtin_interfaces/msg/Duration"](0, 0)
    if kind == "FrankaRobotState":
        state = t["sensor_msgs/msg/JointState"]
        early = t["std_msgs/msg/Header"](t["builtin_interfaces/msg/Time"](0, 0), "")
        states = [state(early, list(NAMES), q * position, q * velocity, empty) for q in (1.0, 10.0)]
        return t["franka_msgs/msg/FrankaRobotState"](header, *states)
    point = t["trajectory_msgs/msg/JointTrajectoryPoint"]
    points = [point(q * position, q * velocity, empty, empty, zero) for q in (10.0, 1.0)]
    return t["control_msgs/msg/JointTrajectoryControllerState"](header, list(NAMES), *points)


def test_the_measured_point_of_older_controllers_is_called_actual(tmp_path):
    """`desired` and `actual`, before they were `reference` and `feedback`."""
    kind, old = "control_msgs/msg/JointTrajectoryControllerState", get_typestore(Stores.ROS2_JAZZY)
    text = DEFINITIONS[kind].replace("reference", "desired").replace("feedback", "actual")
    old.register(get_types_from_msg(text, kind))
    rows = [(row, np.array([0.1, -0.5]) + 0.01 * row) for row in range(20)]
    made = [message(old, "JointTrajectoryControllerState", row * 1_000_000, q, 2.0 * q) for row, q in rows]
    write_messages(tmp_path / "bag", [("/arm/controller_state", 1.0 + 1e-3 * row, made[row]) for row, _ in rows], old)
    with Bag(tmp_path / "bag") as bag:
        names, samples = samples_in_bag(bag, "controller_state")
    assert names == NAMES
    np.testing.assert_allclose(samples.positions, [0.1, -0.5] + 0.01 * np.arange(20)[:, None])
    np.testing.assert_allclose(samples.velocities, 2.0 * samples.positions)


@pytest.mark.parametrize("kind", [
    "DynamicJointState", "DynamicJointState, one effort", "JointTrajectoryControllerState", "FrankaRobotState",
])  # fmt: skip
def test_joint_states_of_other_types_are_read(store, tmp_path, kind):
    positions = np.column_stack((np.linspace(0.1, 0.2, 20), np.linspace(-0.5, 0.3, 20)))
    made = [message(store, kind, row * 1_000_000, q, 2.0 * q) for row, q in enumerate(positions)]
    write_messages(tmp_path / "bag", [("/arm/states", 1.0 + 1e-3 * row, own) for row, own in enumerate(made)], store)
    with Bag(tmp_path / "bag") as bag:
        (arm,), _ = arms_in_bag(bag, None, ())
        assert (arm.topic, arm.message_names) == ("/arm/states", NAMES)
        names, samples = samples_in_bag(bag, "states")
        state = joint_state_deserializer(bag, "/arm/states")(next(iter(bag.serialized("/arm/states")))[1])
    assert names == NAMES
    np.testing.assert_array_equal(samples.positions, positions)
    np.testing.assert_array_equal(samples.velocities, 2.0 * positions)
    np.testing.assert_allclose(samples.times, 1.0 + 1e-3 * np.arange(20))
    assert len(state.effort) == (2 if kind == "DynamicJointState" else 0)


def test_a_joint_state_comes_before_other_types(store, tmp_path):
    """ros2_control publishes both: one arm is one arm."""
    position, messages = np.array([0.1, 0.2]), []
    for row in range(5):
        plain = message(store, "FrankaRobotState", row, position, position).measured_joint_state
        dynamic = message(store, "DynamicJointState", row, position, position)
        messages += [("/dynamic_joint_states", 1.0 + 1e-9 * row, dynamic), ("/joint_states", 1.0 + 1e-9 * row, plain)]
    write_messages(tmp_path / "bag", messages, store)
    with Bag(tmp_path / "bag") as bag:
        assert [arm.topic for arm in arms_in_bag(bag, None, ())[0]] == ["/joint_states"]
        assert [arm.topic for arm in arms_in_bag(bag, None, ["dynamic_joint_states"])[0]] == ["/dynamic_joint_states"]
