"""What a recording tells besides the joints: live predictions and TF frames."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from impact_aware.bags.bag import Bag
from impact_aware.bags.message_types import RECORDED
from impact_aware.bags.recorded_predictions import RecordedFrames
from impact_aware.contact.box import homogeneous_box
from impact_aware.contact.geometry import Contact
from impact_aware.impact.prediction import ImpactPrediction
from impact_aware.impact.predictor import predict
from impact_aware.messages.impact_prediction import SOURCES, impact_to_message, predicted_impact
from impact_aware.recordings.impact_analysis import analyze
from impact_aware.recordings.options import AnalysisOptions
from impact_aware.robot import RobotModel

STORE = get_typestore(Stores.ROS2_JAZZY)
for _name in ("ContactImpulse", "ImpactPrediction"):
    _path = Path(__file__).resolve().parents[2] / "msg" / "msg" / f"{_name}.msg"
    STORE.register(get_types_from_msg(_path.read_text(), f"impact_aware_msgs/msg/{_name}"))
T = STORE.types
JOINT_STATE, PREDICTION, TF = (
    "sensor_msgs/msg/JointState",
    "impact_aware_msgs/msg/ImpactPrediction",
    "tf2_msgs/msg/TFMessage",
)
IMPACT = 0.6004
FRICTION, MASS = 0.3, 2.2
NORMAL = np.array([0.6, 0.0, 0.8])


def header(time: float, frame: str = "") -> Any:
    return T["std_msgs/msg/Header"](T["builtin_interfaces/msg/Time"](*divmod(round(time * 1e9), 10**9)), frame)


def three(values: Iterable[float], kind: str = "Vector3") -> Any:
    return T[f"geometry_msgs/msg/{kind}"](*map(float, values))


def transform(time: float, parent: str, child: str, place: Iterable[float], quaternion: Iterable[float]) -> Any:
    pose = T["geometry_msgs/msg/Transform"](three(place), T["geometry_msgs/msg/Quaternion"](*quaternion))
    return T["geometry_msgs/msg/TransformStamped"](header(time, parent), child, pose)


def prediction_message(robot: RobotModel, result: ImpactPrediction, time: float, source: int) -> Any:
    impact = predicted_impact(
        result, source=[*SOURCES][source], time=time, position=robot.home, joint_names=robot.joint_names,
        time_to_impact=0.0, object_name="box",
    )  # fmt: skip
    return impact_to_message(impact, RECORDED)


@pytest.fixture(scope="module")
def predicted(robot: RobotModel) -> ImpactPrediction:
    contact = Contact("tool", NORMAL, friction=FRICTION, radius=robot.tool_radius)
    before = np.linalg.pinv(robot.frame_jacobian(robot.home)[:3]) @ np.array([-0.3, 0.1, -0.2])
    box = homogeneous_box(MASS, [0.1, 0.1, 0.1], [0.4, 0.0, 0.3])
    return predict(robot, robot.home, before, contact, obstacle=box)


def write_bag(path: Path, robot: RobotModel, result: ImpactPrediction, jump: Any, sources: Iterable[int] = ()) -> Path:
    """The arm moves evenly, and its velocity jumps once; predictions of that impact, and a table in TF."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:

        def put(connection: Any, time: float, message: Any, kind: str) -> None:
            writer.write(connection, round(time * 1e9), bytes(STORE.serialize_cdr(message, kind)))

        states = writer.add_connection("/joint_states", JOINT_STATE, typestore=STORE)
        frames = writer.add_connection("/tf_static", TF, typestore=STORE)
        moving = writer.add_connection("/tf", TF, typestore=STORE)
        predictions = writer.add_connection("/predicted_jumps", PREDICTION, typestore=STORE) if sources else None
        half = np.sqrt(0.5)
        # The table's plate stands on end: its z axis is x of the world, and the world is turned by a cart under way.
        static = transform(0.0, "cart", "plate", (1.0, 0.0, 0.0), (0.0, half, 0.0, half))
        put(frames, 0.0, T[TF]([static]), TF)
        for time, quaternion in (
            (0.1, (0.0, 0.0, 0.0, 1.0)),
            (0.5, (0.0, 0.0, half, half)),
            (0.9, (0.0, 0.0, 0.0, 1.0)),
        ):
            put(moving, time, T[TF]([transform(time, robot.base_frame, "cart", (0.0, 0.0, 0.0), quaternion)]), TF)
        for time in np.arange(0.001, 1.2, 0.001):
            since = time - IMPACT
            position = robot.home + result.velocity_before * since + jump * max(since, 0.0)
            position = np.round(position / 1e-5) * 1e-5
            message = T[JOINT_STATE](header(time), list(robot.joint_names), position, np.zeros(0), np.zeros(0))
            put(states, time, message, JOINT_STATE)
        for source in sources:
            assert predictions is not None
            time = 0.55 if source == 0 else 0.601
            put(predictions, time, prediction_message(robot, result, time, source), PREDICTION)
    return path


@pytest.mark.parametrize("source", [0, 1])
def test_a_live_prediction_gives_contact_and_expectation(
    robot: RobotModel, predicted: ImpactPrediction, tmp_path: Path, source: int
) -> None:
    bag = write_bag(tmp_path / "bag", robot, predicted, predicted.jump, [source])
    (impact,) = analyze([bag], AnalysisOptions(robot="panda")).impacts
    assert impact.expected is True
    assert impact.normal_source == "prediction" and impact.prediction is not None
    np.testing.assert_allclose(impact.prediction.contact.normal, NORMAL)
    assert impact.prediction.contact.friction == FRICTION
    # From the momentum that the message says the box takes up.
    assert impact.prediction.obstacle.mass == pytest.approx(MASS)
    assert impact.velocity_after_predicted is not None
    np.testing.assert_allclose(impact.velocity_after_predicted, predicted.velocity_after, atol=5e-3)


def test_another_jump_than_the_predicted_one_is_unexpected(
    robot: RobotModel, predicted: ImpactPrediction, tmp_path: Path
) -> None:
    other = np.array([0.4, 0.0, -0.5, 0.1, 0.6, 0.0, -0.4])
    bag = write_bag(tmp_path / "bag", robot, predicted, other, [0])
    (impact,) = analyze([bag], AnalysisOptions(robot="panda")).impacts
    assert impact.expected is False


def test_without_predictions_nobody_knows(robot: RobotModel, predicted: ImpactPrediction, tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", robot, predicted, predicted.jump)
    (impact,) = analyze([bag], AnalysisOptions(robot="panda")).impacts
    assert impact.expected is None and impact.normal_source == "jump"


def test_the_normal_of_a_tf_frame_is_that_at_the_impact(
    robot: RobotModel, predicted: ImpactPrediction, tmp_path: Path
) -> None:
    bag = write_bag(tmp_path / "bag", robot, predicted, predicted.jump)
    (impact,) = analyze([bag], AnalysisOptions(robot="panda", surface_frame="plate")).impacts
    assert impact.normal_source == "tf" and impact.prediction is not None
    # The plate's z is the cart's x, which had turned to the base's y half a second in.
    np.testing.assert_allclose(impact.prediction.contact.normal, [0.0, 1.0, 0.0], atol=1e-12)
    with Bag(bag) as opened:
        frames = RecordedFrames(opened, [0.05, IMPACT, 1.0])
    assert frames.names == ("cart", robot.base_frame, "plate")
    assert frames.pose(robot.base_frame, "plate", 0.05) is None
    later = frames.pose(robot.base_frame, "plate", 1.0)
    assert later is not None
    np.testing.assert_allclose(later.rotation[:, 2], [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(later.translation, [1.0, 0.0, 0.0], atol=1e-12)
