"""The RViz view shows topics that the graph publishes, with a quality of service that its nodes offer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from impact_aware.robot import load_profile

ROOT = Path(__file__).resolve().parents[2]
VIEW = yaml.safe_load((ROOT / "rviz" / "impact_aware.rviz").read_text())
MANAGER = VIEW["Visualization Manager"]


def topics() -> Iterator[tuple[str, dict[str, Any]]]:
    """Display name and topic settings of every display that has one."""
    for display in MANAGER["Displays"]:
        for key in ("Topic", "Description Topic"):
            if key in display:
                yield display["Name"], display[key]


def sources() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "impact_aware" / "nodes").glob("*.py")))


@pytest.mark.parametrize(("display", "topic"), list(topics()))
def test_every_topic_of_the_view_is_published_by_a_node(display: str, topic: dict[str, Any]) -> None:
    name = topic["Value"]
    assert not name.startswith("/"), f"{display}: an absolute name breaks an arm under a namespace"
    assert f'"{name}"' in sources()


def test_only_the_description_is_asked_for_as_transient_local() -> None:
    """A publisher that does not keep its messages is never heard by a subscriber who asks for kept ones."""
    kept = {topic["Value"] for _, topic in topics() if topic["Durability Policy"] == "Transient Local"}
    assert kept == {"robot_description"}


def test_the_view_stands_in_the_base_frame_of_the_default_robot() -> None:
    assert MANAGER["Global Options"]["Fixed Frame"] == load_profile("panda").base_frame
    assert all({"Class", "Name"} <= display.keys() for display in MANAGER["Displays"])
