"""Laws between the nodes: as messages, from the controller of two arms, and applied by the simulated plant."""

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from controller_bench import FAILURE, SUCCESS
from impact_aware_msgs.msg import LocalLaw
from node_harness import send, status
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from impact_aware.control import Mode
from impact_aware.control.local_law import LocalLaw as Law
from impact_aware.errors import InvalidInputError
from impact_aware.messages.local_law import law_from_message, law_to_message
from impact_aware.nodes import sim_robot
from impact_aware.nodes.arm_inputs import EffortInput
from impact_aware.nodes.sim_robot import SimRobotNode
from impact_aware.ros.messages import ROS
from impact_aware.simulation import DriveMode
from impact_aware.simulation.sensors import JointReading
from impact_aware.task import load_task, start_posture
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
        ("validity", Duration(), "law.validity: got 0.0, expected 0.002..0.5 s"),
        ("validity", Duration(sec=10), "law.validity: got 10.0, expected 0.002..0.5 s"),
        ("validity", Duration(sec=-1, nanosec=990_000_000), "law.validity: got -0.0099"),
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
def make_plant(make):
    given = {"task": "dual_arm_grab", "start_time": 1.0, "command_interface": "local_law"}
    return lambda **more: make(SimRobotNode, **given, **more)


@pytest.fixture
def plant(make_plant):
    return make_plant()


def test_the_plant_applies_a_law_to_what_its_sensors_show(plant):
    arm, law = plant.arms["right"], made(1)
    q, dq = np.concatenate([np.zeros(N), STARTS[1] + 0.01]), np.concatenate([np.zeros(N), np.full(N, 0.02)])
    reading = JointReading(time=0.0, q=q, dq=dq, effort=np.zeros(14))
    arm.input._receive(sent(law))
    for _ in range(30):
        applied = arm.input.torque(np.full(14, 9.0), reading, 1.03)
    np.testing.assert_allclose(applied, law.torque(q[N:], dq[N:], 1.03))
    assert not arm.input.lapsed(1.0399)
    assert arm.input.lapsed(1.0401)
    assert plant.arms["left"].input.torque(q, reading, 1.03) is None


def test_an_arm_whose_laws_stop_is_damped_and_says_so(plant):
    for index, arm in enumerate(plant.arms.values()):
        arm.input._receive(sent(made(index, validity=0.0405)))
    for _ in range(30):
        plant._step()
    assert set(plant.plant.modes.values()) == {DriveMode.TORQUE}
    assert status(plant)[0] == sim_robot.OK
    for _ in range(300):
        plant._step()
    level, sentence, values = status(plant)
    assert (level, sentence) == (sim_robot.ERROR, "laws stopped: left, right damped")
    assert values["damped"] == "left, right"
    # Of 330 cycles the first 41, at 0 to 40 ms, were within the validity.
    assert values["damped_cycles"] == str(2 * (330 - 41))
    assert np.abs(plant.plant.state.dq).max() < 0.02


@pytest.mark.parametrize(
    "wrong", [made(1, joint_names=tuple("abcdefg")), made(sequence=3), made(sequence=2)], ids=["names", "same", "older"]
)
def test_a_law_that_is_not_the_next_one_of_this_arm_is_dropped_and_counted(plant, wrong):
    commands = plant.arms["left"].input
    commands._receive(sent(made()))
    commands.torque(STARTS[0], plant.plant.reading, 1.0)
    commands._receive(sent(wrong))
    np.testing.assert_array_equal(commands._follower.law.effort, made().effort)
    assert status(plant)[2]["rejected_commands"] == "1"


def test_in_lockstep_the_plant_waits_for_the_first_law_and_no_other(make_plant):
    plant = make_plant(lockstep=True, lockstep_participants=["rs_controller"])
    commands = plant.arms["left"].input
    assert not commands.is_new(1.0)
    commands._receive(sent(made()))
    commands.used()
    assert commands.is_new(1.0)
    assert commands.is_new(9.0)
    commands.forget()
    assert not commands.is_new(1.0)


def test_torques_of_an_arm_that_adds_gravity_are_completed_where_it_truly_is(node):
    own = EffortInput(node, ARMS[1], slice(N, 2 * N), lambda: None, lambda: 3.0)
    command, q = 0.1 * np.arange(N), np.concatenate(STARTS)
    send(node, ARMS[1].topic("effort_controller/commands"), Float64MultiArray(data=command.tolist()))
    shown = JointReading(3.0, q + 0.1, np.zeros(2 * N), np.zeros(2 * N))
    expected = command + ARMS[1].robot.gravity(STARTS[1])
    np.testing.assert_allclose(own.torque(q, shown, 3.0), expected, atol=1e-12)


# The controller


@pytest.fixture
def make_laws(make_bench, sent):
    """Controllers of two arms, each with a function for all its laws so far and the arm of each."""

    def make(**more):
        bench = make_bench("dual_arm_grab", command_interface="local_law", **more)

        def laws() -> list[tuple[int, Law]]:
            found = [(k, law_from_message(own)) for k in (0, 1) for own in sent(bench.node, ARMS[k].topic("local_law"))]
            return sorted(found, key=lambda entry: (entry[1].sequence, entry[0]))

        return bench, laws

    return make


def test_the_controller_publishes_laws_of_each_arm_at_their_rate_and_no_torques(make_laws):
    bench, laws = make_laws(law_rate=200.0, law_validity=0.03)
    bench.activate()
    begin = bench.time
    for _ in range(16):
        bench.state()
    left, right = ([law for index, law in laws() if index == own] for own in (0, 1))
    assert [round(1e3 * (law.stamp - begin)) for law in left] == [1, 6, 11, 16]
    assert [law.sequence for law in right] == [1, 2, 3, 4]
    assert [law.validity for law in left + right] == pytest.approx([0.03] * len(left + right))
    assert {law.mode for law in left + right} == {Mode.ANTE}
    session = bench.node.session
    np.testing.assert_array_equal(np.concatenate([left[-1].effort, right[-1].effort]), session.command.effort)
    np.testing.assert_array_equal(right[-1].position, STARTS[1])
    topics = {own.topic_name for own in bench.node.publishers}
    assert "/left/local_law" in topics
    assert not any("effort_controller" in topic for topic in topics)


def test_another_mode_is_told_at_once_and_so_is_the_safe_mode_without_states(make_laws):
    bench, laws = make_laws(law_rate=50.0, law_validity=0.5)
    bench.activate()
    bench.state()
    bench.state()
    assert [law.mode for _, law in laws()] == [Mode.ANTE] * 2
    bench.impact(0)
    bench.state()
    assert [law.mode for _, law in laws()][2:] == [Mode.INTERIM] * 2
    bench.node.survive(RuntimeError("a mistake"))
    assert [law.mode for _, law in laws()][4:] == [Mode.SAFE] * 2
    damping = laws()[-1][1].velocity_gain
    assert np.linalg.eigvalsh(0.5 * (damping + damping.T)).min() > 0.0


def test_laws_that_end_before_the_next_are_refused_when_configured(make_laws):
    bench, _ = make_laws(law_rate=100.0, law_validity=0.01)
    assert bench.node.trigger_configure() is FAILURE
    assert "law_validity: got 0.01, expected 0.02 s or more, two periods of" in status(bench.node)[1]


def test_nobody_who_applies_laws_is_no_reason_to_move(make_laws):
    bench, _ = make_laws()
    assert bench.node.trigger_configure() is SUCCESS
    bench.field()
    bench.state()
    assert bench.node.trigger_activate() is FAILURE
    assert "is the controller that applies laws loaded?" in status(bench.node)[1]
