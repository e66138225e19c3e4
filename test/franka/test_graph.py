"""The whole graph over DDS on the simulated arm: hit and push, and again after a guided arm and after a reflex."""

import numpy as np
import pytest

from impact_aware.control.command import Mode
from impact_aware.experiments.episode_settings import Camera
from impact_aware.task import load_task
from impact_aware_rigs.franka.graph import FrankaGraph
from impact_aware_rigs.franka.world import CHANGES, TASK

pytestmark = pytest.mark.dds


@pytest.fixture
def graph(ros_domain):
    with FrankaGraph(camera=Camera()) as made:
        yield made


def ended(graph):
    """Wait for the end of the push; why it was another one, empty for HOLD."""
    graph.until(lambda: graph.link.mode is Mode.HOLD or bool(graph.reason()))
    return graph.reason()


def test_hit_and_push_reach_hold_and_a_guided_arm_does_it_again_without_a_restart(graph):
    assert ended(graph) == ""
    status = graph.arm.status()
    assert status.states_lost == 0 and status.errors == ()
    goal = load_task(TASK, CHANGES).goal
    assert np.hypot(*np.subtract(status.object_pose[:2], goal[:2])) < 0.02
    # Stamps of the states that the detector reads are the arm's.
    assert len(graph.link.impacts) >= 1
    stamp = graph.link.impacts[0].header.stamp
    assert abs(stamp.sec + 1e-9 * stamp.nanosec - status.contact_times[0]) < 0.002
    graph.put_back()
    graph.until(lambda: bool(graph.reason()))
    assert graph.reason().startswith("ARM_STOPPED: the arm has stopped: ")
    assert graph.recover() == ""
    graph.until(lambda: graph.link.mode.follows_field)
    assert ended(graph) == ""
    assert graph.run.died() == []


def test_a_reflex_in_motion_stops_with_its_name_and_the_push_goes_on_from_there(graph):
    graph.until(lambda: graph.link.mode is Mode.ANTE)
    begin = graph.arm.time
    graph.until(lambda: graph.arm.time > begin + 0.4)
    graph.arm.trip("cartesian_reflex")
    graph.until(lambda: bool(graph.reason()))
    assert graph.reason() == "ARM_STOPPED: the arm has stopped: cartesian_reflex"
    graph.until(lambda: np.abs(graph.arm.dq).max() < 0.02)
    left = np.array(graph.arm.q)
    assert graph.ask("franka_fci_relay/recover") == ""
    graph.until(lambda: graph.arm.mode == "Move")
    assert np.abs(np.array(graph.arm.q) - left).max() < 0.02
    assert graph.again() == ""
    graph.until(lambda: graph.link.mode.follows_field)
    assert ended(graph) == ""
    assert len(graph.arm.contact_times) > 0
