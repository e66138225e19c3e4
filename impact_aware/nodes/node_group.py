"""Node group `node_group`: the nodes of an arm, or of several, in one process on one executor.

Each argument is one node (`impact_aware.bringup.graph.node_word`), which keeps its own name, namespace, parameters,
remappings and topics. What can be started one by one needs no group; a node that fails takes all of them with it.
"""

from __future__ import annotations

import sys
from functools import partial

from impact_aware.bringup.node_spec import GROUPED, NodeSpec, node_of_word
from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.nodes import joint_state_source
from impact_aware.nodes.impact_detector import ImpactDetectorNode
from impact_aware.nodes.impact_markers import ImpactMarkersNode
from impact_aware.nodes.joint_state_source import ServingOrder
from impact_aware.nodes.jump_predictor import JumpPredictorNode
from impact_aware.nodes.reference_field import ReferenceFieldNode
from impact_aware.nodes.rs_controller import RsControllerNode
from impact_aware.ros.runtime import run_nodes

NODES = {
    "impact_detector": ImpactDetectorNode,
    "impact_markers": ImpactMarkersNode,
    "jump_predictor": JumpPredictorNode,
    "reference_field": ReferenceFieldNode,
    "rs_controller": RsControllerNode,
}


def members(words: list[str]) -> list[NodeSpec]:
    """The nodes that the arguments before `--ros-args` describe.

    Raises:
        InvalidInputError: None, the same twice, one that can't be in a group, or no node at all.
    """
    own = words[: words.index("--ros-args")] if "--ros-args" in words else words
    found = [node_of_word(word) for word in own]
    for spec in found:
        if spec.executable not in NODES:
            raise UnknownNameError("executable", str(spec.executable), tuple(GROUPED))
    names = [spec.full_name for spec in found]
    if not names or len(set(names)) < len(names):
        raise InvalidInputError("arguments", ", ".join(names) or "nothing", "one node each, with names that differ")
    return found


def main() -> int:
    """Run the nodes."""
    try:
        found = members(sys.argv[1:])
    except InvalidInputError as error:
        print(f"node_group: error: {error}", file=sys.stderr)
        return 2
    joint_state_source.ORDER = ServingOrder()
    makers = {spec.full_name: partial(NODES[spec.executable], cli_args=spec.ros_arguments()) for spec in found}
    return run_nodes(makers, prompt=any(spec.executable == "rs_controller" for spec in found))
