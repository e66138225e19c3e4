"""Several nodes in one process: each as it is alone, and one that fails takes all of them with it."""

import signal
import time

import pytest
from patience import LONGEST

from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec, in_one_process, node_word
from impact_aware.bringup.processes import NodeProcess, quiet_environment
from impact_aware.errors import InvalidInputError
from impact_aware.nodes.node_group import NODES, members
from impact_aware.ros.qos import LIVELINESS_LEASE

PATIENT = {"state_timeout": 60.0, "state_age_limit": 0.9, "give_up": 60.0, "upstream_timeout": 20.0}
"""Of a controller: a test may be held up anywhere, and its robot never moves."""


def arm_group(**controller):
    """The nodes of an arm that is controlled, in one process."""
    graph = single_arm_graph(SingleArmOptions(simulation=False))
    (group,) = in_one_process(graph)
    for spec in group.members:
        spec.parameters.update(controller if spec.name == "rs_controller" else {})
    return group.members


def test_a_group_is_what_can_share_a_process():
    assert set(NODES) == {spec.executable for spec in arm_group()}


def test_members_come_before_the_words_of_ros_and_have_names_that_differ():
    specs = [NodeSpec("impact_detector", "impact_detector", name) for name in ("left", "right")]
    words = [*map(node_word, specs), "--ros-args", "-p", "use_sim_time:=true"]
    assert members(words) == specs
    assert members(words[:2]) == specs
    for wrong, message in (
        ([], "arguments: got nothing"),
        (["--ros-args"], "arguments: got nothing"),
        ([words[0], words[0]], "arguments: got left/impact_detector, left/impact_detector, expected one node each"),
        ([node_word(NodeSpec("sim_robot", "sim_robot"))], "executable: got 'sim_robot', expected one of rs_controller"),
        (["impact_detector"], "argument: got impact_detector, expected a node as JSON"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            members(wrong)


@pytest.mark.dds
def test_the_nodes_of_an_arm_work_in_one_process_under_their_own_names(suite):
    process = suite.start("node_group", members=arm_group(autostart=True, state_decimation=7, **PATIENT))
    suite.until_mode("ANTE")
    names = suite.node.get_node_names()
    assert {spec.name for spec in arm_group()} <= set(names)
    assert "node_group" not in names
    # Within one DDS participant no lease is renewed: that must not be taken for the death of a node.
    until = time.monotonic() + LIVELINESS_LEASE + 0.5
    suite.until(lambda: time.monotonic() > until, "the time of a lease")
    assert suite.diagnosed("rs_controller", "mode") == "ANTE"
    assert suite.diagnosed("impact_detector", "detector") == "adaptive_window"
    before = suite.commands
    suite.until(lambda: suite.commands > before + 5, "commands")
    process.signal(signal.SIGINT)
    suite.until(lambda: not process.running, "the end of all nodes", patience=10.0)
    assert process.process.returncode == 0
    assert "Traceback" not in process.log.read_text()
    assert "bringing the arm to rest before the end" in process.log.read_text()


@pytest.mark.dds
def test_a_member_that_can_not_start_ends_the_process_with_its_line(tmp_path, ros_domain, forked_nodes):
    specs = [
        NodeSpec("reference_field", "reference_field", "left"),
        NodeSpec("impact_detector", "watch", "left", parameters={"sampling_period": -1.0}),
        NodeSpec("impact_detector", "watch", "right"),
    ]
    group = NodeSpec("node_group", "node_group", members=tuple(specs))
    process = NodeProcess(group, quiet_environment(ros_domain), tmp_path)
    assert process.process.wait(timeout=LONGEST) == 2
    process.close()
    errors = [line for line in process.log.read_text().splitlines() if not line.startswith("[INFO]")]
    assert errors == ["left/watch: error: parameter sampling_period: got -1.0, expected a value from 1e-05 to 0.1"]
