"""Two arms in one controller: torques to each, and what becomes of both when one falls silent."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from node_harness import status, tick

from impact_aware.control import Mode, SafeReason
from impact_aware.nodes.arm_commands import EffortCommands
from impact_aware.task import load_task, make_field
from impact_aware.task.arms import arms_of_task

TASK = load_task("dual_arm_grab")
ARMS = arms_of_task(TASK, "panda")
ROBOTS = [arm.robot for arm in ARMS]
LEFT, RIGHT = 0, 1


@pytest.fixture
def bench(make_bench):
    return make_bench("dual_arm_grab")


def test_each_arm_gets_its_own_torques(node, sent):
    EffortCommands(node, ARMS).publish(np.arange(14.0))
    published = [sent(node, f"/{name}/effort_controller/commands")[0].data for name in ("left", "right")]
    np.testing.assert_array_equal(published, np.arange(14.0).reshape(2, 7))


def test_every_pair_of_states_is_answered_once(bench):
    bench.activate()
    bench.state(count=4)
    assert len(bench.commands) == 4
    # The setup is a mirror image: joints 1, 3, 5 and 7 turn the other way. The last one's angle is no mirror image.
    left, right = bench.commands[-1]
    mirror = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    np.testing.assert_allclose(left[:6], mirror * right[:6], atol=0.2)


def test_one_silent_arm_stops_both_and_the_other_is_braked_by_its_own_states(bench):
    bench.activate()
    bench.state(0.3, count=3)
    session = bench.session
    session.states._received[RIGHT] -= 61.0
    tick(bench.node, 0.02)
    bench.forget()
    bench.state(0.3, arms=(LEFT,), count=5)
    assert bench.mode is Mode.SAFE
    command = bench.session.command
    assert command.reason is SafeReason.STATE_STALE
    assert command.detail.startswith("no usable right/joint_states for ")
    assert len(bench.commands) == 5
    assert status(bench.node)[1].startswith("safe mode: no usable right/joint_states")


@pytest.mark.parametrize("topic", ["right/impacts", "left/predicted_jumps", "reference_field"])
def test_a_dead_node_of_either_arm_stops_both_and_is_named(bench, topic):
    bench.activate()
    bench.node._upstream.on_change(topic, SimpleNamespace(alive_count=0, alive_count_change=-1))
    bench.state(0.3)
    assert bench.mode is Mode.SAFE
    assert bench.session.command.reason is SafeReason.UPSTREAM_LOST
    assert topic in bench.session.command.detail


def test_either_arm_may_hit_first_and_begins_the_interim_mode(bench):
    bench.activate()
    bench.state()
    bench.impact(LEFT, name="middle")
    assert bench.mode is Mode.ANTE
    bench.impact(RIGHT)
    assert bench.mode is Mode.INTERIM
    assert bench.session._law._reference.hit.tolist() == [False, True]
    bench.impact(LEFT)
    assert bench.session._law._reference.hit.tolist() == [True, True]


def test_an_impact_far_from_the_object_is_left_out_and_on_diagnostics(bench):
    bench.activate(anywhere=False)
    bench.state()
    bench.impact(RIGHT)
    bench.impact(LEFT, sequence=2)
    assert bench.mode is Mode.ANTE and status(bench.node)[2]["impacts_elsewhere"] == "2"


def test_a_field_for_other_arms_is_refused(bench):
    bench.configure()
    field = make_field(TASK, ROBOTS)
    bench.field(dataclasses.replace(field, arms=field.arms[::-1]))
    assert bench.session.field is None
    bench.field()
    assert bench.session.field is not None
