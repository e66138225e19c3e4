"""Priorities: the user's, or the default where it is permitted, for the nodes of the loop alone."""

import os

import pytest

from impact_aware.bringup import urgency
from impact_aware.bringup.graph import DualArmOptions, dual_arm_graph
from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.bringup.urgency import (
    HIGHEST,
    IN_THE_LOOP,
    LOWEST,
    URGENCY,
    checked_priority,
    chosen_priority,
    leaves_room,
    urgent,
)
from impact_aware.errors import InvalidInputError


def test_a_priority_is_the_users_or_the_default_where_it_is_permitted(monkeypatch):
    assert (chosen_priority(0), chosen_priority(99)) == (0, 99)
    for permitted, expected in ((True, URGENCY), (False, 0)):
        monkeypatch.setattr(urgency, "may_be_urgent", lambda permitted=permitted: permitted)
        assert chosen_priority(None) == expected
    for wrong in (-1, 100):
        with pytest.raises(InvalidInputError, match="--priority"):
            chosen_priority(wrong)
        with pytest.raises(InvalidInputError, match="realtime_priority"):
            checked_priority("realtime_priority", wrong)


@pytest.mark.parametrize("permitted", [True, False])
def test_whether_it_is_permitted_is_tried_and_leaves_the_process_as_it_was(monkeypatch, permitted):
    tried = []

    def schedule(process, policy, parameter):
        tried.append((policy, parameter.sched_priority))
        if policy == os.SCHED_FIFO and not permitted:
            raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", schedule)
    monkeypatch.setattr(os, "sched_getscheduler", lambda process: os.SCHED_BATCH)
    assert urgency.may_be_urgent() is permitted
    assert tried == [(os.SCHED_FIFO, URGENCY), (os.SCHED_BATCH, 0)][: 1 + permitted]


@pytest.mark.parametrize(
    ("processors", "room"), [({0}, (False, False)), ({2, 5}, (True, False)), ({1, 2, 3}, (True, True))]
)
def test_a_loop_leaves_room_where_there_are_more_processors_than_arms(monkeypatch, processors, room):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: processors)
    assert (leaves_room(1), leaves_room(2)) == room


def test_nodes_of_the_loop_are_urgent_and_those_that_watch_are_not():
    graph = urgent(dual_arm_graph(DualArmOptions()), 7, IN_THE_LOOP)
    found = {spec.full_name: spec.parameters.get("realtime_priority") for spec in graph}
    prompt = {"left/impact_detector", "right/impact_detector", "sim_robot"}
    assert {name for name, priority in found.items() if priority == 7} == prompt
    assert {name for name, priority in found.items() if priority == 8} == {"rs_controller"}
    predicting = {"left/jump_predictor", "right/jump_predictor", "reference_field"}
    assert {name for name, priority in found.items() if priority == 6} == predicting
    assert {"left/impact_markers", "right/impact_markers"} <= {
        name for name, priority in found.items() if priority is None
    }


def test_none_is_above_the_highest_or_below_the_lowest_and_all_are_alike_where_nobody_is_named():
    specs = [NodeSpec(name, name) for name in ("rs_controller", "sim_robot", "jump_predictor")]
    highest = urgent(specs, HIGHEST, IN_THE_LOOP)
    assert [spec.parameters.get("realtime_priority") for spec in highest] == [HIGHEST, HIGHEST, HIGHEST - 1]
    lowest = urgent(specs, LOWEST, IN_THE_LOOP)
    assert [spec.parameters.get("realtime_priority") for spec in lowest] == [LOWEST + 1, LOWEST, LOWEST]
    assert [spec.parameters["realtime_priority"] for spec in urgent(specs, 5)] == [5, 5, 5]


@pytest.mark.parametrize(
    ("arms", "wall_time", "processors", "expected"),
    [(2, True, 2, 0.002), (2, True, 3, None), (2, False, 2, None), (1, True, 1, None), (3, True, 3, 0.002)],
)
def test_several_simulated_arms_give_fewer_states_where_processors_are_few(
    monkeypatch, arms, wall_time, processors, expected
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(processors)))
    assert urgency.simulated_period(arms, wall_time=wall_time) == expected


def test_without_a_priority_a_file_s_own_holds():
    spec = NodeSpec("rs_controller", "rs_controller", parameters={"realtime_priority": 5})
    assert urgent([spec], 0) == (spec,)
    assert urgent([spec], 30)[0].parameters == {"realtime_priority": 30}
