"""The RViz views show topics that the graph publishes, with a quality of service that its nodes offer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from impact_aware.robot import load_profile
from impact_aware.task import load_task

ROOT = Path(__file__).resolve().parents[2]
VIEWS = {name: yaml.safe_load((ROOT / "rviz" / f"{name}.rviz").read_text()) for name in ("single_arm", "dual_arm")}


def displays(name: str) -> list[dict[str, Any]]:
    found = VIEWS[name]["Visualization Manager"]["Displays"]
    assert isinstance(found, list)
    return found


def topics() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """View, display name and topic settings of every display that has one."""
    for name in VIEWS:
        for display in displays(name):
            for key in ("Topic", "Description Topic"):
                if key in display:
                    yield name, display["Name"], display[key]


def sources() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "impact_aware" / "nodes").glob("*.py")))


@pytest.mark.parametrize(("view", "display", "topic"), list(topics()))
def test_every_topic_of_a_view_is_published_by_a_node(view: str, display: str, topic: dict[str, Any]) -> None:
    name = topic["Value"]
    assert not name.startswith("/"), f"{display}: an absolute name breaks an arm under a namespace"
    assert f'"{name.rpartition("/")[2]}"' in sources()


def test_only_descriptions_are_asked_for_as_transient_local() -> None:
    """A publisher that does not keep its messages is never heard by a subscriber who asks for kept ones."""
    kept = {topic["Value"] for _, _, topic in topics() if topic["Durability Policy"] == "Transient Local"}
    assert kept == {"robot_description", "left/robot_description", "right/robot_description"}


def test_views_stand_in_the_frames_of_their_tasks() -> None:
    fixed = {name: view["Visualization Manager"]["Global Options"]["Fixed Frame"] for name, view in VIEWS.items()}
    assert fixed == {"single_arm": load_profile("panda").base_frame, "dual_arm": load_task("dual_arm_grab").frame}


def test_two_arms_have_a_model_and_markers_each() -> None:
    """With the prefix that robot_state_publisher gives their frames."""
    arms = [arm.name for arm in load_task("dual_arm_grab").arms]
    models = [display for display in displays("dual_arm") if display["Class"].endswith("RobotModel")]
    assert [model["TF Prefix"] for model in models] == arms
    assert [model["Description Topic"]["Value"] for model in models] == [f"{arm}/robot_description" for arm in arms]
    shown = [display["Topic"]["Value"] for display in displays("dual_arm") if display["Class"].endswith("MarkerArray")]
    assert shown == [f"{arm}/impact_markers" for arm in arms]


@pytest.mark.parametrize("name", VIEWS)
def test_every_display_and_saved_view_says_what_it_is(name: str) -> None:
    assert all({"Class", "Name"} <= display.keys() for display in displays(name))
    views = VIEWS[name]["Visualization Manager"]["Views"]
    names = [view["Name"] for view in views["Saved"]]
    assert len(names) == len(set(names)) >= 3
    assert views["Current"] == views["Saved"][0]


@pytest.mark.parametrize("name", VIEWS)
def test_the_window_is_the_scene(name: str) -> None:
    """Without a state RViz stacks all panels on the left, and 80 of 1400 pixels remain."""
    window = VIEWS[name]["Window Geometry"]
    assert window["Hide Left Dock"] and window["Hide Right Dock"]
    state = bytes.fromhex(window["QMainWindow State"])
    # Qt's mark of a saved state, and the panels that it places by name.
    assert state[:5] == b"\x00\x00\x00\xff\x00"
    panels = [panel["Name"] for panel in VIEWS[name]["Panels"]]
    assert all(panel.encode("utf-16-be") in state for panel in panels)
    assert window["Displays"]["collapsed"] and window["Views"]["collapsed"]


@pytest.mark.parametrize("name", VIEWS)
def test_no_namespace_is_switched_off_by_a_name_that_arms_may_not_have(name: str) -> None:
    """An arm of another name would show what these switch off: the nodes leave it out themselves."""
    assert not any(display.get("Namespaces") for display in displays(name))
