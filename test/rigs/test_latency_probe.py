"""The probe's bookkeeping, and one short run of it against the echo over DDS."""

import math
import threading
from types import SimpleNamespace

import pytest

from impact_aware.bringup.node_spec import NodeSpec
from impact_aware.errors import InvalidInputError
from impact_aware_rigs.bench.probe_run import BenchmarkFailedError, run_probe
from impact_aware_rigs.probes import latency_probe as module
from impact_aware_rigs.probes.latency_probe import Matcher


def test_a_command_answers_the_newest_open_state():
    matcher = Matcher()
    for sent, received in ((0.0, 0.0004), (0.001, 0.0015), (0.002, None), (0.003, 0.0033)):
        matcher.send(sent)
        if received is not None:
            matcher.receive(received)
    assert matcher.answered == pytest.approx([4e-4, 5e-4, 3e-4])
    figures = matcher.report()
    assert (figures["sent"], figures["answered"], figures["lost"]) == (4, 3, 1)
    assert figures["p50_us"] == pytest.approx(400.0)
    # From 1.5 ms to 3.3 ms; what comes later is the next report's, from the last answer on.
    assert figures["gap_ms"] == pytest.approx(1.8)
    matcher.send(0.005)
    matcher.receive(0.0058)
    figures = matcher.report()
    assert (figures["sent"], figures["gap_ms"]) == (1, pytest.approx(2.5))


def test_of_many_open_states_the_last_ten_can_still_be_answered():
    matcher = Matcher()
    for k in range(12):
        matcher.send(0.001 * k)
    for _ in range(12):
        matcher.receive(0.012)
    # Newest first: 11 ms was sent last, 2 ms is the tenth from the end, nobody waits for 0 and 1 ms any more.
    assert matcher.answered == pytest.approx([0.001 * (12 - k) for k in range(11, 1, -1)])
    figures = matcher.report()
    assert (figures["sent"], figures["answered"], figures["lost"]) == (12, 10, 2)
    assert figures["p50_us"] == pytest.approx(5500.0)
    assert figures["p99_us"] == pytest.approx(9910.0)
    assert figures["max_us"] == pytest.approx(10000.0)


def test_an_extra_answer_belongs_to_no_state_of_long_ago():
    matcher = Matcher()
    matcher.send(1.0)
    for index in range(20):
        matcher.send(10.0 + index)
        matcher.receive(10.1 + index)
    # A relay's own message, when each of the last states has its answer.
    matcher.receive(29.2)
    figures = matcher.report()
    assert (figures["answered"], figures["max_us"]) == (20, pytest.approx(1e5))


@pytest.fixture
def probe(ros_context, monkeypatch):
    """The probe of two arms with two joints each, whose thread does not run."""
    settings = module.Settings(arms=["left", "right"], joint_names=["a", "b"], posture=[0.1, 0.2, 0.3, 0.4])
    monkeypatch.setattr(module, "load_settings", lambda *_: settings)
    idle = SimpleNamespace(start=lambda: None, join=lambda timeout: None)
    monkeypatch.setattr(module, "threading", SimpleNamespace(Event=threading.Event, Thread=lambda **_: idle))
    clock = SimpleNamespace(wall=0.25, now=3.0)
    times = SimpleNamespace(time=lambda: clock.wall, perf_counter=lambda: clock.now, sleep=lambda seconds: None)
    monkeypatch.setattr(module, "time", times)
    node = module.LatencyProbeNode()
    node.clock = clock
    yield node
    node.destroy_node()


def test_all_arms_swing_alike_about_their_own_postures(probe):
    sent: dict[int, list] = {0: [], 1: []}
    probe._publishers_of_states = [SimpleNamespace(publish=sent[index].append) for index in (0, 1)]
    # An eighth of a period of 2 s: sine and cosine are the root of a half.
    probe._send()
    share, amplitude = math.sqrt(0.5), module.SWING
    for index, posture in enumerate(([0.1, 0.2], [0.3, 0.4])):
        (message,) = sent[index]
        assert list(message.name) == ["a", "b"]
        # Torques that are no command's would end the motion (control/safety/torque_fit.py).
        assert not message.effort
        assert list(message.position) == pytest.approx([angle + share * amplitude for angle in posture])
        assert list(message.velocity) == pytest.approx([math.pi * share * amplitude] * 2)
        assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 250_000_000)
    assert probe._matcher.sent == [3.0]


def test_a_state_is_answered_when_every_arms_command_is_in(probe):
    probe._matcher.send(3.0)
    for arm, now in (("left", 3.001), ("left", 3.002), ("right", 3.004)):
        probe.clock.now = now
        probe._on_command(arm, None)
        assert probe._answers == int(arm == "right")
    assert probe._matcher.answered == pytest.approx([0.004])
    probe._matcher.send(4.0)
    probe.clock.now = 4.5
    probe._on_command("right", None)
    assert probe._answers == 1


@pytest.mark.parametrize(("joints", "posture"), [([], []), (["a"], [0.1, 0.2])])
def test_a_posture_of_another_length_is_refused(ros_context, monkeypatch, joints, posture):
    monkeypatch.setattr(module, "load_settings", lambda *_: module.Settings(joint_names=joints, posture=posture))
    with pytest.raises(InvalidInputError, match="posture"):
        module.LatencyProbeNode()


def test_the_echo_answers_over_dds(forked_nodes, tmp_path):
    parameters = {"joint_names": ["a", "b"], "posture": [0.1, 0.2], "rate": 100.0, "duration": 0.5, "warm_up": 0.1}
    lines = run_probe(
        NodeSpec("latency_probe", "latency_probe", parameters=parameters),
        [NodeSpec("latency_echo", "latency_echo", parameters={"joints": 2})],
        0.5,
    )
    assert len(lines) == 1
    assert lines[0]["sent"] == 50
    # A slow machine may lose some, but the answers must be counted.
    assert 0 < lines[0]["answered"] <= 50


def test_a_node_that_does_not_start_is_named(forked_nodes):
    probe = NodeSpec("latency_probe", "latency_probe", parameters={"joint_names": ["a"], "posture": [0.0]})
    with pytest.raises(BenchmarkFailedError, match="rs_controller ended with status 2"):
        run_probe(probe, [NodeSpec("rs_controller", "rs_controller", parameters={"state_timeout": -1.0})], 0.5)
