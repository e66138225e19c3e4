"""Calls of what answers each message: a state at the controller and at the detector, a law, a request."""

import time
from functools import partial

import numpy as np
import pytest
from impact_aware_msgs.msg import ControllerState
from impact_aware_msgs.srv import PredictPostImpact
from node_harness import call, joint_state, send
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from std_srvs.srv import Empty

from impact_aware.control import ControlSession, Mode, warm_up
from impact_aware.control.local_law import LawFollower, LawSource, LocalLaw
from impact_aware.detection import JointSample
from impact_aware.detection.watch_settings import WatchSettings, make_watch
from impact_aware.franka.channel import Channel
from impact_aware.messages.reference_field import field_to_message
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.robot import RobotModel
from impact_aware.ros.messages import ROS
from impact_aware.ros.runtime import make_executor
from impact_aware.task import load_task, make_field, start_posture

ROBOT = RobotModel.from_profile("panda")
TASK = load_task("hit_and_push")
START = np.array(start_posture(TASK.arms[0], ROBOT))
HELD = ROBOT.gravity(START)

MOST_OVER_EMPTY = 3.6
"""Processor time of `predict_post_impact`, in empty services, where neither waits for the other's process."""


def median(counts):
    return sorted(counts)[len(counts) // 2]


def test_calls_from_joint_states_to_torque(ros_context, calls):
    """The callback of a state, and of every tenth one, which is followed by a report."""
    node, watcher = RsControllerNode(), Node("watcher")
    watcher.create_subscription(ControllerState, "controller_state", lambda _report: None, 10)
    try:
        node.trigger_configure()
        session = node.session
        session.states.readers[0].effort[:] = 0.0
        receive = session.states.readers[0].subscription.callback
        send(node, "reference_field", field_to_message(make_field(TASK, [ROBOT]), 1.0, ROS))
        now = 1.0

        def state():
            nonlocal now
            now += 0.001
            serialized = serialize_message(joint_state(now, ROBOT.joint_names, START, np.zeros(7), HELD))
            return calls(lambda: receive(serialized))

        state()
        node.trigger_activate()
        session.start()
        counts = {}
        for mode in (Mode.ANTE, Mode.INTERIM, Mode.POST):
            if mode is Mode.INTERIM:
                session.events.notify_impact(now, now, anywhere=True)
            seen = [(state(), session.command.mode) for _ in range(60)]
            counts[mode] = median([count for count, there in seen if there is mode])
            if mode is Mode.INTERIM:
                while session.mode is Mode.INTERIM:
                    state()
        assert max(counts.values()) <= 210, counts
        reported = sorted(state() for _ in range(60))[-6:]
        assert median(reported) <= 470, reported
    finally:
        watcher.destroy_node()
        node.destroy_node()


@pytest.mark.parametrize(
    ("detector", "most"), [("adaptive_window", 135), ("acceleration", 42), ("momentum_observer", 75), ("fusion", 185)]
)
def test_calls_of_a_detectors_sample(calls, detector, most):
    made = make_watch(7, WatchSettings(detector=detector), robot=ROBOT)
    generator, counts = np.random.default_rng(0), []
    for k in range(400):
        noise = 1e-5 * generator.normal(size=(3, 7))
        sample = JointSample(1e-3 * k, START + noise[0], noise[1], ROBOT.gravity(START) + noise[2])
        counts.append(calls(lambda sample=sample: made.update(sample)))
    assert median(counts) <= most


def test_calls_of_a_law_that_is_applied(calls):
    session = ControlSession(ROBOT, field=make_field(TASK, [ROBOT]))
    warm_up(session)
    session.start(0.0, START, check=False)
    source, zeros = LawSource(session), np.zeros(7)
    follower, counts = LawFollower(ROBOT), []
    for k in range(1, 100):
        session.cycle(1e-3 * k, START, zeros)
        for law in source.laws():
            follower.receive(law)
        sent = follower.filter.previous.copy()
        counts.append(calls(lambda k=k, sent=sent: follower.apply(START, zeros, 1e-3 * k, sent)))
    assert median(counts[20:]) <= 23


def test_calls_of_a_law_that_the_driver_takes(calls):
    node = Channel()
    driver, follower, counts = Channel(node.fds), LawFollower(ROBOT), []
    vector, square = np.zeros(7), np.zeros((7, 7))
    for k in range(1, 20):
        arrays = vector, vector, square, square, vector, vector
        node.put_law(LocalLaw(ROBOT.joint_names, *arrays, 1e-3 * k, 0.03, k, Mode.HOLD))
        counts.append(calls(lambda: follower.receive(driver.take_law(ROBOT.joint_names))))
    node.close()
    assert follower.law.sequence == 19
    assert median(counts) <= 20


@pytest.fixture
def predictor(ros_context):
    node = JumpPredictorNode()
    yield node
    node.destroy_node()


def request(**fields):
    velocity = [0.1 * (-1.0) ** joint for joint in range(ROBOT.n)]
    return PredictPostImpact.Request(position=ROBOT.home, velocity=velocity, **fields)


@pytest.mark.parametrize(("fields", "most"), [({}, 140), ({"details": 1}, 480), ({"details": 2}, 1480)])
def test_calls_of_an_answer_to_a_request(predictor, calls, fields, most):
    asked = request(**fields)
    answers = [call(predictor, "predict_post_impact", asked) for _ in range(3)]
    assert all(answer.success for answer in answers)
    (service,) = [own for own in predictor.services if own.srv_name == "predict_post_impact"]
    answer = service.callback
    assert calls(lambda: answer(asked, PredictPostImpact.Response())) <= most


def test_size_and_calls_of_a_request_and_its_answer_on_the_way(predictor, calls):
    """Every nested message, and every array of fixed size, takes about 20 calls."""
    asked = request()
    answer = call(predictor, "predict_post_impact", asked)
    for message, bytes_most, calls_most in ((asked, 220, 55), (answer, 310, 34)):
        serialized, kind = serialize_message(message), type(message)
        assert len(serialized) <= bytes_most
        assert calls(partial(deserialize_message, serialized, kind)) <= calls_most


def test_a_round_trip_of_a_request_beside_an_empty_one(ros_context, predictor):
    """Processor time of client, node and their executor in one thread, in turn."""
    client, other = Node("client"), Node("empty")
    other.create_service(Empty, "empty", lambda _request, response: response)
    works = {
        "empty": (client.create_client(Empty, "empty"), Empty.Request()),
        "predict": (client.create_client(PredictPostImpact, "predict_post_impact"), request()),
    }
    executor = make_executor()
    list(map(executor.add_node, (predictor, client, other)))
    try:
        assert all(service.wait_for_service(10.0) for service, _ in works.values())
        times = {name: [] for name in works}
        for _ in range(600):
            for name, (service, asked) in works.items():
                begun = time.thread_time()
                executor.spin_until_future_complete(service.call_async(asked), 10.0)
                times[name].append(time.thread_time() - begun)
        assert median(times["predict"]) <= MOST_OVER_EMPTY * median(times["empty"])
    finally:
        executor.shutdown()
        client.destroy_node()
        other.destroy_node()
