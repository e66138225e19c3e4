"""Six states that RViz shows of the demos' recordings: one arm and two; before, at and after the impact."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pinocchio as pin
import yaml

from impact_aware.bags.bag import Bag
from impact_aware.messages.stamps import stamp_seconds
from impact_aware.render import RecordedArm, read_scene

ROOT = Path(__file__).resolve().parents[1]
SINCE = {"before": -0.15, "at": 0.02, "after": 0.5}
"""Time of each state after the impact, s."""

STATES = {
    "rviz_approach": ("hit-and-push", "before"), "rviz_impact": ("hit-and-push", "at"),
    "rviz_after": ("hit-and-push", "after"), "rviz_two_arms_approach": ("dual-arm-grab", "before"),
    "rviz_two_arms": ("dual-arm-grab", "at"), "rviz_two_arms_after": ("dual-arm-grab", "after"),
}  # fmt: skip
"""Demo and state of each picture."""


def config_of_rviz_1(source: Path, folder: Path) -> Path:
    """The view that ships, for RViz 1: other names of classes and topics, and the widest view without panels."""
    config = yaml.safe_load(source.read_text(encoding="utf-8"))
    config["Panels"] = []
    for display in config["Visualization Manager"]["Displays"]:
        if "Topic" in display:
            display["Marker Topic"], display["Queue Size"] = display.pop("Topic")["Value"], 50
        if "Description Topic" in display:
            display["Robot Description"] = display.pop("Description Topic")["Value"]
    text = yaml.safe_dump(config).replace("rviz_common/", "rviz/").replace("rviz_default_plugins/", "rviz/")
    text = text.replace("X: 60\n  Y: 60", "X: 0\n  Y: 0")
    path = folder / source.name
    path.write_text(text, encoding="utf-8")
    return path


def fields(marker: Any) -> dict[str, Any]:
    """A recorded marker as plain data."""

    def point(of: Any) -> list[float]:
        return [of.x, of.y, of.z]

    turn = marker.pose.orientation
    return {
        "ns": marker.ns, "id": marker.id, "type": marker.type, "text": marker.text, "frame": marker.header.frame_id,
        "color": [marker.color.r, marker.color.g, marker.color.b, marker.color.a],
        "colors": [[color.r, color.g, color.b, color.a] for color in marker.colors],
        "points": [point(each) for each in marker.points], "position": point(marker.pose.position),
        "orientation": [turn.x, turn.y, turn.z, turn.w], "scale": point(marker.scale),
    }  # fmt: skip


def markers_at(bag: Bag, topic: str, time: float) -> list[dict[str, Any]]:
    """Scene that a viewer shows at `time`, s: in simulations every recorded message is the whole of it."""
    chosen: list[Any] = []
    for _, message in bag.messages(topic):
        stamps = [stamp_seconds(marker) for marker in message.markers if marker.ns.endswith("object")]
        if stamps and max(stamps) > time:
            break
        chosen = message.markers
    return [fields(marker) for marker in chosen if marker.action == marker.ADD]


def transforms(arm: RecordedArm, root: str) -> Iterator[tuple[str, str, list[float], list[float]]]:
    """Frames of the arm's links, below `root`."""
    assert arm.robot is not None and arm.q is not None
    prefix = f"{arm.name}/" if arm.name else ""
    pin.framesForwardKinematics(arm.robot.model, arm.robot.data, arm.q)
    for frame, place in zip(arm.robot.model.frames, arm.robot.data.oMf, strict=True):
        name = f"{prefix}{frame.name}"
        if frame.type == pin.FrameType.BODY and name != root:
            pose = pin.SE3ToXYZQUAT(arm.base * place).tolist()
            yield root, name, pose[:3], pose[3:]


def scene(name: str, runs: Path, folder: Path) -> dict[str, Any]:
    """One state as data for rviz_window.py, which writes `folder`/`name`.png; views are converted into `runs`."""
    demo, state = STATES[name]
    view = ROOT / "rviz" / ("single_arm.rviz" if demo == "hit-and-push" else "dual_arm.rviz")
    with Bag(runs / demo / "bag") as bag:
        impact = read_scene(bag).time
        found = read_scene(bag, time=impact + SINCE[state])
        topics = [topic for topic in bag.topics if topic.endswith("impact_markers")]
        descriptions = [topic for topic in bag.topics if topic.endswith("robot_description")]
        texts = {topic[1:]: next(message.data for _, message in bag.messages(topic)) for topic in descriptions}
        markers = {topic: markers_at(bag, topic, found.time) for topic in topics}
    config = config_of_rviz_1(view, runs)
    root = yaml.safe_load(config.read_text())["Visualization Manager"]["Global Options"]["Fixed Frame"]
    links = [entry for arm in found.arms for entry in transforms(arm, root)]
    return {
        "file": str(folder / f"{name}.png"), "config": str(config), "parameters": texts, "transforms": links,
        "markers": markers,
    }  # fmt: skip


def draw(names: list[str], runs: Path, folder: Path) -> None:
    """Draw the named states with Debian's RViz into `folder`; the demos' results are in `runs`."""
    screen = ["xvfb-run", "-a", "-s", "-screen 0 1400x900x24"]
    text = json.dumps([scene(name, runs, folder) for name in names])
    plain = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    words = [*screen, "/usr/bin/python3", str(ROOT / "environment" / "rviz_window.py")]
    subprocess.run(words, input=text, text=True, check=True, env=plain)
