"""Dead and stalled nodes over DDS: the node that keeps the plant in step without them, the graph, and runs of it."""

import json
from types import SimpleNamespace

import pytest
from impact_aware_msgs.msg import StepDone
from node_harness import joint_state

from impact_aware.cli.main import main
from impact_aware.messages.stamps import seconds
from impact_aware.ros.messages import stamp
from impact_aware_rigs.faults import lockstep_relay as module
from impact_aware_rigs.faults.dds import SUITE, fault_graph, format_table
from impact_aware_rigs.faults.dds_classes import DDS_FAULTS
from impact_aware_rigs.faults.lockstep_relay import PACE, PATIENCE, LockstepGate


def test_states_are_passed_on_once_all_subscribe_and_the_motion_has_begun_a_while_after_it_is_seen(
    ros_context, monkeypatch
):
    monkeypatch.setattr(module, "load_settings", lambda *_: module.Settings(["a"], after_motion=0.005))
    node, readers, sent, begun = module.LockstepRelayNode(), [0], [], []
    node._publisher = SimpleNamespace(publish=sent.append, get_subscription_count=lambda: readers[0])
    try:
        for k in range(20):
            readers[0] = int(k == 2)  # Who has left again is absent, and no reason to stop.
            node._on_state(joint_state(1.0 + 0.001 * k, ["a", "b"], [1.0, 2.0], [0.1 if k >= 4 else 0.0, 0.0]))
            begun.append(node._status()[2]["begun"])
    finally:
        node.destroy_node()
    assert len(sent) == 18
    # Motion from the fifth state on; 5 ms later, or with the next state where stamps are rounded.
    assert begun.index(True) in (9, 10) and all(begun[10:])


@pytest.fixture
def relay(node, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    made = LockstepGate(node, ["a", "b"])
    made.clock, made.told = clock, []
    made._reporter = SimpleNamespace(report=lambda stamp: made.told.append(seconds(stamp)))
    return made


def answer(relay, name, time):
    relay._on_step_done(StepDone(node=f"/{name}", stamp=stamp(time)))


def test_the_plant_gets_its_answer_when_everybody_has_answered(relay):
    for name in "ab":
        answer(relay, name, 0.5)
    relay.begin(stamp(1.0))
    relay.passed_on(stamp(1.0))
    answer(relay, "a", 1.0)
    assert relay.told == []
    answer(relay, "b", 1.0)
    assert relay.told == [1.0]


def test_who_does_not_answer_is_waited_for_once_and_counts_again_when_it_answers(relay):
    for name in "ab":
        answer(relay, name, 0.5)
    relay.begin(stamp(1.0))
    relay.passed_on(stamp(1.0))
    answer(relay, "a", 1.0)
    relay.clock.now += 1.5 * PATIENCE
    relay._finish()
    assert (relay.told, relay.absent) == ([1.0], {"b"})
    relay.begin(stamp(1.001))
    relay.passed_on(stamp(1.001))
    answer(relay, "a", 1.001)
    assert relay.told == [1.0]
    relay.clock.now += 1.5 * PACE
    relay._finish()
    assert relay.told == [1.0, 1.001]
    answer(relay, "b", 1.0)
    assert relay.absent == set()


def test_a_cycle_in_which_nothing_usable_is_passed_on_lasts_its_pace(relay):
    for name in "ab":
        answer(relay, name, 0.5)
    relay.begin(stamp(1.0))
    relay._finish()
    assert relay.told == []
    relay.clock.now += 1.5 * PACE
    relay._finish()
    relay._finish()
    assert relay.told == [1.0]


def test_the_graph_has_the_relay_of_states_before_the_suite_and_the_emulator_behind_it():
    graph = {spec.name: spec for spec in fault_graph(DDS_FAULTS["detector_killed"], 0)}
    assert graph["sim_robot"].remappings == {"effort_controller/commands": "hardware_commands"}
    assert graph["sim_robot"].parameters["lockstep_participants"] == ["lockstep_relay"]
    assert graph["effort_controller"].executable == "forward_command_controller"
    assert graph["effort_controller"].parameters["lockstep"]
    for name in SUITE:
        assert graph[name].remappings["joint_states"] == "passed/joint_states"
        assert graph[name].remappings["step_done"] == "passed/step_done"
    assert graph["rs_controller"].parameters["use_sim_time"]
    assert "state_age_limit" not in graph["rs_controller"].parameters


def test_laws_go_straight_to_the_plant():
    graph = {spec.name: spec for spec in fault_graph(DDS_FAULTS["detector_killed"], 0, "local_law")}
    assert "effort_controller" not in graph
    assert graph["sim_robot"].remappings == {}
    assert graph["sim_robot"].parameters["command_interface"] == "local_law"
    assert graph["rs_controller"].parameters["command_interface"] == "local_law"


def test_watched_commands_go_through_an_emulator_with_a_controller_manager():
    graph = {spec.name: spec for spec in fault_graph(DDS_FAULTS["watched_controller_killed"], 0)}
    assert graph["effort_controller"].parameters["controller_manager"] == "controller_manager"
    assert graph["command_watchdog"].parameters["controllers"] == ["effort_controller"]
    assert graph["rs_controller"].parameters["watchdog"]
    graph = {spec.name: spec for spec in fault_graph(DDS_FAULTS["detector_killed"], 0)}
    assert "command_watchdog" not in graph
    assert "controller_manager" not in graph["effort_controller"].parameters


def test_before_a_kukas_controller_stands_its_relay_which_answers_states_and_is_watched_behind():
    graph = {spec.name: spec for spec in fault_graph(DDS_FAULTS["relay_killed"], 0)}
    assert "effort_controller" not in graph
    emulator = graph["lbr_torque_command_controller"]
    assert (emulator.executable, emulator.parameters["lockstep"]) == ("lbr_torque_command_controller", True)
    assert emulator.parameters["controller_manager"] == "controller_manager"
    assert graph["sim_robot"].remappings == {"effort_controller/commands": "hardware_commands"}
    relay = graph["kuka_fri_relay"]
    assert relay.remappings == {"joint_states": "passed/joint_states", "step_done": "passed/step_done"}
    assert relay.parameters["lockstep"] and relay.parameters["period"] == 0.001
    assert graph["lockstep_relay"].parameters["participants"] == [*SUITE, "kuka_fri_relay"]
    assert graph["rs_controller"].remappings["effort_controller/commands"] == "kuka_fri_relay/commands"
    watchdog = graph["command_watchdog"].parameters
    assert (watchdog["command_interface"], watchdog["controllers"]) == ("lbr_torque", [emulator.name])
    assert watchdog["hardware_components"] == ["lbr_system_interface"]
    # One after the other: relay of states, relay, watchdog give up on who is dead, all within 30 cycles.
    assert PATIENCE < relay.parameters["command_timeout"] < watchdog["command_timeout"] < PATIENCE + 30 * PACE


@pytest.mark.parametrize("fault", DDS_FAULTS)
def test_a_process_that_a_busy_machine_holds_up_for_a_second_is_no_fault(fault):
    graph = {spec.name: spec.parameters for spec in fault_graph(DDS_FAULTS[fault], 0)}
    waits = [(name, key) for name, given in graph.items() for key, value in given.items() if key.endswith("_timeout")]
    assert {key for name, key in waits if name == "rs_controller"} >= {"state_timeout", "upstream_timeout"}
    assert min(PATIENCE, *(graph[name][key] for name, key in waits if graph[name][key] > 0.0)) > 1.0


def test_an_object_that_is_gone_is_told_of_by_nobody():
    graph = {spec.name: spec for spec in fault_graph(DDS_FAULTS["object_gone"], 0)}
    assert any(graph["sim_robot"].parameters["displacement"])
    assert not graph["reference_field"].parameters["use_object_pose"]


def test_a_fault_that_is_not_tried_over_dds_is_refused(capsys):
    assert main(["faults", "--dds", "cpu_starved"]) == 2
    assert "cpu_starved" in capsys.readouterr().err
    assert main(["faults", "--dds", "--interface", "local_law", "watchdog_killed"]) == 2
    assert "fault over DDS: got 'watchdog_killed'" in capsys.readouterr().err


def but_how_soon(failures):
    """Without what the machine decides: in some of its hours an arm rests after 2 s where it takes 0.2 in others."""
    return [failure for failure in failures if not failure.startswith("still moving ")]


@pytest.mark.dds
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("watched_controller_stopped", "braked by the robot"),
        ("watchdog_killed", "WATCHDOG"),
        ("relay_stopped", "WATCHDOG"),
    ],
)
def test_the_watchdog_the_relay_and_the_controller_each_end_what_the_others_can_not(zygote, fault, outcome):
    ran = zygote.run(["impact_aware.cli.main", "faults", "--dds", fault, "--json"])
    (own,) = json.loads(ran.stdout)["results"]
    assert but_how_soon(own["failures"]) == []
    assert own["outcome"] == outcome and own["rest_s"] is not None


@pytest.mark.dds
@pytest.mark.slow
def test_a_stalled_controller_brings_the_arm_to_rest_through_the_whole_chain_and_it_moves_again(zygote):
    ran = zygote.run(["impact_aware.cli.main", "faults", "--dds", "controller_stalled", "--json"])
    (own,) = json.loads(ran.stdout)["results"]
    assert but_how_soon(own["failures"]) == []
    assert ran.returncode == bool(own["failures"])
    assert (own["outcome"], own["recovered"]) == ("STATE_STALE", "reset, moves again")
    assert max(own["effort_share"], own["rate_share"]) <= 1.0 + 1e-4
    assert own["outcome"] in format_table([own])
