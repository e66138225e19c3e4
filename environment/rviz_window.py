"""Pictures by Debian's RViz (ROS 1) of scenes given as JSON, one per file; run by /usr/bin/python3 under xvfb-run.

Standard input holds a list of scenes: `file` (PNG), `config` (an .rviz file of RViz 1), `parameters` (URDF texts by
name), `transforms` (parent, child, xyz, quaternion), and `markers` (topic to markers, field by field).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import xmlrpc.client
from pathlib import Path
from typing import Any

PORT = int(os.environ.get("ROS_MASTER_PORT", "11367"))
os.environ["ROS_MASTER_URI"] = f"http://127.0.0.1:{PORT}"
os.environ["ROS_IP"] = "127.0.0.1"
os.environ["LIBGL_ALWAYS_SOFTWARE"] = "1"

import rosmaster.master  # noqa: E402
import rospy  # noqa: E402
from geometry_msgs.msg import Point, TransformStamped  # noqa: E402
from std_msgs.msg import ColorRGBA  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import Marker, MarkerArray  # noqa: E402

MOST = 120.0
"""Longest wait for RViz to subscribe, or to draw the same picture twice, s."""


def marker(fields: dict[str, Any]) -> Marker:
    """A marker message without a lifetime: the scene stands still."""
    made = Marker(ns=fields["ns"], id=fields["id"], type=fields["type"], text=fields["text"])
    made.header.frame_id = fields["frame"]
    made.color = ColorRGBA(*fields["color"])
    made.colors = [ColorRGBA(*color) for color in fields["colors"]]
    made.points = [Point(*point) for point in fields["points"]]
    position, orientation, scale = fields["position"], fields["orientation"], fields["scale"]
    made.pose.position.x, made.pose.position.y, made.pose.position.z = position
    turn = made.pose.orientation
    turn.x, turn.y, turn.z, turn.w = orientation
    made.scale.x, made.scale.y, made.scale.z = scale
    return made


def transform(parent: str, child: str, xyz: list[float], quaternion: list[float]) -> TransformStamped:
    """A static transform."""
    made = TransformStamped(child_frame_id=child)
    made.header.frame_id, made.header.stamp = parent, rospy.Time.now()
    place, turn = made.transform.translation, made.transform.rotation
    place.x, place.y, place.z = xyz
    turn.x, turn.y, turn.z, turn.w = quaternion
    return made


def settled_picture(file: Path) -> None:
    """Write the screen once it no longer changes."""
    before, end = b"", time.monotonic() + MOST
    while time.monotonic() < end:
        time.sleep(4.0)
        # Without the bar of RViz that counts frames per second.
        area = ["-crop", "1400x800+0+60", "+repage", "-colors", "160"]
        subprocess.run(["import", "-window", "root", *area, "PNG8:" + str(file)], check=True)
        now = file.read_bytes()
        if now == before:
            return
        before = now
    raise SystemExit(f"{file}: RViz went on drawing for {MOST:g} s")


def draw(scene: dict[str, Any]) -> None:
    """Show one scene in a new RViz and write the picture."""
    for name, text in scene["parameters"].items():
        rospy.set_param(name, text)
    static = rospy.Publisher("/tf_static", TFMessage, queue_size=1, latch=True)
    static.publish(TFMessage([transform(*entry) for entry in scene["transforms"]]))
    topics = {name: rospy.Publisher(name, MarkerArray, queue_size=1, latch=True) for name in scene["markers"]}
    for name, markers in scene["markers"].items():
        topics[name].publish(MarkerArray([marker(fields) for fields in markers]))
    rviz = subprocess.Popen(["rviz", "-d", scene["config"]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + MOST
        while any(publisher.get_num_connections() == 0 for publisher in topics.values()):
            if time.monotonic() > end or rviz.poll() is not None:
                raise SystemExit("RViz did not subscribe to the markers")
            time.sleep(0.2)
        settled_picture(Path(scene["file"]))
    finally:
        rviz.terminate()
        rviz.wait(30)
        for publisher in (static, *topics.values()):
            publisher.unregister()


def main() -> None:
    """Draw all scenes of standard input."""
    scenes = json.load(sys.stdin)
    master = rosmaster.master.Master(PORT)
    master.start()
    threading.Event().wait(1.0)
    xmlrpc.client.ServerProxy(os.environ["ROS_MASTER_URI"]).getPid("/pictures")
    rospy.init_node("pictures", disable_signals=True)
    for scene in scenes:
        draw(scene)
    rospy.signal_shutdown("done")
    master.stop()


if __name__ == "__main__":
    main()
