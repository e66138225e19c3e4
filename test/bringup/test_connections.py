"""Who is to be found by whom, on hand-made graphs and on those of the suite."""

from __future__ import annotations

import dataclasses

from impact_aware.bringup.connections import connected, published, subscribed
from impact_aware.bringup.graph import DualArmOptions, SingleArmOptions, dual_arm_graph, select_nodes, single_arm_graph
from impact_aware.bringup.node_spec import NodeSpec

RECORDER, MONITOR = NodeSpec("bag_recorder", "bag_recorder"), NodeSpec("run_monitor", "run_monitor")


def parameters(graph: tuple[NodeSpec, ...]) -> dict[str, dict[str, list[str]]]:
    return {spec.full_name: spec.parameters for spec in connected(graph)}


def test_both_ends_of_a_topic_are_to_find_each_other() -> None:
    found = parameters(
        (
            NodeSpec("impact_detector", "impact_detector", "left"),
            NodeSpec("rs_controller", "rs_controller", "", arms=("left", "right")),
        )
    )
    assert found["left/impact_detector"]["peers"] == [
        "/left/impacts > /rs_controller",
        "/left/impacts/heartbeat > /rs_controller",
    ]
    assert found["rs_controller"]["peers"] == [
        "/left/impacts < /left/impact_detector",
        "/left/impacts/heartbeat < /left/impact_detector",
    ]
    assert found["rs_controller"]["companions"] == ["/left/impact_detector"]
    assert "companions" not in found["left/impact_detector"]


def test_topics_are_named_as_they_are_remapped_below_the_namespace() -> None:
    remapped = {"left/joint_states": "left/faulty", "right/effort_controller/commands": "/somewhere"}
    controller = NodeSpec("rs_controller", "c", "cell", remappings=remapped, arms=("left", "right"))
    assert {end.topic for end in subscribed(controller)} >= {"/cell/left/faulty", "/cell/right/joint_states"}
    assert {end.topic for end in published(controller)} == {
        "/cell/left/effort_controller/commands", "/somewhere", "/cell/controller_state", "/diagnostics",
    }  # fmt: skip


def test_laws_take_the_place_of_the_efforts() -> None:
    found = parameters(dual_arm_graph(DualArmOptions(command_interface="local_law")))
    assert "/left/local_law > /sim_robot" in found["rs_controller"]["peers"]
    assert "/right/local_law < /rs_controller" in found["sim_robot"]["peers"]
    assert not any("effort_controller" in peer for own in found.values() for peer in own["peers"])


def test_nobody_waits_for_a_driver_or_for_a_node_that_is_not_started() -> None:
    graph = single_arm_graph(SingleArmOptions(simulation=False, markers=False))
    found = parameters(graph)
    assert not any("joint_states" in peer or "commands" in peer for own in found.values() for peer in own["peers"])
    fewer = parameters(select_nodes(graph, "impact_detector,jump_predictor"))
    assert set(fewer["jump_predictor"]["peers"]) == {
        "/impacts < /impact_detector", "/predicted_jumps > /impact_detector",
    }  # fmt: skip
    alone = connected((NodeSpec("reference_field", "reference_field"), NodeSpec("latency_probe", "probe")))
    # ROS can't tell the type of an empty list.
    assert [spec.parameters for spec in alone] == [{}, {}]


def test_one_arms_nodes_find_each_other_and_the_plant() -> None:
    found = parameters(single_arm_graph(SingleArmOptions(lockstep=True)))
    assert set(found["rs_controller"]["peers"]) == {
        "/controller_state > /reference_field",
        "/effort_controller/commands > /sim_robot",
        "/impacts < /impact_detector",
        "/joint_states < /sim_robot",
        "/impacts/heartbeat < /impact_detector",
        "/predicted_jumps < /jump_predictor",
        "/predicted_jumps/heartbeat < /jump_predictor",
        "/reference_field < /reference_field",
        "/reference_field/heartbeat < /reference_field",
    }
    everybody = {"impact_detector", "jump_predictor", "reference_field", "rs_controller", "impact_markers", "sim_robot"}
    for name in ("sim_robot", "rs_controller"):
        assert set(found[name]["companions"]) == {f"/{other}" for other in everybody - {name}}


def test_of_two_arms_a_detector_hears_the_other_one_and_the_common_prediction() -> None:
    found = parameters(dual_arm_graph(DualArmOptions(namespace="cell")))
    own = set(found["cell/left/impact_detector"]["peers"])
    assert {
        "/cell/left/joint_states < /cell/sim_robot",
        "/cell/right/impacts < /cell/right/impact_detector",
        "/cell/common_jumps < /cell/reference_field",
        "/cell/left/impacts > /cell/left/impact_markers",
    } <= own
    assert not any("right/joint_states" in peer for peer in own)
    assert "/cell/reference_field < /cell/reference_field" in found["cell/left/impact_markers"]["peers"]
    assert "/cell/common_jumps < /cell/reference_field" in found["cell/left/impact_markers"]["peers"]
    assert "/cell/left/object_pose < /cell/reference_field" in found["cell/left/jump_predictor"]["peers"]
    assert "/cell/task < /cell/reference_field" in found["cell/left/jump_predictor"]["peers"]


def test_a_recorder_is_given_every_topic_with_its_type_and_waits_for_each_publisher() -> None:
    graph = (RECORDER, MONITOR, *single_arm_graph(SingleArmOptions()))
    found = parameters(graph)
    topics = found["bag_recorder"]["topics"]
    assert "/impacts impact_aware_msgs/msg/ImpactEvent" in topics
    assert "/reference_field impact_aware_msgs/msg/ReferenceField latched" in topics
    assert "/task impact_aware_msgs/msg/Task latched" in topics
    assert "/robot_description std_msgs/msg/String latched" in topics
    assert sum(topic.startswith("/diagnostics ") for topic in topics) == 1
    publishers = {(topic.split(" ")[0], peer) for topic in topics for peer in found["bag_recorder"]["peers"]}
    for topic in topics:
        name = topic.split(" ")[0]
        assert any(peer.startswith(f"{name} < ") for _, peer in publishers), name
    assert "/true_impacts > /bag_recorder" in found["sim_robot"]["peers"]
    assert "/diagnostics > /run_monitor" in found["rs_controller"]["peers"]


def test_what_a_node_had_before_is_kept() -> None:
    (spec,) = connected((dataclasses.replace(RECORDER, parameters={"bag": "b"}),))
    assert spec.parameters == {"bag": "b"}
