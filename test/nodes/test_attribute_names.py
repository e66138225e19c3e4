"""No node overwrites an attribute of rclpy: one that did would die when a client asks for its parameters."""

import re
from pathlib import Path

import pytest

from impact_aware.bringup.start import executables

ROOT = Path(__file__).resolve().parents[2]
PATHS = sorted([*(ROOT / "impact_aware" / "nodes").rglob("*.py"), *(ROOT / "rigs").rglob("*.py")])
SOURCES = {path.stem: path.read_text() for path in PATHS}
DEFINING_A_NODE = [name for name, source in SOURCES.items() if re.search(r"class \w+\(\w*Node\)", source)]
# Made to be overridden.
OVERRIDDEN = {f"on_{name}" for name in ("configure", "activate", "deactivate", "cleanup", "shutdown", "error")}
OVERRIDDEN |= {"__init__", "destroy_node"}


@pytest.fixture
def taken(ros_context) -> set[str]:
    from rclpy.lifecycle import LifecycleNode

    node = LifecycleNode("attribute_names")
    names = set(dir(node))
    node.destroy_node()
    return names


@pytest.mark.parametrize("module", DEFINING_A_NODE)
def test_attributes_are_the_nodes_own(module: str, taken: set[str]) -> None:
    attributes = re.findall(r"\bself\.(\w+)(?::[^=\n]+)? =[^=]", SOURCES[module])
    methods = re.findall(r"    def ([a-z_]\w*)\(", SOURCES[module])
    assert not ({*attributes, *methods} & taken) - OVERRIDDEN


def test_no_node_is_left_out() -> None:
    modules = {module for module in executables().values() if module.startswith("impact_aware.")}
    assert {module.rpartition(".")[2] for module in modules} <= {*DEFINING_A_NODE, "node_group"}
