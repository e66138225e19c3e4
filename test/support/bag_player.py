"""A bag played as `ros2 bag play` offers it, for machines without rosbag2: `python bag_player.py BAG TOPIC...`.

Quality of service by the rule of rosbag2_storage, `Rosbag2QoS::adapt_offer_to_recorded_offers`: the recorded profile
with the default history where all publishers of a topic had the same, else the default profile.
"""

import sys
from pathlib import Path

import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rosbags.highlevel import AnyReader
from rosbags.interfaces import Qos

from impact_aware.ros.messages import message_class

DEPTH = 10
"""Of the default history."""


def offer(recorded: list[Qos]) -> QoSProfile:
    """What the player offers for the recorded profiles of a topic."""
    if not recorded or len({profile[2:] for profile in recorded}) > 1:
        return QoSProfile(depth=DEPTH)
    own = recorded[0]
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy(own.reliability.value),
        durability=DurabilityPolicy(own.durability.value),
        liveliness=LivelinessPolicy(own.liveliness.value),
        **{
            name: Duration(seconds=time.sec, nanoseconds=time.nsec)
            for name in ("deadline", "lifespan", "liveliness_lease_duration")
            if (time := getattr(own, name))
        },
    )


def main(path: str, *topics: str) -> None:
    """Publish every message at once, print `played`, and stay until the standard input ends."""
    rclpy.init()
    node = Node("bag_player")
    with AnyReader([Path(path)]) as bag:
        own = [each for each in bag.connections if each.topic in topics]
        publishers = {
            each.topic: node.create_publisher(
                message_class(each.msgtype), each.topic, offer(each.ext.offered_qos_profiles)
            )
            for each in own
        }
        for each, _, data in bag.messages(own):
            publishers[each.topic].publish(bytes(data))
    print("played", flush=True)
    sys.stdin.read()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
