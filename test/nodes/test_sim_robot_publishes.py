"""What the plant publishes: each arm's own joints, the object where it is, every stamp from the configured start."""

import re
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from node_harness import status
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_aware.errors import InvalidInputError
from impact_aware.messages.geometry import quaternion, twist, vector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.nodes import sim_robot
from impact_aware.nodes.sim_robot import SimRobotNode
from impact_aware.resources import find_resource
from impact_aware.robot import RobotModel
from impact_aware.simulation.sensors import JointReading


@pytest.fixture
def make_node(make):
    return lambda **more: make(SimRobotNode, **{"task": "dual_arm_grab", "start_time": 40.0} | more)


@pytest.fixture
def node(make_node):
    return make_node()


def recorded(publisher) -> list:
    sent = []
    publisher.publish = sent.append
    return sent


def test_each_arm_gets_its_own_part_of_what_the_sensors_show(node):
    sent = {name: recorded(states._publisher) for name, states in zip(node.arms, node._state_publishers, strict=True)}
    values = np.arange(14.0)
    node.plant = SimpleNamespace(
        reading=JointReading(time=2.5, q=values, dq=values + 100.0, effort=values + 200.0),
        state=SimpleNamespace(time=2.503),
    )
    clock = []
    node._simulated_clock.publish = lambda time, simulated, always: clock.append((time, simulated, always))
    node._publish_states()
    for first, name in ((0.0, "left"), (7.0, "right")):
        (serialized,) = sent[name]
        message = deserialize_message(serialized, JointState)
        own = np.arange(7.0) + first
        assert stamp_seconds(message) == 42.5
        np.testing.assert_array_equal(message.position, own)
        np.testing.assert_array_equal(message.velocity, own + 100.0)
        np.testing.assert_array_equal(message.effort, own + 200.0)
        assert list(message.name) == [f"panda_joint{number}" for number in range(1, 8)]
    assert clock == [(pytest.approx(42.503), 2.503, False)]


def test_the_object_is_published_where_it_is_and_how_it_moves(node):
    poses, twists = recorded(node._pose_publisher), recorded(node._twist_publisher)
    placement = pin.SE3(pin.utils.rotate("z", 0.4), np.array([0.1, 0.2, 0.3]))
    node.plant = SimpleNamespace(
        state=SimpleNamespace(time=1.25, object_placement=placement, object_twist=np.arange(6.0))
    )
    node._publish_object()
    assert stamp_seconds(poses[0]) == stamp_seconds(twists[0]) == 41.25
    assert poses[0].header.frame_id == twists[0].header.frame_id == "world"
    np.testing.assert_array_equal(vector(poses[0].pose.position), [0.1, 0.2, 0.3])
    expected = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]
    np.testing.assert_allclose(quaternion(poses[0].pose.orientation), expected, atol=1e-12)
    np.testing.assert_array_equal(twist(twists[0].twist), np.arange(6.0))


def test_a_command_moves_the_joints_of_its_arm(node):
    positions = np.concatenate([node.plant.state.q[:7], np.zeros(7)])
    right = node.arms["right"]
    right.input._receive(Float64MultiArray(data=np.arange(7.0)))
    now = positions, node.plant.reading, 40.0
    assert node.arms["left"].input.torque(*now) is None
    # The Panda adds gravity itself.
    panda = RobotModel.from_profile("panda")
    expected = np.arange(7.0) + panda.gravity(np.zeros(7))
    np.testing.assert_array_equal(right.input.torque(*now), expected)
    assert np.abs(panda.gravity(np.zeros(7)) - panda.gravity(positions[:7])).max() > 1.0


@pytest.mark.parametrize("wrong", [np.zeros(6), np.full(7, np.nan), np.array([0.0] * 6 + [np.inf])])
def test_a_command_that_can_not_be_used_keeps_the_last_one(node, wrong):
    commands = node.arms["left"].input
    commands._receive(Float64MultiArray(data=np.arange(7.0)))
    commands._receive(Float64MultiArray(data=wrong))
    np.testing.assert_array_equal(commands._command, np.arange(7.0))
    assert commands.rejected == 1


def test_each_impact_is_published_once_by_its_arm(node, monkeypatch):
    published = []
    for name, arm in node.arms.items():
        monkeypatch.setattr(arm, "publish_truth", lambda *given, name=name: published.append((name, *given)))
    impacts = [SimpleNamespace(arm="right"), SimpleNamespace(arm="left")]
    node.plant = SimpleNamespace(impacts=impacts[:1])
    node._publish_truth()
    node.plant = SimpleNamespace(impacts=impacts)
    node._publish_truth()
    node._publish_truth()
    name = node._object_name
    assert published == [("right", impacts[0], 40.0, name), ("left", impacts[1], 40.0, name)]


def test_settings_reach_the_plant(make_node):
    start = np.concatenate([np.linspace(-0.1, 0.2, 7), np.linspace(0.3, 0.1, 7)]) + np.tile(
        [0.0, 0.26, 0.0, -1.97, 0.0, 1.22, 0.0], 2
    )
    sensors = {
        "encoder_resolution": 1e-4, "position_noise": 2e-4, "velocity_noise": 3e-3, "effort_noise": 0.4, "delay": 2,
    }  # fmt: skip
    node = make_node(start=start.tolist(), displacement=[0.01, -0.02, 0.0], turn=0.3, **sensors)
    np.testing.assert_allclose(node.plant.state.q, start)
    np.testing.assert_allclose(node.plant.state.object_placement.translation, [0.56, -0.02, 0.4], atol=1e-3)
    turned = pin.log3(node.plant.state.object_placement.rotation)
    np.testing.assert_allclose(turned, [0.0, 0.0, 0.3], atol=1e-9)
    settings = node.plant._sensors.settings
    assert {name: getattr(settings, name) for name in sensors} == sensors


def test_a_displacement_that_is_none_is_refused(make_node):
    with pytest.raises(InvalidInputError, match="parameter displacement"):
        make_node(displacement=[0.1, 0.2])


@pytest.mark.parametrize("belt", [[0.1], [0.1, 0.2, 0.0], [0.0, 1.1], [float("nan"), 0.0]])
def test_a_belt_that_is_none_is_refused(make_node, belt):
    with pytest.raises(InvalidInputError, match="parameter belt"):
        make_node(belt=belt)


def test_a_belt_carries_the_object(make_node):
    node = make_node(belt=[0.08, -0.05])
    before = node.plant.state
    np.testing.assert_allclose(before.object_twist[:3], [0.08, -0.05, 0.0], atol=1e-9)
    for _ in range(100):
        after = node.plant.step(None)
    moved = after.object_placement.translation - before.object_placement.translation
    # The object settles on its belt by some micrometres.
    np.testing.assert_allclose(moved, [0.008, -0.005, 0.0], atol=1e-4)


def test_commands_that_stop_let_only_the_silent_arm_brake(make_node):
    node = make_node(command_timeout=0.1)
    for arm, age in zip(node.arms.values(), (0.0999, 0.1001), strict=True):
        arm.input._receive(Float64MultiArray(data=np.zeros(7)))
        arm.input._time = node._now() - age
    assert node._torque(node.arms["left"]) is not None
    assert node._torque(node.arms["right"]) is None


def test_joints_are_flexible_where_the_motors_are_known_and_rigid_on_request(make_node, tmp_path):
    single = {"task": "hit_and_push", "robot": "panda"}
    (drive,) = make_node(**single, joint_stiffness=7000.0).plant._drives.values()
    np.testing.assert_array_equal(drive.elasticity.stiffness, np.full(7, 7000.0))
    assert drive.elasticity.friction.min() > 0.1
    assert not make_node(**single, plant="rigid").plant._drives
    assert make_node().plant._drives.keys() == {"left", "right"}
    text = find_resource("config", "robots/panda.yaml").read_text()
    (tmp_path / "panda.urdf").write_bytes(find_resource("config", "robots/panda.urdf").read_bytes())
    unknown = tmp_path / "arm.yaml"
    unknown.write_text(re.sub("^motor_inertia: .*$", "", text, flags=re.MULTILINE))
    assert not make_node(**single | {"robot": str(unknown)}).plant._drives


def test_in_wall_time_the_plant_waits_for_the_torques_of_all_arms_for_a_while(make_node, monkeypatch):
    """Cycles of 2 ms, of which simulated time tells the number; a torque is waited for until none came for 11 ms."""
    wall = [100.0]
    monkeypatch.setattr(sim_robot.time, "monotonic", lambda: wall[0])
    node = make_node(period=0.002, command_timeout=0.011)
    node._begun = True
    node._pace.begin(100.0, node.plant.state.time)
    left, right = (arm.input for arm in node.arms.values())

    def tick(milliseconds: float) -> int:
        wall[0] = 100.0 + 1e-3 * milliseconds
        node._on_tick()
        return round(node.plant.state.time / 0.002)

    assert [tick(2.0), tick(4.0)] == [1, 2]
    for arm in (left, right):
        arm._receive(Float64MultiArray(data=np.zeros(7)))
    assert [tick(5.0), tick(6.0), tick(8.0)] == [2, 3, 3]
    wall[0] = 100.0085
    left._receive(Float64MultiArray(data=np.zeros(7)))
    assert round(node.plant.state.time / 0.002) == 3
    wall[0] = 100.009
    right._receive(Float64MultiArray(data=np.zeros(7)))
    assert round(node.plant.state.time / 0.002) == 4
    # Torques came last at 6 ms of simulated time: cycles 5 to 9 are waited for, those after are made when due.
    made = [(milliseconds, tick(milliseconds)) for milliseconds in range(10, 60)]
    firsts = {cycle: min(at for at, found in made if found == cycle) for cycle in range(5, 12)}
    assert firsts == {5: 17, 6: 25, 7: 33, 8: 41, 9: 49, 10: 50, 11: 51}
    assert status(node)[2]["unanswered"] == "5"
