"""Detector and predictor as nodes, over DDS: joint states of a simulated impact in, everything about the impact out."""


import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from patience import until
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_aware.estimation import estimate
from impact_aware.messages.stamps import seconds
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.ros.messages import stamp
from impact_aware.nodes.ros.qos import EVENT_QOS, state_qos
from impact_aware.robot import RobotModel
from impact_aware_rigs.bench.detection_trials import MeasurementNoise, simulate_trial

ROBOT = RobotModel.from_profile("panda")
LONGEST = 20.0
"""Wall time after which the test gives up, s."""


class Driver(Node):
    """Publishes the states and collects the answers."""

    def __init__(self) -> None:
        super().__init__("driver")
        self.states = self.create_publisher(JointState, "joint_states", state_qos(True))
        self.events: list[ImpactEvent] = []
        self.predictions: list[ImpactPrediction] = []
        self.create_subscription(ImpactEvent, "impacts", self.events.append, EVENT_QOS)
        self.create_subscription(ImpactPrediction, "predicted_jumps", self.predictions.append, EVENT_QOS)


@pytest.fixture
def graph(make):
    """Both nodes and a driver in one executor; they hear each other through DDS only."""
    common = {"robot": "panda", "normal": [0.0, 0.0, 1.0], "lockstep": True}
    made = [make(ImpactDetectorNode, **common)]
    made.append(make(JumpPredictorNode, friction=0.3, surface_point=[0.0, 0.0, -9.0], **common))
    driver = Driver()
    executor = SingleThreadedExecutor()
    for node in (*made, driver):
        executor.add_node(node)
    yield executor, driver
    executor.shutdown()
    driver.destroy_node()


def spin_until(executor, done, longest=LONGEST):
    return until(done, lambda: executor.spin_once(timeout_sec=0.05), longest)


def test_an_impact_is_told_once_judged_estimated_and_declared_complete(graph):
    executor, driver = graph
    trial = simulate_trial(ROBOT, "rigid_table", 510).measured(MeasurementNoise(), 1)
    assert spin_until(executor, lambda: driver.states.get_subscription_count() >= 2)
    assert spin_until(
        executor, lambda: driver.count_publishers("impacts") and driver.count_publishers("predicted_jumps")
    )
    # The joints come to rest after the trial, so that the contact is complete.
    late = np.arange(1.0, 200.0) * 1e-3
    times = np.concatenate((trial.times, trial.times[-1] + late))
    rest = trial.positions[-1] + 0.03 * np.outer(1.0 - np.exp(-late / 0.03), trial.velocities[-1])
    positions = np.concatenate((trial.positions, rest))
    velocities = np.concatenate((trial.velocities, np.outer(np.exp(-late / 0.03), trial.velocities[-1])))
    for instant, position, velocity in zip(times, positions, velocities, strict=True):
        message = JointState(name=list(ROBOT.joint_names), position=position, velocity=velocity)
        message.header.stamp = stamp(2.0 + instant)
        driver.states.publish(message)
        # One state after the other, as a robot sends them: everything that follows from it comes before the next.
        for _ in range(4):
            executor.spin_once(timeout_sec=0.002)

    def complete() -> bool:
        kinds = [event.kind for event in driver.events]
        sources = [prediction.source for prediction in driver.predictions]
        return ImpactEvent.KIND_CONTACT_COMPLETE in kinds and ImpactPrediction.SOURCE_ESTIMATE in sources

    assert spin_until(executor, complete)
    first = 2.0 + trial.impact_times[0]
    made = [event for event in driver.events if event.kind == ImpactEvent.KIND_CONTACT_MADE]
    assert [(event.sequence, event.meaning) for event in made[:2]] == [
        (1, ImpactEvent.MEANING_UNKNOWN),
        (1, ImpactEvent.MEANING_EXPECTED),
    ]
    assert first < seconds(made[0].stamp_detected) < first + 5e-3
    # One prediction per impact, though every impact came twice.
    at_impact = [p for p in driver.predictions if p.source == ImpactPrediction.SOURCE_AT_IMPACT]
    assert [p.event_sequence for p in at_impact] == sorted({event.sequence for event in made})
    found = next(p for p in driver.predictions if p.source == ImpactPrediction.SOURCE_ESTIMATE)
    assert found.event_sequence == 1
    np.testing.assert_array_equal(found.velocity_after, at_impact[0].velocity_after)
    impact_time = seconds(made[0].header.stamp)
    later = [seconds(event.header.stamp) for event in made if event.sequence > 1]
    offline = estimate(
        2.0 + times,
        positions,
        impact_time,
        impact_time_error=seconds(made[0].time_standard_error),
        until=min([impact_time + 0.06 + 1e-6, *later]),
    )
    # Stamps travel as whole nanoseconds, and one state more or less may be in the window.
    np.testing.assert_allclose(found.velocity_estimated, offline.velocity_after, atol=5e-3)
    jump = np.linalg.norm(trial.jump)
    # The trial's controller pushes on with up to 20 rad/s^2, and the predictor guesses the friction.
    assert np.linalg.norm(np.array(found.velocity_estimated) - found.velocity_after) < jump
