"""The detector node on simulated joint states: what it publishes, in which order, and what it survives."""

from functools import partial

import numpy as np
import pytest
from impact_aware_msgs.msg import ImpactEvent, ImpactPrediction
from node_harness import joint_state
from std_msgs.msg import String

from impact_aware.contact import Contact
from impact_aware.impact import predict
from impact_aware.messages.impact_event import event_from_message
from impact_aware.messages.impact_prediction import impact_to_message, predicted_impact
from impact_aware.messages.stamps import seconds
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.robot import RobotModel, load_profile
from impact_aware.ros.messages import ROS
from impact_aware_rigs.bench.detection_trials import MeasurementNoise, simulate_trial

ROBOT = RobotModel.from_profile("panda")
NAMES = list(ROBOT.joint_names)
PERIOD = 1e-3
TRIAL = simulate_trial(ROBOT, "rigid_table", 510).measured(MeasurementNoise(), 1)


@pytest.fixture
def make_node(harness):
    return partial(harness, ImpactDetectorNode)


def state(time, position, velocity=(), effort=(), names=NAMES):
    return joint_state(time, names, position, velocity, effort)


def feed(node, trial=TRIAL, answer=None, start=2.0):
    """Feed a trial; `answer` gives predictions at every published impact."""
    answered, published = 0, node.sent("impacts")
    for row in zip(trial.times, trial.positions, trial.velocities, trial.efforts, strict=True):
        node.send("joint_states", state(start + row[0], *row[1:]))
        while answer is not None and answered < len(published):
            message = published[answered]
            answered += 1
            if message.kind == ImpactEvent.KIND_CONTACT_MADE and message.meaning == ImpactEvent.MEANING_UNKNOWN:
                node.send("predicted_jumps", answer(message))
    return published


FINGER = """<link name="{name}"><inertial><mass value="0.05"/>
  <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}_joint" type="prismatic"><parent link="{hand}"/><child link="{name}"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="0.04" effort="20" velocity="0.2"/></joint>"""


def test_beside_a_robot_description_alone_the_arm_is_found_by_name_and_its_motor_inertia_is_unknown(harness, capfd):
    urdf = load_profile("panda").urdf.read_text()
    fingers = [FINGER.format(name=name, hand=ROBOT.profile.tool.mount_frame) for name in ("one", "other")]
    urdf = urdf.replace("</robot>", "".join([*fingers, "</robot>"]))
    detector = harness(ImpactDetectorNode, from_description=True, normal=[0.0, 0.0, 1.0])
    predictor = harness(JumpPredictorNode, robot="")
    assert not detector.listens("joint_states")
    assert detector.status()[1] == predictor.status()[1] == "waiting for robot_description"
    for node in (detector, predictor):
        node.send("robot_description", String(data=urdf))
    for time, position, velocity in zip(TRIAL.times, TRIAL.positions, TRIAL.velocities, strict=True):
        names = ["one_joint", *reversed(NAMES)]
        detector.send("joint_states", state(2.0 + time, [0.01, *position[::-1]], [0.0, *velocity[::-1]], names=names))
    impact = detector.sent("impacts")[0]
    assert (impact.joint_names, impact.header.frame_id) == (NAMES, "panda_link0")
    predictor.send("impacts", impact)
    prediction = predictor.sent("predicted_jumps")[-1]
    assert prediction.valid and prediction.inertia == ImpactPrediction.INERTIA_M
    said = capfd.readouterr().err
    assert said.count("a URDF has no motor inertia") == 2 and "one_joint, other_joint of robot_desc" in said


@pytest.mark.parametrize("described", [True, False])
def test_heartbeats_begin_once_the_detector_watches(harness, monkeypatch, described):
    """What takes long at the start would be a pause between two of them, which stops an arm."""
    begun = []
    monkeypatch.setattr(
        "impact_aware.nodes.impact_detector.HeartbeatSender", lambda node, topics: begun.append(node.watch is not None)
    )
    given = {"from_description": True} if described else {"joints": NAMES}
    detector = harness(ImpactDetectorNode, normal=[0.0, 0.0, 1.0], **given)
    if described:
        assert begun == []
        detector.send("robot_description", String(data=load_profile("panda").urdf.read_text()))
    assert begun == [True]


def at_impact(normal):
    """What a predictor with that normal answers to an impact."""

    def answer(message):
        event = event_from_message(message)
        contact = Contact(ROBOT.tool_frame, np.array(normal), radius=ROBOT.tool_radius, friction=0.3)
        prediction = predict(ROBOT, event.position, event.velocity_before, contact)
        impact = predicted_impact(
            prediction,
            time=event.time,
            source="at_impact",
            frame="base",
            joint_names=NAMES,
            position=event.position,
            event_sequence=message.sequence,
        )
        return impact_to_message(impact, ROS)

    return answer


def of_kind(messages, kind):
    return [message for message in messages if message.kind == kind]


@pytest.mark.parametrize(
    ("normal", "meaning"),
    [((0.0, 0.0, 1.0), ImpactEvent.MEANING_EXPECTED), ((0.8, 0.0, 0.6), ImpactEvent.MEANING_UNEXPECTED)],
)
def test_meaning_comes_with_the_same_event_again(make_node, normal, meaning):
    node = make_node(robot="panda", normal=[0.0, 0.0, 1.0])
    first = TRIAL.impact_times[0] + 2.0
    made = of_kind(feed(node, answer=at_impact(normal)), ImpactEvent.KIND_CONTACT_MADE)
    assert [(message.sequence, message.meaning) for message in made[:2]] == [(1, 0), (1, meaning)]
    assert first < seconds(made[0].stamp_detected) < first + 5e-3
    for field in ("header", "stamp_detected", "position", "velocity_before", "first_joint"):
        assert np.array_equal(getattr(made[0], field), getattr(made[1], field))


def test_without_a_prediction_the_meaning_stays_open(make_node):
    made = of_kind(feed(make_node(robot="panda")), ImpactEvent.KIND_CONTACT_MADE)
    assert [message.sequence for message in made] == sorted({message.sequence for message in made})
    assert {message.meaning for message in made} == {ImpactEvent.MEANING_UNKNOWN}


def quiet_after(trial, until=0.4):
    """The same joints, coming to rest after the trial's end."""
    count = round((until - trial.times[-1]) / PERIOD)
    late = np.arange(1.0, count + 1.0) * PERIOD
    rest = trial.positions[-1] + trial.velocities[-1] * 0.03 * (1.0 - np.exp(-late / 0.03))[:, None]
    return trial.times[-1] + late, rest


def test_sequence_of_impacts_is_told_to_be_over(make_node):
    node = make_node()
    feed(node)
    for time, position in zip(*quiet_after(TRIAL), strict=True):
        node.send("joint_states", state(2.0 + time, position))
    (complete,) = of_kind(node.sent("impacts"), ImpactEvent.KIND_CONTACT_COMPLETE)
    made = of_kind(node.sent("impacts"), ImpactEvent.KIND_CONTACT_MADE)
    assert complete.sequence == made[-1].sequence + 1
    assert seconds(complete.stamp_detected) > seconds(made[-1].stamp_detected)


def test_everything_can_be_turned_off(make_node):
    node = make_node(expectation=False, completion=False, bounce=False, measure_noise=False)
    messages = feed(node, answer=at_impact((0.0, 0.0, 1.0)))
    assert {message.kind for message in messages} == {ImpactEvent.KIND_CONTACT_MADE}


@pytest.mark.parametrize("detector", ["fusion", "momentum_observer", "sensitive_joint"])
def test_detectors_by_name(make_node, detector):
    node = make_node(detector=detector, robot="panda", normal=[0.0, 0.0, 1.0])
    first = TRIAL.impact_times[0] + 2.0
    made = of_kind(feed(node), ImpactEvent.KIND_CONTACT_MADE)
    assert first < seconds(made[0].stamp_detected) < first + 5e-3
    assert made[0].detector == detector


def test_bad_input_is_counted_and_never_raised(make_node):
    node = make_node(measure_noise=False)
    good = TRIAL.positions[0]
    node.send("joint_states", state(1.0, good))
    for message in (
        state(1.001, good[:5]),
        state(1.002, []),
        state(1.003, np.full(7, np.nan)),
        state(1.004, good, [np.inf] * 7, [np.nan] * 3),
        state(1.005, good + 2.0 * np.pi),
        state(0.2, good),
        state(0.201, good, names=NAMES[:3]),
        state(0.0, good),
    ):
        node.send("joint_states", message)
    assert node.sent("impacts") == []
    _, _, values = node.status()
    assert sum(int(count) for key, count in values.items() if key.startswith("rejected")) == 4
    assert int(values["samples: backwards"]) >= 1


def test_slow_source_is_named_in_the_diagnostics(make_node):
    node = make_node()
    for index in range(120):
        node.send("joint_states", state(1.0 + index / 30.0, TRIAL.positions[0] + 0.01 * index))
    level, sentence, values = node.status()
    assert "30 Hz" in sentence and level != b"\x00"
    assert float(values["rate"]) == pytest.approx(30.0, rel=1e-3)
