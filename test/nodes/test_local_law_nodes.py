"""Laws between the nodes: as messages, from the controller of two arms, and applied by the simulated plant."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, LocalLaw
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from impact_aware.control import Mode
from impact_aware.control.local_law import LocalLaw as Law
from impact_aware.errors import InvalidInputError
from impact_aware.messages.local_law import law_from_message, law_to_message
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes import rs_controller, sim_robot
from impact_aware.nodes.ros.messages import ROS, stamp
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.nodes.sim_robot import SimRobotNode
from impact_aware.simulation import DriveMode
from impact_aware.simulation.sensors import JointReading
from impact_aware.task import load_task, make_field, start_posture
from impact_aware.task.arms import arms_of_task

TASK = load_task("dual_arm_grab")
ARMS = arms_of_task(TASK, "panda")
STARTS = [np.array(start_posture(own, arm.robot)) for own, arm in zip(TASK.arms, ARMS, strict=True)]
N = 7


def made(arm: int = 0, **changes) -> Law:
    """A law of an arm about its start posture, without any symmetry."""
    values = {
        "joint_names": ARMS[arm].robot.joint_names,
        "effort": ARMS[arm].robot.gravity(STARTS[arm]) + 0.1 * np.arange(N),
        "effort_rate": 2.0 - 0.5 * np.arange(N),
        "position_gain": 0.3 * np.arange(49.0).reshape(N, N),
        "velocity_gain": 0.01 * np.arange(49.0).reshape(N, N)[::-1],
        "position": STARTS[arm],
        "velocity": np.linspace(-0.1, 0.2, N),
        "stamp": 1.0,
        "validity": 0.04,
        "sequence": 3,
        "mode": Mode.POST,
    }
    return Law(**(values | changes))


def sent(law: Law) -> LocalLaw:
    """As it comes over DDS."""
    return deserialize_message(serialize_message(law_to_message(law, ROS, frame="panda_link0")), LocalLaw)


# The message


def test_a_law_survives_the_way_through_its_message():
    law = made(stamp=1_700_000_000.125)
    message = sent(law)
    assert (message.header.frame_id, message.header.stamp.nanosec, message.mode) == ("panda_link0", 125_000_000, 3)
    # Row by row: the torque of joint 1 by the position of joint 2.
    assert message.position_gain[1] == pytest.approx(0.3)
    back = law_from_message(message)
    for name, value in vars(law).items():
        np.testing.assert_array_equal(getattr(back, name), value)


def test_gains_that_are_views_are_sent_row_by_row():
    law = made(position_gain=(0.3 * np.arange(49.0).reshape(N, N)).T)
    np.testing.assert_array_equal(law_from_message(sent(law)).position_gain, law.position_gain)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("position_gain", [1.0] * 48, "law.position_gain: got 48 numbers, expected 49, as the law has 7 joints"),
        ("velocity_gain", [np.nan] * 49, "law.velocity_gain: got numbers that are not finite"),
        ("effort", [1.0] * 6, "law.effort: got (6,), expected shape (7,), as the law has 7 joints"),
        ("validity", 0.0, "law.validity: got 0.0, expected 0.002..0.5 s"),
        ("validity", 10.0, "law.validity: got 10.0, expected 0.002..0.5 s"),
        ("validity", np.nan, "law.validity: got nan"),
        ("mode", 9, "law.mode: got 9, expected one of 0, 1, 2, 3, 4, 5"),
    ],
)
def test_a_message_that_is_no_law_is_refused(field, value, sentence):
    message = sent(made())
    setattr(message, field, value)
    with pytest.raises(InvalidInputError) as error:
        law_from_message(message)
    assert sentence in str(error.value)


# The plant


@pytest.fixture
def make_plant(ros_context, monkeypatch):
    made_nodes = []

    def make(**more) -> SimRobotNode:
        settings = sim_robot.Settings(task="dual_arm_grab", start_time=1.0, command_interface="local_law", **more)
        monkeypatch.setattr(sim_robot, "load_settings", lambda node, kind: settings)
        made_nodes.append(SimRobotNode())
        return made_nodes[-1]

    yield make
    for node in made_nodes:
        node.destroy_node()


@pytest.fixture
def plant(make_plant):
    return make_plant()


def test_the_plant_applies_a_law_to_what_its_sensors_show(plant):
    arm, law = plant._arms["right"], made(1)
    q, dq = np.concatenate([np.zeros(N), STARTS[1] + 0.01]), np.concatenate([np.zeros(N), np.full(N, 0.02)])
    reading = JointReading(time=0.0, q=q, dq=dq, effort=np.zeros(14))
    arm.input._receive(sent(law))
    for _ in range(30):
        applied = arm.torque(np.full(14, 9.0), reading, 1.03)
    np.testing.assert_allclose(applied, law.torque(q[N:], dq[N:], 1.03))
    assert not arm.input.lapsed(1.0399)
    assert arm.input.lapsed(1.0401)
    assert plant._arms["left"].torque(q, reading, 1.03) is None


def test_an_arm_whose_laws_stop_is_damped_and_says_so(plant):
    for index, arm in enumerate(plant._arms.values()):
        arm.input._receive(sent(made(index, validity=0.0405)))
    for _ in range(30):
        plant._step()
    assert set(plant._plant.modes.values()) == {DriveMode.TORQUE}
    assert plant._status()[0] == sim_robot.OK
    for _ in range(300):
        plant._step()
    level, sentence, values = plant._status()
    assert (level, sentence) == (sim_robot.ERROR, "laws stopped: left, right damped")
    assert values["damped"] == "left, right"
    # Of 330 cycles the first 41, at 0 to 40 ms, were within the validity.
    assert values["damped_cycles"] == 2 * (330 - 41)
    assert np.abs(plant._plant.state.dq).max() < 0.02


@pytest.mark.parametrize(
    "wrong", [made(1, joint_names=tuple("abcdefg")), made(sequence=3), made(sequence=2)], ids=["names", "same", "older"]
)
def test_a_law_that_is_not_the_next_one_of_this_arm_is_dropped_and_counted(plant, wrong):
    commands = plant._arms["left"].input
    commands._receive(sent(made()))
    commands.torque(STARTS[0], plant._plant.reading, 1.0)
    commands._receive(sent(wrong))
    np.testing.assert_array_equal(commands._follower.law.effort, made().effort)
    assert plant._status()[2]["rejected_commands"] == 1


def test_in_lockstep_the_plant_waits_for_the_first_law_and_no_other(make_plant):
    plant = make_plant(lockstep=True, lockstep_participants=["rs_controller"])
    commands = plant._arms["left"].input
    assert not commands.is_new(1.0)
    commands._receive(sent(made()))
    commands.used()
    assert commands.is_new(1.0)
    assert commands.is_new(9.0)
    commands.forget()
    assert not commands.is_new(1.0)


# The controller


class Bench:
    """A controller of two arms without DDS partners, whose laws are kept."""

    def __init__(self, **more) -> None:
        self.node = RsControllerNode()
        bases = [0.0, 0.35, 0.0, 0.0, 0.0, -0.35, 0.0, 0.0]
        self.node._settings = rs_controller.Settings(
            arms=["left", "right"], robots=["panda"], bases=bases, state_timeout=60.0, command_interface="local_law",
            **more,
        )  # fmt: skip
        self.laws: list[tuple[int, Law]] = []
        self.time = 1.0

    def configure(self) -> bool:
        return self.node.trigger_configure() is TransitionCallbackReturn.SUCCESS

    def state(self) -> None:
        self.time += 1e-3
        for own, start, reader in zip(ARMS, STARTS, self.node._session.states.readers, strict=True):
            message = JointState(name=list(own.robot.joint_names), position=start, velocity=np.zeros(N))
            message.header.stamp = stamp(self.time)
            reader._receive(serialize_message(message))

    def activate(self) -> None:
        assert self.configure()
        for arm in ARMS:
            self.node.create_subscription(LocalLaw, arm.topic("local_law"), print, 1)
        for index, publisher in enumerate(self.node._commands._publishers):
            publisher.publish = lambda message, index=index: self.laws.append((index, law_from_message(message)))
        self.node._on_field(field_to_message(make_field(TASK, [arm.robot for arm in ARMS]), self.time, ROS))
        self.state()
        assert self.node.trigger_activate() is TransitionCallbackReturn.SUCCESS


@pytest.fixture
def make_bench(ros_context):
    made_benches = []

    def make(**more) -> Bench:
        made_benches.append(Bench(**more))
        return made_benches[-1]

    yield make
    for bench in made_benches:
        bench.node.destroy_node()


def test_the_controller_publishes_laws_of_each_arm_at_their_rate_and_no_torques(make_bench):
    bench = make_bench(law_rate=200.0, law_validity=0.03)
    bench.activate()
    begin = bench.time
    for _ in range(16):
        bench.state()
    left, right = ([law for index, law in bench.laws if index == own] for own in (0, 1))
    assert [round(1e3 * (law.stamp - begin)) for law in left] == [1, 6, 11, 16]
    assert [law.sequence for law in right] == [1, 2, 3, 4]
    assert {law.validity for law in left + right} == {0.03}
    assert {law.mode for law in left + right} == {Mode.ANTE}
    session = bench.node._session
    np.testing.assert_array_equal(np.concatenate([left[-1].effort, right[-1].effort]), session.command.effort)
    np.testing.assert_array_equal(right[-1].position, STARTS[1])
    topics = {name for name, _ in bench.node.get_publisher_names_and_types_by_node("rs_controller", "/")}
    assert "/left/local_law" in topics
    assert not any("effort_controller" in topic for topic in topics)


def test_another_mode_is_told_at_once_and_so_is_the_safe_mode_without_states(make_bench):
    bench = make_bench(law_rate=50.0, law_validity=0.5)
    bench.activate()
    bench.state()
    bench.state()
    assert [law.mode for _, law in bench.laws] == [Mode.ANTE] * 2
    event = ImpactEvent(arm="left", sequence=1, kind=ImpactEvent.KIND_CONTACT_MADE)
    event.header.stamp = event.stamp_detected = stamp(bench.time)
    bench.node._session.events._leads = None  # the arms stay at their start
    bench.node._on_impact(0, event)
    bench.state()
    assert [law.mode for _, law in bench.laws][2:] == [Mode.INTERIM] * 2
    bench.node.survive(RuntimeError("a mistake"))
    assert [law.mode for _, law in bench.laws][4:] == [Mode.SAFE] * 2
    damping = bench.laws[-1][1].velocity_gain
    assert np.linalg.eigvalsh(0.5 * (damping + damping.T)).min() > 0.0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"law_rate": 100.0, "law_validity": 0.01}, "law_validity: got 0.01, expected 0.02 s or more, two periods of"),
        ({"law_rate": 20.0}, "law_rate: got 20.0, expected 50..1000 Hz"),
        ({"law_validity": 10.0}, "law_validity: got 10.0, expected 0.002..0.5 s"),
    ],
)
def test_laws_that_can_not_be_are_refused_when_configured(make_bench, settings, sentence, monkeypatch):
    bench, said = make_bench(**settings), []
    # Not by what rcl prints: other tests of this process may have turned it down.
    monkeypatch.setattr(bench.node, "get_logger", lambda: SimpleNamespace(error=said.append))
    assert not bench.configure()
    assert sentence in said[0]


def test_nobody_who_applies_laws_is_no_reason_to_move(make_bench):
    bench = make_bench()
    assert bench.configure()
    bench.node._on_field(field_to_message(make_field(TASK, [arm.robot for arm in ARMS]), bench.time, ROS))
    bench.state()
    assert bench.node.trigger_activate() is TransitionCallbackReturn.FAILURE
    assert "is the controller that applies laws loaded?" in bench.node._complaint
