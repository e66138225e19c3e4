"""Bags of joint states, object poses and impacts, written from arrays."""

import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

EVENT = "impact_aware_msgs/msg/ImpactEvent"
STORE = get_typestore(Stores.ROS2_JAZZY)
STORE.register(get_types_from_msg("std_msgs/Header header\nuint8 kind\n", EVENT))

PANDA = [f"panda_joint{number}" for number in range(1, 8)]


def write_messages(path, messages, store=STORE, *, plugin=StoragePlugin.MCAP, compression=None):
    """A recording of messages of a store, given as topic, time of recording, s, and message."""
    connections, writer = {}, Writer(path, version=9, storage_plugin=plugin)
    if compression is not None:
        writer.set_compression(*compression)
    with writer:
        for topic, time, message in messages:
            kind = message.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(connections[topic], round(1e9 * time), bytes(store.serialize_cdr(message, kind)))
    return path


def resting_bag(path, *arms, frames=()):
    """One state of a Panda in each of these namespaces, of which one may be empty; and these child frames in TF."""
    types, zeros = STORE.types, np.zeros(7)
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](1, 0), "")
    state = types["sensor_msgs/msg/JointState"](header, PANDA, zeros, zeros, zeros)
    messages = [(f"/{arm}/joint_states".replace("//", "/"), 1.0, state) for arm in arms]
    if frames:
        origin, upright = types["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
        still = types["geometry_msgs/msg/Transform"](origin, types["geometry_msgs/msg/Quaternion"](*upright))
        links = [types["geometry_msgs/msg/TransformStamped"](header, name, still) for name in frames]
        messages.append(("/tf", 1.0, types["tf2_msgs/msg/TFMessage"](links)))
    return write_messages(path, messages)


def bag_of(path, names, states, poses=(), impacts=(), topic="/joint_states"):
    """A recording of joint states, object poses and impacts: pairs of time and positions, place or kind of event."""
    types, empty = STORE.types, np.zeros(0)

    def joints(header, q):
        return types["sensor_msgs/msg/JointState"](header, list(names), np.array(q), empty, empty)

    def pose(header, place):
        upright = types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
        where = types["geometry_msgs/msg/Pose"](types["geometry_msgs/msg/Point"](*place.tolist()), upright)
        return types["geometry_msgs/msg/PoseStamped"](header, where)

    topics = {topic: (joints, states), "/object_pose": (pose, poses), "/impacts": (types[EVENT], impacts)}
    messages = []
    for name, (make, entries) in topics.items():
        for time, content in entries:
            stamp = types["builtin_interfaces/msg/Time"](*divmod(round(1e9 * time), 10**9))
            messages.append((name, time, make(types["std_msgs/msg/Header"](stamp, ""), content)))
    return write_messages(path, messages)
