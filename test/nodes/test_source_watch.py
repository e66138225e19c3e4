"""Reports of the nodes that watch an arm: its source is dead, repeats itself, has no stamps, or shares its topic."""

import numpy as np
import pytest
from impact_aware_msgs.srv import PredictPostImpact
from node_harness import call, joint_state, send, status
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from impact_aware.nodes import joint_state_source
from impact_aware.nodes.command_watchdog import CommandWatchdogNode
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.kuka_fri_relay import KukaFriRelayNode
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.robot import RobotModel
from impact_aware.ros.diagnostics import OK, WARN

ROBOT = RobotModel.from_profile("panda")
HOME = np.array(ROBOT.profile.home)
REPORTED_WITHIN = 1.0  # s: of the issue; half of it goes to the period of the diagnostics
PERIOD_OF_DIAGNOSTICS = 0.5  # s


class SteadyClock:
    """Stands in for the steady clock of the module that reads the states."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


class Arm:
    """A node, its steady clock, and the driver that its states come from."""

    def __init__(self, node, source, clock):
        self.node, self.source, self.clock, self.time, self.padding = node, source, clock, 2.0, 0

    def show(self, position=HOME, velocity=None, effort=(), *, names=ROBOT.joint_names, stamped=True, elapsed=0.001):
        self.clock.now += elapsed
        self.time += elapsed
        velocity = np.zeros(len(position)) if velocity is None else velocity
        message = joint_state(self.time if stamped else 0.0, names, position, velocity, effort)
        self.source().subscription.callback(self._with_other_padding(serialize_message(message)))

    def _with_other_padding(self, serialized):
        """Encoders leave whatever was in memory between the name of a joint and the next length, as CDR allows."""
        _, name, after = serialized.partition(b"panda_joint7\0")
        if not name:
            return serialized
        end = len(serialized) - len(after)
        self.padding = (self.padding + 1) % 256
        return serialized[:end] + bytes([self.padding]) + serialized[end + 1 :]

    @property
    def report(self):
        level, sentence, _ = status(self.node)
        return level, sentence


def _controller():
    node = RsControllerNode()
    node.trigger_configure()
    return node, lambda: node._sources[0]


def _watching(kind, **parameters):
    node = kind(parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()])
    return node, lambda: node._source


MAKERS = {
    "jump_predictor": lambda: _watching(JumpPredictorNode),
    "impact_detector": lambda: _watching(ImpactDetectorNode, joints=list(ROBOT.joint_names), measure_noise=False),
    "rs_controller": _controller,
}


@pytest.fixture(params=MAKERS)
def arm(request, ros_context, monkeypatch):
    clock = SteadyClock()
    monkeypatch.setattr(joint_state_source, "time", clock)
    node, source = MAKERS[request.param]()
    yield Arm(node, source, clock)
    node.destroy_node()


@pytest.fixture
def lines(arm, monkeypatch):
    """Warnings that the node logs."""
    found = []
    monkeypatch.setattr(type(arm.node.get_logger()), "warning", lambda _self, text, **_options: found.append(text))
    return found


def test_a_source_that_died_is_reported_within_a_second_and_forgiven_at_once(arm):
    arm.show()
    assert arm.report[0] == OK
    arm.clock.now += REPORTED_WITHIN - PERIOD_OF_DIAGNOSTICS + 0.01
    level, sentence = arm.report
    assert level == WARN and sentence.startswith("no usable joint_states for 0.5 s: ")
    arm.show()
    assert arm.report[0] == OK


@pytest.mark.parametrize(
    ("velocity", "why", "change"),
    [
        (0.0, "is held by its brakes, or its driver", {"position": HOME + 1e-9}),
        (0.3, "its driver", {"effort": np.full(7, 1e-9)}),
    ],
)
def test_a_repeated_state_with_new_stamps_is_reported_by_what_it_can_be(arm, velocity, why, change):
    for _ in range(550):
        arm.show(velocity=np.full(7, velocity), elapsed=0.004)
    level, sentence = arm.report
    assert level == WARN and "have not changed for 2 s" in sentence
    assert why in sentence and ("brakes" in sentence) == (velocity == 0.0)
    # The last bit of one encoder, or of a torque sensor, is enough.
    arm.show(velocity=np.full(7, velocity), **change)
    assert "changed" not in arm.report[1]


def test_a_silence_is_logged_once(arm, lines):
    arm.show()
    for _ in range(20):
        arm.clock.now += PERIOD_OF_DIAGNOSTICS
        status(arm.node)
    assert [line.partition(":")[0] for line in lines] == ["no /joint_states for 5 s"]


def test_states_without_stamps_are_reported_and_logged_once(arm, lines):
    for cycle in range(10):
        arm.show(HOME + 1e-3 * cycle, stamped=False)
    assert arm.report == (WARN, joint_state_source.NO_STAMPS)
    assert lines.count(joint_state_source.NO_STAMPS) == 1
    arm.show()
    assert arm.report[0] == OK


def test_a_message_of_very_many_names_is_refused_before_it_is_read(arm, monkeypatch):
    names = [f"joint_{number}" for number in range(joint_state_source.MOST_NAMES + 1)]
    monkeypatch.setattr(joint_state_source, "decoded", lambda *_: pytest.fail("read"))
    arm.show(np.zeros(len(names)), names=names)
    assert arm.report[0] == WARN and "joint_states has 1001 names, expected 1000 at most" in arm.report[1]


def test_a_gripper_on_the_topic_of_the_arm_is_left_alone(arm, lines):
    for cycle in range(1200):
        arm.show(HOME + 1e-3 * np.sin(0.01 * cycle))
        if cycle % 33 == 0:
            arm.show([0.02, 0.02], names=["finger_joint1", "finger_joint2"], elapsed=0.0)
    assert (arm.report[0], lines) == (OK, [])
    # Alone it is no arm.
    arm.clock.now += 2.0
    arm.show([0.02, 0.02], names=["finger_joint1", "finger_joint2"], elapsed=0.0)
    assert arm.report[0] == WARN and "lacks panda_joint1" in arm.report[1]
    assert len(lines) == 1


def test_a_request_without_a_state_is_answered_from_a_recent_one_only(ros_context, monkeypatch):
    clock = SteadyClock()
    monkeypatch.setattr(joint_state_source, "time", clock)
    node, source = _watching(JumpPredictorNode, state_timeout=0.2)
    arm = Arm(node, source, clock)

    def ask(**state):
        return call(node, "predict_post_impact", PredictPostImpact.Request(**state))

    arm.show()
    clock.now += 0.19
    assert ask().success
    clock.now += 17.41
    answer = ask()
    assert not answer.success
    assert "state_timeout, 0.2 s: the last joint_states came 17.6 s ago" in answer.message
    assert ask(position=HOME, velocity=np.zeros(7)).success
    node.destroy_node()


@pytest.mark.parametrize("seed", range(3))
def test_arrival_times_in_place_of_stamps_make_no_impacts(ros_context, monkeypatch, seed):
    generator = np.random.default_rng(seed)
    node, _ = _watching(ImpactDetectorNode, joints=list(ROBOT.joint_names), measure_noise=False)
    published = []
    monkeypatch.setattr(node._publisher, "publish", published.append)
    period, late = 0.004, 0.0
    for cycle in range(2500):
        true = period * cycle
        # Some messages wait for the processor, and the next ones come right after them.
        late = max(0.0, late - period, generator.exponential(0.01) if generator.random() < 0.01 else 0.0)
        arrival = 10.0 + true + late + generator.exponential(2e-4)
        monkeypatch.setattr(node, "get_clock", lambda arrival=arrival: _ClockAt(arrival))
        position = HOME + 0.3 * np.sin(np.arange(1, 8) * 0.7 * true)
        send(node, "joint_states", JointState(name=list(ROBOT.joint_names), position=position.tolist()))
    assert [event.header.stamp for event in published] == []
    node.destroy_node()


class _ClockAt:
    """A clock that stands at a time."""

    def __init__(self, time):
        self.nanoseconds = round(time * 1e9)

    def now(self):
        return self


@pytest.mark.parametrize(
    ("kind", "given", "line"),
    [
        (RsControllerNode, {}, "waiting for: ros2 lifecycle set /rs_controller configure"),
        (
            CommandWatchdogNode,
            {"controllers": ["effort_controller"]},
            "waiting for the first command on /effort_controller/commands",
        ),
        (
            KukaFriRelayNode,
            {"robot": "kuka_lwr4"},
            "waiting for torques on /kuka_fri_relay/commands and for joint_states",
        ),
    ],
)
def test_a_node_alone_logs_what_it_waits_for(make, monkeypatch, kind, given, line):
    lines = []
    monkeypatch.setattr(RcutilsLogger, "info", lambda _self, text, **_options: lines.append(text))
    make(kind, **given)
    assert line in lines
