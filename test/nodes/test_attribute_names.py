"""No node overwrites an attribute of rclpy: one that did would die when a client asks for its parameters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NODES = Path(__file__).resolve().parents[2] / "impact_aware" / "nodes"
# Made to be overridden.
TRANSITIONS = {f"on_{name}" for name in ("configure", "activate", "deactivate", "cleanup", "shutdown", "error")}


@pytest.fixture
def taken(ros_context) -> set[str]:
    from rclpy.lifecycle import LifecycleNode

    node = LifecycleNode("attribute_names")
    names = set(dir(node))
    node.destroy_node()
    return names


@pytest.mark.parametrize("path", sorted(NODES.glob("*.py")), ids=lambda path: path.stem)
def test_attributes_are_the_nodes_own(path: Path, taken: set[str]) -> None:
    source = path.read_text()
    if not re.search(r"class \w+\((Lifecycle)?Node\)", source):
        pytest.skip("defines no node")
    own = set(re.findall(r"\bself\.(\w+)(?::[^=\n]+)? =[^=]", source)) | set(re.findall(r"    def ([a-z_]\w*)\(", source))
    assert not (own & taken) - TRANSITIONS - {"__init__"}
