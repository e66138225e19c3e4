"""A recording in a viewer that knows no robot: description and TF alone must place every link."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability

from impact_aware.messages.geometry import quaternion, vector
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.transform_buffer import TransformBuffer, checked_pose


def assert_drawn(bag: Path, fixed_frame: str, bases: dict[str, pin.SE3]) -> None:
    """Every link of each `robot_description` stands in the fixed frame where the recorded joints have it.

    Args:
        bag: The recording.
        fixed_frame: The viewer's.
        bases: Pose of the base of each arm in it, by the arm's namespace and prefix, such as `left/`.
    """
    with AnyReader([bag]) as reader:
        latched = [own for own in reader.connections if own.topic.endswith(("/tf_static", "/robot_description"))]
        assert {own.ext.offered_qos_profiles[0].durability for own in latched} == {QosDurability.TRANSIENT_LOCAL}
        buffer, latest, texts = TransformBuffer(), {}, {}
        for connection, _, data in reader.messages():
            message = topic = connection.topic
            if topic.endswith(("/tf", "/tf_static", "/joint_states", "/robot_description")):
                message = reader.deserialize(data, connection.msgtype)
            if topic.endswith("/robot_description"):
                texts[topic[1:].removesuffix("robot_description")] = message.data
            elif topic.endswith("/joint_states"):
                latest[topic[1:].removesuffix("joint_states"), stamp_seconds(message)] = message
            elif topic in ("/tf", "/tf_static"):
                for own in message.transforms:
                    part = own.transform
                    pose = checked_pose(vector(part.translation), quaternion(part.rotation), "transform")
                    parent, child = own.header.frame_id, own.child_frame_id
                    buffer.add(parent, child, stamp_seconds(own), pose, static=topic == "/tf_static")
                    last = stamp_seconds(own)
    assert texts.keys() == bases.keys()
    for prefix, text in texts.items():
        model = pin.buildModelFromXML(text)
        data, places = model.createData(), 0
        for (namespace, time), state in list(latest.items())[::97]:
            if namespace != prefix or time > last:
                continue
            q = pin.neutral(model)
            for name, value in zip(state.name, state.position, strict=True):
                q[model.joints[model.getJointId(name)].idx_q] = value
            pin.framesForwardKinematics(model, data, q)
            for link in (own.get("name") for own in ElementTree.fromstring(text).iterfind("link")):
                wanted = bases[prefix] * data.oMf[model.getFrameId(link)]
                try:
                    found = buffer.pose(fixed_frame, prefix + link, time)
                except Exception as error:
                    raise AssertionError(f"{prefix}{link} at {time}: {error}") from error
                # Between two poses, 1/60 s apart, a viewer interpolates.
                assert np.abs(found.translation - wanted.translation).max() < 0.01
                places += 1
        assert places > 100
