"""Policies that are made from the graph: who may command an arm, who may speak as whom, and nothing more."""

from xml.etree import ElementTree

import pytest

from impact_aware.bringup.connections import published, subscribed
from impact_aware.bringup.graph import SingleArmOptions, single_arm_graph
from impact_aware.bringup.security import GRAPHS, enclave, policies


def allowed(task):
    """Enclave -> (kind, direction) -> names."""
    root = ElementTree.fromstring(policies(GRAPHS[task]()))
    assert (root.tag, root.get("version")) == ("policy", "0.2.0")
    found = {}
    for place in root.iter("enclave"):
        (profile,) = place.iter("profile")
        rules = found[place.get("path")] = {"profile": f"{profile.get('ns').rstrip('/')}/{profile.get('node')}"}
        for part in profile:
            ((direction, verdict),) = part.attrib.items()
            assert verdict == "ALLOW"
            rules[part.tag, direction] = {item.text for item in part}
    return found


@pytest.mark.parametrize("task", GRAPHS)
def test_every_node_may_do_what_the_graph_says_that_it_does(task):
    rules = allowed(task)
    graph = GRAPHS[task]()
    assert set(rules) == {enclave(spec) for spec in graph} and len(rules) == len(graph)
    for spec in graph:
        own = rules[enclave(spec)]
        assert own["profile"] == f"/{spec.full_name}"
        assert {end.topic for end in published(spec)} <= own["topics", "publish"]
        assert {end.topic for end in subscribed(spec)} <= own["topics", "subscribe"]
        names = {name for rule in own.values() if isinstance(rule, set) for name in rule}
        assert all(name.startswith("/") and not set("~*?") & set(name) for name in names)


def test_only_the_controller_may_command_the_arm_and_only_the_driver_may_say_where_it_is():
    rules = allowed("dual-arm-grab")
    for topic, speaker in {
        "/left/effort_controller/commands": {"/impact_aware/rs_controller"},
        "/right/effort_controller/commands": {"/impact_aware/rs_controller"},
        "/left/joint_states": set(),
        "/reference_field": {"/impact_aware/reference_field"},
        "/left/impacts": {"/impact_aware/left/impact_detector"},
        "/clock": set(),
    }.items():
        assert {path for path, own in rules.items() if topic in own["topics", "publish"]} == speaker, topic


def test_services_are_those_of_the_node_itself():
    rules = allowed("hit-and-push")
    assert "/set_task" in rules["/impact_aware/reference_field"]["services", "reply"]
    assert "/predict_post_impact" in rules["/impact_aware/jump_predictor"]["services", "reply"]
    assert {"/rs_controller/safe_stop", "/rs_controller/change_state", "/rs_controller/set_parameters"} <= rules[
        "/impact_aware/rs_controller"
    ]["services", "reply"]
    asks = {path: own["services", "request"] for path, own in rules.items() if ("services", "request") in own}
    names = ("list_controllers", "switch_controller")
    assert asks == {
        "/impact_aware/command_watchdog": {f"/controller_manager/{name}" for name in names},
        "/impact_aware/rs_controller": {"/effort_controller/get_parameters"},
    }
    asked = allowed("dual-arm-grab")["/impact_aware/command_watchdog"]["services", "request"]
    assert asked == {f"/{arm}/controller_manager/{name}" for arm in ("left", "right") for name in names}


@pytest.mark.parametrize("task", GRAPHS)
def test_nothing_of_a_simulator_is_allowed_around_real_arms(task):
    """Whoever may publish /clock could stop the time of the controller."""
    names = {name for own in allowed(task).values() for rule in own.values() if isinstance(rule, set) for name in rule}
    assert not {name for name in names if name.rpartition("/")[2] in ("clock", "step_done")}


def test_a_simulated_arm_keeps_its_clock_and_lockstep():
    text = policies(single_arm_graph(SingleArmOptions()))
    assert "<topic>/clock</topic>" in text and "<topic>/step_done</topic>" in text
